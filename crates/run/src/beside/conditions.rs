//! The consistency conditions before and after a run: the standard's twelve and Lydite's own.

use crate::checks::{before, evaluate_until, results};
use crate::companion::{Begun, Companion, Found, Over};
use crate::ready::tpcc::Ready;
use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_database::{Target, Tpcc};
use lydite_report::live::Style;
use lydite_report::model::{CheckResult, CheckedWhen};
use lydite_tpcc::consistency::{Condition, conditions_of};
use lydite_tpcc::meta::Played;
use lydite_verify::conditions::Checked;
use std::sync::Arc;

/// The name of all conditions in a result that lacks them.
const ALL: &str = "3.3.2";

/// The conditions of a database.
struct Conditions {
    target: Arc<dyn Target>,
    conditions: Vec<Condition>,
    embedded: bool,
    style: Style,
    interrupt: Interrupt,
    before: Vec<CheckResult>,
}

/// Evaluates the conditions before the run, if the plan checks. Then notes in the database which transactions beyond the
/// standard's five the run plays: its own conditions compare less from now on.
pub(super) fn begin(ready: &Ready<'_>) -> Begun<Tpcc> {
    let mut conditions = Conditions {
        target: Arc::clone(&ready.target),
        conditions: conditions_of(&ready.meta),
        embedded: ready.description.embedded,
        style: ready.request.style,
        interrupt: ready.request.interrupt.clone(),
        before: Vec::new(),
    };
    if ready.checks() {
        conditions.before = before(conditions.evaluate(CheckedWhen::Before)?)?;
    }
    let schedule = &ready.request.plan.schedule;
    let kinds: Vec<_> = Played::NOTED.into_iter().filter(|&kind| schedule.plays(kind)).collect();
    if ready.stored && !kinds.is_empty() {
        ready.target.note_played(&kinds)?;
    }
    Ok(ready.checks().then(|| Box::new(conditions) as _))
}

impl Conditions {
    fn evaluate(&self, when: CheckedWhen) -> Result<Found, Failure> {
        let found =
            evaluate_until(&self.interrupt, &self.target, self.embedded, self.style, &self.conditions)?;
        let (found, stopped) = match found {
            Checked::All(found) => (found, false),
            Checked::Stopped(found) => (found, true),
        };
        Ok(Found { results: results(&found, when), stopped })
    }
}

impl Companion<Tpcc> for Conditions {
    fn made_before(&mut self) -> Vec<CheckResult> {
        std::mem::take(&mut self.before)
    }

    fn checks(&self, _: &Over<'_, Tpcc>) -> Option<&'static str> {
        Some(ALL)
    }

    fn check(&mut self, _: &Over<'_, Tpcc>) -> Result<Found, Failure> {
        self.evaluate(CheckedWhen::After)
    }
}
