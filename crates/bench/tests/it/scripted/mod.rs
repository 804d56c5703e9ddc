//! A database in memory that follows a test's script.

use lydite_bench::{Measurement, Mode, RunControl, RunError, RunPlan, run};
use lydite_database::{
    Capabilities, Commit, ConditionFinding, DatabaseState, Demand, Description, FoundRows, HalfCounts,
    LedgerCounts, Loader, Nodes, RowKeys, Session, Submitted, TableChecksum, Target, TargetError, TxError,
    TxMode, Written,
};
use lydite_families::TargetSpec;
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::nurand::{CLoad, RunConstants};
use lydite_tpcc::{OrderId, Outcome, Placement, Transaction, TransactionKind};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// A call of a session.
pub(crate) struct Call<'a> {
    /// Number of the connection, in the order in which they were made, from 0.
    pub(crate) session: usize,
    /// Number of earlier calls of this session.
    pub(crate) number: usize,
    /// Number of earlier calls of all sessions.
    pub(crate) total: usize,
    /// Transaction that was sent.
    pub(crate) transaction: &'a Transaction,
}

/// Error that a session answers with; `None` for the answer of a good database.
type Script = dyn Fn(&Call<'_>) -> Option<TxError> + Send + Sync;
/// Decision to accept a connection, by its number.
type Door = dyn Fn(usize) -> Result<(), TargetError> + Send + Sync;

type Answer = Box<dyn FnOnce(Result<(), TxError>) + Send>;

/// The time at which commits are answered.
#[derive(Clone)]
enum Commits {
    /// With the transaction: the session waits.
    Awaited,
    /// After this time, while the session is free.
    After(Duration),
    /// When a session hurries. Until then they gather here.
    Gathered(Arc<Mutex<Vec<Answer>>>),
}

/// A database that follows a script. See the module.
pub(crate) struct Scripted {
    script: Arc<Script>,
    door: Box<Door>,
    seen: Arc<Mutex<Vec<Transaction>>>,
    total: Arc<AtomicUsize>,
    connections: AtomicUsize,
    commits: Commits,
    /// Placement of the warehouses, if the database reports it.
    placement: Option<Box<dyn Fn() -> Placement + Send + Sync>>,
}

impl Scripted {
    /// Makes a database whose sessions follow `script`.
    pub(crate) fn new(script: impl Fn(&Call<'_>) -> Option<TxError> + Send + Sync + 'static) -> Self {
        Self {
            script: Arc::new(script),
            door: Box::new(|_| Ok(())),
            seen: Arc::default(),
            total: Arc::default(),
            connections: AtomicUsize::new(0),
            commits: Commits::Awaited,
            placement: None,
        }
    }

    /// Makes the database report a placement.
    pub(crate) fn placed(mut self, placement: impl Fn() -> Placement + Send + Sync + 'static) -> Self {
        self.placement = Some(Box::new(placement));
        self
    }

    /// Makes commits pipelined: each takes `latency`.
    pub(crate) fn pipelined(mut self, latency: Duration) -> Self {
        self.commits = Commits::After(latency);
        self
    }

    /// Makes commits pipelined: each takes until a session hurries.
    pub(crate) fn gathering(mut self) -> Self {
        self.commits = Commits::Gathered(Arc::default());
        self
    }

    /// Makes a database that takes a fraction of a millisecond for each transaction.
    pub(crate) fn good() -> Self {
        Self::new(|_| {
            pause();
            None
        })
    }

    /// Makes `door` decide about each connection.
    pub(crate) fn with_door(
        mut self,
        door: impl Fn(usize) -> Result<(), TargetError> + Send + Sync + 'static,
    ) -> Self {
        self.door = Box::new(door);
        self
    }

    /// Returns all transactions in the order in which they came.
    pub(crate) fn seen(&self) -> Vec<Transaction> {
        lock(&self.seen).clone()
    }

    /// Returns the number of transactions that came.
    pub(crate) fn calls(&self) -> u64 {
        self.total.load(Ordering::SeqCst) as u64
    }

    /// Returns the number of connections.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Waits a moment, which keeps the logs of transactions short.
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_micros(200));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

struct ScriptedSession {
    script: Arc<Script>,
    seen: Arc<Mutex<Vec<Transaction>>>,
    total: Arc<AtomicUsize>,
    index: usize,
    number: usize,
    commits: Commits,
    /// Session of `null:` that gives the answers.
    null: Box<dyn Session>,
}

impl Commit for Commits {
    fn on_done(self: Box<Self>, done: Answer) {
        match *self {
            Self::Awaited => done(Ok(())),
            Self::After(latency) => drop(std::thread::spawn(move || {
                std::thread::sleep(latency);
                done(Ok(()));
            })),
            Self::Gathered(answers) => lock(&answers).push(done),
        }
    }
}

impl Session for ScriptedSession {
    fn execute(&mut self, transaction: &Transaction) -> Result<Outcome, TxError> {
        lock(&self.seen).push(transaction.clone());
        let total = self.total.fetch_add(1, Ordering::SeqCst);
        let call = Call { session: self.index, number: self.number, total, transaction };
        self.number += 1;
        match (self.script)(&call) {
            Some(error) => Err(error),
            None => self.null.execute(transaction),
        }
    }

    fn submit(&mut self, transaction: &Transaction) -> Result<Submitted, TxError> {
        let outcome = self.execute(transaction)?;
        Ok(match &self.commits {
            Commits::Awaited => Submitted::Done(outcome),
            commits => Submitted::Committing(outcome, Box::new(commits.clone())),
        })
    }

    fn hurry(&mut self) {
        if let Commits::Gathered(answers) = &self.commits {
            let answers = std::mem::take(&mut *lock(answers));
            answers.into_iter().for_each(|answer| answer(Ok(())));
        }
    }
}

impl Target for Scripted {
    fn describe(&self) -> Result<Description, TargetError> {
        Err(TargetError::usage("not scripted"))
    }
    fn state(&self) -> Result<DatabaseState, TargetError> {
        Ok(DatabaseState::AnyScale)
    }
    fn admit(&self, _demand: &Demand) -> Result<Vec<String>, TargetError> {
        Ok(Vec::new())
    }
    fn begin_load(&self) -> Result<Box<dyn Send>, TargetError> {
        Ok(Box::new(()))
    }
    fn create_schema(&self, _meta: &DatabaseMeta) -> Result<(), TargetError> {
        Err(TargetError::usage("not scripted"))
    }
    fn loader(&self) -> Result<Box<dyn Loader>, TargetError> {
        Err(TargetError::usage("not scripted"))
    }
    fn finish_load(&self, _jobs: usize, _stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> {
        Err(TargetError::usage("not scripted"))
    }
    fn note_played(&self, _kinds: &[TransactionKind]) -> Result<(), TargetError> {
        Err(TargetError::usage("not scripted"))
    }
    fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        let index = self.connections.fetch_add(1, Ordering::SeqCst);
        (self.door)(index)?;
        let null = TargetSpec::parse("null:", TxMode::Statements)
            .map_err(|errors| TargetError::usage(errors.join("; ")))?
            .open()?
            .connect()?;
        Ok(Box::new(ScriptedSession {
            script: Arc::clone(&self.script),
            seen: Arc::clone(&self.seen),
            total: Arc::clone(&self.total),
            index,
            number: 0,
            commits: self.commits.clone(),
            null,
        }))
    }
    fn reset(&self) -> Result<(), TargetError> {
        Err(TargetError::usage("not scripted"))
    }
    fn check(
        &self,
        _conditions: &[Condition],
        _done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError> {
        Err(TargetError::usage("not scripted"))
    }
    fn checksums(&self) -> Result<Vec<TableChecksum>, TargetError> {
        Err(TargetError::usage("not scripted"))
    }
    fn counts(&self, _warehouses: &RangeInclusive<u32>) -> Result<LedgerCounts, TargetError> {
        Err(TargetError::usage("not scripted"))
    }
    fn written(
        &self,
        _warehouses: &RangeInclusive<u32>,
        _orders_from: Option<OrderId>,
    ) -> Result<Written, TargetError> {
        Err(TargetError::usage("not scripted"))
    }

    fn reread(&self, _keys: &RowKeys) -> Result<FoundRows, TargetError> {
        Err(TargetError::usage("not scripted"))
    }

    fn halves(
        &self,
        _warehouses: &RangeInclusive<u32>,
        _loaded_orders: OrderId,
    ) -> Result<HalfCounts, TargetError> {
        Err(TargetError::usage("not scripted"))
    }
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { nodes: Some(self), ..Capabilities::default() }
    }
}

impl Nodes for Scripted {
    fn placement(&self, _warehouses: u32) -> Result<Option<Placement>, TargetError> {
        Ok(self.placement.as_ref().map(|placement| placement()))
    }
}

/// Returns a plan over two warehouses, without warm-up.
pub(crate) fn plan(mode: Mode, milliseconds: u64) -> RunPlan {
    RunPlan {
        warmup: Duration::ZERO,
        duration: Duration::from_millis(milliseconds),
        ..RunPlan::new(mode, 2, 42, RunConstants::new(42, CLoad(100)))
    }
}

/// Calls `measure` with this length of a run in milliseconds, and with greater ones until it returns a value. A machine
/// under load may do nothing that can be judged within the first. Wrong results should fail in `measure`.
pub(crate) fn longer<T>(milliseconds: u64, mut measure: impl FnMut(u64) -> Option<T>) -> T {
    let lengths = [1, 8, 60].map(|times| times * milliseconds);
    lengths.into_iter().find_map(&mut measure).expect("the greatest length to be enough")
}

/// Runs a plan without an observer or a stop.
pub(crate) fn measure(target: &Arc<Scripted>, plan: &RunPlan) -> Result<Measurement, RunError> {
    let target: Arc<dyn Target> = Arc::<Scripted>::clone(target);
    run(&target, plan, &RunControl::default(), &mut |_| {})
}
