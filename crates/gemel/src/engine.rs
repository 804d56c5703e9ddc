//! The interface of an engine. An engine knows nothing of the other engine, nor of the registry.
//!
//! [`Handle`] and [`Hidden`] carry what the memory engine remembers through the coordinator, by its own types. Behind a
//! trait object each key would need an allocation.

use crate::draw::{EachDrawn, Random};
use crate::error::{Conflict, Result};
use crate::ids::{Direction, KeyspaceId, Owner};
use crate::key::{Key, KeyRange};
use crate::mvcc::Draft;
use crate::mvcc::hidden::Hidden;
use crate::mvcc::record::RecordRef;
use crate::order::clock::{Clock, Timestamp};
use std::ops::ControlFlow;

/// A place for an engine to remember what it found, so a later write need not search again.
#[derive(Clone, Debug, Default)]
pub(crate) enum Handle {
    /// Nothing.
    #[default]
    None,
    /// A record of the memory engine.
    Memory(RecordRef),
}

/// A write that waits for its commit.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) keyspace: KeyspaceId,
    pub(crate) key: Key,
    /// The new value; none deletes the key.
    pub(crate) value: Option<Draft>,
    /// The snapshot on which the write rests: a newer commit of the key is a conflict.
    pub(crate) since: Timestamp,
    pub(crate) handle: Handle,
}

/// A conflict that an engine found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clash {
    pub(crate) kind: Conflict,
    pub(crate) keyspace: KeyspaceId,
    /// Number of the write in the list that the engine was given.
    pub(crate) number: usize,
}

/// The reason why an engine can't prepare a commit.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// A conflict with another transaction.
    Clash(Clash),
    /// Any other error: the memory limit, or I/O.
    Error(crate::Error),
}

/// A callback for a value and the timestamp of the commit that wrote it. The timestamp is zero if the engine has
/// forgotten it, which it may once every snapshot is newer.
pub(crate) type Found<'a> = dyn FnMut(&[u8], Timestamp) + 'a;
/// A callback for the number of a key in a list, its value, and the value's commit timestamp.
pub(crate) type FoundEach<'a> = dyn FnMut(usize, &[u8], Timestamp) + 'a;
/// A callback for a key, its value and the value's commit timestamp, in the order of the scan.
pub(crate) type Each<'a> = dyn FnMut(&[u8], &[u8], Timestamp) -> ControlFlow<()> + 'a;

/// A multi-version engine. The first committer wins.
///
/// The coordinator drives the commit protocol: [`Engine::enter`]; [`Engine::lock`]; a timestamp from the clock; for
/// serializable transactions `validate_*`; then [`Engine::install`] or [`Engine::give_up`]; [`Engine::leave`]; last
/// `clock().publish(ts)`. A large commit calls [`Engine::install_hidden`] before it draws. Only `enter` may wait for
/// space or for a disk.
pub(crate) trait Engine: Send + Sync {
    /// Returns the engine's name in messages and counters.
    fn name(&self) -> &'static str;

    /// Returns the clock, which orders the engine's commits.
    fn clock(&self) -> &Clock;

    /// Opens a keyspace that is on disk, or makes an empty one.
    fn open_keyspace(&self, keyspace: KeyspaceId) -> Result<()>;

    /// Frees the memory and the files of a keyspace, for good. The caller ensures that later commits to it are given
    /// up before they append to the log, and that the results of reads are discarded. Waits for earlier commits, and fails if
    /// one of them panicked.
    fn drop_keyspace(&self, keyspace: KeyspaceId) -> Result<()>;

    /// Passes the newest value of `key` committed at or before `at` to `found`. Returns false if there is no value. May
    /// fill `handle` for a later [`Write`] of the same key. A handle that is filled already must come from
    /// [`Engine::find`], called after the snapshot `at` was taken: then it leads to the value.
    fn get(
        &self,
        keyspace: KeyspaceId,
        key: &Key,
        at: Timestamp,
        handle: Option<&mut Handle>,
        found: &mut Found<'_>,
    ) -> Result<bool>;

    /// Prepares for reads and writes of these keys, which come soon. It is only a hint: an engine may do nothing.
    fn prefetch(&self, keyspace: KeyspaceId, keys: &[Key]) {
        let _ = (keyspace, keys);
    }

    /// Passes the values of keys that have one at `at` to `found`, in the order of the keys.
    fn get_each(
        &self,
        keyspace: KeyspaceId,
        keys: &[Key],
        at: Timestamp,
        found: &mut FoundEach<'_>,
    ) -> Result<()> {
        for (number, key) in keys.iter().enumerate() {
            self.get(keyspace, key, at, None, &mut |value, written| found(number, value, written))?;
        }
        Ok(())
    }

