//! The phases of a run: a table, and for ramps a picture of latency over rate or sessions.

use super::markup::{Markup, figures, named_table, table, words};
use super::plot::{legend, plot};
use crate::figures::{P50, P99, P999, THIN_NOTE, count, number, type_name};
use crate::model::{Latency, PhaseResult, RunResult};
use crate::numbers::latency::OF_LATENCY;
use crate::phases::{asked_in_words, lead_type, signed, tenths};
use crate::sweep::Spread;
use crate::sweep::figure::{Cell, Kind, Panel, Scale, Series};

/// Most phases whose other types have a table; the result has those of all phases.
const MOST_WITH_TYPES: usize = 100;

/// Returns table and picture, if there are several phases.
pub(super) fn content(r: &RunResult) -> Markup {
    if r.phases.len() < 2 {
        return Markup::default();
    }
    let mut all = picture(r);
    all.push(of_phases(r));
    all.push(of_types(r));
    all
}

/// A column of the table of phases: its head, true for numbers, and the text of a phase.
type Column<'a> = (String, bool, Box<dyn Fn(&PhaseResult) -> String + 'a>);

/// The table with a row for each phase.
fn of_phases(r: &RunResult) -> Markup {
    let mut columns: Vec<Column<'_>> = vec![
        ("From, s".into(), true, Box::new(|of| tenths(of.from_s).to_string())),
        ("To, s".into(), true, Box::new(|of| tenths(of.to_s).to_string())),
        ("Settings".into(), false, Box::new(|of| asked_in_words(&of.asked))),
        ("tx/s".into(), true, Box::new(|of| number(of.tps))),
    ];
    if r.phases.iter().any(|phase| phase.controls.queue.is_some()) {
        columns.extend(of_open_loop());
    }
    let lead = lead_type(r);
    if let Some(lead) = lead {
        for latency in &OF_LATENCY {
            let text = move |of: &PhaseResult| {
                of.latency_ms.get(lead).map_or("–".into(), |found| latency.text(of.completed(lead), found))
            };
            columns.push((latency.head.into(), true, Box::new(text)));
        }
    }
    type Counts = fn(&PhaseResult) -> Option<u64>;
    let counts: [(&str, Counts); 4] = [
        ("aborts", |of| PhaseResult::sum(&of.aborts)),
        ("retries", |of| PhaseResult::sum(&of.retries)),
        ("failed", |of| PhaseResult::sum(&of.failed)),
        ("unknown", |of| PhaseResult::sum(&of.unknown)),
    ];
    for (head, of) in counts {
        columns.push((head.into(), true, Box::new(move |phase| of(phase).map_or("–".into(), count))));
    }
    let heads = std::iter::once(("Phase".to_owned(), false));
    let heads: Vec<(String, bool)> =
        heads.chain(columns.iter().map(|(head, n, _)| (head.clone(), *n))).collect();
    let rows = (1..).zip(&r.phases).map(|(number, phase)| {
        let name = std::iter::once(Markup::text(&name(number, phase)));
        name.chain(columns.iter().map(|(_, _, text)| Markup::text(&text(phase)))).collect()
    });
    let caption = match lead {
        Some(lead) => format!("Phases; {} latency in ms from due to answered", type_name(lead)),
        None => "Phases".to_owned(),
    };
    let mut all = named_table(&caption, &heads, rows.collect());
    if lead.is_some_and(|lead| r.phases.iter().any(|phase| P999.is_thin(phase.completed(lead)))) {
        all.push(Markup::with_text("p", &[("class", "note")], THIN_NOTE));
    }
    all
}

/// The columns of an open loop: configured and due requests per second, and the queue at the end.
fn of_open_loop<'a>() -> [Column<'a>; 4] {
    let rate = |of: &PhaseResult| of.controls.rate.clone();
    let queue = |of: &PhaseResult| of.controls.queue;
    [
        ("configured/s".into(), true, Box::new(move |of| number(rate(of).map(|rate| rate.asked_per_s)))),
        (
            "due/s".into(),
            true,
            Box::new(move |of| number(rate(of).and_then(|rate| rate.actual).map(|actual| actual.due_per_s))),
        ),
        (
            "queue at its end".into(),
            true,
            Box::new(move |of| queue(of).map_or("–".into(), |queue| count(queue.backlog))),
        ),
        (
            "queue grew by".into(),
            true,
            Box::new(move |of| queue(of).map_or("–".into(), |queue| signed(queue.grew_by))),
        ),
    ]
}

/// Returns the number of a phase, with its name if it has one.
fn name(number: usize, phase: &PhaseResult) -> String {
    phase.name.as_ref().map_or_else(|| number.to_string(), |name| format!("{number} {name}"))
}

