//! Tables of a run beside the standard: mix, inputs, waits, Deliveries, checks and rules. The page of the run has them,
//! and the disclosure.

use super::markup::{Column, Markup, figures, pairs, pill, table, words};
use super::range::range;
use crate::figures::{count, kind_of, number, percent, plural, type_name};
use crate::model::{CheckResult, CheckedWhen, RunResult, WindowVerdict};
use lydite_tpcc::compliance::DATABASE_RULES;

/// The mix beside its least shares.
pub(super) fn mix(r: &RunResult) -> Markup {
    let rows: Vec<Vec<Markup>> = r
        .types_in_order()
        .into_iter()
        .map(|(key, t)| {
            let least = kind_of(key).and_then(|kind| kind.standard()?.limits().min_mix_percent);
            let share = Markup::text(&format!("{} %", percent(t.share_percent)));
            let name = Markup::text(type_name(key));
            let Some(least) = least else {
                return vec![name, share, Markup::text("no minimum"), Markup::default(), Markup::text("–")];
            };
            let good = t.share_percent >= least;
            let says = format!("{}: {} % of at least {least} %", type_name(key), percent(t.share_percent));
            vec![
                name,
                share,
                if good { pill("good", "enough") } else { pill("bad", "too few") },
                range(least, None, t.share_percent, Some(good), &says),
                Markup::text(&format!("≥ {} %", percent(least))),
            ]
        })
        .collect();
    // A workload with one type has no mix.
    if rows.is_empty() || !r.is_tpcc() {
        return Markup::default();
    }
    let columns = [
        words("Transaction"),
        figures("share"),
        words("Verdict"),
        words("Minimum and share"),
        words("Minimum"),
    ];
    table("Mix of transactions (TPC-C 5.2.3)", &columns, rows)
}

/// The measured inputs beside the windows of the standard.
pub(super) fn inputs(r: &RunResult) -> Markup {
    if r.inputs.is_empty() {
        return Markup::default();
    }
    let findings = r.inputs.iter().map(|i| {
        let (good, judged) = match i.verdict {
            WindowVerdict::Inside => (Some(true), pill("good", "inside")),
            WindowVerdict::Outside => (Some(false), pill("bad", "outside")),
            WindowVerdict::TooFewSamples => (None, pill("none", "too few samples")),
        };
        let window = format!("{} to {} {}", number(i.low), number(i.high), i.unit);
        let says = format!("{}: {} {} in the window {window}", i.quantity, number(i.actual), i.unit);
        vec![
            Markup::text(&i.quantity),
            Markup::text(format!("{} {}", digits(i.actual, i.low, i.high), i.unit).trim()),
            judged,
            range(i.low, Some(i.high), i.actual, good, &says),
            Markup::text(window.trim()),
            Markup::text(&count(i.samples)),
            Markup::text(&i.clause),
            Markup::text(&i.note),
        ]
    });
    // The verdict comes early, since a phone shows only the first columns.
    let columns = [
        words("Input"),
        figures("measured"),
        words("Verdict"),
        words("Window and measured value"),
        words("Window"),
        figures("samples"),
        words("Clause"),
        words("Note"),
    ];
    trimmed("Randomness of the inputs (TPC-C 5.5.1.5)", &columns, findings.collect())
}

/// Returns a value with enough digits to see on which side of a narrow window it lies.
fn digits(value: f64, low: f64, high: f64) -> String {
    if (high - low).abs() < 1.0 { format!("{value:.3}") } else { number(value) }
}

/// The measured keying and think times.
pub(super) fn pacing(r: &RunResult) -> Markup {
    let Some(pacing) = &r.pacing else { return Markup::default() };
    let rows: Vec<Vec<Markup>> = r
        .types_in_order()
        .into_iter()
        .filter_map(|(key, _)| {
            let p = pacing.get(key)?;
            let numbers = [p.keying_min_s, p.keying_mean_s, p.think_mean_s, p.think_max_s];
            let cells = numbers.map(|v| Markup::text(&number(v)));
            Some(std::iter::once(Markup::text(type_name(key))).chain(cells).collect())
        })
        .collect();
    let columns = [
        words("Transaction"),
        figures("least keying"),
        figures("mean keying"),
        figures("mean think"),
        figures("greatest think"),
    ];
    table("Keying and think times in s, as measured (TPC-C 5.2.5)", &columns, rows)
}

