//! `[[figure]]`: what is drawn, checked against the axes before anything runs.

use super::grid::Axis;
use crate::source::{Entry, Source};
use lydite_database::AbortReason;
use lydite_report::metric::{BOXED, Metric};
use lydite_report::sweep::figure::{FigureSpec, Kind, SECOND, Scale, axis_title, metric_title};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

const KEYS: [&str; 12] = [
    "title",
    "note",
    "kind",
    "x",
    "series",
    "panel",
    "y",
    "x_title",
    "y_title",
    "x_scale",
    "relative_to",
    "where",
];

/// Reads all figures; without any, throughput over the axes, if there are few enough to draw.
pub(super) fn figures(source: &mut Source, document: &DeTable<'_>, axes: &[Axis]) -> Vec<FigureSpec> {
    let Some(entry) = source.entries(document).into_iter().find(|entry| entry.key == "figure") else {
        return usual(axes).into_iter().collect();
    };
    let DeValue::Array(tables) = entry.value else {
        source.wrong(entry.line, "figure", "must be a list of tables: [[figure]]");
        return Vec::new();
    };
    let mut all = Vec::new();
    for value in tables {
        let line = source.line_of(value.span().start);
        match value.get_ref() {
            DeValue::Table(table) => all.extend(figure(source, line, table, axes)),
            _ => source.wrong(line, "figure", "must be a table: [[figure]]"),
        }
    }
    all
}

/// Throughput by the first axis, lines or colours by the second, panels by the third.
fn usual(axes: &[Axis]) -> Option<FigureSpec> {
    let first = axes.first().filter(|_| axes.len() <= 3)?;
    let kind = if numeric(first) { Kind::Line } else { Kind::Bar };
    let name = |n: usize| axes.get(n).map(|axis| axis.name.clone());
    let y = Metric::parse("tps").ok()?;
    Some(FigureSpec {
        title: format!("Throughput by {}", axis_title(&first.name)),
        note: String::new(),
        kind,
        x: first.name.clone(),
        series: name(1),
        panel: name(2),
        y: vec!["tps".into()],
        x_title: axis_title(&first.name),
        y_titles: vec![metric_title(&y, false)],
        x_scale: if kind == Kind::Line { Scale::Linear } else { Scale::Even },
        relative_to: None,
        only: BTreeMap::new(),
    })
}

fn numeric(axis: &Axis) -> bool {
    axis.values.iter().all(|value| value.label.parse::<f64>().is_ok_and(f64::is_finite))
}

/// What is along the bottom.
#[derive(Clone, Copy)]
enum Along<'a> {
    Axis(&'a Axis),
    /// The seconds of each run.
    Seconds,
}

impl Along<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Axis(axis) => &axis.name,
            Self::Seconds => SECOND,
        }
    }

    fn numeric(&self) -> bool {
        match self {
            Self::Axis(axis) => numeric(axis),
            Self::Seconds => true,
        }
    }

    /// Whether it has a place on a logarithmic scale; the first second is 0.
    fn positive(&self) -> bool {
        match self {
            Self::Axis(axis) => {
                axis.values.iter().all(|value| value.label.parse::<f64>().is_ok_and(|number| number > 0.0))
            }
            Self::Seconds => false,
        }
    }

    fn title(&self) -> String {
        match self {
            Self::Axis(axis) => axis_title(&axis.name),
            Self::Seconds => "second of the window".into(),
        }
    }
}

/// The place of `x`: an axis, or the seconds if no axis has their name.
fn along<'a>(source: &mut Source, entry: &Entry<'_, '_>, axes: &'a [Axis]) -> Option<Along<'a>> {
    let name = source.scalar(entry)?;
    match axes.iter().find(|axis| axis.name == name) {
        Some(axis) => Some(Along::Axis(axis)),
        None if name == SECOND => Some(Along::Seconds),
        None => {
            let problem = format!(
                "{name:?} is no axis: use one of {}, or {SECOND} for what happened while a run lasted",
                names(axes)
            );
            source.wrong(entry.line, &entry.key, &problem);
            None
        }
    }
}

/// What a figure over time can't be.
fn over_time(source: &mut Source, kind: Kind, metrics: &[Metric], entries: &[Entry<'_, '_>], line: usize) {
    let line_of = |key: &str| entries.iter().find(|entry| entry.key == key).map_or(line, |entry| entry.line);
    if kind != Kind::Line {
        source.wrong(line_of("kind"), "kind", "must be line where x is the seconds of the runs");
    }
    if entries.iter().any(|entry| entry.key == "relative_to") {
        source.wrong(
            line_of("relative_to"),
            "relative_to",
            "is nothing for a figure over time: leave it out",
        );
    }
    for metric in metrics.iter().filter(|metric| !metric.has_seconds()) {
        let problem = format!(
            "{:?} is known of whole runs only: use tps, tps.TYPE, or the path of a list as controls.contention.per_second",
            metric.name()
        );
        source.wrong(line_of("y"), "y", &problem);
    }
}

