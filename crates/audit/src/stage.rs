//! The stage of a test: the database, the rows, and the list of steps. A test plays transactions on it.

use crate::act::{Aborts, Act, Crew, Ended, Look, PATIENCE};
use crate::aside::Aside;
use crate::finding::{LoadFacts, Trouble};
use crate::ground::Ground;
use crate::round::{Audit, Round};
use lydite_database::{
    Balance, BalanceTransaction, Between, LedgerCounts, Point, Target, TargetError, TargetErrorKind, Then,
    Trace, TxError, or_unknown,
};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::transactions::{NewOrderOutcome, OrderStatusOutcome};
use lydite_tpcc::{Cents, Outcome, StandardOutcome, Transaction};
use lydite_verify::conditions::read_aside;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest time until every server of a cluster shows committed rows.
const SETTLING: Duration = Duration::from_secs(3);
/// Time between two looks.
const AGAIN: Duration = Duration::from_millis(50);

/// The stage of a test.
pub(crate) struct Stage<'a> {
    pub(crate) audit: &'a Audit<'a>,
    pub(crate) target: &'a Arc<dyn Target>,
    pub(crate) meta: &'a DatabaseMeta,
    pub(crate) ground: Ground,
    pub(crate) stop: &'a dyn Fn() -> bool,
    pub(crate) crew: &'a Crew,
    pub(crate) steps: RefCell<Vec<String>>,
    /// Load of the test, once it has ended.
    pub(crate) load: Cell<Option<LoadFacts>>,
    /// False once the database has turned out to have no view of its locks.
    sees_locks: Cell<bool>,
    /// True while a test restores what it changed, which nothing may end.
    restores: Cell<bool>,
}

impl From<TargetError> for Trouble {
    fn from(error: TargetError) -> Self {
        match error.kind {
            TargetErrorKind::Usage | TargetErrorKind::Database => Self::NotRun(error.message),
            TargetErrorKind::Unreachable => Self::Lost(error.message),
            TargetErrorKind::Interrupted => Self::Stopped,
        }
    }
}

/// Returns the trouble of a transaction that had to commit.
fn trouble(name: &str, error: &TxError) -> Trouble {
    let words = format!("{name}: {error}");
    match error {
        TxError::Aborted { .. } | TxError::RolledBack(_) | TxError::WrongRows { .. } => {
            Trouble::Failed(words)
        }
        TxError::Unavailable { .. } | TxError::Broken(_) => Trouble::Lost(words),
        TxError::Fatal(_) => Trouble::NotRun(words),
    }
}

/// Returns the answer of a transaction that had to commit.
pub(crate) fn committed(name: &str, ended: Ended) -> Result<Outcome, Trouble> {
    ended.map_err(|error| trouble(name, &error))
}

/// Returns the answer of a New-Order that had to commit.
pub(crate) fn order_of(name: &str, ended: Ended) -> Result<NewOrderOutcome, Trouble> {
    match committed(name, ended)? {
        Outcome::Standard(StandardOutcome::NewOrder(order)) => Ok(order),
        other => {
            Err(Trouble::NotRun(format!("{name} answered {other:?} to a New-Order: please report this")))
        }
    }
}

/// Returns the answer of an Order-Status.
pub(crate) fn status_of(name: &str, ended: Ended) -> Result<OrderStatusOutcome, Trouble> {
    match committed(name, ended)? {
        // A driver may answer so; Lydite's own sessions report it themselves.
        Outcome::Standard(StandardOutcome::OrderStatus(status)) if status.lines.is_empty() => {
            Err(Trouble::Failed(format!(
                "{name} shows order {} without a line: the database is broken",
                status.o_id
            )))
        }
        Outcome::Standard(StandardOutcome::OrderStatus(status)) => Ok(status),
        other => {
            Err(Trouble::NotRun(format!("{name} answered {other:?} to an Order-Status: please report this")))
        }
    }
}

