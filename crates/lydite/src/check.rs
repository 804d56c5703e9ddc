//! `lydite check`, and the checks before and after a run.

use crate::Outcome;
use crate::cli::CheckArgs;
use crate::exit::Failure;
use crate::loading::unusable;
use lydite_report::live::Style;
use lydite_report::model::{CheckResult, CheckedWhen};
use lydite_target::Target;
use lydite_target::{ConditionFinding, DatabaseState, TargetSpec, TxMode};
use lydite_tpcc::consistency::CONDITION_COUNT;
use lydite_verify::conditions;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    let findings = evaluate(&*target, Style::detect(args.quiet))?;
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
        let seconds: f64 = findings.iter().map(|finding| finding.seconds).sum();
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

/// Evaluates all conditions, by number, telling in a terminal how far it is.
pub(crate) fn evaluate(target: &dyn Target, style: Style) -> Result<Vec<ConditionFinding>, Failure> {
    let evaluated = AtomicUsize::new(0);
    let live = style == Style::Live;
    if live {
        eprint!("\rchecking the consistency conditions …");
    }
    let findings = conditions::check(target, &|_| {
        let count = evaluated.fetch_add(1, Ordering::Relaxed) + 1;
        if live {
            eprint!("\rchecking the consistency conditions: {count} of {CONDITION_COUNT} ");
        }
    });
    if live {
        // Back to the beginning of the line, and clear it.
        eprint!("\r\x1b[K");
    }
    Ok(findings?)
}

fn line(finding: &ConditionFinding) -> String {
    let verdict = if finding.holds() { "ok    " } else { "FAILED" };
    format!(
        "{verdict} {:<9} {:<58} {:>7.2} s",
        finding.condition.clause, finding.condition.title, finding.seconds
    )
}

/// A finding as it stands in a result.
pub(crate) fn result(finding: &ConditionFinding, when: CheckedWhen) -> CheckResult {
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