fn figure(source: &mut Source, line: usize, table: &DeTable<'_>, axes: &[Axis]) -> Option<FigureSpec> {
    let errors = source.errors.len();
    let entries = source.entries(table);
    for entry in entries.iter().filter(|entry| !KEYS.contains(&entry.key.as_str())) {
        source.not_known(entry.line, &entry.key, &entry.key, &KEYS);
    }
    let entry = |key: &str| entries.iter().find(|entry| entry.key == key);
    let mut text = |key: &str| entry(key).and_then(|entry| source.scalar(entry));
    let (title, note) = (text("title"), text("note").unwrap_or_default());
    let (kind, x_scale, x_title) = (text("kind"), text("x_scale"), text("x_title"));
    if title.is_none() {
        source.wrong(line, "figure", "needs a title");
    }
    let mut axis = |key: &str| -> Option<&Axis> {
        let entry = entry(key)?;
        let name = source.scalar(entry)?;
        known_axis(source, entry, &name, axes)
    };
    let (series, panel) = (axis("series"), axis("panel"));
    let x = entry("x").and_then(|entry| along(source, entry, axes));
    if entry("x").is_none() {
        source.wrong(line, "figure", &format!("needs x, the axis along the bottom: one of {}", names(axes)));
    }
    let metrics = metrics(source, entry("y"));
    let x = x?;
    for (key, other) in [("series", series), ("panel", panel)] {
        let twice = other.is_some_and(|other| {
            other.name == x.name()
                || (key == "panel" && series.is_some_and(|series| series.name == other.name))
        });
        if let Some(entry) = entry(key).filter(|_| twice) {
            source.wrong(
                entry.line,
                key,
                "is an axis that the figure uses already: name another, or leave it out",
            );
        }
    }
    let only = only(source, entry("where"), axes);
    let relative_to = relative_to(source, entry("relative_to"), axes);
    for open in axes.iter().filter(|axis| {
        let along = matches!(x, Along::Axis(x) if x.name == axis.name);
        let placed = along || [series, panel].into_iter().flatten().any(|placed| placed.name == axis.name);
        !placed && axis.values.len() > 1 && only.get(&axis.name).is_none_or(|values| values.len() != 1)
    }) {
        let example = open.values.first().map_or("", |value| value.label.as_str());
        source.wrong(
            line,
            "figure",
            &format!(
                "leaves axis {0} open: name it as series or panel, or choose one value with where = {{ {0} = {example:?} }}",
                open.name
            ),
        );
    }
    let kind = match (kind.as_deref(), entry("kind")) {
        (Some("line"), _) => Kind::Line,
        (Some("bar"), _) => Kind::Bar,
        (Some("boxplot"), _) => Kind::Boxplot,
        (Some("table"), _) => Kind::Table,
        (Some(other), Some(entry)) => {
            source.wrong(
                entry.line,
                "kind",
                &format!("{other:?} is not known: use line, bar, boxplot or table"),
            );
            Kind::Bar
        }
        _ if x.numeric() => Kind::Line,
        _ => Kind::Bar,
    };
    if matches!(x, Along::Seconds) {
        over_time(source, kind, &metrics, &entries, line);
    }
    let y_line = entry("y").map_or(line, |entry| entry.line);
    for metric in metrics.iter().filter(|metric| metric.is_boxed() != (kind == Kind::Boxplot)) {
        let problem = if kind == Kind::Boxplot {
            format!(
                "{:?} is one number, and a box plot shows those of all nodes: use {}",
                metric.name(),
                BOXED.join(" or ")
            )
        } else {
            format!("{0:?} is a number of each node: use kind = \"boxplot\", or {0}.median", metric.name())
        };
        source.wrong(y_line, "y", &problem);
    }
    if let Some(entry) = entry("relative_to").filter(|_| kind == Kind::Boxplot) {
        source.wrong(entry.line, "relative_to", "is nothing for a box plot: leave it out");
    }
    let x_scale = match (x_scale.as_deref(), entry("x_scale")) {
        (Some("even"), _) => Scale::Even,
        (Some("linear"), _) if x.numeric() => Scale::Linear,
        (Some("log"), _) if x.positive() => Scale::Log,
        (Some(known @ ("linear" | "log")), Some(entry)) => {
            let what = if known == "log" { "numbers above 0" } else { "numbers" };
            source.wrong(
                entry.line,
                "x_scale",
                &format!("{known:?} needs {what}, and {} has others", x.name()),
            );
            Scale::Even
        }
        (Some(other), Some(entry)) => {
            source.wrong(entry.line, "x_scale", &format!("{other:?} is not known: use linear, log or even"));
            Scale::Even
        }
        _ if kind == Kind::Line && x.numeric() => Scale::Linear,
        _ => Scale::Even,
    };
    let y_titles = match entry("y_title") {
        None => metrics.iter().map(|metric| metric_title(metric, relative_to.is_some())).collect(),
        Some(entry) => {
            let titles = source.scalars(entry).unwrap_or_default();
            if titles.len() != metrics.len() && !metrics.is_empty() {
                source.wrong(
                    entry.line,
                    "y_title",
                    &format!("must be as many as y has metrics, {}", metrics.len()),
                );
            }
            titles
        }
    };
    let spec = FigureSpec {
        title: title?,
        note,
        kind,
        x: x.name().to_owned(),
        series: series.map(|axis| axis.name.clone()),
        panel: panel.map(|axis| axis.name.clone()),
        y: metrics.iter().map(|metric| metric.name().to_owned()).collect(),
        x_title: x_title.unwrap_or_else(|| x.title()),
        y_titles,
        x_scale,
        relative_to,
        only,
    };
    (source.errors.len() == errors).then_some(spec)
}

