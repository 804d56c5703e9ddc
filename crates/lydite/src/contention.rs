//! Contention control, from the plan to the result.

use crate::exit::Failure;
use crate::phases::WantedStep;
use crate::plan::number;
use crate::raw::Raw;
use lydite_bench::{ContentionFacts, ContentionFound, RowFacts};
use lydite_tpcc::input::TERMINALS_PER_WAREHOUSE;
use serde_json::{Value, json};

/// The keys of a plan that it reads.
pub(crate) const KEYS: &[&str] = &["ci", "phase"];

/// The most hot rows.
const MAX_ROWS: usize = 1_000;

/// Refuses it where it can't be had. `direct`: the mode is direct.
pub(crate) fn allowed(raw: &mut Raw, direct: bool) {
    if raw.text("ci").is_some() && !direct {
        raw.wrong("mode", "must be direct with --ci: the sessions decide what they send next");
    }
}

/// Reads how many transactions are to compete for each hot row: `40`, or `40+10` for two.
pub(crate) fn rows(text: &str) -> Result<Vec<u32>, String> {
    let problem =
        "must be a number of competing transactions for each phase, as 10,40,50; 40+10 is for two hot rows";
    let rows = text.split('+').map(|one| number(one.trim(), problem)).collect::<Result<Vec<u32>, _>>()?;
    if rows.len() > MAX_ROWS { Err(format!("has more than {MAX_ROWS} hot rows")) } else { Ok(rows) }
}

/// Refuses what so many sessions on so many warehouses can't do.
pub(crate) fn fits(steps: &[WantedStep], sessions: u32, warehouses: u32) -> Result<(), Failure> {
    let wanted = |step: &WantedStep| -> (u64, u64) {
        let competing = step.contention.iter().copied().map(u64::from).sum();
        (competing, step.sessions.unwrap_or(sessions).into())
    };
    let beyond = steps.iter().map(wanted).filter(|(competing, playing)| competing > playing);
    if let Some((competing, playing)) = beyond.max_by_key(|(competing, playing)| competing - playing) {
        return Err(Failure::usage(format!(
            "--ci: {competing} transactions can't compete with {playing} sessions: ask for more --terminals, or for less"
        )));
    }
    let districts = warehouses.saturating_mul(TERMINALS_PER_WAREHOUSE);
    if sessions > districts && steps.iter().any(|step| !step.contention.is_empty()) {
        return Err(Failure::usage(format!(
            "--ci: {sessions} sessions need a district each, so that they meet nowhere but at the hot row, and \
             {warehouses} warehouses have {districts}: use at least {} warehouses, or fewer --terminals",
            sessions.div_ceil(TERMINALS_PER_WAREHOUSE)
        )));
    }
    Ok(())
}

/// What was asked and what came of it, for the result; nothing without contention control. The first hot row, and all of them
/// if there are several, on the active warehouses.
pub(crate) fn json(facts: Option<&ContentionFacts>, (first_warehouse, warehouses): (u32, u32)) -> Value {
    let Some(facts) = facts else { return json!({}) };
    let phases = |row: &RowFacts| -> Vec<Value> { row.phases.iter().map(found_json).collect() };
    let row = |(number, row): (u32, &RowFacts)| {
        json!({
            "w_id": first_warehouse + number % warehouses,
            "i_id": number + 1,
            "phases": phases(row),
            "per_second": row.per_second,
        })
    };
    let Some(first) = facts.rows.first() else { return json!({}) };
    let mut json = json!({ "phases": phases(first), "per_second": first.per_second, "queued": facts.queued });
    if facts.rows.len() > 1 {
        json["rows"] = (0..).zip(&facts.rows).map(row).collect();
    }
    json!({ "contention": json })
}

/// What came of a hot row in a phase.
pub(crate) fn found_json(found: &ContentionFound) -> Value {
    // A whole number unless it follows a curve.
    let asked = if found.asked.fract() == 0.0 { json!(found.asked as u64) } else { json!(found.asked) };
    json!({
        "asked": asked,
        "actual": found.actual,
        "deviation_percent": (found.asked_then > 0.0)
            .then(|| 100.0 * (found.actual - found.asked_then) / found.asked_then),
        "settling_s": found.settling_s,
        "from_s": found.from_s,
        "to_s": found.to_s,
    })
}
