//! The metrics as text for the terminal.

use std::fmt::Write as _;

use super::{Aftermath, Availability, FiveNumbers, Metrics, Size};
use crate::figures::{aligned, bytes, clean, count, duration, number};
use crate::model::Settling;

/// Definitions of R_e and T_e.
pub(crate) const AVAILABILITY: &str = "R_e = 1 − |TPS_e − TPS_n| / TPS_n, T_e = 1 / (t + 1), t in seconds";
/// Definition of scalability.
pub(crate) const SCALABILITY: &str =
    "1 − |TPS2/N2 − TPS1/N1| / (TPS1/N1), medians of the runs with the same N";

impl Settling {
    /// Returns the definition in words.
    pub(crate) fn words(&self) -> String {
        format!(
            "stable once means of {} s stay within {} % of their level for {} s",
            self.window_s, self.within_percent, self.hold_s
        )
    }
}

/// Returns the definition of stable throughput; that of each run if they differ.
pub(crate) fn definition(metrics: &Metrics, names: &[String]) -> String {
    let mut all: Vec<(usize, Settling)> = metrics.events.iter().map(|of| (of.run, of.settling)).collect();
    all.dedup_by_key(|(_, settling)| *settling);
    match &all[..] {
        [(_, settling)] => settling.words(),
        _ => {
            let own = metrics.events.iter().map(|of| {
                format!("{}: {}", names.get(of.run).map_or("", String::as_str), of.settling.words())
            });
            own.collect::<Vec<_>>().join("; ")
        }
    }
}

/// Returns the rows of an event's beginning and of its end: name, second, throughput.
pub(crate) fn rows_of(event: &Availability) -> Vec<(String, f64, &Aftermath)> {
    let name = &event.event.name;
    let mut rows = vec![(name.clone(), event.event.from_s, &event.began)];
    if let (Some(ended), Some(to_s)) = (&event.ended, event.event.to_s) {
        rows.push((format!("{name}, its end"), to_s, ended));
    }
    rows
}

/// Returns the numbers of such a row: TPS_n, TPS_e, the lowest second, t, R_e, T_e.
pub(crate) fn cells_of(event: &Availability, after: &Aftermath) -> [String; 6] {
    let stable = event.stable(after);
    [
        number(event.has_normal().then_some(event.normal_tps)),
        number(stable.map(|stable| stable.tps)),
        number(after.lowest_tps),
        stable.map_or("–".to_owned(), |stable| seconds(stable.after_s)),
        share(event.kept(after)),
        share(stable.map(|stable| 1.0 / (stable.after_s + 1.0))),
    ]
}

/// Returns true if an event follows another one, so that throughput had to become steady between them.
pub(crate) fn have_followers(metrics: &Metrics) -> bool {
    metrics.events.iter().flat_map(|of| &of.events).any(|event| event.between.is_some())
}

/// Returns the time until throughput was steady after the event before, for one of [`rows_of`] an event: that of its
/// beginning is the first.
pub(crate) fn steady_cell(event: &Availability, row: usize) -> String {
    let between = event.between.as_ref().filter(|_| row == 0);
    between.and_then(|between| between.steady_after_s).map_or("–".to_owned(), seconds)
}

/// Returns the cells of one number of nodes after the database's name: N, runs, tps, tps/N, scalability from the least
/// N and from the N before.
pub(crate) fn cells_of_size(size: &Size) -> [String; 6] {
    [
        size.nodes.to_string(),
        size.runs.to_string(),
        number(size.tps),
        number(size.tps_per_node),
        share(size.from_least),
        share(size.from_previous),
    ]
}

/// Returns a number around 1 with three decimals.
pub(crate) fn share(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.3}"))
}

/// Returns the remarks on one event: throughput was not steady before it, or is so much higher after it that R_e is below 0.
fn remarks_on(event: &Availability) -> impl Iterator<Item = String> {
    let unsteady = event.missing().filter(|_| !event.has_normal());
    let unsteady = unsteady.map(|why| format!("{}, so it has no R_e and no T_e.", String::from(why)));
    let gained = event.r_e().filter(|r_e| *r_e < 0.0).zip(event.stable(&event.began));
    let gained = gained.map(|(r_e, stable)| gained_words(r_e, event.normal_tps, stable.tps));
    unsteady.into_iter().chain(gained)
}

/// Returns the sentence about an R_e below 0, from the throughput before and after the event.
pub(crate) fn gained_words(r_e: f64, before_tps: f64, after_tps: f64) -> String {
    format!(
        "R_e is {r_e:.3}, below 0, because throughput is higher after it than before: {} and {} transactions per second.",
        number(after_tps),
        number(before_tps)
    )
}

