//! `shutdown`: a lab's server stops in its own orderly way, and is started again at the end, if the fault has one.

use super::{Acts, Kind, counted, no_arguments};
use crate::fault::{Fault, Site};
use crate::process::{ProcessId, wait_while};
use crate::server::Down;
use crate::spec::FaultSpec;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Longest wait for an orderly stop, which may write all changed pages.
const PATIENCE: Duration = Duration::from_secs(60);

/// The kind.
pub(super) struct Shutdown;

/// Servers of the fault.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    /// The process of each server, and the signal of its orderly stop.
    roots: Vec<(ProcessId, i32)>,
    /// Servers to start again.
    servers: Vec<Down>,
}

impl Kind for Shutdown {
    type State = State;
    const NAME: &'static str = "shutdown";
    const ACTS: Acts = Acts::OnLabs;
    const STAYS: bool = true;

    fn read(&self, fault: &FaultSpec) -> Result<(), String> {
        no_arguments(fault)
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<String>> {
        let roots = fault.roots()?;
        let servers = Down::of(fault, &roots)?;
        let signal = |site: &Site| match site {
            Site::Server(server) => server.stop_signal,
            Site::Machine | Site::Process(_) => libc::SIGTERM,
        };
        Ok(State { roots: roots.into_iter().zip(fault.sites.iter().map(signal)).collect(), servers })
    }

    fn how(&self, state: &State) -> String {
        let signals: Vec<&str> = state
            .roots
            .iter()
            .map(|(_, signal)| if *signal == libc::SIGINT { "SIGINT" } else { "SIGTERM" })
            .collect();
        let signal = signals.first().copied().unwrap_or("SIGTERM");
        if state.servers.is_empty() {
            signal.into()
        } else {
            format!("{signal}, then the server's own command line")
        }
    }

    fn begin(&self, state: &mut State) -> Result<String, String> {
        Down::begins(&mut state.servers);
        for (process, signal) in &state.roots {
            process.signal(*signal).map_err(|error| format!("stop process {}: {error}", process.pid))?;
        }
        let roots: Vec<ProcessId> = state.roots.iter().map(|(process, _)| *process).collect();
        match wait_while(&roots, PATIENCE, ProcessId::lives).first() {
            Some(process) => {
                Err(format!("process {} did not end within {} s", process.pid, PATIENCE.as_secs()))
            }
            None => Ok(format!("{} stopped", counted(roots.len(), "server", "servers"))),
        }
    }

    fn end(&self, state: &State) -> Result<String, String> {
        Down::start_all(&state.servers)
    }
}
