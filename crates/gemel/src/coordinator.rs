//! The commit protocol over the engines (`DESIGN.md`, "Commit").

mod changes;
mod locking;
mod moves;
mod prepare;
mod stamping;

use crate::engine::{Engine, Refusal, Write};
use crate::error::{Conflict, Error, Result};
use crate::files::fail_point;
use crate::ids::{KeyspaceId, MAX_ENGINES, Owner};
use crate::key::{Key, KeyRange};
use crate::keyspace::Keyspace;
use crate::lock::Lock;
use crate::lock_manager::{LOCKED, LockManager};
use crate::logs::Logs;
use crate::mvcc::hidden::Hidden;
use crate::options::{CommitStamps, Options};
use crate::oracle::{Recorder, Trace, Written};
use crate::order::active::{Active, Count, Seat};
use crate::order::clock::{Broken, Clock, Timestamp};
use crate::order::csr::{Refused, Registry};
use crate::order::protocol;
use crate::pending::PendingLimit;
use crate::prepared::PreparedTransactions;
use crate::record::{Group, Stamp};
use crate::ticket::Ticket;
use crate::transaction::{Seen, Transaction};
use crate::watch::{Noted, Watch, Watches};
use arrayvec::ArrayVec;
pub(crate) use moves::Pair;
use moves::{Moves, is_to_twin};
use parking_lot::{Mutex, RwLock};
pub(crate) use stamping::Stamping;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Commits of a thread between two garbage collections.
const COLLECT_EVERY: u32 = 32;
/// A thread that has written so many rows collects garbage, and each engine collects at least twice as many rows then. So
/// garbage is collected faster than it is made, and those who make much of it do the work.
const ROWS_OF_A_COLLECTION: usize = 512;

/// A commit that must validate more keys and rows than this validates them before it draws its timestamps. One that writes
/// more keys than this in an engine installs them before. The number is small in tests, so they run both ways.
pub(crate) const MANY_ROWS: usize = if cfg!(any(test, feature = "fail-points")) { 4 } else { 1000 };

/// The engines, the registries that relate their snapshots, and the logs. Engine 0 is the anchor.
pub(crate) struct Coordinator {
    /// Number of this copy of the database, in its handles: those of another copy are rejected.
    pub(crate) owner: u64,
    pub(crate) engines: Vec<Arc<dyn Engine>>,
    /// Registries of the other engines, in the engines' order.
    pub(crate) registries: Vec<Registry>,
    pub(crate) active: Active,
    pub(crate) logs: Logs,
    pub(crate) pending: PendingLimit,
    pub(crate) prepared: PreparedTransactions,
    pub(crate) locks: LockManager,
    pub(crate) options: Options,
    pub(crate) keyspaces: RwLock<Vec<Keyspace>>,
    watches: Watches,
    /// Number of catalog changes that commits must know of: see `changes.rs`.
    changes: AtomicU64,
    /// Held while a catalog change is stamped: one at a time.
    stamping: Mutex<()>,
    moves: Moves,
    recorder: OnceLock<Arc<Recorder>>,
    /// The directory, locked until the last transaction ends: transactions keep the engines, which keep files. The last
    /// field, so it is released when these are closed. The system releases it too, even if the process is killed.
    _lock: Option<Lock>,
}

/// A successful commit.
pub(crate) struct Outcome {
    pub(crate) count: Count,
    pub(crate) ticket: Ticket,
}

pub(crate) type Failure = (Count, Error);

/// Puts the changes that a transaction has made into the catalog. Called with the commit's stamp in the anchor, and
/// with what publishes the stamp, which it must call.
pub(crate) type Appear<'a> = &'a mut dyn FnMut(Timestamp, &mut dyn FnMut());

/// A commit's presence in an engine, from [`Engine::enter`] on.
struct Entered<'a>(&'a dyn Engine);

/// Poisons the database if a commit panics. Its locks are never released then, its timestamps are never published, and
/// its versions may be installed in part. So nothing may commit any more, and nobody may wait for it.
struct Unwinding<'a>(&'a Coordinator);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        self.0.logs.fail(Refused::Broken.text());
        self.0.clocks().for_each(Clock::set_broken);
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Maximum number of writes for which a thread keeps memory after a commit.
const KEPT_WRITES: usize = 512;

thread_local! {
    /// Empty memory for the writes of a commit.
    static WRITES: Cell<Vec<Write>> = const { Cell::new(Vec::new()) };
}

