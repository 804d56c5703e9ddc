//! Small stores of known isolation: the checker finds the anomalies that each allows, and none that it forbids.

use AnomalyKind::*;
use lydite_verify::history::{
    AnomalyKind, Failure, Generator, History, HistoryClient, Key, KeyId, Level, Options, RegisterOrder,
    Report, Workload, WorkloadKind, check, record, record_interleaved,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// Isolation of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Isolation {
    /// A transaction that comes while another one runs is aborted.
    OneAtATime,
    /// Snapshot isolation that also aborts a transaction if what it read has changed.
    Validated,
    /// Reads come from the snapshot of the begin. Of two writers of one key, the first to commit wins.
    Snapshot,
    /// Snapshot isolation with a snapshot for each engine, taken at the first access.
    TwoEngines,
    /// Snapshot isolation in which the last to commit wins too.
    LostUpdates,
    /// Each read sees the committed values; written keys are locked.
    ReadCommitted,
    /// Writes take effect at once, and are undone if the transaction aborts.
    ReadUncommitted,
}
use Isolation::*;

/// Versions of a key: time of the commit, and the list (of a register: all values so far).
type Versions = Vec<(u64, Vec<u64>)>;

#[derive(Default)]
struct Store {
    keys: BTreeMap<KeyId, Versions>,
    time: u64,
    busy: bool,
    locks: BTreeMap<KeyId, usize>,
}

impl Store {
    fn at(&self, id: KeyId, time: u64) -> Vec<u64> {
        let versions = self.keys.get(&id).map_or(&[][..], Vec::as_slice);
        versions.iter().rev().find(|(at, _)| *at <= time).map(|(_, list)| list.clone()).unwrap_or_default()
    }

    fn changed_since(&self, id: KeyId, time: u64) -> bool {
        self.keys.get(&id).and_then(|versions| versions.last()).is_some_and(|(at, _)| *at > time)
    }
}

/// A connection.
struct Client {
    number: usize,
    isolation: Isolation,
    store: Arc<Mutex<Store>>,
    /// Time of the snapshot of each engine.
    snapshots: BTreeMap<Option<String>, u64>,
    began: u64,
    reads: BTreeSet<KeyId>,
    writes: Vec<(KeyId, u64)>,
    /// Number of commits of which one loses its answer; every other of these loses the commit too.
    loses: u64,
    commits: u64,
}

impl Client {
    fn group(isolation: Isolation, count: usize, loses: u64) -> Vec<Self> {
        let store = Arc::new(Mutex::new(Store::default()));
        let client = |number| Self {
            number,
            isolation,
            store: store.clone(),
            snapshots: BTreeMap::new(),
            began: 0,
            reads: BTreeSet::new(),
            writes: Vec::new(),
            loses,
            commits: 0,
        };
        (0..count).map(client).collect()
    }

    fn read(&mut self, id: KeyId, key: &Key) -> Vec<u64> {
        let store = self.store.lock().unwrap();
        let time = match self.isolation {
            TwoEngines => *self.snapshots.entry(key.engine.clone()).or_insert(store.time),
            ReadCommitted | ReadUncommitted => store.time,
            _ => self.began,
        };
        self.reads.insert(id);
        let mut list = store.at(id, time);
        if self.isolation != ReadUncommitted {
            list.extend(self.writes.iter().filter(|(key, _)| *key == id).map(|(_, value)| *value));
        }
        list
    }

    fn put(&mut self, id: KeyId, key: &Key, value: u64) -> Result<(), Failure> {
        let mut store = self.store.lock().unwrap();
        match self.isolation {
            TwoEngines => {
                let time = store.time;
                self.snapshots.entry(key.engine.clone()).or_insert(time);
            }
            ReadCommitted if *store.locks.entry(id).or_insert(self.number) != self.number => {
                return Err(Failure::Aborted);
            }
            ReadUncommitted => {
                let mut list = store.at(id, store.time);
                list.push(value);
                store.time += 1;
                let time = store.time;
                store.keys.entry(id).or_default().push((time, list));
            }
            _ => {}
        }
        self.writes.push((id, value));
        Ok(())
    }

