//! Observed values on the page of a run: charts grouped by source, unit and size, and a table of all values.

use serde::Serialize;

use super::chart::{Chart, rounded};
use super::markup::{Markup, figures, table, words};
use crate::figures::{count, number, plural};
use crate::model::{Extent, Observed, RunResult};
use crate::observed::with_unit;

/// Most lines of a chart.
const LINES_MAX: usize = 6;

/// Most times that the peak of a chart's greatest line exceeds the peak of its least: beyond that the least is flat.
const SPREAD_MAX: f64 = 20.0;

/// Charts of a source that are shown unfolded.
const UNFOLDED: usize = 6;

/// Most points of all lines; with more lines each has fewer, so that the page stays small.
const POINTS_MAX: usize = 60_000;

/// Most characters of a statement that the page shows.
const TEXT_MAX: usize = 240;

/// An observed value that changed.
type Line<'a> = (&'a Observed, Extent);

/// Data of the charts of observed values.
#[derive(Serialize, Default)]
pub(super) struct ObservedData {
    /// Seconds per point.
    step_s: usize,
    second: Vec<i64>,
    charts: Vec<ChartData>,
}

/// Data of one chart: lines with the same source and unit, and of comparable size.
#[derive(Serialize)]
struct ChartData {
    #[serde(skip)]
    source: String,
    unit: String,
    lines: Vec<LineData>,
}

#[derive(Serialize)]
struct LineData {
    name: String,
    values: Vec<Option<f64>>,
    #[serde(skip)]
    extent: Extent,
}

impl ObservedData {
    /// Returns the charts of a result. A point covers at least `step_s` seconds, as in the other charts of the run.
    pub(super) fn new(result: &RunResult, step_s: usize) -> Self {
        Self::with_first(&[], result, step_s)
    }

    /// Returns the same charts after those of some values with a chart each, also of values that did not change.
    pub(super) fn with_first(first: &[Observed], result: &RunResult, step_s: usize) -> Self {
        let own = first.iter().map(|of| vec![(of, of.extent().unwrap_or_default())]);
        let groups: Vec<Vec<Line<'_>>> = own.chain(groups(&result.observed)).collect();
        let lines: usize = groups.iter().map(Vec::len).sum();
        let seconds = &result.series.second;
        let times = (seconds.len() * lines).div_ceil(POINTS_MAX * step_s.max(1)).max(1);
        let step_s = step_s.max(1) * times;
        // Aligned to the window's start, as the points of the other charts.
        let bucket = |second: i64| second.div_euclid(step_s as i64);
        let points: Vec<&[i64]> = seconds.chunk_by(|a, b| bucket(*a) == bucket(*b)).collect();
        let thin = |of: &Observed| {
            let mut rest = of.values.as_slice();
            let mean = |point: &&[i64]| {
                let (values, after) = rest.split_at(point.len().min(rest.len()));
                rest = after;
                let known: Vec<f64> = values.iter().flatten().copied().collect();
                (!known.is_empty()).then(|| rounded(known.iter().sum::<f64>() / known.len() as f64))
            };
            points.iter().map(mean).collect()
        };
        let charts = groups.iter().filter_map(|group| {
            let (first, _) = group.first()?;
            let line = |(of, extent): &Line<'_>| LineData {
                name: of.name.clone(),
                values: thin(of),
                extent: *extent,
            };
            Some(ChartData {
                source: first.source.clone(),
                unit: first.unit.clone(),
                lines: group.iter().map(line).collect(),
            })
        });
        let charts = charts.collect();
        let second = points.iter().filter_map(|point| point.first().map(|s| bucket(*s) * step_s as i64));
        Self { step_s, second: second.collect(), charts }
    }

    /// Returns the chart of this number with a title, and what `says` in words; empty if there is none.
    pub(super) fn figure_of(&self, of: usize, title: &str, says: &str) -> Markup {
        if self.charts.get(of).is_none() {
            return Markup::default();
        }
        Chart { kind: "observed", run: 0, of, title, note: "", says }.markup()
    }
}

