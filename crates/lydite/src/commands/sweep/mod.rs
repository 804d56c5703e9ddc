//! `lydite sweep`: a grid or a list of plans, each several times, into one directory: a result for each run, a summary,
//! and a page with figures. Killed at any moment, the same command goes on where it was.

mod child;
mod drawings;
mod experiment;
mod grid;
mod store;
mod view;

use crate::cli::SweepArgs;
use crate::exit::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::interrupt::watch;
use crate::output::{complain, print};
use child::Begin;
use experiment::{Experiment, Reload, planned};
use grid::Point;
use lydite_report::figures::{duration, plural};
use lydite_report::live::Style;
use lydite_report::sweep::{
    Environment, Point as PointSummary, Run, SWEEP_FORMAT, State, Sweep, USUAL_METRICS, render_csv,
    render_summary,
};
use lydite_report::{RunResult, render_sweep};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use store::{Directory, Ending, Manifest};
use view::{Current, View};
use xxhash_rust::xxh3::xxh3_64;

/// How often a pause is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// `lydite sweep`.
pub(crate) fn command(args: SweepArgs) -> Outcome {
    let experiment = Experiment::read(&args)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => PathBuf::from(args.experiment.file_stem().unwrap_or(args.experiment.as_os_str())),
    };
    if args.dry_run {
        return show_plan(&experiment, &out, args.fresh);
    }
    let style = Style::detect(args.quiet);
    let interrupt = watch(style)?;
    // Another build of the program may have made the templates of a sweep that begins anew.
    let before = if args.fresh { store::read_manifest(&out)? } else { None };
    let directory = Directory::open(&out, &experiment, args.fresh)?;
    let program = directory.manifest.program.clone();
    for program in before.iter().map(|known| &known.program).chain(args.fresh.then_some(&program)) {
        delete_templates(&experiment, program, true, &interrupt);
    }
    let mut work = Work::new(&experiment, directory, &out);
    let interrupted = work.make_runs(style, &interrupt)?;
    let sweep = work.write()?;
    if sweep.runs_in(State::Complete) == sweep.runs() {
        // A sweep that had all of its runs may have been killed before this; but no server need be there to draw it again.
        delete_templates(&experiment, &program, work.made, &interrupt);
    } else if experiment.reload == Reload::Restore {
        let names: BTreeSet<String> =
            experiment.points.iter().map(|point| template(point, &program)).collect();
        let names: Vec<String> = names.into_iter().collect();
        complain(&format!("kept for the runs that are left, beside the database: {}", names.join(", ")));
    }
    for metric in unknown(&sweep) {
        complain(&format!("no result has {metric}: is that its path?"));
    }
    let page = out.join("report.html");
    let printed = print(&format!(
        "{}\nresults: {} in {}\nsummary: {}, {}\nreport: {}\n",
        render_summary(&sweep),
        plural(sweep.runs_in(State::Complete) as u64, "complete run"),
        out.join("results").display(),
        out.join("summary.csv").display(),
        out.join("summary.json").display(),
        page.display()
    ));
    let mut failures = work.failures(&sweep, interrupted, &out);
    failures.extend(printed.err());
    Failure::all(failures)
}

/// The name of the template that a point's runs begin with: another for whatever is loaded in another way, or by another
/// build of the program.
fn template(point: &Point, program: &str) -> String {
    let plan = &point.plan;
    let url = point.given.get("target").map_or("", String::as_str);
    let loaded = format!("{program} {url} {:?} {} {:?}", plan.warehouses, plan.seed, plan.data);
    format!("template_{:016x}", xxh3_64(loaded.as_bytes()))
}

