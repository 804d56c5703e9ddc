//! The text of a search for the highest level, for the terminal.

use std::fmt::Write as _;

use super::{End, Estimate, Find, Found, Rung};
use crate::figures::{aligned, clean, count, number, plural};

/// Returns the answer as a sentence without a full stop.
#[must_use]
pub fn sentence(find: &Found) -> String {
    let level = |level: f64| level_in_words(find, level);
    let holds =
        |of: f64| format!("{} {} {}{}", level(of), verb("hold", of), find.objective, reason(find, of));
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
            let reason = reason(find, highest);
            let is_open = find.rung(highest).is_some_and(is_in_doubt);
            let limit = if is_open { "may be higher" } else { "is higher" };
            format!("{}, the highest, still {holds} {objective}{reason}: the limit {limit}", level(highest))
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

/// Returns the reason why a level fails, and whether it is in doubt, in brackets.
fn reason(find: &Found, level: f64) -> String {
    let Some(rung) = find.rung(level) else { return String::new() };
    let reason = joined([&rung.why, if is_in_doubt(rung) { "in doubt" } else { "" }]);
    if reason.is_empty() { reason } else { format!(" ({reason})") }
}

/// Joins two reasons, each of which may be empty.
pub(crate) fn joined(reasons: [&str; 2]) -> String {
    reasons.into_iter().filter(|reason| !reason.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Returns true if further runs of a level may change its verdict.
pub(crate) fn is_in_doubt(rung: &Rung) -> bool {
    !rung.certain && (rung.holds.is_some() || rung.why.is_empty())
}

/// Returns the levels of the answer, and those between them, that are in doubt, and the certain levels next to the
/// limit, as sentences without the last full stop; none if nothing there is in doubt.
pub(crate) fn doubts(find: &Found) -> Option<String> {
    let is_near = |rung: &&Rung| {
        find.highest.is_none_or(|highest| rung.level >= highest)
            && find.next_above.is_none_or(|above| rung.level <= above)
    };
    let near = find.curve.iter().filter(is_near).filter(|rung| is_in_doubt(rung));
    let open: Vec<String> = near.map(|rung| level_in_words(find, rung.level)).collect();
    if open.is_empty() {
        return None;
    }
    let certain = |holds: bool| move |rung: &&Rung| rung.certain && rung.holds == Some(holds);
    let says =
        |rung: &Rung, word: &str| format!("{} {}", level_in_words(find, rung.level), verb(word, rung.level));
    let holds = find.curve.iter().rev().find(certain(true)).map(|rung| says(rung, "hold"));
    let fails = find.curve.iter().find(certain(false)).map(|rung| says(rung, "fail"));
    let known: Vec<String> = [holds, fails].into_iter().flatten().collect();
    let known = if known.is_empty() { "no level".to_owned() } else { known.join(", ") };
    Some(format!("In doubt: {}. Certain: {known}", open.join(", ")))
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
    if let Some(doubts) = doubts(found) {
        let _ = writeln!(out, "{doubts}.");
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

/// Returns the verdict on a level in a few words.
pub(crate) fn verdict(rung: &Rung) -> &'static str {
    match (rung.holds, is_in_doubt(rung)) {
        (Some(true), false) => "holds",
        (Some(true), true) => "holds, in doubt",
        (Some(false), false) => "fails",
        (Some(false), true) => "fails, in doubt",
        (None, true) => "in doubt",
        (None, false) => "not judged",
    }
}
