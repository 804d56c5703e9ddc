//! The page of a load: rows per second with the phases as marks, phases, tables, batches, and what was observed.

use super::data::RunData;
use super::environment;
use super::loaded::{batches, phases, tables};
use super::markup::Markup;
use super::metrics::MetricsData;
use super::observed::{self, ObservedData};
use super::single::card;
use super::{PageData, Section, page_with_footer};
use crate::figures::{P50, P99, bytes, count, duration, moment, number, plural};
use crate::metrics::{Event, Metrics};
use crate::model::{LoadInfo, LoadPhase, LoadResult, Observed, RunResult, Series, Status, Window};

/// Most points of a series.
const POINTS_MAX: usize = 1500;
/// Source of the load's own series among the observed ones.
const OWN: &str = "load";

/// Renders the page of a load.
#[must_use]
pub fn render_load(result: &LoadResult) -> String {
    let load = &result.load;
    // Charts over time are those of observed values; the seconds are the load's.
    let shown = RunResult {
        series: Series { second: load.series.second.clone(), ..Series::default() },
        observed: load.observed.clone(),
        statements: load.statements.clone(),
        window: Window { measured_s: load.seconds, ..Window::default() },
        ..RunResult::default()
    };
    let own = own_series(load);
    let mut run = RunData::new(&shown, OWN);
    let step_s = load.series.second.len().div_ceil(POINTS_MAX).max(1);
    run.observed = ObservedData::with_first(&own, &shown, step_s);
    let sections = vec![
        Section::first("Summary", summary(result)),
        Section::new("time", "Over time", "Over time", over_time(load, &run)),
        Section::new("phases", "Phases", "Phases", phases(load)),
        Section::new("tables", "Tables", "Tables", tables(load)),
        Section::new("batches", "Batches", "Batches", batches(load)),
        Section::new(
            "server",
            "Server",
            "What the server did",
            observed::content_after(&shown, &run.observed, own.len()),
        ),
        Section::new("environment", "Environment", "Environment", surroundings(result)),
    ];
    let metrics = Metrics::without_flags(&[]);
    let data =
        PageData { runs: vec![run], metrics: MetricsData::new(&metrics, &[], &[]), events: events(load) };
    page_with_footer(&title(result), sections, (&data, &[]), Markup::default())
}

fn title(result: &LoadResult) -> String {
    let target = format!("{} {}", result.target.kind, result.target.version);
    let load = format!("Load of {}", target.trim());
    result.label.as_ref().map_or_else(|| load.clone(), |label| format!("{label}: {load}"))
}

/// Returns rows and bytes per second as values that are drawn like observed ones.
fn own_series(load: &LoadInfo) -> [Observed; 2] {
    let of = |name: &str, unit: &str, values: &[u64]| Observed {
        source: OWN.to_owned(),
        name: name.to_owned(),
        unit: unit.to_owned(),
        values: values.iter().map(|value| Some(*value as f64)).collect(),
    };
    [of("rows", "/s", &load.series.rows), of("bytes", "bytes/s", &load.series.bytes)]
}

/// Returns the phases as marks.
fn events(load: &LoadInfo) -> Vec<Event> {
    let mark =
        |phase: &LoadPhase| Event { name: phase.name.clone(), from_s: phase.from_s, to_s: Some(phase.to_s) };
    load.phases.iter().map(mark).collect()
}

