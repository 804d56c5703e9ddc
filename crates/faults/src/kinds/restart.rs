//! `restart`: a `kill` of a lab's server that must have an end, when the server is started again.

use super::Acts;
use super::ends::EndKind;
use crate::spec::FaultSpec;

/// The kind.
pub(super) struct Restart;

impl EndKind for Restart {
    const NAME: &'static str = "restart";
    const ACTS: Acts = Acts::OnLabs;
    const ORDERLY: bool = false;

    fn read(fault: &FaultSpec) -> Result<(), String> {
        match fault.to {
            Some(_) => Ok(()),
            None => Err("needs an end, when the server is started again: write FROM..TO".into()),
        }
    }
}
