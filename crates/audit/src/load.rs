//! The load of the consistency and durability tests: terminals with the standard's mix, each on a session and a thread of
//! its own, in a closed loop.

use crate::ledger::Acknowledged;
use crate::success_file::{Ending, Entry, Writer};
use lydite_database::{Session, Target, TargetError, TxError};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::{InputPlan, Mix, OrderId, Outcome, Standard, StandardOutcome, Terminal, Transaction};
use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Length of the loads that the clauses ask for (3.3.3.2, 3.5.4).
pub const LENGTH: Duration = Duration::from_secs(5 * 60);
/// Time between two attempts of a transaction.
const AGAIN: Duration = Duration::from_millis(1);
/// Time between two attempts to get a new session.
const RECONNECTS: Duration = Duration::from_millis(100);
/// A load on a database.
#[derive(Clone)]
pub struct Load {
    /// The database.
    pub target: Arc<dyn Target>,
    /// Description of the database.
    pub meta: DatabaseMeta,
    /// Number of terminals.
    pub terminals: u32,
    /// Seed of the inputs.
    pub seed: u64,
    /// Success file, if there is one.
    pub file: Option<PathBuf>,
    /// Length of turns. Every second one leaves the success file unused, to measure its cost. `None` uses it always.
    pub turns: Option<Duration>,
    /// True if a terminal that has lost its session takes another one, and goes on.
    pub reconnects: bool,
    /// Lets the terminals stand still.
    pub gate: Arc<Gate>,
}

/// Held for reading by each transaction of a load. Held for writing, the terminals stand still.
pub type Gate = parking_lot::RwLock<()>;

/// Returns the number of terminals: two for each warehouse, but at least 8 and at most 64.
#[must_use]
pub fn terminals(meta: &DatabaseMeta) -> u32 {
    meta.warehouses.saturating_mul(2).clamp(8, 64)
}

/// Returns the words for a load that is shorter than [`LENGTH`]; empty for any other.
#[must_use]
pub fn shortness(duration: Duration) -> &'static str {
    if duration < LENGTH { ", shorter than the 5 min of the clause" } else { "" }
}

/// Result of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// New-Orders that were committed or rolled back, by turn; of one turn if there are none.
    pub new_orders: Vec<u64>,
    /// Acknowledged transactions, with those outside of the turns that use the success file.
    pub acknowledged: Acknowledged,
    /// Losses of the database, one line each.
    pub lost: Vec<String>,
    /// Failure of a terminal that no loss of the database explains.
    pub failed: Option<TargetError>,
}

impl Load {
    /// Connects all terminals, calls `ready`, and plays transactions until `stop` is set or the database is lost.
    ///
    /// # Errors
    /// A terminal can't connect, the success file can't be written, or a transaction fails in a way that no failure of
    /// the database explains.
    pub fn play(&self, ready: impl FnOnce(), stop: &AtomicBool) -> Result<Loaded, TargetError> {
        let mut loaded = self.play_to_its_end(ready, stop)?;
        loaded.failed.take().map_or(Ok(loaded), Err)
    }

    /// Does the same, and also returns what was acknowledged if a terminal fails.
    ///
    /// # Errors
    /// A terminal can't connect, or the success file can't be written.
    pub fn play_to_its_end(&self, ready: impl FnOnce(), stop: &AtomicBool) -> Result<Loaded, TargetError> {
        let connect = |_| self.target.connect();
        let sessions: Vec<Box<dyn Session>> = (0..self.terminals).map(connect).collect::<Result<_, _>>()?;
        let writer =
            self.file.as_deref().map(Writer::create).transpose().map_err(|error| unwritable(&error))?;
        let plan = InputPlan::on(&self.meta, self.seed, Mix::Deck);
        ready();
        let gate = Arc::clone(&self.gate);
        let play = Play {
            target: self.reconnects.then_some(&self.target),
            plan,
            writer,
            gate,
            turns: self.turns,
            begun: Instant::now(),
            counted: Mutex::default(),
            acknowledged: Mutex::default(),
        };
        let ends: Vec<_> = thread::scope(|scope| {
            let _ending = play.writer.as_ref().map(Ending);
            if let Some(writer) = &play.writer {
                scope.spawn(|| writer.sync());
            }
            let threads: Vec<_> = (0..)
                .zip(sessions)
                .map(|(number, session)| {
                    let terminal = play.plan.terminal_of(number, self.terminals);
                    let play = &play;
                    scope.spawn(move || play.terminal(session, terminal, stop))
                })
                .collect();
            threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
        });
        if let Some(problem) = play.writer.and_then(|writer| writer.failure()) {
            return Err(unwritable(&problem));
        }
        let counted = play.counted.into_inner().unwrap_or_else(PoisonError::into_inner);
        let acknowledged = play.acknowledged.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut loaded = Loaded { new_orders: counted, acknowledged, lost: Vec::new(), failed: None };
        for end in ends {
            match end {
                Ok(Ok(lost)) => loaded.lost.extend(lost),
                Ok(Err(error)) => loaded.failed = loaded.failed.or(Some(error)),
                Err(_) => {
                    loaded.failed = Some(TargetError::database("a terminal panicked: please report this"));
                }
            }
        }
        Ok(loaded)
    }
}

