//! Observation of the servers and of this machine during a run. A failure of it neither ends a run nor holds it up.

use crate::companion::{Begun, Companion, Made, Now, Over};
use crate::ready::tpcc::Ready;
use crate::sources::{Sought, Sources, Written, could_not};
use lydite_bench::{RunControl, Runnable};
use lydite_console::interrupt::SetOnDrop;
use lydite_database::{Configuration, Replicas, Target, Tpcc};
use lydite_faults::process::ProcessId;
use lydite_observe::{Observed, Processors, Series, Server, Shares, Source, Watch};
use lydite_plan::Plan;
use lydite_report::{RunResult, noise};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks at the run, which may end early.
const LOOK: Duration = Duration::from_millis(20);
/// Longest wait of a run's end for samples on their way.
const PATIENCE: Duration = Duration::from_secs(3);
/// The share of this machine's processors that others may use without a warning.
const OTHERS: f64 = 0.1;

/// Prepares the sources of a run of TPC-C.
pub(super) fn begin(ready: &Ready<'_>) -> Begun<Tpcc> {
    observe(&ready.request.plan, &ready.target, ready.replicas.as_deref())
}

/// Prepares the sources of a run of any workload.
pub(crate) fn observe<W: Runnable>(
    plan: &Plan,
    target: &Arc<dyn Target>,
    replicas: Option<&Replicas>,
) -> Begun<W> {
    let observing = Observing::new(plan, target, replicas);
    Ok(Some(Box::new(Watching { observing, found: None })))
}

/// The sources of a run, and what they told in the end.
struct Watching {
    observing: Observing,
    found: Option<Observations>,
}

impl<W: Runnable> Companion<W> for Watching {
    fn during(&self, control: &RunControl, work: &mut dyn FnMut()) {
        self.observing.during(control, work);
    }

    fn now(&self, now: &mut Now) {
        now.observed = self.observing.latest();
    }

    fn finish(&mut self, _: &Over<'_, W>) -> Option<Made> {
        self.found = Some(self.observing.finish());
        None
    }

    fn add_to(&self, _: &Over<'_, W>, result: &mut RunResult) {
        if let Some(found) = &self.found {
            found.add_to(result);
        }
    }
}

/// The sources of a run.
struct Observing {
    sources: Mutex<Vec<Source>>,
    length: Duration,
    configuration: Configuration,
    /// The database's servers on this machine.
    servers: Mutex<Vec<Server>>,
    /// True if these are all, so that the rest of the machine's work is that of others.
    others_known: bool,
    watch: Mutex<Option<Watch>>,
    /// Times of the processors at the start and at the end of the window, and of each server on them; the latter `None`
    /// if a server was down.
    times: Mutex<Vec<(Processors, Option<Vec<ServerTime>>)>>,
    /// Failures of observation, each with its object.
    problems: Mutex<Vec<String>>,
}

/// The uppermost process of a server, and the time that the server has used since its start, in seconds.
type ServerTime = (ProcessId, f64);

/// The observations of a run.
struct Observations {
    sources: Vec<Observed>,
    configuration: Configuration,
    /// Use of the processors in the window; none if it is not known.
    shares: Option<Shares>,
    /// Processors that the database's servers used; none if they are not known.
    servers: Option<f64>,
    problems: Vec<String>,
}

impl Observing {
    /// Prepares the sources of the plan. Asks the database for its configuration.
    fn new(plan: &Plan, target: &Arc<dyn Target>, replicas: Option<&Replicas>) -> Self {
        let found = Sources::find(&Sought { replicas, ..Sought::of_plan(plan, target) });
        // Without all of the database's processes nobody knows what the others did, nor with the helpers of faults.
        let faults = plan.controls.faults.specs().next().is_some();
        Self {
            sources: Mutex::new(found.sources),
            length: plan.duration,
            configuration: found.configuration,
            servers: Mutex::new(found.servers),
            others_known: found.all_known && !faults,
            watch: Mutex::default(),
            times: Mutex::default(),
            problems: Mutex::new(found.problems),
        }
    }

    /// Does `work`, a run that `control` may stop, and samples the sources meanwhile.
    fn during<T>(&self, control: &RunControl, work: impl FnOnce() -> T) -> T {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            // The thread ends too if the work panics.
            let _over = SetOnDrop(&over);
            let begin = || self.begin(control, &over);
            if let Err(error) = thread::Builder::new().name("observing".into()).spawn_scoped(scope, begin) {
                self.note(&error);
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
            Err(error) => self.note(&error),
        }
        for moment in [start, start + self.length] {
            while Instant::now() < moment {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                thread::sleep(LOOK.min(moment.saturating_duration_since(Instant::now())));
            }
            // Without these times there is no warning about others.
            if let Ok(now) = Processors::now() {
                let servers = lock(&self.servers).iter_mut().map(Server::cpu_s).collect();
                lock(&self.times).push((now, servers));
            }
        }
    }

