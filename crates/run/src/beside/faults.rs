//! The faults of a run: begun and undone at their moments of the window, and written into the result.

use crate::companion::{Begun, Companion, Now, Over};
use crate::fault_pieces;
use crate::ready::tpcc::Ready;
use lydite_bench::{RunControl, Runnable};
use lydite_console::exit::Failure;
use lydite_console::interrupt::SetOnDrop;
use lydite_console::output::complain;
use lydite_database::Tpcc;
use lydite_faults::{Fault, FaultError, FaultSpec, Injector};
use lydite_plan::Plan;
use lydite_report::RunResult;
use lydite_report::faults::{FaultResult, availability, periodic, untold};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Longest sleep between two looks at the run, which may end early.
const LOOK: Duration = Duration::from_millis(5);

/// Time before its begin at which a fault is announced to its guard.
const AHEAD: Duration = Duration::from_secs(1);
/// Time that the begin or the end of another fault may take. A fault looks at the servers as that one leaves them.
const EDGE: Duration = Duration::from_secs(2);

/// Starts the guards of the faults, if the run has any. They look at the servers as the run leaves them.
pub(super) fn begin(ready: &Ready<'_>) -> Begun<Tpcc> {
    let request = ready.request;
    if request.faults.is_empty() {
        return Ok(None);
    }
    let faults = Faults::start(&request.faults, request.plan.duration)?;
    Ok(Some(Box::new(OfRun { faults })))
}

/// The faults of a run.
struct OfRun {
    faults: Faults,
}

impl<W: Runnable> Companion<W> for OfRun {
    fn during(&self, control: &RunControl, work: &mut dyn FnMut()) {
        self.faults.during(control, work);
    }

    fn now(&self, now: &mut Now) {
        now.message = self.faults.in_force();
    }

    fn add_to(&self, over: &Over<'_, W>, result: &mut RunResult) {
        result.faults = self.faults.results();
        result.availability = availability(result);
        let specs: Vec<&FaultSpec> = self.faults.slots().map(|slot| &slot.fault.spec).collect();
        fault_pieces::add_to(&mut result.availability, &specs, &over.measurement.pieces);
        result.periodic_faults = periodic(result);
        result.warnings.extend(self.faults.problems().map(|problem| format!("The fault {problem}")));
    }

    fn failures(&self, _: &Over<'_, W>) -> Vec<Failure> {
        self.faults.failure().into_iter().collect()
    }
}

/// The faults of a run, each with its guard.
pub struct Faults {
    /// The occurrences of each fault, in the order of time.
    each: Vec<Vec<Slot>>,
}

/// An occurrence of a fault.
struct Slot {
    fault: Fault,
    /// The guard, from the end of the occurrence before until the fault is over.
    injector: Mutex<Option<Injector>>,
    /// True if its guard can look at the servers before the begin: no other fault changes them then.
    announced: bool,
    /// Moment when it is undone; none if it stays.
    undone_at: Option<Duration>,
    result: Mutex<FaultResult>,
    /// The failure to begin or to undo it.
    problem: Mutex<Option<String>>,
    active: AtomicBool,
}

impl Faults {
    /// Starts the guards of all faults, for a window of this length, and waits until each has prepared its fault. The
    /// guard of a fault that repeats is that of its first occurrence. Nothing is injected yet.
    ///
    /// # Errors
    /// A guard can't be started, or can't prepare its fault.
    pub fn start(faults: &[Fault], window: Duration) -> Result<Self, Failure> {
        let occurrences: Vec<Vec<FaultSpec>> =
            faults.iter().map(|fault| fault.spec.occurrences(window)).collect();
        let edges = |spec: &FaultSpec| [Some(spec.from), spec.undone_at(window)];
        let edges: Vec<Duration> = occurrences.iter().flatten().flat_map(edges).flatten().collect();
        let slot = |fault: &Fault, spec: FaultSpec, configured: FaultResult| {
            let near = |edge: &Duration| *edge < spec.from && *edge + AHEAD + EDGE > spec.from;
            Slot {
                injector: Mutex::default(),
                announced: !edges.iter().any(near),
                undone_at: spec.undone_at(window),
                result: Mutex::new(configured),
                problem: Mutex::default(),
                active: AtomicBool::new(false),
                fault: Fault { spec, sites: fault.sites.clone() },
            }
        };
        let mut each = Vec::new();
        for (fault, specs) in faults.iter().zip(occurrences) {
            let configured = configured_each(&fault.spec, &specs);
            let slots = specs.into_iter().zip(configured);
            each.push(slots.map(|(spec, configured)| slot(fault, spec, configured)).collect());
        }
        let faults = Self { each };
        let first = || faults.each.iter().filter_map(|slots| slots.first());
        for slot in first() {
            slot.start().map_err(|error| {
                Failure::usage(format!("the guard of {} can't be started: {error}", slot.fault.name()))
            })?;
        }
        for slot in first() {
            slot.wait_until_ready().map_err(|problem| {
                Failure::usage(format!("fault {}: could not be prepared: {problem}", slot.fault.name()))
            })?;
        }
        Ok(faults)
    }

