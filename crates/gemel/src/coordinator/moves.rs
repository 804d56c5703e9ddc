//! Twins: keyspaces that follow others while these are moved to another engine (`DESIGN.md`, "Moving a table").
//!
//! A commit that writes a keyspace with a twin writes the same keys and values to the twin. A commit may have collected
//! its writes before the twin was there, or may still write to a twin that is gone. Both are found as `changes.rs`
//! describes: the commit compares the number of changes after it has locked its keys.

use super::stamping::Stamping;
use super::{Coordinator, Entered, Failure, Part, failure};
use crate::engine::{Clash, Handle, Refusal, Write};
use crate::error::{Conflict, Error, Result};
use crate::files::fail_point;
use crate::ids::{KeyspaceId, MAX_ENGINES, Owner};
use crate::keyspace::{Gate, Keyspace, Standing};
use crate::order::clock::Timestamp;
use crate::transaction::Transaction;
use crossbeam_utils::Backoff;
use parking_lot::{RwLock, RwLockReadGuard};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The snapshot of a write to a twin: no commit is newer, so the write conflicts with none. The write of the original is
/// checked instead.
const UNCHECKED: Timestamp = Timestamp::MAX;
/// A commit tries so many times to lock the keys of a twin that another commit has locked: at first in quick succession,
/// then with pauses, since the other commit's thread may have to wait for a processor.
const LOCK_ATTEMPTS: u32 = 2000;
const LOCK_PAUSE: Duration = Duration::from_micros(100);

/// A keyspace and the one that replaces it.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) original: Keyspace,
    pub(crate) twin: Keyspace,
}

/// The twins of all keyspaces.
#[derive(Default)]
pub(crate) struct Moves {
    /// True if there are twins, so commits take no lock while there are none.
    are_running: AtomicBool,
    twins: RwLock<Twins>,
}

#[derive(Default)]
pub(super) struct Twins {
    all: Vec<Twin>,
    /// The reason why a commit gave up the move.
    given_up: Option<String>,
    /// The keyspaces that are gone because of a move, originals and twins, for as long as a commit may have written them.
    gone: BTreeMap<KeyspaceId, Gone>,
}

struct Gone {
    name: Arc<str>,
    /// The highest number of a transaction that may have begun before the keyspace was gone. None until the next move.
    upto: Option<u64>,
}

impl Gone {
    fn new(keyspace: &Keyspace) -> Self {
        Self { name: Arc::clone(&keyspace.name), upto: None }
    }
}

struct Twin {
    of: KeyspaceId,
    id: KeyspaceId,
    engine: usize,
    /// True while rows are copied, so the move can still be given up.
    may_end: bool,
}

impl Twin {
    fn new(of: &Keyspace, twin: &Keyspace, may_end: bool) -> Self {
        Self { of: of.id, id: twin.id, engine: twin.engine_index(), may_end }
    }
}

/// Returns true if a write goes to a twin.
pub(super) fn is_to_twin(write: &Write) -> bool {
    write.since == UNCHECKED
}

impl Twins {
    /// Adds the writes that follow `write`, by their engines.
    pub(super) fn follow(&self, write: &Write, mut add: impl FnMut(usize, Write)) {
        for twin in self.all.iter().filter(|twin| twin.of == write.keyspace) {
            let (key, value) = (write.key.clone(), write.value.clone());
            let since = UNCHECKED;
            add(twin.engine, Write { keyspace: twin.id, key, value, since, handle: Handle::None });
        }
    }

    /// Returns true if a keyspace is a twin now.
    pub(super) fn has(&self, id: KeyspaceId) -> bool {
        self.all.iter().any(|twin| twin.id == id)
    }

    /// Returns true if a commit writes to each twin of a keyspace that it writes to.
    pub(super) fn are_followed(&self, keyspace: KeyspaceId, parts: &[Part]) -> bool {
        let is_written = |twin: &Twin| {
            let part = parts.iter().find(|part| part.engine == twin.engine);
            part.is_some_and(|part| part.writes.iter().any(|write| write.keyspace == twin.id))
        };
        self.all.iter().filter(|twin| twin.of == keyspace).all(is_written)
    }