fn summary(result: &LoadResult) -> Markup {
    let load = &result.load;
    let mut all = Markup::with_text("h1", &[], &title(result));
    let mut lead = vec![match (result.plan.warehouses, load.tables) {
        (_, Some(tables)) => plural(tables, "table"),
        (Some(warehouses), None) => {
            let size = result.plan.size.as_deref().filter(|size| *size != "standard");
            let size = size.map(|size| format!(" of size {size}")).unwrap_or_default();
            format!("{}{size}", plural(warehouses, "warehouse"))
        }
        (None, None) => "no warehouses".to_owned(),
    }];
    lead.push(plural(load.jobs.into(), "loader"));
    lead.extend(result.plan.schema.as_ref().map(|file| format!("tables by {file}")));
    lead.extend(result.plan.after_load.as_ref().map(|file| format!("after the rows {file}")));
    lead.extend(result.plan.from.as_ref().map(|from| format!("rows from {from}")));
    if !load.start.is_empty() {
        lead.push(moment(&load.start));
    }
    all.push(Markup::with_text("p", &[("class", "lead")], &lead.join(" · ")));
    if result.status == Status::Partial {
        all.push(Markup::with_text(
            "p",
            &[("class", "note")],
            "The load was interrupted: the numbers end there.",
        ));
    }
    let p99 = load.batches.latency_ms.p99;
    let cards = [
        card(
            "Rows per second",
            Markup::text(&number(load.rows_per_s)),
            &format!("{} rows", count(load.rows)),
            "",
        ),
        card("Time", Markup::text(&duration(load.seconds)), "with keys, indexes and all other steps", ""),
        card(
            "Data sent",
            Markup::text(&bytes(load.bytes)),
            &format!("{}/s", bytes(load.bytes_per_s as u64)),
            "",
        ),
        card(
            "Batch latency",
            Markup::text(&format!("{} ms", P50.text(load.batches.count, load.batches.latency_ms.p50))),
            &format!("median; p99 {} ms", P99.text(load.batches.count, p99)),
            "",
        ),
    ];
    all.push(Markup::element("div", &[("class", "cards")], cards.into_iter().collect()));
    let warnings = result.warnings.iter().map(|line| Markup::with_text("li", &[], line));
    let warnings: Markup = warnings.collect();
    if !warnings.is_empty() {
        all.push(Markup::element("ul", &[("class", "findings")], warnings));
    }
    all
}

/// Returns the charts of rows and bytes.
fn over_time(load: &LoadInfo, run: &RunData) -> Markup {
    let marks: Vec<String> = load
        .phases
        .iter()
        .map(|phase| format!("{} from {} s to {} s", phase.name, number(phase.from_s), number(phase.to_s)))
        .collect();
    let note = "Dashed lines are the begins of the load's phases. One entry is one second; the last one is cut by the \
                end of the load.";
    let mut all = Markup::with_text("p", &[("class", "note")], note);
    all.push(run.observed.figure_of(0, "Rows per second", &marks.join("; ")));
    all.push(run.observed.figure_of(1, "Bytes per second", ""));
    all
}

fn surroundings(result: &LoadResult) -> Markup {
    let of = RunResult {
        target: result.target.clone(),
        host: result.host.clone(),
        load: Some(result.load.clone()),
        ..RunResult::default()
    };
    let all = [
        environment::target(&of),
        environment::host(&of),
        environment::load(&of),
        environment::settings(&of),
    ];
    let mut columns = Markup::element("div", &[("class", "columns")], all.into_iter().collect());
    columns.push(environment::target_tables(&of));
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{LoadSeries, TableLoad, TargetInfo};

    fn result() -> LoadResult {
        let phase = |name: &str, from_s, to_s| LoadPhase { name: name.into(), from_s, to_s };
        LoadResult {
            target: TargetInfo { kind: "postgres".into(), version: "17".into(), ..TargetInfo::default() },
            load: LoadInfo {
                seconds: 2.5,
                rows: 30,
                bytes: 900,
                phases: vec![phase("rows", 0.0, 1.5), phase("<building> keys", 1.5, 2.5)],
                series: LoadSeries { second: vec![0, 1, 2], rows: vec![20, 10, 0], bytes: vec![600, 300, 0] },
                by_table: vec![TableLoad { table: "stock".into(), rows: 30, bytes: 900 }],
                ..LoadInfo::default()
            },
            ..LoadResult::default()
        }
    }

    #[test]
    fn a_page_has_rows_per_second_with_its_phases_as_marks() {
        let html = render_load(&result());
        assert!(html.contains("<figcaption>Rows per second</figcaption>"), "{html}");
        assert!(html.contains("\"events\":[{\"name\":\"rows\",\"from_s\":0.0,\"to_s\":1.5}"), "{html}");
        assert!(html.contains("\"values\":[20.0,10.0,0.0]"), "{html}");
        assert!(html.contains("&lt;building&gt; keys") && html.contains("30.0"), "{html}");
    }

    #[test]
    fn a_load_that_sends_the_same_in_each_second_has_a_chart_too() {
        let mut same = result();
        same.load.series.rows = vec![10; 3];
        assert!(render_load(&same).contains("\"values\":[10.0,10.0,10.0]"));
    }
}
