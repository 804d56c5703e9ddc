//! The sessions of a recording, each on its own thread, and the log that they share.

use super::{Recording, Settings};
use crate::history::{
    Action, Generated, Generator, History, Key, KeyId, Op, Outcome, Request, Seen, Transaction, WorkloadKind,
};
use lydite_database::{
    Committed, ListKey, ListOp, ListTransaction, Lists, Session, Target, TargetError, TargetErrorKind,
    TxError,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

/// Keys that are added at once.
const KEYS_AT_ONCE: u32 = 256;
/// Interval between two looks for a stop, and between two attempts to connect.
const LOOK: Duration = Duration::from_millis(20);
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

/// A recording in progress.
pub(super) struct Recorder {
    shared: Arc<Shared>,
    sessions: Vec<Box<dyn Session<Lists>>>,
}

struct Shared {
    target: Arc<dyn Target>,
    settings: Settings,
    places: Vec<String>,
    /// Logical clock. It is sequentially consistent, so no position is older than what a session learned before.
    clock: AtomicU64,
    dealt: AtomicU64,
    over: AtomicBool,
    dealer: Mutex<Dealer>,
    log: Mutex<Log>,
}

/// Source of the transactions.
struct Dealer {
    generator: Generator,
    /// Keys that the database has.
    made: u32,
    /// True once transactions are dealt: from then on the database may go away and come back.
    begun: bool,
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

/// A transaction in the words of the workload and of the history.
struct Dealt {
    transaction: ListTransaction,
    ops: Vec<Op>,
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn connect(&self) -> Result<Box<dyn Session<Lists>>, TargetError> {
        self.target.capabilities().lists()?.connect_lists(self.settings.limit)
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Takes the next position of the clock.
    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Connects anew until that succeeds or the recording is over.
    fn reconnect(&self) -> Option<Box<dyn Session<Lists>>> {
        while !self.is_over() {
            match self.connect() {
                Ok(session) => return Some(session),
                Err(_) => thread::sleep(LOOK),
            }
        }
        None
    }

    /// Draws the next transaction; none if there are no more. Makes its keys first.
    fn deal(&self) -> Result<Option<Dealt>, TargetError> {
        if self.dealt.fetch_add(1, Ordering::Relaxed) >= self.settings.transactions {
            return Ok(None);
        }
        let mut dealer = lock(&self.dealer);
        dealer.begun = true;
        let generated = dealer.generator.transaction();
        self.make_keys(&mut dealer)?;
        Ok(Some(self.dealt(&generated, dealer.generator.keys())))
    }

    fn make_keys(&self, dealer: &mut Dealer) -> Result<(), TargetError> {
        while (dealer.made as usize) < dealer.generator.keys().len() {
            let numbers = dealer.made..dealer.made + KEYS_AT_ONCE;
            dealer.made = numbers.end;
            match self.target.capabilities().lists()?.add_keys(numbers) {
                // Perhaps some of them were added. Writes to the others abort until the generator replaces these keys.
                Err(error) if error.kind == TargetErrorKind::Unreachable && dealer.begun => {
                    thread::sleep(LOOK)
                }
                added => added?,
            }
        }
        Ok(())
    }

    fn dealt(&self, generated: &Generated, keys: &[Key]) -> Dealt {
        let place = |key: KeyId| -> ListKey {
            let engine = keys[key.0 as usize].engine.as_ref();
            let place = self.places.iter().position(|place| Some(place) == engine);
            ListKey { place: place.unwrap_or(0) as u32, number: key.0 }
        };
        let both = |request: &Request| match *request {
            Request::Append(key, value) => (ListOp::Append(place(key), value), Action::Append(value)),
            Request::Write(key, value) => (ListOp::Write(place(key), value), Action::Write(value)),
            Request::ReadList(key) => (ListOp::ReadList(place(key)), Action::Read(None)),
            Request::ReadRegister(key) => (ListOp::ReadRegister(place(key)), Action::Read(None)),
        };
        let (ops, actions): (Vec<ListOp>, Vec<Action>) = generated.requests.iter().map(both).unzip();
        let ops_of_history = generated.requests.iter().zip(actions);
        let ops_of_history = ops_of_history.map(|(request, action)| Op { key: request.key(), action });
        Dealt {
            transaction: ListTransaction { ops, rolls_back: generated.rolls_back },
            ops: ops_of_history.collect(),
        }
    }

    /// Plays a transaction and logs it.
    fn play(
        &self,
        process: u32,
        session: &mut dyn Session<Lists>,
        Dealt { transaction, ops }: Dealt,
    ) -> Result<(), TxError> {
        let invoked = self.tick();
        let outcome = Outcome::Unknown;
        let record = Transaction { process, invoked, completed: invoked, outcome, ops };
        lock(&self.log).open.insert(process, record);
        let answer = session.execute(&transaction);
        let completed = self.tick();
        let mut log = lock(&self.log);
        let Some(mut record) = log.open.remove(&process).filter(|_| !log.closed) else { return Ok(()) };
        record.completed = completed;
        record.outcome = match &answer {
            Ok(_) => Outcome::Committed,
            Err(TxError::Unavailable { committed: Committed::Unknown, .. }) => Outcome::Unknown,
            Err(_) => Outcome::Aborted,
        };
        match &answer {
            Ok(reads) => fill(&mut record.ops, reads, self.settings.kind),
            Err(TxError::Aborted { reason, .. }) if !transaction.rolls_back => {
                *log.aborts.entry(reason.name()).or_default() += 1;
            }
            Err(_) => {}
        }
        log.ended.push(record);
        answer.map(drop)
    }

    /// Plays transactions until the recording is over.
    fn work(&self, process: u32, mut session: Box<dyn Session<Lists>>) -> Result<(), TargetError> {
        let mut failures = 0;
        while !self.is_over() {
            let dealt = match self.deal() {
                Ok(Some(dealt)) => dealt,
                Ok(None) => return Ok(()),
                // The next keys can't be made while the database is away.
                Err(_) if self.is_over() => return Ok(()),
                Err(error) => return Err(error),
            };
            failures = match self.play(process, &mut *session, dealt) {
                Ok(()) | Err(TxError::Aborted { .. } | TxError::RolledBack(_)) => 0,
                Err(TxError::Unavailable { .. } | TxError::Broken(_)) => {
                    drop(session);
                    let Some(connected) = self.reconnect() else { return Ok(()) };
                    session = connected;
                    0
                }
                Err(TxError::Fatal(_)) if failures < FAILURES_MOST => failures + 1,
                Err(error @ TxError::Fatal(_)) => return Err(TargetError::database(error.to_string())),
            };
        }
        Ok(())
    }
}

/// Writes the results of the reads into the operations.
fn fill(ops: &mut [Op], reads: &[Vec<u64>], kind: WorkloadKind) {
    let places = ops.iter_mut().filter(|op| op.action == Action::Read(None));
    for (op, values) in places.zip(reads) {
        op.action = Action::Read(Some(match kind {
            WorkloadKind::ListAppend => Seen::List(values.clone()),
            WorkloadKind::Register => Seen::Register(values.first().copied()),
        }));
    }
}

impl Recorder {
    /// Connects all sessions and makes the first keys.
    pub(super) fn new(
        target: &Arc<dyn Target>,
        settings: Settings,
        places: Vec<String>,
        generator: Generator,
    ) -> Result<Self, TargetError> {
        let shared = Shared {
            target: Arc::clone(target),
            settings,
            places,
            clock: AtomicU64::new(0),
            dealt: AtomicU64::new(0),
            over: AtomicBool::new(false),
            dealer: Mutex::new(Dealer { generator, made: 0, begun: false }),
            log: Mutex::default(),
        };
        shared.make_keys(&mut lock(&shared.dealer))?;
        let sessions = (0..settings.sessions).map(|_| shared.connect()).collect::<Result<_, _>>()?;
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
        let unread = if stopped || lost.is_some() {
            Some("the recording was broken off".into())
        } else {
            read_all(&shared, stop).err()
        };
        (taken(&shared, lost, stopped, unread), hanging)
    }
}

/// Reads all keys at the end, one by one.
fn read_all(shared: &Shared, stop: &dyn Fn() -> bool) -> Result<(), String> {
    let process = shared.settings.sessions;
    let reads: Vec<Dealt> = {
        let dealer = lock(&shared.dealer);
        let reads = dealer.generator.final_reads();
        reads.iter().map(|read| shared.dealt(read, dealer.generator.keys())).collect()
    };
    let connect = || insist(stop, || shared.connect()).map_err(|error| error.message);
    let mut session = connect()?;
    for Dealt { transaction, ops } in reads {
        for attempt in 1.. {
            let dealt = Dealt { transaction: transaction.clone(), ops: ops.clone() };
            match shared.play(process, &mut *session, dealt) {
                Ok(()) => break,
                Err(error) if attempt == READS_MOST || stop() => return Err(error.to_string()),
                Err(TxError::Unavailable { .. } | TxError::Broken(_)) => {
                    session = connect()?;
                }
                Err(_) => {}
            }
        }
    }
    Ok(())
}

/// Takes the history out of the log. Transactions without an answer are unknown.
fn taken(shared: &Shared, lost: Option<TargetError>, stopped: bool, unread: Option<String>) -> Recording {
    let mut log = lock(&shared.log);
    log.closed = true;
    let completed = shared.tick();
    let open = std::mem::take(&mut log.open).into_values();
    let open: Vec<Transaction> = open.map(|record| Transaction { completed, ..record }).collect();
    let mut transactions = std::mem::take(&mut log.ended);
    transactions.extend(open);
    transactions.sort_unstable_by_key(|tx| tx.invoked);
    let keys = lock(&shared.dealer).generator.keys().to_vec();
    let history = History { keys, transactions };
    Recording { history, aborts: std::mem::take(&mut log.aborts), stopped, unread, lost, undropped: None }
}
