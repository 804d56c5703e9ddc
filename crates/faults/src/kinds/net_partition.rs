//! `net-partition`: nobody reaches the database's ports, and nothing leaves them. Connections stay open, unanswered.

use super::net::{Action, Ended, NetKind};
use super::no_arguments;
use crate::error::FaultError;
use crate::spec::FaultSpec;

/// The kind.
pub(super) struct NetPartition;

impl NetKind for NetPartition {
    const NAME: &'static str = "net-partition";

    fn action(fault: &FaultSpec) -> Result<Action, FaultError> {
        no_arguments(fault).map(|()| Action::Drop { share: None })
    }

    fn words(ended: &Ended) -> String {
        ended.taken("dropped")
    }
}