/// Returns the values that changed, by chart: source by source, in each the units in their order, in each unit the
/// greatest values first.
fn groups(observed: &[Observed]) -> Vec<Vec<Line<'_>>> {
    let mut units: Vec<Vec<Line<'_>>> = Vec::new();
    for of in observed {
        let Some(extent) = of.extent().filter(|extent| extent.lowest < extent.highest) else { continue };
        let same = |unit: &&mut Vec<Line<'_>>| {
            unit.first().is_some_and(|(first, _)| (&first.source, &first.unit) == (&of.source, &of.unit))
        };
        match units.iter_mut().find(same) {
            Some(unit) => unit.push((of, extent)),
            None => units.push(vec![(of, extent)]),
        }
    }
    let sources: Vec<&String> = observed.iter().map(|of| &of.source).collect();
    let place = |unit: &Vec<Line<'_>>| {
        let first = unit.first();
        first.and_then(|(first, _)| sources.iter().position(|source| **source == first.source))
    };
    units.sort_by_key(place);
    units.into_iter().flat_map(by_size).collect()
}

/// Splits values of one unit into charts.
fn by_size(mut unit: Vec<Line<'_>>) -> Vec<Vec<Line<'_>>> {
    let peak = |(_, extent): &Line<'_>| extent.highest.abs().max(extent.lowest.abs());
    unit.sort_by(|a, b| peak(b).total_cmp(&peak(a)));
    let mut charts: Vec<Vec<Line<'_>>> = Vec::new();
    for of in unit {
        // Shares of a whole belong together, however small one is.
        let fits = |chart: &&mut Vec<Line<'_>>| {
            let comparable = chart.first().is_some_and(|first| peak(first) <= SPREAD_MAX * peak(&of));
            chart.len() < LINES_MAX && (comparable || of.0.unit == "percent")
        };
        match charts.last_mut().filter(fits) {
            Some(chart) => chart.push(of),
            None => charts.push(vec![of]),
        }
    }
    charts
}

/// Returns the content of the section; empty without observed values and statements.
pub(super) fn content(r: &RunResult, data: &ObservedData) -> Markup {
    content_after(r, data, 0)
}

/// Returns the same without the first `own` charts, which stand elsewhere.
pub(super) fn content_after(r: &RunResult, data: &ObservedData, own: usize) -> Markup {
    let mut all = charts(r, data, own);
    all.push(statements(r));
    if !r.observed.is_empty() {
        all.push(values(r));
    }
    all
}

/// Returns the charts, source by source.
fn charts(r: &RunResult, data: &ObservedData, own: usize) -> Markup {
    if r.observed.is_empty() {
        return Markup::default();
    }
    let drawn: usize = data.charts.iter().skip(own).map(|chart| chart.lines.len()).sum();
    let beside = if own == 0 { "the transactions" } else { "the rows" };
    let mut note = format!("Observed once a second, beside {beside} and on the same time axis.");
    if data.step_s > 1 && drawn > 0 {
        note.push_str(&format!(" One point is the mean of {} s.", data.step_s));
    }
    match r.observed.len() - drawn {
        0 => {}
        1 => note.push_str(" One value did not change and is in the table only."),
        same => note.push_str(&format!(" {same} values did not change and are in the table only.")),
    }
    let mut all = Markup::with_text("p", &[("class", "note")], &note);
    let charts: Vec<(usize, &ChartData)> = data.charts.iter().enumerate().skip(own).collect();
    for of_source in charts.chunk_by(|(_, a), (_, b)| a.source == b.source) {
        let Some((_, first)) = of_source.first() else { continue };
        all.push(Markup::with_text("h3", &[], &in_words(&first.source)));
        let mut shown = of_source.iter().map(|(of, chart)| figure(*of, chart, of_source));
        all.push(shown.by_ref().take(UNFOLDED).collect());
        let more: Markup = shown.collect();
        if !more.is_empty() {
            let count = plural((of_source.len() - UNFOLDED) as u64, "more chart");
            let mut folded = Markup::with_text("summary", &[], &count);
            folded.push(more);
            all.push(Markup::element("details", &[("class", "more")], folded));
        }
    }
    all
}

