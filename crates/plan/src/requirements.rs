//! Requirements of a run (`--require`). `lydite_report::gate` parses and judges them; this module rejects requirements
//! on metrics that the run lacks.

use crate::controls::PlanStep;
use crate::entries::Entries;
use crate::problem::Problem;
use crate::workload::WorkloadName;
use lydite_database::AbortReason;
use lydite_report::metric::Metric;
use lydite_report::{BadCondition, Requirement};
use lydite_tpcc::TransactionKind;

/// Reads the requirements of a plan, and rejects those on metrics that the run lacks. `rte` is true with `--mode rte`.
/// `workload` and `rte` are `None` if their keys have errors; checks that need them are then skipped.
pub(crate) fn read(
    entries: &mut Entries,
    workload: Option<WorkloadName>,
    rte: Option<bool>,
    steps: &[PlanStep],
) -> Vec<Requirement> {
    let Some(list) = entries.entry("require") else { return Vec::new() };
    let mut all = Vec::new();
    for one in list.split(',') {
        let read = |text: &str| -> Result<Requirement, Problem> {
            let requirement = Requirement::parse(text)?;
            known_reason(requirement.metric())?;
            match absent(requirement.metric(), workload, rte, steps) {
                Some(why) => Err(format!("can't be met: {why}").into()),
                None => Ok(requirement),
            }
        };
        all.extend(entries.read_entry(&one, read));
    }
    all
}

/// Returns the reason why the run lacks a metric; none if it has the metric.
fn absent(
    metric: &Metric,
    workload: Option<WorkloadName>,
    rte: Option<bool>,
    steps: &[PlanStep],
) -> Option<String> {
    let name = metric.name();
    if metric.is_of_emulated_users() && rte == Some(false) {
        return Some(format!("{name} is for --mode rte only, where users wait as the standard wants"));
    }
    if workload == Some(WorkloadName::Micro) && metric.is_of_tpcc() {
        return Some(format!("{name} is for --workload tpcc only"));
    }
    let kind_name = metric.transaction_type()?;
    match (workload?, TransactionKind::from_name(kind_name)) {
        (WorkloadName::Tpcc, None) => {
            Some(format!("transactions of type {kind_name} are for --workload micro only"))
        }
        (WorkloadName::Micro, Some(_)) => {
            Some(format!("transactions of type {kind_name} are for --workload tpcc only"))
        }
        (WorkloadName::Tpcc, Some(kind))
            if !steps.is_empty() && !steps.iter().any(|step| step.mix.has(kind)) =>
        {
            Some(format!("the mix has no {kind_name}"))
        }
        _ => None,
    }
}

impl From<BadCondition> for Problem {
    fn from(problem: BadCondition) -> Self {
        String::from(problem).into()
    }
}

/// Rejects a metric of an unknown abort reason.
///
/// # Errors
/// The problem, and the known reasons.
pub fn known_reason(metric: &Metric) -> Result<(), Problem> {
    let known = || AbortReason::ALL.iter().map(|reason| reason.name());
    match metric.abort_reason() {
        Some(reason) if !known().any(|known| known == reason) => {
            let known: Vec<&str> = known().collect();
            Err(format!(
                "has the metric {:?} with an unknown abort reason: use {}",
                metric.name(),
                known.join(", ")
            )
            .into())
        }
        _ => Ok(()),
    }
}
