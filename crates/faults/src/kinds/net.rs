//! The faults on the network: packets of the database's processes meet an action of the packet filter. A helper process
//! holds the packets of the kinds that delay them.

use super::{Acts, Kind, counted};
use crate::error::FaultError;
use crate::fault::Fault;
use crate::helper;
use crate::hold::{READY, Shape, free, lost};
use crate::netfilter::{Counts, Position, Rules};
use crate::process::{ProcessId, trees};
use crate::sockets::{Endpoint, endpoints};
use crate::spec::FaultSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A kind of fault on the network, as [`Net`] needs it.
pub(super) trait NetKind: Sync {
    /// Name, as users write it.
    const NAME: &'static str;
    /// See [`Kind::ARGUMENTS`].
    const ARGUMENTS: &'static str = "";

    /// Reads the arguments.
    ///
    /// # Errors
    /// The problem; it continues the fault's name.
    fn action(fault: &FaultSpec) -> Result<Action, FaultError>;

    /// Returns what happened to the packets, in words.
    fn words(ended: &Ended) -> String;
}

/// The kind of a fault on the network.
pub(super) struct Net<N>(pub(super) N);

impl<N: NetKind> Kind for Net<N> {
    type State = State;
    const NAME: &'static str = N::NAME;
    const ARGUMENTS: &'static str = N::ARGUMENTS;
    const ACTS: Acts = Acts::OnProcesses;
    const APPROACHES: bool = true;

    fn read(&self, fault: &FaultSpec) -> Result<(), FaultError> {
        N::action(fault).map(drop)
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<FaultError>> {
        let action = N::action(&fault.spec)?;
        State::of(fault, action)
    }

    fn how(&self, state: &State) -> String {
        let action = match &state.queue {
            Some(queue) => format!("NFQUEUE {}", queue.number),
            None => "DROP".into(),
        };
        format!("{action} of iptables, table {}, on {}", state.rules.table, words(&state.rules.endpoints))
    }

    fn approach(&self, state: &mut State) -> Result<(), FaultError> {
        if let Some(queue) = &mut state.queue {
            queue.start()?;
        }
        state.rules.make()
    }

    fn begin(&self, state: &mut State) -> Result<String, FaultError> {
        state.rules.enforce()?;
        state.begun = true;
        Ok(format!("in force on {}", words(&state.rules.endpoints)))
    }

    fn end(&self, state: &State) -> Result<String, FaultError> {
        let later = state.opened_later();
        let ended = state.end()?;
        Ok(ended.map_or_else(String::new, |ended| match later {
            0 => N::words(&ended),
            later => format!(
                "{}; not affected: {} opened later",
                N::words(&ended),
                counted(later, "port or connection", "ports and connections")
            ),
        }))
    }
}

/// A fault on the network.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    /// The uppermost process of each place.
    roots: Vec<ProcessId>,
    rules: Rules,
    /// The queue of the helper, for kinds that hold packets.
    queue: Option<Queue>,
    /// The process that begins the fault.
    guard: u32,
    /// True once the fault is in force.
    begun: bool,
}

/// A queue of held packets.
#[derive(Debug, Serialize, Deserialize)]
struct Queue {
    /// Number of the NFQUEUE.
    number: u16,
    shape: Shape,
    /// The helper, once it runs.
    helper: Option<ProcessId>,
}

/// The action of a kind.
pub(super) enum Action {
    /// Drops packets, or a share of them; also those that reach the processes.
    Drop { share: Option<f64> },
    /// Holds packets that leave the processes. An accepted packet skips the rest of its table. So each kind that holds
    /// has a table of its own, where no firewall has its rules.
    Hold { shape: Shape, table: &'static str },
}

impl State {
    /// Returns the state of a fault that has not begun.
    ///
    /// # Errors
    /// All reasons why it can't begin.
    fn of(fault: &Fault, action: Action) -> Result<Self, Vec<FaultError>> {
        let roots = fault.roots()?;
        let endpoints = endpoints(&trees(&roots));
        if !endpoints.iter().any(|endpoint| endpoint.peer.is_none()) {
            let words = "finds no TCP port that the processes listen on in this network namespace: name the server's own \
                         process, and run lydite where the server runs";
            return Err(vec![FaultError::Lacks(words.into())]);
        }
        let guard = std::process::id();
        let mut problems = Vec::new();
        let (table, position, target, queue) = match action {
            Action::Drop { share } => {
                let random =
                    share.map(|share| format!("-m statistic --mode random --probability {share:.9} "));
                let target = format!("{}-j DROP", random.unwrap_or_default());
                ("filter", Position::First, target, None)
            }
            Action::Hold { shape, table } => {
                let number = free(guard).unwrap_or_else(|problem| {
                    problems.push(problem);
                    0
                });
                // If the helper should die, packets pass.
                let target = format!("-j NFQUEUE --queue-num {number} --queue-bypass");
                (table, Position::Last, target, Some(Queue { number, shape, helper: None }))
            }
        };
        let rules = Rules {
            table: table.into(),
            name: format!("lydite-fault-{guard}"),
            position,
            endpoints,
            arriving: queue.is_none(),
            action: target,
        };
        problems.extend(rules.rehearse());
        if problems.is_empty() {
            Ok(Self { roots, rules, queue, guard, begun: false })
        } else {
            Err(problems)
        }
    }