/// Returns remarks on the metrics, one line each.
pub(crate) fn remarks(metrics: &Metrics, names: &[String]) -> Vec<String> {
    let name = |run: usize| names.get(run).map_or("", String::as_str);
    let mut all = Vec::new();
    for of in &metrics.events {
        for event in &of.events {
            all.extend(
                remarks_on(event).map(|remark| format!("{}, {}: {remark}", name(of.run), event.event.name)),
            );
        }
        let with_normal = of.events.iter().filter(|event| event.has_normal());
        for (what, _, after) in with_normal.flat_map(rows_of).filter(|(_, _, after)| after.stable.is_none()) {
            let watched = duration(after.watched_s as f64);
            all.push(format!(
                "{}, {what}: throughput did not become stable again within the {watched} after it, so it has no R_e \
                 and no T_e: allow more with --stable, or measure longer.",
                name(of.run)
            ));
        }
        if of.events.iter().any(|event| event.between.is_none() && !event.normal_is_stable) {
            all.push(format!(
                "{}: throughput was not stable before the first event either, which makes R_e uncertain.",
                name(of.run)
            ));
        }
    }
    for of in metrics.by_nodes.iter().filter(|of| !of.differing.is_empty()) {
        all.push(format!(
            "{}: not only the number of nodes differs between these runs, but also {}.",
            of.kind,
            of.differing.join(", ")
        ));
    }
    if !metrics.of_unknown_size.is_empty() {
        let runs: Vec<&str> = metrics.of_unknown_size.iter().map(|run| name(*run)).collect();
        all.push(format!(
            "Without scalability, because their number of nodes is unknown (set it with --nodes): {}.",
            runs.join(", ")
        ));
    }
    all
}

/// Renders the metrics as tables; empty without metrics. `names` has the names of the runs.
#[must_use]
pub fn render_metrics(metrics: &Metrics, names: &[String]) -> String {
    let name = |run: usize| clean(names.get(run).map_or("", String::as_str));
    let text = |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
    let mut out = String::new();
    if !metrics.events.is_empty() {
        let steady = have_followers(metrics);
        let columns = ["run", "event", "at s", "TPS_n", "TPS_e", "lowest", "t s", "R_e", "T_e", "steady s"];
        let mut rows = vec![text(&columns[..columns.len() - usize::from(!steady)])];
        for of in &metrics.events {
            for event in &of.events {
                for (row, (what, at_s, after)) in rows_of(event).into_iter().enumerate() {
                    let cells = [name(of.run), clean(&what), moment(at_s)];
                    let steady = steady.then(|| steady_cell(event, row));
                    rows.push(cells.into_iter().chain(cells_of(event, after)).chain(steady).collect());
                }
            }
        }
        let _ = writeln!(out, "Availability: {AVAILABILITY}; {}", clean(&definition(metrics, names)));
        let _ = writeln!(out, "{}", aligned(&rows, 2));
    }
    if !metrics.by_nodes.is_empty() {
        let columns = ["database", "N", "runs", "tps", "tps/N", "from the least N", "from the N before"];
        let mut rows = vec![text(&columns)];
        for of in &metrics.by_nodes {
            let cells = |size| [clean(&of.kind)].into_iter().chain(cells_of_size(size)).collect();
            rows.extend(of.sizes.iter().map(cells));
        }
        let _ = writeln!(out, "Scalability: {SCALABILITY}");
        let _ = writeln!(out, "{}", aligned(&rows, 1));
    }
    if !metrics.nodes.is_empty() {
        let mut rows = vec![text(&["run", "of each node", "nodes", "min", "Q1", "median", "Q3", "max"])];
        for of in &metrics.nodes {
            let mut row = |what: &str, five: FiveNumbers, shown: &dyn Fn(f64) -> String| {
                let lead = [name(of.run), what.to_owned(), count(of.names.len() as u64)];
                rows.push(lead.into_iter().chain(five.numbers().map(shown)).collect());
            };
            if let Some(five) = of.ops_spread() {
                row("operations per second", five, &|value| number(value));
            }
            if let Some((first, last)) = of.bytes_spread() {
                let size = |value: f64| bytes(value.round() as u64);
                row("data before the run", first, &size);
                row("data after the run", last, &size);
            }
        }
        let _ = writeln!(out, "Schedulability: over the nodes; quartiles interpolated linearly");
        let _ = writeln!(out, "{}", aligned(&rows, 2));
    }
    for remark in remarks(metrics, names) {
        let _ = writeln!(out, "! {}", clean(&remark));
    }
    out
}

/// Returns the second of an event with up to two decimals.
pub(crate) fn moment(at_s: f64) -> String {
    ((at_s * 1e2).round() / 1e2).to_string()
}

/// Returns seconds with up to three decimals.
fn seconds(seconds: f64) -> String {
    ((seconds * 1e3).round() / 1e3).to_string()
}
