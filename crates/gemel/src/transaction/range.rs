//! The first and the last key of a range, and the deletion of a range.

use super::{Transaction, checked_range};
use crate::engine::Handle;
use crate::error::Result;
use crate::ids::Direction;
use crate::key::Key;
use crate::keyspace::Keyspace;
use std::ops::{Bound, ControlFlow};

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
    /// Each key takes memory until the commit. To delete all rows of a table at once, use
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
        let keyspace = self.writable(keyspace)?;
        let range = checked_range(lower, upper)?;
        if range.is_empty() {
            return Ok(0);
        }
        // One scan, so at read committed too the keys are those of one moment.
        let mut keys = Vec::new();
        self.scan_range(keyspace, range, Direction::Forward, true, |key, _| {
            keys.push(Key::new(key));
            ControlFlow::Continue(())
        })?;
        // All or none: the transaction may go on after a rejected call.
        self.make_room_for_writes(keyspace, keys.len(), keys.iter().map(Key::len).sum(), 0)?;
        let count = keys.len();
        for key in keys {
            self.write(keyspace, key, None, Handle::None)?;
        }
        Ok(count)
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
