//! The work of a sweep: makes the missing runs one after the other, and summarizes all of them.

use crate::around::Around;
use crate::child::{self, Begin, Ending, Play};
use crate::experiment::{Experiment, Reload, planned};
use crate::grid;
use crate::point::Point;
use crate::servers::Servers;
use crate::store::{self, Directory, Manifest};
use crate::templates;
use crate::view::{Current, View};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::complain;
use lydite_report::figures::{duration, plural};
use lydite_report::live::Style;
use lydite_report::sweep::{Environment, Point as PointSummary, Run, SWEEP_FORMAT, State, Sweep, render_csv};
use lydite_report::{RunResult, render_pictures, render_sweep};
use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Time between two checks for an interrupt in a pause.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The runs of a sweep: those in its directory, and those that this process makes.
pub(crate) struct Runner<'a> {
    experiment: &'a Experiment,
    directory: Directory,
    /// The runs of each point.
    runs: Vec<Vec<Run>>,
    environment: Environment,
    /// True if this process has made a run.
    pub(crate) made: bool,
    /// URLs of the targets that had their function tests: once is enough.
    verified: BTreeSet<String>,
    /// The labs that runs have as targets.
    servers: Servers<'a>,
}

impl<'a> Runner<'a> {
    /// Reads the runs that the directory holds.
    pub(crate) fn new(experiment: &'a Experiment, directory: Directory, out: &Path) -> Self {
        let mut environment = Environment::default();
        let mut stored = |point: &Point, manifest: &Manifest, repetition| {
            let (run, result) = store::read_run(out, manifest, experiment, point, repetition);
            note(&mut environment, &run, result.as_ref());
            run
        };
        let runs = experiment
            .points
            .iter()
            .map(|point| {
                (1..=experiment.repetitions)
                    .map(|repetition| stored(point, &directory.manifest, repetition))
                    .collect()
            })
            .collect();
        Self {
            experiment,
            directory,
            runs,
            environment,
            made: false,
            verified: BTreeSet::new(),
            servers: Servers::new(experiment, out),
        }
    }

    /// Ends the labs that this sweep started, and gives the servers of others their usual settings.
    pub(crate) fn end_servers(&mut self) -> Outcome {
        let ended = [self.servers.end(), self.directory.take_back()];
        Failure::all(ended.into_iter().filter_map(Result::err).collect())
    }

