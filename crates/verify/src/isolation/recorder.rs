//! The sessions of a recording, each on its own thread, and the log that they share.

use super::settings::{Recording, Settings};
use crate::history::{History, KeyId, Op, Outcome, Transaction, lost};
use lydite_database::{Committed, Session, TargetError, TargetErrorKind, TxError, Workload};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

/// Interval between two looks for a stop, and between two attempts to connect.
pub(super) const LOOK: Duration = Duration::from_millis(20);
/// Time beyond the limit after which a session without an answer counts as hanging.
const GRACE: Duration = Duration::from_secs(30);
/// Consecutive transactions of a session that may fail for good. More of them are no isolation, but a wrong set-up.
const FAILURES_MOST: u32 = 20;
/// Attempts to read a key at the end.
const READS_MOST: u32 = 50;
/// Longest wait for a database that went away to come back, for the reads at the end and for the drop of the tables.
const ABSENCE: Duration = Duration::from_secs(60);
/// The same after the user has stopped the recording.
const ABSENCE_STOPPED: Duration = Duration::from_secs(5);
/// Time for which the reads at the end are repeated as long as they lack an acknowledged write. A node of a cluster may
/// show it late, and a late write is not lost.
const SETTLING: Duration = Duration::from_secs(5);
/// Time between two such reads.
const SETTLES: Duration = Duration::from_millis(100);

/// Source of the transactions of a recording, and their meaning as a history.
pub(super) trait Source: Send + Sync + 'static {
    /// Workload of the sessions.
    type Workload: Workload;

    /// Connects a session.
    fn connect(&self) -> Result<Box<dyn Session<Self::Workload>>, TargetError>;

    /// Draws the next transaction of a process.
    fn deal(&self, process: u32) -> Result<Dealt<Self::Workload>, TargetError>;

    /// Writes the answer to a transaction into its operations.
    fn answered(
        &self,
        transaction: &<Self::Workload as Workload>::Transaction,
        answer: &Result<<Self::Workload as Workload>::Outcome, TxError>,
        ops: &mut Vec<Op>,
    );

    /// Returns the transactions that read everything at the end, one by one.
    fn final_reads(&self) -> Result<Vec<Dealt<Self::Workload>>, TargetError>;

    /// Returns the transactions that read these keys of the history at the end, one by one.
    fn final_reads_of(&self, keys: &[KeyId]) -> Vec<Dealt<Self::Workload>>;

    /// Makes the history of the transactions, in the order in which they were invoked. Those that began at `final_from` or
    /// later are the reads at the end. It may be called more than once.
    ///
    /// # Errors
    /// The reason why a part of the history is left out, with the rest of it.
    fn history(&self, transactions: Vec<Transaction>, final_from: Option<u64>) -> (History, Option<String>);
}

/// A transaction in the words of its workload and of the history.
pub(super) struct Dealt<W: Workload> {
    pub(super) transaction: W::Transaction,
    /// Operations as far as they are known before the answer.
    pub(super) ops: Vec<Op>,
    /// True if the workload rolls it back.
    pub(super) rolls_back: bool,
}

/// A recording in progress.
pub(super) struct Recorder<S: Source> {
    shared: Arc<Shared<S>>,
    sessions: Vec<Box<dyn Session<S::Workload>>>,
}

struct Shared<S> {
    source: S,
    settings: Settings,
    /// Logical clock. It is sequentially consistent, so no position is older than what a session learned before.
    clock: AtomicU64,
    dealt: AtomicU64,
    over: AtomicBool,
    log: Mutex<Log>,
}

/// Transactions so far.
#[derive(Default)]
struct Log {
    ended: Vec<Transaction>,
    /// Transactions without an answer, by process.
    open: BTreeMap<u32, Transaction>,
    aborts: BTreeMap<&'static str, u64>,
    /// True once the history is taken: later answers are too late.
    closed: bool,
}

