//! What Skeena needs of an engine. An engine knows nothing of the other one, nor of the registry.

use crate::clock::{Clock, Timestamp};
use crate::error::{Conflict, Result};
use crate::key::{Key, KeyRange};
use crate::memory::RecordRef;
use std::ops::ControlFlow;

/// Most engines in one database: the anchor and three more.
pub(crate) const MAX_ENGINES: usize = 4;

/// Number of a keyspace: an ordered map from byte keys to byte values that lives in one engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct KeyspaceId(pub(crate) u32);

/// The way through a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Direction {
    /// From the smallest key to the largest.
    #[default]
    Forward,
    /// From the largest key to the smallest.
    Backward,
}

/// Where an engine may leave what it found, so that it need not look for it again.
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
    /// None deletes.
    pub(crate) value: Option<Box<[u8]>>,
    /// The snapshot on which the writer decided: a newer commit of the key is a conflict.
    pub(crate) since: Timestamp,
    pub(crate) handle: Handle,
}

/// A conflict that an engine found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clash {
    pub(crate) kind: Conflict,
    pub(crate) keyspace: KeyspaceId,
}

/// Why an engine can't prepare a commit.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Another transaction is in the way.
    Clash(Clash),
    /// Anything else: memory limit, I/O.
    Error(crate::Error),
}

/// Takes a value that was found, and the timestamp of the commit that wrote it (zero when the engine has
/// forgotten it, which it may once every snapshot is newer).
pub(crate) type Found<'a> = dyn FnMut(&[u8], Timestamp) + 'a;
/// Takes a key, its value and the value's commit timestamp, in the order of the scan.
pub(crate) type Each<'a> = dyn FnMut(&[u8], &[u8], Timestamp) -> ControlFlow<()> + 'a;

/// A multi-version engine with first-committer-wins.
///
/// The commit protocol, driven by the coordinator: [`Engine::lock`]; [`Engine::draw`]; for serializable
/// transactions `validate_*`; then either [`Engine::install`] or [`Engine::give_up`]; last `clock().publish(ts)`.
/// Between `draw` and `publish` nothing may block on a disk or on another transaction's lock.
pub(crate) trait Engine: Send + Sync {
    /// Name in messages and counters.
    fn name(&self) -> &'static str;

    /// Its order of commits.
    fn clock(&self) -> &Clock;

    /// Makes an empty keyspace, or opens it when it is on disk already.
    fn open_keyspace(&self, keyspace: KeyspaceId) -> Result<()>;

    /// The newest value of `key` committed at or before `at`; false when there is none. `handle` may be filled
    /// for a later [`Write`] of the same key.
    fn get(
        &self,
        keyspace: KeyspaceId,
        key: &Key,
        at: Timestamp,
        handle: Option<&mut Handle>,
        found: &mut Found<'_>,
    ) -> Result<bool>;

    /// All keys of a range with a value at `at`, in order, until `each` breaks.
    fn scan(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        direction: Direction,
        at: Timestamp,
        each: &mut Each<'_>,
    ) -> Result<()>;

    /// Locks the keys of all writes for `owner`, without waiting, and checks that none has a commit newer than
    /// its `since`. On refusal nothing stays locked.
    fn lock(&self, owner: u64, writes: &mut [Write]) -> Result<(), Refusal>;

    /// Draws the commit timestamp.
    fn draw(&self) -> Timestamp;

    /// Whether nobody but `owner` is writing `key` nor has committed it after `since`.
    fn validate_key(&self, owner: u64, keyspace: KeyspaceId, key: &Key, since: Timestamp) -> Result<bool>;

    /// The same for all keys of a range, those that are not there yet included.
    fn validate_range(
        &self,
        owner: u64,
        keyspace: KeyspaceId,
        range: &KeyRange,
        since: Timestamp,
    ) -> Result<bool>;

    /// Makes the writes the newest versions, as of `at`, and unlocks. They become visible when `at` is published.
    fn install(&self, writes: &mut [Write], at: Timestamp);

    /// Unlocks. `drawn` tells whether a timestamp was drawn; it must still be published.
    fn give_up(&self, writes: &mut [Write], drawn: bool);

    /// No snapshot older than this will be read any more: older versions may go.
    fn collect(&self, watermark: Timestamp);
}
