//! A database in memory that does what a test tells it.

use lydite_bench::{Measurement, Mode, RunControl, RunError, RunPlan, run};
use lydite_database::{
    Capabilities, Commit, ConditionFinding, DatabaseState, Demand, Description, Loader, Nodes, Session,
    Submitted, TableChecksum, Target, TargetError, TxError, TxMode,
};
use lydite_families::TargetSpec;
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::nurand::{CLoad, RunConstants};
use lydite_tpcc::{Outcome, Placement, Transaction};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// What a session is asked to do.
pub(crate) struct Call<'a> {
    /// Which connection, in the order in which they were made, from 0.
    pub(crate) session: usize,
    /// How many calls this session had before.
    pub(crate) number: usize,
    /// How many calls all sessions had before.
    pub(crate) total: usize,
    /// What was sent.
    pub(crate) transaction: &'a Transaction,
}

/// What a session answers; none for what a good database would.
type Script = dyn Fn(&Call<'_>) -> Option<TxError> + Send + Sync;
/// Whether connection number so-and-so is accepted.
type Door = dyn Fn(usize) -> Result<(), TargetError> + Send + Sync;

/// See the module.
pub(crate) struct Scripted {
    script: Arc<Script>,
    door: Box<Door>,
    seen: Arc<Mutex<Vec<Transaction>>>,
    total: Arc<AtomicUsize>,
    connections: AtomicUsize,
    /// How long a commit is on its way while the session is free; none where sessions wait.
    commit: Option<Duration>,
    /// Where the warehouses are, if it tells.
    placement: Option<Box<dyn Fn() -> Placement + Send + Sync>>,
}

impl Scripted {
    /// A database whose sessions follow `script`.
    pub(crate) fn new(script: impl Fn(&Call<'_>) -> Option<TxError> + Send + Sync + 'static) -> Self {
        Self {
            script: Arc::new(script),
            door: Box::new(|_| Ok(())),
            seen: Arc::default(),
            total: Arc::default(),
            connections: AtomicUsize::new(0),
            commit: None,
            placement: None,
        }
    }

    /// Tells where its warehouses are.
    pub(crate) fn placed(mut self, placement: impl Fn() -> Placement + Send + Sync + 'static) -> Self {
        self.placement = Some(Box::new(placement));
        self
    }

    /// Commits in a pipeline: each is there after `latency`.
    pub(crate) fn pipelined(mut self, latency: Duration) -> Self {
        self.commit = Some(latency);
        self
    }

    /// One that takes a fraction of a millisecond for everything.
    pub(crate) fn good() -> Self {
        Self::new(|_| {
            pause();
            None
        })
    }

    /// Asks `door` about each connection.
    pub(crate) fn with_door(
        mut self,
        door: impl Fn(usize) -> Result<(), TargetError> + Send + Sync + 'static,
    ) -> Self {
        self.door = Box::new(door);
        self
    }

    /// Everything that was sent, in the order in which it came.
    pub(crate) fn seen(&self) -> Vec<Transaction> {
        lock(&self.seen).clone()
    }

    /// How often something was sent.
    pub(crate) fn calls(&self) -> u64 {
        self.total.load(Ordering::SeqCst) as u64
    }

    /// How often somebody connected.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Keeps logs of what was sent short.
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
    commit: Option<Duration>,
    /// Knows the answers.
    null: Box<dyn Session>,
}

/// A commit that is there after a time.
struct OnItsWay(Duration);

impl Commit for OnItsWay {
    fn on_done(self: Box<Self>, done: Box<dyn FnOnce(Result<(), TxError>) + Send>) {
        std::thread::spawn(move || {
            std::thread::sleep(self.0);
            done(Ok(()));
        });
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
        Ok(match self.commit {
            Some(latency) => Submitted::Committing(outcome, Box::new(OnItsWay(latency))),
            None => Submitted::Done(outcome),
        })
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
            commit: self.commit,
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
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { nodes: Some(self), ..Capabilities::default() }
    }
}

impl Nodes for Scripted {
    fn placement(&self, _warehouses: u32) -> Result<Option<Placement>, TargetError> {
        Ok(self.placement.as_ref().map(|placement| placement()))
    }
}

/// A plan over two warehouses, without warm-up.
pub(crate) fn plan(mode: Mode, milliseconds: u64) -> RunPlan {
    RunPlan {
        warmup: Duration::ZERO,
        duration: Duration::from_millis(milliseconds),
        ..RunPlan::new(mode, 2, 42, RunConstants::new(42, CLoad(100)))
    }
}

/// A run that nobody watches or stops.
pub(crate) fn measure(target: &Arc<Scripted>, plan: &RunPlan) -> Result<Measurement, RunError> {
    let target: Arc<dyn Target> = Arc::<Scripted>::clone(target);
    run(&target, plan, &RunControl::default(), &mut |_| {})
}
