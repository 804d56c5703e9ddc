//! The agents of a fleet in the result.

use crate::companion::{Begun, Companion, Over};
use crate::ready::tpcc::Ready;
use lydite_bench::Runnable;
use lydite_console::exit::Failure;
use lydite_database::Tpcc;
use lydite_report::RunResult;

/// The agents, which are known when the window is over.
struct Listed;

/// Begins, if a fleet plays the run.
pub(super) fn begin(ready: &Ready<'_>) -> Begun<Tpcc> {
    Ok(ready.request.fleet.is_some().then(|| Box::new(Listed) as _))
}

impl<W: Runnable> Companion<W> for Listed {
    fn add_to(&self, over: &Over<'_, W>, result: &mut RunResult) {
        over.agents.add_to(result);
    }

    fn failures(&self, over: &Over<'_, W>) -> Vec<Failure> {
        over.agents.failures().collect()
    }
}
