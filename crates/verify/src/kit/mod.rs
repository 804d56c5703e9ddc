//! The conformance kit: proves that a target is driven correctly, whether a family, a driver in another language or a
//! key-value store drives it. Expected answers and rows come from the SQLite target with the same rows and inputs.
//!
//! The kit works on an empty database and drops what it made. Every failure is a [`Step`] with its reason. No behaviour
//! of a target makes the kit panic or end early.

mod claim;
mod concurrency;
mod durability;
mod expected;
mod isolation;
mod judge;
mod readers;
mod script;
mod words;

use crate::history::Level;
use claim::Claim;
use expected::{Expected, difference, play};
use lydite_database::{
    DatabaseState, Description, LoadProgress, LoadUnit, TableChecksum, Target, TargetError, TargetErrorKind,
    TxError, TxMode,
};
use lydite_tpcc::consistency::CONDITIONS;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::population::Population;
use lydite_tpcc::{Size, StandardKind, Timestamp, Transaction, WarehouseId};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

const SEED: u64 = 7;
/// Time of the load. Any time will do: the kit compares only the presence of points in time.
const LOADED_AT: Timestamp = Timestamp(1_700_000_000_000_000);

/// Verdict on a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepVerdict {
    /// The target behaves as it must.
    Passed,
    /// The target does not offer or not promise this.
    NotSupported,
    /// The target does not behave as it must.
    Failed,
    /// An earlier step failed that this one needs.
    Skipped,
}

/// Result of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Name of the step.
    pub name: String,
    /// Verdict on the step.
    pub verdict: StepVerdict,
    /// Observation, or reason of the failure: one line.
    pub detail: String,
    /// Duration of the step, in seconds.
    pub seconds: f64,
}

/// Version of the kit. It rises when drivers that passed must be tested again, because the kit tests more than before.
pub const VERSION: u32 = 2;

/// The target and its steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Proved {
    /// Description by the target itself; none if it did not greet.
    pub description: Option<Description>,
    /// All steps.
    pub steps: Vec<Step>,
}

/// A target under test.
#[derive(Clone, Copy)]
pub struct Kit<'a> {
    /// URL of the target, for messages.
    pub url: &'a str,
    /// Function that opens the target with a way of sending transactions.
    pub open: &'a dyn Fn(TxMode) -> Result<Arc<dyn Target>, TargetError>,
    /// True if closing the target loses its data.
    pub temporary: bool,
    /// Ways of sending transactions. The first one gets all steps; the others are compared with it.
    pub modes: &'a [TxMode],
    /// An empty database that is known to be correct. The target's answers and rows are compared with its own.
    pub reference: &'a dyn Target,
    /// Warehouses to load. With one warehouse nothing is remote.
    pub warehouses: u32,
    /// True to drop the data that the database holds.
    pub fresh: bool,
}

impl Kit<'_> {
    fn open_first(&self) -> Result<Arc<dyn Target>, TargetError> {
        (self.open)(self.modes.first().copied().unwrap_or_default())
    }
}

/// Reason why the kit has no verdict at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KitError {
    /// The URL is wrong, or the database must not be touched. The lines say what to do.
    Usage(Vec<String>),
    /// The reference could not be made; this is no fault of the target.
    Reference(TargetError),
}

/// Observation of a step, or the reason why it did not pass.
type Seen = Result<String, Trouble>;

/// Reason why a step did not pass.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It failed.
    Failed(String),
    /// Rows or answers show an anomaly that only isolation below level 3 allows.
    Anomaly(String),
    /// The target does not offer or not promise this.
    NotSupported(String),
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<TargetError> for Trouble {
    fn from(error: TargetError) -> Self {
        Self::Failed(error.message)
    }
}