/// The writes of one engine.
type Part = protocol::Part<Vec<Write>>;

/// Returns the failure of a transaction for an error other than a conflict.
fn failure(error: Error) -> Failure {
    let count = match error {
        Error::TooOld(_) => Count::TooOld,
        Error::Moved(_) => Count::Moved,
        Error::Conflict { kind: Conflict::Locked, .. } => Count::ConflictLocked,
        _ => Count::Failed,
    };
    (count, error)
}

#[cold]
fn too_old(age: Duration, limit: Duration) -> Error {
    Error::TooOld(format!(
        "it began {age:.1?} ago, and its snapshot was given up after {limit:?} (option max_snapshot_age)"
    ))
}

fn refused(refused: Refused) -> Error {
    match refused {
        Refused::Broken => Broken.into(),
        Refused::Closed | Refused::Crossing => Error::Csr(refused.text()),
    }
}

impl Coordinator {
    pub(crate) fn new(
        owner: u64,
        engines: Vec<Arc<dyn Engine>>,
        logs: Logs,
        options: Options,
        lock: Option<Lock>,
    ) -> Self {
        let registries = engines
            .iter()
            .skip(1)
            .map(|_| Registry::new(options.csr_capacity, options.csr_recycle))
            .collect();
        Self {
            owner,
            engines,
            registries,
            active: Active::new(),
            logs,
            pending: PendingLimit::new(options.pending_limit_bytes),
            prepared: PreparedTransactions::new(&options),
            locks: LockManager::default(),
            options,
            keyspaces: RwLock::default(),
            watches: Watches::default(),
            changes: AtomicU64::new(0),
            stamping: Mutex::new(()),
            moves: Moves::default(),
            recorder: OnceLock::new(),
            _lock: lock,
        }
    }

    pub(crate) fn record_into(&self, recorder: Arc<Recorder>) -> bool {
        self.recorder.set(recorder).is_ok()
    }

    pub(crate) fn recorder(&self) -> Option<&Arc<Recorder>> {
        self.recorder.get()
    }

    fn clocks(&self) -> impl Iterator<Item = &Clock> {
        self.engines.iter().map(|engine| engine.clock())
    }

    /// Takes fresh snapshots for a transaction. Returns the anchor's.
    pub(crate) fn refresh(&self, seat: Seat) -> Timestamp {
        self.active.refresh(seat, self.clocks())
    }

    /// Returns an error if a transaction's snapshot has expired. If not, everything that the transaction has read up to
    /// now is right (`DESIGN.md`, "Who is running, and garbage").
    #[inline]
    pub(crate) fn check_age(&self, seat: Seat) -> Result<()> {
        // Without a limit, no slot is looked at: this is asked for each row.
        let Some(limit) = self.options.max_snapshot_age else { return Ok(()) };
        self.active.expired_at(seat).map_or(Ok(()), |age| Err(too_old(age, limit)))
    }

    pub(crate) fn watermark(&self, engine: usize) -> Timestamp {
        self.active.watermark(engine, self.engines[engine].clock())
    }

    /// Selects the snapshot in another engine that belongs with `anchor`.
    pub(crate) fn select(&self, engine: usize, anchor: Timestamp) -> Result<Timestamp> {
        let clock = self.engines[engine].clock();
        if !self.options.csr {
            return Ok(clock.horizon());
        }
        let oldest = || self.watermark(0);
        protocol::select(&self.registries[engine - 1], clock, anchor, oldest).map_err(refused)
    }

    /// Returns the newest snapshot in an engine for a reader that has read the anchor at `anchor`.
    pub(crate) fn newest(&self, engine: usize, anchor: Timestamp) -> Result<Timestamp> {
        if engine == 0 {
            return Ok(anchor);
        }
        let clock = self.engines[engine].clock();
        if !self.options.csr {
            return Ok(clock.horizon());
        }
        protocol::newest(&self.registries[engine - 1], clock, anchor).map_err(refused)
    }

