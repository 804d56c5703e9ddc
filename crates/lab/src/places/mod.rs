//! The places of faults: processes and servers of labs, if they belong to the database under test.

mod here;
mod labs;
mod remote;

use crate::error::LabError;
use here::{ports_here, resolve_here};
use lydite_console::exit::Failure;
use lydite_faults::sockets::Address;
use lydite_faults::{Fault, FaultSpec, Server};
use lydite_plan::controls::faults::Faults;
pub use remote::answer;

/// Returns the problems of a fault, without harm. `addresses` are those of the database.
pub fn rehearse(spec: &FaultSpec, addresses: &[Address]) -> Vec<String> {
    resolve(spec, addresses).err().unwrap_or_default()
}

/// Returns the faults of a plan with their places.
///
/// # Errors
/// See [`resolve`]. Faults of one kind are at one place at the same time, under different names.
pub fn resolve_all(faults: &Faults) -> Result<Vec<Fault>, Failure> {
    let resolved = faults.specs().map(|spec| resolve(spec, &faults.addresses).map_err(Failure::Usage));
    let resolved: Vec<Fault> = resolved.collect::<Result<_, _>>()?;
    let overlaps = |(number, fault): (usize, &Fault)| {
        let same = |other: &&Fault| fault.spec.coincides(&other.spec, faults.window) && fault.meets(other);
        let other = resolved[..number].iter().find(same)?;
        Some(format!(
            "fault {}: overlaps {} on the same processes: let one end before",
            fault.spec, other.spec
        ))
    };
    let problems: Vec<String> = resolved.iter().enumerate().filter_map(overlaps).collect();
    if problems.is_empty() { Ok(resolved) } else { Err(Failure::Usage(problems)) }
}

/// Returns a fault with its places, after a rehearsal.
///
/// # Errors
/// All places that are not there, or not of the database, or all reasons why the fault can't begin.
pub fn resolve(spec: &FaultSpec, addresses: &[Address]) -> Result<Fault, Vec<String>> {
    match &spec.host {
        None => resolve_here(spec, addresses),
        Some(host) => remote::resolve(host, spec, addresses).map_err(|problems| {
            problems.into_iter().map(|problem| format!("ssh {host}: {problem}")).collect()
        }),
    }
}

/// Returns the name of the lab that has one of these addresses, if there is one.
///
/// # Errors
/// A lab can't be read.
pub fn lab_of(addresses: &[Address]) -> Result<Option<&'static str>, LabError> {
    labs::at(&ports_here(addresses))
}

/// Returns the addresses of all servers of the lab that has one of `addresses`, besides those: the URL of a primary does
/// not name its replicas.
///
/// # Errors
/// A lab can't be read.
pub fn with_whole_lab(addresses: &[Address]) -> Result<Vec<Address>, LabError> {
    let mut all = addresses.to_vec();
    if let Some(name) = lab_of(addresses)? {
        let named = ports_here(addresses);
        let others = labs::servers(name)?.into_iter().filter(|server| !named.contains(&server.port));
        all.extend(others.map(|server| Address { host: "127.0.0.1".into(), port: server.port }));
    }
    Ok(all)
}

/// Returns the last server of the lab that has one of these addresses, if there is one; the URL may lack that server.
///
/// # Errors
/// A lab can't be read.
pub fn last_server(addresses: &[Address]) -> Result<Option<Server>, LabError> {
    match lab_of(addresses)? {
        Some(name) => Ok(labs::servers(name)?.pop()),
        None => Ok(None),
    }
}
