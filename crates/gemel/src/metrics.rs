//! The numbers of a database's state by name, for monitoring. This is the only place that names them.

use crate::database::{Aborted, CheckpointState, Committed, MoveState, State};
use crate::disk::DiskState;
use crate::limit::BackgroundState;
use crate::lock_manager::LockState;
use crate::log::LogCounts;
use crate::memory::MemoryState;
use crate::order::csr::CsrState;
use crate::prepared::PreparedState;
use crate::recovery::Recovered;
use std::fmt::Write as _;
use std::time::Duration;

/// A number of a database's [`State`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Metric {
    /// Name. It begins with `gemel_` and ends with the unit, if there is one, and with `_total` if it is a counter.
    /// Metrics of one name follow each other and differ in their label.
    pub name: &'static str,
    /// Meaning, as one sentence without a full stop.
    pub help: &'static str,
    /// Kind.
    pub kind: MetricKind,
    /// Unit: `bytes`, `seconds`, or empty for a plain number.
    pub unit: &'static str,
    /// Name and value of a label that distinguishes metrics of one name.
    pub label: Option<(&'static str, &'static str)>,
    /// Value.
    pub value: f64,
}

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MetricKind {
    /// A number that only grows while the database is open.
    Counter,
    /// A number that may grow and shrink.
    Gauge,
}

impl MetricKind {
    /// Returns the kind's name in the Prometheus text format.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }
}

/// A value of the state as a metric's value.
trait Number {
    fn number(&self) -> f64;
}

impl Number for u64 {
    fn number(&self) -> f64 {
        *self as f64
    }
}

impl Number for usize {
    fn number(&self) -> f64 {
        *self as f64
    }
}

impl Number for Duration {
    fn number(&self) -> f64 {
        self.as_secs_f64()
    }
}

/// Metrics of one name.
struct Family {
    name: &'static str,
    kind: MetricKind,
    unit: &'static str,
    help: &'static str,
}

const fn counter(name: &'static str, unit: &'static str, help: &'static str) -> Family {
    Family { name, kind: MetricKind::Counter, unit, help }
}

const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Family {
    Family { name, kind: MetricKind::Gauge, unit, help }
}

const BYTES: &str = "bytes";
const SECONDS: &str = "seconds";
const NONE: &str = "";

impl Family {
    fn one(&self, value: &impl Number) -> Metric {
        let Self { name, kind, unit, help } = *self;
        Metric { name, help, kind, unit, label: None, value: value.number() }
    }

    fn labelled(&self, label: &'static str, of: &'static str, value: &impl Number) -> Metric {
        Metric { label: Some((label, of)), ..self.one(value) }
    }
}

impl State {
    /// Returns all numbers of the state with their names, meanings and units.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let state = db.state();
    /// let running = state.metrics().into_iter().find(|metric| metric.name == "gemel_transactions_running");
    /// assert_eq!(running.map(|metric| metric.value), Some(0.0));
    /// assert!(state.prometheus().contains("\ngemel_transactions_committed_total{engines=\"both\"} 0\n"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        // Taken apart by name, so a number that is added to the state can't be forgotten here.
        let Self {
            committed: Committed { read_only, memory: memory_only, disk: disk_only, cross },
            rolled_back,
            aborted:
                Aborted {
                    write_conflict,
                    locked,
                    read_conflict,
                    deadlock,
                    csr: csr_aborted,
                    too_old,
                    moved,
                    failed,
                },
            running,
            pending_bytes,
            expired,
            prepared: PreparedState { undecided, bytes: prepared_bytes, oldest_age, prepared },
            locks: LockState { held, waiting, waits, waited, timeouts, deadlocks },
            csr:
                CsrState { partitions, entries, selections, commits, refused_closed, refused_crossing, recycled },
            memory: MemoryState { bytes, limit_bytes, records, versions_collected, unfreed_bytes },
            disk:
                DiskState {
                    memtable_bytes,
                    sealed_bytes,
                    file_bytes,
                    cached_bytes,
                    blocks_cached,
                    blocks_from_files,
                    flushes,
                    compactions,
                    stalls,
                    recent_keys,
                },
            log_bytes,
            log_spare_bytes,
            log: LogCounts { bytes: log_written, batches, syncs },
            durable_lag_bytes,
            disk_full,
            checkpoints: CheckpointState { done, bytes: checkpoint_bytes, took: checkpoint_took, failure },
            background:
                BackgroundState {
                    flush_bytes,
                    merge_bytes,
                    checkpoint_bytes: rows_bytes,
                    unlimited_bytes,
                    paused,
                },
            moves: MoveState { done: moves_done, running: running_move },
            recovered:
                Recovered {
                    checkpoint_rows,
                    checkpoint_bytes: recovered_checkpoint_bytes,
                    records: recovered_records,
                    log_bytes: recovered_log_bytes,
                    cut_records,
                    took: recovery_took,
                },
        } = self;
        let counted = running.iter().filter(|transaction| !transaction.expired);
        let oldest = counted.map(|transaction| transaction.age).max().unwrap_or_default();

