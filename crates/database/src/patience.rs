//! Waits for servers outside of the measured window. Each wait has a limit, reports what it waits for, and ends when
//! the user interrupts it.
//!
//! A server may work on one statement for hours without sending a byte (a condition over a thousand warehouses, an
//! index on a large table), so silence alone proves nothing. When an answer is late, a new connection is tried. A
//! server that answers new connections is alive, and the wait goes on. The wait fails when neither the answer nor a new
//! connection came within the limit that the URL sets.
//!
//! A thread of its own sends the request and reads the answer. When the wait fails, that thread is left behind: nothing
//! else ends a read from a connection that delivers no bytes.

use crate::balances::Balances;
use crate::capabilities::{
    BalanceTarget, Capabilities, HeldTarget, NodeSize, Nodes, Replicated, StoppableWork, StoreTest,
};
use crate::connecting::{CONNECT_TIMEOUT, Connecting};
use crate::error::{Committed, TargetError, TargetErrorKind, TxError};
use crate::held;
use crate::load::{LoadProgress, LoadUnit, Loader};
use crate::micro::{MicroLoader, MicroTarget};
use crate::observe::{Configuration, Observe, Observer};
use crate::replication::{Positions, Replication};
use crate::session::Session;
use crate::target::{
    ConditionFinding, DatabaseState, Demand, Description, LedgerCounts, TableChecksum, Target,
};
use crate::target_url::OptionSpec;
use crate::workload::Micro;
use crate::written::Written;
use lydite_micro::{Engines, Meta, TableId, Totals};
use lydite_tpcc::consistency::{CONDITIONS, Condition};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::population::Population;
use lydite_tpcc::{OrderId, Placement};
use std::fmt;
use std::ops::RangeInclusive;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Longest silence of a server, unless its URL says otherwise.
pub const SILENCE: Duration = Duration::from_secs(30);
/// URL option that sets it.
pub const TIMEOUT: OptionSpec = OptionSpec {
    name: "timeout",
    values: "a time from 1s to 1h, such as 90s",
    default: "30s",
    about: "longest silence of the server outside of the measured window: no answer to a request, nor to a new connection",
};

/// Time between two looks for messages.
const LOOK: Duration = Duration::from_millis(50);
/// The most that counts as waited between two looks. A longer gap means that this process itself was stopped.
const STEP_MAX: Duration = Duration::from_secs(1);
/// Time between two trial connections to a silent server, and before the first.
const TRY: Duration = Duration::from_secs(3);
/// Time without an answer after which a line reports the wait.
const LATE: Duration = Duration::from_secs(5);
/// Limit for a server that an earlier wait gave up.
const ONCE_MORE: Duration = Duration::from_secs(3);
/// Time that an interrupted request has to end by itself.
const GRACE: Duration = Duration::from_secs(1);
/// The longest time between two lines about one wait.
const TELL_MAX: Duration = Duration::from_secs(60);

/// The user's side of a wait: ends it, and receives its reports.
pub trait Waiter: fmt::Debug + Send + Sync {
    /// True once the user wants to wait no longer.
    fn has_enough(&self) -> bool;

    /// Reports a wait. `alive` is true if the server answers new connections, so it is at work.
    fn tell(&self, line: &str, alive: bool);
}

/// The limit of waits for one target and everything that it opens.
#[derive(Clone)]
pub struct Patience(Arc<WaitState>);

struct WaitState {
    place: String,
    limit: Duration,
    waiter: Arc<dyn Waiter>,
    /// Function that tries a new connection. It returns true if the server answers.
    answers: Box<dyn Fn() -> bool + Send + Sync>,
    pulse: Mutex<Pulse>,
}

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patience").field("limit", &self.0.limit).finish_non_exhaustive()
    }
}

/// Signs of life of the server, shared by all requests that wait for it.
struct Pulse {
    waiting: usize,
    looked: Instant,
    /// Time waited since the last sign of life.
    silent: Duration,
    /// The silence at the last trial connection.
    tried: Duration,
    trying: bool,
    /// True if a trial connection was the last sign of life.
    by_connection: bool,
    /// True if a wait has given up on the server.
    gone: bool,
    told: Option<Instant>,
}

/// Messages from the thread of a request to the thread that waits.
enum Said<E, R> {
    Heard(E),
    End(Result<R, TargetError>),
}

