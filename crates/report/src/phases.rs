//! Phases in words: their settings, and what was measured in each.

use crate::controls::distribution::PhaseDistribution;
use crate::controls::rate::PhaseQueue;
use crate::figures::{P50, P99, count, number, plural, type_name};
use crate::model::{PhaseResult, RunResult};
use std::fmt::Write as _;

/// Returns the settings of a phase: `rate from 100 to 200, mix 45,43,4,4,4`; empty if the phase sets nothing.
#[must_use]
pub fn asked_in_words<'a>(asked: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let each = asked.into_iter().map(|(key, value)| format!("{key} {}", value_in_words(value)));
    each.collect::<Vec<_>>().join(", ")
}

/// Returns a value, in words if it is a single curve: `from 100 to 200` for `ramp(100,200)`.
#[must_use]
pub fn value_in_words(value: &str) -> String {
    let curve = value.trim().strip_suffix(')').and_then(|text| text.split_once('('));
    let Some((name, arguments)) = curve.filter(|(_, arguments)| !arguments.contains(['(', ')'])) else {
        return value.to_owned();
    };
    let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
    match (name, &arguments[..]) {
        ("ramp", [from, to]) => format!("from {from} to {to}"),
        ("step", values) => format!("in steps {}", values.join(", ")),
        ("sine", [mean, amplitude, period]) => format!("{mean} ± {amplitude} in waves of {period}"),
        ("gaussian", [mean, deviation, peak]) => {
            format!("a bell with its peak of {peak} after {mean} and a deviation of {deviation}")
        }
        ("gaussian", [mean, deviation, peak, base]) => {
            format!("a bell from {base} with its peak of {peak} after {mean} and a deviation of {deviation}")
        }
        _ => value.to_owned(),
    }
}

/// Returns the phases in a sentence, for the text above charts; none without phases or settings.
pub(crate) fn sentence(phases: &[PhaseResult]) -> Option<String> {
    /// Most phases that the sentence lists; more are only counted.
    const LISTED: usize = 12;
    let asked = |phase: &PhaseResult| match asked_in_words(&phase.asked) {
        words if words.is_empty() => "as the plan".to_owned(),
        words => words,
    };
    match phases {
        [] => None,
        [only] if only.asked.is_empty() => None,
        [only] => Some(format!("In the window: {}.", asked(only))),
        several if several.len() <= LISTED => {
            let each = several.iter().zip(1..).map(|(phase, number)| {
                let name = phase.name.iter().map(|name| format!(" {name}")).collect::<String>();
                format!("{number}{name}: {}", asked(phase))
            });
            Some(format!("Phases: {}.", each.collect::<Vec<_>>().join("; ")))
        }
        many => Some(format!("{} phases, by their numbers.", count(many.len() as u64))),
    }
}

/// Returns the plan's rate, with the rates that phases set. If the rate changes, the plan holds its mean.
pub(crate) fn rate_in_words(mean: f64, phases: &[PhaseResult]) -> String {
    let changed: Vec<String> =
        phases.iter().filter_map(|phase| phase.asked.get("rate")).map(|rate| value_in_words(rate)).collect();
    match (&changed[..], phases.len()) {
        ([], _) => format!("rate {}", rate(mean)),
        ([only], 1) => format!("rate {only} ({} on average)", rate(mean)),
        _ => format!("rate by phase ({} on average)", rate(mean)),
    }
}

/// Returns a rate in short: `200`, `12.5`.
fn rate(per_s: f64) -> String {
    if per_s.fract() == 0.0 && (0.0..1e15).contains(&per_s) { count(per_s as u64) } else { number(per_s) }
}

/// Returns the type whose latencies stand for those of a phase: the first one of the workload that any phase completed.
#[must_use]
pub(crate) fn lead_type(r: &RunResult) -> Option<&str> {
    let has =
        |of: &str| r.phases.iter().any(|phase| phase.completed(of) > 0 && phase.latency_ms.contains_key(of));
    r.types_in_order().into_iter().map(|(of, _)| of).find(|of| has(of))
}

