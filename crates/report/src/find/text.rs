//! The text of a search for the highest level, for the terminal.

use std::fmt::Write as _;

use super::{End, Find, Found, Rung};
use crate::figures::{aligned, clean, number, plural};

/// Returns the answer as a sentence without a full stop.
#[must_use]
pub fn sentence(find: &Found) -> String {
    let level = |level: f64| level_in_words(find, level);
    let above = |holds: &str| match find.next_above {
        Some(fails) => format!("{holds}; {} fails{}", level(fails), reason(find, fails)),
        None => holds.to_owned(),
    };
    let objective = &find.objective;
    match (find.end, find.highest) {
        (End::Found, Some(highest)) => above(&format!("{} holds {objective}", level(highest))),
        (End::FailsAtLowest, _) => {
            let [lowest, _] = find.range;
            format!("{}, the lowest, already fails {objective}{}", level(lowest), reason(find, lowest))
        }
        (End::HoldsAtHighest, Some(highest)) => {
            format!("{}, the highest, still holds {objective}: the limit is higher", level(highest))
        }
        (End::Time, Some(highest)) => {
            above(&format!("the time is over: {} holds {objective} so far", level(highest)))
        }
        (End::NotJudged, Some(highest)) => {
            above(&format!("a level can't be judged: {} holds {objective} so far", level(highest)))
        }
        (_, Some(highest)) => above(&format!("not found yet: {} holds {objective} so far", level(highest))),
        (end, None) => {
            let so_far = match end {
                End::Time => "the time is over",
                End::NotJudged => "a level can't be judged",
                _ => "not found yet",
            };
            match find.next_above {
                Some(fails) => {
                    format!("{so_far}: {} fails {objective}{}", level(fails), reason(find, fails))
                }
                None => format!("{so_far}: no level was judged for {objective}"),
            }
        }
    }
}

/// Returns the reason why a level fails, in brackets.
fn reason(find: &Found, level: f64) -> String {
    let rung = find.curve.iter().find(|rung| rung.level == level);
    match rung.map(|rung| rung.why.as_str()) {
        Some(why) if !why.is_empty() => format!(" ({why})"),
        _ => String::new(),
    }
}

/// Returns a level with its unit: `450 transactions/s`, `12 sessions`.
pub(crate) fn level_in_words(find: &Found, level: f64) -> String {
    match find.unit {
        "" => plural(level as u64, find.level.trim_end_matches('s')),
        unit => format!("{} {unit}", number(level)),
    }
}

/// Renders the text: the warnings first, then the answer and the levels.
#[must_use]
pub fn render_find_text(find: &Find) -> String {
    let mut out = String::new();
    for warning in &find.warnings {
        let _ = writeln!(out, "warning: {}", clean(warning));
    }
    let found = &find.find;
    let _ = writeln!(out, "{}", clean(&sentence(found)));
    if let Some(confidence) = found.confidence {
        let _ = writeln!(
            out,
            "Both verdicts are right with a probability of at least {} %, as far as sampling goes.",
            number((1000.0 * confidence).floor() / 10.0)
        );
    }
    if found.curve.is_empty() {
        return out;
    }
    let head = [found.level, "", "transactions/s", "p50 ms", "p99 ms", "over the limit %", "probes held"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(found.curve.iter().map(|rung| row(rung)));
    out.push('\n');
    out.push_str(&aligned(&rows, 1));
    out
}

fn row(rung: &Rung) -> Vec<String> {
    let shares = rung.over.iter().map(|over| number(100.0 * over.share)).collect::<Vec<_>>();
    let mark = if rung.is_thin { "~" } else { "" };
    vec![
        number(rung.level),
        verdict(rung).to_owned(),
        number(rung.tps),
        number(rung.p50_ms),
        rung.p99_ms.map_or_else(|| "–".to_owned(), |p99| format!("{mark}{}", number(p99))),
        if shares.is_empty() { "–".to_owned() } else { shares.join(", ") },
        format!("{} of {}", rung.held, rung.probes),
    ]
}

/// Returns the verdict on a level in one word.
pub(crate) fn verdict(rung: &Rung) -> &'static str {
    match rung.holds {
        Some(true) => "holds",
        Some(false) => "fails",
        None if rung.why.is_empty() => "even",
        None => "not judged",
    }
}
