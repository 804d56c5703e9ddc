//! The course of a search: runs at one level after the other, until the limit is known or the time is over.

use crate::document::document;
use crate::experiment::Experiment;
use crate::played::Played;
use crate::probes::{Next, Probes};
use crate::store::{FILES, Run, Store};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_lab::Labs;
use lydite_report::figures::plural;
use lydite_report::find::{End, Find, sentence};
use lydite_report::live::Style;
use lydite_report::model::Status;
use lydite_report::render_find;
use lydite_report::sweep::Environment;
use lydite_sweep::{Current, Ending, Play, View, play};
use std::time::Duration;

/// Runs that are still needed once the limit is known: its two neighbours are tried.
const CONFIRMATIONS: u32 = 4;
/// Most runs that are said to be needed before.
const MOST_LEFT: u32 = 30;

/// A search at work.
pub(crate) struct Course<'a> {
    experiment: &'a Experiment,
    store: Store,
    /// Runs with a result.
    runs: Vec<Played>,
    environment: Environment,
    labs: Labs,
    interrupt: &'a Interrupt,
    style: Style,
}

impl<'a> Course<'a> {
    /// Reads the runs that the directory holds. One that was broken off is made again.
    ///
    /// # Errors
    /// A result can't be read, or a lab does not fit.
    pub(crate) fn read(
        experiment: &'a Experiment,
        mut store: Store,
        style: Style,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Failure> {
        let labs = Labs::new(&experiment.out);
        labs.check(experiment.subject.lab.iter())?;
        let mut environment = Environment::default();
        let mut runs = Vec::new();
        for (number, run) in store.runs() {
            let result = store.read(number).map_err(|error| Failure::usage(error.to_string()))?;
            match result.filter(|_| run.ending.is_whole()) {
                Some(result) => {
                    environment.note(&result);
                    runs.push(Played::of(number, &run, &result, &experiment.objectives));
                }
                None => store.forget(number)?,
            }
        }
        Ok(Self { experiment, store, runs, environment, labs, interrupt, style })
    }

    /// Returns the directory.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the directory, to change its notes.
    pub(crate) fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Makes runs until the search has ended.
    ///
    /// # Errors
    /// A run or a server failed, a level can't be judged, or the user interrupted. The runs before are kept.
    pub(crate) fn go(&mut self) -> Outcome {
        if !matches!(self.next(), Next::Run(_)) || self.is_late() {
            return self.judged();
        }
        let program = self.store.records.program().to_owned();
        let has_runs = !self.runs.is_empty();
        self.experiment.kept(self.interrupt).keep(&mut self.store.records, &program, has_runs)?;
        View::new(self.style, 0, 0).note(&format!(
            "searching the highest {}, {} to {}: {} there already, each takes {} s and what is around it; the database is {}",
            self.experiment.quantity.title,
            self.experiment.range.lowest,
            self.experiment.range.highest,
            plural(self.runs.len() as u64, "run"),
            self.experiment.planned().as_secs_f64(),
            self.experiment.origin.words()
        ));
        while let Next::Run(level) = self.next() {
            if self.is_late() {
                break;
            }
            self.make_run(level)?;
            let find = self.write()?;
            self.show_run(&find);
        }
        self.judged()
    }

    /// Returns an error if a level can't be judged.
    fn judged(&self) -> Outcome {
        match self.next() {
            Next::Unjudged(level, why) => Err(Failure::usage(format!(
                "{} {level} can't be judged: {why}: make runs longer (--duration), or name a higher --lowest and --start, \
                 with --fresh",
                self.experiment.quantity.name
            ))),
            _ => Ok(()),
        }
    }

    fn next(&self) -> Next {
        Probes::of(&self.experiment.asked(), &self.runs).next(&self.experiment.range)
    }

    fn is_late(&self) -> bool {
        let took = Duration::from_secs_f64(self.store.records.took_s());
        self.experiment.most_time.is_some_and(|most| took >= most)
    }

    /// Ends the labs that this command started.
    pub(crate) fn end_labs(&mut self) -> Outcome {
        self.labs.end()
    }

    /// Makes a run at a level, and reads its result.
    fn make_run(&mut self, level: f64) -> Outcome {
        if self.interrupt.asked() {
            return Err(Failure::Interrupted("interrupted".into()));
        }
        let experiment = self.experiment;
        let subject = &experiment.subject;
        let url = subject.lab.as_ref().map(|lab| self.labs.url(lab, self.interrupt)).transpose()?;
        let number = self.store.runs().last_key_value().map_or(1, |(last, _)| last + 1);
        // A process that was killed may have left the result of a run that it did not note.
        self.store.records.files.remove(&Store::file(number))?;
        let mut given = subject.given.clone();
        given.insert(experiment.quantity.key.to_owned(), (experiment.quantity.value)(level));
        // Two runs of a level with the same inputs and arrivals would be one sample, not two.
        given.insert("seed".to_owned(), subject.plan.seed.wrapping_add(u64::from(number) - 1).to_string());
        let label = format!("{} {level}", experiment.quantity.name);
        let left = self.runs_left();
        let now = Current {
            label: &label,
            repetition: 1,
            repetitions: 1,
            planned: experiment.planned(),
            rest: experiment.planned() * left,
            runs_left: left,
        };
        let done = self.runs.len();
        let mut view = View::new(self.style, done + 1 + left as usize, done);
        let run = Play {
            label: &label,
            given: &given,
            tables: &subject.tables,
            begin: experiment.origin.begin(self.store.records.template(0)),
            verify: given.contains_key("verify") || subject.plan.micro.is_some(),
            target: url,
        };
        let (json, lock) = (self.store.result(number), self.store.records.files.lock());
        let made = play(&run, &json, lock, self.interrupt, &mut |elapsed| view.update(&now, elapsed));
        view.finish();
        let ending = made.unwrap_or_else(|error| Ending::without_start(&error));
        let run = Run { level, ending };
        self.store.remember(number, run.clone())?;
        self.take(number, &run)
    }

    /// Returns about how many runs are needed after the next one.
    fn runs_left(&self) -> u32 {
        let find = document(self.experiment, &self.store, &self.runs, &self.environment).find;
        let resolution = self.experiment.range.resolution;
        let steps = |ratio: f64| (ratio.ln() / (1.0 + resolution).ln()).log2().ceil().max(0.0) as u32;
        match (find.limit, find.highest, find.next_above) {
            (Some(limit), ..) => {
                // The interval gets narrower with the root of the runs.
                let wider = (limit.high - limit.at) / (resolution * limit.at);
                let more = self.runs.len() as f64 * (wider.powi(2) - 1.0).max(0.0);
                more.min(f64::from(MOST_LEFT)) as u32 + CONFIRMATIONS
            }
            (None, Some(holds), Some(fails)) => steps(fails / holds) + CONFIRMATIONS,
            _ => steps(2.0) + CONFIRMATIONS,
        }
    }

    /// Reads the result of a run, and judges whether it may count.
    fn take(&mut self, number: u32, run: &Run) -> Outcome {
        let result = self.store.read(number).map_err(|error| Failure::Target(error.to_string()))?;
        let said = || {
            let Ending { said, .. } = &run.ending;
            let said = if said.is_empty() { "the run ended early" } else { said };
            format!(
                "run {number} ({} {}): {said}: {} kept, and the same command goes on",
                self.experiment.quantity.name,
                run.level,
                match self.runs.len() {
                    0 => "no run is".to_owned(),
                    1 => "1 run before is".to_owned(),
                    kept => format!("{} before are", plural(kept as u64, "run")),
                }
            )
        };
        if self.interrupt.asked() {
            return Err(Failure::Interrupted("interrupted: the same command goes on".into()));
        }
        let Some(result) = result else {
            return Err(match run.ending.exit_code {
                Some(1) => Failure::CheckFailed(said()),
                Some(2) => Failure::usage(said()),
                _ => Failure::Target(said()),
            });
        };
        self.environment.note(&result);
        let played = Played::of(number, run, &result, &self.experiment.objectives);
        if played.checks_failed > 0 || run.ending.exit_code == Some(1) {
            return Err(Failure::CheckFailed(said()));
        }
        // A run that lost the database says nothing of the level: somebody may have ended the server.
        if !run.ending.is_whole() {
            return Err(match run.ending.exit_code {
                Some(2) => Failure::usage(said()),
                _ => Failure::Target(format!(
                    "{}; if it breaks there each time, name a --highest below",
                    said()
                )),
            });
        }
        self.runs.push(played);
        Ok(())
    }

    /// Shows the last run, and what all show so far.
    fn show_run(&self, find: &Find) {
        let Some(run) = find.runs.last() else { return };
        let note = if run.probe.is_none() { ": the machine was busy, repeated" } else { "" };
        // The values say why an objective is not met.
        let why = if run.met == Some(false) || run.why.is_empty() {
            String::new()
        } else {
            format!(" ({})", run.why)
        };
        View::new(self.style, 0, 0).note(&format!(
            "run {}, {} {}: {}, {}{why}{note}; {}",
            run.number,
            find.find.level,
            run.level,
            run.values.join(", "),
            run.verdict.words(),
            sentence(&find.find)
        ));
    }

    /// Writes the document and the page of all runs so far.
    ///
    /// # Errors
    /// They can't be written.
    pub(crate) fn write(&self) -> Result<Find, Failure> {
        let mut find = document(self.experiment, &self.store, &self.runs, &self.environment);
        if find.find.end == End::Open && self.is_late() {
            find.find.end = End::Time;
            find.status = Status::Complete;
        }
        self.store.records.files.write_json(FILES.documents[0], &find)?;
        self.store.records.files.write(FILES.documents[1], &render_find(&find))?;
        Ok(find)
    }
}