/// Returns a chart; its title has the greatest value if its unit has several charts.
fn figure(of: usize, chart: &ChartData, of_source: &[(usize, &ChartData)]) -> Markup {
    let unit = match chart.unit.as_str() {
        "/s" => "Events per second",
        "bytes/s" => "Bytes per second",
        "bytes" => "Bytes",
        "ms/s" => "Milliseconds per second",
        "s/s" => "Seconds per second",
        "s" => "Seconds",
        "cores" => "Processors",
        "percent" => "Percent",
        "" => "Counts",
        other => other,
    };
    let peak = chart.lines.iter().map(|line| line.extent.highest).reduce(f64::max);
    let several = of_source.iter().filter(|(_, other)| other.unit == chart.unit).count() > 1;
    let title =
        if several { format!("{unit}, up to {}", with_unit(peak, &chart.unit)) } else { unit.to_owned() };
    let says: Vec<String> = chart
        .lines
        .iter()
        .map(|LineData { name, extent, .. }| {
            let [mean, highest] = [extent.mean, extent.highest].map(|v| with_unit(Some(v), &chart.unit));
            format!("{name}: {mean} on average, {highest} at most")
        })
        .collect();
    Chart { kind: "observed", run: 0, of, title: &title, note: "", says: &says.join("; ") }.markup()
}

/// Returns a source in words.
fn in_words(source: &str) -> String {
    match source.split_once(':') {
        None if source == "db" => "Database".to_owned(),
        None if source == "host" => "Client machine".to_owned(),
        Some(("db", server)) if server.contains([':', '/']) => format!("Database server {server}"),
        _ => source.to_owned(),
    }
}

/// Returns a table for each server of the statements that took it the most time; empty without any.
fn statements(r: &RunResult) -> Markup {
    let of_servers = r.statements.chunk_by(|a, b| a.source == b.source);
    let tables = of_servers.map(|all| {
        let server = all.first().map(|first| in_words(&first.source)).unwrap_or_default();
        let with_blocks = all.iter().any(|of| of.blocks_read.is_some());
        let rows = all.iter().map(|of| {
            let blocks = [of.blocks_read, of.blocks_hit].map(|blocks| blocks.map_or("–".to_owned(), count));
            let figures = [number(of.total_s()), count(of.calls), number(of.mean_ms), count(of.rows)];
            let cells = figures.into_iter().chain(blocks.into_iter().filter(|_| with_blocks));
            cells.chain([shown(&of.text)]).map(|cell| Markup::text(&cell)).collect()
        });
        let mut columns = vec![figures("total s"), figures("calls"), figures("mean ms"), figures("rows")];
        if with_blocks {
            columns.extend([figures("blocks read"), figures("blocks in cache")]);
        }
        columns.push(words("Statement"));
        table(&format!("{server}: statements that took the most time"), &columns, rows.collect())
    });
    tables.collect()
}

/// Returns the beginning of a statement.
fn shown(text: &str) -> String {
    match text.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{}…", text[..end].trim_end_matches('…')),
        None => text.to_owned(),
    }
}