/// A request that waits, as long as this lives.
struct Turn<'a>(&'a WaitState);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.pulse().waiting -= 1;
    }
}

impl WaitState {
    fn pulse(&self) -> MutexGuard<'_, Pulse> {
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the silence before the first trial connection and between two of them.
    fn patient_for(&self) -> Duration {
        TRY.min(self.limit / 4)
    }

    fn begin(&self) -> Turn<'_> {
        let mut pulse = self.pulse();
        if pulse.waiting == 0 {
            pulse.looked = Instant::now();
            pulse.silent = if pulse.gone { self.limit.saturating_sub(ONCE_MORE) } else { Duration::ZERO };
            pulse.tried = Duration::ZERO;
            pulse.by_connection = false;
        }
        pulse.waiting += 1;
        Turn(self)
    }

    fn sign_of_life(&self, by_connection: bool) {
        let mut pulse = self.pulse();
        pulse.silent = Duration::ZERO;
        pulse.tried = Duration::ZERO;
        pulse.by_connection = by_connection;
        pulse.gone = false;
    }
}

impl Patience {
    /// Makes the limit for the server at `place`. `limit` is its longest silence, `answers` tries a new connection.
    pub fn new(
        (place, limit): (String, Duration),
        waiter: Arc<dyn Waiter>,
        answers: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        let pulse = Pulse {
            waiting: 0,
            looked: Instant::now(),
            silent: Duration::ZERO,
            tried: Duration::ZERO,
            trying: false,
            by_connection: false,
            gone: false,
            told: None,
        };
        let answers = Box::new(answers);
        Self(Arc::new(WaitState { place, limit, waiter, answers, pulse: Mutex::new(pulse) }))
    }