/// Proves a target step by step and calls `done` with each step as it ends. When `stopped` returns true the remaining
/// steps are skipped, except the last one, which drops what was made.
///
/// # Errors
/// See [`KitError`].
pub fn prove(
    kit: Kit<'_>,
    stopped: &dyn Fn() -> bool,
    done: &mut dyn FnMut(&Step),
) -> Result<Proved, KitError> {
    let mut steps = Steps { steps: Vec::new(), done, stopped, blocked: None };
    let target = match kit.open_first() {
        Ok(target) => target,
        Err(error) => return Err(KitError::Usage(vec![error.message])),
    };
    let mut description = None;
    steps.needed("greeting", || {
        let found = target.describe()?;
        let seen = format!("{} {}, isolation {}", found.kind, found.version, found.isolation);
        description = Some(found);
        Ok(seen)
    });
    if let Some(found) = &description {
        // Without the password that the kit's own may have.
        let url = &found.url;
        match target.state() {
            Ok(DatabaseState::Empty) => {}
            Ok(_) if kit.fresh => steps.needed("drop", || {
                target.reset()?;
                Ok("dropped the old contents of the database".into())
            }),
            Ok(DatabaseState::Foreign { tables }) => {
                return Err(KitError::Usage(vec![format!(
                    "{url} has tables that Lydite did not make ({}), and the kit needs an empty database: name another one; \
                     if nobody needs these tables, --fresh drops them with all their rows",
                    tables.join(", ")
                )]));
            }
            Ok(_) => {
                return Err(KitError::Usage(vec![format!(
                    "{url} is not empty, and the kit needs an empty database: name another one, or drop its contents \
                     with --fresh"
                )]));
            }
            Err(error) => steps.needed("state", || Err(error.into())),
        }
    }
    let expected = if steps.blocked.is_none() {
        Some(Expected::new(kit.reference, kit.warehouses).map_err(KitError::Reference)?)
    } else {
        None
    };
    if let (Some(expected), Some(description)) = (&expected, &description) {
        let claim = Claim::of(description);
        Proof { kit, target: &target, expected, description, claim }.run(&mut steps);
    }
    drop(target);
    if expected.is_some() {
        reconnect(kit, &mut steps);
    }
    Ok(Proved { description, steps: steps.steps })
}

/// Runs the last steps: the database as another process would find it, and its end.
fn reconnect(kit: Kit<'_>, steps: &mut Steps<'_>) {
    if kit.temporary {
        return;
    }
    steps.step("cancellation", || {
        concurrency::cancellation(&*kit.open_first()?)?;
        Ok("a stopped check ends, and sessions go on".into())
    });
    let mut opened = None;
    steps.step("reconnect", || {
        let target = kit.open_first()?;
        let state = target.state()?;
        if state != (DatabaseState::Ready { meta: meta(kit.warehouses) }) {
            return Err(format!("after reopening, the database {}", words::state(&state)).into());
        }
        let order = expected::inputs(kit.warehouses, 10);
        let answers = play(&*target, &order)?;
        let failed = answers.iter().find(|answer| !matches!(answer, Ok(_) | Err(TxError::RolledBack(_))));
        opened = Some(target);
        match failed {
            Some(Err(error)) => Err(format!("a new session failed: {error}").into()),
            _ => Ok("reopened; a new session plays transactions".into()),
        }
    });
    steps.always("clean up", || {
        match opened {
            Some(target) => target.reset()?,
            None => kit.open_first()?.reset()?,
        }
        Ok("dropped what the kit made".into())
    });
}

pub(crate) fn meta(warehouses: u32) -> DatabaseMeta {
    // Tests find errors in few rows as well as in many, and the author of a driver waits for each of them.
    DatabaseMeta { size: Size::Tiny, ..DatabaseMeta::uniform(warehouses, SEED, env!("CARGO_PKG_VERSION")) }
}

/// The steps so far.
struct Steps<'a> {
    steps: Vec<Step>,
    done: &'a mut dyn FnMut(&Step),
    stopped: &'a dyn Fn() -> bool,
    /// Reason why the remaining steps are skipped.
    blocked: Option<String>,
}

