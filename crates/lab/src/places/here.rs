//! The places of faults on this machine.

use super::labs;
use crate::error::LabError;
use lydite_faults::process::{ProcessId, Processes};
use lydite_faults::sockets::{Address, Listeners, listeners};
use lydite_faults::{Fault, FaultError, FaultSpec, Site, Where, kinds};
use std::num::NonZeroU32;

/// Returns a fault with its places on this machine, after a rehearsal.
///
/// # Errors
/// All places that are not there, or not of the database, or all reasons why the fault can't begin.
pub(super) fn resolve_here(spec: &FaultSpec, addresses: &[Address]) -> Result<Fault, Vec<String>> {
    let ports = ports_here(addresses);
    let (mut sites, mut problems) = (Vec::new(), Vec::new());
    for place in &spec.places {
        let found = match place {
            Where::Local => Ok(vec![Site::Machine]),
            _ if ports.is_empty() => Err(LabError::Place(format!(
                "{place} can't be the database: the target's URL names no server of this machine: use ssh://HOST/pid:N \
                     for another host, or a lab"
            ))),
            Where::Process(pid) => process(*pid, &ports).map(|process| vec![Site::Process(process)]),
            Where::Service(name) => main_process(name)
                .and_then(|pid| process(pid, &ports))
                .map(|process| vec![Site::Process(process)]),
            Where::Lab { name, node } => servers(name, *node, &ports),
            Where::Nodes(count) => nodes(*count, &ports),
        };
        match found {
            Ok(found) => sites.extend(found),
            Err(problem) => problems.push(problem.to_string()),
        }
    }
    if (1..sites.len()).any(|number| sites[..number].iter().any(|other| other.meets(&sites[number]))) {
        problems.push("names one process under two names: name it once".to_owned());
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let fault = Fault { spec: spec.clone(), sites };
    let kind =
        kinds::named(&spec.kind).ok_or_else(|| vec![format!("the kind {} is not known", spec.kind)])?;
    let texts = |problems: Vec<FaultError>| problems.iter().map(FaultError::to_string).collect();
    kind.check(&fault).map(|_| fault).map_err(texts)
}

/// Returns the ports of the servers of this machine: only those can be reached by its signals.
pub(super) fn ports_here(addresses: &[Address]) -> Vec<u16> {
    addresses.iter().filter(|address| address.is_here()).map(|address| address.port).collect()
}

/// Returns the number of the main process of a systemd unit.
fn main_process(unit: &str) -> Result<u32, LabError> {
    let output = std::process::Command::new("systemctl")
        .args(["show", "--property=MainPID", "--value", "--", unit])
        .output()
        .map_err(|error| {
            LabError::Place(format!(
                "service {unit}: systemctl can't be run: {error}: name its process, as pid:4711"
            ))
        })?;
    let pid = String::from_utf8_lossy(&output.stdout).trim().parse().ok().filter(|pid| *pid > 0);
    pid.ok_or_else(|| {
        LabError::Place(format!("service {unit} does not run: start it with systemctl start {unit}"))
    })
}

/// Returns a process of the database: one that listens on one of its ports, or is above or below such a process.
fn process(pid: u32, ports: &[u16]) -> Result<ProcessId, LabError> {
    let process =
        ProcessId::of(pid).ok_or_else(|| LabError::Place(format!("no process has the number {pid}")))?;
    let now = Processes::now();
    let mut hidden = None;
    for port in ports {
        match listeners(*port, &now) {
            Listeners::Nobody => {}
            Listeners::Hidden => hidden = Some(*port),
            Listeners::Seen(seen) => {
                let related = |one: &ProcessId| now.is_within(*one, process) || now.is_within(process, *one);
                if seen.iter().any(related) {
                    return Ok(process);
                }
            }
        }
    }
    Err(LabError::Place(match hidden {
        Some(port) => format!(
            "the process that listens on port {port} belongs to another user, so that process {pid} can't be proven to \
             be the database: run lydite as that user or as root"
        ),
        None => format!(
            "process {pid} is not the database under test: none of its relatives listens on {}",
            words(ports)
        ),
    }))
}

/// Returns the last servers of the lab that has one of these ports; all without a count. A coordinator or a primary is
/// the first server.
fn nodes(count: Option<NonZeroU32>, ports: &[u16]) -> Result<Vec<Site>, LabError> {
    let name = labs::at(ports)?.ok_or_else(|| {
        let problem = "the database is no lab that runs without --dir: name its processes, as pid:4711";
        LabError::Place(problem.to_owned())
    })?;
    let mut sites = servers(name, None, ports)?;
    let count = count.map_or(sites.len(), |count| count.get() as usize);
    let rest = sites.len().checked_sub(count).ok_or_else(|| {
        let count = sites.len();
        LabError::Place(format!("lab {name} has fewer servers: use nodes=1 to nodes={count}, or nodes=all"))
    })?;
    Ok(sites.split_off(rest))
}

/// Returns the servers of a lab, or one of them.
fn servers(name: &str, node: Option<u32>, ports: &[u16]) -> Result<Vec<Site>, LabError> {
    let mut servers = labs::servers(name)?;
    if let Some(node) = node {
        let count = servers.len();
        let only = servers.into_iter().nth(node as usize);
        servers = vec![only.ok_or_else(|| {
            LabError::Place(format!("lab {name} has no node {node}: use 0 to {}", count.saturating_sub(1)))
        })?];
    }
    if let Some(other) = servers.iter().find(|server| !ports.contains(&server.port)) {
        return Err(LabError::Place(format!(
            "not all servers of lab {name} are in the URL: port {} is missing, it has {}: use the URL that lydite lab up \
             {name} prints",
            other.port,
            words(ports)
        )));
    }
    Ok(servers.into_iter().map(Site::Server).collect())
}

/// Returns ports in words.
fn words(ports: &[u16]) -> String {
    let list: Vec<String> = ports.iter().map(u16::to_string).collect();
    format!("port{} {}", if list.len() == 1 { "" } else { "s" }, list.join(", "))
}
