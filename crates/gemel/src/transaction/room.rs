//! The memory that running transactions hold until they end, and its limit.
//!
//! Each part of a transaction that grows knows its bytes: writes, savepoints, and what reads leave behind. A transaction
//! takes bytes from the limit many at a time, and its first ones are free. So a usual transaction writes nothing that
//! threads share, and still works when large transactions have taken all.

use super::savepoint::OPEN_BYTES;
use super::{Seen, Transaction, scanned};
use crate::error::{Error, Result};
use crate::ids::KeyspaceId;
use crate::key::Key;
use crate::keyspace::Keyspace;
use crate::mvcc::version_bytes;
use crate::options::Isolation;
use crate::order::clock::Timestamp;
use crate::pending::{
    Ahead, Deletions, LONGEST_KEY_BYTES, PendingLimit, Room, key_bytes, map_entry_bytes, view_bytes,
};

/// Bytes for which a commit indexes a read, if there are many.
const WATCHED_BYTES: u64 = map_entry_bytes(size_of::<(usize, KeyspaceId, &Key, Timestamp)>());
/// Most bytes of the note of a scan at read committed.
const SCAN_BYTES: u64 = scanned::most_bytes(LONGEST_KEY_BYTES);

impl Transaction {
    /// Takes the limit away. The caller bounds what the transaction holds.
    pub(crate) fn without_limit(mut self) -> Self {
        self.room = Room::unlimited();
        self
    }

    /// Returns the bytes that the transaction holds, and those that its commit takes in addition.
    pub(super) fn held(&self) -> u64 {
        let seen = (self.seen.capacity() * size_of::<Seen>()) as u64 + self.seen_bytes;
        self.writes.bytes()
            + self.savepoints.bytes()
            + self.scanned.bytes()
            + self.views_bytes
            + self.locks_bytes
            + seen
    }

    /// Makes room for bytes that the transaction is about to hold.
    ///
    /// # Errors
    /// [`Error::Capacity`] if so many are not left. Then nothing has changed.
    #[inline]
    pub(super) fn reserve(&mut self, bytes: u64) -> Result<()> {
        if self.held().saturating_add(bytes) <= self.room.bytes { Ok(()) } else { self.take_room(bytes) }
    }

    #[cold]
    fn take_room(&mut self, bytes: u64) -> Result<()> {
        let held = self.held();
        let missing = held.saturating_add(bytes).saturating_sub(self.room.bytes);
        let limit = &self.core.pending;
        let Some(got) = limit.take(missing) else {
            return Err(no_room(limit, held, format_args!("up to {bytes} more")));
        };
        self.room.bytes += got;
        self.room.taken += got;
        Ok(())
    }

    /// Gives back what the transaction has taken and does not hold any more.
    pub(super) fn give_room_back(&mut self) {
        let back = self.room.bytes.saturating_sub(self.held()).min(self.room.taken);
        if back > 0 {
            self.room.bytes -= back;
            self.room.taken -= back;
            self.core.pending.give_back(back);
        }
    }

    /// Gives everything back, at the transaction's end.
    pub(super) fn leave_room(&mut self) {
        if self.room.taken > 0 {
            self.core.pending.give_back(self.room.taken);
            self.room = Room::new();
        }
    }

    /// Makes room for a number of writes in a keyspace, with so many bytes of keys and values in total. If that
    /// succeeds, none of them is rejected for lack of room.
    pub(crate) fn make_room_for_writes(
        &mut self,
        keyspace: &Keyspace,
        writes: usize,
        keys: usize,
        values: usize,
    ) -> Result<()> {
        let bytes = self.writes.rate().most_bytes(writes, keys, values)
            + self.savepoints.rate().most_bytes(writes, keys)
            + self.walk_room();
        if self.held().saturating_add(bytes) <= self.room.bytes {
            return Ok(());
        }
        // The commit checks the memory limit exactly. Here a transaction is kept from growing far beyond it.
        if values > 0 {
            let engine = self.writable(keyspace)?.engine_index();
            let versions = self.writes.version_bytes(engine) + version_bytes(values);
            self.core.engines[engine].check_room(versions)?;
        }
        self.take_room(bytes)
    }

