//! Thresholds: `--require` of a run, and `--fail-if` of a comparison. `lydite_report::gate` reads and judges them.

use crate::phases::WantedStep;
use crate::plan::Name;
use crate::raw::Raw;
use lydite_database::AbortReason;
use lydite_report::metric::Metric;
use lydite_report::model::RequirementResult;
use lydite_report::{FailIf, Gate, Requirement};
use lydite_tpcc::TransactionKind;

/// Reads the requirements of a plan, and refuses those on what no such run has. `rte`: users are emulated; without a
/// workload or a mode there was something wrong with it, and nothing is said of what depends on it.
pub(crate) fn wanted(
    raw: &mut Raw,
    workload: Option<Name>,
    rte: Option<bool>,
    steps: &[WantedStep],
) -> Vec<Requirement> {
    let Some(given) = raw.given("require") else { return Vec::new() };
    let mut all = Vec::new();
    for one in given.split(',') {
        let read = |text: &str| {
            let requirement = Requirement::parse(text)?;
            known_reason(requirement.metric())?;
            match absent(requirement.metric(), workload, rte, steps) {
                Some(why) => Err(format!("can't be met: {why}")),
                None => Ok(requirement),
            }
        };
        all.extend(raw.read_given(&one, read));
    }
    all
}

/// Why a run has no such metric, if it has none.
fn absent(
    metric: &Metric,
    workload: Option<Name>,
    rte: Option<bool>,
    steps: &[WantedStep],
) -> Option<String> {
    let name = metric.name();
    if metric.is_of_emulated_users() && rte == Some(false) {
        return Some(format!("{name} is for --mode rte only, where users wait as the standard wants"));
    }
    if workload == Some(Name::Micro) && metric.is_of_tpcc() {
        return Some(format!("{name} is for --workload tpcc only"));
    }
    let of = metric.transaction_type()?;
    match (workload?, TransactionKind::from_name(of)) {
        (Name::Tpcc, None) => Some(format!("transactions of type {of} are for --workload micro only")),
        (Name::Micro, Some(_)) => Some(format!("transactions of type {of} are for --workload tpcc only")),
        (Name::Tpcc, Some(kind)) if !steps.is_empty() && !steps.iter().any(|step| step.mix.has(kind)) => {
            Some(format!("the mix has no {of}"))
        }
        _ => None,
    }
}

/// Refuses a reason of aborts that there is not.
fn known_reason(metric: &Metric) -> Result<(), String> {
    let known = || AbortReason::ALL.iter().map(|reason| reason.name());
    match metric.abort_reason() {
        Some(reason) if !known().any(|known| known == reason) => {
            let known: Vec<&str> = known().collect();
            Err(format!(
                "has a metric {:?} that names no reason of aborts: use {}",
                metric.name(),
                known.join(", ")
            ))
        }
        _ => Ok(()),
    }
}

/// The requirements that were not met, one line each.
pub(crate) fn unmet(requirements: &[RequirementResult]) -> Vec<String> {
    let unmet = requirements.iter().filter(|requirement| !requirement.met);
    unmet.map(|requirement| format!("not met: {requirement}")).collect()
}

/// Reads what a comparison is failed by.
pub(crate) fn fail_ifs(texts: &[String], errors: &mut Vec<String>) -> Vec<FailIf> {
    let read = |text: &String| {
        let condition = FailIf::parse(text)?;
        known_reason(condition.metric()).map(|()| condition)
    };
    let mut all = Vec::new();
    for text in texts {
        match read(text) {
            Ok(condition) => all.push(condition),
            Err(problem) => errors.push(format!("--fail-if: {text:?} {problem}")),
        }
    }
    all
}

/// A line for each gate of each of the results behind the first; and those that failed, one line each.
pub(crate) fn told(names: &[String], judged: &[Vec<Gate>]) -> (String, Vec<String>) {
    let first = names.first().map_or("", String::as_str);
    let (mut text, mut failed) = (String::new(), Vec::new());
    for (gates, name) in judged.iter().zip(names.iter().skip(1)) {
        for gate in gates {
            let line = format!("{}: {}", gate.text, gate.words((first, name)));
            let mark = if gate.failed { "✗" } else { "✓" };
            text.push_str(&format!("{mark} {line}\n"));
            if gate.failed {
                failed.push(format!("failed by {line}"));
            }
        }
    }
    if !text.is_empty() {
        text.insert(0, '\n');
    }
    (text, failed)
}
