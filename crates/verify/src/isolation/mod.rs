//! Isolation checks of a target: sessions play small transactions on lists or registers of their own, and the history
//! of what they did and saw is checked ([`crate::history`]).
//!
//! The tables belong to the check alone. They are created first, and dropped after every end of the recording. Or the
//! sessions play the mix of TPC-C on a loaded database, and the history is what its terminals saw (`mix.rs`).

mod mix;
mod own;
mod recorder;
mod settings;

pub use settings::{Played, Recording, Settings};

use crate::history::{Generator, Level, Workload, WorkloadKind};
use lydite_database::{DatabaseState, Demand, Target, TargetError};
use lydite_tpcc::meta::DatabaseMeta;
use mix::Mix;
use own::{Own, lists};
use recorder::{Recorder, Source, insist};
use std::sync::Arc;
use std::time::Instant;

/// Keys in use at any time for each place: few, so that transactions meet on them.
const KEYS: u32 = 8;
/// Writes after which a key is replaced.
const WRITES_PER_KEY: u32 = 32;
/// One in this many keys of a place is a range. So predicates are checked, and most keys show the order of their versions.
const RANGE_EVERY: u32 = 4;
/// Share of transactions that the workload rolls back, so that reads of their writes show.
const ROLLBACKS: f64 = 0.05;

/// A recording that is ready to begin.
pub struct Prepared {
    target: Arc<dyn Target>,
    settings: Settings,
    objects: Objects,
}

/// Objects of the transactions.
enum Objects {
    /// Tables of the check's own, which exist.
    Own(Tables),
    /// A loaded database.
    Loaded(DatabaseMeta),
}

/// Tables of the check's own.
struct Tables {
    kind: WorkloadKind,
    /// Engines or nodes that they are spread over; empty for one place.
    places: Vec<String>,
    /// True if some keys are ranges.
    ranges: bool,
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

/// Drops the tables that a killed check left behind.
///
/// # Errors
/// See [`lydite_database::ListTarget::drop_lists`].
pub fn clear(target: &Arc<dyn Target>) -> Result<(), TargetError> {
    lists(target)?.drop_lists()
}

/// Creates the tables, or finds the loaded database.
///
/// # Errors
/// The tables exist already, the database is not loaded, or the target can't have the tables or so many sessions.
pub fn prepare(target: &Arc<dyn Target>, settings: Settings) -> Result<Prepared, TargetError> {
    // One more session reads all keys at the end.
    target.admit(&Demand::Sessions(settings.sessions + 1))?;
    target.admit(&Demand::Writes)?;
    let objects = match settings.played {
        Played::Own(kind) => {
            let lists = lists(target)?;
            let tables = Tables { kind, places: lists.places()?, ranges: lists.isolates_ranges() };
            lists.create_lists()?;
            Objects::Own(tables)
        }
        Played::Tpcc => match target.state()? {
            DatabaseState::Ready { meta } => Objects::Loaded(meta),
            _ => {
                return Err(TargetError::usage(
                    "--workload tpcc needs a database that `lydite load URL --warehouses N` has loaded",
                ));
            }
        },
    };
    Ok(Prepared { target: Arc::clone(target), settings, objects })
}

impl Prepared {
    /// Returns the engines or nodes that the keys are spread over; empty for one place.
    #[must_use]
    pub fn places(&self) -> &[String] {
        match &self.objects {
            Objects::Own(tables) => &tables.places,
            Objects::Loaded(_) => &[],
        }
    }

    /// True if transactions read ranges, so that phantoms can be found.
    #[must_use]
    pub fn has_ranges(&self) -> bool {
        matches!(&self.objects, Objects::Own(Tables { ranges: true, .. }))
    }

    /// Records, and drops the check's own tables in any case. Calls `begins` once all sessions are connected, and `stop`
    /// from time to time.
    #[must_use]
    pub fn record(self, begins: &dyn Fn(Instant), stop: &dyn Fn() -> bool) -> Recording {
        let Self { target, settings, objects } = self;
        match objects {
            Objects::Own(tables) => {
                let source = own(&target, &settings, tables);
                let (mut recording, hanging) = recorded(source, settings, begins, stop);
                recording.undropped = if hanging > 0 {
                    // They may hold locks that a drop would wait for.
                    Some(format!("{hanging} of {} sessions gave no answer", settings.sessions))
                } else {
                    insist(stop, || clear(&target)).err().map(|error| error.message)
                };
                recording
            }
            Objects::Loaded(meta) => {
                let source = Mix::new(&target, &meta, settings.sessions, settings.seed);
                let (mut recording, hanging) = recorded(source, settings, begins, stop);
                if hanging > 0 {
                    let why = format!("{hanging} of {} sessions gave no answer", settings.sessions);
                    recording.unread = recording.unread.or(Some(why));
                }
                recording
            }
        }
    }
}

/// Prepares the transactions on the check's own tables.
fn own(
    target: &Arc<dyn Target>,
    settings: &Settings,
    Tables { kind, places, ranges }: Tables,
) -> Result<Own, TargetError> {
    let workload = Workload {
        keys: KEYS * places.len().max(1) as u32,
        writes_per_key: WRITES_PER_KEY,
        rollbacks: ROLLBACKS,
        engines: places.clone(),
        range_every: if ranges { RANGE_EVERY } else { 0 },
        ..Workload::new(kind, settings.seed)
    };
    let generator = Generator::new(workload).map_err(|error| TargetError::usage(error.to_string()))?;
    Own::new(target, settings.limit, places, generator)
}

/// Records the transactions of a source. Returns the number of sessions that gave no answer, too.
fn recorded<S: Source>(
    source: Result<S, TargetError>,
    settings: Settings,
    begins: &dyn Fn(Instant),
    stop: &dyn Fn() -> bool,
) -> (Recording, usize) {
    match source.and_then(|source| Recorder::new(source, settings)) {
        Err(error) => (Recording::nothing(error), 0),
        Ok(recorder) => {
            begins(Instant::now());
            recorder.run(stop)
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
