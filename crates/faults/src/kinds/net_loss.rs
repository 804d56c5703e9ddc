//! `net-loss:PERCENT`: a share of the packets from and to the database's ports is dropped.

use super::net::{Action, Ended, State, packets};
use super::{Acts, Kind};
use crate::fault::Fault;
use crate::spec::FaultSpec;

/// Least percentage: iptables counts in parts of 2³¹.
const LEAST: f64 = 0.0001;

/// The kind.
pub(super) struct NetLoss;

impl Kind for NetLoss {
    type State = State;
    const NAME: &'static str = "net-loss";
    const ACTS: Acts = Acts::OnProcesses;

    fn read(&self, fault: &FaultSpec) -> Result<(), String> {
        share(fault).map(drop)
    }

    fn check(&self, fault: &Fault) -> Result<State, Vec<String>> {
        let share = share(&fault.spec).map_err(|problem| vec![problem])?;
        State::of(fault, Action::Drop { share: Some(share) })
    }

    fn how(&self, state: &State) -> String {
        state.how()
    }

    fn begin(&self, state: &mut State) -> Result<String, String> {
        state.begin()
    }

    fn end(&self, state: &State) -> Result<String, String> {
        let words = |Ended { counts, .. }| format!("dropped {} of {}", counts.taken, packets(counts.matched));
        Ok(state.end()?.map_or_else(String::new, words))
    }
}

/// Reads the share of lost packets.
fn share(fault: &FaultSpec) -> Result<f64, String> {
    let percent = fault.arguments.as_deref().and_then(|text| text.trim().parse::<f64>().ok());
    percent
        .filter(|percent| (LEAST..=100.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("needs a percentage from {LEAST} to 100, as net-loss:5@5s..10s/lab:pg"))
}