/// Fails a test unless a condition holds.
pub(crate) fn require(holds: bool, words: impl FnOnce() -> String) -> Result<(), Trouble> {
    if holds { Ok(()) } else { Err(Trouble::Failed(words())) }
}

impl<'a> Stage<'a> {
    pub(crate) fn new(audit: &'a Audit<'a>, ground: Ground, round: &Round<'a>) -> Self {
        Self {
            audit,
            target: round.target,
            meta: audit.meta,
            ground,
            stop: round.stop,
            crew: round.crew,
            steps: RefCell::default(),
            load: Cell::default(),
            sees_locks: Cell::new(true),
            restores: Cell::new(false),
        }
    }

    /// Notes a step.
    pub(crate) fn step(&self, words: impl Into<String>) {
        self.steps.borrow_mut().push(words.into());
    }

    /// Ends the test if the user wants that.
    pub(crate) fn goes_on(&self) -> Result<(), Trouble> {
        if !self.restores.get() && (self.stop)() { Err(Trouble::Stopped) } else { Ok(()) }
    }

    /// Restores what the test changed, even if the user wants the end.
    pub(crate) fn restore<T>(&self, work: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Trouble> {
        self.restores.set(true);
        let done = work();
        self.restores.set(false);
        done
    }

    /// Begins a transaction that stops at the selected points.
    pub(crate) fn begin(
        &self,
        name: &'static str,
        transaction: Transaction,
        aborts: Aborts,
        stops: impl Fn(&Point) -> bool + Send + Sync + 'static,
    ) -> Result<Act, Trouble> {
        self.goes_on()?;
        Act::begin(name, &**self.target, self.crew, transaction, aborts, stops)
    }

    /// Begins a transaction that does not stop, and is retried if the database aborts it.
    pub(crate) fn beside(&self, name: &'static str, transaction: Transaction) -> Result<Act, Trouble> {
        self.begin(name, transaction, Aborts::Retried, |_| false)
    }

    /// Begins a transaction, and waits until it stops right before its end.
    pub(crate) fn hold(&self, name: &'static str, transaction: Transaction) -> Result<Act, Trouble> {
        let mut act = self.begin(name, transaction, Aborts::Retried, |point| *point == Point::End)?;
        act.stop()?;
        Ok(act)
    }

    /// Plays a transaction to its end.
    pub(crate) fn play(&self, name: &'static str, transaction: Transaction) -> Result<Ended, Trouble> {
        self.beside(name, transaction)?.end()
    }

    /// Looks at a transaction while another one is open.
    pub(crate) fn look(&self, act: &mut Act) -> Result<Look, Trouble> {
        act.look(&|begun| self.waits(begun))
    }

    /// Returns how it was seen that a transaction without an answer waits; `None` if it may be slow only. `begun` is the
    /// begin of the look.
    pub(crate) fn waits(&self, begun: Instant) -> Result<Option<String>, Trouble> {
        self.goes_on()?;
        let elapsed = begun.elapsed();
        Ok(match self.lock_waits()? {
            Some(1) => Some("the database reports that 1 session waits for a lock".into()),
            Some(count @ 2..) => Some(format!("the database reports that {count} sessions wait for a lock")),
            // Nobody waits for a lock, so the answer will come.
            Some(0) if elapsed < PATIENCE / 2 => None,
            _ if elapsed < self.audit.wait => None,
            _ => Some(format!("no answer within {:.1} s", elapsed.as_secs_f64())),
        })
    }

    /// Asks the database for the sessions that wait for a lock.
    fn lock_waits(&self) -> Result<Option<u64>, Trouble> {
        let held = self.target.capabilities().held.filter(|_| self.sees_locks.get());
        let Some(held) = held else { return Ok(None) };
        // Without the right to see locks, the time without an answer decides, as for a database without such a view.
        let mut unknown = Vec::new();
        let waits = or_unknown("the sessions that wait for a lock", held.lock_waits(), &mut unknown)?;
        unknown.into_iter().for_each(|step| self.step(step));
        self.sees_locks.set(waits.is_some());
        Ok(waits)
    }

    /// Plays the ground's New-Order and rolls it back, to see the next O_ID, the prices and the stock.
    pub(crate) fn probe(&self) -> Result<NewOrderOutcome, Trouble> {
        let mut act = self.hold("probe", self.ground.new_order())?;
        act.go(Then::RollBack);
        order_of("probe", act.end()?)
    }

    /// Plays the ground's Order-Status.
    pub(crate) fn status(&self, name: &'static str) -> Result<OrderStatusOutcome, Trouble> {
        status_of(name, self.play(name, self.ground.order_status())?)
    }

    /// Delivers the home's orders until none is left in the ground's district.
    pub(crate) fn drain(&self) -> Result<u64, Trouble> {
        let mut deliveries = 0;
        loop {
            self.goes_on()?;
            match committed("Delivery", self.play("Delivery", self.ground.delivery())?)? {
                Outcome::Standard(StandardOutcome::Delivery(outcome))
                    if outcome.delivered.iter().any(|(d_id, _)| *d_id == self.ground.district) =>
                {
                    deliveries += 1;
                }
                _ => return Ok(deliveries),
            }
        }
    }

    /// Reads balances in one transaction.
    pub(crate) fn balances(&self, balances: &[Balance]) -> Result<Vec<Cents>, Trouble> {
        self.goes_on()?;
        let read = BalanceTransaction::Select { balances: balances.to_vec(), between: Between::NOTHING };
        let ended = Aside::begin("read balances", &**self.target, read, true)?.end(self.crew)?;
        ended.map_err(|error| trouble("read balances", &error))
    }

    /// Reads traces in one transaction.
    pub(crate) fn traces(&self, traces: &[Trace]) -> Result<Vec<Cents>, Trouble> {
        self.goes_on()?;
        let read = BalanceTransaction::Trace { traces: traces.to_vec(), between: Between::NOTHING };
        let ended = Aside::begin("read both tables", &**self.target, read, true)?.end(self.crew)?;
        ended.map_err(|error| trouble("read both tables", &error))
    }

    /// Reads from a server of the database, on a thread of its own if that can be left behind.
    pub(crate) fn read_from<R: Send + 'static>(
        &self,
        server: &Arc<dyn Target>,
        read: impl FnOnce(&dyn Target) -> Result<R, TargetError> + Send + 'static,
    ) -> Result<R, Trouble> {
        self.goes_on()?;
        if self.audit.embedded {
            return Ok(read(&**server)?);
        }
        read_aside(server, self.stop, read)?.ok_or(Trouble::Stopped)
    }

    /// Counts orders and payments of all warehouses on a server of the database.
    pub(crate) fn all_counts(&self, server: &Arc<dyn Target>) -> Result<LedgerCounts, Trouble> {
        let all = 1..=self.meta.warehouses;
        self.read_from(server, move |target| target.counts(&all))
    }

    /// Counts orders and payments of the ground's warehouses.
    pub(crate) fn counts(&self) -> Result<[LedgerCounts; 2], Trouble> {
        let of = |w_id: u32| self.target.counts(&(w_id..=w_id)).map_err(Trouble::from);
        Ok([of(self.ground.home.0)?, of(self.ground.other.0)?])
    }

    /// Repeats a look until it is right, or for some seconds: in some clusters a server shows late what another one has
    /// committed.
    pub(crate) fn settled<T>(
        &self,
        mut look: impl FnMut() -> Result<T, Trouble>,
        is_right: impl Fn(&T) -> bool,
    ) -> Result<T, Trouble> {
        let begun = Instant::now();
        loop {
            let found = look()?;
            if is_right(&found) || begun.elapsed() >= SETTLING {
                return Ok(found);
            }
            self.goes_on()?;
            std::thread::sleep(AGAIN);
        }
    }
}
