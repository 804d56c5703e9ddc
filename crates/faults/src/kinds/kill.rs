//! `kill`: the processes end at once (SIGKILL). A lab's server is started again at the end, if the fault has one.

use super::stop::stop_all;
use super::{Acts, Kind, counted, no_arguments};
use crate::fault::Fault;
use crate::process::{ProcessId, trees, wait_while};
use crate::server::Down;
use crate::spec::{FaultSpec, Where};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Longest wait until the processes have ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// The kind.
pub(super) struct Kill;

/// Processes of the fault.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    /// The uppermost process of each place.
    roots: Vec<ProcessId>,
    /// Servers to start again.
    servers: Vec<Down>,
}

impl Kind for Kill {
    type State = State;
    const NAME: &'static str = "kill";
    const ACTS: Acts = Acts::OnProcesses;
    const STAYS: bool = true;

    fn read(&self, fault: &FaultSpec) -> Result<(), String> {
        no_arguments(fault)?;
        match fault.places.iter().find(|place| matches!(place, Where::Process(_) | Where::Service(_))) {
            Some(place) if fault.to.is_some() => {
                Err(format!("has an end, and {place} can't be started again: leave out ..TO, or use a lab"))
            }
            _ => Ok(()),
        }
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<String>> {
        let roots = fault.roots()?;
        let servers = Down::of(fault, &roots)?;
        Ok(State { roots, servers })
    }

    fn how(&self, state: &State) -> String {
        if state.servers.is_empty() {
            "SIGKILL".into()
        } else {
            "SIGKILL, then the server's own command line".into()
        }
    }

    fn begin(&self, state: &mut State) -> Result<String, String> {
        // Stopped first, so that no process starts another one between the look and the signal.
        let all = stop_all(&state.roots)?;
        Down::begins(&mut state.servers);
        for process in &all {
            process
                .signal(libc::SIGKILL)
                .map_err(|error| format!("kill process {}: {error}", process.pid))?;
        }
        let left = wait_while(&all, PATIENCE, ProcessId::lives);
        match left.first() {
            Some(process) => Err(format!("process {} did not end", process.pid)),
            None => Ok(format!("killed {}", counted(all.len(), "process", "processes"))),
        }
    }

    fn end(&self, state: &State) -> Result<String, String> {
        // Left standing if the begin was cut off between its two signals.
        for process in trees(&state.roots) {
            process
                .signal(libc::SIGCONT)
                .map_err(|error| format!("resume process {}: {error}", process.pid))?;
        }
        Down::start_all(&state.servers)
    }
}
