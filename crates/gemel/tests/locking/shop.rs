//! The shop of the tests, and its locks.

use super::scratch::directory;
use super::wait::wait_until;
use gemel::{
    Database, Engine, Error, Isolation, Keyspace, LockHolder, LockState, Options, Transaction, Wait,
};
use std::time::Duration;

pub(crate) const LEVELS: [Isolation; 3] =
    [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable];
/// Longer than any test runs.
pub(crate) const LONG: Wait = Wait::For(Duration::from_secs(3600));

pub(crate) struct Shop {
    pub(crate) db: Database,
    /// A keyspace in memory and one on disk.
    pub(crate) spaces: [Keyspace; 2],
    pub(crate) directory: tempfile::TempDir,
}

fn open(directory: tempfile::TempDir, options: Options) -> Shop {
    let db = Database::open(directory.path().join("db"), options).unwrap();
    let spaces = [db.keyspace("hot", Engine::Memory).unwrap(), db.keyspace("cold", Engine::Disk).unwrap()];
    Shop { db, spaces, directory }
}

pub(crate) fn shop_with(options: Options) -> Shop {
    open(directory(), options)
}

pub(crate) fn shop() -> Shop {
    shop_with(Options::default())
}

/// Waits until so many transactions wait for locks.
#[track_caller]
pub(crate) fn until_waiting(db: &Database, count: usize) {
    let problem = |locks: &LockState| format!("{count} waits are expected: {locks:?}");
    wait_until(|| db.state().locks, |locks| locks.waiting == count, problem);
}

impl Shop {
    /// Closes the database and opens it again.
    pub(crate) fn reopen(self) -> Self {
        let Self { db, spaces, directory } = self;
        drop((db, spaces));
        open(directory, Options::default())
    }

    pub(crate) fn begin(&self, isolation: Isolation) -> Transaction {
        self.db.begin(isolation).unwrap()
    }

    /// Returns a transaction at `Snapshot` that has locked a key.
    pub(crate) fn holder(&self, space: &Keyspace, key: &str) -> Transaction {
        let mut transaction = self.begin(Isolation::Snapshot);
        transaction.get_locked(space, key.as_bytes(), Wait::No).unwrap();
        transaction
    }

    pub(crate) fn put(&self, space: &Keyspace, key: &str, value: &str) -> gemel::Result<()> {
        let mut transaction = self.begin(Isolation::Snapshot);
        transaction.put(space, key.as_bytes(), value.as_bytes()).unwrap();
        transaction.commit().map(drop)
    }

    pub(crate) fn value(&self, space: &Keyspace, key: &str) -> Option<String> {
        let value = self.begin(Isolation::Snapshot).get(space, key.as_bytes()).unwrap();
        value.map(|value| String::from_utf8(value).unwrap())
    }

    pub(crate) fn locks(&self) -> LockState {
        self.db.state().locks
    }

    /// Waits until so many transactions wait for locks.
    #[track_caller]
    pub(crate) fn until_waiting(&self, count: usize) {
        until_waiting(&self.db, count);
    }

    /// Fails unless nobody holds or awaits a lock.
    #[track_caller]
    pub(crate) fn assert_free(&self) {
        let LockState { held, waiting, .. } = self.locks();
        assert_eq!((held, waiting), (0, 0));
    }
}

/// Locks a key, which may take long. Returns the transaction and the result.
pub(crate) fn lock(
    mut transaction: Transaction,
    space: &Keyspace,
    key: &str,
    wait: Wait,
) -> (Transaction, gemel::Result<Option<String>>) {
    let value = transaction.get_locked(space, key.as_bytes(), wait);
    let value = value.map(|value| value.map(|value| String::from_utf8(value).unwrap()));
    (transaction, value)
}

/// Checks that another transaction holds the lock. Returns the time of the wait.
#[track_caller]
pub(crate) fn locked_by<T: std::fmt::Debug>(outcome: gemel::Result<T>, expected: &LockHolder) -> Duration {
    match outcome {
        Err(Error::Locked { holder, waited, .. }) if holder == *expected => waited,
        other => panic!("{other:?} does not name {expected:?}"),
    }
}
