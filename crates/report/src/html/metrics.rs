//! Availability, scalability and schedulability on the page: charts, and their numbers as tables.

use serde::Serialize;

use super::chart::Chart;
use super::markup::{Markup, figures, table, words};
use crate::figures::{bytes, number};
use crate::metrics::text::{
    AVAILABILITY, SCALABILITY, cells_of, cells_of_size, definition, have_followers, moment, remarks, rows_of,
    share, steady_cell,
};
use crate::metrics::{FiveNumbers, Metrics};
use crate::model::RunResult;

/// Fewest runs of one event each whose points are grouped by database.
const BY_DATABASE: usize = 4;

/// Data of the charts of the metrics.
#[derive(Serialize)]
pub(super) struct MetricsData {
    /// By run.
    availability: Vec<OfRun<Event>>,
    /// By database: `[nodes, transactions per second and node]`.
    scalability: Vec<OfRun<(u32, f64)>>,
    /// Over the nodes, by run.
    ops: Vec<NodeBox>,
    bytes: Vec<NodeBox>,
}

/// Points with a common name.
#[derive(Serialize)]
struct OfRun<T> {
    name: String,
    points: Vec<T>,
}

#[derive(Serialize)]
struct Event {
    name: String,
    t_e: f64,
    r_e: f64,
}

/// A box of a box plot.
#[derive(Serialize)]
struct NodeBox {
    name: String,
    /// Least, quartiles, greatest.
    five: [f64; 5],
}

impl MetricsData {
    /// Returns the chart data of the metrics of runs with these names.
    pub(super) fn new(metrics: &Metrics, results: &[RunResult], names: &[String]) -> Self {
        let name = |run: usize| names.get(run).cloned().unwrap_or_default();
        let availability = availability_points(metrics, results, names);
        let scalability = metrics.by_nodes.iter().map(|of| OfRun {
            name: of.kind.clone(),
            points: of.sizes.iter().map(|size| (size.nodes, size.tps_per_node)).collect(),
        });
        let boxed = |name: String, five: FiveNumbers| NodeBox { name, five: five.numbers() };
        let ops = metrics.nodes.iter().filter_map(|of| Some(boxed(name(of.run), of.ops_spread()?)));
        let bytes = metrics.nodes.iter().filter_map(|of| {
            let (first, last) = of.bytes_spread()?;
            let name = name(of.run);
            Some([boxed(format!("{name}, before"), first), boxed(format!("{name}, after"), last)])
        });
        Self {
            availability,
            scalability: scalability.collect(),
            ops: ops.collect(),
            bytes: bytes.flatten().collect(),
        }
    }
}

/// Returns the points of the chart of availability: a series for each run. Many runs of one event each, as those of the
/// Dike paper's Figure 22, are a series for each database, and their names are those of the points.
fn availability_points(metrics: &Metrics, results: &[RunResult], names: &[String]) -> Vec<OfRun<Event>> {
    let by_database =
        metrics.events.len() >= BY_DATABASE && metrics.events.iter().all(|of| of.events.len() == 1);
    let mut all: Vec<OfRun<Event>> = Vec::new();
    for of in &metrics.events {
        let run = name_of(names, of.run);
        let points = of.events.iter().filter_map(|event| {
            let name = if by_database { run } else { event.event.name.as_str() };
            Some(Event { name: name.to_owned(), t_e: event.t_e()?, r_e: event.r_e()? })
        });
        let series =
            if by_database { results.get(of.run).map_or_else(String::new, database) } else { run.to_owned() };
        match all.iter_mut().find(|known| by_database && known.name == series) {
            Some(known) => known.points.extend(points),
            None => all.push(OfRun { name: series, points: points.collect() }),
        }
    }
    all
}

/// Returns the name of a result's database, with its number of nodes if there are several.
fn database(result: &RunResult) -> String {
    match result.node_count() {
        Some(nodes) if nodes > 1 => format!("{} over {nodes} nodes", result.target.kind),
        _ => result.target.kind.clone(),
    }
}

/// Returns the content of the section; empty without metrics.
pub(super) fn content(metrics: &Metrics, names: &[String]) -> Markup {
    let mut all = availability(metrics, names);
    all.push(scalability(metrics));
    all.push(nodes(metrics, names));
    let remarks: Markup =
        remarks(metrics, names).iter().map(|text| Markup::with_text("li", &[], text)).collect();
    if !remarks.is_empty() {
        all.push(Markup::element("ul", &[("class", "plain")], remarks));
    }
    all
}

fn name_of(names: &[String], run: usize) -> &str {
    names.get(run).map_or("", String::as_str)
}

fn chart(kind: &'static str, title: &str, note: &str, says: &str) -> Markup {
    Chart { kind, run: 0, of: 0, title, note, says }.markup()
}

fn row(cells: impl IntoIterator<Item = String>) -> Vec<Markup> {
    cells.into_iter().map(|cell| Markup::text(&cell)).collect()
}

