//! Reads an experiment file and validates all of it before anything runs or is written.

use crate::beside::{self, AFTER, BEFORE, SERVER};
use crate::command::COMMAND_LIMIT;
use crate::figures;
use crate::grid::{self, Axis};
use crate::point::{self, Point};
use lydite_console::exit::Failure;
use lydite_observe::SourceSpec;
use lydite_plan::data::Data;
use lydite_plan::other_file;
use lydite_plan::source::{Entry, Source};
use lydite_plan::values::{time, whole};
use lydite_report::metric::Metric;
use lydite_report::sweep::USUAL_METRICS;
use lydite_report::sweep::figure::FigureSpec;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::de::DeTable;
use xxhash_rust::xxh3::xxh3_64;

const KEYS: [&str; 13] = [
    "title",
    "description",
    "repetitions",
    "reload",
    "pause",
    SERVER,
    BEFORE,
    AFTER,
    COMMAND_TIMEOUT,
    "plan",
    "axes",
    "point",
    "figure",
];
/// The key of the longest time of a command before or after a run.
pub(crate) const COMMAND_TIMEOUT: &str = "command_timeout";
/// Maximum number of runs of each point. A larger number is a mistake.
const MAX_REPETITIONS: u32 = 1_000;

/// The origin of the database of each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reload {
    /// Each run loads it again.
    EachRun,
    /// The first run loads it, and all others use it as the run before left it.
    Once,
    /// The first run loads it and keeps a copy; all others begin with the copy.
    Restore,
}

impl Reload {
    /// Returns the value of `reload` in the file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::EachRun => "each-run",
            Self::Once => "once",
            Self::Restore => "restore",
        }
    }

    /// Returns the policy in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::EachRun => "loaded anew for each run",
            Self::Once => "loaded once and used by all runs, which find what those before them left",
            Self::Restore => "loaded once and restored from a template for each run",
        }
    }
}

/// Settings of the user beside those of the experiment's file.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Path of the file.
    pub experiment: PathBuf,
    /// Directory of results, summary and page; `None` for the experiment's name, in the current directory.
    pub out: Option<PathBuf>,
    /// Settings as `KEY=VALUE` for all plans, or as `AXIS=LABEL,LABEL`.
    pub set: Vec<String>,
    /// Runs of each point, as the user wrote it; `None` for the file's value.
    pub repetitions: Option<String>,
    /// Origin of each run's database, as the user wrote it; `None` for the file's value.
    pub reload: Option<String>,
    /// True to delete the results that the directory holds first.
    pub fresh: bool,
}

impl Options {
    /// Returns the directory of the sweep.
    #[must_use]
    pub fn out(&self) -> PathBuf {
        let name = || PathBuf::from(self.experiment.file_stem().unwrap_or(self.experiment.as_os_str()));
        self.out.clone().unwrap_or_else(name)
    }
}

/// A validated experiment: the points to run and the figures to draw.
pub struct Experiment {
    /// The path of its file, as the user typed it.
    pub(crate) file: String,
    /// The file name alone, for files that others may read.
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) repetitions: u32,
    pub(crate) reload: Reload,
    pub(crate) pause: Duration,
    /// Longest time of a command before or after a run.
    pub(crate) command_limit: Duration,
    pub(crate) axes: Vec<Axis>,
    pub(crate) points: Vec<Point>,
    pub(crate) figures: Vec<FigureSpec>,
    /// The metrics of each run and point: the usual ones, and those of the figures.
    pub(crate) metrics: Vec<Metric>,
    /// The metrics that figures show over time.
    pub(crate) by_second: Vec<Metric>,
}

