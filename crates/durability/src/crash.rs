//! The failures of the durability tests.

use lydite_audit::durability::Failure;
use lydite_families::TargetSpec;
use lydite_faults::{Commands, Fault, FaultSpec, Where};
use lydite_lab::places;
use lydite_plan::controls::faults::addresses_of;
use std::num::NonZeroU32;
use std::time::Duration;

/// Longest time of a command of the user's.
const COMMAND_LIMIT: Duration = Duration::from_secs(240);
/// Longest time of a fault: the guard undoes it then.
pub(crate) const LONGEST: Duration = Duration::from_secs(300);
/// The kind of fault that takes a node's disk.
const DISK_LOSS: &str = "disk-loss";

/// The failure of the test.
pub enum Crash {
    /// The process with the database is killed.
    Process,
    /// The servers of a lab are killed and started again, or the user's own commands do that.
    Fault {
        /// The fault.
        fault: Fault,
        /// The nodes of a lab that each have all rows; none of another database.
        nodes: Vec<Node>,
    },
    /// A node of a lab loses its data, and copies them from the other nodes again.
    DiskLoss {
        /// The fault.
        fault: Fault,
        /// The node.
        node: Node,
    },
    /// None, for this reason.
    Unknown(Failure, String),
}

/// A node that has all rows.
pub struct Node {
    /// Port.
    pub(crate) port: u16,
    /// The database on this node alone.
    pub(crate) spec: TargetSpec,
}

impl Node {
    /// Returns the node of a port.
    ///
    /// # Errors
    /// The URL can't name it alone.
    fn on(spec: &TargetSpec, port: u16) -> Result<Self, Vec<String>> {
        let problem = || vec![format!("this URL can't name the node on port {port} alone")];
        spec.on_port(port).map(|spec| Self { port, spec }).ok_or_else(problem)
    }
}

impl Crash {
    /// Returns the failure of the servers of a lab, if the URL names one.
    #[must_use]
    pub fn of_lab(url: &str, spec: &TargetSpec) -> Self {
        let addresses = addresses_of(url);
        let made = places::resolve(&fault("kill", Where::Nodes(None), None), &addresses).and_then(|fault| {
            let last = places::last_server(&addresses).map_err(|problem| vec![problem.to_string()])?;
            let ports = last.and_then(|server| server.cluster).map_or_else(Vec::new, |cluster| cluster.ports);
            let nodes = ports.into_iter().map(|port| Node::on(spec, port)).collect::<Result<_, _>>()?;
            Ok(Self::Fault { fault, nodes })
        });
        let is_lab = lab_of(url).is_some();
        made.unwrap_or_else(|problems| {
            let problems = problems.join("; ");
            // The advice comes first: the problems advise places of faults, which an audit does not have.
            let why = if is_lab {
                problems
            } else {
                format!(
                    "use --kill COMMAND and --restart COMMAND: Lydite can't kill these servers by itself ({problems})"
                )
            };
            Self::Unknown(Failure::Crash, why)
        })
    }

    /// Returns the loss of a node's disk, if the URL names a lab whose nodes have all rows each.
    #[must_use]
    pub fn disk_loss(url: &str, spec: &TargetSpec) -> Option<Self> {
        let addresses = addresses_of(url);
        let made = match places::last_server(&addresses) {
            Ok(last) => {
                let server = last.filter(|server| server.cluster.is_some())?;
                let last = Where::Nodes(Some(NonZeroU32::MIN));
                places::resolve(&fault(DISK_LOSS, last, None), &addresses)
                    .and_then(|fault| Ok(Self::DiskLoss { fault, node: Node::on(spec, server.port)? }))
            }
            Err(problem) => Err(vec![problem.to_string()]),
        };
        Some(made.unwrap_or_else(|problems| Self::Unknown(Failure::DiskLoss, problems.join("; "))))
    }

    /// Returns true unless there is no way to make the database fail.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown(..))
    }

    /// Returns what the database has to survive.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::Process | Self::Fault { .. } => Failure::Crash,
            Self::DiskLoss { .. } => Failure::DiskLoss,
            Self::Unknown(failure, _) => *failure,
        }
    }

    /// Returns the failure by shell commands: `kill` makes the database fail, `restart` starts it again.
    ///
    /// # Errors
    /// The shell can't read a command.
    pub fn of_commands(kill: &str, restart: &str) -> Result<Self, Vec<String>> {
        let commands = Commands { begin: kill.into(), end: Some(restart.into()), limit: COMMAND_LIMIT };
        places::resolve(&fault("command", Where::Local, Some(commands)), &[])
            .map(|fault| Self::Fault { fault, nodes: Vec::new() })
    }

    /// Returns what is read after the recovery: each node alone, or the database as `spec` names it.
    pub(crate) fn places<'a>(&'a self, spec: &'a TargetSpec) -> Vec<(Option<u16>, &'a TargetSpec)> {
        let nodes = match self {
            Self::Fault { nodes, .. } => &nodes[..],
            Self::DiskLoss { node, .. } => std::slice::from_ref(node),
            Self::Process | Self::Unknown(..) => &[],
        };
        match nodes {
            [] => vec![(None, spec)],
            nodes => nodes.iter().map(|node| (Some(node.port), &node.spec)).collect(),
        }
    }
}

/// Returns the name of the lab that the URL names, if that is known.
#[must_use]
pub fn lab_of(url: &str) -> Option<&'static str> {
    places::lab_of(&addresses_of(url)).ok()?
}

/// Returns a fault that the audit begins and ends.
fn fault(kind: &str, place: Where, commands: Option<Commands>) -> FaultSpec {
    FaultSpec {
        kind: kind.into(),
        arguments: None,
        from: Duration::ZERO,
        to: Some(LONGEST),
        host: None,
        places: vec![place],
        commands,
    }
}