fn availability(metrics: &Metrics, names: &[String]) -> Markup {
    if metrics.events.is_empty() {
        return Markup::default();
    }
    let note = format!("{AVAILABILITY}; {}.", definition(metrics, names));
    let mut rows = Vec::new();
    let mut says = Vec::new();
    let steady = have_followers(metrics);
    for of in &metrics.events {
        let name = name_of(names, of.run);
        for event in &of.events {
            for (place, (what, at_s, after)) in rows_of(event).into_iter().enumerate() {
                let cells = [name.to_owned(), what, moment(at_s)];
                let steady = steady.then(|| steady_cell(event, place));
                rows.push(row(cells.into_iter().chain(cells_of(event, after)).chain(steady)));
            }
            says.push(match (event.r_e(), event.t_e()) {
                (r_e @ Some(_), t_e @ Some(_)) => {
                    format!("{name}, {}: R_e {}, T_e {}", event.event.name, share(r_e), share(t_e))
                }
                _ if event.has_normal() => format!("{name}, {}: not stable again", event.event.name),
                _ => format!("{name}, {}: not steady before it", event.event.name),
            });
        }
    }
    let drawn = metrics.events.iter().flat_map(|of| &of.events).any(|event| event.r_e().is_some());
    let mut all = if drawn {
        let note = format!("Up and to the right is better. {note}");
        chart("availability", "Availability", &note, &says.join("; "))
    } else {
        Markup::with_text("p", &[("class", "note")], &note)
    };
    let mut columns = vec![
        words("Run"),
        words("Event"),
        figures("at s"),
        figures("TPS_n"),
        figures("TPS_e"),
        figures("lowest second"),
        figures("t in s"),
        figures("R_e"),
        figures("T_e"),
    ];
    columns.extend(steady.then(|| figures("s to steady before")));
    all.push(table("Availability", &columns, rows));
    all
}

fn scalability(metrics: &Metrics) -> Markup {
    if metrics.by_nodes.is_empty() {
        return Markup::default();
    }
    let mut rows = Vec::new();
    let mut says = Vec::new();
    for of in &metrics.by_nodes {
        for size in &of.sizes {
            rows.push(row([of.kind.clone()].into_iter().chain(cells_of_size(size))));
        }
        if let [least, .., most] = of.sizes.as_slice() {
            let scalability = share(most.from_least);
            says.push(format!("{}: {scalability} from {} to {} nodes", of.kind, least.nodes, most.nodes));
        }
    }
    let note = format!("Level is perfect. Scalability: {SCALABILITY}. {}.", says.join("; "));
    let mut all = chart("scalability", "Throughput of each node by number of nodes", &note, &says.join("; "));
    let columns = [
        words("Database"),
        figures("nodes"),
        figures("runs"),
        figures("tx/s"),
        figures("tx/s and node"),
        figures("scalability from the least"),
        figures("from the one before"),
    ];
    all.push(table("Scalability", &columns, rows));
    all
}

fn nodes(metrics: &Metrics, names: &[String]) -> Markup {
    let mut all = Markup::default();
    let note = "Least, quartiles and greatest over the nodes: the flatter a box, the better the balance. A transaction \
                counts once for each node that it touches.";
    let say = |of: &dyn Fn(usize) -> Option<String>| -> String {
        let says = (0..metrics.nodes.len()).filter_map(of);
        says.collect::<Vec<_>>().join("; ")
    };
    let five = |five: FiveNumbers, shown: &dyn Fn(f64) -> String| {
        let FiveNumbers { min, median, max, .. } = five;
        format!("from {} to {}, median {}", shown(min), shown(max), shown(median))
    };
    let size = |value: f64| bytes(value.round() as u64);
    let ops = say(&|index| {
        let of = metrics.nodes.get(index)?;
        Some(format!("{}: {}", name_of(names, of.run), five(of.ops_spread()?, &|value| number(value))))
    });
    if !ops.is_empty() {
        all.push(chart("nodes-ops", "Operations per second of each node", note, &ops));
    }
    let held = say(&|index| {
        let of = metrics.nodes.get(index)?;
        Some(format!("{}: {}", name_of(names, of.run), five(of.bytes_spread()?.1, &size)))
    });
    if !held.is_empty() {
        let note = "Least, quartiles and greatest over the nodes, before and after the run.";
        all.push(chart("nodes-bytes", "Data of each node", note, &held));
    }
    if all.is_empty() {
        return all;
    }
    let mut rows = Vec::new();
    for of in &metrics.nodes {
        for (index, node) in of.names.iter().enumerate() {
            let bytes_of = |which: fn(&(u64, u64)) -> u64| {
                of.bytes.get(index).map_or("–".to_owned(), |both| bytes(which(both)))
            };
            rows.push(row([
                name_of(names, of.run).to_owned(),
                node.clone(),
                number(of.ops.get(index).copied()),
                bytes_of(|both| both.0),
                bytes_of(|both| both.1),
            ]));
        }
        let spreads = of.bytes_spread();
        let ops = of.ops_spread();
        let summary = ["least", "first quartile", "median", "third quartile", "greatest"];
        for (place, what) in summary.into_iter().enumerate() {
            let at = |five: Option<FiveNumbers>| five.and_then(|five| five.numbers().get(place).copied());
            let shown = |five: Option<FiveNumbers>| at(five).map_or("–".to_owned(), size);
            rows.push(row([
                name_of(names, of.run).to_owned(),
                format!("of all: {what}"),
                number(at(ops)),
                shown(spreads.map(|both| both.0)),
                shown(spreads.map(|both| both.1)),
            ]));
        }
    }
    let columns =
        [words("Run"), words("Node"), figures("operations/s"), figures("data before"), figures("data after")];
    all.push(table("Nodes; quartiles interpolated linearly", &columns, rows));
    all
}
