//! The text of a comparison in turns, for the terminal.

use std::fmt::Write as _;

use lydite_decide::MOST_NEEDED;

use super::{Ab, Change, End};
use crate::figures::{aligned, clean, count, number, plural};
use crate::observed::with_unit;
use crate::verdict::Verdict;

/// Most numbers that the text shows of each group; the page shows all.
const SHOWN: usize = 6;
/// Most letters of a name in the text.
const LETTERS: usize = 70;

/// Returns the verdict as a sentence without a full stop.
#[must_use]
pub fn sentence(ab: &Ab) -> String {
    let judged = &ab.ab;
    let pairs = plural(judged.pairs as u64, "pair");
    let unit = if ab.metric.unit.is_empty() { String::new() } else { format!(" ({})", ab.metric.unit) };
    let of = format!("{}{unit}", ab.metric.title);
    let Some((ratio, (low, high))) = judged.ratio.zip(judged.low.zip(judged.high)) else {
        let why = if judged.end == End::Time { ": the time is over" } else { "" };
        return format!("{}: {of} has no ratio after {pairs}{why}", verdict_on_b(judged.verdict));
    };
    let (ratio, low, high) = (times(ratio), times(low), times(high));
    let found = format!("{of} of B is {ratio} times that of A ({low} to {high})");
    match (judged.verdict, judged.end) {
        (Verdict::Undecided, End::Open) => format!("not decided yet: {found}, {pairs} so far"),
        (Verdict::Undecided, _) => {
            let more = match judged.more_pairs {
                Some(more) => format!(
                    "about {} would decide, if ratio and noise stay as they are",
                    plural(more as u64, "further pair")
                ),
                None => {
                    let most = count(MOST_NEEDED as u64);
                    format!("not even {most} pairs would decide, if ratio and noise stay as they are")
                }
            };
            format!("cannot tell: {found} after {pairs}: {more}")
        }
        (verdict, _) => format!("{}: {found}, decided after {pairs}", verdict_on_b(verdict)),
    }
}

/// Returns the verdict as words about B.
pub(crate) fn verdict_on_b(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "B is better",
        Verdict::Worse => "B is worse",
        Verdict::Undecided | Verdict::NotJudged => "cannot tell",
    }
}

/// Returns a ratio as text.
pub(crate) fn times(ratio: f64) -> String {
    if (0.1..10.0).contains(&ratio) { format!("{ratio:.3}") } else { number(ratio) }
}

/// Renders the text: the warnings first, then the verdict, the sides, and the numbers that changed most.
#[must_use]
pub fn render_ab_text(ab: &Ab) -> String {
    let mut out = String::new();
    for warning in &ab.warnings {
        let _ = writeln!(out, "warning: {}", clean(warning));
    }
    let _ = writeln!(out, "{}", sentence(ab));
    let _ = writeln!(
        out,
        "The interval is over runs; all looks of the experiment together err with at most {} %.",
        number(100.0 * ab.ab.error_of_all)
    );
    let value = |value: Option<f64>| with_unit(value, &ab.metric.unit);
    let mut rows = vec![["", "A", "B"].map(str::to_owned).to_vec()];
    rows.push(vec![
        format!("{}, median", ab.metric.title),
        value(ab.sides.a.median),
        value(ab.sides.b.median),
    ]);
    let or_unset = |text: &str| if text.is_empty() { "–".to_owned() } else { short(text) };
    rows.extend(ab.differences.iter().map(|of| vec![short(&of.name), or_unset(&of.a), or_unset(&of.b)]));
    if ab.differences.is_empty() {
        rows.push(vec!["differences".to_owned(), "none".to_owned(), "none".to_owned()]);
    }
    out.push_str(&aligned(&rows, 1));
    changes(&mut out, &ab.changes);
    out
}

fn changes(out: &mut String, all: &[Change]) {
    for (group, title) in GROUPS {
        let of: Vec<&Change> = all.iter().filter(|change| change.group == group).collect();
        if of.is_empty() {
            continue;
        }
        let more = match of.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" ({} more on the page)", count(more as u64)),
        };
        let title = format!("{title}{more}");
        let mut rows = vec![[title.as_str(), "A", "B", "B/A"].map(str::to_owned).to_vec()];
        rows.extend(of.into_iter().take(SHOWN).map(|change| {
            let mean = |mean: f64| with_unit(Some(mean), &change.unit);
            vec![short(&change.name), mean(change.a), mean(change.b), ratio_of(change)]
        }));
        let _ = writeln!(out);
        out.push_str(&aligned(&rows, 1));
    }
}

/// The groups of numbers with their titles.
pub(crate) const GROUPS: [(&str, &str); 3] = [
    ("latency", "Latencies that differ"),
    ("observed", "Waits and counters that differ"),
    ("statement", "Statements whose time differs"),
];

/// Returns the ratio of a number with its interval.
pub(crate) fn ratio_of(change: &Change) -> String {
    match (change.ratio, change.low.zip(change.high)) {
        (Some(ratio), Some((low, high))) => format!("{} ({} to {})", times(ratio), times(low), times(high)),
        _ if change.a == 0.0 => "only in B".to_owned(),
        _ => "only in A".to_owned(),
    }
}

/// Returns a name without control characters, cut if it is long.
fn short(text: &str) -> String {
    let text = clean(text);
    if text.chars().count() <= LETTERS {
        return text;
    }
    text.chars().take(LETTERS).chain(['…']).collect()
}
