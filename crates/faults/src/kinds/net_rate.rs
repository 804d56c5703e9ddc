//! `net-rate:BYTES`: all packets that leave the database's ports get so many bytes per second together.

use super::net::{Action, Ended, NetKind};
use crate::error::FaultError;
use crate::hold::Shape;
use crate::spec::FaultSpec;
use crate::units::bytes;

/// The kind.
pub(super) struct NetRate;

impl NetKind for NetRate {
    const NAME: &'static str = "net-rate";
    const ARGUMENTS: &'static str = "BYTES";

    fn action(fault: &FaultSpec) -> Result<Action, FaultError> {
        Ok(Action::Hold { shape: shape(fault)?, table: "security" })
    }

    fn words(ended: &Ended) -> String {
        let bytes = ended.counts.bytes;
        format!(
            "{} of {bytes} bytes in all; those still held at its end went on then",
            ended.taken("limited")
        )
    }
}

/// Reads the bytes per second.
fn shape(fault: &FaultSpec) -> Result<Shape, FaultError> {
    let bytes_per_s = fault.arguments.as_deref().and_then(bytes).filter(|bytes| *bytes > 0);
    bytes_per_s.map(|bytes_per_s| Shape::Rate { bytes_per_s }).ok_or_else(|| {
        let words =
            "needs bytes per second from 1, with k, M, G, Ki, Mi or Gi, as net-rate:200k@5s..10s/lab:pg";
        FaultError::Wrong(words.into())
    })
}