        let committed = counter(
            "gemel_transactions_committed_total",
            NONE,
            "Committed transactions, by the engines that they wrote",
        );
        let aborted =
            counter("gemel_transactions_aborted_total", NONE, "Aborted transactions, by the reason");
        let registry_aborts =
            counter("gemel_registry_aborts_total", NONE, "Transactions that the registry aborted");
        let background = counter(
            "gemel_background_written_bytes_total",
            BYTES,
            "Bytes of rows that background work wrote under a limit, before compression",
        );
        let blocks = counter("gemel_disk_blocks_read_total", NONE, "Blocks that reads used, by their source");
        vec![
            committed.labelled("engines", "none", read_only),
            committed.labelled("engines", "memory", memory_only),
            committed.labelled("engines", "disk", disk_only),
            committed.labelled("engines", "both", cross),
            counter(
                "gemel_transactions_rolled_back_total",
                NONE,
                "Transactions that their owner rolled back",
            )
            .one(rolled_back),
            aborted.labelled("reason", "write_conflict", write_conflict),
            aborted.labelled("reason", "locked", locked),
            aborted.labelled("reason", "read_conflict", read_conflict),
            aborted.labelled("reason", "deadlock", deadlock),
            aborted.labelled("reason", "registry", csr_aborted),
            aborted.labelled("reason", "too_old", too_old),
            aborted.labelled("reason", "moved", moved),
            aborted.labelled("reason", "failed", failed),
            gauge("gemel_transactions_running", NONE, "Running transactions").one(&running.len()),
            gauge(
                "gemel_transactions_oldest_age_seconds",
                SECONDS,
                "Age of the oldest running transaction, which keeps old versions from garbage collection",
            )
            .one(&oldest),
            gauge(
                "gemel_transactions_pending_bytes",
                BYTES,
                "Bytes of writes and reads that running transactions have taken from their limit",
            )
            .one(pending_bytes),
            counter(
                "gemel_transactions_expired_total",
                NONE,
                "Transactions whose snapshot exceeded its maximum age, so it was given up",
            )
            .one(expired),
            counter("gemel_transactions_prepared_total", NONE, "Transactions that were prepared").one(prepared),
            gauge("gemel_prepared_undecided", NONE, "Prepared transactions that are undecided").one(undecided),
            gauge(
                "gemel_prepared_bytes",
                BYTES,
                "Bytes of the log records of prepared transactions that are undecided",
            )
            .one(prepared_bytes),
            gauge(
                "gemel_prepared_oldest_age_seconds",
                SECONDS,
                "Age of the oldest prepared transaction that is undecided, which keeps its rows locked",
            )
            .one(oldest_age),
            gauge("gemel_locks_held", NONE, "Locks of keys that running transactions hold").one(held),
            gauge("gemel_locks_waiting", NONE, "Transactions that wait for a lock").one(waiting),
            counter("gemel_lock_waits_total", NONE, "Waits for a lock").one(waits),
            counter(
                "gemel_lock_waited_seconds_total",
                SECONDS,
                "Time that transactions have waited for locks, added up",
            )
            .one(waited),
            counter("gemel_lock_timeouts_total", NONE, "Waits for a lock that ended because their time was over")
                .one(timeouts),
            counter("gemel_deadlocks_total", NONE, "Deadlocks, each of which ended one transaction").one(deadlocks),
            gauge("gemel_registry_partitions", NONE, "Partitions of the registry, including the open one")
                .one(partitions),
            gauge("gemel_registry_entries", NONE, "Entries in all partitions of the registry").one(entries),
            counter("gemel_registry_selections_total", NONE, "Snapshots that the registry selected")
                .one(selections),
            counter("gemel_registry_commits_total", NONE, "Commits over both engines in the registry")
                .one(commits),
            registry_aborts.labelled("reason", "closed_partition", refused_closed),
            registry_aborts.labelled("reason", "crossing_commits", refused_crossing),
            counter(
                "gemel_registry_partitions_dropped_total",
                NONE,
                "Partitions that nobody needed any more",
            )
            .one(recycled),
            gauge("gemel_memory_bytes", BYTES, "Bytes of the memory engine, old versions included")
                .one(bytes),
            gauge(
                "gemel_memory_unfreed_bytes",
                BYTES,
                "Bytes of removed versions that readers may still see",
            )
            .one(unfreed_bytes),
            gauge("gemel_memory_limit_bytes", BYTES, "Memory limit of the memory engine").one(limit_bytes),
            gauge("gemel_memory_records", NONE, "Records of the memory engine, some of them deleted")
                .one(records),
            counter(
                "gemel_memory_versions_collected_total",
                NONE,
                "Old versions that the memory engine collected",
            )
            .one(versions_collected),
            gauge("gemel_disk_memtable_bytes", BYTES, "Bytes of writes in memtables that are not sealed")
                .one(memtable_bytes),
            gauge(
                "gemel_disk_sealed_bytes",
                BYTES,
                "Bytes of writes in sealed memtables that wait for a flush",
            )
            .one(sealed_bytes),
            gauge("gemel_disk_file_bytes", BYTES, "Bytes of the disk engine's files").one(file_bytes),
            gauge("gemel_disk_cache_bytes", BYTES, "Bytes of blocks in the disk engine's cache")
                .one(cached_bytes),
            blocks.labelled("source", "cache", blocks_cached),
            blocks.labelled("source", "files", blocks_from_files),
            counter("gemel_disk_flushes_total", NONE, "Flushes of all memtables").one(flushes),
            counter("gemel_disk_compactions_total", NONE, "Compactions of the disk engine").one(compactions),
            counter("gemel_disk_stalls_total", NONE, "Commits that waited for flushes or compactions")
                .one(stalls),
            gauge(
                "gemel_disk_recent_keys",
                NONE,
                "Keys of the disk engine that are being committed, or were since the oldest snapshot",
            )
            .one(recent_keys),
            gauge("gemel_log_bytes", BYTES, "Bytes of log, from the oldest file to the end").one(log_bytes),
            gauge("gemel_log_spare_bytes", BYTES, "Bytes of older log files that are kept to be overwritten")
                .one(log_spare_bytes),
            counter("gemel_log_written_bytes_total", BYTES, "Bytes written to the log").one(log_written),
            counter("gemel_log_batches_total", NONE, "Groups of commits that were written to the log together")
                .one(batches),
            counter("gemel_log_syncs_total", NONE, "Times that the log was made durable").one(syncs),
            gauge("gemel_log_lag_bytes", BYTES, "Bytes of log that are appended but not durable yet")
                .one(durable_lag_bytes),
            gauge(
                "gemel_disk_full",
                NONE,
                "1 if the log or the files of tables on disk wait for space, so commits are rejected; otherwise 0",
            )
            .one(&usize::from(disk_full.is_some())),
            counter("gemel_checkpoints_total", NONE, "Checkpoints since the database was opened").one(done),
            gauge("gemel_checkpoint_bytes", BYTES, "Bytes of the last checkpoint").one(checkpoint_bytes),
            gauge("gemel_checkpoint_seconds", SECONDS, "Duration of the last checkpoint")
                .one(checkpoint_took),
            gauge(
                "gemel_checkpoint_failing",
                NONE,
                "1 if the last attempt at a checkpoint failed, so the log grows; otherwise 0",
            )
            .one(&usize::from(failure.is_some())),
            background.labelled("work", "flush", flush_bytes),
            background.labelled("work", "merge", merge_bytes),
            background.labelled("work", "checkpoint", rows_bytes),
            counter(
                "gemel_background_unlimited_bytes_total",
                BYTES,
                "Bytes of rows that background work wrote while the limit gave way",
            )
            .one(unlimited_bytes),
            counter(
                "gemel_background_paused_seconds_total",
                SECONDS,
                "Time that flushes, merges and checkpoints have paused for the limit, added up",
            )
            .one(paused),
            counter("gemel_moves_total", NONE, "Tables and keyspaces moved to the other engine")
                .one(moves_done),
            gauge("gemel_move_rows", NONE, "Rows and index entries that the move in progress has copied")
                .one(&running_move.as_ref().map_or(0, |running| running.copied)),
            gauge("gemel_recovery_checkpoint_rows", NONE, "Rows that opening read from the checkpoint")
                .one(checkpoint_rows),
            gauge("gemel_recovery_checkpoint_bytes", BYTES, "Bytes of the checkpoint that opening read")
                .one(recovered_checkpoint_bytes),
            gauge("gemel_recovery_records", NONE, "Commits, or halves of commits, that opening replayed")
                .one(recovered_records),
            gauge("gemel_recovery_log_bytes", BYTES, "Bytes of log that opening replayed")
                .one(recovered_log_bytes),
            gauge("gemel_recovery_cut_records", NONE, "Commits that opening cut off for a missing half")
                .one(cut_records),
            gauge("gemel_recovery_seconds", SECONDS, "Duration of opening").one(recovery_took),
        ]
    }

    /// Returns [`State::metrics`] in the Prometheus text format, version 0.0.4. Serve it with the content type
    /// `text/plain; version=0.0.4`.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let (mut text, mut last) = (String::new(), "");
        for Metric { name, help, kind, label, value, .. } in self.metrics() {
            if name != last {
                // Writing to a string does not fail.
                let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {}\n", kind.name());
                last = name;
            }
            let _ = match label {
                Some((label, of)) => writeln!(text, "{name}{{{label}=\"{of}\"}} {value}"),
                None => writeln!(text, "{name} {value}"),
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, Engine, Isolation, Options};
    use std::collections::BTreeSet;

    fn state() -> State {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path().join("db"), Options::default()).unwrap();
        let spaces =
            [db.keyspace("hot", Engine::Memory).unwrap(), db.keyspace("cold", Engine::Disk).unwrap()];
        for count in 0..3 {
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            for space in &spaces[..if count == 0 { 1 } else { 2 }] {
                transaction.put(space, b"k", b"v").unwrap();
            }
            drop(transaction.commit().unwrap());
        }
        db.checkpoint().unwrap();
        let running = db.begin(Isolation::Snapshot).unwrap();
        let state = db.state();
        drop(running);
        state
    }

    #[test]
    fn names_are_unique_and_follow_the_conventions() {
        let metrics = state().metrics();
        let (mut seen, mut families) = (BTreeSet::new(), Vec::new());
        for metric in &metrics {
            let Metric { name, help, kind, unit, label, .. } = *metric;
            assert!(seen.insert((name, label)), "{metric:?} exists twice");
            if families.last() != Some(&name) {
                assert!(!families.contains(&name), "the metrics of {name} are apart");
                families.push(name);
            }
            assert!(name.starts_with("gemel_"), "{name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert_eq!(name.ends_with("_total"), kind == MetricKind::Counter, "{name}");
            assert!(name.trim_end_matches("_total").ends_with(unit), "{name} is in {unit}");
            assert!(!help.is_empty() && !help.ends_with('.') && !help.contains(['\n', '\\']), "{help}");
            assert!(metric.value.is_finite() && metric.value >= 0.0, "{metric:?}");
        }
    }

    #[test]
    fn values_are_those_of_the_state() {
        let state = state();
        let metrics = state.metrics();
        let value = |name: &str, of: Option<&str>| {
            let of_name = |metric: &&Metric| metric.name == name && metric.label.map(|label| label.1) == of;
            metrics.iter().find(of_name).map(|metric| metric.value)
        };
        assert_eq!(value("gemel_transactions_committed_total", Some("both")), Some(2.0));
        assert_eq!(value("gemel_transactions_committed_total", Some("memory")), Some(1.0));
        assert_eq!(value("gemel_transactions_running", None), Some(1.0));
        assert_eq!(value("gemel_checkpoints_total", None), Some(1.0));
        assert_eq!(value("gemel_checkpoint_bytes", None), Some(state.checkpoints.bytes as f64));
        assert!(state.log.batches >= 1 && state.log.syncs >= 1, "{:?}", state.log);
        assert_eq!(value("gemel_log_written_bytes_total", None), Some(state.log.bytes as f64));
        assert_eq!(value("gemel_memory_limit_bytes", None), Some(state.memory.limit_bytes as f64));
        assert_eq!(value("gemel_checkpoint_seconds", None), Some(state.checkpoints.took.as_secs_f64()));
    }

    #[test]
    fn the_text_has_one_help_and_one_type_for_each_name_and_a_line_for_each_metric() {
        let state = state();
        let (text, metrics) = (state.prometheus(), state.metrics());
        let names: BTreeSet<_> = metrics.iter().map(|metric| metric.name).collect();
        assert_eq!(text.lines().filter(|line| line.starts_with("# HELP ")).count(), names.len());
        assert_eq!(text.lines().filter(|line| line.starts_with("# TYPE ")).count(), names.len());
        let samples: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(samples.len(), metrics.len());
        for (sample, metric) in samples.iter().zip(&metrics) {
            let (name, value) = sample.rsplit_once(' ').unwrap();
            assert_eq!(name.split('{').next(), Some(metric.name));
            assert_eq!(value.parse::<f64>().unwrap(), metric.value, "{sample}");
        }
        let begin = "# HELP gemel_transactions_committed_total Committed transactions, by the engines that they wrote\n\
                     # TYPE gemel_transactions_committed_total counter\n\
                     gemel_transactions_committed_total{engines=\"none\"} ";
        assert!(text.starts_with(begin), "{text}");
    }
}
