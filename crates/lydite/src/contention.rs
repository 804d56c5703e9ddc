//! Contention control, from the plan to the result.

use crate::exit::Failure;
use crate::phases::WantedStep;
use crate::plan::number;
use crate::raw::Raw;
use lydite_bench::{ContentionFacts, ContentionFound, RowFacts};
use lydite_report::figures::plural;
use lydite_tpcc::WarehouseId;
use lydite_tpcc::input::{Contended, HotRow, TERMINALS_PER_WAREHOUSE};
use serde_json::{Value, json};

/// The keys of a plan that it reads.
pub(crate) const KEYS: &[&str] = &["ci", "phase", "hot"];

/// The most hot rows.
const MAX_ROWS: usize = 1_000;

/// Refuses it where it can't be had. `direct`: the mode is direct.
pub(crate) fn allowed(raw: &mut Raw, direct: bool) {
    if raw.text("hot").is_some() && raw.text("ci").is_none() {
        raw.wrong("hot", "needs ci: how many transactions are to compete for the row");
    }
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

/// Reads of which table the hot rows are.
pub(crate) fn contended(text: &str) -> Result<Contended, String> {
    Contended::from_name(text).ok_or_else(|| "must be stock or district".into())
}

/// Refuses what so many sessions on so many warehouses can't do.
pub(crate) fn fits(
    steps: &[WantedStep],
    contended: Contended,
    sessions: u32,
    warehouses: u32,
) -> Result<(), Failure> {
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
    let rows = steps.iter().map(|step| step.contention.len() as u32).max().unwrap_or_default();
    if rows == 0 {
        return Ok(());
    }
    // One district of a warehouse is kept for those who contend for it.
    let (each, but) = match contended {
        Contended::Stock => (TERMINALS_PER_WAREHOUSE, ""),
        Contended::District => (TERMINALS_PER_WAREHOUSE - 1, " beside a hot one each"),
    };
    let districts = warehouses.saturating_mul(each);
    if sessions > districts {
        return Err(Failure::usage(format!(
            "--ci: {sessions} sessions need a district each, so that they meet nowhere but at the hot row, and \
             the {} can give {districts}{but}: use at least {} warehouses, or fewer --terminals",
            plural(warehouses.into(), "warehouse"),
            sessions.div_ceil(each)
        )));
    }
    if contended == Contended::District && rows > warehouses {
        return Err(Failure::usage(format!(
            "--ci: {rows} hot districts need a warehouse each, and {warehouses} are active: ask for fewer, or use more \
             warehouses"
        )));
    }
    Ok(())
}

/// What was asked and what came of it, for the result; nothing without contention control. The first hot row, and all of them
/// if there are several, on the active warehouses.
pub(crate) fn json(
    facts: Option<&ContentionFacts>,
    contended: Contended,
    (first_warehouse, warehouses): (u32, u32),
) -> Value {
    let Some(facts) = facts else { return json!({}) };
    let phases = |row: &RowFacts| -> Vec<Value> { row.phases.iter().map(found_json).collect() };
    let row = |(number, row): (u32, &RowFacts)| {
        let mut json = json!({ "phases": phases(row), "per_second": row.per_second });
        match HotRow::nth(contended, number, WarehouseId(first_warehouse), warehouses) {
            HotRow::Stock(w_id, i_id) => (json["w_id"], json["i_id"]) = (json!(w_id), json!(i_id)),
            HotRow::District(w_id, d_id) => (json["w_id"], json["d_id"]) = (json!(w_id), json!(d_id)),
        }
        json
    };
    let Some(first) = facts.rows.first() else { return json!({}) };
    let mut json = json!({
        "hot": contended.name(),
        "phases": phases(first),
        "per_second": first.per_second,
        "queued": facts.queued,
    });
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
