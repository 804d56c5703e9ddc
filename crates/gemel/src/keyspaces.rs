//! The keyspaces of an engine by number, found without a lock.

use crate::error::{Error, Result};
use crate::ids::KeyspaceId;
use std::sync::OnceLock;

/// Number of keyspaces in a group.
const WIDTH: usize = 256;
/// Number of groups. There are many, because the numbers of dropped keyspaces are used again only after an opening.
const GROUPS: usize = 4096;
/// Keyspaces have numbers below this.
pub(crate) const ROOM: u32 = (WIDTH * GROUPS) as u32;

/// Places, each filled at most once.
type Places<T> = Box<[OnceLock<T>]>;

/// The table of keyspaces. It grows by whole groups, so nothing moves under a reader.
pub(crate) struct Keyspaces<T> {
    /// Name of the engine, for errors.
    engine: &'static str,
    groups: Places<Places<T>>,
}

fn empty<T>(places: usize) -> Places<T> {
    (0..places).map(|_| OnceLock::new()).collect()
}

impl<T> Keyspaces<T> {
    /// Makes an empty table for an engine of this name.
    pub(crate) fn of(engine: &'static str) -> Self {
        Self { engine, groups: empty(GROUPS) }
    }

    /// Adds the keyspace that `make` returns, unless it exists.
    ///
    /// # Errors
    /// [`Error::Capacity`] if the number is too large.
    pub(crate) fn open(&self, keyspace: KeyspaceId, make: impl FnOnce() -> T) -> Result<()> {
        let number = keyspace.0 as usize;
        let Some(group) = self.groups.get(number / WIDTH) else {
            return Err(Error::Capacity(format!(
                "a database has room for {ROOM} keyspaces, not for number {number}: restore the directory from a backup"
            )));
        };
        group.get_or_init(|| empty(WIDTH))[number % WIDTH].get_or_init(make);
        Ok(())
    }

    /// Returns the keyspace of a number, if there is one.
    #[inline]
    pub(crate) fn find(&self, keyspace: KeyspaceId) -> Option<&T> {
        let number = keyspace.0 as usize;
        self.groups.get(number / WIDTH)?.get()?[number % WIDTH].get()
    }

    /// Returns the keyspace of a number.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is none.
    #[inline]
    pub(crate) fn get(&self, keyspace: KeyspaceId) -> Result<&T> {
        self.find(keyspace).ok_or_else(|| {
            Error::Usage(format!(
                "keyspace {} is not in the {} engine: make its table first",
                keyspace.0, self.engine
            ))
        })
    }

    /// Returns all keyspaces, in the order of their numbers.
    pub(crate) fn all(&self) -> impl Iterator<Item = &T> {
        let groups = self.groups.iter().filter_map(OnceLock::get);
        groups.flat_map(|group| group.iter().filter_map(OnceLock::get))
    }
}

/// The numbers for new keyspaces.
///
/// Nearly always a keyspace gets a number that none had before. When these end, it gets one of a dropped keyspace, if
/// nothing had that number any more when the database was opened (`DESIGN.md`, "Catalog"). A number that becomes free
/// later has to wait for the next opening.
pub(crate) struct Numbers {
    /// For each number that was given out before the database was opened: true if something still has it.
    taken: Vec<bool>,
    /// The lowest number that was not given out again.
    lowest: u32,
}

impl Numbers {
    /// `taken` are the numbers that were given out before: true for those of keyspaces, and of rows in the checkpoint or
    /// the log.
    pub(crate) fn new(taken: Vec<bool>) -> Self {
        // The first number is 1.
        Self { taken, lowest: 1 }
    }

    /// Returns the number for a new keyspace. `next` is the lowest one that was never given out. `is_free` returns false
    /// if a file of an earlier keyspace has a number.
    ///
    /// # Errors
    /// [`Error::Capacity`] if there is none.
    pub(crate) fn take(
        &mut self,
        next: u32,
        is_free: impl Fn(KeyspaceId) -> Result<bool>,
    ) -> Result<KeyspaceId> {
        if next < ROOM {
            return Ok(KeyspaceId(next));
        }
        while let Some(taken) = self.taken.get(self.lowest as usize) {
            let id = KeyspaceId(self.lowest);
            self.lowest += 1;
            if !taken && is_free(id)? {
                return Ok(id);
            }
        }
        Err(Error::Capacity(format!(
            "all {} numbers for keyspaces have been given out: write a checkpoint, close the database and open it again, \
             which frees the numbers of those that were dropped, truncated or moved",
            ROOM - 1
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_dropped_keyspaces_are_given_out_when_the_others_end() {
        let mut numbers = Numbers::new(vec![false, true, false, true, false, false]);
        let is_free = |id: KeyspaceId| Ok(id.0 != 4);
        assert_eq!(numbers.take(6, is_free).unwrap().0, 6);
        assert_eq!(numbers.take(ROOM - 1, is_free).unwrap().0, ROOM - 1);
        assert_eq!(numbers.take(ROOM, is_free).unwrap().0, 2);
        assert_eq!(numbers.take(ROOM, is_free).unwrap().0, 5);
        let error = numbers.take(ROOM, is_free).unwrap_err();
        assert!(matches!(&error, Error::Capacity(why) if why.contains("open it again")), "{error}");
    }

    #[test]
    fn keyspaces_are_found_by_number_and_opened_once() {
        let keyspaces = Keyspaces::<OnceLock<u8>>::of("test");
        for number in [70, 3, 1_048_575, 3] {
            keyspaces.open(KeyspaceId(number), OnceLock::new).unwrap();
            let _ = keyspaces.get(KeyspaceId(number)).unwrap().set(1);
        }
        assert_eq!(keyspaces.all().count(), 3);
        assert!(matches!(keyspaces.get(KeyspaceId(4)), Err(Error::Usage(_))));
        assert!(matches!(keyspaces.open(KeyspaceId(1_048_576), OnceLock::new), Err(Error::Capacity(_))));
    }
}
