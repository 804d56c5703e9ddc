//! `[[figure]]` of an experiment: reads the figures and checks them against the axes before anything runs.

use crate::grid::{self, Axis};
use lydite_database::AbortReason;
use lydite_plan::source::{Entry, Source};
use lydite_report::metric::{BOXED, Metric};
use lydite_report::sweep::claim::{Claim, Condition};
use lydite_report::sweep::figure::{FigureSpec, Kind, POSITION, SECOND, Scale, axis_title, metric_title};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

const KEYS: [&str; 14] = [
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
    "claim",
    "supports",
];

/// Reads all figures. Without `[[figure]]`, returns throughput over the axes, if there are at most three.
pub(crate) fn read(source: &mut Source, document: &DeTable<'_>, axes: &[Axis]) -> Vec<FigureSpec> {
    let Some(entry) = source.entries(document).into_iter().find(|entry| entry.key == "figure") else {
        return default_figure(axes).into_iter().collect();
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

/// Returns throughput by the first axis, with a line or colour for each value of the second and a panel for each value
/// of the third.
fn default_figure(axes: &[Axis]) -> Option<FigureSpec> {
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
        claim: None,
    })
}

/// Returns true if all values of an axis are numbers.
fn numeric(axis: &Axis) -> bool {
    axis.values.iter().all(|value| value.label.parse::<f64>().is_ok_and(f64::is_finite))
}

/// The values along the bottom of a figure.
#[derive(Clone, Copy)]
enum X<'a> {
    Axis(&'a Axis),
    /// The seconds of each run.
    Seconds,
    /// The places of a list in each run's result.
    Positions,
}

impl X<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Axis(axis) => &axis.name,
            Self::Seconds => SECOND,
            Self::Positions => POSITION,
        }
    }

    fn numeric(&self) -> bool {
        match self {
            Self::Axis(axis) => numeric(axis),
            Self::Seconds | Self::Positions => true,
        }
    }

    /// Returns true if all values fit on a logarithmic scale. Seconds don't: the first one is 0.
    fn positive(&self) -> bool {
        match self {
            Self::Axis(axis) => {
                axis.values.iter().all(|value| value.label.parse::<f64>().is_ok_and(|number| number > 0.0))
            }
            Self::Seconds => false,
            Self::Positions => true,
        }
    }

    fn title(&self) -> String {
        match self {
            Self::Axis(axis) => axis_title(&axis.name),
            Self::Seconds => "second of the window".into(),
            Self::Positions => "place in the list".into(),
        }
    }
}

/// Reads `x`: an axis, or the seconds if no axis has that name.
fn x_values<'a>(source: &mut Source, entry: &Entry<'_, '_>, axes: &'a [Axis]) -> Option<X<'a>> {
    let name = source.scalar(entry)?;
    match axes.iter().find(|axis| axis.name == name) {
        Some(axis) => Some(X::Axis(axis)),
        None if name == SECOND => Some(X::Seconds),
        None if name == POSITION => Some(X::Positions),
        None => {
            let problem = format!(
                "{name:?} is no axis: use one of {}, {SECOND} for what happened while a run lasted, or {POSITION} for \
                 the places of a list",
                names(axes)
            );
            source.wrong(entry.line, &entry.key, &problem);
            None
        }
    }
}

/// A value of a figure's table, with its line.
type Text = Option<(String, usize)>;

