//! The course of an experiment: pairs of runs, until it is decided, or has the most pairs or the time that it may take.

use crate::document::document;
use crate::experiment::Experiment;
use crate::judge::judge;
use crate::played::Played;
use crate::progress::{Progress, Slot};
use crate::servers::Servers;
use crate::store::{FILES, Store};
use crate::variant::{flag, letter};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_decide::Side;
use lydite_report::ab::{Ab, End, sentence};
use lydite_report::figures::{duration, plural};
use lydite_report::live::Style;
use lydite_report::observed::with_unit;
use lydite_report::render_ab;
use lydite_report::sweep::Environment;
use lydite_sweep::{Current, Ending, Play, ShellCommand, View, play};
use std::time::{Duration, Instant};

/// An experiment at work.
pub(crate) struct Course<'a> {
    experiment: &'a Experiment,
    store: Store,
    slots: Vec<Slot>,
    environment: Environment,
    servers: Servers<'a>,
    interrupt: &'a Interrupt,
    style: Style,
}

impl<'a> Course<'a> {
    /// Reads the pairs that the directory holds. A pair without one of its runs is made again as a whole: runs of a pair
    /// belong together in time.
    ///
    /// # Errors
    /// A result can't be read, or a lab does not fit.
    pub(crate) fn read(
        experiment: &'a Experiment,
        mut store: Store,
        style: Style,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Failure> {
        let servers = Servers::new(experiment)?;
        let mut environment = Environment::default();
        let mut slots = Vec::new();
        for number in store.numbers()? {
            let mut read = |side: Side| -> Result<Option<Played>, Failure> {
                let result = store.read(side, number).map_err(|error| Failure::usage(error.to_string()))?;
                let Some(result) = result else { return Ok(None) };
                environment.note(&result);
                Ok(Some(Played::of(&result, &experiment.looking.metric)))
            };
            let slot = Slot { number, a: read(Side::A)?, b: read(Side::B)? };
            match slot.both() {
                Some(_) => slots.push(slot),
                None => store.forget(number)?,
            }
        }
        Ok(Self { experiment, store, slots, environment, servers, interrupt, style })
    }

    /// Returns the directory.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the directory, to change its notes.
    pub(crate) fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Makes pairs until the experiment has ended.
    ///
    /// # Errors
    /// A run, a command or a server failed, or the user interrupted. The pairs before are kept.
    pub(crate) fn go(&mut self) -> Outcome {
        if self.end() != End::Open {
            return Ok(());
        }
        let has_runs = !self.slots.is_empty();
        if !has_runs && self.servers.has_settings() {
            self.servers.try_out(self.interrupt)?;
        }
        let program = self.store.records.program().to_owned();
        self.experiment.kept(self.interrupt).keep(&mut self.store.records, &program, has_runs)?;
        let planned = planned(self.experiment, Side::A) + planned(self.experiment, Side::B);
        let left = Progress::of(&self.slots, &self.experiment.looking).most_left(&self.experiment.looking);
        let mut view = View::new(self.style, 0, 0);
        if self.experiment.sides_are_equal() {
            view.note("A and B are the same: this measures how often chance alone makes a difference");
        }
        view.note(&format!(
            "A and B in turns: {} there already, at most {} to make: {} of runs, plus repeated pairs and what is \
             around the runs; the database is {}",
            plural(self.slots.len() as u64, "pair"),
            plural(left as u64, "pair"),
            duration((planned * left as u32).as_secs_f64()),
            self.experiment.reload_words()
        ));
        while self.end() == End::Open {
            self.make_pair()?;
            let ab = self.write()?;
            self.show_pair(&ab);
        }
        Ok(())
    }

    /// Returns the reason why the experiment has ended.
    fn end(&self) -> End {
        let looking = &self.experiment.looking;
        let progress = Progress::of(&self.slots, looking);
        judge(&progress.counted, looking, Duration::from_secs_f64(self.store.records.took_s())).end
    }

    /// Gives servers their usual settings, and ends the labs that this command started.
    pub(crate) fn end_servers(&mut self) -> Outcome {
        self.servers.end()
    }

    /// Makes the next pair.
    fn make_pair(&mut self) -> Outcome {
        let number = self.slots.last().map_or(1, |slot| slot.number + 1);
        let first = Progress::of(&self.slots, &self.experiment.looking).next_first(&self.experiment.looking);
        let order = if first == Side::A { [Side::A, Side::B] } else { [Side::B, Side::A] };
        self.slots.push(Slot { number, a: None, b: None });
        for (place, side) in order.into_iter().enumerate() {
            let begun = Instant::now();
            let made = self.make_run(number, side, place, begun);
            if let Err(failure) = made {
                self.write()?;
                return Err(self.named(failure, number, side));
            }
        }
        Ok(())
    }

    /// Returns the failure of a run with its name, and how to go on.
    fn named(&self, failure: Failure, number: u32, side: Side) -> Failure {
        let kept = self.slots.iter().filter(|slot| slot.both().is_some()).count();
        let line = format!(
            "pair {number}, {}: {}: {} kept, and the same command goes on",
            letter(side),
            failure.line(),
            match kept {
                0 => "no pair is".to_owned(),
                1 => "the pair before is".to_owned(),
                kept => format!("{} before are", plural(kept as u64, "pair")),
            }
        );
        match failure {
            Failure::CheckFailed(_) => Failure::CheckFailed(line),
            Failure::Target(_) => Failure::Target(line),
            Failure::Interrupted(_) => Failure::Interrupted(line),
            Failure::Usage(_) | Failure::Threshold(_) | Failure::Undecided(_) | Failure::Several(_) => {
                Failure::usage(line)
            }
        }
    }

    /// Makes a run with all that is before it, and reads its result.
    fn make_run(&mut self, number: u32, side: Side, place: usize, begun: Instant) -> Outcome {
        let variant = self.experiment.side(side);
        let asked = || Failure::Interrupted("interrupted".into());
        if self.interrupt.asked() {
            return Err(asked());
        }
        let url = self.servers.url(variant, self.interrupt)?;
        self.run_before(side)?;
        self.servers.set(variant, url.as_deref())?;
        if self.interrupt.asked() {
            return Err(asked());
        }
        let looking = &self.experiment.looking;
        let left = Progress::of(&self.slots, looking).most_left(looking);
        let rest = (planned(self.experiment, Side::A) + planned(self.experiment, Side::B)) * left as u32;
        let runs_left = (2 * left).saturating_sub(1 + place);
        let label = format!("pair {number}, {}", letter(side));
        let now = Current {
            label: &label,
            repetition: 1,
            repetitions: 1,
            planned: planned(self.experiment, side),
            rest: rest.saturating_sub(planned(self.experiment, side) * (1 + place as u32)),
            runs_left: runs_left as u32,
        };
        let done = 2 * (self.slots.len() - 1) + place;
        let mut view = View::new(self.style, done + 1 + runs_left, done);
        let run = Play {
            label: letter(side),
            given: &variant.subject.given,
            tables: &variant.subject.tables,
            begin: self.experiment.reload_of(side).begin(self.store.template(side)),
            verify: variant.subject.given.contains_key("verify") || variant.subject.plan.micro.is_some(),
            target: url,
        };
        let (json, lock) = (self.store.result(side, number), self.store.records.files.lock());
        let made = play(&run, &json, lock, self.interrupt, &mut |elapsed| view.update(&now, elapsed));
        view.finish();
        let ending = made.unwrap_or_else(|error| Ending::without_start(&error));
        let ending = Ending { took_s: begun.elapsed().as_secs_f64(), ..ending };
        self.store.remember(side, number, ending.clone())?;
        self.take(number, side, &ending)
    }

    /// Runs the command before a run of a side.
    fn run_before(&self, side: Side) -> Outcome {
        let Some(command) = &self.experiment.side(side).before else { return Ok(()) };
        let flag = flag(side, "before");
        let log =
            self.store.records.files.path().join(format!("before.{}.log", letter(side).to_ascii_lowercase()));
        let before = ShellCommand {
            name: &flag,
            command,
            variables: &[],
            log: &log,
            limit: self.experiment.before_timeout,
            limit_name: "--before-timeout",
        };
        let mut view = View::new(self.style, 0, 0);
        for line in before.run(Some(self.interrupt))? {
            view.note(&format!("{flag}: {line}"));
        }
        Ok(())
    }

    /// Reads the result of a run, and judges whether it may count.
    fn take(&mut self, number: u32, side: Side, ending: &Ending) -> Outcome {
        let result = self.store.read(side, number).map_err(|error| Failure::Target(error.to_string()))?;
        let metric = &self.experiment.looking.metric;
        let played = result.as_ref().map(|result| Played::of(result, metric));
        if let Some(result) = &result {
            self.environment.note(result);
        }
        let said =
            if ending.said.is_empty() { "the run ended early".to_owned() } else { ending.said.clone() };
        let failed = match (&played, ending.exit_code) {
            _ if self.interrupt.asked() => Some(Failure::Interrupted("interrupted".into())),
            (Some(run), _) if run.checks_failed > 0 => Some(Failure::CheckFailed(said)),
            (_, Some(1)) => Some(Failure::CheckFailed(said)),
            (_, Some(2)) => Some(Failure::usage(said)),
            (Some(run), Some(0)) if run.is_complete => match run.value {
                Some(value) if value > 0.0 => None,
                Some(_) => Some(Failure::usage(format!("{} is 0, which has no ratio", metric.name()))),
                None => Some(Failure::usage(format!("the result has no number for {}", metric.name()))),
            },
            _ => Some(Failure::Target(said)),
        };
        if let Some(slot) = self.slots.last_mut() {
            match side {
                Side::A => slot.a = played,
                Side::B => slot.b = played,
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Shows the last pair, and what all show so far.
    fn show_pair(&self, ab: &Ab) {
        let Some(pair) = ab.pairs.last() else { return };
        let value = |value: Option<f64>| with_unit(value, &ab.metric.unit);
        let mut view = View::new(self.style, 0, 0);
        view.note(&format!(
            "pair {}: A {}, B {} ({}); {}",
            pair.number,
            value(pair.a.value),
            value(pair.b.value),
            pair.role.words(),
            if ab.ab.pairs < 2 {
                format!("{} so far", plural(ab.ab.pairs as u64, "pair"))
            } else {
                sentence(ab)
            }
        ));
    }

    /// Writes the document and the page of all pairs so far.
    ///
    /// # Errors
    /// They can't be written.
    pub(crate) fn write(&self) -> Result<Ab, Failure> {
        let ab = document(self.experiment, &self.store, &self.slots, &self.environment);
        self.store.records.files.write_json(FILES.documents[0], &ab)?;
        self.store.records.files.write(FILES.documents[1], &render_ab(&ab))?;
        Ok(ab)
    }
}

/// Returns the least time that a run of a side takes: warm-up and window.
fn planned(experiment: &Experiment, side: Side) -> Duration {
    let plan = &experiment.side(side).subject.plan;
    plan.warmup + plan.duration
}
