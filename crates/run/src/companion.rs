//! A companion of a run: something that is done beside its window, from before it to the result.

use crate::fleet::running::Agents;
use lydite_bench::{Measurement, RunControl, Runnable};
use lydite_console::exit::Failure;
use lydite_database::ReplicasReport;
use lydite_observe::Series;
use lydite_report::RunResult;
use lydite_report::model::CheckResult;

/// A companion that has begun; none if the run has no use for it.
pub(crate) type Begun<W> = Result<Option<Box<dyn Companion<W>>>, Failure>;

/// Something that is done beside the window of a run. It begins with a function in the table of its workload.
pub(crate) trait Companion<W: Runnable> {
    /// Returns the checks that were made when it began.
    fn made_before(&mut self) -> Vec<CheckResult> {
        Vec::new()
    }

    /// Does `work`, which `control` may stop: the warm-up and the window.
    fn during(&self, _control: &RunControl, work: &mut dyn FnMut()) {
        work();
    }

    /// Adds what the live view shows of it at this moment.
    fn now(&self, _now: &mut Now) {}

    /// Ends it, as soon as the window is over. Returns its check if it has one that is made however the run ended.
    fn finish(&mut self, _over: &Over<'_, W>) -> Option<Made> {
        None
    }

    /// Returns the name of its check after a run that ended as planned; none if it has no check.
    fn checks(&self, _over: &Over<'_, W>) -> Option<&'static str> {
        None
    }

    /// Makes the check.
    ///
    /// # Errors
    /// The database fails.
    fn check(&mut self, _over: &Over<'_, W>) -> Result<Found, Failure> {
        Ok(Found::default())
    }

    /// Does what can wait until all checks are made, so that it takes nothing from them.
    fn afterwards(&mut self, _over: &Over<'_, W>) {}

    /// Adds what it found to the result.
    fn add_to(&self, _over: &Over<'_, W>, _result: &mut RunResult) {}

    /// Returns its failures. They end the command with an exit code.
    fn failures(&self, _over: &Over<'_, W>) -> Vec<Failure> {
        Vec::new()
    }
}

/// A run whose window is over.
pub(crate) struct Over<'a, W: Runnable> {
    pub(crate) measurement: &'a Measurement<W>,
    /// Reads of the replicas, if it had any.
    pub(crate) replicas: Option<&'a ReplicasReport>,
    /// The agents that played it; none if this process did. Nobody knows the last acknowledgements of a lost one.
    pub(crate) agents: Agents,
}

/// A check with its name, or the failure to make it.
pub(crate) struct Made {
    pub(crate) id: &'static str,
    pub(crate) check: Result<CheckResult, Failure>,
}

/// The results of a check after a run, or of the conditions.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) results: Vec<CheckResult>,
    /// True if the user interrupted; then some are missing.
    pub(crate) stopped: bool,
}

/// `None` is a check that the user interrupted.
impl From<Option<CheckResult>> for Found {
    fn from(check: Option<CheckResult>) -> Self {
        Self { stopped: check.is_none(), results: check.into_iter().collect() }
    }
}

/// Contents of the live view beside the counts.
#[derive(Default)]
pub(crate) struct Now {
    /// Faults in force, in words.
    pub(crate) message: Option<String>,
    /// The newest values that were observed.
    pub(crate) observed: Vec<Series>,
    /// Lines that stay in the terminal.
    pub(crate) lines: Vec<String>,
}

/// The companions of a run.
pub(crate) struct Companions<W>(Vec<Box<dyn Companion<W>>>);

impl<W: Runnable> Companions<W> {
    /// Begins all of a table. Returns them with the checks that they made.
    ///
    /// # Errors
    /// One can't begin. Those that have begun are dropped, which ends them.
    pub(crate) fn begin<R>(
        table: &[fn(&R) -> Begun<W>],
        ready: &R,
    ) -> Result<(Self, Vec<CheckResult>), Failure> {
        let (mut all, mut checks) = (Vec::new(), Vec::new());
        for begin in table {
            if let Some(mut companion) = begin(ready)? {
                checks.extend(companion.made_before());
                all.push(companion);
            }
        }
        Ok((Self(all), checks))
    }

    /// Does `work` in the company of all.
    ///
    /// # Panics
    /// Panics if a companion does not do the work that it is given.
    pub(crate) fn during<T>(&self, control: &RunControl, work: impl FnOnce() -> T) -> T {
        let (mut work, mut done) = (Some(work), None);
        nested(&self.0, control, &mut || done = work.take().map(|work| work()));
        done.unwrap_or_else(|| unreachable!("each companion does the work that it is given"))
    }

    /// Returns what the live view shows of all.
    pub(crate) fn now(&self) -> Now {
        let mut now = Now::default();
        self.0.iter().for_each(|companion| companion.now(&mut now));
        now
    }

    /// Ends all. Returns the checks that are made however the run ended.
    pub(crate) fn finish(&mut self, over: &Over<'_, W>) -> Vec<Made> {
        self.0.iter_mut().filter_map(|companion| companion.finish(over)).collect()
    }

    /// Returns those with a check after the run and the names of their checks, in the order of the checks.
    pub(crate) fn with_checks<'a>(
        &'a mut self,
        over: &'a Over<'_, W>,
    ) -> impl Iterator<Item = (&'static str, &'a mut Box<dyn Companion<W>>)> {
        self.0.iter_mut().rev().filter_map(|companion| Some((companion.checks(over)?, companion)))
    }

    /// Does what can wait until all checks are made.
    pub(crate) fn afterwards(&mut self, over: &Over<'_, W>) {
        self.0.iter_mut().for_each(|companion| companion.afterwards(over));
    }

    /// Adds what all found to the result.
    pub(crate) fn add_to(&self, over: &Over<'_, W>, result: &mut RunResult) {
        self.0.iter().for_each(|companion| companion.add_to(over, result));
    }

    /// Returns the failures of all.
    pub(crate) fn failures(&self, over: &Over<'_, W>) -> Vec<Failure> {
        self.0.iter().flat_map(|companion| companion.failures(over)).collect()
    }
}

/// Does `work` within the first companion, within the second one, and so on.
fn nested<W: Runnable>(all: &[Box<dyn Companion<W>>], control: &RunControl, work: &mut dyn FnMut()) {
    match all.split_first() {
        None => work(),
        Some((outer, inner)) => outer.during(control, &mut || nested(inner, control, work)),
    }
}
