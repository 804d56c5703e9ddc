//! The page of a sweep: its figures, each with its numbers beside it, all points, all runs.

use super::markup::{Markup, figures, named_table, pairs, pill, table, words};
use super::plot::Picture;
use super::scatter::{self, scatter};
use super::single::card;
use super::theme::{STYLE, THEME};
use super::{Section, frame, plot};
use crate::figures::{duration, number, plural};
use crate::metric::Metric;
use crate::sweep::claim::{Claim, Outcome, Verdict};
use crate::sweep::figure::{Cell, Figure, Kind, Panel, Series, axis_title, metric_title};
use crate::sweep::{Run, Spread, State, Sweep};

/// Most remarks that the summary lists; more are only counted, since the table of runs has them all.
const REMARKS: usize = 12;

/// Renders the page of a sweep.
#[must_use]
pub fn render_sweep(sweep: &Sweep) -> String {
    let drawn = sweep.figures.iter().map(|each| figure(each, sweep)).collect();
    let sections = vec![
        Section::first("Summary", summary(sweep)),
        Section::new("figures", "Figures", "Figures", drawn),
        Section::new("points", "Points", "All points", points(sweep)),
        Section::new("runs", "Runs", "All runs", runs(sweep)),
        Section::new("setup", "Setup", "How it was run", setup(sweep)),
    ];
    frame(&sweep.title, sections, (&[STYLE], Markup::fixed(THEME)), footer(), Markup::default())
}

fn footer() -> Markup {
    let mut all = Markup::with_text(
        "p",
        &[],
        "Results are not audited TPC results: NOPM is not tpmC and must not be compared with published TPC-C results. \
         Latency is counted from when a transaction was due, retries and waiting \
         included; percentiles come from full histograms; the warm-up is excluded from every number. The result of \
         each run says which rules of the standard it kept.",
    );
    all.push(Markup::with_text("p", &[], &format!("Made by Lydite {}.", env!("CARGO_PKG_VERSION"))));
    all
}

fn summary(sweep: &Sweep) -> Markup {
    let mut all = Markup::with_text("h1", &[], &sweep.title);
    let lead = format!(
        "{}, {} of each · {}",
        plural(sweep.points.len() as u64, "point"),
        plural(u64::from(sweep.repetitions), "run"),
        sweep.experiment
    );
    all.push(Markup::with_text("p", &[("class", "lead")], &lead));
    if !sweep.description.trim().is_empty() {
        all.push(Markup::with_text("p", &[("class", "about")], sweep.description.trim()));
    }
    let (complete, runs) = (sweep.runs_in(State::Complete), sweep.runs());
    let lacking: Vec<String> = [State::Partial, State::Failed, State::Missing]
        .into_iter()
        .filter(|state| sweep.runs_in(*state) > 0)
        .map(|state| format!("{} {}", sweep.runs_in(state), state.name()))
        .collect();
    let note = if lacking.is_empty() { "all that were planned".to_owned() } else { lacking.join(", ") };
    let kind = if complete == runs { "good" } else { "warn" };
    let mut cards = card("Complete runs", Markup::text(&format!("{complete}/{runs}")), &note, kind);
    let checked = sweep.points.iter().flat_map(|point| &point.runs).filter(|run| run.checks > 0).count();
    let broken = sweep.runs_with_failed_checks();
    cards.push(match (checked, broken) {
        (0, _) => card("Consistency", Markup::text("–"), "consistency was not checked", "warn"),
        (checked, 0) => card(
            "Consistency",
            Markup::text(&format!("{checked}/{checked}")),
            "runs whose checks all hold",
            "good",
        ),
        (checked, broken) => {
            let held = format!("{}/{checked}", checked - broken);
            card(
                "Consistency",
                Markup::text(&held),
                &format!("runs whose checks all hold, {broken} have some that do not"),
                "bad",
            )
        }
    });
    all.push(Markup::element("div", &[("class", "cards")], cards));
    let remarks = sweep.remarks();
    let beyond = remarks.len().saturating_sub(REMARKS);
    let mut items: Markup = remarks.iter().take(REMARKS).map(|text| remark("warn", "note", text)).collect();
    if beyond > 0 {
        items.push(remark("warn", "note", &format!("And {beyond} more: see the runs below.")));
    }
    for (warning, times) in &sweep.environment.warnings {
        items.push(remark("warn", "note", &format!("{warning} ({}).", plural(u64::from(*times), "run"))));
    }
    if !items.is_empty() {
        all.push(Markup::element("ul", &[("class", "findings")], items));
    }
    all
}