impl Steps<'_> {
    fn end(&mut self, name: &str, begun: Instant, seen: Seen) -> bool {
        let (verdict, detail) = match seen {
            Ok(detail) => (StepVerdict::Passed, detail),
            Err(Trouble::NotSupported(why)) => (StepVerdict::NotSupported, why),
            Err(Trouble::Failed(why) | Trouble::Anomaly(why)) => (StepVerdict::Failed, why),
        };
        self.note(name, verdict, detail, begun.elapsed().as_secs_f64());
        verdict != StepVerdict::Failed
    }

    fn note(&mut self, name: &str, verdict: StepVerdict, detail: String, seconds: f64) {
        let detail = detail.split('\n').map(str::trim).collect::<Vec<_>>().join(" ");
        let step = Step { name: name.into(), verdict, detail, seconds };
        (self.done)(&step);
        self.steps.push(step);
        if self.blocked.is_none() && (self.stopped)() {
            self.blocked = Some("interrupted".into());
        }
    }

    /// Runs a step unless an earlier one blocks it.
    fn step(&mut self, name: &str, look: impl FnOnce() -> Seen) {
        match &self.blocked {
            Some(why) => {
                let why = why.clone();
                self.note(name, StepVerdict::Skipped, why, 0.0);
            }
            None => self.always(name, look),
        }
    }

    /// Runs a step after any failures.
    fn always(&mut self, name: &str, look: impl FnOnce() -> Seen) {
        let begun = Instant::now();
        let seen = look();
        self.end(name, begun, seen);
    }

    /// Runs a step that all later ones need.
    fn needed(&mut self, name: &str, look: impl FnOnce() -> Seen) {
        if self.blocked.is_some() {
            return self.step(name, look);
        }
        let begun = Instant::now();
        let seen = look();
        self.needed_that_began(name, begun, seen);
    }

    /// Records a step that has already run and that all later ones need.
    fn needed_that_began(&mut self, name: &str, begun: Instant, seen: Seen) {
        if !self.end(name, begun, seen) {
            self.blocked = Some(format!("needs {name}, which failed"));
        }
    }
}

/// A target that has introduced itself, and the answers expected of it.
struct Proof<'a> {
    kit: Kit<'a>,
    target: &'a Arc<dyn Target>,
    expected: &'a Expected,
    description: &'a Description,
    claim: Claim,
}

