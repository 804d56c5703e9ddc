//! Contention control, from the plan to the result.

use crate::exit::Failure;
use crate::plan::{number, time};
use crate::raw::Raw;
use lydite_bench::{ContentionFacts, ContentionPhase};
use lydite_tpcc::input::TERMINALS_PER_WAREHOUSE;
use serde_json::{Value, json};
use std::time::Duration;

/// The keys of a plan that it reads.
pub(crate) const KEYS: &[&str] = &["ci", "phase"];

/// The most phases: a figure of more shows nothing.
const MAX_PHASES: usize = 10_000;

/// Reads how many transactions are to compete, phase by phase, and the length of the window that this makes. `given`:
/// the window that the user wants; `direct`: the mode is direct.
pub(crate) fn wanted(
    raw: &mut Raw,
    given: Option<Duration>,
    usual: Duration,
    direct: bool,
) -> (Vec<ContentionPhase>, Duration) {
    let lasts = raw.read("phase", |text| match time(text)? {
        Duration::ZERO => Err("must be more than zero".into()),
        time => Ok(time),
    });
    let Some(asked) = raw.read("ci", schedule) else {
        if raw.text("ci").is_none() && raw.text("phase").is_some() {
            raw.wrong("phase", "needs --ci: how many transactions compete in each phase, as 10,40,50");
        }
        return (Vec::new(), given.unwrap_or(usual));
    };
    if raw.text("dis_ratio").is_some() {
        raw.wrong("dis_ratio", "and --ci choose the warehouses of an order both: give one");
    }
    if !direct {
        raw.wrong("mode", "must be direct with --ci: the sessions decide what they send next");
    }
    let count = asked.len() as u32;
    let lasts = match (lasts, given) {
        (Some(lasts), None) => lasts,
        (Some(lasts), Some(given)) => {
            if lasts * count != given {
                let all = (lasts * count).as_secs_f64();
                let problem = format!(
                    "{count} phases last {all} s together, and the window {} s: leave one out",
                    given.as_secs_f64()
                );
                raw.wrong("phase", &problem);
            }
            lasts
        }
        (None, given) => given.unwrap_or(usual) / count,
    };
    let phases = asked.into_iter().map(|asked| ContentionPhase { asked, lasts }).collect();
    (phases, lasts * count)
}

/// Reads `10,40,50`.
fn schedule(text: &str) -> Result<Vec<u32>, String> {
    let problem = "must be numbers of competing transactions, one for each phase, as 10,40,50";
    let asked = text.split(',').map(|one| number(one.trim(), problem)).collect::<Result<Vec<u32>, _>>()?;
    if asked.len() > MAX_PHASES {
        return Err(format!("has more than {MAX_PHASES} phases"));
    }
    Ok(asked)
}

/// Refuses what so many sessions on so many warehouses can't do.
pub(crate) fn fits(phases: &[ContentionPhase], sessions: u32, warehouses: u32) -> Result<(), Failure> {
    let Some(most) = phases.iter().map(|phase| phase.asked).max() else { return Ok(()) };
    if most > sessions {
        return Err(Failure::usage(format!(
            "--ci: {most} transactions can't compete with {sessions} sessions: ask for more --terminals, or for less"
        )));
    }
    let districts = warehouses.saturating_mul(TERMINALS_PER_WAREHOUSE);
    if sessions > districts {
        return Err(Failure::usage(format!(
            "--ci: {sessions} sessions need a district each, so that they meet nowhere but at the hot row, and \
             {warehouses} warehouses have {districts}: use at least {} warehouses, or fewer --terminals",
            sessions.div_ceil(TERMINALS_PER_WAREHOUSE)
        )));
    }
    Ok(())
}

/// What the plan says of it; nothing without contention control.
pub(crate) fn plan_json(phases: &[ContentionPhase]) -> Value {
    let Some(first) = phases.first() else { return json!({}) };
    let asked: Vec<String> = phases.iter().map(|phase| phase.asked.to_string()).collect();
    json!({ "ci": asked.join(","), "phase_s": first.lasts.as_secs_f64() })
}

/// What was asked and what came of it, for the result; nothing without contention control.
pub(crate) fn json(facts: Option<&ContentionFacts>) -> Value {
    let Some(facts) = facts else { return json!({}) };
    let phases: Vec<Value> = facts
        .phases
        .iter()
        .map(|found| {
            json!({
                "asked": found.asked,
                "actual": found.actual,
                "deviation_percent": (found.asked > 0)
                    .then(|| 100.0 * (found.actual - f64::from(found.asked)) / f64::from(found.asked)),
                "settling_s": found.settling_s,
                "from_s": found.from_s,
                "to_s": found.to_s,
            })
        })
        .collect();
    json!({ "contention": { "phases": phases, "per_second": facts.per_second, "queued": facts.queued } })
}