    /// Notes that the system provides no thread.
    fn note(&self, error: &io::Error) {
        lock(&self.problems).push(format!("anything: {error}"));
    }

    /// Returns the newest value of each series, for the live view.
    fn latest(&self) -> Vec<Series> {
        lock(&self.watch).as_ref().map(Watch::latest).unwrap_or_default()
    }

    /// Ends the sampling and returns all.
    fn finish(&self) -> Observations {
        let watch = lock(&self.watch).take();
        let (shares, servers) = match &lock(&self.times)[..] {
            [(before, servers_before), (after, servers_after)] => {
                let servers = servers_before.as_ref().zip(servers_after.as_ref());
                let used =
                    servers.filter(|_| self.others_known).and_then(|(before, after)| used(before, after));
                (after.since(before), used.map(|seconds| seconds / self.length.as_secs_f64()))
            }
            _ => (None, None),
        };
        Observations {
            sources: watch.map(|watch| watch.finish(PATIENCE)).unwrap_or_default(),
            configuration: self.configuration.clone(),
            shares,
            servers,
            problems: std::mem::take(&mut *lock(&self.problems)),
        }
    }
}

/// Returns the time that servers have used between two moments; `None` if one was started again, and so counts again.
fn used(before: &[ServerTime], after: &[ServerTime]) -> Option<f64> {
    let of_one =
        |((then, before), (now, after)): (&ServerTime, &ServerTime)| (then == now).then(|| after - before);
    before.iter().zip(after).map(of_one).sum()
}

impl Observations {
    /// Adds the observations to the result.
    fn add_to(&self, result: &mut RunResult) {
        result.target.changed_settings.clone_from(&self.configuration.changed_settings);
        result.target.encrypted = self.configuration.encrypted;
        let written = Written::of(&self.sources, result.series.second.len());
        result.observed.extend(written.observed);
        result.statements.extend(written.statements);
        let failed = written.problems.iter().chain(&self.problems);
        result.warnings.extend(failed.map(|problem| could_not(problem)));
        let own_s = result.client.cpu_s + result.client.driver_cpu_s.unwrap_or_default();
        let own = own_s / result.window.measured_s;
        result.warnings.extend(self.shares.into_iter().flat_map(|shares| crowded(shares, own, self.servers)));
    }
}

/// Returns the warnings about the use of this machine's processors by others. `own` and `servers` are the numbers of
/// processors that the client and the database's servers used; the latter is `None` if they are not known.
fn crowded(shares: Shares, own: f64, servers: Option<f64>) -> Vec<String> {
    let Shares { busy, steal, all } = shares;
    let mut warnings = Vec::new();
    if steal > OTHERS * all {
        warnings.push(format!(
            "{} {steal:.1} of its {all:.0} processors away (steal): the numbers are \
             too low, and they vary",
            noise::STEAL
        ));
    }
    if let Some(others) = servers.map(|servers| busy - own - servers)
        && others > OTHERS * all
    {
        warnings.push(format!(
            "{} {others:.1} of this machine's {all:.0} processors: the \
             numbers may be too low; repeat the run on a quiet machine",
            noise::OTHERS
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
    fn the_time_of_a_server_that_was_started_again_is_not_known() {
        let of = |started: u64, seconds: f64| (ProcessId { pid: 7, started }, seconds);
        assert_eq!(used(&[of(1, 2.0), of(5, 1.0)], &[of(1, 6.0), of(5, 2.0)]), Some(5.0));
        assert_eq!(used(&[of(1, 2.0)], &[of(9, 6.0)]), None);
        assert_eq!(used(&[], &[]), Some(0.0));
    }

    #[test]
    fn others_are_reported_only_if_the_database_is_known() {
        let shares = |busy, steal| Shares { busy, steal, all: 4.0 };
        assert!(crowded(shares(1.3, 0.4), 1.0, Some(0.0)).is_empty());
        let others = crowded(shares(2.5, 0.0), 1.0, Some(1.0)).concat();
        assert!(others.contains("used 0.5 of this machine's 4 processors"), "{others}");
        assert!(crowded(shares(4.0, 0.0), 1.0, Some(3.0)).is_empty());
        assert!(crowded(shares(4.0, 0.0), 1.0, None).is_empty());
        let steal = crowded(shares(1.0, 0.5), 1.0, None).concat();
        assert!(steal.contains("took 0.5 of its 4 processors away (steal)"), "{steal}");
    }
}
