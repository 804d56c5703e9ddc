//! The first and the last key of a range.

use super::Transaction;
use crate::error::Result;
use crate::ids::Direction;
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