fn unwritable(error: &dyn Display) -> TargetError {
    TargetError::usage(format!("the success file can't be written: {error}: set TMPDIR to another disk"))
}

/// A load that is played.
struct Play<'a> {
    /// The database, if terminals take new sessions.
    target: Option<&'a Arc<dyn Target>>,
    plan: InputPlan,
    writer: Option<Writer>,
    gate: Arc<Gate>,
    turns: Option<Duration>,
    begun: Instant,
    /// New-Orders by turn.
    counted: Mutex<Vec<u64>>,
    /// Acknowledged transactions of the terminals that have ended.
    acknowledged: Mutex<Acknowledged>,
}

impl Play<'_> {
    /// Returns the number of the current turn.
    fn turn(&self) -> usize {
        self.turns.map_or(0, |length| self.begun.elapsed().div_duration_f64(length) as usize)
    }

    /// Counts a New-Order.
    fn count(&self) {
        let turn = self.turn();
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() <= turn {
            counted.resize(turn + 1, 0);
        }
        if let Some(of_turn) = counted.get_mut(turn) {
            *of_turn += 1;
        }
    }

    /// Returns the success file, if a New-Order that begins now is noted.
    fn writer(&self) -> Option<&Writer> {
        self.writer.as_ref().filter(|_| self.turns.is_none() || self.turn() % 2 == 1)
    }

    /// Plays the transactions of one terminal. Returns the loss of the database.
    fn terminal(
        &self,
        mut session: Box<dyn Session>,
        mut terminal: Terminal,
        stop: &AtomicBool,
    ) -> Result<Option<String>, TargetError> {
        let mut acknowledged = Acknowledged::default();
        let ended = loop {
            let ended = self.transactions(session, &mut terminal, stop, &mut acknowledged);
            let lost = matches!(ended, Ok(Some(_)));
            session = match self.target.filter(|_| lost).and_then(|target| again(&**target, stop)) {
                Some(session) => session,
                None => break ended,
            };
        };
        self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner).merge(acknowledged);
        ended
    }

    fn transactions(
        &self,
        mut session: Box<dyn Session>,
        terminal: &mut Terminal,
        stop: &AtomicBool,
        acknowledged: &mut Acknowledged,
    ) -> Result<Option<String>, TargetError> {
        let failed = |error: io::Error| unwritable(&error);
        let mut last: Option<Entry> = None;
        while !stop.load(Ordering::Relaxed) {
            let _passed = self.gate.read();
            let transaction = terminal.next(&self.plan);
            let order = if let Transaction::Standard(Standard::NewOrder(order)) = &transaction {
                Some(order)
            } else {
                None
            };
            let noted = order.and_then(|order| Some((self.writer()?, order)));
            if let Some((writer, order)) = noted {
                if let Some(entry) = last.take() {
                    writer.wait_for(entry).map_err(failed)?;
                }
                writer.attempt(order).map_err(failed)?;
            }
            let mut note = |word: &str, o_id: OrderId| -> Result<(), TargetError> {
                if let Some((writer, order)) = noted {
                    last = Some(writer.entry(word, order, o_id).map_err(failed)?);
                }
                Ok(())
            };
            let ended = loop {
                match session.execute(&transaction) {
                    Err(TxError::Aborted { .. }) if !stop.load(Ordering::Relaxed) => thread::sleep(AGAIN),
                    ended => break ended,
                }
            };
            if let Ok(Outcome::Standard(outcome)) = &ended {
                acknowledged.add(outcome);
            }
            match ended {
                Ok(Outcome::Standard(StandardOutcome::NewOrder(outcome))) => note("committed", outcome.o_id)?,
                Ok(_) => {}
                Err(TxError::Aborted { .. }) => return Ok(None),
                Err(TxError::RolledBack(outcome)) => note("rolled_back", outcome.o_id)?,
                Err(error @ (TxError::Unavailable { .. } | TxError::Broken(_))) => {
                    return Ok(Some(error.to_string()));
                }
                // A node that loses its cluster may answer so.
                Err(error @ TxError::Fatal(_)) if self.target.is_some() => {
                    return Ok(Some(error.to_string()));
                }
                Err(error @ (TxError::Fatal(_) | TxError::WrongRows { .. })) => {
                    return Err(TargetError::database(error.to_string()));
                }
            }
            if order.is_some() {
                self.count();
            }
        }
        Ok(None)
    }
}

/// Returns a new session in place of a lost one; none once `stop` is set.
fn again(target: &dyn Target, stop: &AtomicBool) -> Option<Box<dyn Session>> {
    loop {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        match target.connect() {
            Ok(session) => return Some(session),
            Err(_) => thread::sleep(RECONNECTS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_gate_lets_nobody_pass_and_waits_for_those_who_have() {
        let gate = Gate::default();
        let passed = gate.read();
        assert!(gate.try_write_for(Duration::from_millis(10)).is_none(), "one is under way");
        drop(passed);
        let closed = gate.try_write_for(Duration::from_secs(60)).expect("nobody is under way");
        thread::scope(|scope| {
            let waits = scope.spawn(|| drop(gate.read()));
            assert!(gate.try_read().is_none());
            drop(closed);
            waits.join().expect("no panic");
        });
        assert!(gate.try_write_for(Duration::ZERO).is_some(), "nobody is under way");
    }
}
