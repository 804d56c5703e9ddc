//! Records and counters of the microbenchmark before and after a run.

use crate::checks::before;
use crate::companion::{Begun, Companion, Found, Over};
use crate::ready::micro::Ready;
use crate::records::{records_check, sum};
use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_database::{Micro, Target};
use lydite_micro::{Bounds, Engines, Meta, Totals};
use lydite_report::model::{CheckResult, CheckedWhen};
use std::sync::Arc;

/// The name of the check.
const COUNTERS: &str = "counters";

/// The counters of a database.
struct Counters {
    target: Arc<dyn Target>,
    meta: Meta,
    engines: Engines,
    /// Updates of each transaction.
    updates: u64,
    interrupt: Interrupt,
    before: Vec<CheckResult>,
    /// The sum of the counters before the run.
    sum: i128,
}

/// Checks the records before the run, if the plan checks.
pub(crate) fn begin(ready: &Ready<'_>) -> Begun<Micro> {
    if !(ready.request.plan.check && ready.stored) {
        return Ok(None);
    }
    let inputs = ready.run_plan.inputs;
    let interrupt = ready.request.interrupt.clone();
    let found = sum(&*ready.target, &ready.run_plan.meta, &interrupt)?;
    let sum = found.as_ref().map_or(0, |(totals, _)| totals.counters);
    let found = found.map(|(totals, seconds)| {
        records_check(&totals, &ready.run_plan.meta, inputs.engines, CheckedWhen::Before, seconds)
    });
    Ok(Some(Box::new(Counters {
        target: Arc::clone(&ready.target),
        meta: ready.run_plan.meta.clone(),
        engines: inputs.engines,
        updates: inputs.shape.updates.into(),
        interrupt,
        before: before(found.into())?,
        sum,
    })))
}

impl Companion<Micro> for Counters {
    fn made_before(&mut self) -> Vec<CheckResult> {
        std::mem::take(&mut self.before)
    }

    fn checks(&self, _: &Over<'_, Micro>) -> Option<&'static str> {
        Some(COUNTERS)
    }

    fn check(&mut self, over: &Over<'_, Micro>) -> Result<Found, Failure> {
        let Some((totals, seconds)) = sum(&*self.target, &self.meta, &self.interrupt)? else {
            return Ok(None.into());
        };
        let whole = &over.measurement.whole;
        let bounds = Bounds {
            acknowledged: whole.committed.iter().sum::<u64>() * self.updates,
            unknown: whole.unknown() * self.updates,
        };
        let records = records_check(&totals, &self.meta, self.engines, CheckedWhen::After, seconds);
        let updates = counters_check(&totals, self.sum, &bounds, 0.0);
        Ok(Found { results: vec![records, updates], stopped: false })
    }
}

/// Returns the check of the updates: the rise of the counters against the updates that the run may have added.
fn counters_check(totals: &Totals, before: i128, bounds: &Bounds, seconds: f64) -> CheckResult {
    let (after, Bounds { acknowledged, unknown }) = (totals.counters, bounds);
    let unknown = match unknown {
        0 => String::new(),
        unknown => format!(", and up to {unknown} whose outcome is unknown"),
    };
    CheckResult {
        id: COUNTERS.into(),
        ok: bounds.allow(before, after),
        detail: format!(
            "the counters rose by {} from {before} to {after}, and {acknowledged} updates were acknowledged{unknown}",
            after - before
        ),
        when: CheckedWhen::After,
        seconds,
    }
}
