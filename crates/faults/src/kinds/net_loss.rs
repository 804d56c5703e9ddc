//! `net-loss:PERCENT`: a share of the packets from and to the database's ports is dropped.

use super::net::{Action, Ended, NetKind, packets};
use crate::error::FaultError;
use crate::spec::FaultSpec;

/// Least percentage: iptables counts in parts of 2³¹.
const LEAST: f64 = 0.0001;

/// The kind.
pub(super) struct NetLoss;

impl NetKind for NetLoss {
    const NAME: &'static str = "net-loss";
    const ARGUMENTS: &'static str = "PERCENT";

    fn action(fault: &FaultSpec) -> Result<Action, FaultError> {
        Ok(Action::Drop { share: Some(share(fault)?) })
    }

    fn words(Ended { counts, .. }: &Ended) -> String {
        format!("dropped {} of {}", counts.taken, packets(counts.matched))
    }
}

/// Reads the share of lost packets.
fn share(fault: &FaultSpec) -> Result<f64, FaultError> {
    let number = |text: &str| text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    let percent = fault.arguments.as_deref().and_then(number);
    percent.filter(|percent| (LEAST..=100.0).contains(percent)).map(|percent| percent / 100.0).ok_or_else(
        || FaultError::Wrong(format!("needs a percentage from {LEAST} to 100, as net-loss:5@5s..10s/lab:pg")),
    )
}