/// Reads one figure. Returns `None` if anything in it is wrong.
fn figure(source: &mut Source, line: usize, table: &DeTable<'_>, axes: &[Axis]) -> Option<FigureSpec> {
    let errors_before = source.errors.len();
    let entries = source.entries(table);
    for entry in entries.iter().filter(|entry| !KEYS.contains(&entry.key.as_str())) {
        source.not_known(entry.line, &entry.key, &entry.key, &KEYS);
    }
    let entry = |key: &str| entries.iter().find(|entry| entry.key == key);
    let mut text =
        |key: &str| -> Text { entry(key).and_then(|entry| Some((source.scalar(entry)?, entry.line))) };
    let (title, note, x_title) = (text("title"), text("note"), text("x_title"));
    let (kind, x_scale) = (text("kind"), text("x_scale"));
    if title.is_none() {
        source.wrong(line, "figure", "needs a title");
    }
    let mut axis = |key: &str| -> Option<&Axis> {
        let entry = entry(key)?;
        let name = source.scalar(entry)?;
        known_axis(source, entry, &name, axes)
    };
    let (series, panel) = (axis("series"), axis("panel"));
    let x = entry("x").and_then(|entry| x_values(source, entry, axes));
    if entry("x").is_none() {
        source.wrong(line, "figure", &format!("needs x, the axis along the bottom: one of {}", names(axes)));
    }
    let metrics = metrics(source, entry("y"));
    let layout = Layout { x: x?, series, panel };
    layout.reject_repeated_axes(source, entry("series"), entry("panel"));
    let only = only(source, entry("where"), axes);
    let relative_to = relative_to(source, entry("relative_to"), axes);
    layout.reject_open_axes(source, line, axes, &only);
    let kind = figure_kind(source, kind, layout.x);
    let y_line = entry("y").map_or(line, |entry| entry.line);
    match layout.x {
        X::Axis(_) => reject_metrics_of_other_kinds(source, kind, &metrics, y_line),
        X::Seconds => {
            reject_over_time(source, kind, &metrics, &entries, line);
            reject_metrics_of_other_kinds(source, kind, &metrics, y_line);
        }
        X::Positions => reject_over_places(source, kind, &metrics, &entries, line),
    }
    let y: Vec<String> = metrics.iter().map(|metric| metric.name().to_owned()).collect();
    if kind == Kind::Scatter && metrics.len() != 2 {
        source.wrong(y_line, "y", "must be two metrics in a scatter plot: first the one along the bottom");
    }
    if let Some(entry) = entry("relative_to").filter(|_| kind == Kind::Boxplot) {
        source.wrong(entry.line, "relative_to", "can't be used in a box plot: leave it out");
    }
    let x_scale = scale(source, x_scale, layout.x, kind);
    let y_titles = match entry("y_title") {
        None => metrics.iter().map(|metric| metric_title(metric, relative_to.is_some())).collect(),
        Some(entry) => given_y_titles(source, entry, &metrics),
    };
    let mut spec = FigureSpec {
        title: title?.0,
        note: note.map_or_else(String::new, |(note, _)| note),
        kind,
        x: layout.x.name().to_owned(),
        series: series.map(|axis| axis.name.clone()),
        panel: panel.map(|axis| axis.name.clone()),
        y,
        x_title: x_title.map_or_else(|| layout.x.title(), |(title, _)| title),
        y_titles,
        x_scale,
        relative_to,
        only,
        claim: None,
    };
    spec.claim = claim(source, line, (entry("claim"), entry("supports")), &spec, axes);
    (source.errors.len() == errors_before).then_some(spec)
}

/// The axes that a figure uses.
struct Layout<'a> {
    x: X<'a>,
    series: Option<&'a Axis>,
    panel: Option<&'a Axis>,
}

