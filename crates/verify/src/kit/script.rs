//! Two transactions whose steps alternate in a fixed order. A step that waits for the other transaction, as locks make
//! it, lets the order go after a while: then the target has excluded the anomaly in its own way.

use super::claim::Claim;
use crate::history::{Action, History, Key, KeyId, Level, Op, Outcome, Seen, Transaction};
use lydite_database::{
    HeldListTransaction, HeldLists, ListKey, ListOp, ListTransaction, Session, Stops, Target, TargetError,
    TxError,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Least time that a step waits for the other transaction, and its multiple of the time that a whole transaction takes
/// alone.
const PATIENCE: Duration = Duration::from_millis(300);
const PATIENCE_TRANSACTIONS: u32 = 20;
/// Longest time that a step waits.
const PATIENCE_MOST: Duration = Duration::from_secs(5);
/// Attempts at the reads at the end.
const ATTEMPTS: u32 = 50;
/// Pause before another attempt.
const PAUSE: Duration = Duration::from_millis(10);

/// A step on one of a scenario's keys: two registers, two ranges.
#[derive(Clone, Copy)]
enum Step {
    Read(u32),
    Write(u32),
    ReadRange(u32),
    Insert(u32),
}

const X: u32 = 0;
const Y: u32 = 1;
const R: u32 = 2;
const S: u32 = 3;
const KEYS: [&str; 4] = ["x", "y", "range r", "range s"];

/// Two transactions that are led into an anomaly.
pub(super) struct Scenario {
    /// Name of the anomaly.
    pub(super) name: &'static str,
    /// Declarations that exclude it.
    excluded_by: ExcludedBy,
    steps: [&'static [Step]; 2],
    /// True if the first transaction rolls back.
    rolls_back: bool,
    /// The transaction whose turn is next: each has one turn for each step, and one for its end.
    turns: &'static [usize],
}

enum ExcludedBy {
    Level(Level),
    RepeatableReads,
}

impl Scenario {
    /// True if the declaration excludes the anomaly.
    pub(super) fn is_excluded_by(&self, claim: &Claim) -> bool {
        match self.excluded_by {
            ExcludedBy::Level(level) => claim.reaches(level),
            ExcludedBy::RepeatableReads => claim.repeats_reads(),
        }
    }
}

/// All scenarios. A range is read after writes that must not wait in the client: its read brings them to the driver.
pub(super) const SCENARIOS: [Scenario; 8] = {
    use ExcludedBy::{Level as From, RepeatableReads};
    use Step::{Insert, Read, ReadRange, Write};
    [
        Scenario {
            name: "a dirty read",
            excluded_by: From(Level::ReadCommitted),
            steps: [&[Write(X), ReadRange(R)], &[Read(X)]],
            rolls_back: true,
            turns: &[0, 0, 1, 1, 0],
        },
        Scenario {
            name: "an intermediate read",
            excluded_by: From(Level::ReadCommitted),
            steps: [&[Write(X), ReadRange(R), Write(X)], &[Read(X)]],
            rolls_back: false,
            turns: &[0, 0, 1, 1, 0, 0],
        },
        Scenario {
            name: "an unrepeatable read",
            excluded_by: RepeatableReads,
            steps: [&[Read(X), Read(X)], &[Write(X), Write(Y)]],
            rolls_back: false,
            turns: &[0, 1, 1, 1, 0, 0],
        },
        Scenario {
            name: "read skew",
            excluded_by: From(Level::SnapshotIsolation),
            steps: [&[Read(X), Read(Y), ReadRange(R)], &[Write(X), Write(Y), Insert(R)]],
            rolls_back: false,
            turns: &[0, 1, 1, 1, 1, 0, 0, 0],
        },
        Scenario {
            name: "read skew of a writer",
            excluded_by: From(Level::SnapshotIsolation),
            steps: [&[Read(X), Read(Y), Insert(S)], &[Write(X), Write(Y)]],
            rolls_back: false,
            turns: &[0, 1, 1, 1, 0, 0, 0],
        },
        Scenario {
            name: "a lost update",
            excluded_by: From(Level::SnapshotIsolation),
            steps: [&[Read(X), Write(X)], &[Read(X), Write(X)]],
            rolls_back: false,
            turns: &[0, 1, 0, 0, 1, 1],
        },
        Scenario {
            name: "write skew",
            excluded_by: From(Level::Serializable),
            steps: [&[Read(X), Read(Y), Write(X)], &[Read(X), Read(Y), Write(Y)]],
            rolls_back: false,
            turns: &[0, 0, 1, 1, 0, 0, 1, 1],
        },
        Scenario {
            name: "a phantom",
            excluded_by: From(Level::Serializable),
            steps: [&[ReadRange(R), Insert(S)], &[ReadRange(S), Insert(R)]],
            rolls_back: false,
            turns: &[0, 1, 0, 0, 1, 1],
        },
    ]
};

/// The order of the steps of a scenario.
struct Turns {
    turns: &'static [usize],
    patience: Duration,
    state: Mutex<TurnsState>,
    changed: Condvar,
}

struct TurnsState {
    /// Steps that each transaction has done.
    done: [usize; 2],
    /// True once the order was let go.
    free: bool,
}

impl Turns {
    fn new(turns: &'static [usize], patience: Duration) -> Self {
        let state = Mutex::new(TurnsState { done: [0, 0], free: false });
        Self { turns, patience, state, changed: Condvar::new() }
    }

    /// Waits until all turns before a transaction's next one are done, or for too long.
    fn wait(&self, process: usize, step: usize) {
        let other = 1 - process;
        let own = self.turns.iter().enumerate().filter(|(_, turn)| **turn == process);
        let place = own.map(|(place, _)| place).nth(step).unwrap_or(self.turns.len());
        let before = self.turns[..place].iter().filter(|turn| **turn == other).count();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.done[process] = step;
        self.changed.notify_all();
        let end = Instant::now() + self.patience;
        while !state.free && state.done[other] < before {
            let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                state.free = true;
                self.changed.notify_all();
                return;
            };
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Notes that a transaction is over.
    fn end(&self, process: usize) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).done[process] = usize::MAX;
        self.changed.notify_all();
    }
}

/// The sessions of the scenarios.
pub(super) struct Scripted {
    sessions: [Box<dyn Session<HeldLists>>; 3],
    unused: Unused,
    patience: Duration,
}

/// The next unused key and value.
struct Unused {
    key: u32,
    value: u64,
}

/// A transaction of a scenario: the operations as the session gets them, and as the history has them.
struct Prepared {
    transaction: ListTransaction,
    ops: Vec<Op>,
}

impl Unused {
    fn value(&mut self) -> u64 {
        self.value += 1;
        self.value
    }

    /// Makes a transaction on the keys of a scenario.
    fn prepare(&mut self, steps: &[Step], rolls_back: bool) -> Prepared {
        let first = self.key;
        let (list_ops, ops) = steps
            .iter()
            .map(|step| {
                let (Step::Read(k) | Step::ReadRange(k) | Step::Write(k) | Step::Insert(k)) = *step;
                let key = ListKey { place: 0, number: first + k };
                let (list_op, action) = match step {
                    Step::Read(_) => (ListOp::ReadRegister(key), Action::Read(None)),
                    Step::ReadRange(_) => (ListOp::ReadRange(key), Action::Read(None)),
                    Step::Write(_) => {
                        let value = self.value();
                        (ListOp::Write(key, value), Action::Write(value))
                    }
                    Step::Insert(_) => {
                        let value = self.value();
                        (ListOp::Insert(key, value), Action::Insert(value))
                    }
                };
                (list_op, Op { key: KeyId(k), action })
            })
            .unzip();
        Prepared { transaction: ListTransaction { ops: list_ops, rolls_back }, ops }
    }
}

impl Scripted {
    /// Connects the sessions, and plays a transaction alone to see how long one takes.
    pub(super) fn new(target: &dyn Target) -> Result<Self, TargetError> {
        let lists = target.capabilities().lists()?;
        let connect = || lists.connect_held_lists();
        let mut sessions = [connect()?, connect()?, connect()?];
        let mut unused = Unused { key: 0, value: 0 };
        let mut slowest = Duration::ZERO;
        for session in &mut sessions {
            let begun = Instant::now();
            let Prepared { transaction, .. } = unused.prepare(&[Step::Write(X), Step::ReadRange(R)], false);
            let alone = HeldListTransaction { transaction, stops: Stops::new(|_| ()) };
            session.execute(&alone).map_err(|error| TargetError::database(error.to_string()))?;
            slowest = slowest.max(begun.elapsed());
        }
        unused.key += KEYS.len() as u32;
        let patience = (slowest * PATIENCE_TRANSACTIONS).clamp(PATIENCE, PATIENCE_MOST);
        Ok(Self { sessions, unused, patience })
    }

    /// Plays a scenario on keys of its own, and reads them at the end.
    ///
    /// # Errors
    /// A transaction failed otherwise than by an abort.
    pub(super) fn play(&mut self, scenario: &Scenario) -> Result<History, String> {
        let Self { sessions: [one, two, reader], unused, patience } = self;
        let [first, second] = scenario.steps;
        let (first, second) = (unused.prepare(first, scenario.rolls_back), unused.prepare(second, false));
        let turns = Arc::new(Turns::new(scenario.turns, *patience));
        let clock = AtomicU64::new(0);
        let in_turn = |process: usize, session: &mut dyn Session<HeldLists>, prepared: Prepared| {
            let of_stops = Arc::clone(&turns);
            let played = play(
                process,
                session,
                prepared,
                &clock,
                Stops::new(move |step| of_stops.wait(process, step)),
            );
            turns.end(process);
            played
        };
        let (first, second) = std::thread::scope(|scope| {
            let other = scope.spawn(|| in_turn(1, &mut **two, second));
            let first = in_turn(0, &mut **one, first);
            (first, other.join().unwrap_or_else(|_| Err("a session panicked".into())))
        });
        let mut transactions = vec![first?, second?];
        for attempt in 1.. {
            let reads = [Step::Read(X), Step::Read(Y), Step::ReadRange(R), Step::ReadRange(S)];
            let read = play(2, &mut **reader, unused.prepare(&reads, false), &clock, Stops::new(|_| ()))?;
            if read.outcome == Outcome::Committed || attempt == ATTEMPTS {
                transactions.push(read);
                break;
            }
            std::thread::sleep(PAUSE);
        }
        unused.key += KEYS.len() as u32;
        let keys = KEYS.map(|name| Key { name: name.into(), engine: None }).to_vec();
        Ok(History { keys, transactions, final_from: None })
    }
}

/// Plays one transaction of a scenario.
fn play(
    process: usize,
    session: &mut dyn Session<HeldLists>,
    Prepared { transaction, mut ops }: Prepared,
    clock: &AtomicU64,
    stops: Stops,
) -> Result<Transaction, String> {
    let tick = || clock.fetch_add(1, Ordering::SeqCst);
    let invoked = tick();
    let held = HeldListTransaction { transaction, stops };
    let answer = session.execute(&held);
    let completed = tick();
    let outcome = match answer {
        Ok(reads) => {
            let asked = held.transaction.ops.iter().zip(&mut ops);
            let asked = asked.filter(|(_, op)| op.action == Action::Read(None));
            for ((list_op, op), values) in asked.zip(reads) {
                op.action = Action::Read(Some(match list_op {
                    ListOp::ReadRange(_) => Seen::Range(values),
                    _ => Seen::Register(values.first().copied()),
                }));
            }
            Outcome::Committed
        }
        Err(TxError::Aborted { .. } | TxError::RolledBack(_)) => Outcome::Aborted,
        Err(error) => return Err(error.to_string()),
    };
    Ok(Transaction { process: process as u32, invoked, completed, outcome, ops })
}
