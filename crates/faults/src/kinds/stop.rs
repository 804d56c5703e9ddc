//! `stop`: the processes stand still (SIGSTOP), and go on at the end (SIGCONT). Connections stay open.

use super::{Acts, Kind, counted, no_arguments};
use crate::error::FaultError;
use crate::fault::Fault;
use crate::process::{ProcessId, trees, wait_while};
use crate::spec::FaultSpec;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Longest wait until the processes have changed their state.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most rounds of stopping: each finds the processes that were started during the last one.
const ROUNDS: usize = 20;

/// The kind.
pub(super) struct Stop;

/// Processes of the fault.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    /// The uppermost process of each place.
    roots: Vec<ProcessId>,
    /// Stopped processes.
    stopped: Vec<ProcessId>,
}

impl Kind for Stop {
    type State = State;
    const NAME: &'static str = "stop";
    const ACTS: Acts = Acts::OnProcesses;

    fn read(&self, fault: &FaultSpec) -> Result<(), FaultError> {
        no_arguments(fault)
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<FaultError>> {
        Ok(State { roots: fault.roots()?, stopped: Vec::new() })
    }

    fn how(&self, _: &State) -> String {
        "SIGSTOP, then SIGCONT".into()
    }

    fn begin(&self, state: &mut State) -> Result<String, FaultError> {
        state.stopped = stop_all(&state.roots)?;
        let moving = wait_while(&state.stopped, PATIENCE, |process| {
            process.state().is_some_and(|letter| letter != 'T')
        });
        if let Some(process) = moving.first() {
            return Err(FaultError::Failed(format!("process {} did not stop", process.pid)));
        }
        Ok(format!("stopped {}, state T", counted(state.stopped.len(), "process", "processes")))
    }

    fn end(&self, state: &State) -> Result<String, FaultError> {
        let mut all = trees(&state.roots);
        all.extend(
            state.stopped.iter().filter(|process| !all.contains(process)).copied().collect::<Vec<_>>(),
        );
        let early =
            state.stopped.iter().filter(|one| one.state().is_some_and(|letter| letter != 'T')).count();
        for process in &all {
            process
                .signal(libc::SIGCONT)
                .map_err(|error| FaultError::system(format!("resume process {}", process.pid), error))?;
        }
        let still = wait_while(&all, PATIENCE, |process| process.state() == Some('T'));
        match still.first() {
            Some(process) => Err(FaultError::Failed(format!("process {} is still stopped", process.pid))),
            None if early > 0 => Ok(format!(
                "{} went on before: somebody else resumed them",
                counted(early, "process", "processes")
            )),
            None => Ok(String::new()),
        }
    }
}

/// Stops whole trees of processes, also those that are started meanwhile. Returns the stopped processes.
///
/// # Errors
/// A tree has no processes any more, or a process takes no signal.
pub(super) fn stop_all(roots: &[ProcessId]) -> Result<Vec<ProcessId>, FaultError> {
    let mut stopped: Vec<ProcessId> = Vec::new();
    for _ in 0..ROUNDS {
        let new: Vec<ProcessId> =
            trees(roots).into_iter().filter(|process| !stopped.contains(process)).collect();
        if new.is_empty() {
            break;
        }
        for process in new {
            if process
                .signal(libc::SIGSTOP)
                .map_err(|error| FaultError::system(format!("stop process {}", process.pid), error))?
            {
                stopped.push(process);
            }
        }
    }
    if stopped.is_empty() {
        return Err(FaultError::Failed("the processes have ended before".into()));
    }
    Ok(stopped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Processes;
    use std::process::Command;

    #[test]
    fn a_tree_stands_still_and_goes_on_also_without_the_state_of_the_begin() {
        let mut shell = Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        let root = ProcessId::of(shell.id()).unwrap();
        while Processes::now().tree(root).len() < 2 {
            std::thread::sleep(Duration::from_millis(2));
        }
        let mut state = State { roots: vec![root], stopped: Vec::new() };
        assert_eq!(Stop.begin(&mut state).unwrap(), "stopped 2 processes, state T");
        let tree = state.stopped.clone();
        assert!(tree.iter().all(|process| process.state() == Some('T')));
        let noted_before_the_begin = State { roots: vec![root], stopped: Vec::new() };
        assert_eq!(Stop.end(&noted_before_the_begin).unwrap(), "");
        assert!(tree.iter().all(|process| process.state() != Some('T')));
        assert_eq!(Stop.end(&state).unwrap(), "2 processes went on before: somebody else resumed them");
        tree.iter().for_each(|process| drop(process.signal(libc::SIGKILL)));
        shell.wait().unwrap();
        Stop.end(&state).unwrap();
    }
}
