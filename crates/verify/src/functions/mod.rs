//! The function tests of the Dike paper (section 5): does a database give transactions over several warehouses one
//! snapshot, and does it break their deadlocks? They run on TPC-C's tables as they are loaded, change W_YTD alone, with
//! D_YTD where another engine has that, and leave all as it was. Nobody else may change it meanwhile.

mod chance;
mod cycles;
mod group;
mod sessions;
mod snapshot;

pub use group::Group;

use lydite_database::{
    AbortReason, Balance, BalanceTransaction, Between, Demand, Target, TargetError, TxError,
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

/// What every member begins at.
const EQUAL: Cents = Cents(30_000_000);
/// What an update adds: the paper's 10.
const AMOUNT: Cents = Cents(1_000);
/// How much longer than the limit a session may take to answer before it counts as hanging: a wait that a timeout ends
/// is told apart from one without end.
const GRACE: Duration = Duration::from_secs(5);
/// How long restoring is tried at least: sessions that a test left behind may have to end first.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long values that were committed may take to be seen on every server of a cluster.
const SETTLING: Duration = Duration::from_secs(3);
/// Between two attempts at these.
const AGAIN: Duration = Duration::from_millis(50);
/// Warehouses that an update of the deadlock test takes unless told otherwise.
const UPDATES: u32 = 3;

/// What is to be tested, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    /// Whether all values of a group are equal in every read.
    pub snapshot: bool,
    /// Whether every deadlock is broken: rings of two and of three.
    pub deadlock: bool,
    /// The same by chance: updates in random order.
    pub random_order: bool,
    /// How long sessions work in each test that is left to chance.
    pub duration: Duration,
    /// Writers, and as many readers; the deadlock test has as many sessions as both together.
    pub sessions: u32,
    /// Balances that an update of the deadlock test takes; none for 3, or all if the group has fewer.
    pub updates: Option<u32>,
    /// How long a transaction may wait for a lock, in whole seconds.
    pub limit: Duration,
    /// What the sessions' choices depend on.
    pub seed: u64,
}

/// What became of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It is as it should be.
    Passed,
    /// It is not as it should be, or nothing could be proved.
    Failed,
    /// Deadlocks end because somebody has waited long enough, and not because they are found.
    Timeout,
    /// It was not made, or broken off.
    Skipped,
}

/// What one test has found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Which.
    pub test: &'static str,
    /// What became of it.
    pub verdict: Verdict,
    /// What was seen, or why it failed: one line.
    pub detail: String,
    /// How long it took.
    pub seconds: f64,
    /// The same as numbers.
    pub seen: Seen,
}

/// What was seen in a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Seen {
    /// Updates that were committed.
    pub committed: u64,
    /// Transactions that were given up, by reason; the names are those of [`AbortReason`].
    pub aborts: BTreeMap<&'static str, u64>,
    /// Reads of the whole group.
    pub reads: u64,
    /// The most states of the group, one after the other, that one reader saw.
    pub states: u64,
    /// Rings of sessions that held what the next one wanted.
    pub cycles: u64,
    /// The longest from a ring's closing until all its sessions were answered, or of a transaction.
    pub slowest_s: f64,
    /// The first read whose values were not all equal.
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

    /// Adds what another session has seen.
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
    /// Whose they are, in words.
    pub of: [String; 2],
    /// What they were in one read, as decimals.
    pub values: [String; 2],
}

/// What all tests together came to.
#[derive(Debug)]
pub struct Report {
    /// What each has found, in the order in which they were made.
    pub findings: Vec<Finding>,
    /// Whether they were stopped.
    pub stopped: bool,
    /// Why the database could not be asked any more.
    pub lost: Option<TargetError>,
    /// Why the balances are not what they were.
    pub unrestored: Option<String>,
}

/// Tests that can begin: the database was asked, and nothing is changed yet.
pub struct Prepared {
    target: Arc<dyn Target>,
    functions: Functions,
    group: Group,
    /// Those of the group.
    members: Vec<Balance>,
    updates: u32,
    /// How long a ring lasts at least before the database looks for it, if it tells.
    looks_after: Option<Duration>,
    control: Aside,
    /// What has no answer yet, of tests that are over too.
    underway: Underway,
    /// What they were, in the order of the members.
    before: Vec<Cents>,
    /// Sessions of tests that were left behind without an answer.
    hanging: Cell<usize>,
}

/// How a test ends early.
enum Trouble {
    /// The user wants to stop.
    Stopped,
    /// The database is away.
    Lost(TargetError),
    /// What it answered is a finding: one line.
    Failed(String),
    /// The values could not be made equal, for this reason.
    Unequal(String),
}

impl Trouble {
    fn words(self) -> String {
        match self {
            Self::Stopped => "interrupted".into(),
            Self::Lost(error) => error.message,
            Self::Failed(why) | Self::Unequal(why) => why,
        }
    }
}

type Tested<T> = Result<T, Trouble>;

/// What a transaction's error is to a test that can go on after no abort.
fn trouble(error: &TxError) -> Trouble {
    match error {
        TxError::Unavailable { .. } => Trouble::Lost(TargetError::unreachable(error.to_string())),
        TxError::Aborted { .. } | TxError::RolledBack(_) | TxError::Broken(_) | TxError::Fatal(_) => {
            Trouble::Failed(error.to_string())
        }
    }
}