    /// Collects garbage in all engines after a commit of so many rows: once in [`COLLECT_EVERY`] calls of a thread, and
    /// more often if it writes many rows.
    pub(crate) fn collect(&self, rows: usize) {
        thread_local! {
            static SINCE: Cell<(u32, usize)> = const { Cell::new((0, 0)) };
        }
        let (commits, rows) = (SINCE.get().0 + 1, SINCE.get().1 + rows);
        if commits < COLLECT_EVERY && rows < ROWS_OF_A_COLLECTION {
            return SINCE.set((commits, rows));
        }
        SINCE.set((0, 0));
        for _ in 0..=rows / ROWS_OF_A_COLLECTION {
            self.collect_now();
        }
    }

    /// Collects some garbage in all engines.
    pub(crate) fn collect_now(&self) {
        self.active.close_idle();
        if self.options.max_snapshot_age.is_some() {
            for number in self.active.expire() {
                self.locks.end(number);
            }
        }
        for (index, engine) in self.engines.iter().enumerate() {
            engine.collect(self.watermark(index));
        }
    }

    fn name_of(&self, keyspace: KeyspaceId) -> String {
        let keyspaces = self.keyspaces.read();
        keyspaces
            .iter()
            .find(|known| known.id == keyspace)
            .map_or_else(|| keyspace.0.to_string(), |known| known.name().to_string())
    }

    pub(crate) fn conflict(&self, kind: Conflict, engine: usize, keyspace: KeyspaceId) -> Failure {
        let count = match kind {
            Conflict::Write => Count::ConflictWrite,
            Conflict::Locked => Count::ConflictLocked,
            Conflict::Read => Count::ConflictRead,
        };
        (
            count,
            Error::Conflict { kind, engine: self.engines[engine].name(), keyspace: self.name_of(keyspace) },
        )
    }

    /// Returns the failure of a commit that an engine has refused.
    fn refusal(&self, engine: usize, refusal: Refusal) -> Failure {
        match refusal {
            Refusal::Clash(clash) => self.conflict(clash.kind, engine, clash.keyspace),
            Refusal::Error(error) => failure(error),
        }
    }

    /// Commits a transaction. `appear` is for one that has changed the catalog.
    pub(crate) fn commit(
        &self,
        transaction: &mut Transaction,
        appear: Option<Appear<'_>>,
    ) -> Result<Outcome, Failure> {
        if transaction.writes.is_empty() {
            self.trace(&mut transaction.trace, &[]);
            return Ok(Outcome { count: Count::ReadOnly, ticket: self.logs.ticket() });
        }
        self.logs.wait_for_room().map_err(failure)?;
        let mut parts = self.parts(transaction);
        fail_point("commit.collected");
        let mut entered = self.enter(&parts).map_err(failure)?;
        // Dropped before `entered` if this thread panics: an engine that is left must know by then.
        let unwinding = Unwinding(self);
        let outcome = self.commit_entered(transaction, &mut parts, &mut entered, appear);
        std::mem::forget(unwinding);
        for Part { mut writes, .. } in parts {
            writes.clear();
            if (1..=KEPT_WRITES).contains(&writes.capacity()) {
                // Fails on a thread that ends.
                let _ = WRITES.try_with(|kept| kept.set(writes));
            }
        }
        Ok(Outcome { count: outcome?, ticket: self.logs.ticket() })
    }

    fn commit_entered<'e>(
        &'e self,
        transaction: &mut Transaction,
        parts: &mut [Part],
        entered: &mut [Option<Entered<'e>>; MAX_ENGINES],
        appear: Option<Appear<'_>>,
    ) -> Result<Count, Failure> {
        let owner = transaction.seat.owner();
        self.lock_all(owner, transaction, parts, entered)?;
        fail_point("commit.locked");
        note_writes(transaction, parts);
        let mut hidden = [const { None }; MAX_ENGINES];
        let outcome = self.ready(owner, transaction, parts, &mut hidden);
        if let Err(failure) = outcome {
            self.take_back(parts, &mut hidden);
            self.give_up(parts);
            return Err(failure);
        }
        let count = self.install(parts, &mut hidden, entered, appear);
        self.trace(&mut transaction.trace, parts);
        Ok(count)
    }

    /// Notes the locks of a commit for the watches of others. A conflict if a prepared transaction has read one of the
    /// keys, or another transaction holds its lock.
    fn note_locks(&self, owner: Owner, parts: &[Part]) -> Result<(), Failure> {
        // The fence in `note` is also the one that `protects` and `are_held` need.
        self.watches.note(owner.number, parts.iter().map(|part| (part.engine, part.writes.as_slice())));
        if self.prepared.protects() || self.locks.are_held() {
            self.check_kept(owner.number, parts)
        } else {
            Ok(())
        }
    }