    /// Applies the writes, or drops them.
    fn end(&mut self, commits: bool) -> Result<(), Failure> {
        let mut store = self.store.lock().unwrap();
        let number = self.number;
        store.locks.retain(|_, holder| *holder != number);
        store.busy &= self.isolation != OneAtATime;
        if self.isolation == ReadUncommitted {
            if !commits {
                for (id, value) in &self.writes {
                    let versions = store.keys.get_mut(id).into_iter().flatten();
                    versions.for_each(|(_, list)| list.retain(|other| other != value));
                }
            }
            return if commits { Ok(()) } else { Err(Failure::Aborted) };
        }
        // Of several snapshots the oldest is never too lenient.
        let since = self.snapshots.values().copied().min().unwrap_or(self.began);
        let first_wins = matches!(self.isolation, Snapshot | TwoEngines | Validated);
        let conflict = first_wins && self.writes.iter().any(|(id, _)| store.changed_since(*id, since))
            || self.isolation == Validated
                && !self.writes.is_empty()
                && self.reads.iter().any(|id| store.changed_since(*id, self.began));
        if !commits || conflict {
            return Err(Failure::Aborted);
        }
        store.time += 1;
        let time = store.time;
        for (id, value) in &self.writes {
            let versions = store.keys.entry(*id).or_default();
            // A store that loses updates writes back the list of its snapshot; own writes build on each other.
            let lost = self.isolation == LostUpdates;
            let base = versions.iter().rev().find(|(at, _)| !lost || *at <= self.began || *at == time);
            let mut list = base.map(|(_, list)| list.clone()).unwrap_or_default();
            list.push(*value);
            match versions.last_mut() {
                Some((at, last)) if *at == time => *last = list,
                _ => versions.push((time, list)),
            }
        }
        Ok(())
    }
}

impl HistoryClient for Client {
    fn begin(&mut self) -> Result<(), Failure> {
        let mut store = self.store.lock().unwrap();
        self.began = store.time;
        self.snapshots.clear();
        self.reads.clear();
        self.writes.clear();
        if self.isolation == OneAtATime && std::mem::replace(&mut store.busy, true) {
            // The lock belongs to another transaction, so the end must not free it.
            drop(store);
            std::thread::yield_now();
            self.began = u64::MAX;
            return Err(Failure::Aborted);
        }
        Ok(())
    }

    fn read_list(&mut self, id: KeyId, key: &Key) -> Result<Vec<u64>, Failure> {
        Ok(self.read(id, key))
    }

    fn append(&mut self, id: KeyId, key: &Key, value: u64) -> Result<(), Failure> {
        self.put(id, key, value)
    }

    fn read_register(&mut self, id: KeyId, key: &Key) -> Result<Option<u64>, Failure> {
        Ok(self.read(id, key).last().copied())
    }

    fn write(&mut self, id: KeyId, key: &Key, value: u64) -> Result<(), Failure> {
        self.put(id, key, value)
    }

    fn insert(&mut self, id: KeyId, key: &Key, value: u64) -> Result<(), Failure> {
        self.put(row(id, value), key, value)
    }

    fn read_range(&mut self, id: KeyId, key: &Key) -> Result<Vec<u64>, Failure> {
        // Every row that the range may have is read, so a store that validates its reads validates the absent ones too.
        Ok((1..=WRITES_PER_KEY).flat_map(|value| self.read(row(id, u64::from(value)), key)).collect())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.commits += 1;
        if self.loses > 0 && self.commits.is_multiple_of(self.loses) {
            let _ = self.end((self.commits / self.loses).is_multiple_of(2));
            return Err(Failure::Unknown);
        }
        self.end(true)
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        if self.began != u64::MAX {
            let _ = self.end(false);
        }
        Ok(())
    }
}

/// Writes after which a key is replaced; the values of a key count from 1.
const WRITES_PER_KEY: u32 = 24;

/// Returns the store's key of a row.
fn row(range: KeyId, value: u64) -> KeyId {
    KeyId((1 << 31) + range.0 * 32 + value as u32)
}

fn workload(kind: WorkloadKind, seed: u64) -> Workload {
    Workload {
        keys: 6,
        writes_per_key: WRITES_PER_KEY,
        rollbacks: 0.1,
        engines: vec!["memory".into(), "disk".into()],
        ..Workload::new(kind, seed)
    }
}

fn history(isolation: Isolation, kind: WorkloadKind, seed: u64, transactions: u64) -> History {
    played(isolation, workload(kind, seed), transactions)
}

