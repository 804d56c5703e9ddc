//! Warnings about a driver whose declarations nobody has tested.

use crate::companion::{Begun, Companion, Over};
use crate::proven;
use crate::ready::tpcc::Ready;
use lydite_bench::Runnable;
use lydite_database::Tpcc;
use lydite_report::RunResult;

/// The warning.
struct Untested(String);

/// Begins, if the target is such a driver.
pub(super) fn begin(ready: &Ready<'_>) -> Begun<Tpcc> {
    Ok(proven::warning(ready.declared).map(|warning| Box::new(Untested(warning)) as _))
}

impl<W: Runnable> Companion<W> for Untested {
    fn add_to(&self, _: &Over<'_, W>, result: &mut RunResult) {
        result.warnings.push(self.0.clone());
    }
}