    /// Returns room for deletions that a scan finds, which is about to begin. It grows by [`Ahead::reach`], and becomes
    /// the transaction's with [`Transaction::keep_ahead`].
    pub(super) fn room_ahead<'c>(&self, limit: &'c PendingLimit) -> Ahead<'c> {
        let spare = self.room.bytes.saturating_sub(self.held() + self.scan_room(true));
        Ahead::new(limit, spare)
    }

    /// Returns the most bytes that deletions add, as a function that does not need the transaction.
    pub(super) fn bytes_of_deletions(&self) -> impl Fn(Deletions) -> u64 + use<> {
        let (writes, savepoints) = (self.writes.rate(), self.savepoints.rate());
        move |all| writes.most_bytes(all.keys, all.bytes, 0) + savepoints.most_bytes(all.keys, all.bytes)
    }

    /// Makes room that was taken ahead the transaction's own.
    pub(super) fn keep_ahead(&mut self, ahead: Ahead<'_>) {
        let taken = ahead.keep();
        self.room.bytes += taken;
        self.room.taken += taken;
    }

    /// Makes room for what the read of a key leaves behind.
    pub(super) fn make_room_for_read(&mut self, key: &Key, seen: bool, view: bool) -> Result<()> {
        let mut bytes = 0;
        if seen {
            bytes += self.seen_room() + key_bytes(key);
        }
        if view {
            bytes += view_bytes(key);
        }
        self.reserve(bytes)
    }

    /// Makes room for a lock of so many bytes, and for the read that it leaves behind.
    pub(super) fn make_room_for_lock(&mut self, key: &Key, lock: u64) -> Result<()> {
        self.reserve(lock + self.seen_room() + key_bytes(key))
    }

    /// Makes room for what a scan leaves behind.
    pub(super) fn make_room_for_scan(&mut self, with_own: bool) -> Result<()> {
        self.reserve(self.scan_room(with_own))
    }

    /// Returns the bytes of what a scan leaves behind.
    fn scan_room(&self, with_own: bool) -> u64 {
        let own = if with_own { self.writes.bytes_of_order_if_many() } else { 0 };
        let noted = match self.isolation {
            Isolation::ReadCommitted => SCAN_BYTES,
            Isolation::Snapshot => 0,
            Isolation::Serializable => self.seen_room() + 2 * LONGEST_KEY_BYTES,
        };
        own + noted + self.walk_room()
    }

    /// Makes room for what a step of a cursor leaves behind, apart from its scan.
    pub(super) fn make_room_for_step(&mut self) -> Result<()> {
        let own = if self.writes.is_empty() { 0 } else { self.writes.bytes_of_order() };
        self.reserve(own + self.walk_room())
    }

    /// Makes room for a savepoint.
    pub(super) fn make_room_for_savepoint(&mut self) -> Result<()> {
        self.reserve(OPEN_BYTES)
    }

    /// Returns the bytes for the next read to validate, without its keys.
    fn seen_room(&self) -> u64 {
        let full = self.seen.len() == self.seen.capacity();
        let more = if full { self.seen.capacity().max(4) * size_of::<Seen>() } else { 0 };
        more as u64 + WATCHED_BYTES
    }

    /// Adds a read that must still be current at the commit.
    pub(super) fn see(&mut self, seen: Seen) {
        self.seen_bytes += WATCHED_BYTES + seen.key_bytes();
        self.seen.push(seen);
    }

    /// Returns the bytes for the walk of a cursor, which becomes a scan at the next write or scan.
    fn walk_room(&self) -> u64 {
        if self.walk.is_some() { SCAN_BYTES } else { 0 }
    }
}

/// Returns the error of a call that needs more than the limit leaves.
#[cold]
pub(super) fn no_room(limit: &PendingLimit, held: u64, needed: std::fmt::Arguments<'_>) -> Error {
    Error::Capacity(format!(
        "the transaction holds {held} bytes until it ends and needs {needed}, but of the limit of {} bytes \
         (pending_limit_bytes) running transactions have taken {}: commit or roll back, do the work in several \
         transactions, or raise the limit",
        limit.limit,
        limit.taken()
    ))
}

