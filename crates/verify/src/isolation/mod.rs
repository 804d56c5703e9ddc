//! Isolation checks of a target: sessions play small transactions on lists or registers of their own, and the history
//! of what they did and saw is checked ([`crate::history`]).
//!
//! The tables belong to the check alone. They are created first, and dropped after every end of the recording.

mod recorder;

use crate::history::{Generator, History, Level, Workload, WorkloadKind};
use lydite_database::{Demand, ListTarget, Target, TargetError};
use recorder::{Recorder, insist};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Keys in use at any time for each place: few, so that transactions meet on them.
const KEYS: u32 = 8;
/// Writes after which a key is replaced.
const WRITES_PER_KEY: u32 = 32;
/// Share of transactions that the workload rolls back, so that reads of their writes show.
const ROLLBACKS: f64 = 0.05;

/// Settings of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Lists or registers.
    pub kind: WorkloadKind,
    /// Longest duration of the recording.
    pub duration: Duration,
    /// Transactions after which the recording ends before its duration.
    pub transactions: u64,
    /// Number of sessions.
    pub sessions: u32,
    /// Longest wait of a transaction for a lock.
    pub limit: Duration,
    /// Seed of the transactions.
    pub seed: u64,
}

/// Result of a recording.
#[derive(Debug)]
pub struct Recording {
    /// The history.
    pub history: History,
    /// Aborted transactions by reason, without those that the workload rolls back.
    pub aborts: BTreeMap<&'static str, u64>,
    /// True if the user stopped the recording.
    pub stopped: bool,
    /// Reason why not every key could be read at the end. Lost appends may then be unseen.
    pub unread: Option<String>,
    /// Error that ended the recording early, or lost the database.
    pub lost: Option<TargetError>,
    /// Reason why the tables could not be dropped.
    pub undropped: Option<String>,
}

/// A recording that is ready to begin: its tables exist.
pub struct Prepared {
    target: Arc<dyn Target>,
    settings: Settings,
    places: Vec<String>,
}

/// Returns the level that a description of a database's isolation promises; none if it names no level.
#[must_use]
pub fn promised(isolation: &str, is_level_3: bool) -> Option<Level> {
    // Behind a colon is an explanation.
    let name = isolation.split(':').next().unwrap_or_default();
    match name {
        "read committed" => Some(Level::ReadCommitted),
        // A snapshot for each transaction is how every family of Lydite has it.
        "repeatable read" | "snapshot" | "snapshot isolation" => Some(Level::SnapshotIsolation),
        "serializable" => Some(Level::Serializable),
        "strict serializable" => Some(Level::StrictSerializable),
        // A store that checks at the commit whatever a transaction has read.
        "optimistic" if is_level_3 => Some(Level::Serializable),
        _ => None,
    }
}

fn lists(target: &Arc<dyn Target>) -> Result<&dyn ListTarget, TargetError> {
    target.capabilities().lists()
}

/// Drops the tables that a killed check left behind.
///
/// # Errors
/// See [`ListTarget::drop_lists`].
pub fn clear(target: &Arc<dyn Target>) -> Result<(), TargetError> {
    lists(target)?.drop_lists()
}

/// Creates the tables.
///
/// # Errors
/// The tables exist already, or the target can't have them or so many sessions.
pub fn prepare(target: &Arc<dyn Target>, settings: Settings) -> Result<Prepared, TargetError> {
    let places = lists(target)?.places()?;
    // One more session reads all keys at the end.
    target.admit(&Demand::Sessions(settings.sessions + 1))?;
    lists(target)?.create_lists()?;
    Ok(Prepared { target: Arc::clone(target), settings, places })
}

impl Prepared {
    /// Returns the engines or nodes that the keys are spread over; empty for one place.
    #[must_use]
    pub fn places(&self) -> &[String] {
        &self.places
    }

    /// Records, and drops the tables in any case. Calls `stop` from time to time.
    #[must_use]
    pub fn record(self, stop: &dyn Fn() -> bool) -> Recording {
        let Self { target, settings, places } = self;
        let workload = Workload {
            keys: KEYS * places.len().max(1) as u32,
            writes_per_key: WRITES_PER_KEY,
            rollbacks: ROLLBACKS,
            engines: places.clone(),
            ..Workload::new(settings.kind, settings.seed)
        };
        let recorded = Generator::new(workload)
            .map_err(|error| TargetError::usage(error.to_string()))
            .and_then(|generator| Recorder::new(&target, settings, places, generator))
            .map(|recorder| recorder.run(stop));
        let (mut recording, hanging) = recorded.unwrap_or_else(|error| (Recording::nothing(error), 0));
        recording.undropped = if hanging > 0 {
            // They may hold locks that a drop would wait for.
            Some(format!("{hanging} of {} sessions gave no answer", settings.sessions))
        } else {
            insist(stop, || clear(&target)).err().map(|error| error.message)
        };
        recording
    }
}

impl Recording {
    /// Returns the recording that failed before its first transaction.
    fn nothing(error: TargetError) -> Self {
        Self {
            history: History::default(),
            aborts: BTreeMap::new(),
            stopped: false,
            unread: Some(error.message.clone()),
            lost: Some(error),
            undropped: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::promised;
    use crate::history::Level;

    #[test]
    fn the_level_that_a_target_promises_is_read_from_its_description() {
        assert_eq!(promised("read committed", false), Some(Level::ReadCommitted));
        assert_eq!(promised("repeatable read", true), Some(Level::SnapshotIsolation));
        assert_eq!(promised("snapshot: reads at one revision", true), Some(Level::SnapshotIsolation));
        assert_eq!(promised("optimistic: watched", true), Some(Level::Serializable));
        assert_eq!(promised("atomic", false), None);
    }
}
