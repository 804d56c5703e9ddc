//! A fault at the places of this machine that its specification means.

use crate::cluster::Rejoin;
use crate::error::FaultError;
use crate::process::{ProcessId, Processes};
use crate::sockets;
use crate::spec::FaultSpec;
use crate::volume::Volume;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A fault with its places, ready to be rehearsed or injected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The specification.
    pub spec: FaultSpec,
    /// The places on this machine, in the order of the specification; a lab has one for each of its servers.
    pub sites: Vec<Site>,
}

/// A place of this machine.
#[allow(clippy::large_enum_variant, reason = "a fault has a few places, and each is kept once")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Site {
    /// The machine itself.
    Machine,
    /// A server that Lydite may stop and start.
    Server(Server),
    /// A process.
    Process(ProcessId),
}

/// A server that Lydite may stop and start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Port on the loopback. Its listener is the server, also after a new start.
    pub port: u16,
    /// Signal of its orderly stop.
    pub stop_signal: i32,
    /// Directory of its data.
    pub data: PathBuf,
    /// The disk of the data, if that is the lab's own.
    pub disk: Option<Disk>,
    /// The cluster, for a node whose cluster goes on without it.
    pub cluster: Option<Cluster>,
    /// The command that moves warehouses to it, for a shard that takes them.
    pub mover: Option<Mover>,
}

/// A disk that has the data of a lab's servers alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// File system of the disk.
    pub volume: Volume,
    /// Ports of all servers with data on it.
    pub ports: Vec<u16>,
}

/// A cluster whose nodes each have all rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// Data of a new node. A node that starts with them copies all rows from the others.
    pub new_data: PathBuf,
    /// Ports of all nodes, with this one.
    pub ports: Vec<u16>,
    /// New start of its nodes.
    pub rejoin: Rejoin,
}

/// A command of this program that moves warehouses to a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mover {
    /// Words of the command.
    pub command: Vec<String>,
    /// The server, as the command names it. The numbers of the warehouses follow.
    pub place: String,
}

impl Site {
    /// Returns the uppermost process of the place; none for the machine.
    ///
    /// # Errors
    /// There is no such process, this user must not see it, or Lydite itself is below it.
    pub fn root(&self) -> Result<Option<ProcessId>, FaultError> {
        let root = match self {
            Self::Machine => return Ok(None),
            Self::Process(process) if process.lives() => *process,
            Self::Process(process) => {
                return Err(FaultError::Lacks(format!("process {} has ended", process.pid)));
            }
            Self::Server(server) => sockets::server(server.port).map_err(|problem| {
                FaultError::Lacks(format!("{problem}: if it has ended, start it with lydite lab restart"))
            })?,
        };
        let own = ProcessId::own().map_err(|error| FaultError::Failed(error.to_string()))?;
        if Processes::now().is_within(own, root) {
            return Err(FaultError::Lacks(format!(
                "process {} started lydite itself: name the server's own process",
                root.pid
            )));
        }
        Ok(Some(root))
    }

    /// Returns true if both have a process of this machine in common, or are the same.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        match (self.root(), other.root()) {
            (Ok(Some(one)), Ok(Some(two))) => {
                let now = Processes::now();
                now.is_within(one, two) || now.is_within(two, one)
            }
            _ => self == other,
        }
    }
}

impl Fault {
    /// Returns the uppermost process of each place.
    ///
    /// # Errors
    /// All problems: places without a process, and processes that this user may not signal.
    pub(crate) fn roots(&self) -> Result<Vec<ProcessId>, Vec<FaultError>> {
        let (mut roots, mut problems) = (Vec::new(), Vec::new());
        for site in &self.sites {
            match site.root() {
                Ok(Some(root)) => match root.forbidden() {
                    None => roots.push(root),
                    Some(error) => problems.push(FaultError::Lacks(format!(
                        "process {} takes no signals from this user ({error}): run lydite as its user or as root",
                        root.pid
                    ))),
                },
                Ok(None) => {}
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() { Ok(roots) } else { Err(problems) }
    }

    /// Returns true if both act on a common process of this machine, or have a common place on another host.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let here = self.spec.host.is_none();
        let meet = |one: &Site, two: &Site| if here { one.meets(two) } else { one == two };
        self.sites.iter().any(|one| other.sites.iter().any(|two| meet(one, two)))
    }

    /// Returns the name of the fault for messages: its kind and its places.
    #[must_use]
    pub fn name(&self) -> String {
        let arguments: String = self.spec.arguments.iter().map(|arguments| format!(":{arguments}")).collect();
        format!("{}{arguments} on {}", self.spec.kind, self.spec.place())
    }
}
