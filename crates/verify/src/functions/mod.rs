//! The function tests of the Dike paper (section 5): does a database give transactions over several warehouses one
//! snapshot, and does it break their deadlocks? They run on the loaded tables of TPC-C. They change only W_YTD, and
//! D_YTD if that is in another engine, and restore both. No other client may change these values meanwhile.

mod cycles;
mod group;
mod random_order;
mod sessions;
mod snapshot;
mod trouble;

pub use group::Group;

use lydite_database::{
    AbortReason, Balance, BalanceTransaction, Between, Demand, Target, TargetError, TxError, or_unknown,
};
use lydite_tpcc::Cents;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use sessions::{Aside, Span, Underway};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use trouble::{GRACE, Trouble, trouble};

/// Value of every member at the beginning.
const EQUAL: Cents = Cents(30_000_000);
/// Amount that an update adds: 10, as in the paper.
const AMOUNT: Cents = Cents(1_000);
/// Least time for attempts to restore the balances: sessions that a test left behind may have to end first.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time in which every server of a cluster must see committed values.
const SETTLING: Duration = Duration::from_secs(3);
/// Interval between two attempts.
const AGAIN: Duration = Duration::from_millis(50);
/// Warehouses that a transaction of the deadlock test updates by default.
const UPDATES: u32 = 3;

/// Tests to run, and their duration.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    /// True to test that all values of a group are equal in every read.
    pub snapshot: bool,
    /// True to test that every deadlock is broken: rings of two and of three.
    pub deadlock: bool,
    /// True to test the same with updates in random order.
    pub random_order: bool,
    /// Duration of each test that is left to chance.
    pub duration: Duration,
    /// Number of writers, and of readers. The deadlock test has as many sessions as both together.
    pub sessions: u32,
    /// Balances that a transaction of the deadlock test updates; none for 3, or all if the group has fewer.
    pub updates: Option<u32>,
    /// Longest wait of a transaction for a lock, in whole seconds.
    pub limit: Duration,
    /// Seed of the sessions' choices.
    pub seed: u64,
}

/// Verdict on a function test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TestVerdict {
    /// The database behaves as it must.
    Passed,
    /// The database does not behave as it must, or nothing could be proved.
    Failed,
    /// A timeout ends deadlocks; the database does not find them.
    Timeout,
    /// The test did not run, or was broken off.
    Skipped,
}

/// Finding of one test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Name of the test.
    pub test: &'static str,
    /// Verdict on the test.
    pub verdict: TestVerdict,
    /// Observation, or reason of the failure: one line.
    pub detail: String,
    /// Duration of the test, in seconds.
    pub seconds: f64,
    /// Observation in numbers.
    pub seen: Seen,
}

/// Observations of a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Seen {
    /// Updates that were committed.
    pub committed: u64,
    /// Aborted transactions by reason; the names are those of [`AbortReason`].
    pub aborts: BTreeMap<&'static str, u64>,
    /// Reads of the whole group.
    pub reads: u64,
    /// Most consecutive states of the group that one reader saw.
    pub states: u64,
    /// Rings of sessions that each held what the next one wanted.
    pub cycles: u64,
    /// Longest time from the closing of a ring until all its sessions were answered, or of a transaction, in seconds.
    pub slowest_s: f64,
    /// First read with unequal values.
    pub unequal: Option<Unequal>,
}

impl Seen {
    fn abort(&mut self, reason: AbortReason) {
        *self.aborts.entry(reason.name()).or_default() += 1;
    }

    fn aborts_of(&self, reason: AbortReason) -> u64 {
        self.aborts.get(reason.name()).copied().unwrap_or(0)
    }

    fn all_aborts(&self) -> u64 {
        self.aborts.values().sum()
    }

    /// Adds the observations of another session.
    fn add(&mut self, other: Self) {
        self.committed += other.committed;
        self.reads += other.reads;
        self.states = self.states.max(other.states);
        self.cycles += other.cycles;
        self.slowest_s = self.slowest_s.max(other.slowest_s);
        for (reason, count) in other.aborts {
            *self.aborts.entry(reason).or_default() += count;
        }
        if self.unequal.is_none() {
            self.unequal = other.unequal;
        }
    }
}