/// What nobody needs any more once all runs are there, or when they are to be made anew. `needed`: that it can't be deleted is
/// told.
fn delete_templates(experiment: &Experiment, program: &str, needed: bool, interrupt: &Interrupt) {
    if experiment.reload != Reload::Restore {
        return;
    }
    let of = |point: &Point| {
        let target = point.plan.target.clone().waited_for_by(interrupt.waiter());
        Some((template(point, program), target.templates()?))
    };
    let mut done = BTreeSet::new();
    for (name, templates) in experiment.points.iter().filter_map(of) {
        if done.insert(name.clone())
            && let Err(error) = templates.delete(&name)
            && needed
        {
            complain(&format!("the template {name} could not be deleted: {error}"));
        }
    }
}

/// The metrics of the figures that no complete run has; none if there is no such run. What is known of each node not every
/// target tells.
fn unknown(sweep: &Sweep) -> Vec<&str> {
    if sweep.runs_in(State::Complete) == 0 {
        return Vec::new();
    }
    let known = |metric: &str| sweep.points.iter().any(|point| point.metrics.contains_key(metric));
    let metrics = sweep.metrics.iter().map(String::as_str);
    let usual = |metric: &str| USUAL_METRICS.contains(&metric) || metric.starts_with("nodes.");
    metrics.filter(|metric| !usual(metric) && !known(metric)).collect()
}

/// `--dry-run`: what would be done.
fn show_plan(experiment: &Experiment, out: &Path, fresh: bool) -> Outcome {
    let known = if fresh { None } else { store::read_manifest(out)? };
    if let Some(known) = &known {
        store::agree(out, known, experiment)?;
    }
    let left = |point: &Point| {
        (1..=experiment.repetitions)
            .filter(|repetition| {
                let look = |known| store::look(out, known, experiment, point, *repetition).0.state;
                known.as_ref().map(look) != Some(State::Complete)
            })
            .count() as u32
    };
    let common = experiment.common();
    let mut text = format!("{}\n", experiment.title);
    for (key, value) in &common {
        text.push_str(&format!("  {key} = {value}\n"));
    }
    let width = experiment.points.iter().map(|point| point.label.chars().count()).max().unwrap_or(0);
    let mut runs = 0;
    let mut time = Duration::ZERO;
    text.push_str(&format!(
        "{}, {} of each, {}:\n",
        plural(experiment.points.len() as u64, "point"),
        plural(u64::from(experiment.repetitions), "run"),
        experiment.reload.words()
    ));
    for point in &experiment.points {
        let left = left(point);
        runs += left;
        time += (planned(point) + experiment.pause) * left;
        let varied: Vec<String> = point
            .shown
            .iter()
            .filter(|(key, _)| !common.contains_key(key.as_str()))
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        let there = experiment.repetitions - left;
        let there = if there > 0 { format!("  ({there} there)") } else { String::new() };
        text.push_str(&format!("  {:<width$}  {}{there}\n", point.label, varied.join("  ")));
    }
    text.push_str(&format!(
        "{} to make, at least {}; loading and checks come on top\nresults go to {}\n",
        plural(u64::from(runs), "run"),
        duration(time.as_secs_f64()),
        out.display()
    ));
    print(&text)
}

/// A sweep at work.
struct Work<'a> {
    experiment: &'a Experiment,
    directory: Directory,
    /// The runs of each point.
    runs: Vec<Vec<Run>>,
    environment: Environment,
    /// Whether a run was made by this process.
    made: bool,
    /// Targets on which the function tests were made, by their URLs: once is enough.
    seen: BTreeSet<String>,
}

impl<'a> Work<'a> {
    /// With what the directory holds.
    fn new(experiment: &'a Experiment, directory: Directory, out: &Path) -> Self {
        let mut environment = Environment::default();
        let mut look = |point: &Point, manifest: &Manifest, repetition| {
            let (run, result) = store::look(out, manifest, experiment, point, repetition);
            note(&mut environment, &run, result.as_ref());
            run
        };
        let runs = experiment
            .points
            .iter()
            .map(|point| {
                (1..=experiment.repetitions)
                    .map(|repetition| look(point, &directory.manifest, repetition))
                    .collect()
            })
            .collect();
        Self { experiment, directory, runs, environment, made: false, seen: BTreeSet::new() }
    }