fn remark(kind: &'static str, word: &str, text: &str) -> Markup {
    let mut all = pill(kind, word);
    all.push(Markup::with_text("span", &[], text));
    Markup::element("li", &[], all)
}

/// Draws a figure with its numbers.
pub(super) fn figure(figure: &Figure, sweep: &Sweep) -> Markup {
    let spec = &figure.spec;
    let mut all = Markup::with_text("figcaption", &[], &spec.title);
    if !spec.note.trim().is_empty() {
        all.push(Markup::with_text("p", &[("class", "note")], spec.note.trim()));
    }
    all.push(Markup::with_text("p", &[("class", "note")], &spec.method(sweep.repetitions)));
    if let (Some(claim), Some(verdict)) = (&spec.claim, &figure.verdict) {
        all.push(judged(claim, verdict));
    }
    if spec.kind != Kind::Table {
        if let Some(panel) = figure.panels.first() {
            let by = spec.series.as_deref().map(axis_title).unwrap_or_default();
            all.push(plot::legend(panel, spec.kind, &by));
        }
        let pictures = pictures(figure);
        let alone = pictures.len() == 1;
        let panels = pictures.into_iter().map(|(title, picture)| {
            let mut one = Markup::default();
            if !title.is_empty() {
                one.push(Markup::with_text("p", &[("class", "panel-title")], &title));
            }
            one.push(Markup::element("div", &[("class", "scroll")], picture.on_page(alone)));
            Markup::element("div", &[], one)
        });
        all.push(Markup::element(
            "div",
            &[("class", if alone { "panel" } else { "panels" })],
            panels.collect(),
        ));
        let missing = without_mark(figure);
        if !missing.is_empty() {
            let note = format!("Without a mark, since a number is missing: {}.", missing.join("; "));
            all.push(Markup::with_text("p", &[("class", "note")], &note));
        }
    }
    let numbers = numbers(figure);
    // A table with a row for each second is too long to stand open beside the picture.
    all.push(if spec.is_over_time(&sweep.axes) { folded("Second by second", numbers) } else { numbers });
    for gap in figure.gaps() {
        all.push(Markup::with_text("p", &[("class", "note")], &gap));
    }
    Markup::element("figure", &[], all)
}

/// The claim of a figure, and the verdict of the runs on it.
fn judged(claim: &Claim, verdict: &Verdict) -> Markup {
    let kind = match verdict.outcome {
        Outcome::Supported => "good",
        Outcome::Undecided => "warn",
        Outcome::NotSupported => "bad",
    };
    let mut line = pill(kind, verdict.outcome.words());
    line.push(Markup::with_text("span", &[], &format!(" {}", claim.text)));
    let mut all = Markup::element("p", &[("class", "claim")], line);
    let reasons = verdict.reasons.iter().map(|reason| Markup::with_text("li", &[], reason)).collect();
    let mut why = Markup::element("ul", &[], reasons);
    let conditions = format!("Conditions of support: {}.", claim.supports.join("; "));
    why.push(Markup::with_text("p", &[("class", "note")], &conditions));
    all.push(folded("What these runs show", why));
    all
}

/// Returns the points of a scatter plot that have no mark.
fn without_mark(figure: &Figure) -> Vec<String> {
    if figure.spec.kind != Kind::Scatter {
        return Vec::new();
    }
    let (along, up) = figure.panels.split_at(figure.panels.len() / 2);
    along.iter().zip(up).flat_map(|(along, up)| scatter::without_mark(along, up)).collect()
}