/// The deferred part of Delivery.
pub(super) fn deferred(r: &RunResult) -> Markup {
    let Some(d) = &r.delivery else { return Markup::default() };
    let mut rows = vec![
        ("Queued".to_owned(), Markup::text(&count(d.queued))),
        ("Completed".to_owned(), Markup::text(&count(d.completed))),
        ("Skipped districts".to_owned(), Markup::text(&count(d.skipped_districts))),
        ("Within 80 s".to_owned(), Markup::text(&format!("{} %", percent(d.within_80s_percent)))),
    ];
    if let Some(log) = &d.log {
        rows.push(("Result file".to_owned(), Markup::text(log)));
    }
    Markup::element("div", &[("class", "narrow")], pairs("Deferred Delivery (TPC-C 2.7.2)", rows))
}

/// The checks of the data, before and after the run.
pub(super) fn checks(r: &RunResult) -> Markup {
    if r.checks.is_empty() {
        return Markup::with_text("p", &[], "Consistency was not checked in this run.");
    }
    let mut ids: Vec<&str> = Vec::new();
    for check in &r.checks {
        if !ids.contains(&check.id.as_str()) {
            ids.push(&check.id);
        }
    }
    let verdict = |check: Option<&CheckResult>| match check {
        None => Markup::text("–"),
        Some(c) if c.ok => pill("good", "holds"),
        Some(_) => pill("bad", "fails"),
    };
    let times: Vec<(CheckedWhen, Column)> = [
        (CheckedWhen::Before, words("Before the run")),
        (CheckedWhen::After, words("After the run")),
        (CheckedWhen::Check, words("Result")),
    ]
    .into_iter()
    .filter(|(when, _)| r.checks.iter().any(|c| c.when == *when))
    .collect();
    let rows = ids.iter().map(|id| {
        let of_id: Vec<&CheckResult> = r.checks.iter().filter(|c| c.id == **id).collect();
        let at = |when: CheckedWhen| of_id.iter().copied().find(|c| c.when == when);
        // A failure's detail first; otherwise the last, which is that after the run.
        let shown = of_id.iter().find(|c| !c.ok).or(of_id.last());
        let seconds: f64 = of_id.iter().map(|c| c.seconds).sum();
        let mut row = vec![Markup::text(id)];
        row.extend(times.iter().map(|(when, _)| verdict(at(*when))));
        row.push(Markup::text(shown.map_or("", |c| c.detail.as_str())));
        row.push(Markup::text(&number(seconds)));
        row
    });
    let mut columns = vec![words("Check")];
    columns.extend(times.iter().map(|(_, column)| *column));
    columns.extend([words("Found"), figures("s")]);
    let caption =
        if r.is_tpcc() { "Consistency conditions (TPC-C 3.3.2) and other checks" } else { "Checks" };
    table(caption, &columns, rows.collect())
}

/// The rules of the standard with their verdicts.
pub(super) fn rules(r: &RunResult) -> Markup {
    if r.compliance.is_empty() {
        return Markup::default();
    }
    let with = |met| r.compliance.iter().filter(|c| c.met == met).count() as u64;
    let mut all = Markup::with_text(
        "p",
        &[],
        &format!(
            "{} met, {} not met, {} not judged. This is a self-assessment of one run, not an audit.",
            plural(with(Some(true)), "rule"),
            count(with(Some(false))),
            count(with(None))
        ),
    );
    let rows = r.compliance.iter().map(|line| {
        let met = match line.met {
            Some(true) => pill("good", "met"),
            Some(false) if DATABASE_RULES.contains(&line.rule.as_str()) => pill("bad", "not met"),
            // The plan or the client breaks this rule, not the database.
            Some(false) => pill("none", "not met"),
            None => pill("none", "not judged"),
        };
        vec![Markup::text(&line.rule), Markup::text(&line.clause), met, Markup::text(&line.note)]
    });
    let columns = [words("Rule"), words("Clause"), words("Met"), words("Why")];
    all.push(table("Rules of TPC-C, revision 5.11", &columns, rows.collect()));
    all
}

/// A table, without its last column if that is empty in all rows.
fn trimmed(caption: &str, columns: &[Column], mut rows: Vec<Vec<Markup>>) -> Markup {
    let last = columns.len() - 1;
    if rows.iter().all(|row| row.get(last).is_none_or(Markup::is_empty)) {
        rows.iter_mut().for_each(|row| row.truncate(last));
        return table(caption, &columns[..last], rows);
    }
    table(caption, columns, rows)
}
