//! Reads and updates of several keys at once, and updates that change a value in its own memory.

use super::Transaction;
use super::given::{checked_key, checked_keys};
use crate::engine::Handle;
use crate::error::Result;
use crate::key::Key;
use crate::keyspace::Keyspace;
use crate::mvcc::Draft;
use crate::options::Isolation;

impl Transaction {
    /// Passes the values of several keys to `f`, without a copy, each with the number of its key. A key that does not
    /// exist is left out.
    ///
    /// The memory engine looks for all keys at once, so it waits for the machine's memory a few times for all of them
    /// instead of a few times for each.
    ///
    /// # Errors
    /// Same as [`Transaction::read`].
    pub fn read_each<K: AsRef<[u8]>>(
        &mut self,
        keyspace: &Keyspace,
        keys: impl IntoIterator<Item = K>,
        mut f: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        let keyspace = self.readable(keyspace)?;
        let keys = checked_keys(keys)?;
        // Nothing to note, and nothing of its own to find.
        if self.isolation == Isolation::Snapshot && self.trace.is_none() && self.writes.is_empty() {
            let engine = keyspace.engine_index();
            let at = self.snapshot(engine)?;
            let read = self.core.engines[engine]
                .get_each(keyspace.id, &keys, at, &mut |number, value, _| f(number, value));
            return self.confirmed(keyspace, read);
        }
        let handles = self.find(keyspace, &keys)?;
        for ((number, key), mut handle) in keys.into_iter().enumerate().zip(handles) {
            self.read_key(keyspace, key, Some(&mut handle), false, |value| f(number, value))?;
        }
        Ok(())
    }

    /// Looks for keys that the transaction reads next, and returns their handles.
    fn find(&mut self, keyspace: &Keyspace, keys: &[Key]) -> Result<Vec<Handle>> {
        let mut handles = vec![Handle::None; keys.len()];
        // At read committed each read has a newer snapshot, for which an earlier handle may lead to the wrong value.
        if self.isolation != Isolation::ReadCommitted {
            let engine = keyspace.engine_index();
            self.snapshot(engine)?;
            self.core.engines[engine].find(keyspace.id, keys, &mut handles);
        }
        Ok(handles)
    }

    /// Reads a value, lets `f` change its bytes but not its length, and writes it back. Returns false if the key does not
    /// exist. Cheaper than [`Transaction::update`]: the value is copied once.
    ///
    /// # Errors
    /// Same as [`Transaction::update`].
    pub fn update_in_place(
        &mut self,
        keyspace: &Keyspace,
        key: &[u8],
        f: impl FnOnce(&mut [u8]),
    ) -> Result<bool> {
        let keyspace = self.writable(keyspace)?;
        self.change_key(keyspace, checked_key(key)?, Handle::None, f)
    }

    /// Does the same as [`Transaction::update_in_place`] for several keys, one after the other. Passes the number of
    /// each key to `f`. A key that does not exist is left out.
    ///
    /// The memory engine looks for all keys at once, as [`Transaction::read_each`] does.
    ///
    /// # Errors
    /// Same as [`Transaction::update`]. The keys before the one with the error are written.
    pub fn update_each<K: AsRef<[u8]>>(
        &mut self,
        keyspace: &Keyspace,
        keys: impl IntoIterator<Item = K>,
        mut f: impl FnMut(usize, &mut [u8]),
    ) -> Result<()> {
        let keyspace = self.writable(keyspace)?;
        let keys = checked_keys(keys)?;
        let handles = self.find(keyspace, &keys)?;
        for ((number, key), handle) in keys.into_iter().enumerate().zip(handles) {
            self.change_key(keyspace, key, handle, |value| f(number, value))?;
        }
        Ok(())
    }

    fn change_key(
        &mut self,
        keyspace: &Keyspace,
        key: Key,
        mut handle: Handle,
        f: impl FnOnce(&mut [u8]),
    ) -> Result<bool> {
        let read = |value: &[u8]| Draft::from(value);
        let Some(mut draft) = self.read_key(keyspace, key.clone(), Some(&mut handle), false, read)? else {
            return Ok(false);
        };
        f(&mut draft);
        self.write(keyspace, key, Some(draft), handle)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, Engine, Options};

    const LEVELS: [Isolation; 3] = [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable];

    /// Returns a database with the keys `a` to `d` in a keyspace of each engine, all with the value 1.
    fn database(path: &std::path::Path) -> (Database, [Keyspace; 2]) {
        let db = Database::open(path, Options::default()).unwrap();
        let spaces = [("memory", Engine::Memory), ("disk", Engine::Disk)];
        let spaces = spaces.map(|(name, engine)| db.keyspace(name, engine).unwrap());
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        for space in &spaces {
            for key in [b"a", b"b", b"c", b"d"] {
                transaction.put(space, key, &[1]).unwrap();
            }
        }
        transaction.commit().unwrap().wait().unwrap();
        (db, spaces)
    }