fn names(axes: &[Axis]) -> String {
    let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    if names.is_empty() { "none: the experiment varies nothing".into() } else { names.join(", ") }
}

fn known_axis<'a>(
    source: &mut Source,
    entry: &Entry<'_, '_>,
    name: &str,
    axes: &'a [Axis],
) -> Option<&'a Axis> {
    let found = axes.iter().find(|axis| axis.name == name);
    if found.is_none() {
        source.wrong(entry.line, &entry.key, &format!("{name:?} is no axis: use one of {}", names(axes)));
    }
    found
}

fn metrics(source: &mut Source, entry: Option<&Entry<'_, '_>>) -> Vec<Metric> {
    let (names, line) = match entry {
        None => (vec!["tps".to_owned()], 0),
        Some(entry) => (source.scalars(entry).unwrap_or_default(), entry.line),
    };
    let mut all = Vec::new();
    for name in names {
        match Metric::parse(&name) {
            Ok(metric) => {
                if let Some(reason) = metric.abort_reason()
                    && !AbortReason::ALL.iter().any(|known| known.name() == reason)
                {
                    let known: Vec<&str> = AbortReason::ALL.iter().map(|reason| reason.name()).collect();
                    source.wrong(
                        line,
                        "y",
                        &format!("{name:?} names no reason of aborts: use {}", known.join(", ")),
                    );
                }
                all.push(metric);
            }
            Err(problem) => source.wrong(line, "y", &format!("{name:?} {problem}")),
        }
    }
    all
}

/// The values that a table chooses of each axis.
fn choices(source: &mut Source, entry: &Entry<'_, '_>, axes: &[Axis]) -> BTreeMap<String, Vec<String>> {
    let DeValue::Table(table) = entry.value else {
        source.wrong(entry.line, &entry.key, &format!("must be a table: {} = {{ AXIS = VALUE }}", entry.key));
        return BTreeMap::new();
    };
    let mut all = BTreeMap::new();
    for leaf in source.leaves(table) {
        let Some(axis) = known_axis(source, entry, &leaf.key, axes) else { continue };
        let values = source.scalars(&leaf).unwrap_or_default();
        for value in &values {
            if !axis.values.iter().any(|known| known.label == *value) {
                let known: Vec<&str> = axis.values.iter().map(|value| value.label.as_str()).collect();
                source.wrong(
                    leaf.line,
                    &entry.key,
                    &format!("{} has no value {value:?}: it has {}", axis.name, known.join(", ")),
                );
            }
        }
        all.insert(axis.name.clone(), values);
    }
    all
}

fn only(source: &mut Source, entry: Option<&Entry<'_, '_>>, axes: &[Axis]) -> BTreeMap<String, Vec<String>> {
    entry.map(|entry| choices(source, entry, axes)).unwrap_or_default()
}

fn relative_to(
    source: &mut Source,
    entry: Option<&Entry<'_, '_>>,
    axes: &[Axis],
) -> Option<(String, String)> {
    let entry = entry?;
    let errors = source.errors.len();
    let mut chosen: Vec<(String, Vec<String>)> = choices(source, entry, axes).into_iter().collect();
    match (chosen.pop(), chosen.is_empty()) {
        (Some((axis, mut values)), true) if values.len() == 1 => Some((axis, values.remove(0))),
        _ => {
            if source.errors.len() == errors {
                source.wrong(entry.line, "relative_to", "must name one value of one axis: { AXIS = VALUE }");
            }
            None
        }
    }
}
