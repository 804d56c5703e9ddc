//! The shop of the tests, and its transactions.

use super::copy::copy_directory;
use super::outcome::conflict;
use gemel::{Conflict, Database, Engine, Isolation, Keyspace, LogMode, Options, Ticket, Transaction};
use std::path::Path;

pub(crate) const MODES: [LogMode; 2] = [LogMode::Shared, LogMode::PerEngine];

pub(crate) struct Shop {
    pub(crate) db: Database,
    /// A keyspace in memory and one on disk.
    pub(crate) spaces: [Keyspace; 2],
}

pub(crate) fn open_with(path: &Path, options: Options) -> Shop {
    let db = Database::open(path, options).unwrap();
    let spaces = [db.keyspace("hot", Engine::Memory).unwrap(), db.keyspace("cold", Engine::Disk).unwrap()];
    Shop { db, spaces }
}

pub(crate) fn open(path: &Path, log: LogMode) -> Shop {
    open_with(path, Options { log, ..Options::default() })
}

/// Copies the files of a database that is at rest, as a killed process would leave them.
pub(crate) fn kill(shop: Shop, from: &Path, to: &Path) {
    shop.db.sync().unwrap();
    copy_directory(from, to);
}

/// Checks that a transaction has met the lock of a prepared one.
#[track_caller]
pub(crate) fn locked<T: std::fmt::Debug>(outcome: gemel::Result<T>) {
    conflict(outcome, Conflict::Locked);
}

impl Shop {
    pub(crate) fn get(&self, space: usize, key: &str) -> Option<String> {
        let mut transaction = self.db.begin(Isolation::Snapshot).unwrap();
        let value = transaction.get(&self.spaces[space], key.as_bytes()).unwrap();
        value.map(|value| String::from_utf8(value).unwrap())
    }

    /// Writes rows: keyspace, key, and value; no value deletes.
    pub(crate) fn written(&self, isolation: Isolation, rows: &[(usize, &str, Option<&str>)]) -> Transaction {
        let mut transaction = self.db.begin(isolation).unwrap();
        for (space, key, value) in rows {
            let (space, key) = (&self.spaces[*space], key.as_bytes());
            match value {
                Some(value) => transaction.put(space, key, value.as_bytes()).unwrap(),
                None => transaction.delete(space, key).unwrap(),
            }
        }
        transaction
    }

    pub(crate) fn put(&self, space: usize, key: &str, value: &str) -> gemel::Result<()> {
        self.written(Isolation::Snapshot, &[(space, key, Some(value))]).commit()?.wait()
    }

    /// Commits a prepared transaction, or rolls it back.
    pub(crate) fn decide(&self, name: &str, commits: bool) -> gemel::Result<Ticket> {
        if commits { self.db.commit_prepared(name) } else { self.db.roll_back_prepared(name) }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.db.prepared().into_iter().map(|prepared| prepared.name).collect()
    }
}

/// The engines that a transaction writes.
pub(crate) const PARTS: [&[usize]; 3] = [&[0], &[1], &[0, 1]];

/// Prepares a transaction in some engines: it changes a row, adds several, and deletes one.
pub(crate) fn prepare(shop: &Shop, parts: &[usize], name: &str) {
    let mut transaction = shop.db.begin(Isolation::Serializable).unwrap();
    for part in parts {
        let space = &shop.spaces[*part];
        transaction.put(space, b"changed", b"new").unwrap();
        transaction.delete(space, b"deleted").unwrap();
        for row in 0..9 {
            // Some records are large, others not.
            transaction.put(space, format!("added/{row}").as_bytes(), &vec![b'x'; row * 50]).unwrap();
        }
    }
    transaction.prepare(name).unwrap().wait().unwrap();
}

pub(crate) fn begin(shop: &Shop) {
    for space in 0..2 {
        shop.put(space, "changed", "old").unwrap();
        shop.put(space, "deleted", "old").unwrap();
    }
}

/// Checks that the rows of a transaction of [`prepare`] are there, or that it changed nothing.
pub(crate) fn check(shop: &Shop, parts: &[usize], is_there: bool, what: &str) {
    for space in 0..2 {
        let is_there = is_there && parts.contains(&space);
        let (changed, deleted) = (shop.get(space, "changed"), shop.get(space, "deleted"));
        assert_eq!(changed.as_deref(), Some(if is_there { "new" } else { "old" }), "{what}");
        assert_eq!(deleted.is_none(), is_there, "{what}");
        for row in 0..9 {
            let found = shop.get(space, &format!("added/{row}")).map(|value| value.len());
            assert_eq!(found, is_there.then_some(row * 50), "{what}: row {row}");
        }
    }
}