fn played(isolation: Isolation, workload: Workload, transactions: u64) -> History {
    let mut generator = Generator::new(workload).unwrap();
    record_interleaved(&mut generator, &mut Client::group(isolation, 6, 37), transactions).unwrap()
}

fn checked(history: &History, level: Level) -> Report {
    let register_order = RegisterOrder::Realtime;
    check(history, &Options { register_order, ..Options::new(level) }).unwrap()
}

/// Returns the strongest level that holds over a few seeds, and all anomalies found by data.
fn judged(isolation: Isolation, kind: WorkloadKind) -> (Option<Level>, BTreeSet<AnomalyKind>) {
    judged_on(isolation, |seed| workload(kind, seed))
}

fn judged_on(
    isolation: Isolation,
    workload: impl Fn(u64) -> Workload,
) -> (Option<Level>, BTreeSet<AnomalyKind>) {
    let reports: Vec<Report> = (0..4)
        .map(|seed| checked(&played(isolation, workload(seed), 2_000), Level::StrictSerializable))
        .collect();
    let strongest = reports.iter().map(Report::strongest).min().unwrap();
    let data = reports.iter().flat_map(|report| &report.anomalies);
    (strongest, data.map(|anomaly| anomaly.kind).collect())
}

const BOTH: [WorkloadKind; 2] = [WorkloadKind::ListAppend, WorkloadKind::Register];

#[test]
fn serial_and_validating_stores_have_no_anomaly() {
    for kind in BOTH {
        assert_eq!(judged(OneAtATime, kind), (Some(Level::StrictSerializable), BTreeSet::new()));
        // A reader of an old snapshot comes before writers that have ended meanwhile, but not before its own begin.
        assert_eq!(judged(Validated, kind), (Some(Level::StrictSerializable), BTreeSet::new()));
    }
}

#[test]
fn snapshot_isolation_shows_write_skew_and_nothing_else() {
    for kind in BOTH {
        assert_eq!(judged(Snapshot, kind), (Some(Level::SnapshotIsolation), BTreeSet::from([WriteSkew])));
    }
}

#[test]
fn two_engines_without_a_common_snapshot_show_skewed_snapshots_and_no_skew_within_one() {
    for kind in BOTH {
        let (strongest, found) = judged(TwoEngines, kind);
        assert_eq!(strongest, Some(Level::ReadCommitted));
        assert!(found.contains(&SkewedSnapshots), "{found:?}");
        assert!(found.is_subset(&[SkewedSnapshots, LongFork, NonAdjacent, WriteSkew].into()), "{found:?}");
    }
}

#[test]
fn read_committed_shows_read_skew_and_lost_updates_but_nothing_dirty() {
    for kind in BOTH {
        let (strongest, found) = judged(ReadCommitted, kind);
        assert_eq!(strongest, Some(Level::ReadCommitted), "{found:?}");
        let expected = [ReadSkew, SkewedSnapshots, LostUpdate, UnrepeatableRead, WriteSkew];
        assert!(found.is_superset(&expected.into()), "{found:?}");
    }
}

#[test]
fn read_uncommitted_shows_dirty_writes_and_reads() {
    let (strongest, found) = judged(ReadUncommitted, WorkloadKind::ListAppend);
    assert_eq!(strongest, None);
    let expected = [DirtyWrite, AbortedRead, IntermediateRead, CircularInformation];
    assert!(found.is_superset(&expected.into()), "{found:?}");
    let (strongest, found) = judged(ReadUncommitted, WorkloadKind::Register);
    assert_eq!(strongest, None);
    assert!(found.is_superset(&[AbortedRead, IntermediateRead, CircularInformation].into()), "{found:?}");
}

#[test]
fn lost_updates_are_found_and_lists_show_the_loss() {
    let (_, found) = judged(LostUpdates, WorkloadKind::ListAppend);
    assert!(found.is_superset(&[LostUpdate, IncompatibleOrder].into()), "{found:?}");
    let (strongest, found) = judged(LostUpdates, WorkloadKind::Register);
    assert!(found.contains(&LostUpdate), "{found:?}");
    assert_eq!(strongest, Some(Level::ReadCommitted), "{found:?}");
}

/// Returns a workload whose keys are ranges only.
fn ranges(seed: u64) -> Workload {
    Workload { range_every: 1, ..workload(WorkloadKind::ListAppend, seed) }
}

