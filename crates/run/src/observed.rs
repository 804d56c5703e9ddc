//! Sources of observations before a run.

use lydite_console::exit::Failure;
use lydite_database::{Target, TargetError, TargetErrorKind};
use lydite_observe::SourceSpec;
use lydite_plan::observe::Observe;

/// Rejects sources with a database that has nothing to report, unless it is one by default.
///
/// # Errors
/// It has nothing to report, or the user may not read it; the database is away.
pub fn check(observe: &Observe, target: &dyn Target) -> Result<(), Failure> {
    let configured = observe.configured && observe.sources.contains(&SourceSpec::Database);
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
