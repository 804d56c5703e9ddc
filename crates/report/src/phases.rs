//! Settings of phases, in words.

use crate::figures::{count, number};
use crate::model::PhaseResult;

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