impl Experiment {
    /// Reads the file and the options that override it.
    ///
    /// # Errors
    /// Everything that is wrong, one line each.
    pub fn read(options: &Options) -> Result<Self, Failure> {
        let (mut source, text) =
            Source::read(&options.experiment, "the chapters Sweeps and Running of the book").map_err(
                |error| Failure::usage(not_utf_8(&options.experiment).unwrap_or(error.to_string())),
            )?;
        let document = DeTable::parse(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| source.line_of(span.start));
            let wrong = || format!("{}, line {line}: {}", source.file(), error.message().replace('\n', " "));
            Failure::usage(other_file(text.as_bytes(), &options.experiment).unwrap_or_else(wrong))
        })?;
        let document = document.get_ref();
        if document.is_empty() {
            let file = source.file();
            return Err(Failure::usage(format!(
                "{file} has no key: write [plan], and [axes] or [[point]] tables"
            )));
        }
        let entries = source.entries(document);
        reject_unknown_keys(&mut source, &entries);
        let entry = |key: &str| entries.iter().find(|entry| entry.key == key);
        let mut text = |key: &str| -> Option<(String, usize)> {
            let entry = entry(key)?;
            Some((source.scalar(entry)?, entry.line))
        };
        let (title, description) = (text("title"), text("description"));
        let (repetitions, reload, pause) = (text("repetitions"), text("reload"), text("pause"));
        let command_limit = text(COMMAND_TIMEOUT);
        let repetitions = read_repetitions(&mut source, Given::new(&options.repetitions, repetitions));
        let reload = read_reload(&mut source, Given::new(&options.reload, reload));
        let pause = read_time(&mut source, "pause", pause);
        let command_limit = command_limit.and_then(|given| {
            let line = given.1;
            let limit = read_time(&mut source, COMMAND_TIMEOUT, Some(given))?;
            if limit.is_zero() {
                source.wrong(line, COMMAND_TIMEOUT, "must be more than zero, for example 30m");
            }
            Some(limit)
        });
        let mut plan = grid::plan(&mut source, document);
        let axes = grid::axes(&mut source, document);
        grid::reject_fixed_axes(&mut source, &plan, &axes);
        let chosen = grid::override_plan(&mut source, &mut plan, &axes, &options.set);
        let varied = axes.iter().flat_map(|axis| &axis.values).flat_map(|value| &value.settings);
        beside::check(&mut source, plan.iter().chain(varied));
        // Combinations of wrong values would only repeat their errors.
        let points =
            if source.errors.is_empty() { point::points(&mut source, &plan, &chosen) } else { Vec::new() };
        let figures = figures::read(&mut source, document, &axes);
        let reload = safe_reload(&mut source, reload, &points);
        let file = source.file().to_owned();
        if !source.errors.is_empty() {
            return Err(Failure::Usage(source.into_errors()));
        }
        let (metrics, by_second) = metrics_of(&file, &figures, &axes)?;
        if let Some(metric) = metrics.iter().find(|metric| unobserved(metric, &points)) {
            return Err(Failure::usage(format!(
                "{file}: {} needs a source that no run observes: add it to observe in [plan]",
                metric.name()
            )));
        }
        let lossy = |part: &OsStr| part.to_string_lossy().into_owned();
        let stem = options.experiment.file_stem().map(lossy);
        Ok(Self {
            name: options.experiment.file_name().map_or_else(|| file.clone(), lossy),
            file,
            title: title.map(|(title, _)| title).or(stem).unwrap_or_default(),
            description: description.map(|(text, _)| text).unwrap_or_default(),
            repetitions: repetitions.unwrap_or(1),
            reload,
            pause: pause.unwrap_or_default(),
            command_limit: command_limit.unwrap_or(COMMAND_LIMIT),
            axes: chosen,
            points,
            figures,
            metrics,
            by_second,
        })
    }

    /// Returns a digest of the points and of how they are run. It does not depend on titles and figures.
    pub(crate) fn digest(&self) -> String {
        let mut written = format!("reload={}\npause={}\n", self.reload.name(), self.pause.as_secs_f64());
        for point in &self.points {
            written.push_str(&point.digest);
            written.push('\n');
        }
        format!("{:016x}", xxh3_64(written.as_bytes()))
    }

    /// Returns the keys of the plan that all points share, with their values.
    pub(crate) fn common(&self) -> BTreeMap<&str, &str> {
        let Some(first) = self.points.first() else { return BTreeMap::new() };
        let all = |key: &String, value: &String| {
            self.points.iter().all(|point| point.shown.get(key) == Some(value))
        };
        first
            .shown
            .iter()
            .filter(|(key, value)| all(key, value))
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect()
    }
}

