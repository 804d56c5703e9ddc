//! The oracle finds each kind of fault in hand-made records, and no fault in good ones.

use super::*;

/// Returns a transaction with snapshot (1, 1) of both engines.
fn trace(number: u64) -> Trace {
    let mut trace = Trace::new(number, Isolation::Serializable, Timestamp(1));
    trace.snapshots[1] = Some(Timestamp(1));
    trace
}

impl Trace {
    fn at(mut self, anchor: u64, other: u64) -> Self {
        self.snapshots = [Some(Timestamp(anchor)), Some(Timestamp(other)), None, None];
        self
    }

    fn wrote(mut self, engine: usize, key: &str, at: u64) -> Self {
        self.writes.push(Written { engine, keyspace: 1, key: key.into(), deleted: false, to_twin: false });
        self.commits[engine] = Some(Timestamp(at));
        self
    }

    fn deleted(self, engine: usize, key: &str, at: u64) -> Self {
        let mut trace = self.wrote(engine, key, at);
        if let Some(write) = trace.writes.last_mut() {
            write.deleted = true;
        }
        trace
    }

    fn read(mut self, engine: usize, key: &str, version: Option<u64>) -> Self {
        let at = self.snapshots[engine].unwrap();
        let version = version.map(Timestamp);
        let validated = self.isolation == Isolation::Serializable;
        self.accesses.push(Access { engine, keyspace: 1, key: key.into(), at, version, validated });
        self
    }

    fn only(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        let validated = isolation == Isolation::Serializable;
        self.accesses.iter_mut().for_each(|access| access.validated = validated);
        self
    }
}

/// Asserts that there is one fault, and that it contains `words`.
fn found(traces: &[Trace], words: &str) {
    let wrong = check(traces);
    assert!(wrong.len() == 1 && wrong[0].contains(words), "{words}: {wrong:?}");
}

fn writer() -> Trace {
    trace(1).wrote(0, "x", 2).wrote(1, "y", 2)
}

#[test]
fn a_good_record_is_good() {
    let forgotten = trace(4).at(3, 3).read(0, "x", Some(0)).read(1, "gone", None);
    let deleter = trace(5).deleted(1, "gone", 3);
    let before = trace(2).read(0, "x", None).read(1, "y", None);
    let after = trace(3).at(2, 2).read(0, "x", Some(2)).read(1, "y", Some(2)).wrote(0, "x", 3);
    assert_eq!(check(&[writer(), before, after, forgotten, deleter]), [] as [String; 0]);
}

#[test]
fn reads_of_old_missing_and_deleted_versions_are_found() {
    let newer = trace(2).at(2, 2).wrote(0, "x", 3);
    found(&[writer(), newer, trace(3).at(3, 2).read(0, "x", Some(2))], "read version");
    found(&[writer(), trace(3).at(2, 2).read(0, "x", None)], "read version");
    found(&[writer(), trace(3).read(0, "x", Some(2))], "read version");
    found(&[trace(3).read(0, "x", Some(1))], "nobody wrote");
    let deleter = trace(2).at(2, 2).deleted(0, "x", 3);
    found(&[writer(), deleter, trace(3).at(3, 2).read(0, "x", Some(0))], "read version");
}

#[test]
fn overlapping_writes_of_the_same_key_are_found() {
    let lost = trace(2).wrote(0, "x", 3).only(Isolation::Snapshot);
    found(&[writer(), lost.clone()], "overlap and both wrote");
    assert!(check(&[writer(), lost.only(Isolation::ReadCommitted)]).is_empty());
}

#[test]
fn write_skew_is_found_at_serializable_and_allowed_at_snapshot() {
    let other = trace(2).read(0, "x", None).wrote(1, "y", 3);
    let skewed = trace(1).read(1, "y", None).wrote(0, "x", 2);
    // The other transaction has a commit timestamp in the anchor too, because it read there.
    let mut other = other;
    other.commits[0] = Some(Timestamp(3));
    found(&[skewed.clone(), other.clone()], "transaction 2 read");
    let mut other = other.only(Isolation::Snapshot);
    assert!(check(&[skewed.clone(), other.clone()]).is_empty());
    // A read for an update.
    other.accesses[0].validated = true;
    found(&[skewed, other], "transaction 2 read");
}

#[test]
fn snapshots_that_cross_or_split_a_commit_are_found() {
    found(&[trace(1).at(1, 5), trace(2).at(2, 4)], "older in the anchor and newer in engine 1");
    found(&[writer(), trace(3).at(2, 1)], "in the anchor and not in engine 1");
    found(&[writer(), trace(3).at(1, 2)], "in engine 1 and not in the anchor");
}

#[test]
fn commits_that_cross_or_share_a_timestamp_are_found() {
    let one = trace(1).wrote(0, "a", 2).wrote(1, "b", 3);
    let two = trace(2).wrote(0, "c", 3).wrote(1, "d", 2);
    found(&[one, two], "cross");
    found(&[trace(1).wrote(0, "x", 2), trace(2).wrote(0, "x", 2)], "at the same 2");
    let mut lost = trace(1).wrote(0, "x", 2);
    lost.commits[0] = None;
    found(&[lost], "without a commit timestamp");
}

#[test]
fn a_scan_that_misses_or_adds_a_row_or_is_overtaken_is_found() {
    let scan = |rows: &[(&str, u64)]| {
        let mut trace = trace(3).at(2, 2);
        trace.scans.push(Scanned {
            engine: 0,
            keyspace: 1,
            lower: Bound::Included("a".into()),
            upper: Bound::Excluded("y".into()),
            direction: Direction::Backward,
            at: Timestamp(2),
            rows: rows.iter().map(|(key, at)| ((*key).into(), Timestamp(*at))).collect(),
        });
        trace
    };
    let others = || [writer(), trace(2).wrote(0, "z", 3)];
    let with = |scan: Trace| others().into_iter().chain([scan]).collect::<Vec<_>>();
    assert_eq!(check(&with(scan(&[("x", 2)]))), [] as [String; 0]);
    assert_eq!(check(&with(scan(&[("x", 0)]))), [] as [String; 0]);
    found(&with(scan(&[])), "but there is [\"x of 2\"]");
    found(&with(scan(&[("x", 1)])), "returned [\"x of 1\"]");
    found(&with(scan(&[("z", 3), ("x", 2)])), "returned");
    let mut overtaken = with(scan(&[("x", 2)]).wrote(0, "q", 5));
    overtaken.push(trace(4).wrote(0, "b", 4));
    found(&overtaken, "transaction 3 read b");
}
