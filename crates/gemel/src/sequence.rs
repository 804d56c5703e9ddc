//! Sequences: numbers that are given out once, in blocks that are durable before the first of their numbers is.

use crate::database::Database;
use crate::error::{Error, Result};
use crate::keyspace::Keyspace;
use crate::log::may_wait;
use crate::options::Isolation;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// Numbers from 1 up, each of which is returned once: keys for new rows.
///
/// Numbers belong to no transaction. So transactions that take some never conflict for it, and a rollback does not give
/// them back. A sequence takes a block of numbers at once, by a durable commit of its own; the others cost nothing. What
/// is left of a block when the database is closed, or the process ends, is never returned: numbers have gaps, but no
/// number comes twice, at any [`Durability`](crate::Durability).
///
/// The state is one entry in a keyspace of the program's choice: the name of the sequence, and the first number that is
/// in no block yet, as 8 bytes, big-endian. So it is in backups and dumps, and deleting the entry deletes the sequence.
/// In a database that was restored from a backup, the numbers go on from the backup.
///
/// Cheap to clone; clones share a block, and their numbers come in ascending order. Handles of the same name from several
/// calls of [`Database::sequence`] share no block: each number comes once, in ascending order from each of them.
#[derive(Clone)]
pub struct Sequence {
    shared: Arc<Shared>,
}

struct Shared {
    db: Database,
    keyspace: Keyspace,
    name: Box<[u8]>,
    /// Numbers of a block.
    block: u64,
    /// Numbers of the block that are not returned yet.
    left: Mutex<Range<u64>>,
}

impl std::fmt::Debug for Sequence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sequence")
            .field("name", &format_args!("{}", self.shared.name.escape_ascii()))
            .finish_non_exhaustive()
    }
}

impl Database {
    /// Returns the sequence of this name in a keyspace, which may also have other entries. A sequence begins with its
    /// first number. `block` is the number of numbers that one durable commit takes: more of them cost less time and leave
    /// larger gaps.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::{Database, Engine, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("db");
    /// let db = Database::open(&path, Options::default())?;
    /// let own = db.open_or_create_keyspace("sql.catalog", Engine::Memory)?;
    /// let orders = db.sequence(&own, "sequence orders.id", 100)?;
    /// assert_eq!((orders.next()?, orders.next()?), (1, 2));
    /// # drop(orders);
    /// db.close()?;
    ///
    /// let db = Database::open(&path, Options::default())?;
    /// let own = db.open_or_create_keyspace("sql.catalog", Engine::Memory)?;
    /// assert_eq!(db.sequence(&own, "sequence orders.id", 100)?.next()?, 101);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if the block or the name is empty.
    pub fn sequence(&self, keyspace: &Keyspace, name: impl AsRef<[u8]>, block: u64) -> Result<Sequence> {
        let name = name.as_ref();
        if block == 0 || name.is_empty() {
            return Err(Error::Usage(
                "a sequence needs a name and blocks of at least one number: give a name of 1 byte or more, and a block \
                 of 100, say"
                    .into(),
            ));
        }
        let shared = Shared {
            db: self.clone(),
            keyspace: keyspace.clone(),
            name: name.into(),
            block,
            left: Mutex::default(),
        };
        Ok(Sequence { shared: Arc::new(shared) })
    }
}

impl Sequence {
    /// Returns the next number. At the end of a block it waits until the next block is durable.
    ///
    /// # Errors
    /// [`Error::Usage`] if the entry of this name is no sequence, the keyspace belongs to another database, or the call is
    /// made in the callback of a ticket; [`Error::Capacity`] after 2⁶⁴ − 1 numbers; those of a commit, as
    /// [`Error::Outdated`] after the keyspace was dropped, and [`Error::DiskFull`]. After an error no number is lost but
    /// those of a block.
    pub fn next(&self) -> Result<u64> {
        // A number from the block would not wait, but whether there is one should not decide.
        may_wait()?;
        // Others who want a number meanwhile have to wait for the same block.
        let mut left = self.shared.left.lock();
        if let Some(number) = left.next() {
            return Ok(number);
        }
        *left = self.shared.take_block()?;
        // A block has at least one number.
        left.next().ok_or_else(|| self.shared.used_up())
    }
}

impl Shared {
    /// Takes the next block of numbers. It is durable when this returns.
    fn take_block(&self) -> Result<Range<u64>> {
        let taken = self.db.run(Isolation::Snapshot, |transaction| {
            let stored =
                transaction.read(&self.keyspace, &self.name, |bytes| <[u8; 8]>::try_from(bytes).ok());
            let first = match stored? {
                None => 1,
                Some(bytes) => u64::from_be_bytes(bytes.ok_or_else(|| self.no_sequence())?),
            };
            if first == 0 {
                return Err(self.no_sequence());
            }
            let end = first.checked_add(self.block).ok_or_else(|| self.used_up())?;
            transaction.put(&self.keyspace, &self.name, &end.to_be_bytes())?;
            Ok(first..end)
        })?;
        // With some durabilities the wait for the commit is no wait for the disk.
        self.db.sync()?;
        Ok(taken)
    }

    fn place(&self) -> String {
        format!("entry '{}' of keyspace {:?}", self.name.escape_ascii(), self.keyspace.name())
    }

    #[cold]
    fn no_sequence(&self) -> Error {
        Error::Usage(format!("{} is no sequence: use another name, or delete the entry", self.place()))
    }

    #[cold]
    fn used_up(&self) -> Error {
        Error::Capacity(format!(
            "{} has no block of {} numbers left: use smaller blocks",
            self.place(),
            self.block
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::faulty::FaultyFiles;
    use crate::{Durability, Engine, LogMode, Options};
    use std::path::Path;

    const NUMBERS: usize = 10;

    /// Opens the database, and returns numbers of its sequence until it fails, at most [`NUMBERS`].
    fn take(files: &FaultyFiles, path: &Path, options: &Options, taken: &mut Vec<u64>) -> Result<()> {
        let db = Database::open_with(Arc::new(files.clone()), path, options.clone())?;
        let sequence = db.sequence(&db.keyspace("own", Engine::Memory)?, "s", 3)?;
        for _ in 0..NUMBERS {
            taken.push(sequence.next()?);
        }
        Ok(())
    }

    #[test]
    fn no_number_comes_twice_after_a_power_cut_before_any_file_operation() {
        for log in [LogMode::Shared, LogMode::PerEngine] {
            for durability in [Durability::Full, Durability::None] {
                let options = Options { log, durability, ..Options::default() };
                let mut cuts = 0;
                for nth in 1.. {
                    let directory = tempfile::tempdir().unwrap();
                    let (path, files) = (directory.path().join("db"), FaultyFiles::default());
                    files.cut_power(nth, 0);
                    let mut taken = Vec::new();
                    let outcome = take(&files, &path, &options, &mut taken);
                    let Some(left) = files.image() else {
                        outcome.unwrap();
                        assert_eq!(taken, (1..=NUMBERS as u64).collect::<Vec<_>>());
                        break;
                    };
                    let before = taken.len();
                    take(&left, &path, &options, &mut taken).unwrap();
                    assert_eq!(taken.len(), before + NUMBERS);
                    // They only go up, so none comes twice.
                    assert!(taken.is_sorted_by(|one, next| one < next), "cut {nth}: {taken:?}");
                    cuts += usize::from(before > 0);
                }
                assert!(cuts > 3, "{cuts} cuts after the first number");
            }
        }
    }
}