    /// Makes all missing runs: one run of every point, then the next run of every point, so that a slow hour affects
    /// all points alike. Returns true if the user interrupted it.
    pub(crate) fn make_runs(&mut self, style: Style, interrupt: &Interrupt) -> Result<bool, Failure> {
        let experiment = self.experiment;
        let todo: Vec<(usize, u32)> = (1..=experiment.repetitions)
            .flat_map(|repetition| (0..experiment.points.len()).map(move |number| (number, repetition)))
            .filter(|(number, repetition)| self.state(*number, *repetition) != State::Complete)
            .collect();
        self.try_servers(interrupt)?;
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
            let played = self.play((*number, *repetition), &mut view, &now, interrupt);
            let run = match played {
                Ok(run) => run,
                Err(failure) => {
                    view.finish();
                    self.write()?;
                    return match failure {
                        Failure::Interrupted(_) => Ok(true),
                        failure => Err(stopped(&failure, point, *repetition)),
                    };
                }
            };
            view.ended(&now, &run, begun.elapsed());
            if style == Style::Quiet && run.state != State::Complete && !interrupt.asked() {
                complain(&format!("{}, run {repetition}: {}: {}", point.label, run.state.name(), run.note));
            }
            self.write()?;
        }
        view.finish();
        Ok(interrupt.asked() && self.runs.iter().flatten().any(|run| run.state != State::Complete))
    }

    /// Returns the state of a run of the point with this number.
    fn state(&self, number: usize, repetition: u32) -> State {
        let run = self.runs.get(number).and_then(|runs| runs.get(repetition as usize - 1));
        run.map_or(State::Missing, |run| run.state)
    }

    /// Starts the servers of labs with the settings of the missing runs, each once, so that a wrong one is known before
    /// the first run.
    ///
    /// # Errors
    /// All that were rejected; then the servers have their usual settings.
    fn try_servers(&mut self, interrupt: &Interrupt) -> Outcome {
        let experiment = self.experiment;
        let is_complete = |run: &Run| run.state == State::Complete;
        let points = || experiment.points.iter().zip(&self.runs);
        let todo = points().filter(|(_, runs)| !runs.iter().all(is_complete)).map(|(point, _)| point);
        let done = points().filter(|(_, runs)| runs.iter().any(is_complete)).map(|(point, _)| point);
        let (todo, done): (Vec<&Point>, Vec<&Point>) = (todo.collect(), done.collect());
        self.servers.check(&todo)?;
        let mut rejected = Vec::new();
        for point in self.servers.untried(&todo, &done) {
            if interrupt.asked() {
                break;
            }
            // The failure of a lab that does not start is that of its runs.
            if self.servers.url(point, interrupt).is_err() {
                continue;
            }
            if let Err(failure) = self.set_servers(point) {
                rejected.push(Failure::usage(format!("{}: {}", experiment.file, failure.line())));
            }
        }
        Failure::all(rejected)
    }

    /// Starts the servers of a point's lab again with its settings, if some point of the sweep has any.
    fn set_servers(&mut self, point: &Point) -> Outcome {
        let Some(trial) = self.servers.trial(point)? else { return Ok(()) };
        self.directory.note_changed(trial.name())?;
        self.servers.set(trial, point)
    }

    /// Makes a run with all that is before and after it.
    ///
    /// # Errors
    /// A command before or after it failed, or the user interrupted one; or the directory can't be written. The run may
    /// have a result.
    fn play(
        &mut self,
        (number, repetition): (usize, u32),
        view: &mut View,
        now: &Current<'_>,
        interrupt: &Interrupt,
    ) -> Result<Run, Failure> {
        let experiment = self.experiment;
        let point = &experiment.points[number];
        let place = (number, repetition);
        let target = match self.servers.url(point, interrupt) {
            Ok(target) => target,
            Err(failure) => return self.fail_run(place, &failure, interrupt),
        };
        let result = self.directory.result(point, repetition);
        let places = (self.directory.files.path(), result.as_path());
        let around = Around::new(point, repetition, target.as_deref(), places, experiment.command_limit);
        let made = around.before(view, interrupt).and_then(|()| match self.set_servers(point) {
            _ if interrupt.asked() => Err(Failure::Interrupted("interrupted".into())),
            Ok(()) => self.make_run(place, target, interrupt, &mut |elapsed| view.update(now, elapsed)),
            Err(failure) => self.fail_run(place, &failure, interrupt),
        });
        match (made, around.after(view)) {
            (made, Ok(())) => made,
            (Ok(_), Err(failure)) => Err(failure),
            (Err(first), Err(second)) => Err(Failure::Several(vec![first, second])),
        }
    }

    /// Stores the ending of a run whose lab could not be started.
    fn fail_run(
        &mut self,
        (number, repetition): (usize, u32),
        failure: &Failure,
        interrupt: &Interrupt,
    ) -> Result<Run, Failure> {
        let point = &self.experiment.points[number];
        self.directory.forget(point, repetition)?;
        if !interrupt.asked() {
            let exit_code = Some(failure.code().into());
            self.directory.remember(
                point,
                repetition,
                Ending { took_s: 0.0, exit_code, said: failure.line() },
            )?;
        }
        Ok(self.read_again(number, repetition).0)
    }

    /// Makes one run and stores its ending. `target` is the URL of its lab.
    fn make_run(
        &mut self,
        (number, repetition): (usize, u32),
        target: Option<String>,
        interrupt: &Interrupt,
        show_progress: &mut dyn FnMut(Duration),
    ) -> Result<Run, Failure> {
        let experiment = self.experiment;
        let point = &experiment.points[number];
        self.directory.forget(point, repetition)?;
        let json = self.directory.result(point, repetition);
        let spec = &point.plan.target;
        let begin = match experiment.reload {
            _ if !spec.stores() || spec.is_temporary() => Begin::AsItIs,
            Reload::EachRun => Begin::Fresh,
            Reload::Restore => Begin::Template(templates::name(point, &self.directory.manifest.program)),
            Reload::Once => Begin::AsItIs,
        };
        let url = point.given.get("target").cloned().unwrap_or_default();
        let verify =
            !self.verified.contains(&url) || point.plan.micro.is_some() || point.given.contains_key("verify");
        self.made = true;
        let play = Play { label: &point.label, given: &point.given, tables: "", begin, verify, target };
        let ending = child::run(&play, &json, self.directory.files.lock(), interrupt, show_progress)
            .unwrap_or_else(|error| Ending::without_start(&error));
        // A run that the user interrupted before it wrote a result is missing, not failed.
        if !interrupt.asked() || json.exists() {
            self.directory.remember(point, repetition, ending)?;
        }
        let (run, result) = self.read_again(number, repetition);
        note(&mut self.environment, &run, result.as_ref());
        if result.is_some_and(|result| result.controls.functions.is_some()) {
            self.verified.insert(url);
        }
        Ok(run)
    }

    /// Reads the state of a run that has ended.
    fn read_again(&mut self, number: usize, repetition: u32) -> (Run, Option<RunResult>) {
        let point = &self.experiment.points[number];
        let json = self.directory.result(point, repetition);
        let root = json.parent().and_then(Path::parent).unwrap_or(Path::new("."));
        let (run, result) =
            store::read_run(root, &self.directory.manifest, self.experiment, point, repetition);
        if let Some(place) = self.runs.get_mut(number).and_then(|runs| runs.get_mut(repetition as usize - 1))
        {
            *place = run.clone();
        }
        (run, result)
    }

    /// Writes the summary and the page of all runs so far.
    pub(crate) fn write(&self) -> Result<Sweep, Failure> {
        let sweep = self.summary();
        self.directory.files.write_json("summary.json", &sweep)?;
        self.directory.files.write("summary.csv", &render_csv(&sweep))?;
        self.directory.files.write("report.html", &render_sweep(&sweep))?;
        for (number, picture) in render_pictures(&sweep) {
            self.directory.files.write(&store::picture_name(number), &picture)?;
        }
        Ok(sweep)
    }

    /// Returns the summary of all runs so far.
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

    /// Returns the failures for the exit code. They cover all runs in the directory, also those of earlier calls.
    pub(crate) fn failures(&self, sweep: &Sweep, interrupted: bool, out: &Path) -> Vec<Failure> {
        let mut all = Vec::new();
        let broken = sweep.runs_with_failed_checks();
        if broken > 0 {
            let runs = plural(broken as u64, "run");
            all.push(Failure::CheckFailed(format!("{}: {runs} with checks that do not hold", out.display())));
        }
        if interrupted {
            all.push(Failure::Interrupted(format!(
                "interrupted: {} of {} runs are complete: the same command makes the rest",
                sweep.runs_in(State::Complete),
                sweep.runs()
            )));
            return all;
        }
        // Runs with a wrong plan, and runs that a target failed.
        let (mut usage, mut target) = (0_u64, 0_u64);
        for (point, runs) in self.experiment.points.iter().zip(&self.runs) {
            for run in runs.iter().filter(|run| run.state != State::Complete) {
                let ending = self.directory.ending(point, run.repetition);
                match ending.and_then(|ending| ending.exit_code) {
                    Some(1) => all.push(Failure::CheckFailed(format!(
                        "{}, run {}: ended with a failed check",
                        point.label, run.repetition
                    ))),
                    Some(2) => usage += 1,
                    _ => target += 1,
                }
            }
        }
        let problem = |count: u64| {
            let runs = plural(count, "run");
            format!("{}: {runs} did not end well: the same command makes them again", out.display())
        };
        if usage > 0 {
            all.push(Failure::usage(problem(usage)));
        }
        if target > 0 {
            all.push(Failure::Target(problem(target)));
        }
        all
    }
}

/// Returns the failure of a command around a run, which ends the sweep.
fn stopped(failure: &Failure, point: &Point, repetition: u32) -> Failure {
    Failure::usage(format!(
        "{}, run {repetition}: {}: the results before are kept, and the same command goes on",
        point.label,
        failure.line()
    ))
}

/// Adds the environment of a complete run.
fn note(environment: &mut Environment, run: &Run, result: Option<&RunResult>) {
    if let Some(result) = result.filter(|_| run.state == State::Complete) {
        environment.note(result);
    }
}

/// Sleeps between two runs, until the user interrupts.
fn pause(time: Duration, interrupt: &Interrupt) {
    let begun = Instant::now();
    while begun.elapsed() < time && !interrupt.asked() {
        thread::sleep(POLL_INTERVAL.min(time.saturating_sub(begun.elapsed())));
    }
}
