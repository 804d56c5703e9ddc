//! `lydite check`, and the checks before and after a run.

use crate::cli::CheckArgs;
use crate::exit::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::loading::{unusable, watch, watched};
use crate::micro;
use crate::output::{eprint, print};
use crate::targets::typed;
use lydite_database::{ConditionFinding, DatabaseState, TableChecksum, Target, TxMode};
use lydite_families::TargetSpec;
use lydite_report::live::Style;
use lydite_report::model::{CheckResult, CheckedWhen};
use lydite_tpcc::consistency::{CONDITIONS, Condition, EXTRA_CONDITIONS};
use lydite_verify::conditions::{self, Checked};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// `lydite check`.
pub(crate) fn command(args: CheckArgs) -> Outcome {
    let spec = TargetSpec::parse(&args.target, TxMode::Statements).map_err(Failure::Usage)?;
    if spec.is_temporary() {
        return Err(Failure::usage(format!(
            "{} is a temporary database, and has nothing to check: name the path of one that is loaded; `lydite run` \
             checks the temporary one that it makes",
            args.target
        )));
    }
    let style = Style::detect(args.quiet);
    let (spec, interrupt) = watched(spec, style)?;
    let interrupt = || interrupt.clone().map_or_else(|| watch(style), Ok);
    let target: Arc<dyn Target> = spec.open()?;
    let description = target.describe()?;
    let url = description.url;
    match target.state()? {
        DatabaseState::Micro { meta, ready: true } => {
            drop(target);
            if args.extra {
                return Err(Failure::usage(
                    "--extra: is about ITEM and STOCK, and this database has neither: leave it out",
                ));
            }
            return micro::check_command(&args, &*spec.open()?, &meta, &url, &interrupt()?);
        }
        DatabaseState::Ready { meta } => {
            if !args.quiet {
                print(&format!("{url}: {}, loaded by Lydite {}\n", meta.warehouses_in_words(), meta.lydite))?;
            }
        }
        DatabaseState::Empty => {
            return Err(Failure::usage(format!(
                "{url} is empty: load it first with `lydite load {} --warehouses N`",
                typed(&url)
            )));
        }
        DatabaseState::AnyScale => return Err(Failure::usage(format!("{url} stores nothing to check"))),
        state => {
            if let Some(failure) = unusable(&state, &url) {
                return Err(failure);
            }
        }
    }
    let conditions = conditions(|_| args.extra);
    let begun = Instant::now();
    // A database within this process may simply end with it, and has all conditions on one snapshot so.
    let (findings, stopped) = if description.embedded {
        (evaluate(&*target, style, &conditions)?, false)
    } else {
        match evaluate_until(&interrupt()?, &target, false, style, &conditions)? {
            Checked::All(findings) => (findings, false),
            Checked::Stopped(findings) => (findings, true),
        }
    };
    // Not the sum of the conditions' times: some are evaluated side by side.
    let seconds = begun.elapsed().as_secs_f64();
    let mut text = String::new();
    for finding in findings.iter().filter(|finding| !args.quiet || !finding.holds()) {
        text += &format!("{}\n", line(finding));
        for example in &finding.examples {
            text += &format!("           {example}\n");
        }
        if finding.offenders > finding.examples.len() as u64 {
            text += &format!("           … {} in all\n", finding.offenders);
        }
    }
    let broken = findings.iter().filter(|finding| !finding.holds()).count();
    let nothing = stopped && findings.is_empty();
    if !args.quiet && !nothing {
        text += &format!(
            "{} of {} consistency conditions hold ({seconds:.1} s)\n",
            findings.len() - broken,
            findings.len()
        );
    }
    let mut failures = Vec::new();
    if broken > 0 {
        failures.push(Failure::CheckFailed);
    }
    failures.extend(print(&text).err());
    if stopped {
        let words =
            format!("interrupted: {} of {} conditions were evaluated", findings.len(), conditions.len());
        failures.push(Failure::Interrupted(words));
    } else if args.checksums {
        match target.checksums() {
            Ok(checksums) => {
                let line = |sum: &TableChecksum| {
                    format!("{:<12} {:>12} rows  {:016x}\n", sum.table.name(), sum.rows, sum.sum)
                };
                failures.extend(print(&checksums.iter().map(line).collect::<String>()).err());
            }
            Err(error) => failures.push(error.into()),
        }
    }
    Failure::all(failures)
}

/// Tells in a terminal how many conditions are evaluated. The line goes with it.
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
            // Back to the beginning of the line, and clear it.
            eprint("\r\x1b[K");
        }
    }
}

/// The standard's conditions, and those of ours that are wanted.
pub(crate) fn conditions(wanted: impl Fn(&Condition) -> bool) -> Vec<Condition> {
    CONDITIONS.into_iter().chain(EXTRA_CONDITIONS.into_iter().filter(wanted)).collect()
}

/// Evaluates conditions, by number, telling in a terminal how far it is.
fn evaluate(
    target: &dyn Target,
    style: Style,
    conditions: &[Condition],
) -> Result<Vec<ConditionFinding>, Failure> {
    let counter = Counter::new(style, conditions.len());
    Ok(conditions::check(target, conditions, &|_| counter.count())?)
}

/// The same until the user interrupts: at once, or if the database is within this process after the condition at hand.
pub(crate) fn evaluate_until(
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

/// The entry in a result for a check that could not be made: of TPC-C's conditions, or of the microbenchmark.
pub(crate) fn failed(id: &str, failure: &Failure) -> CheckResult {
    CheckResult {
        id: id.into(),
        ok: false,
        detail: format!("could not be checked: {}", failure.line()),
        when: CheckedWhen::After,
        seconds: 0.0,
    }
}
