//! Observation of the servers and of this machine during a run. A failure of it neither ends a run nor holds it up.

use crate::exit::Failure;
use crate::interrupt::SetOnDrop;
use lydite_bench::RunControl;
use lydite_database::{Configuration, Target, TargetError};
use lydite_faults::sockets::Address;
use lydite_observe::{Observed, Opened, Processors, Series, Shares, Source, SourceSpec, Watch, host};
use lydite_plan::Plan;
use lydite_report::RunResult;
use lydite_report::observed::Observed as ObservedResult;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks at the run, which may end early.
const LOOK: Duration = Duration::from_millis(20);
/// Longest wait of a run's end for samples on their way.
const PATIENCE: Duration = Duration::from_secs(1);
/// The share of this machine's processors that others may use without a warning.
const OTHERS: f64 = 0.1;

/// Returns the problem of a source that can't be sampled now. The database is asked later, see [`check`].
pub(crate) fn reach(source: &SourceSpec) -> Option<String> {
    match source {
        SourceSpec::Database => None,
        SourceSpec::Host => host::observer().err(),
        SourceSpec::Exporter(exporter) => exporter.check().err(),
    }
}

/// Rejects a plan that observes a database with nothing to report, unless it does so by default.
pub(crate) fn check(plan: &Plan, target: &dyn Target) -> Result<(), Failure> {
    let configured = plan.observe.configured && plan.observe.sources.contains(&SourceSpec::Database);
    if configured && target.capabilities().observer()?.is_none() {
        let problem = "observe db: this database reports no statistics that Lydite knows: leave db out";
        return Err(Failure::usage(problem));
    }
    Ok(())
}

/// The sources of a run.
pub(crate) struct Observing {
    sources: Mutex<Vec<Source>>,
    length: Duration,
    configuration: Configuration,
    /// True if no server of the database is on this machine.
    elsewhere: bool,
    watch: Mutex<Option<Watch>>,
    /// Times of the processors at the start and at the end of the window.
    processors: Mutex<Vec<Processors>>,
    /// The failure to start threads.
    problem: Mutex<Option<String>>,
}

/// The observations of a run.
pub(crate) struct Observations {
    sources: Vec<Observed>,
    configuration: Configuration,
    elsewhere: bool,
    /// Use of the processors in the window; none if it is not known.
    shares: Option<Shares>,
    problem: Option<String>,
}

impl Observing {
    /// Prepares the sources of the plan. Asks the database for its configuration.
    pub(crate) fn new(plan: &Plan, target: &Arc<dyn Target>) -> Result<Self, Failure> {
        let source = |spec: &SourceSpec| Source { name: spec.name(), open: open(spec, target) };
        let addresses = &plan.controls.faults.addresses;
        let (configuration, problem) = match target.capabilities().configuration() {
            Ok(configuration) => (configuration, None),
            Err(error) => {
                (Configuration::default(), Some(format!("the server's settings: {}", error.message)))
            }
        };
        Ok(Self {
            sources: Mutex::new(plan.observe.sources.iter().map(source).collect()),
            length: plan.duration,
            configuration,
            elsewhere: plan.target.has_server()
                && !addresses.is_empty()
                && !addresses.iter().any(Address::is_here),
            watch: Mutex::default(),
            processors: Mutex::default(),
            problem: Mutex::new(problem),
        })
    }