    /// Makes all runs that are not there: all points once, then all again, so that a slow hour hits all alike. Whether
    /// the user interrupted.
    fn make_runs(&mut self, style: Style, interrupt: &Interrupt) -> Result<bool, Failure> {
        let experiment = self.experiment;
        let todo: Vec<(usize, u32)> = (1..=experiment.repetitions)
            .flat_map(|repetition| (0..experiment.points.len()).map(move |number| (number, repetition)))
            .filter(|(number, repetition)| self.state(*number, *repetition) != State::Complete)
            .collect();
        let total: usize = self.runs.iter().map(Vec::len).sum();
        let mut view = View::new(style, total, total - todo.len());
        let time = |left: &[(usize, u32)]| -> Duration {
            let points = left.iter().filter_map(|(number, _)| experiment.points.get(*number));
            points.map(|point| planned(point) + experiment.pause).sum()
        };
        view.note(&format!(
            "{}: {}, {} there already, {} to make in at least {}",
            experiment.title,
            plural(total as u64, "run"),
            total - todo.len(),
            todo.len(),
            duration(time(&todo).as_secs_f64())
        ));
        for (n, (number, repetition)) in todo.iter().enumerate() {
            if n > 0 {
                pause(experiment.pause, interrupt);
            }
            if interrupt.asked() {
                view.finish();
                return Ok(true);
            }
            let Some(point) = experiment.points.get(*number) else { continue };
            let rest = todo.get(n + 1..).unwrap_or_default();
            let now = Current {
                label: &point.label,
                repetition: *repetition,
                repetitions: experiment.repetitions,
                planned: planned(point),
                rest: time(rest),
                runs_left: rest.len() as u32,
            };
            let begun = Instant::now();
            let run =
                self.make_run(*number, *repetition, interrupt, &mut |elapsed| view.update(&now, elapsed))?;
            view.ended(&now, &run, begun.elapsed());
            if style == Style::Quiet && run.state != State::Complete && !interrupt.asked() {
                complain(&format!("{}, run {repetition}: {}: {}", point.label, run.state.name(), run.note));
            }
            self.write()?;
        }
        view.finish();
        Ok(interrupt.asked() && self.runs.iter().flatten().any(|run| run.state != State::Complete))
    }

    fn state(&self, number: usize, repetition: u32) -> State {
        let run = self.runs.get(number).and_then(|runs| runs.get(repetition as usize - 1));
        run.map_or(State::Missing, |run| run.state)
    }

    fn make_run(
        &mut self,
        number: usize,
        repetition: u32,
        interrupt: &Interrupt,
        look: &mut dyn FnMut(Duration),
    ) -> Result<Run, Failure> {
        let experiment = self.experiment;
        let point = &experiment.points[number];
        self.directory.forget(point, repetition)?;
        let json = self.directory.result(point, repetition);
        let target = &point.plan.target;
        let begin = match experiment.reload {
            _ if !target.stores() || target.is_temporary() => Begin::AsItIs,
            Reload::EachRun => Begin::Fresh,
            Reload::Restore => Begin::Template(template(point, &self.directory.manifest.program)),
            Reload::Once => Begin::AsItIs,
        };
        let url = point.given.get("target").cloned().unwrap_or_default();
        let verify = !self.seen.contains(&url);
        self.made = true;
        let ending =
            child::run(point, &json, &begin, verify, &self.directory.lock, interrupt, look).unwrap_or_else(
                |error| Ending { took_s: 0.0, exit_code: None, said: format!("can't be started: {error}") },
            );
        // What was cut off by the user, and left nothing, is missing and not failed.
        if !interrupt.asked() || json.exists() {
            self.directory.remember(point, repetition, ending)?;
        }
        let root = json.parent().and_then(Path::parent).unwrap_or(Path::new("."));
        let (run, result) = store::look(root, &self.directory.manifest, experiment, point, repetition);
        note(&mut self.environment, &run, result.as_ref());
        if result.is_some_and(|result| result.controls.functions.is_some()) {
            self.seen.insert(url);
        }
        if let Some(place) = self.runs.get_mut(number).and_then(|runs| runs.get_mut(repetition as usize - 1))
        {
            *place = run.clone();
        }
        Ok(run)
    }

