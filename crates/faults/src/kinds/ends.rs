//! The faults that end processes. A lab's server is started again at the end of the fault, if it has one.

use super::stop::stop_all;
use super::{Acts, Kind, counted, no_arguments};
use crate::error::FaultError;
use crate::fault::{Fault, Server, Site};
use crate::process::{ProcessId, trees, wait_while};
use crate::server::Down;
use crate::spec::FaultSpec;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Longest wait until killed processes have ended.
pub(super) const KILLED: Duration = Duration::from_secs(10);
/// Longest wait for an orderly stop, which may write all changed pages.
const ORDERLY: Duration = Duration::from_secs(60);

/// A kind of fault that ends processes, as [`Ends`] needs it.
pub(super) trait EndKind: Sync {
    /// Name, as users write it.
    const NAME: &'static str;
    /// The places where it acts.
    const ACTS: Acts;
    /// True if the server stops in its own way, false if it is killed.
    const ORDERLY: bool;
    /// True if the fault is in force from the first moment of its begin, as [`Kind::AT_ONCE`]. An orderly stop may take
    /// long, and rejects connections meanwhile.
    const AT_ONCE: bool = Self::ORDERLY;

    /// Rejects times and places that the kind does not take.
    ///
    /// # Errors
    /// The problem; it continues the fault's name.
    fn read(fault: &FaultSpec) -> Result<(), FaultError>;

    /// Rejects servers that can't take this fault, or not now. They are those that the end starts again, so there are none
    /// without an end. Called when the fault is checked, and before it begins.
    ///
    /// # Errors
    /// All problems.
    fn bear(_: &[&Server]) -> Result<(), Vec<FaultError>> {
        Ok(())
    }

    /// Returns what happens besides the signal and the new start, in words; may be empty.
    fn besides() -> &'static str {
        ""
    }

    /// Does the part of the begin that comes before the servers are killed. Returns processes to kill besides those that
    /// are found after it.
    ///
    /// # Errors
    /// The fault could not begin, or only in part.
    fn first(_: &[Down]) -> Result<Vec<ProcessId>, FaultError> {
        Ok(Vec::new())
    }

    /// Does the rest of the begin, once the servers have ended. Returns further proof; may be empty.
    ///
    /// # Errors
    /// The fault could not begin, or only in part.
    fn ended(_: &[Down]) -> Result<String, FaultError> {
        Ok(String::new())
    }

    /// Prepares servers for their new start, also a second time.
    ///
    /// # Errors
    /// They can't be started.
    fn before_start(_: &[Down]) -> Result<(), FaultError> {
        Ok(())
    }
}

/// Rejects a fault without an end. `when` says in words what the end does.
pub(super) fn require_end(fault: &FaultSpec, when: &str) -> Result<(), FaultError> {
    match fault.to {
        Some(_) => Ok(()),
        None => Err(FaultError::Wrong(format!("needs an end, when {when}: write FROM..TO"))),
    }
}

/// The kind of a fault that ends processes.
pub(super) struct Ends<E>(pub(super) E);

/// Processes of the fault.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    /// The uppermost process of each place, and the signal that ends it.
    roots: Vec<(ProcessId, i32)>,
    /// Servers to start again.
    servers: Vec<Down>,
}

impl State {
    fn roots(&self) -> Vec<ProcessId> {
        self.roots.iter().map(|(process, _)| *process).collect()
    }
}

impl<E: EndKind> Kind for Ends<E> {
    type State = State;
    const NAME: &'static str = E::NAME;
    const ACTS: Acts = E::ACTS;
    const STAYS: bool = true;
    const AT_ONCE: bool = E::AT_ONCE;

    fn read(&self, fault: &FaultSpec) -> Result<(), FaultError> {
        no_arguments(fault)?;
        E::read(fault)
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<FaultError>> {
        let roots = fault.roots()?;
        let servers = Down::of(fault, &roots)?;
        E::bear(&servers.iter().map(Down::server).collect::<Vec<_>>())?;
        let signal = |site: &Site| match site {
            Site::Server(server) if E::ORDERLY => server.stop_signal,
            _ => libc::SIGKILL,
        };
        Ok(State { roots: roots.into_iter().zip(fault.sites.iter().map(signal)).collect(), servers })
    }

    fn how(&self, state: &State) -> String {
        let signal = match state.roots.first() {
            Some((_, libc::SIGINT)) => "SIGINT",
            Some((_, libc::SIGTERM)) => "SIGTERM",
            _ => "SIGKILL",
        };
        let again = if state.servers.is_empty() { "" } else { ", then the server's own command line" };
        format!("{signal}{}{again}", E::besides())
    }

    fn begin(&self, state: &mut State) -> Result<String, FaultError> {
        E::bear(&state.servers.iter().map(Down::server).collect::<Vec<_>>())
            .map_err(|problems| FaultError::joined(&problems))?;
        let roots = state.roots();
        let mut killed = E::first(&state.servers)?;
        if !E::ORDERLY {
            // Stopped first, so that no process starts another one between the look and the signal.
            match stop_all(&roots) {
                Ok(mut stopped) => {
                    stopped.retain(|process| !killed.contains(process));
                    killed.append(&mut stopped);
                }
                // All may have ended because of the first part.
                Err(problem) if killed.is_empty() => return Err(problem),
                Err(_) => {}
            }
        }
        Down::begins(&mut state.servers);
        // The uppermost ones last: if the guard is killed meanwhile, the end finds the stopped ones below them.
        let killed_by = killed.iter().rev().map(|process| (*process, libc::SIGKILL));
        let orderly = state.roots.iter().copied().filter(|_| E::ORDERLY);
        for (process, signal) in killed_by.chain(orderly) {
            process
                .signal(signal)
                .map_err(|error| FaultError::system(format!("end process {}", process.pid), error))?;
        }
        let (all, patience) = if E::ORDERLY { (&roots, ORDERLY) } else { (&killed, KILLED) };
        match wait_while(all, patience, ProcessId::lives).first() {
            Some(process) => Err(FaultError::Failed(format!(
                "process {} did not end within {} s",
                process.pid,
                patience.as_secs()
            ))),
            None if E::ORDERLY => Ok(format!("{} stopped", counted(all.len(), "server", "servers"))),
            None => {
                let more = E::ended(&state.servers)?;
                Ok(format!("killed {}{more}", counted(all.len(), "process", "processes")))
            }
        }
    }

    fn end(&self, state: &State) -> Result<String, FaultError> {
        let roots = state.roots();
        // The begin may have been cut off between its two signals. Then processes stand still.
        for process in trees(&roots) {
            process
                .signal(libc::SIGCONT)
                .map_err(|error| FaultError::system(format!("resume process {}", process.pid), error))?;
        }
        // An orderly stop may not be over. Meanwhile the port of the server may still accept connections.
        let stops = E::ORDERLY && !state.servers.is_empty();
        let patience = if stops { ORDERLY } else { Duration::ZERO };
        match wait_while(&roots, patience, ProcessId::lives).first() {
            Some(process) if stops => Err(FaultError::Failed(format!(
                "process {} was told to stop, and has not ended within {} s",
                process.pid,
                patience.as_secs()
            ))),
            _ => {
                let servers: Vec<Down> =
                    state.servers.iter().filter(|server| !server.is_given_up()).cloned().collect();
                E::before_start(&servers).and_then(|()| Down::start_all(&servers))
            }
        }
    }
}