    /// Removes hidden writes.
    fn take_back(&self, parts: &mut [Part], hidden: &mut [Option<Hidden>; MAX_ENGINES]) {
        for part in parts {
            if let Some(hidden) = hidden[part.engine].take() {
                self.engines[part.engine].take_back(&mut part.writes, hidden);
            }
        }
    }

    /// Installs and publishes a commit that is in the log. Nothing can fail any more.
    fn install(
        &self,
        parts: &mut [Part],
        hidden: &mut [Option<Hidden>; MAX_ENGINES],
        entered: &mut [Option<Entered<'_>>; MAX_ENGINES],
        mut appear: Option<Appear<'_>>,
    ) -> Count {
        fail_point("commit.after_append");
        let install = |part: &mut Part, at| {
            match &hidden[part.engine] {
                Some(hidden) => hidden.reveal(at),
                None => self.engines[part.engine].install(&mut part.writes, at),
            }
            // An engine must not be held while the commit waits for its turn to publish.
            entered[part.engine] = None;
        };
        protocol::finish(parts, install, |engine, at| {
            let mut publish = || self.engines[engine].clock().publish(at);
            // The anchor comes first.
            match appear.take() {
                Some(appear) => appear(at, &mut publish),
                None => publish(),
            }
        });
        for part in &mut *parts {
            if let (Some(hidden), Some(at)) = (hidden[part.engine].take(), part.stamp) {
                self.engines[part.engine].settle(&mut part.writes, hidden, at);
            }
        }
        match parts {
            [Part { engine: 0, .. }] => Count::MemoryOnly,
            [_] => Count::DiskOnly,
            _ => Count::Cross,
        }
    }

    /// Sorts the writes by engine, and adds those to twins. A serializable transaction takes part in each engine where
    /// it read, even without a write, because its commit needs a place in that engine's order. A transaction that takes
    /// part in two engines also takes part in the anchor, which relates their orders. One that has changed the catalog
    /// takes part in all, as all changes of the catalog do. Its writes to what it has dropped are left out.
    fn parts(&self, transaction: &mut Transaction) -> Vec<Part> {
        let mut writes: [Vec<Write>; MAX_ENGINES] = Default::default();
        let mut touched = [false; MAX_ENGINES];
        let twins = self.moves.running();
        let all = transaction.writes.take();
        let count = all.len();
        let changes_catalog = !transaction.ddl.is_empty();
        for ((keyspace, key), pending) in all {
            if changes_catalog && transaction.ddl.loses(keyspace) {
                continue;
            }
            let (value, since, handle) = (pending.value, pending.since, pending.handle);
            let write = Write { keyspace, key, value, since, handle };
            if let Some(twins) = &twins {
                twins.follow(&write, |engine, write| {
                    touched[engine] = true;
                    writes[engine].push(write);
                });
            }
            touched[pending.engine] = true;
            let of_engine = &mut writes[pending.engine];
            if of_engine.capacity() == 0 {
                // The engine that comes first, often the only one, gets the memory of an earlier commit.
                *of_engine = WRITES.try_with(Cell::take).unwrap_or_default();
                of_engine.reserve_exact(count);
            }
            of_engine.push(write);
        }
        // The commit needs the memory for its record.
        transaction.writes.free_if_large();
        drop(twins);
        for seen in &transaction.seen {
            touched[seen.engine()] = true;
        }
        if changes_catalog {
            touched[..self.engines.len()].fill(true);
        }
        if transaction.has_locks() {
            let all = writes.iter_mut().flatten();
            all.filter(|write| transaction.keeps(write.keyspace, &write.key, write.since))
                .for_each(|write| write.since = LOCKED);
        }
        parts_of(writes, touched)
    }

    /// Enters the engines, in their order. This comes before the first lock: whatever an engine makes a commit wait for,
    /// the commit holds up no other engine's commits meanwhile.
    fn enter(&self, parts: &[Part]) -> Result<[Option<Entered<'_>>; MAX_ENGINES]> {
        self.enter_each(parts.iter().map(|part| (part.engine, !part.writes.is_empty())))
    }

    /// Enters engines, each with true if the commit writes there.
    fn enter_each(
        &self,
        engines: impl Iterator<Item = (usize, bool)>,
    ) -> Result<[Option<Entered<'_>>; MAX_ENGINES]> {
        let mut entered = [const { None }; MAX_ENGINES];
        for (number, writes) in engines {
            let engine = &*self.engines[number];
            engine.enter(writes)?;
            entered[number] = Some(Entered(engine));
        }
        Ok(entered)
    }

    /// Locks the writes of all engines. After an error, which comes with its engine, no key is locked.
    fn lock(&self, owner: Owner, parts: &mut [Part]) -> Result<(), (usize, Refusal)> {
        for index in 0..parts.len() {
            let part = &mut parts[index];
            let engine = part.engine;
            if let Err(refusal) = self.engines[engine].lock(owner, &mut part.writes) {
                self.give_up(&mut parts[..index]);
                return Err((engine, refusal));
            }
        }
        Ok(())
    }

    /// Notes the locks, draws timestamps, validates reads, and appends to the log: all steps that can still fail. Installs
    /// large parts, hidden.
    fn ready(
        &self,
        owner: Owner,
        transaction: &Transaction,
        parts: &mut [Part],
        hidden: &mut [Option<Hidden>; MAX_ENGINES],
    ) -> Result<(), Failure> {
        self.note_locks(owner, parts)?;
        self.check_leaving(owner, transaction)?;
        let encoded = self.logs.encode(&stamps_of(parts), None, groups_of(parts));
        self.hide(parts, hidden);
        if transaction.rows_to_validate() > MANY_ROWS {
            // The watch opens before the validation, so what others lock during the validation is noted.
            let watch = self.watches.open(owner.number);
            self.validate(owner, transaction)?;
            fail_point("commit.validated_early");
            let watched = Watched::new(watch, transaction);
            self.stamp(parts)?;
            self.validate_watched(owner, &watched)?;
        } else {
            self.stamp(parts)?;
            self.validate(owner, transaction)?;
        }
        self.check_changes(transaction, parts).map_err(failure)?;
        // Locking and validation ask for versions that may be gone, as reads do.
        self.check_age(transaction.seat).map_err(failure)?;
        self.logs.append(encoded, &stamps_of(parts)).map_err(failure)
    }

    /// Installs large parts, hidden.
    fn hide(&self, parts: &mut [Part], hidden: &mut [Option<Hidden>; MAX_ENGINES]) {
        for part in parts.iter_mut().filter(|part| part.writes.len() > MANY_ROWS) {
            hidden[part.engine] = self.engines[part.engine].install_hidden(&mut part.writes);
        }
        fail_point("commit.hidden");
    }

    fn stamp(&self, parts: &mut [Part]) -> Result<(), Failure> {
        self.stamp_as(self.options.commit_stamps, parts)
    }

    fn stamp_as(&self, how: CommitStamps, parts: &mut [Part]) -> Result<(), Failure> {
        let draw = |engine: usize| self.engines[engine].clock().draw();
        if !self.options.csr {
            protocol::draw_all(parts, draw);
            return Ok(());
        }
        protocol::stamp(&self.registries, how, parts, draw, || self.watermark(0))
            .map_err(|reason| (Count::Csr, refused(reason)))
    }

    fn validate(&self, owner: Owner, transaction: &Transaction) -> Result<(), Failure> {
        for seen in &transaction.seen {
            let (engine, keyspace, still) = match seen {
                // Another commit may have the key locked at this moment, but will give up.
                Seen::Key { keyspace, key, since, .. } if transaction.keeps(*keyspace, key, *since) => {
                    continue;
                }
                Seen::Key { engine, keyspace, key, since } => {
                    (*engine, *keyspace, self.engines[*engine].validate_key(owner, *keyspace, key, *since))
                }
                Seen::Range { engine, keyspace, range, since } => (
                    *engine,
                    *keyspace,
                    self.engines[*engine].validate_range(owner, *keyspace, range, *since),
                ),
            };
            self.require(still, engine, keyspace)?;
        }
        Ok(())
    }

    /// Returns a conflict unless a read is still current.
    fn require(&self, still: Result<bool>, engine: usize, keyspace: KeyspaceId) -> Result<(), Failure> {
        if still.map_err(failure)? { Ok(()) } else { Err(self.conflict(Conflict::Read, engine, keyspace)) }
    }

    /// Validates those reads again whose keys others have locked since they were validated.
    fn validate_watched(&self, owner: Owner, watched: &Watched<'_>) -> Result<(), Failure> {
        for noted in watched.watch.take() {
            let Some(since) = watched.read_at(&noted) else { continue };
            let Noted { engine, keyspace, key } = &noted;
            let still = self.engines[*engine].validate_key(owner, *keyspace, key, since);
            self.require(still, *engine, *keyspace)?;
        }
        Ok(())
    }

    fn give_up(&self, parts: &mut [Part]) {
        for part in parts.iter_mut() {
            self.engines[part.engine].give_up(&mut part.writes);
        }
        self.publish(parts);
    }

    /// Publishes the timestamps of parts that install nothing.
    fn publish(&self, parts: &[Part]) {
        protocol::publish(parts, |engine| self.engines[engine].clock());
    }

    fn trace(&self, trace: &mut Option<Box<Trace>>, parts: &[Part]) {
        let (Some(recorder), Some(mut trace)) = (self.recorder(), trace.take()) else { return };
        for part in parts {
            trace.commits[part.engine] = part.stamp;
        }
        recorder.add(*trace);
    }
}

/// Returns the parts of a commit that takes part in some engines.
fn parts_of(writes: [Vec<Write>; MAX_ENGINES], mut touched: [bool; MAX_ENGINES]) -> Vec<Part> {
    if touched.iter().filter(|touched| **touched).count() > 1 {
        touched[0] = true;
    }
    let parts = writes.into_iter().enumerate().filter(|(engine, _)| touched[*engine]);
    parts.map(|(engine, writes)| Part { engine, writes, stamp: None }).collect()
}

/// Returns the writes of a commit, by engine.
fn groups_of(parts: &[Part]) -> impl Iterator<Item = Group<'_>> + Clone {
    parts.iter().map(|part| Group { engine: part.engine as u8, writes: &part.writes })
}