    /// Writes the summary and the page as they are now.
    fn write(&self) -> Result<Sweep, Failure> {
        let sweep = self.summary();
        self.directory.write_json("summary.json", &sweep)?;
        self.directory.write("summary.csv", &render_csv(&sweep))?;
        self.directory.write("report.html", &render_sweep(&sweep))?;
        Ok(sweep)
    }

    fn summary(&self) -> Sweep {
        let experiment = self.experiment;
        let metrics: Vec<String> = experiment.metrics.iter().map(|metric| metric.name().to_owned()).collect();
        let axes = grid::names(&experiment.axes);
        let points: Vec<PointSummary> = experiment
            .points
            .iter()
            .zip(&self.runs)
            .map(|(point, runs)| PointSummary {
                label: point.label.clone(),
                at: point.at.clone(),
                plan: point.shown.clone(),
                metrics: PointSummary::spreads(runs, &metrics),
                runs: runs.clone(),
            })
            .collect();
        Sweep {
            lydite: env!("CARGO_PKG_VERSION").into(),
            format: SWEEP_FORMAT,
            title: experiment.title.clone(),
            description: experiment.description.clone(),
            experiment: experiment.name.clone(),
            digest: experiment.digest(),
            repetitions: experiment.repetitions,
            reload: experiment.reload.words().into(),
            pause_s: experiment.pause.as_secs_f64(),
            figures: experiment.figures.iter().map(|figure| figure.draw(&axes, &points)).collect(),
            axes,
            metrics,
            points,
            environment: self.environment.clone(),
        }
    }

    /// What the exit code comes from: what the directory holds, whichever call made it.
    fn failures(&self, sweep: &Sweep, interrupted: bool, out: &Path) -> Vec<Failure> {
        let mut all = Vec::new();
        let broken = sweep.runs_with_failed_checks();
        if broken > 0 {
            complain(&format!("{} have checks that do not hold", plural(broken as u64, "run")));
            all.push(Failure::CheckFailed);
        }
        if interrupted {
            all.push(Failure::Interrupted(format!(
                "interrupted: {} of {} runs are there: the same command goes on",
                sweep.runs_in(State::Complete),
                sweep.runs()
            )));
            return all;
        }
        let mut lost = [0_u64; 2];
        for (point, runs) in self.experiment.points.iter().zip(&self.runs) {
            for run in runs.iter().filter(|run| run.state != State::Complete) {
                let ending = self.directory.ending(point, run.repetition);
                match ending.and_then(|ending| ending.exit_code) {
                    Some(1) => all.push(Failure::CheckFailed),
                    Some(2) => lost[0] += 1,
                    _ => lost[1] += 1,
                }
            }
        }
        let told = |count: u64| {
            let runs = plural(count, "run");
            format!("{}: {runs} did not end well: the same command makes them again", out.display())
        };
        if lost[0] > 0 {
            all.push(Failure::usage(told(lost[0])));
        }
        if lost[1] > 0 {
            all.push(Failure::Target(told(lost[1])));
        }
        all
    }
}

/// Notes what a run that counts was made on.
fn note(environment: &mut Environment, run: &Run, result: Option<&RunResult>) {
    if let Some(result) = result.filter(|_| run.state == State::Complete) {
        environment.note(result);
    }
}

fn pause(time: Duration, interrupt: &Interrupt) {
    let begun = Instant::now();
    while begun.elapsed() < time && !interrupt.asked() {
        thread::sleep(LOOK.min(time.saturating_sub(begun.elapsed())));
    }
}
