//! Recording: runs a workload on a database and writes a history.

use super::generate::{Generated, Generator, Request};
use super::model::{Action, History, Key, KeyId, Op, Outcome, Seen, Transaction};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Reason why a step of a transaction failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The database aborted the transaction; none of it is in effect.
    Aborted,
    /// No answer came; the transaction may be in effect or not.
    Unknown,
    /// Recording can't go on, for this reason.
    Fatal(String),
}

/// A connection to a database whose isolation is checked.
pub trait HistoryClient {
    /// Begins a transaction.
    ///
    /// # Errors
    /// Fails if the transaction did not begin.
    fn begin(&mut self) -> Result<(), Failure>;

    /// Reads the whole list of a key; empty if the key does not exist.
    ///
    /// # Errors
    /// Fails if the transaction failed.
    fn read_list(&mut self, id: KeyId, key: &Key) -> Result<Vec<u64>, Failure>;

    /// Appends to the list of a key in one step of the database. Makes the list if the key does not exist.
    ///
    /// # Errors
    /// Fails if the transaction failed.
    fn append(&mut self, id: KeyId, key: &Key, value: u64) -> Result<(), Failure>;

    /// Reads a register; none if it was never written.
    ///
    /// # Errors
    /// Fails if the transaction failed.
    fn read_register(&mut self, id: KeyId, key: &Key) -> Result<Option<u64>, Failure>;

    /// Writes a register without reading it. Makes the register if the key does not exist.
    ///
    /// # Errors
    /// Fails if the transaction failed.
    fn write(&mut self, id: KeyId, key: &Key, value: u64) -> Result<(), Failure>;

    /// Inserts a row with this value into a range. No other row of the range has the value.
    ///
    /// # Errors
    /// Fails if the transaction failed.
    fn insert(&mut self, id: KeyId, key: &Key, value: u64) -> Result<(), Failure>;

    /// Reads the values of all rows in a range, in any order.
    ///
    /// # Errors
    /// Fails if the transaction failed.
    fn read_range(&mut self, id: KeyId, key: &Key) -> Result<Vec<u64>, Failure>;

    /// Commits the transaction.
    ///
    /// # Errors
    /// Fails with [`Failure::Aborted`] only if the transaction is not in effect and never will be.
    fn commit(&mut self) -> Result<(), Failure>;

    /// Ends the transaction without effect, because the workload rolls it back or because its begin or an operation
    /// failed. After a failure it is called once, and the failure decides the outcome.
    ///
    /// # Errors
    /// Fails with [`Failure::Unknown`] if the transaction may be in effect nevertheless, or with [`Failure::Fatal`].
    fn rollback(&mut self) -> Result<(), Failure>;
}

/// Error that ended a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("recording a history: process {process}: {reason}")]
pub struct RecordError {
    /// The client that failed.
    pub process: u32,
    /// Reason that the client gave.
    pub reason: String,
}

/// A running transaction.
struct Running {
    record: Transaction,
    requests: VecDeque<Request>,
    rolls_back: bool,
}

