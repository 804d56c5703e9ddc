//! `lydite check`, and the checks before and after a run.

use crate::Outcome;
use crate::cli::CheckArgs;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::loading::unusable;
use lydite_report::live::Style;
use lydite_report::model::{CheckResult, CheckedWhen};
use lydite_target::Target;
use lydite_target::{ConditionFinding, DatabaseState, TargetSpec, TxMode};
use lydite_tpcc::consistency::CONDITION_COUNT;
use lydite_verify::conditions::{self, Checked};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// `lydite check`.
pub(crate) fn command(args: CheckArgs) -> Outcome {
    let spec = TargetSpec::parse(&args.target, TxMode::Statements).map_err(Failure::Usage)?;
    let target = spec.open()?;
    let url = target.describe()?.url;
    match target.state()? {
        DatabaseState::Ready { meta } => {
            if !args.quiet {
                println!("{url}: {} warehouses, loaded by Lydite {}", meta.warehouses, meta.lydite);
            }
        }
        DatabaseState::Empty => {
            return Err(Failure::usage(format!(
                "{url} is empty: load it first with `lydite load {url} --warehouses N`"
            )));
        }
        DatabaseState::AnyScale => return Err(Failure::usage(format!("{url} stores nothing to check"))),
        state => {
            if let Some(failure) = unusable(&state, &url) {
                return Err(failure);
            }
        }
    }
    let begun = Instant::now();
    let findings = evaluate(&*target, Style::detect(args.quiet))?;
    // Not the sum of the conditions' times: some are evaluated side by side.
    let seconds = begun.elapsed().as_secs_f64();
    for finding in findings.iter().filter(|finding| !args.quiet || !finding.holds()) {
        println!("{}", line(finding));
        for example in &finding.examples {
            println!("           {example}");
        }
        if finding.offenders > finding.examples.len() as u64 {
            println!("           … {} in all", finding.offenders);
        }
    }
    let broken = findings.iter().filter(|finding| !finding.holds()).count();
    if !args.quiet {
        println!(
            "{} of {} consistency conditions hold ({seconds:.1} s)",
            findings.len() - broken,
            findings.len()
        );
    }
    if args.checksums {
        for checksum in target.checksums()? {
            println!("{:<12} {:>12} rows  {:016x}", checksum.table.name(), checksum.rows, checksum.sum);
        }
    }
    if broken == 0 { Ok(()) } else { Err(Failure::CheckFailed) }
}

/// Tells in a terminal how many conditions are evaluated. The line goes with it.
struct Counter {
    evaluated: AtomicUsize,
    live: bool,
}

impl Counter {
    fn new(style: Style) -> Self {
        let live = style == Style::Live;
        if live {
            eprint!("\rchecking the consistency conditions …");
        }
        Self { evaluated: AtomicUsize::new(0), live }
    }

    fn count(&self) {
        let count = self.evaluated.fetch_add(1, Ordering::Relaxed) + 1;
        if self.live {
            eprint!("\rchecking the consistency conditions: {count} of {CONDITION_COUNT} ");
        }
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        if self.live {
            // Back to the beginning of the line, and clear it.
            eprint!("\r\x1b[K");
        }
    }
}

/// Evaluates all conditions, by number, telling in a terminal how far it is.
fn evaluate(target: &dyn Target, style: Style) -> Result<Vec<ConditionFinding>, Failure> {
    let counter = Counter::new(style);
    Ok(conditions::check(target, &|_| counter.count())?)
}

/// The same until the user interrupts: at once, or if the database is within this process after the condition at hand.
pub(crate) fn evaluate_until(
    interrupt: &Interrupt,
    target: &Arc<dyn Target>,
    embedded: bool,
    style: Style,
) -> Result<Checked, Failure> {
    let counter = Counter::new(style);
    let (stop, done) = (|| interrupt.asked(), &mut |_: &ConditionFinding| counter.count());
    Ok(if embedded {
        conditions::check_in_turn(&**target, &stop, done)?
    } else {
        conditions::check_aside(target, &stop, done)?
    })
}

fn line(finding: &ConditionFinding) -> String {
    let verdict = if finding.holds() { "ok    " } else { "FAILED" };
    format!(
        "{verdict} {:<9} {:<58} {:>7.2} s",
        finding.condition.clause, finding.condition.title, finding.seconds
    )
}

fn result(finding: &ConditionFinding, when: CheckedWhen) -> CheckResult {
    let detail = if finding.holds() {
        finding.condition.title.to_string()
    } else {
        format!(
            "{}: broken by {} {}: {}",
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

/// Findings as they stand in a result.
pub(crate) fn results(findings: &[ConditionFinding], when: CheckedWhen) -> Vec<CheckResult> {
    findings.iter().map(|finding| result(finding, when)).collect()
}

/// The entry in a result for a check that could not be made.
pub(crate) fn failed(failure: &Failure) -> CheckResult {
    CheckResult {
        id: "3.3.2".into(),
        ok: false,
        detail: format!("the conditions could not be checked: {}", failure.line()),
        when: CheckedWhen::After,
        seconds: 0.0,
    }
}