    /// Returns the number of ports and connections that the processes have, and had not when the fault began.
    fn opened_later(&self) -> usize {
        endpoints(&trees(&self.roots)).difference(&self.rules.endpoints).count()
    }

    /// Ends the fault. Returns what its rules counted; none if none were in force.
    ///
    /// # Errors
    /// Something is left, or the fault ended before.
    fn end(&self) -> Result<Option<Ended>, FaultError> {
        let helper_ended = self.queue.as_ref().is_some_and(|queue| !queue.lives());
        let counts = self.rules.remove();
        let lost = self.queue.as_ref().map_or(0, |queue| lost(queue.number));
        // Also after a problem with the rules: without the helper they let all packets pass.
        let helper = self.queue.as_ref().map_or(Ok(()), Queue::stop);
        let counts = counts.and_then(|counts| helper.map(|()| counts))?;
        // Only its guard knows that nobody has ended the fault before.
        if self.begun && self.guard == std::process::id() {
            if counts.is_none() {
                let words = "somebody else removed its rules of iptables before its end";
                return Err(FaultError::Failed(words.into()));
            }
            if helper_ended {
                let words = "its helper ended before it, and packets passed: its rules are removed";
                return Err(FaultError::Failed(words.into()));
            }
        }
        Ok(counts.map(|counts| Ended { counts, lost }))
    }
}

/// The packets of a fault that has ended.
pub(super) struct Ended {
    /// Packets that the rules counted.
    pub(super) counts: Counts,
    /// Packets that were lost because too many were held.
    pub(super) lost: u64,
}

impl Ended {
    /// Returns the packets that the action took, with what happened to them.
    pub(super) fn taken(&self, verb: &str) -> String {
        let lost = match self.lost {
            0 => String::new(),
            lost => format!(", {lost} of them lost because too many were held"),
        };
        format!("{verb} {}{lost}", packets(self.counts.taken))
    }
}

/// Returns a number of packets in words.
pub(super) fn packets(count: u64) -> String {
    if count == 1 { "1 packet".into() } else { format!("{count} packets") }
}

impl Queue {
    /// Starts the helper, and waits until packets may come.
    fn start(&mut self) -> Result<(), FaultError> {
        let shape =
            serde_json::to_string(&self.shape).map_err(|error| FaultError::Failed(error.to_string()))?;
        // Its signal lets the held packets go on.
        let (child, helper) = helper::start(["hold", &self.number.to_string(), &shape], libc::SIGTERM)?;
        self.helper = Some(helper);
        helper::wait_until_ready(child, READY).map_err(|problem| {
            FaultError::Failed(format!("the helper could not open NFQUEUE {} ({problem})", self.number))
        })
    }

    fn lives(&self) -> bool {
        self.helper.is_some_and(ProcessId::lives)
    }

    /// Ends the helper after it has let all packets go on.
    fn stop(&self) -> Result<(), FaultError> {
        self.helper.map_or(Ok(()), |helper| helper::end(helper, &[libc::SIGTERM, libc::SIGKILL]))
    }
}

/// Returns endpoints in words.
fn words(endpoints: &BTreeSet<Endpoint>) -> String {
    let ports: BTreeSet<u16> =
        endpoints.iter().filter(|one| one.peer.is_none()).map(|one| one.local.port()).collect();
    let list: Vec<String> = ports.iter().map(u16::to_string).collect();
    let ports = format!("port{} {}", if list.len() == 1 { "" } else { "s" }, list.join(", "));
    let opened = endpoints.iter().filter(|one| one.peer.is_some()).count();
    match opened {
        0 => ports,
        opened => {
            format!("{ports} and {} that the server opened", counted(opened, "connection", "connections"))
        }
    }
}