#[test]
fn stores_that_keep_predicates_are_not_accused_over_ranges_beside_lists() {
    for isolation in [OneAtATime, Validated] {
        for range_every in [1, 2] {
            let workload = |seed| Workload { range_every, ..ranges(seed) };
            assert_eq!(judged_on(isolation, workload), (Some(Level::StrictSerializable), BTreeSet::new()));
        }
    }
}

#[test]
fn phantoms_are_found_under_snapshots_and_nothing_worse() {
    let (strongest, found) = judged_on(Snapshot, ranges);
    assert_eq!((strongest, found), (Some(Level::SnapshotIsolation), [Phantom].into()));
    let (_, found) = judged_on(Snapshot, |seed| Workload { range_every: 2, ..ranges(seed) });
    assert_eq!(found, [WriteSkew, Phantom].into());
}

#[test]
fn weaker_stores_show_on_ranges_what_they_show_on_lists() {
    let (strongest, found) = judged_on(ReadCommitted, ranges);
    assert_eq!(strongest, Some(Level::ReadCommitted));
    assert!(found.is_superset(&[UnrepeatableRead, ReadSkew, SkewedSnapshots, Phantom].into()), "{found:?}");
    let (strongest, found) = judged_on(TwoEngines, ranges);
    assert_eq!(strongest, Some(Level::ReadCommitted));
    assert!(found.contains(&SkewedSnapshots) && !found.contains(&UnrepeatableRead), "{found:?}");
    let (strongest, found) = judged_on(ReadUncommitted, ranges);
    assert_eq!(strongest, None);
    assert!(found.is_superset(&[AbortedRead, CircularInformation].into()), "{found:?}");
}

#[test]
fn threads_can_be_recorded_and_unanswered_commits_are_counted_by_their_effect() {
    for isolation in [OneAtATime, Snapshot] {
        let mut generator = Generator::new(workload(WorkloadKind::ListAppend, 1)).unwrap();
        let recorded = record(&mut generator, &mut Client::group(isolation, 4, 10), 3_000).unwrap();
        assert_eq!(recorded.transactions.len(), 3_000);
        let report = check(&recorded, &Options::new(Level::SnapshotIsolation)).unwrap();
        assert!(report.holds, "{report}");
        assert!(report.transactions.unknown_seen > 0, "{report}");
        assert!(report.transactions.unknown_seen < report.transactions.unknown, "{report}");
    }
}

#[test]
fn one_seed_gives_one_history() {
    for kind in BOTH {
        assert_eq!(history(Snapshot, kind, 5, 500), history(Snapshot, kind, 5, 500));
        assert_ne!(history(Snapshot, kind, 5, 500), history(Snapshot, kind, 6, 500));
    }
}

#[test]
fn final_reads_cover_every_key() {
    let mut generator = Generator::new(workload(WorkloadKind::ListAppend, 1)).unwrap();
    for _ in 0..100 {
        generator.transaction();
    }
    assert_eq!(generator.final_reads().len(), generator.keys().len());
}

#[test]
fn a_hundred_thousand_transactions_are_checked_at_every_level() {
    // Time is measured with optimisation on; this test holds that no cost explodes on long histories.
    let lists = WorkloadKind::ListAppend;
    for (isolation, kind) in [
        (Snapshot, lists),
        (ReadUncommitted, lists),
        (LostUpdates, lists),
        (Snapshot, WorkloadKind::Register),
    ] {
        let mut generator = Generator::new(Workload { keys: 50, ..workload(kind, 3) }).unwrap();
        let clients = &mut Client::group(isolation, 10, 0);
        let history = record_interleaved(&mut generator, clients, 100_000).unwrap();
        let begun = std::time::Instant::now();
        let report = check(&history, &Options::new(Level::StrictSerializable)).unwrap();
        println!("{isolation:?} {kind:?}: {:?}, {:?}", begun.elapsed(), report.transactions);
        assert!(!report.holds);
    }
}