impl Layout<'_> {
    /// Rejects an axis that has two places in the figure.
    fn reject_repeated_axes(
        &self,
        source: &mut Source,
        series: Option<&Entry<'_, '_>>,
        panel: Option<&Entry<'_, '_>>,
    ) {
        let is_x = |axis: &Axis| axis.name == self.x.name();
        let is_series = |axis: &Axis| self.series.is_some_and(|series| series.name == axis.name);
        for (key, entry, repeated) in [
            ("series", series, self.series.is_some_and(is_x)),
            ("panel", panel, self.panel.is_some_and(|panel| is_x(panel) || is_series(panel))),
        ] {
            if let Some(entry) = entry.filter(|_| repeated) {
                source.wrong(
                    entry.line,
                    key,
                    "is an axis that the figure uses already: name another, or leave it out",
                );
            }
        }
    }

    /// Rejects axes of several values that have neither a place in the figure nor a chosen value.
    fn reject_open_axes(
        &self,
        source: &mut Source,
        line: usize,
        axes: &[Axis],
        only: &BTreeMap<String, Vec<String>>,
    ) {
        let is_open = |axis: &&Axis| {
            let along = matches!(self.x, X::Axis(x) if x.name == axis.name);
            let placed = along
                || [self.series, self.panel].into_iter().flatten().any(|placed| placed.name == axis.name);
            let chosen = only.get(&axis.name).is_some_and(|values| values.len() == 1);
            !placed && axis.values.len() > 1 && !chosen
        };
        for open in axes.iter().filter(is_open) {
            let example = open.values.first().map_or("", |value| value.label.as_str());
            source.wrong(
                line,
                "figure",
                &format!(
                    "leaves axis {0} open: name it as series or panel, or choose one value with \
                     where = {{ {0} = {example:?} }}",
                    open.name
                ),
            );
        }
    }
}

/// Rejects everything that a figure over time can't have.
fn reject_over_time(
    source: &mut Source,
    kind: Kind,
    metrics: &[Metric],
    entries: &[Entry<'_, '_>],
    line: usize,
) {
    let line_of = |key: &str| entries.iter().find(|entry| entry.key == key).map_or(line, |entry| entry.line);
    if kind != Kind::Line {
        source.wrong(line_of("kind"), "kind", "must be line where x is the seconds of the runs");
    }
    if entries.iter().any(|entry| entry.key == "relative_to") {
        source.wrong(
            line_of("relative_to"),
            "relative_to",
            "can't be used in a figure over time: leave it out",
        );
    }
    for metric in metrics.iter().filter(|metric| !metric.has_seconds()) {
        let problem = format!(
            "{:?} exists for whole runs only: use tps, tps.TYPE, or the path of a list as \
             controls.contention.per_second",
            metric.name()
        );
        source.wrong(line_of("y"), "y", &problem);
    }
}

/// Rejects everything that a figure over the places of a list can't have.
fn reject_over_places(
    source: &mut Source,
    kind: Kind,
    metrics: &[Metric],
    entries: &[Entry<'_, '_>],
    line: usize,
) {
    let line_of = |key: &str| entries.iter().find(|entry| entry.key == key).map_or(line, |entry| entry.line);
    if !matches!(kind, Kind::Line | Kind::Bar | Kind::Table) {
        source.wrong(line_of("kind"), "kind", "must be line, bar or table where x is the places of a list");
    }
    if entries.iter().any(|entry| entry.key == "relative_to") {
        let problem = "can't be used in a figure over the places of a list: leave it out";
        source.wrong(line_of("relative_to"), "relative_to", problem);
    }
    for metric in metrics.iter().filter(|metric| !metric.has_places()) {
        let problem = format!(
            "{:?} is no list: use {}, or the path of a list as controls.distribution.actual.percent_by_nodes",
            metric.name(),
            BOXED.join(", ")
        );
        source.wrong(line_of("y"), "y", &problem);
    }
}

/// Reads `claim` and `supports`: a sentence, and the conditions that support it.
fn claim(
    source: &mut Source,
    line: usize,
    (text, supports): (Option<&Entry<'_, '_>>, Option<&Entry<'_, '_>>),
    spec: &FigureSpec,
    axes: &[Axis],
) -> Option<Claim> {
    let (text, supports) = match (text, supports) {
        (None, None) => return None,
        (Some(text), Some(supports)) => (text, supports),
        (Some(only), None) | (None, Some(only)) => {
            let problem =
                "needs the other of claim and supports: a sentence, and the conditions that support it";
            source.wrong(only.line.max(line), &only.key, problem);
            return None;
        }
    };
    let conditions = source.scalars(supports).unwrap_or_default();
    let axes = grid::names(axes);
    for condition in &conditions {
        if let Err(problem) = Condition::parse(condition, spec, &axes) {
            source.wrong(supports.line, "supports", &problem);
        }
    }
    Some(Claim { text: source.scalar(text)?, supports: conditions })
}

