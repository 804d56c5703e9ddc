//! The twelve consistency conditions of clause 3.3.2 on a whole database.

use lydite_target::{ConditionFinding, Target, TargetError};
use lydite_tpcc::consistency::CONDITIONS;

/// Evaluates all twelve; `done` is told each as it comes, in whatever order. The findings are by number.
///
/// # Errors
/// The database fails; a condition that does not hold is a finding.
pub fn check(
    target: &dyn Target,
    done: &(dyn Fn(&ConditionFinding) + Sync),
) -> Result<Vec<ConditionFinding>, TargetError> {
    target.check(&CONDITIONS, done)
}
