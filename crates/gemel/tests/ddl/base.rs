//! What all tests of catalog changes within transactions use.

use gemel::row::{Table, Value};
use gemel::{Database, Engine, Isolation, LogMode, Options, Result, Transaction};
use std::path::Path;

pub(crate) const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];
pub(crate) const LOGS: [LogMode; 2] = [LogMode::Shared, LogMode::PerEngine];
pub(crate) const LEVELS: [Isolation; 3] =
    [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable];

/// Returns each kind of log with each home of a table.
pub(crate) fn logs_and_homes() -> impl Iterator<Item = (LogMode, Engine)> {
    LOGS.into_iter().flat_map(|log| ENGINES.map(|home| (log, home)))
}

pub(crate) fn open(path: &Path, log: LogMode) -> Database {
    Database::open(path, Options { log, ..Options::default() }).unwrap()
}

pub(crate) fn begin(db: &Database) -> Transaction {
    db.begin(Isolation::Snapshot).unwrap()
}

pub(crate) fn commit(transaction: Transaction) {
    transaction.commit().unwrap().wait().unwrap();
}

pub(crate) fn insert(transaction: &mut Transaction, table: &Table, ids: std::ops::Range<i64>) -> Result<()> {
    ids.into_iter().try_for_each(|id| table.insert(transaction, &[Value::Int(id), Value::Int(id % 7)]))
}

/// Returns the number of trees on disk.
pub(crate) fn trees(path: &Path) -> usize {
    std::fs::read_dir(path.join("disk")).unwrap().count()
}

pub(crate) fn good(path: &Path) {
    let report = gemel::check(path).unwrap();
    assert!(report.is_good(), "{report}");
}
