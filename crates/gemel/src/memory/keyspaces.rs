//! The keyspaces of an engine by number, found without a lock.

use crate::engine::KeyspaceId;
use crate::error::{Error, Result};
use std::sync::OnceLock;

/// Number of keyspaces in a group.
const WIDTH: usize = 256;
/// Number of groups. There are many, because numbers of dropped keyspaces are never used again.
const GROUPS: usize = 4096;

/// Places, each filled at most once.
type Places<T> = Box<[OnceLock<T>]>;

/// The table of keyspaces. It grows by whole groups, so nothing moves under a reader.
pub(super) struct Keyspaces<T> {
    groups: Places<Places<T>>,
}

impl<T> Default for Keyspaces<T> {
    fn default() -> Self {
        Self { groups: empty(GROUPS) }
    }
}

fn empty<T>(places: usize) -> Places<T> {
    (0..places).map(|_| OnceLock::new()).collect()
}

impl<T> Keyspaces<T> {
    /// Adds the keyspace that `make` returns, unless it exists.
    pub(super) fn open(&self, keyspace: KeyspaceId, make: impl FnOnce() -> T) -> Result<()> {
        let number = keyspace.0 as usize;
        let Some(group) = self.groups.get(number / WIDTH) else {
            return Err(Error::Capacity(format!(
                "the memory engine has room for {} keyspaces, not for number {number}: copy the rows into a new database",
                WIDTH * GROUPS
            )));
        };
        group.get_or_init(|| empty(WIDTH))[number % WIDTH].get_or_init(make);
        Ok(())
    }

    /// Returns the keyspace of a number.
    #[inline]
    pub(super) fn get(&self, keyspace: KeyspaceId) -> Result<&T> {
        let number = keyspace.0 as usize;
        self.groups
            .get(number / WIDTH)
            .and_then(OnceLock::get)
            .and_then(|group| group[number % WIDTH].get())
            .ok_or_else(|| {
                Error::Usage(format!("keyspace {number} is not in the memory engine: make its table first"))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyspaces_are_found_by_number_and_opened_once() {
        let keyspaces = Keyspaces::<OnceLock<u8>>::default();
        for number in [70, 3, 1_048_575, 3] {
            keyspaces.open(KeyspaceId(number), OnceLock::new).unwrap();
            let _ = keyspaces.get(KeyspaceId(number)).unwrap().set(1);
        }
        assert!(matches!(keyspaces.get(KeyspaceId(4)), Err(Error::Usage(_))));
        assert!(matches!(keyspaces.open(KeyspaceId(1_048_576), OnceLock::new), Err(Error::Capacity(_))));
    }
}
