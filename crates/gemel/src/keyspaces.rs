//! The keyspaces of an engine by number, found without a lock.

use crate::error::{Error, Result};
use crate::ids::KeyspaceId;
use std::sync::OnceLock;

/// Number of keyspaces in a group.
const WIDTH: usize = 256;
/// Number of groups. There are many, because numbers of dropped keyspaces are never used again.
const GROUPS: usize = 4096;

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
                "a database has room for {} keyspaces, not for number {number}: copy the rows into a new database",
                WIDTH * GROUPS
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

#[cfg(test)]
mod tests {
    use super::*;

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
