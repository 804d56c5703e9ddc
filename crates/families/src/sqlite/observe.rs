//! Statistics of SQLite: the page caches of all connections of this process, their transactions, and the sizes of the files.

use crate::sqlite::Sqlite;
use crate::sqlite::connection::Shared;
use crate::sqlite::statistics::{OF_CONNECTIONS, Statistics};
use lydite_database::{Observe, Observer, Sample, SampleKind, TargetError};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
