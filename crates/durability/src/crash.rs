//! The failures of the durability tests.

use lydite_audit::durability::Failure;
use lydite_families::TargetSpec;
use lydite_faults::sockets::Address;
use lydite_faults::{Commands, Fault, FaultSpec, Server, Where};
use lydite_lab::{losses, places};
use lydite_plan::controls::faults::addresses_of;
use std::num::NonZeroU32;
use std::time::Duration;

/// Longest time of a command of the user's.
const COMMAND_LIMIT: Duration = Duration::from_secs(240);
/// End of each fault: without one, no server starts again. The test itself ends the fault, and tells its guard when at the
/// latest.
const END: Duration = Duration::from_secs(300);
/// The kind of fault that takes a node's disk.
const DISK_LOSS: &str = "disk-loss";
/// The kind of fault that cuts the power of a lab's disk.
const POWER_CUT: &str = "power-cut";

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
    /// The disk of a lab loses its power, and the servers with it.
    PowerLoss {
        /// The fault.
        fault: Fault,
        /// The nodes of the lab that each have all rows; none of another database.
        nodes: Vec<Node>,
    },
    /// A node of a lab loses its data for good, and later another one is killed.
    NodesLost(Box<Losses>),
    /// A failure that can't be made, with the reason.
    Unknown(Failure, String),
    /// A loss of power that can't be shown, since the database is no lab with a disk of its own. The text says how to show
    /// it.
    NoPower(String),
}

/// The loss of one node, and of another one.
pub struct Losses {
    /// The fault that takes the data of the node.
    pub(crate) lost: Fault,
    /// The node, which copies all rows from the others in the end; `None` if only the primary is read.
    pub(crate) node: Option<Node>,
    /// The fault that kills another node.
    pub(crate) killed: Fault,
    /// All other nodes; none if only the primary is read.
    pub(crate) others: Vec<Node>,
    /// True if the other node is a primary, and a replica is promoted in its place.
    pub(crate) promotes: bool,
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
    /// Returns the failures of a database, in the order of their tests. `embedded` is true for a database within this
    /// process; `commands` is the failure by the user's commands.
    #[must_use]
    pub fn all(url: &str, spec: &TargetSpec, embedded: bool, commands: Option<Self>) -> Vec<Self> {
        let first = match commands {
            _ if embedded => Self::Process,
            Some(crash) => crash,
            None => Self::of_lab(url, spec),
        };
        let power_loss = Self::power_loss(url, spec);
        let of_nodes = [Self::nodes_lost(url, spec), Self::disk_loss(url, spec)];
        std::iter::once(first).chain(of_nodes.into_iter().flatten()).chain([power_loss]).collect()
    }

