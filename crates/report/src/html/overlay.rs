//! The page of several results: one table of all, their curves over each other, and what differs in their plans.

use std::collections::BTreeSet;

use super::markup::{Markup, figures, pairs, pill, table, words};
use super::single::findings_list;
use super::{Chart, Section};
use crate::compare::{Comparison, compare};
use crate::figures::{P50, P90, P99, THIN_NOTE, number};
use crate::model::{RunResult, TransactionResult};

/// A short name for each run: a letter and the target.
pub(super) fn names(results: &[RunResult]) -> Vec<String> {
    results
        .iter()
        .enumerate()
        .map(|(i, r)| format!("{}\u{a0}{}", letter(i), r.target.kind).trim().to_owned())
        .collect()
}

fn letter(i: usize) -> String {
    match u8::try_from(i) {
        Ok(n) if n < 26 => char::from(b'A' + n).to_string(),
        _ => (i + 1).to_string(),
    }
}

/// Content of the page.
pub(super) fn sections(results: &[RunResult], names: &[String]) -> Vec<Section> {
    let comparisons: Vec<Option<Comparison>> =
        results.iter().enumerate().map(|(i, r)| (i > 0).then(|| compare(&results[0], r))).collect();
    let pair = if results.len() == 2 { pair(&comparisons) } else { Markup::default() };
    vec![
        Section::first("All runs", summary(results, names, &comparisons)),
        Section::new("comparison", "Comparison", "B against A", pair),
        Section::new("charts", "Charts", "Side by side", charts(results, names)),
        Section::new("differences", "Differences", "What differs", differences(results, names)),
        Section::new("notes", "Notes", "What to know about each run", notes(results, names)),
    ]
}

fn summary(results: &[RunResult], names: &[String], comparisons: &[Option<Comparison>]) -> Markup {
    let mut all = Markup::with_text("h1", &[], &format!("{} runs side by side", results.len()));
    let rows = results.iter().zip(names).zip(comparisons).map(|((r, name), comparison)| {
        let first = first_of(r).map(|t| t.latency_ms).unwrap_or_default();
        let samples = first_of(r).map_or(0, TransactionResult::completed);
        let aborts: u64 = r.aborts.values().sum();
        let held = r.checks.iter().filter(|c| c.ok).count();
        let checked = match (r.checks.len(), held) {
            (0, _) => pill("none", "not checked"),
            (n, h) if n == h && r.any_conditions_cut_short() => pill("warn", "interrupted"),
            (n, h) if n == h => pill("good", &format!("{h}/{n}")),
            (n, h) => pill("bad", &format!("{h}/{n}")),
        };
        let ratio = comparison.as_ref().and_then(|c| c.metrics.first()).map_or("1".to_owned(), |m| {
            let interval =
                m.interval.map_or(String::new(), |(low, high)| format!(" ({low:.2} to {high:.2})"));
            m.ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}{interval}"))
        });
        let plan = |of: &Option<String>| Markup::text(of.as_deref().unwrap_or("–"));
        let numbers = [
            number(r.is_tpcc().then_some(r.nopm)),
            ratio,
            number(r.tps),
            P50.text(samples, first.p50),
            P90.text(samples, first.p90),
            P99.text(samples, first.p99),
        ];
        let mut cells = vec![Markup::text(name)];
        cells.extend(numbers.iter().map(|n| Markup::text(n)));
        cells.push(checked);
        cells.push(Markup::text(&number(aborts as f64)));
        cells.push(Markup::text(&number(r.client_percent_of_core())));
        cells.push(Markup::text(&r.warehouses().map_or("–".to_owned(), |w| w.to_string())));
        cells.extend([plan(&r.plan.mode), plan(&r.plan.tx), Markup::text(&r.target.version)]);
        cells
    });
    // What was found before what was asked: on a phone the rest is a swipe away.
    let columns = [
        words("Run"),
        figures("NOPM"),
        figures("to A (95 % CI)"),
        figures("tx/s"),
        figures("p50 ms"),
        figures("p90 ms"),
        figures("p99 ms"),
        words("checks"),
        figures("aborts"),
        figures("client % of a core"),
        figures("warehouses"),
        words("mode"),
        words("tx"),
        words("version"),
    ];
    let caption = format!("All runs; latencies are those of {}", first_types(results));
    all.push(table(&caption, &columns, rows.collect()));
    if results.iter().filter_map(first_of).any(|t| P99.is_thin(t.completed())) {
        all.push(Markup::with_text("p", &[("class", "note")], THIN_NOTE));
    }
    if let Some(Some(comparison)) = comparisons.get(1) {
        all.push(Markup::with_text(
            "p",
            &[("class", "note")],
            &comparison.method.replace(" (B)", " (others)"),
        ));
    }
    all
}

/// The full comparison of two runs.
fn pair(comparisons: &[Option<Comparison>]) -> Markup {
    let Some(Some(comparison)) = comparisons.get(1) else { return Markup::default() };
    let mut all = Markup::with_text("p", &[("class", "verdict")], &comparison.sentence);
    let warnings: Markup = comparison.warnings.iter().map(|w| Markup::with_text("li", &[], w)).collect();
    if !warnings.is_empty() {
        all.push(Markup::element("ul", &[("class", "plain")], warnings));
    }
    let rows = comparison.metrics.iter().map(|m| {
        let ratio = m.ratio.map_or("–".to_owned(), |r| format!("{r:.2}"));
        let interval = m.interval.map_or("–".to_owned(), |(low, high)| format!("{low:.2} to {high:.2}"));
        [m.name.clone(), number(m.a), number(m.b), ratio, interval].iter().map(|c| Markup::text(c)).collect()
    });
    let columns = [words("Metric"), figures("A"), figures("B"), figures("B/A"), figures("95 % CI")];
    all.push(table("All metrics", &columns, rows.collect()));
    all
}