    /// Returns the name of a keyspace that is gone because of a move.
    pub(super) fn name_of_gone(&self, id: KeyspaceId) -> Option<&str> {
        self.gone.get(&id).map(|gone| &*gone.name)
    }

    /// Forgets the names that no running transaction can need. `running` are the numbers of the oldest one and the newest
    /// one; a transaction that is not among them begins after the changes that were counted so far.
    fn forget_gone(&mut self, running: Option<(u64, u64)>) {
        self.gone.retain(|_, gone| {
            let Some((oldest, newest)) = running else { return false };
            oldest <= *gone.upto.get_or_insert(newest)
        });
    }
}

impl Moves {
    /// Returns the twins, if there are any.
    #[inline]
    pub(super) fn running(&self) -> Option<RwLockReadGuard<'_, Twins>> {
        self.are_running.load(Ordering::SeqCst).then(|| self.twins.read())
    }

    pub(super) fn twins(&self) -> RwLockReadGuard<'_, Twins> {
        self.twins.read()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Twins) -> T) -> T {
        let mut twins = self.twins.write();
        let changed = change(&mut twins);
        self.are_running.store(!twins.all.is_empty(), Ordering::SeqCst);
        changed
    }

    /// Gives up the move into an engine, if it may still end. Its twins get no more writes. Returns true if there was one.
    fn give_up(&self, engine: usize, why: &str) -> bool {
        self.change(|twins| {
            let before = twins.all.len();
            twins.all.retain(|twin| !(twin.may_end && twin.engine == engine));
            let had_one = twins.all.len() < before;
            if had_one {
                twins.given_up = Some(why.to_owned());
            }
            had_one
        })
    }
}

impl Coordinator {
    /// Lets each commit that locks a key from now on write the twins too, or fail.
    pub(crate) fn begin_move(&self, pairs: &[Pair]) {
        // The moves before have counted their changes. So have those that a transaction has seen that is not found here.
        let running = self.active.numbers_running();
        self.moves.change(|twins| {
            twins.forget_gone(running);
            twins.all.extend(pairs.iter().map(|pair| Twin::new(&pair.original, &pair.twin, true)));
            twins.given_up = None;
        });
        // The number is counted last. A transaction that begins with it writes the twins.
        self.count_change();
    }

    /// Returns the number of keyspaces that are known to be gone because of a move.
    #[cfg(test)]
    pub(crate) fn gone(&self) -> usize {
        self.moves.twins().gone.len()
    }

    /// Returns true if keyspaces have twins.
    pub(crate) fn have_twins(&self, ids: &[KeyspaceId]) -> bool {
        self.moves.twins().all.iter().any(|twin| ids.contains(&twin.of))
    }

    /// Fails if a commit gave up the move.
    pub(crate) fn check_move(&self) -> Result<()> {
        self.moves.twins().given_up.as_ref().map_or(Ok(()), |why| Err(Error::Capacity(why.clone())))
    }

    /// Fails if a commit gave up the move. From here on no commit does.
    pub(crate) fn decide_move(&self) -> Result<()> {
        self.moves.change(|twins| {
            twins.all.iter_mut().for_each(|twin| twin.may_end = false);
            twins.given_up.take().map_or(Ok(()), |why| Err(Error::Capacity(why)))
        })
    }

    /// Ends a move without effect. The caller then closes the twins, counts that, and drops them.
    pub(crate) fn end_move(&self, pairs: &[Pair]) {
        self.moves.change(|twins| {
            twins.given_up = None;
            for Pair { twin, .. } in pairs {
                twins.all.retain(|other| other.id != twin.id);
                twins.gone.insert(twin.id, Gone::new(twin));
            }
        });
    }