/// Two values that should have been equal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unequal {
    /// Names of the two balances.
    pub of: [String; 2],
    /// Values in one read, as decimals.
    pub values: [String; 2],
}

/// Result of all tests.
#[derive(Debug)]
pub struct Report {
    /// Findings, in the order of the tests.
    pub findings: Vec<Finding>,
    /// True if the user stopped the tests.
    pub stopped: bool,
    /// Error that ended the connection to the database.
    pub lost: Option<TargetError>,
    /// Reason why the balances could not be restored.
    pub unrestored: Option<String>,
}

/// Tests that are ready to run: the database was read, and nothing is changed yet.
pub struct Prepared {
    target: Arc<dyn Target>,
    functions: Functions,
    group: Group,
    /// Members of the group.
    members: Vec<Balance>,
    updates: u32,
    /// Least age of a ring before the database looks for it, if the database reports this.
    looks_after: Option<Duration>,
    control: Aside,
    /// Transactions without an answer, also of finished tests.
    underway: Underway,
    /// Values before the tests, in the order of the members.
    before: Vec<Cents>,
    /// Number of sessions that tests left behind without an answer.
    hanging: Cell<usize>,
    /// Warnings about what the database did not report.
    unknown: Vec<String>,
}

type Tested<T> = Result<T, Trouble>;

/// Reads the database and makes sure that the tests can run on it.
///
/// # Errors
/// Fails if the database has too few warehouses, accepts too few sessions, can't play the transactions, or is not
/// reachable.
pub fn prepare(
    target: &Arc<dyn Target>,
    warehouses: u32,
    functions: Functions,
) -> Result<Prepared, TargetError> {
    if warehouses < 2 {
        return Err(TargetError::usage(
            "the function tests need two warehouses at least, and the database has one: load more",
        ));
    }
    let balances = target.capabilities().balances()?;
    let mut unknown = Vec::new();
    let placement = target.capabilities().placement(warehouses);
    let placement = or_unknown("the nodes of the warehouses", placement, &mut unknown)?;
    let engines = or_unknown("the engines of the tables", balances.engines(), &mut unknown)?;
    let group = Group::new(warehouses, placement.as_ref(), engines);
    let members = group.members();
    let count = members.len() as u32;
    let updates = functions.updates.unwrap_or(UPDATES.min(count));
    if updates > count {
        return Err(TargetError::usage(format!(
            "--updates {updates}: the tests use {count} {}s, and a transaction can't update more: lower it",
            group.word()
        )));
    }
    let looks_after = or_unknown("deadlock_timeout", balances.deadlock_timeout(), &mut unknown)?;
    if let Some(time) =
        looks_after.filter(|time| (functions.deadlock || functions.random_order) && *time >= functions.limit)
    {
        return Err(TargetError::usage(format!(
            "--limit {} s: the database looks for deadlocks only after {} s (deadlock_timeout): raise the limit",
            functions.limit.as_secs(),
            time.as_secs_f64()
        )));
    }
    // One more session sets and reads the values.
    target.admit(&Demand::Sessions(2 * functions.sessions + 1))?;
    let underway = Underway::default();
    let control = Aside::connect(target, functions.limit, &underway)?;
    let mut prepared = Prepared {
        target: Arc::clone(target),
        functions,
        group,
        members,
        updates,
        looks_after,
        control,
        underway,
        before: Vec::new(),
        hanging: Cell::new(0),
        unknown,
    };
    prepared.before = prepared.read(prepared.patience()).map_err(|error| match error {
        Trouble::Lost(error) => error,
        other => TargetError::database(format!("the balances can't be read: {}", other.words())),
    })?;
    Ok(prepared)
}