    fn read(transaction: &mut Transaction, space: &Keyspace, keys: &[&str]) -> Vec<(usize, u8)> {
        let mut found = Vec::new();
        transaction.read_each(space, keys, |number, value| found.push((number, value[0]))).unwrap();
        found
    }

    #[test]
    fn reads_of_several_keys_find_what_single_reads_find() {
        let directory = tempfile::tempdir().unwrap();
        let (db, spaces) = database(directory.path());
        let keys = ["a", "none", "b", "a", "new", "c"];
        for level in LEVELS {
            for space in &spaces {
                let mut transaction = db.begin(level).unwrap();
                assert_eq!(read(&mut transaction, space, &keys), [(0, 1), (2, 1), (3, 1), (5, 1)]);
                transaction.put(space, b"new", &[7]).unwrap();
                transaction.delete(space, b"b").unwrap();
                let found = read(&mut transaction, space, &keys);
                assert_eq!(found, [(0, 1), (3, 1), (4, 7), (5, 1)], "{level:?}");
                for (number, key) in keys.iter().enumerate() {
                    let single =
                        transaction.get(space, key.as_bytes()).unwrap().map(|value| (number, value[0]));
                    assert_eq!(single, found.iter().find(|(of, _)| *of == number).copied());
                }
                let empty = transaction.read_each(space, [""], |_, _| ()).unwrap_err();
                assert!(matches!(empty, crate::Error::Usage(_)), "{empty:?}");
            }
        }
    }

    #[test]
    fn a_read_of_several_keys_is_validated_like_single_reads() {
        let directory = tempfile::tempdir().unwrap();
        let (db, spaces) = database(directory.path());
        for space in &spaces {
            for (level, commits) in [(Isolation::Snapshot, true), (Isolation::Serializable, false)] {
                let (mut reader, mut writer) = (db.begin(level).unwrap(), db.begin(level).unwrap());
                assert_eq!(read(&mut reader, space, &["a", "none"]), [(0, 1)]);
                writer.put(space, b"a", &[1]).unwrap();
                writer.commit().unwrap().wait().unwrap();
                reader.put(space, b"d", &[1]).unwrap();
                assert_eq!(reader.commit().is_ok(), commits, "{level:?}");
            }
        }
    }

    #[test]
    fn updates_of_several_keys_come_one_after_the_other() {
        let directory = tempfile::tempdir().unwrap();
        let (db, spaces) = database(directory.path());
        for level in LEVELS {
            for space in &spaces {
                let mut transaction = db.begin(level).unwrap();
                let mut changed = Vec::new();
                let change = |number, value: &mut [u8]| {
                    value[0] += 1;
                    changed.push((number, value[0]));
                };
                transaction.update_each(space, ["c", "none", "d", "c"], change).unwrap();
                assert_eq!(changed, [(0, 2), (2, 2), (3, 3)], "{level:?}");
                assert!(transaction.update_in_place(space, b"c", |value| value[0] += 1).unwrap());
                assert!(!transaction.update_in_place(space, b"none", |value| value[0] += 1).unwrap());
                transaction.commit().unwrap().wait().unwrap();
                let mut after = db.begin(level).unwrap();
                assert_eq!(read(&mut after, space, &["c", "d", "none"]), [(0, 4), (1, 2)]);
                after.put(space, b"c", &[1]).unwrap();
                after.put(space, b"d", &[1]).unwrap();
                after.commit().unwrap().wait().unwrap();
            }
        }
    }

    /// Others delete a key, and add it again, after its record was found and before it is read.
    #[test]
    fn an_update_reads_its_snapshot_whatever_becomes_of_a_record_that_was_found() {
        let directory = tempfile::tempdir().unwrap();
        let (db, spaces) = database(directory.path());
        for again in [false, true] {
            for space in &spaces {
                let mut transaction = db.begin(Isolation::Snapshot).unwrap();
                let mut values = Vec::new();
                let change = |number, value: &mut [u8]| {
                    if number == 0 {
                        let mut other = db.begin(Isolation::Snapshot).unwrap();
                        other.delete(space, b"b").unwrap();
                        other.commit().unwrap().wait().unwrap();
                        if again {
                            let mut other = db.begin(Isolation::Snapshot).unwrap();
                            other.put(space, b"b", &[9]).unwrap();
                            other.commit().unwrap().wait().unwrap();
                        }
                        db.inner().core.collect_now();
                    }
                    values.push(value[0]);
                };
                transaction.update_each(space, ["a", "b"], change).unwrap();
                assert_eq!(values, [1, 1]);
                assert!(transaction.commit().is_err_and(|error| error.is_retryable()));
                db.inner().core.collect_now();
                let mut after = db.begin(Isolation::Snapshot).unwrap();
                assert_eq!(after.get(space, b"b").unwrap(), again.then(|| vec![9]));
                after.put(space, b"b", &[1]).unwrap();
                after.commit().unwrap().wait().unwrap();
            }
        }
    }
}