/// Draws the panels of a figure, each with its title.
pub(super) fn pictures(figure: &Figure) -> Vec<(String, Picture)> {
    let spec = &figure.spec;
    // The panels of one metric follow each other. A scatter plot takes one of each metric.
    let scattered = spec.kind == Kind::Scatter;
    let count = if scattered { figure.panels.len() / 2 } else { figure.panels.len() };
    let alone = count == 1;
    let one = |(n, panel): (usize, &Panel)| {
        let named = spec.y.len() > 1 && spec.panel.is_some() && !scattered;
        let metric = if named { panel.y_title.as_str() } else { "" };
        let of = panel_title(spec.panel.as_deref(), &panel.title);
        let title: Vec<&str> = [of.as_str(), metric].into_iter().filter(|t| !t.is_empty()).collect();
        let picture = match figure.panels.get(count + n) {
            Some(up) if scattered => scatter(panel, up, alone),
            _ => plot::plot(panel, spec.kind, spec.x_scale, &spec.x_title, alone),
        };
        (title.join(": "), picture)
    };
    figure.panels.iter().take(count).enumerate().map(one).collect()
}

/// Returns the value of a panel, with the name of its axis if the value alone is a number or a switch.
fn panel_title(axis: Option<&str>, value: &str) -> String {
    let bare = value.parse::<f64>().is_ok() || matches!(value, "on" | "off" | "true" | "false");
    match axis.filter(|_| bare) {
        Some(axis) => format!("{} {value}", axis_title(axis)),
        None => value.to_owned(),
    }
}

/// The data of a figure: with one metric a column for each series, with several a column for each metric.
fn numbers(figure: &Figure) -> Markup {
    let spec = &figure.spec;
    // The panels of one metric follow each other, in the same order for each metric.
    let each = figure.panels.len() / spec.y.len().max(1);
    let Some(first) = figure.panels.first() else { return Markup::default() };
    let beside = spec.y.len() == 1;
    let names = |axis: &Option<String>| axis.as_deref().map(|axis| (axis_title(axis), false));
    let mut columns: Vec<(String, bool)> = names(&spec.panel).into_iter().collect();
    let caption = match (beside, spec.y_titles.first(), names(&spec.series)) {
        (true, Some(title), Some((series, _))) => {
            columns.push((spec.x_title.clone(), false));
            columns.extend(first.series.iter().map(|series| (series.name.clone(), true)));
            format!("{title}, by {series}")
        }
        (_, _, series) => {
            columns.extend(series);
            columns.push((spec.x_title.clone(), false));
            columns.extend(spec.y_titles.iter().map(|title| (title.clone(), true)));
            String::new()
        }
    };
    let mut rows = Vec::new();
    for (n, panel) in figure.panels.iter().take(each).enumerate() {
        let metrics = || (0..spec.y.len()).filter_map(|metric| figure.panels.get(metric * each + n));
        let title = spec.panel.as_ref().map(|_| Markup::text(&panel.title));
        let row = |x: usize, name: Option<&str>, cells: Vec<Markup>| -> Vec<Markup> {
            let x = panel.x.get(x).map(|x| Markup::text(x));
            title.clone().into_iter().chain(name.map(Markup::text)).chain(x).chain(cells).collect()
        };
        let at = |series: &Series, x: usize| series.cells.get(x).map(cell);
        if beside {
            rows.extend(
                (0..panel.x.len())
                    .map(|x| row(x, None, panel.series.iter().filter_map(|series| at(series, x)).collect())),
            );
            continue;
        }
        for (s, series) in panel.series.iter().enumerate() {
            let name = spec.series.as_ref().map(|_| series.name.as_str());
            rows.extend(
                (0..panel.x.len()).map(|x| {
                    row(x, name, metrics().filter_map(|panel| at(panel.series.get(s)?, x)).collect())
                }),
            );
        }
    }
    named_table(&caption, &columns, rows)
}

/// Content that opens on a click.
fn folded(words: &str, what: Markup) -> Markup {
    let mut all = Markup::with_text("summary", &[], words);
    all.push(what);
    Markup::element("details", &[], all)
}

/// A number of a figure, with its number of runs if some are missing.
fn cell(cell: &Cell) -> Markup {
    let mut all = spread(cell.value.as_ref());
    if let Some([q1, q3]) = cell.quartiles {
        let middle = format!(", middle half {} to {}", number(q1), number(q3));
        all.push(Markup::with_text("small", &[], &middle));
    }
    let runs = cell.value.map_or(0, |value| value.runs);
    if runs < cell.wanted {
        all.push(Markup::with_text("small", &[], &format!(" {runs} of {} runs", cell.wanted)));
    }
    all
}