    /// Sends a request with one answer and waits for it.
    pub fn ask<R: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce() -> Result<R, TargetError> + Send + 'static,
    ) -> Result<R, TargetError> {
        self.ask_for(&|| what.to_owned(), &|| 0, &mut |()| {}, move |_| work())
    }

    /// Sends a request with partial answers and passes them to `heard` as they come. `moved` returns a number that
    /// changes as long as the work makes progress.
    fn ask_for<E: Send + 'static, R: Send + 'static>(
        &self,
        what: &dyn Fn() -> String,
        moved: &dyn Fn() -> u64,
        heard: &mut dyn FnMut(E),
        work: impl FnOnce(&(dyn Fn(E) + Sync)) -> Result<R, TargetError> + Send + 'static,
    ) -> Result<R, TargetError> {
        let shared = &*self.0;
        // Requests after an interruption clean up, so the interruption must not end them.
        let deaf = shared.waiter.has_enough();
        let turn = shared.begin();
        let (sender, receiver) = channel();
        let connecting = Connecting::default();
        let asking_connects = connecting.clone();
        let asking = move || {
            asking_connects.watch_this_thread();
            // Nobody receives it if the thread was left behind.
            let result = work(&|event| drop(sender.send(Said::Heard(event))));
            let _heard = sender.send(Said::End(result));
        };
        let thread = Builder::new().name("asking".to_owned()).spawn(asking).map_err(|error| {
            TargetError::usage(format!(
                "can't start a thread to ask {}: {error}: raise ulimit -u",
                shared.place
            ))
        })?;
        let (mut quiet_since, mut next, mut known, mut stopped) = (Instant::now(), LATE, moved(), None);
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(Said::End(result)) => {
                    if !matches!(&result, Err(error) if error.kind == TargetErrorKind::Unreachable) {
                        shared.sign_of_life(false);
                    }
                    return result;
                }
                Ok(Said::Heard(event)) => {
                    heard(event);
                    shared.sign_of_life(false);
                    (quiet_since, next) = (Instant::now(), LATE);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => match thread.join() {
                    Err(panic) => resume_unwind(panic),
                    Ok(()) => return Err(TargetError::database("a request ended without an answer")),
                },
            }
            let now = moved();
            if now != known {
                known = now;
                shared.sign_of_life(false);
                (quiet_since, next) = (Instant::now(), LATE);
            }
            if !deaf && shared.waiter.has_enough() {
                let since = *stopped.get_or_insert_with(Instant::now);
                if since.elapsed() >= GRACE {
                    drop(turn);
                    return Err(TargetError::interrupted(format!(
                        "interrupted while waiting for the server: {}",
                        what()
                    )));
                }
            }
            let quiet = quiet_since.elapsed();
            let late = quiet >= next;
            if late {
                next += next.min(TELL_MAX);
            }
            self.look(what, late.then_some(quiet), connecting.is_on())?;
        }
    }

    /// Counts the silence, tries a new connection when one is due, and fails at the limit. Reports the wait if an
    /// answer is `late`. `connecting` is true if the request waits for a connection, which has a shorter limit.
    fn look(
        &self,
        what: &dyn Fn() -> String,
        late: Option<Duration>,
        connecting: bool,
    ) -> Result<(), TargetError> {
        let shared = &*self.0;
        let (silent, alive, tell) = {
            let mut pulse = shared.pulse();
            let now = Instant::now();
            let step = now.saturating_duration_since(pulse.looked).min(STEP_MAX);
            pulse.silent += step;
            pulse.looked = now;
            if !pulse.trying && pulse.silent >= pulse.tried + shared.patient_for() {
                pulse.tried = pulse.silent;
                pulse.trying = self.try_it();
            }
            pulse.gone |= pulse.silent >= shared.limit;
            // Only one of several requests that wait for the same server reports the wait.
            let tell = late.filter(|_| pulse.told.is_none_or(|told| told.elapsed() >= LATE));
            if tell.is_some() {
                pulse.told = Some(now);
            }
            (pulse.silent, pulse.by_connection && pulse.silent < 2 * TRY, tell)
        };
        let (limit, place) = (shared.limit.as_secs(), &shared.place);
        if silent >= shared.limit {
            return Err(TargetError::unreachable(format!(
                "{place}: waited for {}: no answer for {limit} s, nor to a new connection: is the server frozen, or the network \
                 cut? (?timeout=TIME in the URL sets the limit)",
                what()
            )));
        }
        if let Some(quiet) = tell {
            let state = if alive {
                format!("{} s; it answers new connections", quiet.as_secs())
            } else {
                let limit = if connecting { limit.min(CONNECT_TIMEOUT.as_secs()) } else { limit };
                format!("{} s; silent for {} s of at most {limit} s", quiet.as_secs(), silent.as_secs())
            };
            shared.waiter.tell(&format!("waiting for the server: {} ({state})", what()), alive);
        }
        Ok(())
    }

    /// Tries a new connection on a thread of its own. Returns false if the system provides no thread.
    fn try_it(&self) -> bool {
        let patience = self.clone();
        let work = move || {
            let answered = (patience.0.answers)();
            if answered {
                patience.0.sign_of_life(true);
            }
            patience.0.pulse().trying = false;
        };
        Builder::new().name("trying".to_owned()).spawn(work).is_ok()
    }

    /// Runs `work` on a thread and waits for it at most [`GRACE`].
    fn leave(&self, work: impl FnOnce() + Send + 'static) {
        let (done, end) = channel();
        let work = move || {
            work();
            let _heard = done.send(());
        };
        // Without a thread the work is dropped with the closure.
        if Builder::new().name("leaving".to_owned()).spawn(work).is_ok() {
            let _ended = end.recv_timeout(GRACE);
        }
    }
}

/// An object that is lent to a thread for each request.
struct Lent<T: ?Sized> {
    /// `None` after a request that was given up.
    thing: Option<Box<T>>,
    patience: Patience,
}

impl<T: ?Sized + Send + 'static> Lent<T> {
    fn new(thing: Box<T>, patience: &Patience) -> Self {
        Self { thing: Some(thing), patience: patience.clone() }
    }

    fn ask<R: Send + 'static>(
        &mut self,
        what: &dyn Fn() -> String,
        moved: &dyn Fn() -> u64,
        work: impl FnOnce(&mut T) -> Result<R, TargetError> + Send + 'static,
    ) -> Result<R, TargetError> {
        let Some(mut thing) = self.thing.take() else {
            return Err(TargetError::unreachable(format!(
                "{}: the connection was abandoned, because it gave no answer",
                self.patience.0.place
            )));
        };
        let asked = self.patience.ask_for(what, moved, &mut |()| {}, move |_| {
            let result = work(&mut thing);
            // The object comes back with the answer, even with an error.
            Ok((thing, result))
        });
        let (thing, result) = asked?;
        self.thing = Some(thing);
        result
    }
}

