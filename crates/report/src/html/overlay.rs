//! The page of several results: a table of all, their curves in common charts, and the differences of their plans.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Section;
use super::chart::Chart;
use super::groups;
use super::markup::{Markup, figures, named_table, pairs, pill, table, words};
use super::single::{findings_list, requirements};
use crate::compare::{
    Comparison, all_warnings, compare_all, method_of_all, metric_names, observed_columns, observed_rows, row,
};
use crate::figures::{P99, THIN_NOTE, moment, nopm, number};
use crate::model::{RunResult, TransactionResult};
use crate::names::letter;
use crate::numbers::latency::{OF_LATENCY, OfLatency};
use crate::numbers::{Group, Number};

/// Content of the page.
pub(super) fn sections(results: &[RunResult], names: &[String], files: &[PathBuf]) -> Vec<Section> {
    let comparisons = compare_all(results, files);
    let heading = if results.len() == 2 { "B against A" } else { "The others against A" };
    // One run against another is no answer where groups of runs give one.
    let against = match groups::content(results, files) {
        Some(content) => Section::new("groups", "Groups", "Groups of runs", content),
        None => Section::new("comparison", "Comparison", heading, comparison(&comparisons)),
    };
    vec![
        Section::first("All runs", summary(results, names, &comparisons)),
        against,
        Section::new("charts", "Charts", "Side by side", charts(results, names)),
        Section::new("differences", "Differences", "What differs", differences(results, names)),
        Section::new("notes", "Notes", "What to know about each run", notes(results, names)),
    ]
}

fn summary(results: &[RunResult], names: &[String], comparisons: &[Comparison]) -> Markup {
    let mut all = Markup::with_text("h1", &[], &format!("{} runs side by side", results.len()));
    let warnings: Markup =
        all_warnings(comparisons).iter().map(|warning| Markup::with_text("li", &[], warning)).collect();
    if !warnings.is_empty() {
        all.push(Markup::element("ul", &[("class", "plain")], warnings));
    }
    let compared = std::iter::once(None).chain(comparisons.iter().map(Some));
    let rows = results.iter().zip(names).zip(compared).map(|((r, name), comparison)| {
        let first = first_of(r).map(|t| t.latency_ms).unwrap_or_default();
        let samples = first_of(r).map_or(0, TransactionResult::completed);
        let held = r.checks.iter().filter(|c| c.ok).count();
        let checked = match (r.checks.len(), held) {
            (0, _) => pill("none", "not checked"),
            (n, h) if n == h && r.any_conditions_cut_short() => pill("warn", "interrupted"),
            (n, h) if n == h => pill("good", &format!("{h}/{n}")),
            (n, h) => pill("bad", &format!("{h}/{n}")),
        };
        let ratio = match comparison {
            None => "1".to_owned(),
            Some(comparison) => comparison.metrics.first().map_or("–".to_owned(), |m| {
                let interval =
                    m.interval.map_or(String::new(), |(low, high)| format!(" ({low:.2} to {high:.2})"));
                m.ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}{interval}"))
            }),
        };
        let text = |number: &Number| Markup::text(&number.text_in_column(r));
        let mut throughput = columns_of(Group::Throughput).map(|(number, _)| text(number));
        let mut cells = vec![Markup::text(name)];
        cells.extend(throughput.next());
        cells.push(Markup::text(&ratio));
        cells.extend(throughput);
        cells.extend(latency_columns().map(|latency| Markup::text(&latency.text(samples, &first))));
        cells.push(checked);
        cells.extend(columns_of(Group::Other).map(|(number, _)| text(number)));
        cells
    });
    let heads = |group| columns_of(group).map(|(_, head)| (head.to_owned(), true));
    let mut throughput = heads(Group::Throughput);
    let mut columns = vec![("Run".to_owned(), false)];
    columns.extend(throughput.next());
    columns.push(("to A (within runs)".to_owned(), true));
    columns.extend(throughput);
    columns.extend(latency_columns().map(|latency| (format!("{} ms", latency.head), true)));
    columns.push(("checks".to_owned(), false));
    columns.extend(heads(Group::Other));
    let caption = format!("All runs; latencies are those of {}", first_types(results));
    all.push(named_table(&caption, &columns, rows.collect()));
    if results.iter().filter_map(first_of).any(|t| P99.is_thin(t.completed())) {
        all.push(Markup::with_text("p", &[("class", "note")], THIN_NOTE));
    }
    all.push(setups(results, names));
    all.push(Markup::with_text("p", &[("class", "note")], &method_of_all(comparisons)));
    all
}

