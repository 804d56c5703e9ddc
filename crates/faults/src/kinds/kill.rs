//! `kill`: the processes end at once (SIGKILL). A lab's server is started again at the end, if the fault has one.

use super::Acts;
use super::ends::EndKind;
use crate::error::FaultError;
use crate::spec::{FaultSpec, Where};

/// The kind.
pub(super) struct Kill;

impl EndKind for Kill {
    const NAME: &'static str = "kill";
    const ACTS: Acts = Acts::OnProcesses;
    const ORDERLY: bool = false;

    fn read(fault: &FaultSpec) -> Result<(), FaultError> {
        match fault.places.iter().find(|place| matches!(place, Where::Process(_) | Where::Service(_))) {
            Some(place) if fault.to.is_some() => Err(FaultError::Wrong(format!(
                "has an end, and {place} can't be started again: leave out ..TO, or use a lab"
            ))),
            _ => Ok(()),
        }
    }
}
