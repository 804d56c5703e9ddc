//! The text of a search for the highest level, for the terminal.

use std::fmt::Write as _;

use super::{End, Estimate, Find, Found, Rung};
use crate::figures::{aligned, clean, count, number, plural};

/// Returns the answer as a sentence without a full stop.
#[must_use]
pub fn sentence(find: &Found) -> String {
    let level = |level: f64| level_in_words(find, level);
    let holds = |of: f64| format!("{} {} {}", level(of), verb("hold", of), find.objective);
    let fails = |of: f64| format!("{} {}{}", level(of), verb("fail", of), reason(find, of));
    let above = |below: String| match find.next_above {
        Some(next) => format!("{below}; {}", fails(next)),
        None => below,
    };
    let objective = &find.objective;
    match (find.end, find.highest) {
        (End::Found, Some(highest)) => above(holds(highest)),
        (End::FailsAtLowest, _) => {
            let [lowest, _] = find.range;
            let fails = verb("fail", lowest);
            format!("{}, the lowest, already {fails} {objective}{}", level(lowest), reason(find, lowest))
        }
        (End::HoldsAtHighest, Some(highest)) => {
            let holds = verb("hold", highest);
            format!("{}, the highest, still {holds} {objective}: the limit is higher", level(highest))
        }
        (end, Some(highest)) => above(format!("{}: {} so far", so_far(end), holds(highest))),
        (end, None) => match find.next_above {
            Some(next) => format!(
                "{}: {} {} {objective}{}",
                so_far(end),
                level(next),
                verb("fail", next),
                reason(find, next)
            ),
            None => format!("{}: no level was judged for {objective}", so_far(end)),
        },
    }
}

/// Returns the estimate of the limit as a sentence without a full stop.
fn estimate(limit: Estimate) -> String {
    let Estimate { at, low, high, .. } = limit;
    format!(
        "By all runs near it the limit is at {} ({} to {} with 90 %)",
        number(at),
        number(low),
        number(high)
    )
}

/// Returns the reason why there is no final answer.
fn so_far(end: End) -> &'static str {
    match end {
        End::Time => "the time is over",
        End::NotJudged => "a level can't be judged",
        _ => "not found yet",
    }
}

/// Returns a verb in the number of a level: `1 session holds`, `2 sessions hold`.
fn verb(verb: &str, level: f64) -> String {
    if level == 1.0 { format!("{verb}s") } else { verb.to_owned() }
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
        unit => format!("{} {unit}", bare_level(level)),
    }
}

/// Returns a level without its unit. Neighbours may differ in a digit that a rounded number has no more.
pub(crate) fn bare_level(level: f64) -> String {
    if level.fract() == 0.0 { count(level as u64) } else { level.to_string() }
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
            "The limit is between the two with a probability of {} %.",
            number((1000.0 * confidence).floor() / 10.0)
        );
    }
    if let Some(limit) = found.limit {
        let _ = writeln!(out, "{}.", estimate(limit));
    }
    if found.curve.is_empty() {
        return out;
    }
    let head = [found.level, "", "transactions/s", "p50 ms", "p99 ms", "over the limit %", "probes held"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(found.curve.iter().map(row));
    out.push('\n');
    out.push_str(&aligned(&rows, 1));
    out
}

fn row(rung: &Rung) -> Vec<String> {
    let shares = rung.over.iter().map(|over| number(100.0 * over.share)).collect::<Vec<_>>();
    let mark = if rung.is_thin { "~" } else { "" };
    vec![
        bare_level(rung.level),
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
        None if rung.why.is_empty() => "in doubt",
        None => "not judged",
    }
}