    /// Returns all occurrences of all faults, in the order of the plan.
    fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.each.iter().flatten()
    }

    /// Does `work`, a run that `control` may stop, and injects the faults meanwhile. All are undone when it returns.
    pub fn during<T>(&self, control: &RunControl, work: impl FnOnce() -> T) -> T {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            // The threads end too if the work panics.
            let _over = SetOnDrop(&over);
            for slots in &self.each {
                let play = || slots.iter().for_each(|slot| slot.play(control, &over));
                if let Err(error) = thread::Builder::new().name("fault".into()).spawn_scoped(scope, play) {
                    slots.iter().for_each(|slot| {
                        slot.fail(format!("the system gives no thread for it: {error}"));
                    });
                }
            }
            work()
        })
    }

    /// Returns the names of the faults that are in force, in one line; none if there are none.
    fn in_force(&self) -> Option<String> {
        let active = self.slots().filter(|slot| slot.active.load(Ordering::Relaxed));
        let names: Vec<String> = active.map(|slot| lock(&slot.result).name()).collect();
        (!names.is_empty()).then(|| format!("fault: {}", names.join(", ")))
    }

    /// Returns what became of each fault, and of each occurrence of one that repeats.
    pub fn results(&self) -> Vec<FaultResult> {
        self.slots().map(|slot| lock(&slot.result).clone()).collect()
    }

    /// Returns the failure of faults that could not begin or be undone.
    pub fn failure(&self) -> Option<Failure> {
        let problems: Vec<String> = self.problems().map(|problem| format!("fault {problem}")).collect();
        (!problems.is_empty()).then(|| Failure::Target(problems.join("; ")))
    }

    /// Returns the problems, each once: the occurrences of a fault often have the same.
    fn problems(&self) -> impl Iterator<Item = String> {
        let problem =
            |slot: &Slot| Some(format!("{}: {}", lock(&slot.result).name(), lock(&slot.problem).as_ref()?));
        counted(self.slots().filter_map(problem)).into_iter().map(|(problem, times)| match times {
            1 => problem,
            times => format!("{problem} ({times} times)"),
        })
    }
}

impl Slot {
    /// Starts the guard.
    fn start(&self) -> io::Result<()> {
        let lasts = self.undone_at.map(|at| at.saturating_sub(self.fault.spec.from));
        *lock(&self.injector) = Some(Injector::start(self.fault.clone(), lasts)?);
        Ok(())
    }

    /// Waits until the guard has prepared the fault.
    fn wait_until_ready(&self) -> Result<(), FaultError> {
        lock(&self.injector).as_ref().map_or(Ok(()), Injector::wait_until_ready)
    }

    /// Takes the guard. A later occurrence of a fault starts its own first: one for each of them before the run would
    /// be too many processes.
    fn injector(&self) -> Result<Injector, FaultError> {
        if let Some(injector) = lock(&self.injector).take() {
            return Ok(injector);
        }
        let not_started = |error| FaultError::System { step: "its guard can't be started".into(), error };
        self.start().map_err(not_started)?;
        let unprepared = |problem| FaultError::Failed(format!("could not be prepared: {problem}"));
        self.wait_until_ready().map_err(unprepared)?;
        lock(&self.injector).take().ok_or_else(|| FaultError::Failed("its guard has ended".into()))
    }