/// Returns the same history in the form of the other checker, which is Jepsen's.
fn as_others_read_it(history: &History) -> String {
    let mut bytes = Vec::new();
    history.to_edn(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_history_is_written_as_jepsen_writes_it() {
    let text = r#"
{"process":0,"invoked":1,"completed":3,"outcome":"unknown","ops":[["r","x@disk",[1]],["append","y",1]]}
{"process":1,"invoked":2,"completed":4,"outcome":"committed","ops":[["r","x@disk",[1,2]],["r","y",[]]]}
{"process":0,"invoked":5,"completed":6,"outcome":"aborted","ops":[["append","y",2]]}
"#;
    let history = History::from_json_lines(text.as_bytes()).unwrap();
    let expected = r#"
{:type :invoke, :f :txn, :value [[:r "x@disk" nil] [:append "y" 1]], :process 0, :time 1, :index 0}
{:type :invoke, :f :txn, :value [[:r "x@disk" nil] [:r "y" nil]], :process 1, :time 2, :index 1}
{:type :info, :f :txn, :value [[:r "x@disk" nil] [:append "y" 1]], :process 0, :time 3, :index 2}
{:type :ok, :f :txn, :value [[:r "x@disk" [1 2]] [:r "y" []]], :process 1, :time 4, :index 3}
{:type :invoke, :f :txn, :value [[:append "y" 2]], :process 2, :time 5, :index 4}
{:type :fail, :f :txn, :value [[:append "y" 2]], :process 2, :time 6, :index 5}
"#;
    assert_eq!(as_others_read_it(&history), expected.trim_start());
}

#[test]
fn another_checker_reaches_the_same_verdicts() {
    let levels = [
        (Level::ReadCommitted, "read-committed"),
        (Level::SnapshotIsolation, "snapshot-isolation"),
        (Level::Serializable, "serializable"),
        (Level::StrictSerializable, "strict-serializable"),
    ];
    let stores = [OneAtATime, Validated, Snapshot, TwoEngines, LostUpdates, ReadCommitted, ReadUncommitted];
    for (kind, their_kind) in [(BOTH[0], adya::Workload::ListAppend), (BOTH[1], adya::Workload::RwRegister)] {
        let (mut both_hold, mut neither_holds, mut only_ours_fails) = (0, 0, 0);
        for (isolation, seed) in stores.into_iter().flat_map(|store| (10..30).map(move |seed| (store, seed)))
        {
            // Short, so that some histories have no anomaly.
            let history = history(isolation, kind, seed, 15 + 10 * (seed % 6));
            let theirs = adya::History::from_edn(&as_others_read_it(&history)).unwrap();
            for (level, name) in levels {
                let ours = check(&history, &Options::new(level)).unwrap();
                let models = vec![name.into()];
                let options = adya::Opts { models, wfr_keys: true, ..adya::Opts::default() };
                let second = adya::check(&theirs, their_kind, &options);
                match (ours.holds, second.valid) {
                    (true, adya::Valid::False) => {
                        panic!("{isolation:?} {seed} {name}: {:?}\n{ours}", second.anomaly_types)
                    }
                    (true, _) => both_hold += 1,
                    (false, adya::Valid::False) => neither_holds += 1,
                    // This checker also places appends that no read shows, and writes of unanswered transactions.
                    (false, _) => {
                        assert_ne!(isolation, OneAtATime, "{ours}");
                        only_ours_fails += 1;
                    }
                }
            }
        }
        println!("{kind:?}: {both_hold} hold, {neither_holds} do not, {only_ours_fails} by us alone");
        assert!(both_hold > 100 && neither_holds > 100 && only_ours_fails < 20);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn serial_executions_never_show_an_anomaly(
        seed in any::<u64>(),
        register in any::<bool>(),
        keys in 1u32..20,
        most in 1u32..12,
        reads in 0.0f64..1.0,
        skew in 0.0f64..2.0,
        count in 1u64..400,
    ) {
        let kind = BOTH[usize::from(register)];
        let workload = Workload { keys, operations: 1..=most, reads, skew, ..workload(kind, seed) };
        let mut generator = Generator::new(workload).unwrap();
        // A single client is serial under any isolation.
        let clients = &mut Client::group(ReadCommitted, 1, 5);
        let history = record_interleaved(&mut generator, clients, count).unwrap();
        for register_order in [RegisterOrder::Reads, RegisterOrder::Session, RegisterOrder::Realtime] {
            let options = Options { register_order, ..Options::new(Level::StrictSerializable) };
            let report = check(&history, &options).unwrap();
            prop_assert!(report.anomalies.is_empty() && report.holds, "{}", report);
        }
    }
}