/// True if a percentile of [`in_words`] rests on too few transactions.
pub(crate) fn is_thin(r: &RunResult) -> bool {
    let thin = |of| r.phases.iter().any(|phase| P99.is_thin(phase.completed(of)));
    lead_type(r).is_some_and(thin)
}

/// Returns a phase and its number among those of the result: `2, 20 to 40 s, rate 100: 99.8 tx/s, New-Order p50 1.20 p99
/// 3.41 ms, 0 aborts, queue 0`.
pub(crate) fn in_words(r: &RunResult, place: usize, phase: &PhaseResult) -> String {
    let name = phase.name.iter().map(|name| format!(" {name}")).collect::<String>();
    let asked = asked_in_words(&phase.asked);
    let asked = if asked.is_empty() { "as the plan".into() } else { asked };
    // A single phase needs no number.
    let number_of =
        if r.phases.len() == 1 && name.is_empty() { String::new() } else { format!("{}{name}, ", place + 1) };
    let (from, to) = (tenths(phase.from_s), tenths(phase.to_s));
    let mut text = format!("{number_of}{from} to {to} s, {asked}: {} tx/s", number(phase.tps));
    if let Some(PhaseDistribution { asked: Some(_), actual }) = &phase.controls.distribution
        && let Some(ratio) = actual.ratio_percent
    {
        let degree = actual.degree.unwrap_or(1.0);
        let _ = write!(text, ", {ratio:.2} % of New-Orders over {degree:.3} nodes");
    }
    let rows = phase.controls.contention.iter().flatten();
    let competing: Vec<String> = rows.map(|row| format!("{:.2}", row.actual)).collect();
    if !competing.is_empty() {
        let _ = write!(text, ", {} competing", competing.join(" + "));
    }
    if let Some(of) = lead_type(r)
        && let Some(latency) = phase.latency_ms.get(of)
    {
        let samples = phase.completed(of);
        let (p50, p99) = (P50.text(samples, latency.p50), P99.text(samples, latency.p99));
        let _ = write!(text, ", {} p50 {p50} p99 {p99} ms", type_name(of));
    }
    if let Some(aborts) = PhaseResult::sum(&phase.aborts) {
        let _ = write!(text, ", {}", plural(aborts, "abort"));
    }
    if let Some(queue) = &phase.controls.queue {
        let _ = write!(text, ", queue {}", queue_in_words(queue));
    }
    text
}

/// Returns a time of the window to a tenth of a second.
pub(crate) fn tenths(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

/// Returns the queue at the end of a phase, with the difference to its start: `1,234 (+1,200)`.
fn queue_in_words(queue: &PhaseQueue) -> String {
    let backlog = count(queue.backlog);
    if queue.grew_by == 0 { backlog } else { format!("{backlog} ({})", signed(queue.grew_by)) }
}

/// Returns a difference of counts with its sign: `+1,200`.
pub(crate) fn signed(difference: i64) -> String {
    let sign = match difference {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    format!("{sign}{}", count(difference.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_written_in_words_and_other_values_stay_as_they_are() {
        for (value, words) in [
            ("ramp(100, 200)", "from 100 to 200"),
            ("step(1,5,9)", "in steps 1, 5, 9"),
            ("sine(500,200,30s)", "500 ± 200 in waves of 30s"),
            ("gaussian(30s,10s,2000)", "a bell with its peak of 2000 after 30s and a deviation of 10s"),
            ("gaussian(1m,10s,90,7)", "a bell from 7 with its peak of 90 after 1m and a deviation of 10s"),
            ("200", "200"),
            ("hotspot(0.1,ramp(0.1,0.9))", "hotspot(0.1,ramp(0.1,0.9))"),
            ("ramp(45,40),ramp(43,25),4,4,ramp(4,27)", "ramp(45,40),ramp(43,25),4,4,ramp(4,27)"),
            ("zipf(0.99)", "zipf(0.99)"),
        ] {
            assert_eq!(value_in_words(value), words);
        }
    }
}
