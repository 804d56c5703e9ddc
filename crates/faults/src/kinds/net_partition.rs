//! `net-partition`: nobody reaches the database's ports, and nothing leaves them. Connections stay open, unanswered.

use super::net::{Action, Ended, State};
use super::{Acts, Kind, no_arguments};
use crate::fault::Fault;
use crate::spec::FaultSpec;

/// The kind.
pub(super) struct NetPartition;

impl Kind for NetPartition {
    type State = State;
    const NAME: &'static str = "net-partition";
    const ACTS: Acts = Acts::OnProcesses;

    fn read(&self, fault: &FaultSpec) -> Result<(), String> {
        no_arguments(fault)
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<String>> {
        State::of(fault, Action::Drop { share: None })
    }

    fn how(&self, state: &State) -> String {
        state.how()
    }

    fn begin(&self, state: &mut State) -> Result<String, String> {
        state.begin()
    }

    fn end(&self, state: &State) -> Result<String, String> {
        Ok(state.end()?.map_or_else(String::new, |ended: Ended| ended.taken("dropped")))
    }
}