/// Rejects single numbers in a box plot, and numbers of each node in any other figure.
fn reject_metrics_of_other_kinds(source: &mut Source, kind: Kind, metrics: &[Metric], line: usize) {
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
        source.wrong(line, "y", &problem);
    }
}

/// Returns the kind of a figure: by default lines over numbers, and bars over names.
fn figure_kind(source: &mut Source, given: Text, x: X<'_>) -> Kind {
    let Some((kind, line)) = given else {
        let line = x.numeric() && !matches!(x, X::Positions);
        return if line { Kind::Line } else { Kind::Bar };
    };
    match kind.as_str() {
        "line" => Kind::Line,
        "bar" => Kind::Bar,
        "boxplot" => Kind::Boxplot,
        "scatter" => Kind::Scatter,
        "table" => Kind::Table,
        _ => {
            source.wrong(
                line,
                "kind",
                &format!("{kind:?} is not known: use line, bar, boxplot, scatter or table"),
            );
            Kind::Bar
        }
    }
}

/// Returns the scale along the bottom: by default linear for lines over numbers, and even for all other figures.
fn scale(source: &mut Source, given: Text, x: X<'_>, kind: Kind) -> Scale {
    let Some((scale, line)) = given else {
        return if kind == Kind::Line && x.numeric() { Scale::Linear } else { Scale::Even };
    };
    match scale.as_str() {
        "even" => return Scale::Even,
        "linear" if x.numeric() => return Scale::Linear,
        "log" if x.positive() => return Scale::Log,
        "linear" | "log" => {
            let needed = if scale == "log" { "numbers above 0" } else { "numbers" };
            let problem = format!("{scale:?} needs {needed}, and {} has others", x.name());
            source.wrong(line, "x_scale", &problem);
        }
        _ => source.wrong(line, "x_scale", &format!("{scale:?} is not known: use linear, log or even")),
    }
    Scale::Even
}

/// Reads `y_title`, which has a title for each metric.
fn given_y_titles(source: &mut Source, entry: &Entry<'_, '_>, metrics: &[Metric]) -> Vec<String> {
    let titles = source.scalars(entry).unwrap_or_default();
    if titles.len() != metrics.len() && !metrics.is_empty() {
        let problem = format!("must be as many as y has metrics, {}", metrics.len());
        source.wrong(entry.line, "y_title", &problem);
    }
    titles
}

/// Lists the names of all axes, for messages.
fn names(axes: &[Axis]) -> String {
    let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    if names.is_empty() { "none: the experiment varies nothing".into() } else { names.join(", ") }
}

/// Finds an axis by its name, and reports an unknown one.
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

/// Reads the metrics of `y`: by default throughput.
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
                        &format!("{name:?} is not an abort reason: use {}", known.join(", ")),
                    );
                }
                all.push(metric);
            }
            Err(problem) => source.wrong(line, "y", &format!("{name:?} {problem}")),
        }
    }
    all
}

/// Reads a table of axes and their chosen values.
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

/// Reads `where`.
fn only(source: &mut Source, entry: Option<&Entry<'_, '_>>, axes: &[Axis]) -> BTreeMap<String, Vec<String>> {
    entry.map(|entry| choices(source, entry, axes)).unwrap_or_default()
}

/// Reads `relative_to`: an axis and one of its values.
fn relative_to(
    source: &mut Source,
    entry: Option<&Entry<'_, '_>>,
    axes: &[Axis],
) -> Option<(String, String)> {
    let entry = entry?;
    let errors_before = source.errors.len();
    let mut chosen: Vec<(String, Vec<String>)> = choices(source, entry, axes).into_iter().collect();
    match (chosen.pop(), chosen.is_empty()) {
        (Some((axis, mut values)), true) if values.len() == 1 => Some((axis, values.remove(0))),
        _ => {
            if source.errors.len() == errors_before {
                source.wrong(entry.line, "relative_to", "must name one value of one axis: { AXIS = VALUE }");
            }
            None
        }
    }
}
