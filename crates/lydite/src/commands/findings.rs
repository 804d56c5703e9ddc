//! Findings of conditions as lines and as a failure.

use lydite_console::exit::Failure;
use lydite_database::ConditionFinding;
use lydite_tpcc::consistency::{CONDITION_COUNT, Condition};

/// Returns the failure of the conditions that do not hold; none if all hold.
pub(super) fn failed<'a>(findings: impl IntoIterator<Item = &'a ConditionFinding>) -> Option<Failure> {
    let (standard, own): (Vec<_>, Vec<_>) = findings
        .into_iter()
        .filter(|finding| !finding.holds())
        .map(|finding| finding.condition)
        .partition(|condition| usize::from(condition.number) <= CONDITION_COUNT);
    let clauses = |conditions: &[Condition]| {
        conditions.iter().map(|condition| condition.clause).collect::<Vec<_>>().join(", ")
    };
    let mut parts = Vec::new();
    if !standard.is_empty() {
        parts.push(format!("failed consistency conditions: {}", clauses(&standard)));
    }
    if !own.is_empty() {
        let which = "failed conditions of Lydite's own, beside the standard's twelve";
        parts.push(format!("{which}: {}", clauses(&own)));
    }
    (!parts.is_empty()).then(|| Failure::CheckFailed(parts.join("; ")))
}

/// Formats findings as lines, with the first keys that violate them; `quiet` leaves out those that hold.
pub(super) fn lines(findings: &[ConditionFinding], quiet: bool) -> String {
    let mut text = String::new();
    for finding in findings.iter().filter(|finding| !quiet || !finding.holds()) {
        text += &format!("{}\n", line(finding));
        text.extend(finding.not_compared.map(|part| format!("           note: {part}\n")));
        for example in &finding.examples {
            text += &format!("           {example}\n");
        }
        if finding.offenders > finding.examples.len() as u64 {
            text += &format!("           … {} in all\n", finding.offenders);
        }
    }
    text
}

/// Formats a finding as a line.
fn line(finding: &ConditionFinding) -> String {
    let verdict = if finding.holds() { "ok    " } else { "FAILED" };
    format!(
        "{verdict} {:<10} {:<57} {:>7.2} s",
        finding.condition.clause, finding.condition.title, finding.seconds
    )
}