/// Repeats a request while the database is away, for a while.
pub(super) fn insist<T>(
    stop: &dyn Fn() -> bool,
    request: impl Fn() -> Result<T, TargetError>,
) -> Result<T, TargetError> {
    let begun = Instant::now();
    loop {
        let longest = if stop() { ABSENCE_STOPPED } else { ABSENCE };
        match request() {
            Err(error) if error.kind == TargetErrorKind::Unreachable && begun.elapsed() < longest => {
                thread::sleep(LOOK);
            }
            result => return result,
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: Source> Shared<S> {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Takes the next position of the clock.
    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Returns the transactions that have ended so far, in the order in which they were invoked.
    fn ended(&self) -> Vec<Transaction> {
        let mut ended = lock(&self.log).ended.clone();
        ended.sort_unstable_by_key(|tx| tx.invoked);
        ended
    }

    /// Connects anew until that succeeds or the recording is over.
    fn reconnect(&self) -> Option<Box<dyn Session<S::Workload>>> {
        while !self.is_over() {
            match self.source.connect() {
                Ok(session) => return Some(session),
                Err(_) => thread::sleep(LOOK),
            }
        }
        None
    }

    /// Draws the next transaction; none if there are no more.
    fn deal(&self, process: u32) -> Result<Option<Dealt<S::Workload>>, TargetError> {
        if self.dealt.fetch_add(1, Ordering::Relaxed) >= self.settings.transactions {
            return Ok(None);
        }
        self.source.deal(process).map(Some)
    }

    /// Plays a transaction and logs it.
    fn play(
        &self,
        process: u32,
        session: &mut dyn Session<S::Workload>,
        Dealt { transaction, ops, rolls_back }: &Dealt<S::Workload>,
    ) -> Result<(), TxError> {
        let invoked = self.tick();
        let outcome = Outcome::Unknown;
        let record = Transaction { process, invoked, completed: invoked, outcome, ops: ops.clone() };
        lock(&self.log).open.insert(process, record);
        let answer = session.execute(transaction);
        let completed = self.tick();
        let mut log = lock(&self.log);
        let Some(mut record) = log.open.remove(&process).filter(|_| !log.closed) else { return Ok(()) };
        record.completed = completed;
        record.outcome = match &answer {
            Ok(_) => Outcome::Committed,
            Err(
                TxError::Unavailable { committed: Committed::Unknown, .. }
                | TxError::WrongRows { committed: Committed::Unknown, .. },
            ) => Outcome::Unknown,
            Err(_) => Outcome::Aborted,
        };
        self.source.answered(transaction, &answer, &mut record.ops);
        if let Err(TxError::Aborted { reason, .. }) = &answer
            && !rolls_back
        {
            *log.aborts.entry(reason.name()).or_default() += 1;
        }
        log.ended.push(record);
        answer.map(drop)
    }

    /// Plays transactions until the recording is over.
    fn work(&self, process: u32, mut session: Box<dyn Session<S::Workload>>) -> Result<(), TargetError> {
        let mut failures = 0;
        while !self.is_over() {
            let dealt = match self.deal(process) {
                Ok(Some(dealt)) => dealt,
                Ok(None) => return Ok(()),
                // The next keys can't be made while the database is away.
                Err(_) if self.is_over() => return Ok(()),
                Err(error) => return Err(error),
            };
            failures = match self.play(process, &mut *session, &dealt) {
                Ok(()) | Err(TxError::Aborted { .. } | TxError::RolledBack(_)) => 0,
                Err(TxError::Unavailable { .. } | TxError::Broken(_)) => {
                    drop(session);
                    let Some(connected) = self.reconnect() else { return Ok(()) };
                    session = connected;
                    0
                }
                Err(TxError::Fatal(_) | TxError::WrongRows { .. }) if failures < FAILURES_MOST => {
                    failures + 1
                }
                Err(error @ (TxError::Fatal(_) | TxError::WrongRows { .. })) => {
                    return Err(TargetError::database(error.to_string()));
                }
            };
        }
        Ok(())
    }
}

impl<S: Source> Recorder<S> {
    /// Connects all sessions.
    pub(super) fn new(source: S, settings: Settings) -> Result<Self, TargetError> {
        let sessions = (0..settings.sessions).map(|_| source.connect()).collect::<Result<_, _>>()?;
        let shared = Shared {
            source,
            settings,
            clock: AtomicU64::new(0),
            dealt: AtomicU64::new(0),
            over: AtomicBool::new(false),
            log: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared), sessions })
    }

    /// Runs all sessions, then reads all keys. Returns the number of sessions that gave no answer, too.
    pub(super) fn run(self, stop: &dyn Fn() -> bool) -> (Recording, usize) {
        let Self { shared, sessions } = self;
        let settings = shared.settings;
        let (ended, ends) = channel();
        let (mut threads, mut lost) = (Vec::new(), None);
        for (process, session) in (0..).zip(sessions) {
            let (shared, ended) = (Arc::clone(&shared), ended.clone());
            let work = move || {
                // Nobody receives the result of a session that was left behind.
                let _heard = ended.send(shared.work(process, session));
            };
            match Builder::new().name("isolation".into()).spawn(work) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    lost = Some(TargetError::usage(format!("can't start a thread for a session: {error}")));
                    break;
                }
            }
        }
        drop(ended);
        let end = Instant::now() + settings.duration;
        let (mut given_up, mut stopped, mut done) = (None, false, 0);
        while done < threads.len() {
            if given_up.is_none() && (lost.is_some() || stop() || Instant::now() >= end) {
                stopped = stop();
                shared.over.store(true, Ordering::Relaxed);
                given_up = Some(Instant::now() + settings.limit + GRACE);
            }
            match ends.recv_timeout(LOOK) {
                Ok(result) => {
                    done += 1;
                    lost = lost.or(result.err());
                }
                Err(RecvTimeoutError::Timeout) if given_up.is_some_and(|at| Instant::now() >= at) => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    lost = Some(TargetError::database("a session panicked: please report this"));
                    break;
                }
            }
        }
        let hanging = threads.len() - done;
        if hanging == 0 {
            threads.into_iter().for_each(|thread| drop(thread.join()));
        }
        // Reads at the end that did not all come prove nothing about lost writes.
        let read = if stopped || lost.is_some() {
            Err("the recording was broken off".into())
        } else {
            read_all(&shared, stop)
        };
        (taken(&shared, lost, stopped, read), hanging)
    }
}