/// Returns the numbers of a group with a column, and its head.
fn columns_of(group: Group) -> impl Iterator<Item = (&'static Number, &'static str)> {
    Number::in_group(group).filter_map(|number| Some((number, number.column?)))
}

/// Returns the numbers of a latency with a column.
fn latency_columns() -> impl Iterator<Item = &'static OfLatency> {
    OF_LATENCY.iter().filter(|latency| latency.has_column)
}

/// Databases and plans of the runs. The long cells come first, so that a version is visible on a phone.
fn setups(results: &[RunResult], names: &[String]) -> Markup {
    let rows = results.iter().zip(names).map(|(r, name)| {
        let plan = |of: &Option<String>| of.clone().unwrap_or_else(|| "–".to_owned());
        let target = format!("{} {}", r.target.kind, r.target.version);
        let start = moment(&r.window.start);
        let warehouses = r.warehouses().map_or("–".to_owned(), |w| w.to_string());
        [name.as_str(), target.trim(), &warehouses, &plan(&r.plan.mode), &plan(&r.plan.tx), &start, &r.lydite]
            .iter()
            .map(|cell| Markup::text(cell))
            .collect()
    });
    let columns = [
        words("Run"),
        words("Database"),
        figures("warehouses"),
        words("mode"),
        words("tx"),
        words("started"),
        words("Lydite"),
    ];
    table("What was run", &columns, rows.collect())
}

/// The full comparison of the other runs with the first, each in its own columns.
fn comparison(comparisons: &[Comparison]) -> Markup {
    let mut all: Markup = comparisons
        .iter()
        .map(|comparison| Markup::with_text("p", &[("class", "verdict")], &comparison.sentence))
        .collect();
    let mut columns = vec![("Metric".to_owned(), false), ("A".to_owned(), true)];
    for place in 1..=comparisons.len() {
        let letter = letter(place);
        columns.extend(
            [letter.clone(), format!("{letter}/A"), "within runs".to_owned()].map(|name| (name, true)),
        );
    }
    let cells = |name: &String| row(name, comparisons).iter().map(|cell| Markup::text(cell)).collect();
    let rows: Vec<Vec<Markup>> = metric_names(comparisons).iter().map(cells).collect();
    if !rows.is_empty() {
        all.push(named_table("All metrics", &columns, rows));
    }
    for note in comparisons.iter().flat_map(|comparison| &comparison.notes) {
        all.push(Markup::with_text("p", &[("class", "note")], note));
    }
    all.push(observed(comparisons));
    all
}

/// The folded table of the values that A and another run observed; empty without any.
fn observed(comparisons: &[Comparison]) -> Markup {
    let rows: Vec<Vec<Markup>> = observed_rows(comparisons)
        .into_iter()
        .map(|cells| cells.iter().map(|cell| Markup::text(cell)).collect())
        .collect();
    if rows.is_empty() {
        return Markup::default();
    }
    let others = observed_columns(comparisons).into_iter().map(|name| (name, true));
    let columns: Vec<(String, bool)> = std::iter::once(("Value".to_owned(), false)).chain(others).collect();
    let mut folded = Markup::fixed("<summary>Means of observed values</summary>");
    folded.push(named_table("Observed values, mean of the window", &columns, rows));
    Markup::element("details", &[], folded)
}

/// Returns the workload's first transaction type: New-Order, or the only one.
fn first_of(r: &RunResult) -> Option<&TransactionResult> {
    r.types_in_order().first().map(|(_, result)| *result)
}

/// Returns the names of the first types: several if the runs have several workloads.
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
        chart("overlay-nopm", "NOPM", "New orders per minute.", &say(&|r| nopm(r.nopm)))
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

/// Keys of plan, target, settings and host whose values are not the same in all runs.
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
    for key in settings.iter().copied() {
        keys.push((format!("setting: {key}"), Box::new(move |r| r.target.settings.get(key).cloned())));
    }
    let changed = results.iter().flat_map(|r| r.target.changed_settings.keys());
    let changed: BTreeSet<&String> = changed.filter(|key| !settings.contains(key)).collect();
    for key in changed {
        keys.push((
            format!("setting: {key}"),
            Box::new(move |r| r.target.changed_settings.get(key).cloned()),
        ));
    }
    keys.push(("connections".to_owned(), Box::new(|r| r.target.encryption().map(str::to_owned))));
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
            // All runs in one cell: columns for many runs or long values would not fit.
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
            list.push(requirements(r));
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