impl Proof<'_> {
    fn run(&self, steps: &mut Steps<'_>) {
        let target: &dyn Target = &**self.target;
        let begun = Instant::now();
        if steps.blocked.is_none()
            && let Some(store) = target.capabilities().store
            && let Some(tried) = store.try_functions().transpose()
        {
            steps.needed_that_began("functions", begun, tried.map_err(Trouble::from));
        }
        steps.needed("schema", || self.schema());
        steps.needed("interrupted load", || self.interrupted_load());
        steps.needed("load", || load_rows(target, self.kit.warehouses));
        steps.step("rows as loaded", || same_rows(&self.expected.loaded, &target.checksums()?));
        steps.step("conditions as loaded", || conditions(target));
        let answers =
            if steps.blocked.is_none() { play(target, &self.expected.inputs) } else { Ok(Vec::new()) };
        for kind in StandardKind::ALL {
            steps.step(kind.title(), || self.answers_of(kind, answers.as_deref()));
        }
        let mut rows = Vec::new();
        steps.step("rows afterwards", || {
            rows = target.checksums()?;
            same_rows(&self.expected.played, &rows)
        });
        steps.step("rollback", || self.rollback(&rows));
        let level_3 = self.description.isolation_is_level_3;
        let keeps_updates = level_3 || self.claim.reaches(Level::SnapshotIsolation);
        let keeps_aborts = level_3 || self.claim.reaches(Level::ReadCommitted);
        steps.step("contention", || self.promised(level_3, concurrency::contention(target)));
        steps.step("lost update", || self.promised(keeps_updates, concurrency::lost_update(target)));
        steps.step("dirty read", || self.promised(keeps_aborts, concurrency::dirty_read(target)));
        // Lydite itself says what its own families promise, and `lydite verify --isolation` tests their databases.
        if self.description.declared_guarantee().is_some() {
            steps.step("isolation, provoked", || isolation::provoked(self.target, &self.claim));
            steps.step("isolation, random", || isolation::random(self.target, &self.claim));
        }
        steps.step("conditions afterwards", || self.promised(level_3, conditions(target)));
        if target.capabilities().program.is_some() {
            steps.step("durability", || {
                durability::durability(self.kit, target, self.description, &self.expected.loaded)
            });
        }
        for &mode in &self.kit.modes[1..] {
            steps.step(&format!("--tx {mode}"), || self.other_mode(mode));
        }
        if self.kit.modes.len() == 1 {
            steps
                .step("other --tx", || Err(Trouble::NotSupported(format!("has {} only", self.kit.modes[0]))));
        }
    }

    fn schema(&self) -> Seen {
        self.target.create_schema(&meta(self.kit.warehouses))?;
        match self.target.state()? {
            DatabaseState::Loading { items: false, warehouses, .. } if warehouses.is_empty() => {}
            state => {
                return Err(
                    format!("after creating the tables, the database {}", words::state(&state)).into()
                );
            }
        }
        if self.target.create_schema(&meta(self.kit.warehouses)).is_ok() {
            return Err("the database accepted a second creation of the tables".to_string().into());
        }
        Ok("created; a second creation is rejected".into())
    }

    fn interrupted_load(&self) -> Seen {
        let progress = LoadProgress::default();
        progress.stop();
        let unit = LoadUnit::Warehouse(WarehouseId(1));
        let mut loader = self.target.loader()?;
        if loader.load(unit, &(&population(self.kit.warehouses)).into(), &progress).is_ok() {
            return Err("an interrupted load of a warehouse ends without an error".to_string().into());
        }
        match self.target.state()? {
            DatabaseState::Loading { warehouses, .. } if warehouses.is_empty() => {
                Ok("the warehouse counts as missing, and can be loaded again".into())
            }
            state => Err(format!("after an interrupted load, the database {}", words::state(&state)).into()),
        }
    }

    fn answers_of(&self, kind: StandardKind, answers: Result<&[expected::Answer], &TargetError>) -> Seen {
        let answers = answers.map_err(Clone::clone)?;
        let of_kind = |transaction: &Transaction| transaction.kind() == kind;
        let mut compared = 0;
        let mut first = None;
        let mut different = 0;
        let all = self.expected.inputs.iter().zip(answers.iter().zip(&self.expected.answers));
        for (number, (input, (seen, wanted))) in all.enumerate().filter(|(_, (input, _))| of_kind(input)) {
            compared += 1;
            if let Some(words) = difference(seen, wanted) {
                different += 1;
                first.get_or_insert_with(|| {
                    format!("transaction {number}: {words}; its input was {}", words::input(input))
                });
            }
        }
        match first {
            Some(first) => {
                Err(format!("{different} of {compared} answers are wrong; the first: {first}").into())
            }
            None => Ok(format!("{compared} answers equal those of the reference")),
        }
    }

    /// Plays only orders with an unused item. No row may change.
    fn rollback(&self, before: &[TableChecksum]) -> Seen {
        let orders = expected::orders_to_roll_back(self.kit.warehouses);
        for (number, answer) in play(&**self.target, &orders)?.into_iter().enumerate() {
            match answer {
                Err(TxError::RolledBack(_)) => {}
                Ok(_) => return Err(format!("order {number} has an unused item and was committed").into()),
                Err(error) => return Err(format!("order {number} has an unused item: {error}").into()),
            }
        }
        same_rows(before, &self.target.checksums()?)?;
        Ok(format!("{} orders with an unused item left no trace", orders.len()))
    }

    /// Returns the verdict on a check whose anomalies a target may have `unless` its isolation excludes them.
    fn promised(&self, unless: bool, seen: Seen) -> Seen {
        match seen {
            Err(Trouble::Anomaly(why)) if !unless => Err(Trouble::NotSupported(format!(
                "not promised (isolation {}): {why}",
                self.description.isolation
            ))),
            seen => seen,
        }
    }

    /// Plays the same inputs in another mode. Answers and rows must be the same.
    fn other_mode(&self, mode: TxMode) -> Seen {
        // The URL works in the first mode, so an error in it is about this mode.
        let target = (self.kit.open)(mode).map_err(|error| match error.kind {
            TargetErrorKind::Usage => Trouble::NotSupported(error.message),
            _ => error.into(),
        })?;
        target.reset()?;
        target.create_schema(&meta(self.kit.warehouses))?;
        load_rows(&*target, self.kit.warehouses)?;
        let answers = play(&*target, &self.expected.inputs)?;
        for (number, (seen, wanted)) in answers.iter().zip(&self.expected.answers).enumerate() {
            if let Some(words) = difference(seen, wanted) {
                return Err(format!("transaction {number}: {words}").into());
            }
        }
        same_rows(&self.expected.played, &target.checksums()?)?;
        Ok(format!("{} answers and all rows equal those of the reference", answers.len()))
    }
}