/// A target whose requests have a limit, are reported, and can be ended by the user.
pub struct Patient {
    target: Arc<dyn Target>,
    patience: Patience,
}

impl Patient {
    /// Wraps `target`, so that `patience` limits its requests.
    pub fn new(target: Arc<dyn Target>, patience: Patience) -> Self {
        Self { target, patience }
    }

    fn ask<R: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce(&dyn Target) -> Result<R, TargetError> + Send + 'static,
    ) -> Result<R, TargetError> {
        let target = Arc::clone(&self.target);
        self.patience.ask(what, move || work(&*target))
    }

    /// Sends a request for work that has stages.
    fn finish(
        &self,
        stage: &(dyn Fn(&str) + Sync),
        work: impl FnOnce(&dyn Target, &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> + Send + 'static,
    ) -> Result<(), TargetError> {
        let target = Arc::clone(&self.target);
        let now = Mutex::new("the end of the load".to_owned());
        let now = || now.lock().unwrap_or_else(PoisonError::into_inner);
        self.patience.ask_for(
            &|| now().clone(),
            &|| 0,
            &mut |begins: String| {
                stage(&begins);
                *now() = begins;
            },
            move |heard| work(&*target, &|begins| heard(begins.to_owned())),
        )
    }
}

/// Names the conditions without a finding. If all twelve conditions of the standard are among them, the text names
/// these together.
fn unanswered(conditions: &[Condition]) -> String {
    let is_standard = |condition: &Condition| CONDITIONS.iter().any(|known| known.clause == condition.clause);
    let all = conditions.iter().filter(|condition| is_standard(condition)).count() == CONDITIONS.len();
    let named = conditions.iter().filter(|condition| !(all && is_standard(condition)));
    let clauses: Vec<&str> = named.map(|condition| condition.clause).collect();
    match &clauses[..] {
        [] if all => "the twelve consistency conditions".to_owned(),
        [] => "the end of the check".to_owned(),
        more if all => format!("the twelve consistency conditions, {}", more.join(", ")),
        [one] => format!("consistency condition {one}"),
        several => format!("consistency conditions {}", several.join(", ")),
    }
}

impl Target for Patient {
    fn describe(&self) -> Result<Description, TargetError> {
        self.ask("its version and settings", |target| target.describe())
    }

    fn state(&self) -> Result<DatabaseState, TargetError> {
        self.ask("the state of the database", |target| target.state())
    }

    fn admit(&self, demand: &Demand) -> Result<Vec<String>, TargetError> {
        let what = match demand {
            Demand::Load => "the settings that a load needs",
            Demand::Districts(_) => "its limit of districts",
            Demand::FarStockLevels => "its support of remote Stock-Levels",
            Demand::Transactions(_) => "its transaction types",
            Demand::Sessions(_) => "its limit of connections",
        };
        let demand = demand.clone();
        self.ask(what, move |target| target.admit(&demand))
    }

    fn create_schema(&self, meta: &DatabaseMeta) -> Result<(), TargetError> {
        let meta = meta.clone();
        self.ask("the new tables", move |target| target.create_schema(&meta))
    }

    fn begin_load(&self) -> Result<Box<dyn Send>, TargetError> {
        let held = self.ask("the right to load", |target| target.begin_load())?;
        Ok(Box::new(Held { right: Some(held), patience: self.patience.clone() }))
    }

    fn loader(&self) -> Result<Box<dyn Loader>, TargetError> {
        let loader = self.ask("a new connection for the load", |target| target.loader())?;
        Ok(Box::new(Lent::new(loader, &self.patience)))
    }

    fn finish_load(&self, jobs: usize, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> {
        self.finish(stage, move |target, stage| target.finish_load(jobs, stage))
    }

    fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        self.ask("a new session", |target| target.connect())
    }

    fn reset(&self) -> Result<(), TargetError> {
        self.ask("dropping the tables", |target| target.reset())
    }