/// Returns the error about a file of another program or a document that is no UTF-8; none for other files. A stream can't
/// be read again.
fn not_utf_8(path: &Path) -> Option<String> {
    let bytes = path.is_file().then(|| fs::read(path).ok())??;
    other_file(&bytes, path)
}

/// Returns true for an observed value whose source no point observes.
fn unobserved(metric: &Metric, points: &[Point]) -> bool {
    let Some(of) = metric.observed() else { return false };
    let has = |source: &SourceSpec| {
        // A dot follows the source, or after `db` the address of a further server.
        let rest = of.strip_prefix(source.name().as_str());
        rest.is_some_and(|rest| {
            rest.starts_with('.') || (*source == SourceSpec::Database && rest.starts_with(':'))
        })
    };
    !points.iter().any(|point| point.plan.observe.sources.iter().any(has))
}

/// A value that the file or a flag gives.
struct Given {
    text: String,
    /// The line of the file; `None` for a flag.
    line: Option<usize>,
}

impl Given {
    /// Returns the flag's value, else the file's.
    fn new(flag: &Option<String>, file: Option<(String, usize)>) -> Option<Self> {
        match flag {
            Some(text) => Some(Self { text: text.clone(), line: None }),
            None => file.map(|(text, line)| Self { text, line: Some(line) }),
        }
    }
}

fn reject_unknown_keys(source: &mut Source, entries: &[Entry<'_, '_>]) {
    for entry in entries.iter().filter(|entry| !KEYS.contains(&entry.key.as_str())) {
        let problem = match entry.key.as_str() {
            "phase" => {
                "has no tables in an experiment: write lists or curves in [plan], as ci = \"10,40,50\"".into()
            }
            key => {
                let problem = source.names.not_known(key, &KEYS);
                let between = if problem.ends_with('?') { "" } else { ";" };
                format!("{problem}{between} keys of the plan go below [plan]")
            }
        };
        source.wrong(entry.line, &entry.key, &problem);
    }
}

fn read_repetitions(source: &mut Source, given: Option<Given>) -> Option<u32> {
    let Given { text, line } = given?;
    whole(text.trim(), 1, MAX_REPETITIONS)
        .map_err(|problem| {
            source.wrong_by("--repetitions", line, "repetitions", &format!("{text:?} {problem}"))
        })
        .ok()
}

/// Reads a time of the file.
fn read_time(source: &mut Source, key: &str, given: Option<(String, usize)>) -> Option<Duration> {
    let (text, line) = given?;
    time(text.trim()).map_err(|problem| source.wrong(line, key, &format!("{text:?} {problem}"))).ok()
}

/// Reads the reload policy, with its line in the file.
fn read_reload(source: &mut Source, given: Option<Given>) -> Option<(Reload, Option<usize>)> {
    let Given { text, line } = given?;
    let reload =
        [Reload::EachRun, Reload::Once, Reload::Restore].into_iter().find(|reload| reload.name() == text);
    if reload.is_none() {
        let problem = format!("{text:?} is not known: use each-run, restore or once");
        source.wrong_by("--reload", line, "reload", &problem);
    }
    Some((reload?, line))
}