    /// Begins and ends the fault at its moments. It ends at once when the run is stopped or over.
    fn play(&self, control: &RunControl, over: &AtomicBool) {
        let ended = || over.load(Ordering::Relaxed) || control.is_stopped();
        let not_begun = || lock(&self.result).detail = "the run ended before it began".into();
        if ended() {
            lock(&self.injector).take();
            return not_begun();
        }
        let mut injector = match self.injector() {
            Ok(injector) => injector,
            Err(problem) => return self.fail(problem.to_string()),
        };
        // None if the run ends before.
        let begins = |ahead: Duration| loop {
            match control.window_start() {
                Some(start) => {
                    let moment = (start + self.fault.spec.from).checked_sub(ahead).unwrap_or(start);
                    return wait_until(moment, &ended).then_some(start);
                }
                None if ended() => return None,
                None => thread::sleep(LOOK),
            }
        };
        if self.announced && begins(AHEAD).is_some() {
            injector.approach();
        }
        let Some(start) = begins(Duration::ZERO) else { return not_begun() };
        if self.undone_at.is_some_and(|undone_at| start.elapsed() >= undone_at) {
            return self.fail("was not begun: the occurrence before it was over too late".into());
        }
        match injector.begin() {
            Ok(begun) => {
                let mut result = lock(&self.result);
                result.begun_s = Some(start.elapsed().saturating_sub(begun.since).as_secs_f64());
                (result.how, result.detail, result.ok) = (begun.how, begun.proof, true);
            }
            Err(problem) => return self.fail(format!("could not begin: {problem}")),
        }
        let Some(undone_at) = self.undone_at else { return };
        self.active.store(true, Ordering::Relaxed);
        wait_until(start + undone_at, &ended);
        let undone = injector.end();
        self.active.store(false, Ordering::Relaxed);
        match undone {
            Ok(undone) => {
                let mut result = lock(&self.result);
                result.undone_s = Some(start.elapsed().saturating_sub(undone.since).as_secs_f64());
                if !undone.proof.is_empty() {
                    result.detail = format!("{}; {}", result.detail, undone.proof);
                }
            }
            Err(problem) => self.fail(format!("was not undone as planned: {problem}")),
        }
    }

    /// Notes a failure of the fault.
    fn fail(&self, problem: String) {
        let mut result = lock(&self.result);
        result.ok = false;
        result.detail =
            if result.detail.is_empty() { problem.clone() } else { format!("{}; {problem}", result.detail) };
        *lock(&self.problem) = Some(problem);
    }
}

/// Returns the part of a fault's result that the plan sets.
fn configured(spec: &FaultSpec) -> FaultResult {
    FaultResult {
        kind: spec
            .arguments
            .as_ref()
            .map_or(spec.kind.clone(), |arguments| format!("{}:{arguments}", spec.kind)),
        place: spec.place(),
        begin_s: spec.from.as_secs_f64(),
        end_s: spec.to.map(|to| to.as_secs_f64()),
        ..FaultResult::default()
    }
}

/// Returns the parts of the results of a fault's occurrences that the plan sets.
fn configured_each(fault: &FaultSpec, occurrences: &[FaultSpec]) -> Vec<FaultResult> {
    let each = (1..).zip(occurrences).map(|(number, spec)| FaultResult {
        every_s: fault.every.map(|every| every.as_secs_f64()),
        occurrence: fault.every.map(|_| number),
        ..configured(spec)
    });
    each.collect()
}

/// Warns about faults of a plan that occur once although they would repeat, and names those for which a run can't compute
/// R_e and T_e, with the reason and what to do.
pub fn warn_of_untold(plan: &Plan) {
    plan.controls.faults.too_rare().for_each(|line| complain(&line));
    let faults: Vec<FaultResult> = plan.controls.faults.occurrences().iter().map(configured).collect();
    let untold = untold(plan.duration.as_secs_f64(), &faults).into_iter();
    let lines = untold.map(|(name, why)| format!("fault {name}: R_e and T_e will be missing: {why}"));
    counted(lines).iter().for_each(|(line, _)| complain(line));
}

/// Returns the different lines in the order of their first places, each with the number of its places.
fn counted(lines: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut all: Vec<(String, usize)> = Vec::new();
    for line in lines {
        match all.iter_mut().find(|(known, _)| *known == line) {
            Some((_, times)) => *times += 1,
            None => all.push((line, 1)),
        }
    }
    all
}

/// Waits until a moment. Returns false if `ended` becomes true before.
fn wait_until(moment: Instant, ended: &dyn Fn() -> bool) -> bool {
    loop {
        if ended() {
            return false;
        }
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(LOOK));
    }
}

/// Locks what no thread leaves half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
