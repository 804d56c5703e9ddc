//! `restart`: the processes end at once (SIGKILL), and the server is started again at the end. This is a `kill` that must
//! have an end.

use super::kill::{self, Kill};
use super::{Acts, Kind, no_arguments};
use crate::fault::Fault;
use crate::spec::FaultSpec;

/// The kind.
pub(super) struct Restart;

impl Kind for Restart {
    type State = kill::State;
    const NAME: &'static str = "restart";
    const ACTS: Acts = Acts::OnLabs;

    fn read(&self, fault: &FaultSpec) -> Result<(), String> {
        no_arguments(fault)?;
        match fault.to {
            Some(_) => Ok(()),
            None => Err("needs an end, at which the server is started again: write FROM..TO".into()),
        }
    }

    fn check(&self, fault: &Fault) -> Result<kill::State, Vec<String>> {
        Kind::check(&Kill, fault)
    }

    fn how(&self, state: &kill::State) -> String {
        Kind::how(&Kill, state)
    }

    fn begin(&self, state: &mut kill::State) -> Result<String, String> {
        Kind::begin(&Kill, state)
    }

    fn end(&self, state: &kill::State) -> Result<String, String> {
        Kind::end(&Kill, state)
    }
}