/// The median, with the least and the greatest value.
fn spread(value: Option<&Spread>) -> Markup {
    let Some(value) = value else { return Markup::text("–") };
    let mut all = Markup::text(&number(value.median));
    if value.min < value.max {
        let range = format!(" {} to {}", number(value.min), number(value.max));
        all.push(Markup::with_text("small", &[], &range));
    }
    all
}

fn points(sweep: &Sweep) -> Markup {
    let mut columns = vec![("Point".to_owned(), false)];
    columns.extend(sweep.metrics.iter().map(|name| {
        (Metric::parse(name).map_or_else(|_| name.clone(), |metric| metric_title(&metric, false)), true)
    }));
    columns.push(("runs".to_owned(), true));
    let rows = sweep.points.iter().map(|point| {
        let mut row = vec![Markup::text(&point.label)];
        row.extend(sweep.metrics.iter().map(|name| spread(point.metrics.get(name))));
        row.push(Markup::text(&format!("{} of {}", point.runs_in(State::Complete), point.runs.len())));
        row
    });
    named_table("Medians, from the least to the greatest of the complete runs", &columns, rows.collect())
}

fn runs(sweep: &Sweep) -> Markup {
    let columns = [
        words("Point"),
        figures("run"),
        words("State"),
        words("Checks"),
        figures("transactions/s"),
        words("Result"),
        words("Note"),
    ];
    let row = |label: &str, run: &Run| {
        let state = match run.state {
            State::Complete => pill("good", "complete"),
            State::Partial => pill("warn", "partial"),
            State::Failed => pill("bad", "failed"),
            State::Missing => pill("none", "missing"),
        };
        let checks = match (run.checks, run.checks_failed) {
            (0, _) => Markup::text("–"),
            (_, 0) => pill("good", "hold"),
            (all, failed) => pill("bad", &format!("{failed} of {all} fail")),
        };
        let file = match run.state {
            State::Complete | State::Partial => Markup::with_text("a", &[("href", &run.file)], &run.file),
            State::Failed | State::Missing => Markup::text("–"),
        };
        vec![
            Markup::text(label),
            Markup::text(&run.repetition.to_string()),
            state,
            checks,
            Markup::text(&number(run.values.get("tps").copied())),
            file,
            Markup::text(&run.note),
        ]
    };
    let rows: Vec<Vec<Markup>> =
        sweep.points.iter().flat_map(|point| point.runs.iter().map(|run| row(&point.label, run))).collect();
    let mut folded = Markup::with_text("summary", &[], &plural(rows.len() as u64, "run"));
    folded.push(table("", &columns, rows));
    Markup::element("details", &[("open", "")], folded)
}

fn setup(sweep: &Sweep) -> Markup {
    let text = |name: &str, value: &str| (name.to_owned(), Markup::text(value));
    let mut rows = vec![
        text("Experiment", &sweep.experiment),
        text("Repetitions", &sweep.repetitions.to_string()),
        text("Order", "all points once, then all again"),
        text("Database", &sweep.reload),
        text("Pause between runs", &duration(sweep.pause_s)),
        text("Digest", &sweep.digest),
    ];
    for axis in &sweep.axes {
        rows.push((format!("Axis {}", axis.name), Markup::text(&axis.values.join(", "))));
    }
    let mut tables = pairs("Experiment", rows);
    // Keys that are the same in all plans are listed once.
    let fixed: Vec<(String, Markup)> = sweep.points.first().map_or_else(Vec::new, |first| {
        let same = |key: &String, value: &String| {
            sweep.points.iter().all(|point| point.plan.get(key) == Some(value))
        };
        first
            .plan
            .iter()
            .filter(|(key, value)| same(key, value))
            .map(|(key, value)| text(key, value))
            .collect()
    });
    if !fixed.is_empty() {
        tables.push(pairs("In every plan", fixed));
    }
    let environment = &sweep.environment;
    let mut rows = Vec::new();
    for (name, values) in
        [("Machine", &environment.hosts), ("Database", &environment.targets), ("Lydite", &environment.lydite)]
    {
        rows.extend(values.iter().map(|value| text(name, value)));
    }
    if !rows.is_empty() {
        tables.push(pairs("Environment", rows));
    }
    Markup::element("div", &[("class", "columns")], tables)
}