    /// Puts the twins in the place of the originals, for transactions that begin after this. If `keeps_originals`, the
    /// originals become twins of the twins, so they stay complete. The caller drops what this returns as in
    /// [`Coordinator::replace`].
    pub(crate) fn switch(&self, pairs: &[Pair], keeps_originals: bool) -> Stamping<'_> {
        let mut stamping = self.stamp_change();
        let mut keyspaces = self.keyspaces.write();
        let born = stamping.at;
        for Pair { original, twin } in pairs {
            let gate = Arc::new(Gate::moved_at(born));
            let new = Keyspace { gate, ..twin.clone() };
            for old in keyspaces.extract_if(.., |known| [original.id, twin.id].contains(&known.id)) {
                old.gate.close_for(Standing::Moved, born, new.clone());
            }
            keyspaces.push(new);
        }
        self.moves.change(|twins| {
            for Pair { original, twin } in pairs {
                twins.gone.insert(original.id, Gone::new(original));
                if keeps_originals {
                    twins.all.push(Twin::new(twin, original, false));
                }
            }
        });
        stamping.count();
        drop(keyspaces);
        fail_point("move.switching");
        // Only now: a commit that writes an original without its twin must find the change.
        self.moves.change(|twins| {
            twins.all.retain(|twin| !pairs.iter().any(|pair| pair.original.id == twin.of));
        });
        stamping.publish();
        stamping
    }

    /// Locks the writes of a commit for `owner` after it has entered the engines. After an error no key is locked. A twin is no reason to
    /// fail: the commit waits a moment for its keys, and gives up the move if there is no memory for it. Nor is a key that
    /// the transaction has locked: the other commit will find that, and give up.
    pub(super) fn lock_all<'e>(
        &'e self,
        owner: Owner,
        transaction: &Transaction,
        parts: &mut [Part],
        entered: &mut [Option<Entered<'e>>; MAX_ENGINES],
    ) -> Result<(), Failure> {
        let (backoff, mut attempts) = (Backoff::new(), 0);
        loop {
            let Err((engine, refusal)) = self.lock(owner, parts) else { return Ok(()) };
            let is_for_a_moment = |write: &Write| {
                attempts < LOCK_ATTEMPTS && is_to_twin(write)
                    || transaction.has_locked(write.keyspace, &write.key)
            };
            match &refusal {
                Refusal::Clash(clash)
                    if clash.kind == Conflict::Locked
                        && write_of(parts, engine, clash).is_some_and(is_for_a_moment) =>
                {
                    self.may_still_commit(transaction, parts).map_err(failure)?;
                    // This commit has no lock and no timestamp now. It also leaves the engines: what must not overlap a
                    // commit may be waiting for it, and later commits behind that.
                    *entered = [const { None }; MAX_ENGINES];
                    fail_point("commit.locked_again");
                    attempts = attempts.saturating_add(1);
                    if backoff.is_completed() {
                        std::thread::sleep(LOCK_PAUSE);
                    } else {
                        backoff.snooze();
                    }
                    *entered = self.enter(parts).map_err(failure)?;
                }
                Refusal::Error(Error::Capacity(why)) => {
                    let ended = self.moves.give_up(engine, why);
                    if !self.forget_twins(parts) && !ended {
                        return Err(self.refusal(engine, refusal));
                    }
                }
                _ => return Err(self.refusal(engine, refusal)),
            }
        }
    }

    /// Removes writes to twins that are gone. Returns true if there were some.
    fn forget_twins(&self, parts: &mut [Part]) -> bool {
        let (twins, mut had_some) = (self.moves.twins(), false);
        for part in parts {
            let before = part.writes.len();
            part.writes.retain(|write| !is_to_twin(write) || twins.has(write.keyspace));
            had_some |= part.writes.len() < before;
        }
        had_some
    }
}

/// Returns the write that clashes.
fn write_of<'p>(parts: &'p [Part], engine: usize, clash: &Clash) -> Option<&'p Write> {
    parts.iter().find(|part| part.engine == engine)?.writes.get(clash.number)
}
