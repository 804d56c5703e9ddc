//! Checks of the consistency conditions, for `lydite check` and before and after a run.

use crate::companion::Found;
use lydite_bench::WrongRows;
use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_console::output::eprint;
use lydite_database::{ConditionFinding, Target};
use lydite_report::live::Style;
use lydite_report::model::{CheckResult, CheckedWhen, ROWS_CHECK};
use lydite_tpcc::consistency::{Condition, OWN_CONDITIONS};
use lydite_verify::conditions::{self, Checked};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the results of the checks before a run.
///
/// # Errors
/// A condition does not hold, or the user interrupted the checks: both end the run.
pub(crate) fn before(found: Found) -> Result<Vec<CheckResult>, Failure> {
    let mut failures = Vec::new();
    let mut broken = found.results.iter().filter(|check| !check.ok);
    if let Some(first) = broken.next() {
        let others: Vec<&str> = broken.map(|check| check.id.as_str()).collect();
        let others =
            if others.is_empty() { String::new() } else { format!(" (nor does {})", others.join(", ")) };
        let cause = if ["3.3.2.1", "3.3.2.8"].contains(&first.id.as_str()) {
            "a run with update_balance causes this while it runs, or if it was killed: wait for its end, or repair it by \
             another run with update_balance; in other cases "
        } else {
            ""
        };
        failures.push(Failure::CheckFailed(format!(
            "{} {} does not hold before the run: {}{others}: {cause}reload with --fresh, or measure it all the same with \
             --no-check",
            if OWN_CONDITIONS.iter().any(|own| own.clause == first.id) {
                "Lydite's own condition"
            } else {
                "condition"
            },
            first.id,
            first.detail
        )));
    }
    if found.stopped {
        let words = "interrupted during the check before the run: nothing was measured";
        failures.push(Failure::Interrupted(words.into()));
    }
    Failure::all(failures)?;
    Ok(found.results)
}

/// Returns the check that fails if transactions found another number of rows than there must be; `None` if none did.
pub(crate) fn of_rows(found: &WrongRows) -> Option<CheckResult> {
    let WrongRows { transactions, example } = found;
    let subject = if *transactions == 1 { "transaction" } else { "transactions" };
    let detail = format!(
        "{transactions} {subject} found another number of rows than there must be: the database is broken, first \
         {example}"
    );
    let (id, when) = (ROWS_CHECK.into(), CheckedWhen::After);
    (*transactions > 0).then_some(CheckResult { id, ok: false, detail, when, seconds: 0.0 })
}

/// A line in the terminal that counts the evaluated conditions. Dropping it clears the line.
struct Counter {
    evaluated: AtomicUsize,
    of: usize,
    live: bool,
}

impl Counter {
    fn new(style: Style, of: usize) -> Self {
        let live = style == Style::Live;
        if live {
            eprint("\rchecking the consistency conditions …");
        }
        Self { evaluated: AtomicUsize::new(0), of, live }
    }

    fn count(&self) {
        let count = self.evaluated.fetch_add(1, Ordering::Relaxed) + 1;
        if self.live {
            eprint(&format!("\rchecking the consistency conditions: {count} of {} ", self.of));
        }
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        if self.live {
            // Returns to the beginning of the line, and clears it.
            eprint("\r\x1b[K");
        }
    }
}

/// Evaluates conditions, with the progress in the terminal.
pub fn evaluate(
    target: &dyn Target,
    style: Style,
    conditions: &[Condition],
) -> Result<Vec<ConditionFinding>, Failure> {
    let counter = Counter::new(style, conditions.len());
    Ok(conditions::check(target, conditions, &|_| counter.count())?)
}

/// Evaluates conditions until the user interrupts. An `embedded` database ends the current condition first.
pub fn evaluate_until(
    interrupt: &Interrupt,
    target: &Arc<dyn Target>,
    embedded: bool,
    style: Style,
    conditions: &[Condition],
) -> Result<Checked, Failure> {
    let counter = Counter::new(style, conditions.len());
    let (stop, done) = (|| interrupt.asked(), &mut |_: &ConditionFinding| counter.count());
    Ok(if embedded {
        conditions::check_in_turn(&**target, conditions, &stop, done)?
    } else {
        conditions::check_aside(target, conditions, &stop, done)?
    })
}

fn result(finding: &ConditionFinding, when: CheckedWhen) -> CheckResult {
    let not_compared = finding.not_compared.map(|part| format!(" ({part})")).unwrap_or_default();
    let detail = if finding.holds() {
        format!("{}{not_compared}", finding.condition.title)
    } else {
        format!(
            "{}{not_compared}: broken by {} {}: {}",
            finding.condition.title,
            finding.offenders,
            if finding.offenders == 1 { "key" } else { "keys" },
            finding.examples.join("; ")
        )
    };
    CheckResult {
        id: finding.condition.clause.to_string(),
        ok: finding.holds(),
        detail,
        when,
        seconds: finding.seconds,
    }
}

/// Returns findings as checks of a result.
pub fn results(findings: &[ConditionFinding], when: CheckedWhen) -> Vec<CheckResult> {
    findings.iter().map(|finding| result(finding, when)).collect()
}

/// Returns the check of a result that could not be made, of TPC-C's conditions or of the microbenchmark.
pub(crate) fn failed(id: &str, failure: &Failure) -> CheckResult {
    CheckResult {
        id: id.into(),
        ok: false,
        detail: format!("could not be checked: {}", failure.line()),
        when: CheckedWhen::After,
        seconds: 0.0,
    }
}
