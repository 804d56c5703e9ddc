//! `restart`: a `kill` of a lab's server that must have an end, when the server is started again.

use super::Acts;
use super::ends::{EndKind, require_end};
use crate::error::FaultError;
use crate::spec::FaultSpec;

/// The kind.
pub(super) struct Restart;

impl EndKind for Restart {
    const NAME: &'static str = "restart";
    const ACTS: Acts = Acts::OnLabs;
    const ORDERLY: bool = false;

    fn read(fault: &FaultSpec) -> Result<(), FaultError> {
        require_end(fault, "the server is started again")
    }
}