/// Looks at the database, and makes sure that the tests can be made on it.
///
/// # Errors
/// It has too few warehouses, takes too few sessions, can't play the transactions, or is away.
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
    let placement = target.capabilities().placement(warehouses)?;
    let group = Group::new(warehouses, placement.as_ref(), balances.engines()?);
    let members = group.members();
    let count = members.len() as u32;
    let updates = functions.updates.unwrap_or(UPDATES.min(count));
    if updates > count {
        return Err(TargetError::usage(format!(
            "--updates {updates}: the tests use {count} {}s, so at most that many can be updated in a transaction",
            group.word()
        )));
    }
    let looks_after = balances.deadlock_timeout()?;
    if let Some(time) =
        looks_after.filter(|time| (functions.deadlock || functions.random_order) && *time >= functions.limit)
    {
        return Err(TargetError::usage(format!(
            "--limit {} s: the database looks for deadlocks after {} s only (deadlock_timeout): give it a longer limit",
            functions.limit.as_secs(),
            time.as_secs_f64()
        )));
    }
    // One more sets and reads the values.
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
    };
    prepared.before = prepared.read(prepared.patience()).map_err(|error| match error {
        Trouble::Lost(error) => error,
        other => TargetError::database(format!("the balances can't be read: {}", other.words())),
    })?;
    Ok(prepared)
}

impl Prepared {
    /// What the tests use.
    #[must_use]
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// Makes the tests, and brings the balances back to what they were, whatever they came to. `stop` is asked now and then;
    /// `done` is told each finding as it comes.
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
            tests.push((chance::NAME, Box::new(|seen| self.chance(seen, stop))));
        }
        let mut over: Option<String> = None;
        for (test, play) in tests {
            let begun = Instant::now();
            let mut seen = Seen::default();
            let (verdict, detail) = match &over {
                Some(why) => (Verdict::Skipped, why.clone()),
                None => match self.equalize().and_then(|()| play(&mut seen)) {
                    Ok(told) => (told.verdict, told.detail),
                    Err(Trouble::Failed(why)) => (Verdict::Failed, why),
                    Err(Trouble::Stopped) => (Verdict::Skipped, "interrupted".into()),
                    Err(Trouble::Unequal(why)) => {
                        over = Some("the balances can't be made equal".into());
                        (Verdict::Failed, why)
                    }
                    Err(Trouble::Lost(error)) => {
                        let why = format!("broken off: {error}");
                        report.lost = Some(error);
                        (Verdict::Skipped, why)
                    }
                },
            };
            if stop() {
                report.stopped = true;
                over = Some("interrupted".into());
            } else if report.lost.is_some() {
                over = Some("the database was lost before".into());
            } else if self.hanging.get() > 0 {
                over = Some("sessions of the test before still hang".into());
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
                "the balances can't be made equal to begin with ({why}): does somebody else work on the database?"
            )),
            other => other,
        })
    }

    /// Brings the balances back to what they were, and looks whether they are.
    fn restore(&self) -> Result<(), String> {
        let patience = PATIENCE.max(self.patience());
        // What was left behind may still be committed.
        let end = Instant::now() + patience;
        while self.underway.count() > 0 && Instant::now() < end {
            thread::sleep(AGAIN);
        }
        // Counted before: what ends meanwhile may have come after the last look.
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
        if after == self.before { Ok(()) } else { Err("somebody else changes it too".into()) }
    }

    /// How long the values are read and set between tests, when nobody should be in the way.
    fn patience(&self) -> Duration {
        2 * self.functions.limit + GRACE
    }

    fn set(&self, value: impl Fn(usize) -> Cents, patience: Duration) -> Tested<()> {
        let values = self.members.iter().enumerate().map(|(index, &id)| (id, value(index)));
        self.insist(&BalanceTransaction::Set(values.collect()), patience).map(drop)
    }

    /// The values of all members.
    fn read(&self, patience: Duration) -> Tested<Vec<Cents>> {
        let balances = self.members.clone();
        self.insist(&BalanceTransaction::Select { balances, between: Between::NOTHING }, patience)
    }

    /// The same, when they are these; or what they are after a while.
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

    /// Plays a transaction again and again until it is committed, on a new connection where the old one is lost: it does
    /// the same when it is done twice.
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

    /// Compares the values with what the committed updates make them: an error names the first that differs.
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
                    "the sums do not add up: the balance of {id} is {seen}, and {count} committed updates make it {wanted}"
                )));
            }
        }
        Ok(())
    }
}

impl Prepared {
    /// How sessions of a test that is left to chance work.
    fn span<'a>(&self, stop: &'a dyn Fn() -> bool, proved: &'a dyn Fn() -> bool) -> Span<'a> {
        Span { duration: self.functions.duration, limit: self.functions.limit, stop, proved }
    }

    /// The finding of sessions that did not answer; they are left behind.
    fn hang(&self, count: usize, of: usize) -> String {
        self.hanging.set(self.hanging.get() + count);
        let time = (self.functions.limit + GRACE).as_secs_f64();
        format!("{count} of {of} sessions hang: no answer within {time:.0} s")
    }
}

/// A stream of random numbers for one session.
fn random(seed: u64, session: u32) -> Xoshiro256PlusPlus {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..session).for_each(|_| random.jump());
    random
}

/// A time from 0 up to this one.
fn draw(random: &mut Xoshiro256PlusPlus, most: Duration) -> Duration {
    most.mul_f64(unit(random))
}

/// A number from 0 to 1.
fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    random.next_u64() as f64 / u64::MAX as f64
}

/// What happens between two statements that are so far apart.
fn pause(time: Duration) -> Between {
    if time.is_zero() { Between::NOTHING } else { Between::new(move || thread::sleep(time)) }
}

/// What a test found when it was not broken off.
struct Told {
    verdict: Verdict,
    detail: String,
}

impl Told {
    fn passed(detail: String) -> Self {
        Self { verdict: Verdict::Passed, detail }
    }
}

type Test<'a> = Box<dyn Fn(&mut Seen) -> Tested<Told> + 'a>;

/// `1 abort`, `2 aborts`.
fn counted(count: u64, word: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {word}{plural}")
}
