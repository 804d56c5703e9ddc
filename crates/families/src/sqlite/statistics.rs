//! Counts of all connections of this process to an SQLite file.

use rusqlite::{Connection, ffi};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that SQLite keeps for each connection, with their names here.
pub(super) const OF_CONNECTIONS: [(&str, c_int); 4] = [
    ("cache_hits", ffi::SQLITE_DBSTATUS_CACHE_HIT),
    ("cache_misses", ffi::SQLITE_DBSTATUS_CACHE_MISS),
    ("pages_written", ffi::SQLITE_DBSTATUS_CACHE_WRITE),
    ("cache_spills", ffi::SQLITE_DBSTATUS_CACHE_SPILL),
];

/// Counts of all connections of this process to a file.
#[derive(Debug, Default)]
pub(super) struct Statistics {
    /// Counts in the order of [`OF_CONNECTIONS`].
    pub(super) of_connections: [AtomicU64; OF_CONNECTIONS.len()],
    pub(super) commits: AtomicU64,
    pub(super) rollbacks: AtomicU64,
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