/// The folded table of all observed values.
fn values(r: &RunResult) -> Markup {
    let rows = r.observed.iter().map(|of| {
        let extent = of.extent();
        let cell = |value: fn(Extent) -> f64| with_unit(extent.map(value), &of.unit);
        let numbers = [cell(|of| of.mean), cell(|of| of.lowest), cell(|of| of.highest)];
        let samples = of.values.iter().flatten().count().to_string();
        let words = [of.name.clone(), in_words(&of.source)];
        words.into_iter().chain(numbers).chain([samples]).map(|cell| Markup::text(&cell)).collect()
    });
    let columns = [
        words("Value"),
        words("Source"),
        figures("mean"),
        figures("lowest"),
        figures("highest"),
        figures("samples"),
    ];
    let mut folded = Markup::fixed("<summary>All observed values</summary>");
    folded.push(table("Observed values over the window", &columns, rows.collect()));
    Markup::element("details", &[], folded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Series;
    use crate::statements::StatementResult;

    fn observed(source: &str, name: &str, unit: &str, values: Vec<Option<f64>>) -> Observed {
        Observed { source: source.into(), name: name.into(), unit: unit.into(), values }
    }

    /// A value that goes from 0 to `peak` within three seconds.
    fn rising(source: &str, name: &str, unit: &str, peak: f64) -> Observed {
        observed(source, name, unit, vec![Some(0.0), None, Some(peak)])
    }

    fn of(seconds: i64, observed: Vec<Observed>) -> RunResult {
        let second = (0..seconds).collect();
        RunResult { series: Series { second, ..Series::default() }, observed, ..RunResult::default() }
    }

    fn names(data: &ObservedData) -> Vec<Vec<&str>> {
        data.charts.iter().map(|chart| chart.lines.iter().map(|line| line.name.as_str()).collect()).collect()
    }

    #[test]
    fn a_chart_has_one_source_one_unit_and_lines_of_comparable_size() {
        let data = ObservedData::new(
            &of(
                3,
                vec![
                    rising("db", "commits", "/s", 900.0),
                    rising("host", "user", "percent", 90.0),
                    rising("db", "wal", "bytes/s", 5e6),
                    rising("db", "deadlocks", "/s", 0.5),
                    rising("host", "iowait", "percent", 0.2),
                    rising("db", "rows", "/s", 12_000.0),
                    rising("db", "rollbacks", "/s", 3.0),
                    observed("db", "same", "/s", vec![Some(7.0); 3]),
                    observed("db", "absent", "/s", vec![None; 3]),
                ],
            ),
            1,
        );
        let wanted: [&[&str]; 4] =
            [&["rows", "commits"], &["rollbacks", "deadlocks"], &["wal"], &["user", "iowait"]];
        assert_eq!(names(&data), wanted);
        assert_eq!(data.charts[0].lines[0].values, [Some(0.0), None, Some(12_000.0)]);
    }

    #[test]
    fn two_hundred_values_make_charts_of_few_lines_and_most_are_folded() {
        let all = (0..200).map(|n| rising("db", &format!("v{n:03}"), "/s", 100.0 + f64::from(n))).collect();
        let result = of(3, all);
        let data = ObservedData::new(&result, 1);
        assert_eq!(data.charts.len(), 200_usize.div_ceil(LINES_MAX));
        assert!(data.charts.iter().all(|chart| chart.lines.len() <= LINES_MAX));
        let html = content(&result, &data).into_html();
        let (shown, folded) = html.split_once("<details class=\"more\">").unwrap();
        assert_eq!(shown.matches("data-chart=\"observed\"").count(), UNFOLDED);
        assert!(folded.contains("<summary>28 more charts</summary>"), "{folded}");
        assert_eq!(folded.matches("data-chart=\"observed\"").count(), data.charts.len() - UNFOLDED);
    }

    #[test]
    fn a_long_run_has_few_points_at_multiples_of_the_step_of_the_other_charts() {
        let hours = 8 * 3600;
        let wave = |n: i64| (0..hours).map(|second| Some(((second + n) % 20) as f64)).collect();
        let all = (0..200).map(|n| observed("db", &format!("v{n}"), "/s", wave(n))).collect();
        let data = ObservedData::new(&of(hours, all), 20);
        let points: usize =
            data.charts.iter().flat_map(|chart| &chart.lines).map(|line| line.values.len()).sum();
        assert!(points <= POINTS_MAX + 200 && points > POINTS_MAX / 2, "{points}");
        assert_eq!(data.step_s % 20, 0);
        assert_eq!(data.second[1], data.step_s as i64);
        let line = &data.charts[0].lines[0];
        assert_eq!(line.values.len(), data.second.len());
        assert!(line.values.iter().all(|mean| *mean == Some(9.5)), "a mean of whole waves");
    }

    #[test]
    fn statements_have_a_table_for_each_server_with_blocks_only_if_it_counts_them() {
        let statement = |source: &str, blocks| StatementResult {
            source: source.into(),
            text: format!("UPDATE {}", "x".repeat(400)),
            calls: 2_000,
            mean_ms: 1.5,
            rows: 10,
            blocks_read: blocks,
            blocks_hit: blocks,
        };
        let statements = vec![statement("db", Some(7)), statement("db:h:5433", None)];
        let result = RunResult { statements, ..of(1, Vec::new()) };
        let html = content(&result, &ObservedData::default()).into_html();
        let (first, second) = html.split_once("Database server h:5433: statements").unwrap();
        assert!(first.contains("Database: statements that took the most time"), "{first}");
        assert!(first.contains("blocks read") && !second.contains("blocks read"), "{html}");
        assert!(first.contains("<th class=\"n\" scope=\"row\">3.00</th>"), "2,000 times 1.5 ms: {first}");
        assert!(first.contains("x…</td>"), "a long text is cut: {first}");
    }

    #[test]
    fn without_changes_there_is_a_table_and_no_chart() {
        let result = of(3, vec![observed("host", "cpu.steal", "percent", vec![Some(0.0); 3])]);
        let html = content(&result, &ObservedData::new(&result, 1)).into_html();
        assert!(!html.contains("data-chart") && html.contains("cpu.steal"), "{html}");
        assert!(html.contains("One value did not change"), "{html}");
        assert!(content(&of(3, Vec::new()), &ObservedData::default()).is_empty());
    }
}
