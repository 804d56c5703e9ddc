//! `shutdown`: a lab's server stops in its own orderly way, and is started again at the end, if the fault has one.

use super::Acts;
use super::ends::EndKind;
use crate::error::FaultError;
use crate::spec::FaultSpec;

/// The kind.
pub(super) struct Shutdown;

impl EndKind for Shutdown {
    const NAME: &'static str = "shutdown";
    const ACTS: Acts = Acts::OnLabs;
    const ORDERLY: bool = true;

    fn read(_: &FaultSpec) -> Result<(), FaultError> {
        Ok(())
    }
}