/// The workload's first type of transactions: New-Order, or the only one.
fn first_of(r: &RunResult) -> Option<&TransactionResult> {
    r.types_in_order().first().map(|(_, result)| *result)
}

/// The names of those types: several if the runs are of several workloads.
fn first_types(results: &[RunResult]) -> String {
    let names: BTreeSet<&str> = results.iter().map(RunResult::first_type).collect();
    names.into_iter().collect::<Vec<_>>().join(" and ")
}

fn charts(results: &[RunResult], names: &[String]) -> Markup {
    let say = |of: &dyn Fn(&RunResult) -> String| -> String {
        results.iter().zip(names).map(|(r, name)| format!("{name}: {}", of(r))).collect::<Vec<_>>().join(", ")
    };
    let p99 = |r: &RunResult| first_of(r).and_then(|t| t.latency_ms.p99);
    let first = first_types(results);
    let chart =
        |kind, title: &str, note, says: &str| Chart { kind, run: 0, of: 0, title, note, says }.markup();
    let mut all = if results.iter().all(RunResult::is_tpcc) {
        chart("overlay-nopm", "NOPM", "New orders per minute.", &say(&|r| number(r.nopm)))
    } else {
        chart("overlay-tps", "Throughput", "Transactions of all types per second.", &say(&|r| number(r.tps)))
    };
    if results.iter().any(|r| !r.series.second.is_empty()) {
        let says = say(&|r| format!("{} per second", number(r.tps)));
        all.push(chart("overlay-throughput", "Throughput over time", "All types, per second.", &says));
        let says = say(&|r| format!("p99 {} ms", number(p99(r))));
        all.push(chart(
            "overlay-p99",
            &format!("{first} p99 over time"),
            "Of each second; logarithmic.",
            &says,
        ));
    }
    if results.iter().any(|r| first_of(r).is_some_and(|t| !t.hdr.is_empty())) {
        let note = "Every step to the right is one more nine. Both axes are logarithmic.";
        let says = say(&|r| format!("p99 {} ms", number(p99(r))));
        all.push(chart("overlay-percentiles", &format!("{first} latency by percentile"), note, &says));
    }
    all
}

/// Every key of plan, target, settings and host in which the runs are not all equal.
fn differences(results: &[RunResult], names: &[String]) -> Markup {
    type Lookup<'a> = Box<dyn Fn(&RunResult) -> Option<String> + 'a>;
    let mut keys: Vec<(String, Lookup<'_>)> = Vec::new();
    let plan_keys: BTreeSet<String> = results.iter().flat_map(|r| r.plan_flat().into_keys()).collect();
    for key in plan_keys {
        keys.push((format!("plan: {key}"), Box::new(move |r| r.plan_flat().remove(&key))));
    }
    keys.push(("target".to_owned(), Box::new(|r| Some(format!("{} {}", r.target.kind, r.target.version)))));
    keys.push(("target URL".to_owned(), Box::new(|r| Some(r.target.url.clone()))));
    let settings: BTreeSet<&String> = results.iter().flat_map(|r| r.target.settings.keys()).collect();
    for key in settings {
        keys.push((format!("setting: {key}"), Box::new(move |r| r.target.settings.get(key).cloned())));
    }
    keys.push(("host".to_owned(), Box::new(|r| Some(r.host.hostname.clone()))));
    keys.push((
        "processor".to_owned(),
        Box::new(|r| Some(format!("{} ({} cores)", r.host.cpu, r.host.cores))),
    ));
    keys.push(("kernel".to_owned(), Box::new(|r| Some(r.host.kernel.clone()))));
    keys.push(("lydite".to_owned(), Box::new(|r| Some(r.lydite.clone()))));
    keys.push(("measured s".to_owned(), Box::new(|r| Some(number(r.window.measured_s)))));

    let rows: Vec<(String, Markup)> = keys
        .into_iter()
        .filter_map(|(name, of)| {
            let values: Vec<Option<String>> = results.iter().map(&of).collect();
            if values.windows(2).all(|pair| pair[0] == pair[1]) {
                return None;
            }
            // Run by run in one cell: columns for many runs would not fit, and long values neither.
            let items = values.into_iter().zip(names).map(|(value, run)| {
                let value = value.filter(|v| !v.is_empty()).unwrap_or_else(|| "unset".to_owned());
                let mut item = Markup::with_text("b", &[], run);
                item.push(Markup::text(": "));
                item.push(Markup::text(&value));
                Markup::element("li", &[], item)
            });
            Some((name, Markup::element("ul", &[("class", "plain")], items.collect())))
        })
        .collect();
    if rows.is_empty() {
        return Markup::with_text(
            "p",
            &[],
            "Nothing: plan, target, settings and host are the same in all runs.",
        );
    }
    pairs("Keys whose values are not the same in all runs", rows)
}

fn notes(results: &[RunResult], names: &[String]) -> Markup {
    results
        .iter()
        .zip(names)
        .filter_map(|(r, name)| {
            let mut list = findings_list(r);
            let unmet = r.compliance.iter().filter(|c| c.met == Some(false)).count();
            if list.is_empty() && unmet == 0 {
                return None;
            }
            let mut all = Markup::with_text("h3", &[], name);
            if unmet > 0 {
                let text = format!("{unmet} of {} rules of the standard are not met.", r.compliance.len());
                list.push(Markup::with_text("p", &[("class", "note")], &text));
            }
            all.push(list);
            Some(all)
        })
        .collect()
}