/// Reads all keys at the end, one by one, and repeats the reads that lack acknowledged writes. Returns the position of
/// the clock from which on the reads are those at the end.
fn read_all<S: Source>(shared: &Shared<S>, stop: &dyn Fn() -> bool) -> Result<u64, String> {
    let message = |error: TargetError| error.message;
    let mut reads = insist(stop, || shared.source.final_reads()).map_err(message)?;
    let connect = || insist(stop, || shared.source.connect()).map_err(message);
    let mut session = connect()?;
    let from = shared.tick();
    let mut read_once = None;
    loop {
        for dealt in &reads {
            read_one(shared, stop, &mut session, dealt, &connect)?;
        }
        let begun = *read_once.get_or_insert_with(Instant::now);
        let so_far = shared.ended();
        let (history, _) = shared.source.history(so_far, Some(from));
        let mut keys: Vec<KeyId> =
            lost(&history.transactions, from).into_iter().map(|lost| lost.key).collect();
        keys.dedup();
        if keys.is_empty() || begun.elapsed() >= SETTLING {
            return Ok(from);
        }
        if stop() {
            return Err("the recording was broken off".into());
        }
        thread::sleep(SETTLES);
        reads = shared.source.final_reads_of(&keys);
    }
}

/// Plays a read at the end until it succeeds.
fn read_one<S: Source>(
    shared: &Shared<S>,
    stop: &dyn Fn() -> bool,
    session: &mut Box<dyn Session<S::Workload>>,
    dealt: &Dealt<S::Workload>,
    connect: &impl Fn() -> Result<Box<dyn Session<S::Workload>>, String>,
) -> Result<(), String> {
    let process = shared.settings.sessions;
    for attempt in 1.. {
        match shared.play(process, &mut **session, dealt) {
            Ok(()) => break,
            Err(error) if attempt == READS_MOST || stop() => return Err(error.to_string()),
            Err(TxError::Unavailable { .. } | TxError::Broken(_)) => *session = connect()?,
            Err(_) => {}
        }
    }
    Ok(())
}

/// Takes the history out of the log. Transactions without an answer are unknown.
fn taken<S: Source>(
    shared: &Shared<S>,
    lost: Option<TargetError>,
    stopped: bool,
    read: Result<u64, String>,
) -> Recording {
    let mut log = lock(&shared.log);
    log.closed = true;
    let completed = shared.tick();
    let open = std::mem::take(&mut log.open).into_values();
    let open: Vec<Transaction> = open.map(|record| Transaction { completed, ..record }).collect();
    let mut transactions = std::mem::take(&mut log.ended);
    transactions.extend(open);
    transactions.sort_unstable_by_key(|tx| tx.invoked);
    let aborts = std::mem::take(&mut log.aborts);
    drop(log);
    let (final_from, unread) = match read {
        Ok(from) => (Some(from), None),
        Err(why) => (None, Some(why)),
    };
    let (history, left_out) = shared.source.history(transactions, final_from);
    Recording { history, aborts, stopped, unread: unread.or(left_out), lost, undropped: None }
}