/// Returns the stamps of a commit, in the order of its parts. Timestamps that are not drawn yet are zero.
fn stamps_of(parts: &[Part]) -> ArrayVec<Stamp, MAX_ENGINES> {
    parts
        .iter()
        .map(|part| Stamp {
            engine: part.engine as u8,
            at: part.stamp.unwrap_or_default(),
            writes: !part.writes.is_empty(),
        })
        .collect()
}

/// A read set under watch, indexed for look-ups by key.
struct Watched<'a> {
    watch: Watch<'a>,
    /// The oldest snapshot at which each key was read.
    keys: BTreeMap<(usize, KeyspaceId, &'a Key), Timestamp>,
    ranges: Vec<(usize, KeyspaceId, &'a KeyRange, Timestamp)>,
}

impl<'a> Watched<'a> {
    fn new(watch: Watch<'a>, transaction: &'a Transaction) -> Self {
        let mut watched = Self { watch, keys: BTreeMap::new(), ranges: Vec::new() };
        for seen in &transaction.seen {
            match seen {
                Seen::Key { keyspace, key, since, .. } if transaction.keeps(*keyspace, key, *since) => {}
                Seen::Key { engine, keyspace, key, since } => {
                    let oldest = watched.keys.entry((*engine, *keyspace, key)).or_insert(*since);
                    *oldest = (*oldest).min(*since);
                }
                Seen::Range { engine, keyspace, range, since } => {
                    watched.ranges.push((*engine, *keyspace, range, *since));
                }
            }
        }
        watched
    }

    /// Returns the oldest snapshot at which the transaction has read a key, or found it missing.
    fn read_at(&self, noted: &Noted) -> Option<Timestamp> {
        let Noted { engine, keyspace, key } = noted;
        let by_range = self
            .ranges
            .iter()
            .filter(|(of, space, range, _)| of == engine && space == keyspace && range.contains(key))
            .map(|(.., since)| *since);
        by_range.chain(self.keys.get(&(*engine, *keyspace, key)).copied()).min()
    }
}

/// Adds the writes to the trace. Must run before they are installed, because that takes their values.
fn note_writes(transaction: &mut Transaction, parts: &[Part]) {
    let Some(trace) = &mut transaction.trace else { return };
    for part in parts {
        trace.writes.extend(part.writes.iter().map(|write| Written {
            engine: part.engine,
            keyspace: write.keyspace.0,
            key: write.key.to_vec(),
            deleted: write.value.is_none(),
            to_twin: is_to_twin(write),
        }));
    }
}

#[cfg(test)]
mod tests;