    fn check(
        &self,
        conditions: &[Condition],
        done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError> {
        let (target, asked) = (Arc::clone(&self.target), conditions.to_vec());
        let left = Mutex::new(conditions.to_vec());
        let left = || left.lock().unwrap_or_else(PoisonError::into_inner);
        self.patience.ask_for(
            &|| unanswered(&left()),
            &|| 0,
            &mut |finding: ConditionFinding| {
                left().retain(|condition| condition.number != finding.condition.number);
                done(&finding);
            },
            move |heard| target.check(&asked, &|finding| heard(finding.clone())),
        )
    }

    fn checksums(&self) -> Result<Vec<TableChecksum>, TargetError> {
        self.ask("the checksums of the tables", |target| target.checksums())
    }

    fn counts(&self, warehouses: &RangeInclusive<u32>) -> Result<LedgerCounts, TargetError> {
        let warehouses = warehouses.clone();
        self.ask("the numbers of orders and payments", move |target| target.counts(&warehouses))
    }

    fn written(
        &self,
        warehouses: &RangeInclusive<u32>,
        orders_from: Option<OrderId>,
    ) -> Result<Written, TargetError> {
        let warehouses = warehouses.clone();
        self.ask("the orders and payments", move |target| target.written(&warehouses, orders_from))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let offered = self.target.capabilities();
        Capabilities {
            nodes: offered.nodes.map(|_| self as _),
            replication: offered.replication.map(|_| self as _),
            balances: offered.balances.map(|_| self as _),
            held: offered.held.map(|_| self as _),
            micro: offered.micro.map(|_| self as _),
            store: offered.store.map(|_| self as _),
            work: offered.work.map(|_| self as _),
            server: offered.server,
            observe: offered.observe.map(|_| self as _),
        }
    }
}

impl Nodes for Patient {
    fn placement(&self, warehouses: u32) -> Result<Option<Placement>, TargetError> {
        self.ask("the placement of the warehouses", move |target| target.capabilities().placement(warehouses))
    }

    fn sizes(&self) -> Result<Option<Vec<NodeSize>>, TargetError> {
        self.ask("the sizes of the nodes", |target| target.capabilities().node_sizes())
    }
}

impl Replicated for Patient {
    fn replication(&self) -> Result<Replication, TargetError> {
        self.ask("its role in the replication", |target| target.capabilities().replication()?.replication())
    }

    fn positions(&self) -> Result<Option<Box<dyn Positions>>, TargetError> {
        let positions = self.ask("its position in the replication", |target| {
            target.capabilities().replication()?.positions()
        })?;
        Ok(positions.map(|positions| Box::new(Lent::new(positions, &self.patience)) as Box<dyn Positions>))
    }

    fn connect_to_read(&self) -> Result<Box<dyn Session>, TargetError> {
        self.ask("a new session", |target| target.capabilities().replication()?.connect_to_read())
    }
}

impl BalanceTarget for Patient {
    fn connect_balances(&self, longest_wait: Duration) -> Result<Box<dyn Session<Balances>>, TargetError> {
        self.ask("a new session for balances", move |target| {
            target.capabilities().balances()?.connect_balances(longest_wait)
        })
    }

    fn deadlock_timeout(&self) -> Result<Option<Duration>, TargetError> {
        self.ask("its deadlock timeout", |target| target.capabilities().balances()?.deadlock_timeout())
    }

    fn engines(&self) -> Result<Option<[String; 2]>, TargetError> {
        self.ask("the engines of its tables", |target| target.capabilities().balances()?.engines())
    }
}

impl HeldTarget for Patient {
    fn connect_held(&self) -> Result<Box<dyn Session<held::Held>>, TargetError> {
        self.ask("a new session that stops", |target| target.capabilities().held()?.connect_held())
    }

    fn lock_waits(&self) -> Result<Option<u64>, TargetError> {
        self.ask("the sessions that wait", |target| target.capabilities().held()?.lock_waits())
    }
}

impl Observe for Patient {
    /// Waits by itself: observers have limits of their own, and nobody waits for them.
    fn observer(&self) -> Result<Option<Box<dyn Observer>>, TargetError> {
        self.target.capabilities().observer()
    }

    fn configuration(&self) -> Result<Configuration, TargetError> {
        self.ask("its changed settings", |target| target.capabilities().configuration())
    }
}

impl StoreTest for Patient {
    fn try_functions(&self) -> Result<Option<String>, TargetError> {
        self.ask("its functions", |target| target.capabilities().store()?.try_functions())
    }
}

impl StoppableWork for Patient {
    fn stop_work(&self) {
        let target = Arc::clone(&self.target);
        // A frozen server does not react to it.
        let _without =
            Builder::new().name("cancel".to_owned()).spawn(move || target.capabilities().stop_work());
    }
}

impl MicroTarget for Patient {
    fn engines(&self) -> Engines {
        self.target.capabilities().micro.map_or(Engines::One, MicroTarget::engines)
    }

