//! The places of faults: processes and servers of labs, if they belong to the database under test.

use crate::commands::lab;
use lydite_faults::process::{ProcessId, Processes};
use lydite_faults::sockets::{Address, Listeners, listeners};
use lydite_faults::{Fault, FaultSpec, Site, Where, kinds};

/// Returns the problems of a fault on this machine, without harm. `addresses` are those of the database.
pub(crate) fn rehearse(spec: &FaultSpec, addresses: &[Address]) -> Vec<String> {
    let fault = match resolve(spec, addresses) {
        Ok(fault) => fault,
        Err(problems) => return problems,
    };
    let kind = kinds::named(&spec.kind);
    kind.and_then(|kind| kind.check(&fault).err()).unwrap_or_default()
}

/// Returns a fault with its places on this machine.
///
/// # Errors
/// All places that are not there, or not of the database.
pub(crate) fn resolve(spec: &FaultSpec, addresses: &[Address]) -> Result<Fault, Vec<String>> {
    // Only servers of this machine can be reached by its signals.
    let ports: Vec<u16> =
        addresses.iter().filter(|address| address.is_here()).map(|address| address.port).collect();
    let (mut sites, mut problems) = (Vec::new(), Vec::new());
    for place in &spec.places {
        let found = match place {
            Where::Local => Ok(vec![Site::Machine]),
            _ if ports.is_empty() => {
                Err(format!("{place} can't be the database: its URL names no server of this machine"))
            }
            Where::Process(pid) => process(*pid, &ports).map(|process| vec![Site::Process(process)]),
            Where::Lab { name, node } => servers(spec, name, *node, &ports),
        };
        match found {
            Ok(found) => sites.extend(found),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(Fault { spec: spec.clone(), sites }) } else { Err(problems) }
}

/// Returns a process of the database: one that listens on one of its ports, or is above or below such a process.
fn process(pid: u32, ports: &[u16]) -> Result<ProcessId, String> {
    let process = ProcessId::of(pid).ok_or_else(|| format!("no process has the number {pid}"))?;
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
    Err(match hidden {
        Some(port) => format!(
            "the process that listens on port {port} belongs to another user, so that process {pid} can't be proven to \
             be the database: run lydite as that user or as root"
        ),
        None => format!(
            "process {pid} is not the database under test: none of its relatives listens on {}",
            words(ports)
        ),
    })
}

/// Returns the servers of a lab, or one of them.
fn servers(spec: &FaultSpec, name: &str, node: Option<u32>, ports: &[u16]) -> Result<Vec<Site>, String> {
    let mut servers = lab::servers(name)?;
    if let Some(node) = node {
        let count = servers.len();
        let only = servers.into_iter().nth(node as usize);
        servers = vec![only.ok_or_else(|| format!("lab {name} has no node {node}: use 0 to {}", count - 1))?];
    }
    if let Some(other) = servers.iter().find(|server| !ports.contains(&server.port)) {
        return Err(format!(
            "lab {name} is not the database under test: its server on port {} is not in the URL, which has {}",
            other.port,
            words(ports)
        ));
    }
    // The first node of a cluster has the command line that begins a new cluster.
    if name == "galera" && spec.to.is_some() && matches!(spec.kind.as_str(), "kill" | "shutdown") {
        return Err(
            "a node of Galera can't be started again by lydite yet: leave out ..TO, or use stop".into()
        );
    }
    Ok(servers.into_iter().map(Site::Server).collect())
}

/// Returns ports in words.
fn words(ports: &[u16]) -> String {
    let list: Vec<String> = ports.iter().map(u16::to_string).collect();
    format!("port{} {}", if list.len() == 1 { "" } else { "s" }, list.join(", "))
}