#[cfg(test)]
mod tests {
    use super::super::Place;
    use super::super::savepoint::notes_bytes;
    use super::*;
    use crate::ids::Direction;
    use crate::pending::LONG_KEY_BYTES;
    use crate::{Database, Engine, Options};
    use std::ops::{Bound, ControlFlow};

    /// Bytes that were not subtracted would stay after the rollback; those subtracted twice would be missing, and a
    /// difference below zero panics in a test.
    #[test]
    fn bytes_of_writes_and_savepoints_return_to_what_they_were() {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path(), Options::default()).unwrap();
        let spaces = [("memory", Engine::Memory), ("disk", Engine::Disk)];
        let spaces = spaces.map(|(name, engine)| db.keyspace(name, engine).unwrap());
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..200 {
            let mut transaction = db.begin(Isolation::ReadCommitted).unwrap();
            transaction.put(&spaces[0], b"first", b"value").unwrap();
            if round % 2 == 0 {
                transaction.writes.order();
            }
            let sizes = |transaction: &Transaction| {
                let versions = [0, 1].map(|engine| transaction.writes.version_bytes(engine));
                (transaction.writes.bytes(), versions, transaction.savepoints.bytes())
            };
            let before = sizes(&transaction);
            let mut savepoints = vec![transaction.savepoint().unwrap()];
            for _ in 0..next(100) {
                let space = &spaces[next(2) as usize];
                let key = vec![7; 1 + next(30) as usize];
                match next(6) {
                    0 => transaction.delete(space, &key).unwrap(),
                    1 => savepoints.push(transaction.savepoint().unwrap()),
                    2 if savepoints.len() > 1 => transaction.release(savepoints.pop().unwrap()).unwrap(),
                    3 => {
                        savepoints.truncate(1 + next(savepoints.len() as u64) as usize);
                        transaction.rollback_to(savepoints.last().unwrap()).unwrap();
                    }
                    _ => transaction.put(space, &key, &vec![1; next(300) as usize]).unwrap(),
                }
            }
            if round % 2 == 1 {
                let all = Bound::Unbounded;
                let each = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
                transaction.scan(&spaces[0], all, all, Direction::Forward, each).unwrap();
            }
            let first = savepoints.swap_remove(0);
            transaction.rollback_to(&first).unwrap();
            assert_eq!(transaction.savepoints.bytes(), OPEN_BYTES);
            transaction.release(first).unwrap();
            let (writes, versions, savepoints) = sizes(&transaction);
            assert_eq!((versions, savepoints), (before.1, 0), "round {round}");
            let order = if round % 2 == 1 { transaction.writes.bytes() - before.0 } else { 0 };
            assert!(order <= map_entry_bytes(size_of::<Place>()), "round {round}");
            assert_eq!(writes - order, before.0, "round {round}");
        }
    }

    /// `README.md` and `DESIGN.md` have these numbers.
    #[test]
    fn the_documented_bytes_are_those_of_the_code() {
        let writes = crate::transaction::writes::Writes::default();
        assert_eq!(writes.rate().most_bytes(1, 0, 0) - LONG_KEY_BYTES - 15, 260);
        assert_eq!((size_of::<Seen>(), WATCHED_BYTES, view_bytes(&Key::new(b"k"))), (88, 88, 106));
        assert_eq!((scanned::most_bytes(0), map_entry_bytes(size_of::<Place>())), (2 * 124, 88));
        assert_eq!((OPEN_BYTES, LONG_KEY_BYTES), (96, 23));
        assert_eq!([0, 1, 2].map(notes_bytes), [0, 560 + 124, 560 + 2 * 124]);
    }

    #[test]
    fn a_transaction_of_the_database_itself_has_no_limit() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { pending_limit_bytes: 1 << 20, ..Options::default() };
        let db = Database::open(directory.path(), options).unwrap();
        let hot = db.keyspace("hot", Engine::Memory).unwrap();
        let mut own = db.begin(Isolation::Snapshot).unwrap().without_limit();
        (0..2000_u32).for_each(|row| own.put(&hot, &row.to_be_bytes(), &[7; 1000]).unwrap());
        assert_eq!(db.state().pending_bytes, 0);
        own.commit().unwrap().wait().unwrap();
    }
}