impl Prepared {
    /// Returns the balances that the tests use.
    #[must_use]
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// Returns warnings about what the database did not report, one line each. The tests then choose their rows as if it
    /// had one node and one engine.
    #[must_use]
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// Runs the tests, then restores the balances in any case. Calls `stop` from time to time, and `done` with each
    /// finding as it comes.
    pub fn run(&self, stop: &dyn Fn() -> bool, done: &mut dyn FnMut(&Finding)) -> Report {
        let mut report = Report { findings: Vec::new(), stopped: false, lost: None, unrestored: None };
        let mut tests: Vec<(&'static str, Test)> = Vec::new();
        if self.functions.snapshot {
            tests.push((snapshot::NAME, Box::new(|seen| self.snapshot(seen, stop))));
        }
        if self.functions.deadlock {
            for length in [2, 3] {
                tests.push((cycles::name(length), Box::new(move |seen| self.cycles(length, seen, stop))));
            }
        }
        if self.functions.random_order {
            tests.push((random_order::NAME, Box::new(|seen| self.random_order(seen, stop))));
        }
        let mut over: Option<String> = None;
        for (test, play) in tests {
            let begun = Instant::now();
            let mut seen = Seen::default();
            let (verdict, detail) = match &over {
                Some(why) => (TestVerdict::Skipped, why.clone()),
                None => match self.equalize().and_then(|()| play(&mut seen)) {
                    Ok(told) => (told.verdict, told.detail),
                    Err(Trouble::Failed(why)) => (TestVerdict::Failed, why),
                    Err(Trouble::Stopped) => (TestVerdict::Skipped, "interrupted".into()),
                    Err(Trouble::Unequal(why)) => {
                        over = Some("the balances can't be made equal".into());
                        (TestVerdict::Failed, why)
                    }
                    Err(Trouble::Lost(error)) => {
                        let why = format!("broken off: {error}");
                        report.lost = Some(error);
                        (TestVerdict::Skipped, why)
                    }
                },
            };
            if stop() {
                report.stopped = true;
                over = Some("interrupted".into());
            } else if report.lost.is_some() {
                over = Some("an earlier test lost the database".into());
            } else if self.hanging.get() > 0 {
                over = Some("sessions of an earlier test still hang".into());
            }
            let detail = detail.split('\n').map(str::trim).collect::<Vec<_>>().join(" ");
            let finding = Finding { test, verdict, detail, seconds: begun.elapsed().as_secs_f64(), seen };
            done(&finding);
            report.findings.push(finding);
        }
        report.unrestored = self.restore().err();
        report
    }

    /// Gives all members the same value.
    fn equalize(&self) -> Tested<()> {
        self.set(|_| EQUAL, self.patience()).map_err(|error| match error {
            Trouble::Failed(why) => Trouble::Unequal(format!(
                "the balances can't be made equal before the test ({why}): does another client work on the database?"
            )),
            other => other,
        })
    }

    /// Restores the balances and verifies them.
    fn restore(&self) -> Result<(), String> {
        let patience = PATIENCE.max(self.patience());
        // Transactions that were left behind may still be committed.
        let end = Instant::now() + patience;
        while self.underway.count() > 0 && Instant::now() < end {
            thread::sleep(AGAIN);
        }
        // Count first: a transaction that ends meanwhile may have come after the last read.
        let underway = self.underway.count();
        let restored = self.restore_now(patience);
        match underway {
            0 => restored,
            count => Err(format!(
                "{} had no answer {:.0} s after the tests, and may still be committed",
                counted(count as u64, "transaction"),
                patience.as_secs_f64()
            )),
        }
    }

    fn restore_now(&self, patience: Duration) -> Result<(), String> {
        if self.read(patience).map_err(Trouble::words)? == self.before {
            return Ok(());
        }
        self.set(|index| self.before[index], patience).map_err(Trouble::words)?;
        let after = self.settled(&self.before).map_err(Trouble::words)?;
        if after == self.before { Ok(()) } else { Err("another client changes them too".into()) }
    }

    /// Returns the time for reading and setting values between tests, when no session should be in the way.
    fn patience(&self) -> Duration {
        2 * self.functions.limit + GRACE
    }

    fn set(&self, value: impl Fn(usize) -> Cents, patience: Duration) -> Tested<()> {
        let values = self.members.iter().enumerate().map(|(index, &id)| (id, value(index)));
        self.insist(&BalanceTransaction::Set(values.collect()), patience).map(drop)
    }

    /// Reads the values of all members.
    fn read(&self, patience: Duration) -> Tested<Vec<Cents>> {
        let balances = self.members.clone();
        self.insist(&BalanceTransaction::Select { balances, between: Between::NOTHING }, patience)
    }

    /// Reads the values until they are `wanted`; after a while returns them as they are.
    fn settled(&self, wanted: &[Cents]) -> Tested<Vec<Cents>> {
        let end = Instant::now() + SETTLING;
        loop {
            let values = self.read(self.patience())?;
            if values == wanted || Instant::now() >= end {
                return Ok(values);
            }
            thread::sleep(AGAIN);
        }
    }

    /// Plays a transaction until it is committed, on a new connection if the old one is lost. A repetition must not
    /// change its effect.
    fn insist(&self, transaction: &BalanceTransaction, patience: Duration) -> Tested<Vec<Cents>> {
        let deadline = Instant::now() + patience;
        let mut fresh = None;
        loop {
            let control = fresh.as_ref().unwrap_or(&self.control);
            let failed = match control.play(transaction.clone(), deadline) {
                Some(answer) => match answer.result {
                    Ok(values) => return Ok(values),
                    Err(error @ (TxError::Aborted { .. } | TxError::Unavailable { .. })) => error.to_string(),
                    Err(error) => return Err(trouble(&error)),
                },
                None => "no answer".to_string(),
            };
            let lost = !control.is_ready();
            if lost {
                match Aside::connect(&self.target, self.functions.limit, &self.underway) {
                    Ok(connected) => fresh = Some(connected),
                    Err(error) => return Err(Trouble::Lost(error)),
                }
            }
            if Instant::now() >= deadline {
                return Err(Trouble::Failed(failed));
            }
            thread::sleep(AGAIN);
        }
    }

    /// Compares the values with the sums of the committed updates. The error names the first difference.
    fn sums(&self, updates: &BTreeMap<Balance, u64>) -> Tested<()> {
        let members = &self.members;
        let count = |balance: &Balance| updates.get(balance).copied().unwrap_or(0);
        let wanted: Vec<Cents> =
            members.iter().map(|id| Cents(EQUAL.0 + AMOUNT.0 * count(id) as i64)).collect();
        let values = self.settled(&wanted)?;
        for ((id, seen), wanted) in members.iter().zip(values).zip(wanted) {
            if seen != wanted {
                let count = count(id);
                return Err(Trouble::Failed(format!(
                    "the sums do not add up: the balance of {id} is {seen} instead of {wanted} after {count} \
                     committed updates"
                )));
            }
        }
        Ok(())
    }
}

impl Prepared {
    /// Returns the duration and limits of a test that is left to chance.
    fn span<'a>(&self, stop: &'a dyn Fn() -> bool, proved: &'a dyn Fn() -> bool) -> Span<'a> {
        Span { duration: self.functions.duration, limit: self.functions.limit, stop, proved }
    }

