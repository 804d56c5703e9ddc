//! `net-rate:BYTES`: all packets that leave the database's ports get so many bytes per second together.

use super::net::{Action, Ended, State};
use super::{Acts, Kind};
use crate::fault::Fault;
use crate::hold::Shape;
use crate::spec::FaultSpec;
use crate::units::bytes;

/// The kind.
pub(super) struct NetRate;

impl Kind for NetRate {
    type State = State;
    const NAME: &'static str = "net-rate";
    const ACTS: Acts = Acts::OnProcesses;

    fn read(&self, fault: &FaultSpec) -> Result<(), String> {
        shape(fault).map(drop)
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<String>> {
        let shape = shape(&fault.spec).map_err(|problem| vec![problem])?;
        State::of(fault, Action::Hold { shape, table: "security" })
    }

    fn how(&self, state: &State) -> String {
        state.how()
    }

    fn begin(&self, state: &mut State) -> Result<String, String> {
        state.begin()
    }

    fn end(&self, state: &State) -> Result<String, String> {
        let words =
            |ended: Ended| format!("{}; they had {} bytes", ended.taken("limited"), ended.counts.bytes);
        Ok(state.end()?.map_or_else(String::new, words))
    }
}

/// Reads the bytes per second.
fn shape(fault: &FaultSpec) -> Result<Shape, String> {
    let bytes_per_s = fault.arguments.as_deref().and_then(bytes).filter(|bytes| *bytes > 0);
    bytes_per_s.map(|bytes_per_s| Shape::Rate { bytes_per_s }).ok_or_else(|| {
        "needs bytes per second from 1, with k, M, G, Ki, Mi or Gi, as net-rate:200k@5s..10s/lab:pg".into()
    })
}