/// Returns the metrics of whole runs, the usual ones first, and the metrics of each second.
fn metrics_of(
    file: &str,
    figures: &[FigureSpec],
    axes: &[Axis],
) -> Result<(Vec<Metric>, Vec<Metric>), Failure> {
    let parse = |name: &str| {
        Metric::parse(name).map_err(|problem| Failure::usage(format!("{file}: {name} {problem}")))
    };
    let varied = grid::names(axes);
    let (over_time, over_points): (Vec<&FigureSpec>, Vec<&FigureSpec>) =
        figures.iter().partition(|figure| figure.is_over_list(&varied));
    let mut by_second: Vec<Metric> = Vec::new();
    for name in over_time.into_iter().flat_map(|figure| &figure.y) {
        let metric = parse(name)?;
        if !by_second.contains(&metric) {
            by_second.push(metric);
        }
    }
    let mut metrics: Vec<Metric> = Vec::new();
    let shown = over_points.into_iter().flat_map(|figure| &figure.y).map(String::as_str);
    for name in USUAL_METRICS.into_iter().chain(shown) {
        for part in parse(name)?.parts() {
            if !metrics.contains(&part) {
                metrics.push(part);
            }
        }
    }
    Ok((metrics, by_second))
}

/// Rejects a reload policy that is unsafe with these targets. Temporary databases need none: they are always new.
fn safe_reload(source: &mut Source, given: Option<(Reload, Option<usize>)>, points: &[Point]) -> Reload {
    let mut scales: BTreeMap<&str, (Option<u32>, Data, String)> = BTreeMap::new();
    for point in points {
        let target = &point.plan.target;
        // Options do not identify a database.
        let url = point.shown.get("target").and_then(|url| url.split('?').next()).unwrap_or_default();
        if !target.stores() {
            continue;
        }
        let stays = !target.is_temporary();
        let Some((reload, line)) = given else {
            if stays {
                let problem = format!(
                    "{url} keeps its data: say reload = \"each-run\" (before each run its tables are dropped, \
                     whoever made them, and loaded again), reload = \"restore\" (before each run the database is \
                     replaced by a copy of what the first one loaded) or reload = \"once\" (all runs use what the \
                     first one loaded), in the file or by --reload"
                );
                source.wrong(point.target_line, "target", &problem);
            }
            continue;
        };
        let scripts = format!("{:?}", point.plan.target.scripts().notes());
        let scale = (point.plan.warehouses, point.plan.data.of_a_new_database(), scripts);
        let problem = match reload {
            Reload::EachRun => continue,
            Reload::Once | Reload::Restore if !stays => format!(
                "{:?} needs a database that stays, and {url} is gone after each run: give it a path",
                reload.name()
            ),
            Reload::Restore if point.lab.is_some() => format!(
                "\"restore\" can't be used with {url}, whose data end with the lab: use \"each-run\""
            ),
            Reload::Restore if target.templates().is_none() => format!(
                "\"restore\" needs templates, which are offered for PostgreSQL on one server, Gemel and SQLite, and \
                 not for {url}: use \"each-run\""
            ),
            Reload::Restore if point.plan.controls.replicas.is_asked() => {
                "\"restore\" and replicas can't go together: a replica would have the database of the run before for a \
                 while; use \"each-run\""
                    .into()
            }
            Reload::Restore if point.plan.micro.is_some() => {
                "\"restore\" is for workload tpcc only: use \"each-run\"".into()
            }
            Reload::Once if *scales.entry(url).or_insert_with(|| scale.clone()) != scale => format!(
                "\"once\" needs one number of warehouses, one data_skew and one size for each database, with the same \
                 schema and after_load, and {url} is to have several: use \"each-run\", or give each a target of its own"
            ),
            Reload::Once | Reload::Restore => continue,
        };
        source.wrong_by("--reload", line, "reload", &problem);
    }
    given.map_or(Reload::EachRun, |(reload, _)| reload)
}

/// Returns the least time that a run of the point takes: warm-up and window.
pub(crate) fn planned(point: &Point) -> Duration {
    point.plan.warmup + point.plan.duration
}
