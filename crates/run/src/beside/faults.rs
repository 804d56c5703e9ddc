//! The faults of a run: begun and undone at their moments of the window, and written into the result.

use crate::companion::{Begun, Companion, Now, Over};
use crate::fault_pieces;
use crate::ready::tpcc::Ready;
use lydite_bench::{RunControl, Runnable};
use lydite_console::exit::Failure;
use lydite_console::interrupt::SetOnDrop;
use lydite_console::output::complain;
use lydite_database::Tpcc;
use lydite_faults::{Fault, FaultSpec, Injector};
use lydite_plan::Plan;
use lydite_report::RunResult;
use lydite_report::faults::{FaultResult, availability, untold};
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
    let specs = request.plan.controls.faults.specs().cloned().collect();
    Ok(Some(Box::new(OfRun { faults, specs })))
}

/// The faults of a run, with those of its plan.
struct OfRun {
    faults: Faults,
    specs: Vec<FaultSpec>,
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
        let specs: Vec<&FaultSpec> = self.specs.iter().collect();
        fault_pieces::add_to(&mut result.availability, &specs, &over.measurement.pieces);
        result.warnings.extend(self.faults.problems().map(|problem| format!("The fault {problem}")));
    }

    fn failures(&self, _: &Over<'_, W>) -> Vec<Failure> {
        self.faults.failure().into_iter().collect()
    }
}

/// The faults of a run, each with its guard.
pub struct Faults {
    slots: Vec<Slot>,
}

/// A fault of a run.
struct Slot {
    /// The guard, until the fault is over.
    injector: Mutex<Option<Injector>>,
    /// True if its guard can look at the servers before the begin: no other fault changes them then.
    announced: bool,
    from: Duration,
    /// Moment when it is undone; none if it stays.
    undone_at: Option<Duration>,
    result: Mutex<FaultResult>,
    /// The failure to begin or to undo it.
    problem: Mutex<Option<String>>,
    active: AtomicBool,
}

impl Faults {
    /// Starts the guards of all faults, for a window of this length, and waits until each has prepared its fault.
    /// Nothing is injected yet.
    ///
    /// # Errors
    /// A guard can't be started, or can't prepare its fault.
    pub fn start(faults: &[Fault], window: Duration) -> Result<Self, Failure> {
        let edges: Vec<Duration> = faults
            .iter()
            .flat_map(|fault| [Some(fault.spec.from), fault.spec.undone_at(window)])
            .flatten()
            .collect();
        let slot = |fault: &Fault| {
            let spec = &fault.spec;
            let near = |edge: &Duration| *edge < spec.from && *edge + AHEAD + EDGE > spec.from;
            let undone_at = spec.undone_at(window);
            let lasts = undone_at.map(|at| at.saturating_sub(spec.from));
            let injector = Injector::start(fault.clone(), lasts).map_err(|error| {
                Failure::usage(format!("the guard of {} can't be started: {error}", fault.name()))
            })?;
            Ok(Slot {
                injector: Mutex::new(Some(injector)),
                announced: !edges.iter().any(near),
                from: spec.from,
                undone_at,
                result: Mutex::new(configured(spec)),
                problem: Mutex::default(),
                active: AtomicBool::new(false),
            })
        };
        let faults = Self { slots: faults.iter().map(slot).collect::<Result<_, Failure>>()? };
        for slot in &faults.slots {
            if let Some(injector) = lock(&slot.injector).as_ref() {
                injector.wait_until_ready().map_err(|problem| {
                    Failure::usage(format!(
                        "fault {}: could not be prepared: {problem}",
                        injector.fault().name()
                    ))
                })?;
            }
        }
        Ok(faults)
    }

    /// Does `work`, a run that `control` may stop, and injects the faults meanwhile. All are undone when it returns.
    pub fn during<T>(&self, control: &RunControl, work: impl FnOnce() -> T) -> T {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            // The threads end too if the work panics.
            let _over = SetOnDrop(&over);
            for slot in &self.slots {
                let play = || slot.play(control, &over);
                if let Err(error) = thread::Builder::new().name("fault".into()).spawn_scoped(scope, play) {
                    slot.fail(format!("the system gives no thread for it: {error}"));
                }
            }
            work()
        })
    }

    /// Returns the names of the faults that are in force, in one line; none if there are none.
    fn in_force(&self) -> Option<String> {
        let active = self.slots.iter().filter(|slot| slot.active.load(Ordering::Relaxed));
        let names: Vec<String> = active.map(|slot| lock(&slot.result).name()).collect();
        (!names.is_empty()).then(|| format!("fault: {}", names.join(", ")))
    }

    /// Returns what became of each fault.
    pub fn results(&self) -> Vec<FaultResult> {
        self.slots.iter().map(|slot| lock(&slot.result).clone()).collect()
    }

    /// Returns the failure of faults that could not begin or be undone.
    pub fn failure(&self) -> Option<Failure> {
        let problems: Vec<String> = self.problems().map(|problem| format!("fault {problem}")).collect();
        (!problems.is_empty()).then(|| Failure::Target(problems.join("; ")))
    }

    fn problems(&self) -> impl Iterator<Item = String> {
        let problem =
            |slot: &Slot| Some(format!("{}: {}", lock(&slot.result).name(), lock(&slot.problem).as_ref()?));
        self.slots.iter().filter_map(problem)
    }
}

impl Slot {
    /// Begins and ends the fault at its moments. It ends at once when the run is stopped or over.
    fn play(&self, control: &RunControl, over: &AtomicBool) {
        let Some(mut injector) = lock(&self.injector).take() else { return };
        let ended = || over.load(Ordering::Relaxed) || control.is_stopped();
        // None if the run ends before.
        let begins = |ahead: Duration| loop {
            match control.window_start() {
                Some(start) => {
                    let moment = (start + self.from).checked_sub(ahead).unwrap_or(start);
                    return wait_until(moment, &ended).then_some(start);
                }
                None if ended() => return None,
                None => thread::sleep(LOOK),
            }
        };
        if self.announced && begins(AHEAD).is_some() {
            injector.approach();
        }
        let Some(start) = begins(Duration::ZERO) else {
            lock(&self.result).detail = "the run ended before it began".into();
            return;
        };
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

/// Names the faults for which a run of this plan can't compute R_e and T_e, with the reason and what to do.
pub fn warn_of_untold(plan: &Plan) {
    let faults: Vec<FaultResult> = plan.controls.faults.specs().map(configured).collect();
    for (name, why) in untold(plan.duration.as_secs_f64(), &faults) {
        complain(&format!("fault {name}: R_e and T_e will be missing: {why}"));
    }
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