/// The latencies and queues of all types in each phase, folded.
fn of_types(r: &RunResult) -> Markup {
    if r.phases.len() > MOST_WITH_TYPES {
        let note = "The latencies of the other types, and the queues, are in the result: phases, latency_ms and queue_ms.";
        return Markup::with_text("p", &[("class", "note")], note);
    }
    let mut rows = Vec::new();
    for (number, phase) in (1..).zip(&r.phases) {
        for (of, _) in r.types_in_order() {
            let completed = phase.completed(of);
            let mut line = |part: &str, latency: Option<&Latency>| {
                let Some(latency) = latency.filter(|_| completed > 0) else { return };
                let numbers = OF_LATENCY.iter().map(|number| Markup::text(&number.text(completed, latency)));
                let named = [name(number, phase), format!("{} {part}", type_name(of)), count(completed)];
                let named = named.iter().map(|text| Markup::text(text)).collect::<Vec<_>>();
                rows.push(named.into_iter().chain(numbers).collect());
            };
            line("latency", phase.latency_ms.get(of));
            line("queue", phase.queue_ms.get(of));
        }
    }
    if rows.is_empty() {
        return Markup::default();
    }
    let latencies = OF_LATENCY.iter().map(|latency| figures(latency.head));
    let columns: Vec<_> =
        [words("Phase"), words("Part"), figures("completed")].into_iter().chain(latencies).collect();
    let mut folded = Markup::fixed("<summary>All percentiles of latency and queue in each phase</summary>");
    folded.push(table("Times in ms", &columns, rows));
    Markup::element("details", &[], folded)
}

/// True if the page has a picture of the phases, which needs the style of plots.
pub(super) fn has_picture(r: &RunResult) -> bool {
    lead_type(r).is_some() && axis(r).is_some()
}

/// Median and 99th percentile over the rate or the sessions, if these differ between the phases.
fn picture(r: &RunResult) -> Markup {
    let (Some(lead), Some((title, values))) = (lead_type(r), axis(r)) else { return Markup::default() };
    let mut points: Vec<(f64, &PhaseResult)> = values.into_iter().zip(&r.phases).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    let series = |percentile: &str, of: fn(&Latency) -> Option<f64>| {
        let cell = |(_, phase): &(f64, &PhaseResult)| {
            let value = phase.latency_ms.get(lead).and_then(of);
            Cell { value: value.and_then(|value| Spread::of(&[value])), ..Cell::default() }
        };
        Series { name: percentile.to_owned(), cells: points.iter().map(cell).collect() }
    };
    let panel = Panel {
        title: String::new(),
        metric: format!("{lead}.p99"),
        y_title: format!("{} latency in ms", type_name(lead)),
        x: points.iter().map(|(x, _)| ((x * 1e3).round() / 1e3).to_string()).collect(),
        series: vec![series("p50", |latency| latency.p50), series("p99", |latency| latency.p99)],
    };
    let thin = points.iter().any(|(_, phase)| {
        let completed = phase.completed(lead);
        P50.is_thin(completed) || P99.is_thin(completed)
    });
    let few = if thin { " Percentiles with a ~ in the table rest on few transactions." } else { "" };
    let note = format!(
        "A mark is a phase: median and 99th percentile of the transactions that were due in it.{few}"
    );
    let mut all = Markup::with_text("figcaption", &[], &format!("Latency by {title}"));
    all.push(Markup::with_text("p", &[("class", "note")], &note));
    all.push(legend(&panel, Kind::Line, "Percentile"));
    let drawn = plot(&panel, Kind::Line, Scale::Linear, title, true).on_page(true);
    all.push(Markup::element("div", &[("class", "scroll")], drawn));
    Markup::element("figure", &[], all)
}

/// Returns what the phases change, in words, with its value in each: the configured rate, else the sessions. None if
/// it is the same in all of them.
fn axis(r: &RunResult) -> Option<(&'static str, Vec<f64>)> {
    let rate = |phase: &PhaseResult| phase.controls.rate.as_ref().map(|rate| rate.asked_per_s);
    let number_of = |key: &'static str| {
        move |phase: &PhaseResult| phase.asked.get(key).and_then(|text| text.trim().parse::<f64>().ok())
    };
    let of_all = |of: &dyn Fn(&PhaseResult) -> Option<f64>| {
        let values: Vec<f64> = r.phases.iter().map(of).collect::<Option<_>>()?;
        let differ = values.windows(2).any(|two| two[0] != two[1]);
        (differ && values.iter().all(|value| value.is_finite())).then_some(values)
    };
    None.or_else(|| Some(("configured requests per second", of_all(&rate)?)))
        .or_else(|| Some(("sessions", of_all(&number_of("sessions"))?)))
        .or_else(|| Some(("terminals", of_all(&number_of("terminals"))?)))
}