    fn create_tables(&self, meta: &Meta) -> Result<(), TargetError> {
        let meta = meta.clone();
        self.ask("the new tables", move |target| target.capabilities().micro()?.create_tables(&meta))
    }

    fn table_loader(&self, meta: &Meta) -> Result<Box<dyn MicroLoader>, TargetError> {
        let meta = meta.clone();
        let loader = self.ask("a new connection for the load", move |target| {
            target.capabilities().micro()?.table_loader(&meta)
        })?;
        Ok(Box::new(Lent::new(loader, &self.patience)))
    }

    fn finish_tables(
        &self,
        meta: &Meta,
        jobs: usize,
        stage: &(dyn Fn(&str) + Sync),
    ) -> Result<(), TargetError> {
        let meta = meta.clone();
        self.finish(stage, move |target, stage| {
            target.capabilities().micro()?.finish_tables(&meta, jobs, stage)
        })
    }

    fn connect_micro(&self, meta: &Meta) -> Result<Box<dyn Session<Micro>>, TargetError> {
        let meta = meta.clone();
        self.ask("a new session", move |target| target.capabilities().micro()?.connect_micro(&meta))
    }

    fn totals(&self, meta: &Meta, table: TableId) -> Result<Totals, TargetError> {
        let meta = meta.clone();
        self.ask("the sums of a table", move |target| target.capabilities().micro()?.totals(&meta, table))
    }
}

impl Loader for Lent<dyn Loader> {
    fn load(
        &mut self,
        unit: LoadUnit,
        population: &Population,
        progress: &LoadProgress,
    ) -> Result<(), TargetError> {
        let (population, counted) = (population.clone(), progress.clone());
        let what = || format!("the rows of {unit}");
        self.ask(&what, &|| progress.bytes(), move |loader| loader.load(unit, &population, &counted))
    }
}

impl MicroLoader for Lent<dyn MicroLoader> {
    fn load(&mut self, table: TableId, progress: &LoadProgress) -> Result<(), TargetError> {
        let counted = progress.clone();
        let what = || format!("the rows of table {}", table.number + 1);
        self.ask(&what, &|| progress.bytes(), move |loader| loader.load(table, &counted))
    }
}

impl Positions for Lent<dyn Positions> {
    fn position(&mut self) -> Result<String, TxError> {
        let what = || "its position in the replication".to_owned();
        self.ask(&what, &|| 0, |positions| Ok(positions.position())).map_err(unavailable)?
    }

    fn reach(&mut self, position: &str, longest: Duration) -> Result<bool, TxError> {
        let (what, position) = (|| "its position in the replication".to_owned(), position.to_owned());
        self.ask(&what, &|| 0, move |positions| Ok(positions.reach(&position, longest)))
            .map_err(unavailable)?
    }
}

/// Returns the error of a connection that was given up.
fn unavailable(error: TargetError) -> TxError {
    TxError::Unavailable { committed: Committed::No, detail: error.message }
}

/// The right to load. Its release waits at most [`GRACE`].
struct Held {
    right: Option<Box<dyn Send>>,
    patience: Patience,
}

impl Drop for Held {
    fn drop(&mut self) {
        let right = self.right.take();
        self.patience.leave(move || drop(right));
    }
}

#[cfg(test)]
mod tests {
    use super::unanswered;
    use lydite_tpcc::consistency::{CONDITIONS, EXTRA_CONDITIONS};

    #[test]
    fn the_standards_conditions_are_named_one_by_one_only_if_some_have_an_answer() {
        assert_eq!(unanswered(&CONDITIONS), "the twelve consistency conditions");
        let (one, extra) = (CONDITIONS[4].clause, EXTRA_CONDITIONS[0].clause);
        assert_eq!(unanswered(&CONDITIONS[4..5]), format!("consistency condition {one}"));
        let some = unanswered(&CONDITIONS[4..]);
        assert!(some.starts_with(&format!("consistency conditions {one}, ")), "{some}");
        let all = [&CONDITIONS[..], &EXTRA_CONDITIONS[..1]].concat();
        assert_eq!(unanswered(&all), format!("the twelve consistency conditions, {extra}"));
        assert_eq!(unanswered(&[]), "the end of the check");
    }
}