fn population(warehouses: u32) -> Population {
    Population::from_meta(&meta(warehouses), LOADED_AT)
}

/// Loads the rows into a database that has its tables, through two connections.
pub(crate) fn load_rows(target: &dyn Target, warehouses: u32) -> Seen {
    let population = population(warehouses);
    let progress = LoadProgress::default();
    let units = std::iter::once(LoadUnit::Items).chain(population.warehouse_ids().map(LoadUnit::Warehouse));
    let units = Mutex::new(units);
    let next = || units.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Result<(), TargetError> {
        let mut loader = target.loader()?;
        while let Some(unit) = next() {
            loader.load(unit, &(&population).into(), &progress)?;
        }
        Ok(())
    };
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let mine = work();
        let other = other.join().unwrap_or_else(|_| Err(TargetError::database("a loader panicked")));
        mine.and(other)
    })?;
    target.finish_load(2, &|_| ())?;
    let seconds = begun.elapsed().as_secs_f64();
    match target.state()? {
        DatabaseState::Ready { meta: found } if found == meta(warehouses) => {
            Ok(format!("{} rows, {:.0} a second", progress.rows(), progress.rows() as f64 / seconds))
        }
        state => Err(format!("after loading, the database {}", words::state(&state)).into()),
    }
}

fn same_rows(wanted: &[TableChecksum], seen: &[TableChecksum]) -> Seen {
    for wanted in wanted {
        let name = wanted.table.name();
        let Some(seen) = seen.iter().find(|seen| seen.table == wanted.table) else {
            return Err(format!("{name} has no checksum").into());
        };
        if seen.rows != wanted.rows {
            return Err(format!("{name} has {} rows instead of {}", seen.rows, wanted.rows).into());
        }
        if seen.sum != wanted.sum {
            return Err(
                format!("{name} has the right number of rows, {}, but wrong values", seen.rows).into()
            );
        }
    }
    Ok("the checksums of all nine tables equal those of the reference".into())
}

fn conditions(target: &dyn Target) -> Seen {
    let findings = target.check(&CONDITIONS, &|_| ())?;
    let broken: Vec<String> = findings
        .iter()
        .filter(|finding| !finding.holds())
        .map(|finding| {
            let example = finding.examples.first().map_or("", String::as_str);
            format!("{} ({}): {example}", finding.condition.clause, finding.condition.title)
        })
        .collect();
    if broken.is_empty() && findings.len() == CONDITIONS.len() {
        return Ok("12 of 12 hold".into());
    }
    if broken.is_empty() {
        return Err(format!("{} of 12 conditions were evaluated", findings.len()).into());
    }
    Err(Trouble::Anomaly(format!("{} of 12 are broken: {}", broken.len(), broken.join("; "))))
}
