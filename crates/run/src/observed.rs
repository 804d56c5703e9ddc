//! Sources of observations before a run.

use lydite_console::exit::Failure;
use lydite_database::{Target, TargetError, TargetErrorKind};
use lydite_observe::SourceSpec;
use lydite_plan::Plan;

/// Rejects a plan that observes a database with nothing to report, unless it does so by default.
pub(crate) fn check(plan: &Plan, target: &dyn Target) -> Result<(), Failure> {
    let configured = plan.observe.configured && plan.observe.sources.contains(&SourceSpec::Database);
    if !configured {
        return Ok(());
    }
    match target.capabilities().observer(0) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => {
            let problem = "observe db: this database reports no statistics that Lydite knows: leave db out";
            Err(Failure::usage(problem))
        }
        Err(TargetError { kind: TargetErrorKind::Database, message }) => {
            let advice = "let the user read the statistics, or leave db out";
            Err(TargetError::database(format!("observe db: {message}: {advice}")).into())
        }
        Err(error) => Err(error.into()),
    }
}