/// Runs `transactions` transactions, each client on its own thread, and records them.
///
/// # Errors
/// Fails if a client can't go on; then all clients stop.
pub fn record<C: HistoryClient + Send>(
    generator: &mut Generator,
    clients: &mut [C],
    transactions: u64,
) -> Result<History, RecordError> {
    let (clock, dealt, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let shared = Mutex::new((generator, Vec::new()));
    let work = |process: u32, client: &mut C| -> Result<Vec<Transaction>, RecordError> {
        let mut recorded = Vec::new();
        while !stop.load(Ordering::Relaxed) && dealt.fetch_add(1, Ordering::Relaxed) < transactions {
            let (generated, keys) = {
                let mut shared = lock(&shared);
                let generated = shared.0.transaction();
                let keys: Vec<Key> = generated
                    .requests
                    .iter()
                    .map(|request| shared.0.keys()[request.key().0 as usize].clone())
                    .collect();
                (generated, keys)
            };
            let mut running = begin(client, process, generated, &clock);
            let mut keys = keys.iter();
            while let Ok(started) = &mut running {
                let Some(request) = started.requests.pop_front() else { break };
                let Some(key) = keys.next() else { break };
                if let Err(failure) = step(client, key, request, &mut started.record) {
                    let record = started.record.clone();
                    running = Err((record, failure));
                }
            }
            match finish(client, running, &clock) {
                Ok(record) => recorded.push(record),
                Err(reason) => {
                    stop.store(true, Ordering::Relaxed);
                    return Err(RecordError { process, reason });
                }
            }
        }
        Ok(recorded)
    };
    let mut failed = None;
    std::thread::scope(|scope| {
        let threads: Vec<_> = clients
            .iter_mut()
            .enumerate()
            .map(|(at, client)| (at as u32, scope.spawn(move || work(at as u32, client))))
            .collect();
        for (process, thread) in threads {
            match thread.join() {
                Ok(Ok(recorded)) => lock(&shared).1.extend(recorded),
                Ok(Err(error)) => failed = Some(error),
                Err(_) => failed = Some(RecordError { process, reason: "the client panicked".into() }),
            }
        }
    });
    let (generator, transactions) = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.map_or_else(|| Ok(history(generator, transactions)), Err)
}

/// Runs `transactions` transactions on one thread, one step of one client at a time, in an order from the generator's
/// seed. Equal seeds give equal histories. For clients that fail rather than wait for each other.
///
/// # Errors
/// Fails if a client can't go on.
pub fn record_interleaved<C: HistoryClient>(
    generator: &mut Generator,
    clients: &mut [C],
    transactions: u64,
) -> Result<History, RecordError> {
    let clock = AtomicU64::new(0);
    let mut running: Vec<Option<Running>> = Vec::new();
    running.resize_with(clients.len(), || None);
    let (mut dealt, mut recorded) = (0, Vec::new());
    loop {
        // The last transactions must still end after the generator stops.
        let able: Vec<usize> =
            (0..clients.len()).filter(|at| dealt < transactions || running[*at].is_some()).collect();
        let Some(at) = able.get(generator.below(able.len())).copied() else { break };
        let (client, process) = (&mut clients[at], at as u32);
        let state = match running[at].take() {
            None => {
                dealt += 1;
                match begin(client, process, generator.transaction(), &clock) {
                    Ok(started) => {
                        running[at] = Some(started);
                        continue;
                    }
                    Err(failed) => Err(failed),
                }
            }
            Some(mut started) => match started.requests.pop_front() {
                None => Ok(started),
                Some(request) => {
                    let key = &generator.keys()[request.key().0 as usize];
                    match step(client, key, request, &mut started.record) {
                        Ok(()) => {
                            running[at] = Some(started);
                            continue;
                        }
                        Err(failure) => Err((started.record, failure)),
                    }
                }
            },
        };
        match finish(client, state, &clock) {
            Ok(record) => recorded.push(record),
            Err(reason) => return Err(RecordError { process, reason }),
        }
    }
    Ok(history(generator, recorded))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the next position of the clock. It is sequentially consistent, so no position is older than what the client
/// learned before.
fn tick(clock: &AtomicU64) -> u64 {
    clock.fetch_add(1, Ordering::SeqCst)
}

fn begin<C: HistoryClient>(
    client: &mut C,
    process: u32,
    generated: Generated,
    clock: &AtomicU64,
) -> Result<Running, (Transaction, Failure)> {
    let invoked = tick(clock);
    let outcome = Outcome::Unknown;
    let record = Transaction { process, invoked, completed: invoked, outcome, ops: Vec::new() };
    match client.begin() {
        Ok(()) => {
            Ok(Running { record, requests: generated.requests.into(), rolls_back: generated.rolls_back })
        }
        Err(failure) => Err((record, failure)),
    }
}

/// Runs one operation and records it, also if it fails: a failed write may have been seen.
fn step<C: HistoryClient>(
    client: &mut C,
    key: &Key,
    request: Request,
    record: &mut Transaction,
) -> Result<(), Failure> {
    let id = request.key();
    let (action, result) = match request {
        Request::Append(_, value) => (Action::Append(value), client.append(id, key, value)),
        Request::Write(_, value) => (Action::Write(value), client.write(id, key, value)),
        Request::Insert(_, value) => (Action::Insert(value), client.insert(id, key, value)),
        Request::ReadRange(_) => match client.read_range(id, key) {
            Ok(values) => (Action::Read(Some(Seen::Range(values))), Ok(())),
            Err(failure) => (Action::Read(None), Err(failure)),
        },
        Request::ReadList(_) => match client.read_list(id, key) {
            Ok(values) => (Action::Read(Some(Seen::List(values))), Ok(())),
            Err(failure) => (Action::Read(None), Err(failure)),
        },
        Request::ReadRegister(_) => match client.read_register(id, key) {
            Ok(value) => (Action::Read(Some(Seen::Register(value))), Ok(())),
            Err(failure) => (Action::Read(None), Err(failure)),
        },
    };
    record.ops.push(Op { key: id, action });
    result
}

/// Ends a transaction. An error ends the recording.
fn finish<C: HistoryClient>(
    client: &mut C,
    state: Result<Running, (Transaction, Failure)>,
    clock: &AtomicU64,
) -> Result<Transaction, String> {
    let (mut record, ended) = match state {
        Ok(Running { record, rolls_back: true, .. }) => {
            (record, client.rollback().and(Err(Failure::Aborted)))
        }
        Ok(Running { record, .. }) => (record, client.commit()),
        Err((record, failure)) => {
            // The failure decides the outcome, unless the connection is lost for good.
            let failure = match client.rollback() {
                Err(Failure::Fatal(reason)) => Failure::Fatal(reason),
                _ => failure,
            };
            (record, Err(failure))
        }
    };
    record.outcome = match ended {
        Ok(()) => Outcome::Committed,
        Err(Failure::Aborted) => Outcome::Aborted,
        Err(Failure::Unknown) => Outcome::Unknown,
        Err(Failure::Fatal(reason)) => return Err(reason),
    };
    record.completed = tick(clock);
    Ok(record)
}

/// Returns the history of the recorded transactions, in the order of their begins.
fn history(generator: &Generator, mut transactions: Vec<Transaction>) -> History {
    transactions.sort_unstable_by_key(|tx| tx.invoked);
    History { keys: generator.keys().to_vec(), transactions, final_from: None }
}
