//! Statistics of SQLite: the page caches of all connections of this process, their transactions, and the sizes of the files.

use crate::sqlite::Sqlite;
use crate::sqlite::connection::Shared;
use lydite_database::{Observe, Observer, Sample, SampleKind, TargetError};
use rusqlite::{Connection, ffi};
use std::ffi::c_int;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that SQLite keeps for each connection, with their names here.
const OF_CONNECTIONS: [(&str, c_int); 4] = [
    ("cache_hits", ffi::SQLITE_DBSTATUS_CACHE_HIT),
    ("cache_misses", ffi::SQLITE_DBSTATUS_CACHE_MISS),
    ("pages_written", ffi::SQLITE_DBSTATUS_CACHE_WRITE),
    ("cache_spills", ffi::SQLITE_DBSTATUS_CACHE_SPILL),
];

/// Counts of all connections of this process to a file.
#[derive(Debug, Default)]
pub(super) struct Statistics {
    /// As in [`OF_CONNECTIONS`].
    of_connections: [AtomicU64; OF_CONNECTIONS.len()],
    commits: AtomicU64,
    rollbacks: AtomicU64,
}

impl Statistics {
    /// Counts the end of a transaction, and what its connection counted meanwhile. A connection may be asked only by the
    /// thread that uses it.
    pub(super) fn ended(&self, committed: bool, connection: &Connection) {
        let end = if committed { &self.commits } else { &self.rollbacks };
        end.fetch_add(1, Ordering::Relaxed);
        for (sum, (_, counter)) in self.of_connections.iter().zip(OF_CONNECTIONS) {
            let (mut value, mut highest) = (0, 0);
            // SAFETY: the connection is open, and both numbers live during the call.
            let code =
                unsafe { ffi::sqlite3_db_status(connection.handle(), counter, &mut value, &mut highest, 1) };
            if code == ffi::SQLITE_OK {
                sum.fetch_add(u64::try_from(value).unwrap_or_default(), Ordering::Relaxed);
            }
        }
    }
}

/// Reads the counts and the sizes of the files.
struct SqliteObserver {
    shared: Arc<Shared>,
    file: PathBuf,
    log: PathBuf,
}

impl Observe for Sqlite {
    fn observer(&self, _server: usize) -> Result<Option<Box<dyn Observer>>, TargetError> {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        let (shared, file) = (Arc::clone(&self.shared), self.path.clone());
        Ok(Some(Box::new(SqliteObserver { shared, file, log: log.into() })))
    }
}

impl Observer for SqliteObserver {
    fn sample(&mut self) -> Result<Vec<Sample>, TargetError> {
        let Shared { turn, statistics } = &*self.shared;
        let Statistics { of_connections, commits, rollbacks } = statistics;
        let sample =
            |name: &str, unit, kind, value| Sample { name: format!("sqlite.{name}"), unit, kind, value };
        let counters = OF_CONNECTIONS.iter().map(|(name, _)| *name).zip(of_connections);
        let counters = [("commits", commits), ("rollbacks", rollbacks)].into_iter().chain(counters);
        let counters = counters.map(|(name, counter)| {
            sample(name, "/s", SampleKind::Counter, counter.load(Ordering::Relaxed) as f64)
        });
        let bytes = |name, path: &Path| {
            Some(sample(name, "bytes", SampleKind::Gauge, fs::metadata(path).ok()?.len() as f64))
        };
        // There is no log in other journal modes.
        let sizes = [bytes("file_bytes", &self.file), bytes("wal_bytes", &self.log)];
        let waiting = sample("waiting_writers", "", SampleKind::Gauge, turn.waiting() as f64);
        Ok(counters.chain([waiting]).chain(sizes.into_iter().flatten()).collect())
    }
}