    /// Does `work`, a run that `control` may stop, and samples the sources meanwhile.
    pub(crate) fn during<T>(&self, control: &RunControl, work: impl FnOnce() -> T) -> T {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            // The thread ends too if the work panics.
            let _over = SetOnDrop(&over);
            let begin = || self.begin(control, &over);
            if let Err(error) = thread::Builder::new().name("observing".into()).spawn_scoped(scope, begin) {
                *lock(&self.problem) = Some(error.to_string());
            }
            work()
        })
    }

    /// Starts the threads that sample once the start of the window is known. All sessions are connected then, so
    /// observers take no connection from them.
    fn begin(&self, control: &RunControl, over: &AtomicBool) {
        let start = loop {
            if let Some(start) = control.window_start() {
                break start;
            }
            if over.load(Ordering::Relaxed) {
                return;
            }
            thread::sleep(LOOK);
        };
        let sources = std::mem::take(&mut *lock(&self.sources));
        match Watch::start(sources, start, self.length) {
            Ok(watch) => *lock(&self.watch) = Some(watch),
            Err(error) => *lock(&self.problem) = Some(error.to_string()),
        }
        for moment in [start, start + self.length] {
            while Instant::now() < moment {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                thread::sleep(LOOK.min(moment.saturating_duration_since(Instant::now())));
            }
            // Without these times there is no warning about others.
            lock(&self.processors).extend(Processors::now());
        }
    }

    /// Returns the newest value of each series, for the live view.
    pub(crate) fn latest(&self) -> Vec<Series> {
        lock(&self.watch).as_ref().map(Watch::latest).unwrap_or_default()
    }

    /// Ends the sampling and returns all.
    pub(crate) fn finish(self) -> Observations {
        let watch = lock(&self.watch).take();
        let shares = match lock(&self.processors)[..] {
            [before, after] => after.since(&before),
            _ => None,
        };
        Observations {
            sources: watch.map(|watch| watch.finish(PATIENCE)).unwrap_or_default(),
            configuration: self.configuration,
            elsewhere: self.elsewhere,
            shares,
            problem: lock(&self.problem).take(),
        }
    }
}

/// Returns the function that opens an observer.
fn open(spec: &SourceSpec, target: &Arc<dyn Target>) -> Box<dyn FnMut() -> Opened + Send> {
    match spec {
        SourceSpec::Database => {
            let target = Arc::clone(target);
            Box::new(move || target.capabilities().observer())
        }
        SourceSpec::Host => Box::new(|| host::observer().map(Some).map_err(TargetError::database)),
        SourceSpec::Exporter(exporter) => {
            let exporter = exporter.clone();
            Box::new(move || Ok(Some(exporter.observer())))
        }
    }
}

impl Observations {
    /// Returns the result with the observations.
    pub(crate) fn add_to(&self, mut result: RunResult) -> RunResult {
        result.target.changed_settings.clone_from(&self.configuration.changed_settings);
        result.target.encrypted = self.configuration.encrypted;
        let seconds = result.series.second.len();
        for source in &self.sources {
            result.observed.extend(source.series(seconds).into_iter().map(|series| ObservedResult {
                source: source.name.clone(),
                name: series.name,
                unit: series.unit.to_owned(),
                values: series.values,
            }));
        }
        let silent = self.sources.iter().filter(|source| source.is_empty() || source.is_cut());
        let silent = silent.filter_map(|source| Some((source.name.as_str(), source.problem.as_ref()?)));
        let silent = silent.chain(self.problem.iter().map(|problem| ("anything", problem)));
        result.warnings.extend(silent.map(|(name, problem)| format!("Observing {name} failed: {problem}")));
        let own_s = result.client.cpu_s + result.client.driver_cpu_s.unwrap_or_default();
        let own = own_s / result.window.measured_s;
        result
            .warnings
            .extend(self.shares.into_iter().flat_map(|shares| crowded(shares, own, self.elsewhere)));
        result
    }
}

/// Returns the warnings about the use of this machine's processors by others. `own` is the number of processors that
/// the client used. Only if the database is `elsewhere`, others are no part of it.
fn crowded(shares: Shares, own: f64, elsewhere: bool) -> Vec<String> {
    let Shares { busy, steal, all } = shares;
    let others = busy - own;
    let mut warnings = Vec::new();
    if steal > OTHERS * all {
        warnings.push(format!(
            "The host of this virtual machine took {steal:.1} of its {all:.0} processors away (steal): the numbers are \
             too low, and they vary"
        ));
    }
    if elsewhere && others > OTHERS * all {
        warnings.push(format!(
            "Other programs used {others:.1} of this machine's {all:.0} processors: they may have slowed the client; \
             run it on a machine of its own"
        ));
    }
    warnings
}

/// Locks what no thread leaves half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_told_only_if_they_can_not_be_the_database() {
        let shares = |busy, steal| Shares { busy, steal, all: 4.0 };
        assert!(crowded(shares(1.3, 0.4), 1.0, true).is_empty());
        let others = crowded(shares(1.5, 0.0), 1.0, true).concat();
        assert!(others.starts_with("Other programs used 0.5 of this machine's 4 processors"), "{others}");
        assert!(crowded(shares(4.0, 0.0), 1.0, false).is_empty());
        let steal = crowded(shares(1.0, 0.5), 1.0, false).concat();
        assert!(steal.contains("took 0.5 of its 4 processors away (steal)"), "{steal}");
    }
}
