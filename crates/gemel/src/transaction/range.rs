//! The first and the last key of a range, and the deletion of a range.

use super::Transaction;
use super::given::checked_range;
use super::room::no_room;
use crate::engine::Handle;
use crate::error::Result;
use crate::ids::Direction;
use crate::key::Key;
use crate::keyspace::Keyspace;
use crate::pending::{Deletions, EachToDelete};
use std::cell::OnceCell;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

impl Transaction {
    /// Returns a copy of the first key of a range and its value, or none if the range has no key. The transaction's own
    /// writes are included.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # use std::ops::Bound::{Excluded, Unbounded};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let jobs = db.keyspace("jobs", Engine::Memory)?;
    /// let mut transaction = db.begin(Isolation::Serializable)?;
    /// transaction.put(&jobs, b"1", b"wash")?;
    /// transaction.put(&jobs, b"2", b"dry")?;
    /// assert_eq!(transaction.first(&jobs, Unbounded, Unbounded)?, Some((b"1".to_vec(), b"wash".to_vec())));
    /// assert_eq!(transaction.first(&jobs, Excluded(b"2"), Unbounded)?, None);
    /// assert_eq!(transaction.last(&jobs, Unbounded, Unbounded)?, Some((b"2".to_vec(), b"dry".to_vec())));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Same as [`Transaction::scan`].
    pub fn first(
        &mut self,
        keyspace: &Keyspace,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.end_of(keyspace, lower, upper, Direction::Forward)
    }

    /// Returns a copy of the last key of a range and its value, or none if the range has no key. The transaction's own
    /// writes are included.
    ///
    /// # Errors
    /// Same as [`Transaction::scan`].
    pub fn last(
        &mut self,
        keyspace: &Keyspace,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.end_of(keyspace, lower, upper, Direction::Backward)
    }

    /// Deletes the keys of a range, the transaction's own ones too. Returns their number.
    ///
    /// This is a scan and a write for each key that it finds, with the conflicts of both: the commit fails if another
    /// transaction commits a write of one of these keys. At [`Isolation::Serializable`](crate::Isolation::Serializable) it
    /// also fails if another one adds a key to the range; at the other levels such a key stays.
    ///
    /// Each key takes memory until the commit, which counts against
    /// [`Options::pending_limit_bytes`](crate::Options::pending_limit_bytes) while the range is read. A call that finds
    /// more keys than there is room for deletes none. To delete all rows of a table at once, use
    /// [`Database::truncate_table`](crate::Database::truncate_table).
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # use std::ops::Bound::{Excluded, Unbounded};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let events = db.keyspace("events", Engine::Disk)?;
    /// let left = db.run(Isolation::Serializable, |transaction| {
    ///     for day in ["2024-12-30", "2024-12-31", "2025-01-01"] {
    ///         transaction.put(&events, day.as_bytes(), b"event")?;
    ///     }
    ///     assert_eq!(transaction.delete_range(&events, Unbounded, Excluded(b"2025"))?, 2);
    ///     transaction.first(&events, Unbounded, Unbounded)
    /// })?;
    /// assert_eq!(left.unwrap().0, b"2025-01-01");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Same as [`Transaction::scan`] and [`Transaction::put`].
    pub fn delete_range(
        &mut self,
        keyspace: &Keyspace,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Result<usize> {
        let mut keys = Vec::new();
        // All or none: the transaction may go on after a rejected call.
        self.scan_to_delete(keyspace, lower, upper, &mut |key, _| {
            keys.push(Key::new(key));
            Ok(Deletions { keys: 1, bytes: key.len() })
        })?;
        let keyspace = self.writable(keyspace)?;
        let count = keys.len();
        for key in keys {
            self.write(keyspace, key, None, Handle::None)?;
        }
        self.give_room_back();
        Ok(count)
    }

    /// Passes the keys of a range and their values to `each`, and makes room for the deletions that it returns. Stops
    /// at the first one without room, so the caller holds no more keys than there is room for. A call that fails has
    /// read nothing, and holds nothing.
    pub(crate) fn scan_to_delete(
        &mut self,
        keyspace: &Keyspace,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        each: &mut EachToDelete<'_>,
    ) -> Result<()> {
        let keyspace = self.writable(keyspace)?;
        let range = checked_range(lower, upper)?;
        if range.is_empty() {
            return Ok(());
        }
        // The scan below would do the same. These bytes must be held before the room that is left is computed.
        self.make_room_for_scan(true)?;
        self.writes.order_if_many();
        self.end_walk();
        let (core, held) = (Arc::clone(&self.core), self.held());
        let (bytes, mut ahead) = (self.bytes_of_deletions(), self.room_ahead(&core.pending));
        let (mut all, failure) = (Deletions::default(), OnceCell::new());
        let mut add = |key: &[u8], value: &[u8]| {
            all.add(each(key, value)?);
            if ahead.reach(bytes(all)) {
                return Ok(());
            }
            Err(no_room(&core.pending, held, format_args!("more than {} more", bytes(all))))
        };
        let each = |key: &[u8], value: &[u8]| match add(key, value) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                // The scan ends with the first one.
                let _ = failure.set(error);
                ControlFlow::Break(())
            }
        };
        // One scan, so at read committed too the keys are those of one moment.
        self.scan_and_note(keyspace, range, Direction::Forward, true, each, || failure.get().is_none())?;
        if let Some(error) = failure.into_inner() {
            return Err(error);
        }
        self.keep_ahead(ahead);
        Ok(())
    }

    fn end_of(
        &mut self,
        keyspace: &Keyspace,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        direction: Direction,
    ) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let mut found = None;
        self.scan(keyspace, lower, upper, direction, |key, value| {
            found = Some((key.to_vec(), value.to_vec()));
            ControlFlow::Break(())
        })?;
        Ok(found)
    }
}