    /// Returns the failure of the servers of a lab, if the URL names one.
    fn of_lab(url: &str, spec: &TargetSpec) -> Self {
        let addresses = addresses_of(url);
        let lab = lab_of(url);
        // The URL of a lab with replicas names the primary alone.
        let with_replicas = lab.filter(|name| matches!(losses(name), Ok(Some(_))));
        let place =
            with_replicas.map_or(Where::Nodes(None), |name| Where::Lab { name: name.into(), node: Some(0) });
        let made = on_all("kill", place, &addresses, spec);
        let made = made.map(|(fault, nodes)| Self::Fault { fault, nodes });
        let is_lab = lab.is_some();
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
    fn disk_loss(url: &str, spec: &TargetSpec) -> Option<Self> {
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

    /// Returns the loss of a replica for good and then of the primary, if the URL names a lab with replicas.
    fn primary_lost(url: &str) -> Option<Self> {
        let planned = losses(lab_of(url)?).transpose()?;
        let made = || -> Result<Losses, Vec<String>> {
            let planned = planned.map_err(|problem| vec![problem.to_string()])?;
            let of = |commands| places::resolve(&fault("command", Where::Local, Some(commands)), &[]);
            let (lost, killed) = (of(planned.replica)?, of(planned.primary)?);
            Ok(Losses { lost, node: None, killed, others: Vec::new(), promotes: true })
        };
        let unknown = |problems: Vec<String>| Self::Unknown(Failure::NodesLost, problems.join("; "));
        Some(made().map_or_else(unknown, |losses| Self::NodesLost(Box::new(losses))))
    }

    /// Returns the loss of one node for good and then of another one, if the URL names a lab whose nodes have all rows each.
    fn nodes_lost(url: &str, spec: &TargetSpec) -> Option<Self> {
        let addresses = addresses_of(url);
        let last = places::last_server(&addresses).ok()??;
        let Some(cluster) = last.cluster else { return Self::primary_lost(url) };
        let ports = cluster.ports;
        let name = lab_of(url)?;
        let another = ports.len().checked_sub(2).and_then(|number| u32::try_from(number).ok());
        let made = || -> Result<Losses, Vec<String>> {
            let lost = Where::Nodes(Some(NonZeroU32::MIN));
            let lost = places::resolve(&fault(DISK_LOSS, lost, None), &addresses)?;
            let another = Where::Lab { name: name.into(), node: another };
            let killed = places::resolve(&fault("kill", another, None), &addresses)?;
            let others = ports.iter().filter(|port| **port != last.port).map(|port| Node::on(spec, *port));
            let others = others.collect::<Result<_, _>>()?;
            let node = Some(Node::on(spec, last.port)?);
            Ok(Losses { lost, node, killed, others, promotes: false })
        };
        let unknown = |problems: Vec<String>| Self::Unknown(Failure::NodesLost, problems.join("; "));
        Some(made().map_or_else(unknown, |losses| Self::NodesLost(Box::new(losses))))
    }

    /// Returns the loss of power of a lab's disk. Of other databases it can't be shown.
    fn power_loss(url: &str, spec: &TargetSpec) -> Self {
        let addresses = addresses_of(url);
        match places::last_server(&addresses) {
            // A cut hits every server on the disk, so also those that the URL does not name.
            Ok(Some(Server { disk: Some(_), .. })) => places::with_whole_lab(&addresses)
                .map_err(|problem| vec![problem.to_string()])
                .and_then(|addresses| on_all(POWER_CUT, Where::Nodes(None), &addresses, spec))
                .map(|(fault, nodes)| Self::PowerLoss { fault, nodes })
                .unwrap_or_else(|problems| Self::Unknown(Failure::PowerLoss, problems.join("; "))),
            Ok(last) => {
                let kind = last.and_then(|_| lab_of(url)).unwrap_or("KIND");
                Self::NoPower(format!(
                    "the loss of power can't be shown here, since Lydite cuts that of a lab's own disk alone: audit a lab \
                     that has one, as of lydite lab up {kind} --disk 2G"
                ))
            }
            Err(problem) => Self::Unknown(Failure::PowerLoss, problem.to_string()),
        }
    }

    /// Returns the reason why the database can't be made to fail; none if it can.
    #[must_use]
    pub fn obstacle(&self) -> Option<&str> {
        match self {
            Self::Unknown(_, why) | Self::NoPower(why) => Some(why),
            Self::Process
            | Self::Fault { .. }
            | Self::DiskLoss { .. }
            | Self::NodesLost(_)
            | Self::PowerLoss { .. } => None,
        }
    }

    /// Returns true if the database lacks what the failure needs, so that its test may be missing.
    #[must_use]
    pub fn is_excused(&self) -> bool {
        matches!(self, Self::NoPower(_))
    }

    /// Returns the node that copies all rows from the others after the failure, if there is one.
    pub(crate) fn copying(&self) -> Option<&Node> {
        match self {
            Self::DiskLoss { node, .. } => Some(node),
            Self::NodesLost(losses) => losses.node.as_ref(),
            _ => None,
        }
    }

    /// Returns what the database has to survive.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::Process | Self::Fault { .. } => Failure::Crash,
            Self::DiskLoss { .. } => Failure::DiskLoss,
            Self::NodesLost(_) => Failure::NodesLost,
            Self::PowerLoss { .. } | Self::NoPower(_) => Failure::PowerLoss,
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
        let nodes: Vec<&Node> = match self {
            Self::NodesLost(losses) => losses.others.iter().chain(&losses.node).collect(),
            Self::Fault { nodes, .. } | Self::PowerLoss { nodes, .. } => nodes.iter().collect(),
            Self::DiskLoss { node, .. } => vec![node],
            Self::Process | Self::Unknown(..) | Self::NoPower(_) => Vec::new(),
        };
        match &nodes[..] {
            [] => vec![(None, spec)],
            nodes => nodes.iter().map(|node| (Some(node.port), &node.spec)).collect(),
        }
    }
}

/// Returns a fault on the servers of a lab that the URL names, and the nodes that each have all rows.
fn on_all(
    kind: &str,
    place: Where,
    addresses: &[Address],
    spec: &TargetSpec,
) -> Result<(Fault, Vec<Node>), Vec<String>> {
    let fault = places::resolve(&fault(kind, place, None), addresses)?;
    let last = places::last_server(addresses).map_err(|problem| vec![problem.to_string()])?;
    let ports = last.and_then(|server| server.cluster).map_or_else(Vec::new, |cluster| cluster.ports);
    let nodes = ports.into_iter().map(|port| Node::on(spec, port)).collect::<Result<_, _>>()?;
    Ok((fault, nodes))
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
        to: Some(END),
        every: None,
        host: None,
        places: vec![place],
        commands,
    }
}