    /// Returns the finding about sessions without an answer, which are left behind.
    fn hang(&self, count: usize, of: usize) -> String {
        self.hanging.set(self.hanging.get() + count);
        let time = (self.functions.limit + GRACE).as_secs_f64();
        format!("{count} of {of} sessions hang: no answer within {time:.0} s")
    }
}

/// Returns a stream of random numbers for one session.
fn random(seed: u64, session: u32) -> Xoshiro256PlusPlus {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..session).for_each(|_| random.jump());
    random
}

/// Draws a time from 0 up to `most`.
fn draw(random: &mut Xoshiro256PlusPlus, most: Duration) -> Duration {
    most.mul_f64(unit(random))
}

/// Draws a number from 0 to 1.
fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    random.next_u64() as f64 / u64::MAX as f64
}

/// Returns a pause between two statements of this length.
fn pause(time: Duration) -> Between {
    if time.is_zero() { Between::NOTHING } else { Between::new(move || thread::sleep(time)) }
}

/// Result of a test that was not broken off.
struct Told {
    verdict: TestVerdict,
    detail: String,
}

impl Told {
    fn passed(detail: String) -> Self {
        Self { verdict: TestVerdict::Passed, detail }
    }
}

type Test<'a> = Box<dyn Fn(&mut Seen) -> Tested<Told> + 'a>;

/// Returns a count with its noun: `1 abort`, `2 aborts`.
fn counted(count: u64, word: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {word}{plural}")
}
