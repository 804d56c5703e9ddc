//! Gemel as a black box: histories over both of its engines hold what each isolation level promises, and without the
//! registry of snapshots the checker finds the anomaly that Skeena is about.

use gemel::{CommitStamps, Database, Direction, Durability, Engine, Isolation, Keyspace, Transaction};
use lydite_verify::history::{
    AnomalyKind, Failure, Generator, History, HistoryClient, Key, KeyId, Level, Options, Report, Workload,
    WorkloadKind, check, record, record_interleaved,
};
use std::ops::{Bound, ControlFlow};

struct Client {
    db: Database,
    hot: Keyspace,
    cold: Keyspace,
    isolation: Isolation,
    running: Option<Transaction>,
}

fn failure(error: gemel::Error) -> Failure {
    match error {
        error if error.is_retryable() => Failure::Aborted,
        gemel::Error::Unknown(_) => Failure::Unknown,
        error => Failure::Fatal(error.to_string()),
    }
}

impl Client {
    fn space(&self, key: &Key) -> Keyspace {
        if key.engine.as_deref() == Some("memory") { self.hot.clone() } else { self.cold.clone() }
    }

    fn running(&mut self) -> Result<&mut Transaction, Failure> {
        self.running.as_mut().ok_or_else(|| Failure::Fatal("no transaction is running".into()))
    }

    fn numbers(&mut self, key: &Key) -> Result<Vec<u64>, Failure> {
        let space = self.space(key);
        let value = self.running()?.get(&space, key.name.as_bytes()).map_err(failure)?;
        let value = value.unwrap_or_default();
        Ok(value.as_chunks().0.iter().map(|bytes| u64::from_be_bytes(*bytes)).collect())
    }

    fn put(&mut self, key: &Key, numbers: &[u64]) -> Result<(), Failure> {
        let space = self.space(key);
        let value: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        self.running()?.put(&space, key.name.as_bytes(), &value).map_err(failure)
    }
}

impl HistoryClient for Client {
    fn begin(&mut self) -> Result<(), Failure> {
        self.running = Some(self.db.begin(self.isolation).map_err(failure)?);
        Ok(())
    }

    fn read_list(&mut self, _: KeyId, key: &Key) -> Result<Vec<u64>, Failure> {
        self.numbers(key)
    }

    fn append(&mut self, _: KeyId, key: &Key, value: u64) -> Result<(), Failure> {
        let mut list = self.numbers(key)?;
        list.push(value);
        self.put(key, &list)
    }

    fn read_register(&mut self, _: KeyId, key: &Key) -> Result<Option<u64>, Failure> {
        Ok(self.numbers(key)?.first().copied())
    }

    fn write(&mut self, _: KeyId, key: &Key, value: u64) -> Result<(), Failure> {
        self.put(key, &[value])
    }

    fn insert(&mut self, _: KeyId, key: &Key, value: u64) -> Result<(), Failure> {
        let space = self.space(key);
        let row = [key.name.as_bytes(), b"/", &value.to_be_bytes()].concat();
        self.running()?.put(&space, &row, &value.to_be_bytes()).map_err(failure)
    }

    fn read_range(&mut self, _: KeyId, key: &Key) -> Result<Vec<u64>, Failure> {
        let space = self.space(key);
        let (from, below) = ([key.name.as_bytes(), b"/"].concat(), [key.name.as_bytes(), b"0"].concat());
        let mut values = Vec::new();
        let rows = (Bound::Included(&from[..]), Bound::Excluded(&below[..]));
        let each = |_: &[u8], value: &[u8]| {
            values.extend(value.as_chunks().0.iter().map(|bytes| u64::from_be_bytes(*bytes)));
            ControlFlow::Continue(())
        };
        self.running()?.scan(&space, rows.0, rows.1, Direction::Forward, each).map_err(failure)?;
        Ok(values)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let running = self.running.take();
        let running = running.ok_or_else(|| Failure::Fatal("no transaction is running".into()))?;
        running.commit().and_then(gemel::Ticket::wait).map_err(failure)
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.running = None;
        Ok(())
    }
}

/// Way of recording a history.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// On several threads.
    AtOnce,
    /// On one thread, one step of one client at a time: equal each time.
    InTurn,
}

fn history(options: gemel::Options, isolation: Isolation, kind: WorkloadKind, how: How) -> History {
    let directory = tempfile::tempdir().unwrap();
    let options = gemel::Options { durability: Durability::None, ..options };
    let db = Database::open(directory.path().join("db"), options).unwrap();
    let hot = db.keyspace("hot", Engine::Memory).unwrap();
    let cold = db.keyspace("cold", Engine::Disk).unwrap();
    let mut clients: Vec<_> = (0..5)
        .map(|_| Client { db: db.clone(), hot: hot.clone(), cold: cold.clone(), isolation, running: None })
        .collect();
    let workload = Workload {
        keys: 8,
        writes_per_key: 24,
        rollbacks: 0.05,
        engines: vec!["memory".into(), "disk".into()],
        range_every: 4,
        ..Workload::new(kind, 7)
    };
    let mut generator = Generator::new(workload).unwrap();
    match how {
        How::AtOnce => record(&mut generator, &mut clients, 6000).unwrap(),
        How::InTurn => record_interleaved(&mut generator, &mut clients, 3000).unwrap(),
    }
}

fn report(
    options: gemel::Options,
    isolation: Isolation,
    kind: WorkloadKind,
    how: How,
    level: Level,
) -> Report {
    check(&history(options, isolation, kind, how), &Options::new(level)).unwrap()
}

const KINDS: [WorkloadKind; 2] = [WorkloadKind::ListAppend, WorkloadKind::Register];

fn stamped(commit_stamps: CommitStamps) -> gemel::Options {
    gemel::Options { commit_stamps, csr_capacity: 100, csr_recycle: 50, ..gemel::Options::default() }
}

fn holds(isolation: Isolation, level: Level) {
    for commit_stamps in [CommitStamps::Latched, CommitStamps::Independent] {
        for kind in KINDS {
            for how in [How::AtOnce, How::InTurn] {
                let report = report(stamped(commit_stamps), isolation, kind, how, level);
                assert!(report.holds, "{commit_stamps:?}: {report}");
            }
        }
    }
}

#[test]
fn serializable_transactions_over_both_engines_are_strictly_serializable() {
    holds(Isolation::Serializable, Level::StrictSerializable);
}

#[test]
fn snapshot_transactions_over_both_engines_are_snapshot_isolated() {
    holds(Isolation::Snapshot, Level::SnapshotIsolation);
}

#[test]
fn read_committed_transactions_over_both_engines_are_read_committed() {
    holds(Isolation::ReadCommitted, Level::ReadCommitted);
}

#[test]
fn without_the_registry_snapshots_are_skewed() {
    let options = || gemel::Options { csr: false, ..gemel::Options::default() };
    for kind in KINDS {
        let found = report(options(), Isolation::Snapshot, kind, How::InTurn, Level::SnapshotIsolation);
        assert!(!found.holds && found.count(AnomalyKind::SkewedSnapshots) > 0, "{found}");
    }
}

/// Shows that the checker also sees what snapshots allow.
#[test]
fn snapshot_transactions_are_not_serializable() {
    let kind = WorkloadKind::ListAppend;
    let found =
        report(gemel::Options::default(), Isolation::Snapshot, kind, How::InTurn, Level::Serializable);
    assert!(found.count(AnomalyKind::WriteSkew) > 0, "{found}");
    assert!(found.count(AnomalyKind::Phantom) > 0, "{found}");
}