    /// Looks for keys, and fills the handles of those that it finds. Does nothing in an engine without handles.
    fn find(&self, keyspace: KeyspaceId, keys: &[Key], handles: &mut [Handle]) {
        let _ = (keyspace, keys, handles);
    }

    /// Passes all keys of a range that have a value at `at` to `each`, in order, until it breaks.
    fn scan(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        direction: Direction,
        at: Timestamp,
        each: &mut Each<'_>,
    ) -> Result<()>;

    /// Draws keys at random, `draws` times and each time independently of the others. Passes those that have a value at
    /// `at` to `each`. Takes no more time for a larger keyspace, except to go over a list of its files.
    fn draw(
        &self,
        keyspace: KeyspaceId,
        draws: u64,
        at: Timestamp,
        random: &mut Random,
        each: &mut EachDrawn<'_>,
    ) -> Result<()>;

    /// Returns an error if the engine has no space for versions of so many bytes, as far as can be told before their
    /// commit. [`Engine::lock`] decides.
    fn check_room(&self, bytes: u64) -> Result<()> {
        let _ = bytes;
        Ok(())
    }

    /// Lets a commit begin in this engine, before it locks anything in any engine. Waits here, if at all, for space for
    /// its writes and for work that must not overlap a commit. `writes` is false if the commit only needs a place in
    /// the engine's order. After an error the commit has not entered.
    fn enter(&self, writes: bool) -> Result<()> {
        let _ = writes;
        Ok(())
    }

    /// Ends what [`Engine::enter`] began. The coordinator calls it once for each `enter` that succeeded, after the
    /// commit's last call of `install` or `give_up`.
    fn leave(&self) {}

    /// Locks the keys of all writes for `owner`, without waiting, and checks that none has a commit newer than its
    /// `since`. After an error no key is locked.
    fn lock(&self, owner: Owner, writes: &mut [Write]) -> Result<(), Refusal>;

    /// Locks the writes of a prepared transaction again, after recovery and before the first transaction. No limit of the
    /// engine applies: the transaction was within it when it was prepared.
    fn lock_again(&self, owner: Owner, writes: &mut [Write]) -> Result<(), Refusal> {
        self.lock(owner, writes)
    }

    /// Returns true if no other owner has locked `key`, and nobody has committed a write of it after `since`.
    fn validate_key(&self, owner: Owner, keyspace: KeyspaceId, key: &Key, since: Timestamp) -> Result<bool> {
        Ok(self.find_conflict(owner, keyspace, key, since)?.is_none())
    }

    /// Returns [`Conflict::Locked`] if another owner has locked `key`; otherwise [`Conflict::Write`] if somebody has
    /// committed a write of it after `since`; otherwise none.
    fn find_conflict(
        &self,
        owner: Owner,
        keyspace: KeyspaceId,
        key: &Key,
        since: Timestamp,
    ) -> Result<Option<Conflict>>;

    /// Same as [`Engine::validate_key`], for all keys of a range, including keys that are being inserted.
    fn validate_range(
        &self,
        owner: Owner,
        keyspace: KeyspaceId,
        range: &KeyRange,
        since: Timestamp,
    ) -> Result<bool>;

    /// Makes the writes the newest versions, with timestamp `at`, and unlocks their keys. Readers see them once `at` is
    /// published.
    fn install(&self, writes: &mut [Write], at: Timestamp);

    /// Adds the writes of a large commit, before it draws a timestamp, so that no snapshot contains them. Takes their
    /// values. Returns none, and has done nothing, if the engine can't. Otherwise, instead of [`Engine::install`], the
    /// coordinator reveals what this returns, and passes it to [`Engine::settle`]; or, before [`Engine::give_up`], to
    /// [`Engine::take_back`].
    fn install_hidden(&self, writes: &mut [Write]) -> Option<Hidden> {
        let _ = writes;
        None
    }

    /// Unlocks the keys of a commit whose hidden writes were revealed and whose timestamp `at` is published.
    fn settle(&self, writes: &mut [Write], hidden: Hidden, at: Timestamp) {
        let _ = (writes, hidden, at);
    }

    /// Removes hidden writes, and gives the writes their values back.
    fn take_back(&self, writes: &mut [Write], hidden: Hidden) {
        let _ = (writes, hidden);
    }

    /// Unlocks the keys of a commit that failed. If it drew a timestamp, the caller must still publish it.
    fn give_up(&self, writes: &mut [Write]);

    /// Collects garbage. No reader uses a snapshot older than `watermark` any more, so versions that only older
    /// snapshots need may go.
    fn collect(&self, watermark: Timestamp);
}
