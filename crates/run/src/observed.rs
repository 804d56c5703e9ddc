//! Sources of observations before a run: whether they can be reached.

use lydite_console::exit::Failure;
use lydite_database::{Target, TargetError, TargetErrorKind};
use lydite_observe::{Server, SourceSpec, host};
use lydite_plan::Plan;

/// Returns the problem of a source that can't be sampled now. The database is asked later, see [`check`].
pub fn reach(source: &SourceSpec) -> Option<String> {
    match source {
        SourceSpec::Database => None,
        SourceSpec::Host(None) => host::observer(Vec::new()).err(),
        SourceSpec::Host(Some(port)) => Server::find(String::new(), *port).err(),
        SourceSpec::Remote(remote) => remote.check().err(),
        SourceSpec::Exporter(exporter) => exporter.check().err(),
    }
}

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
