//! An exact oracle for tests: a record of the reads and writes of each transaction, taken inside the database, and its
//! check.

use crate::ids::{Direction, MAX_ENGINES};
use crate::key::{Key, KeyRange};
use crate::options::Isolation;
use crate::order::clock::Timestamp;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};

/// A read of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Number of the engine; the anchor is zero.
    pub engine: usize,
    /// Number of the keyspace.
    pub keyspace: u32,
    /// The key.
    pub key: Vec<u8>,
    /// Snapshot of the read.
    pub at: Timestamp,
    /// Timestamp of the commit that wrote the value; none if there was no value; zero if the engine has forgotten it.
    pub version: Option<Timestamp>,
    /// True if the commit checks that the key has not changed since: a read of a serializable transaction, or one for
    /// an update.
    pub validated: bool,
}

/// A scan of one range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scanned {
    /// Number of the engine; the anchor is zero.
    pub engine: usize,
    /// Number of the keyspace.
    pub keyspace: u32,
    /// Lower bound of the keys that the scan covered.
    pub lower: Bound<Vec<u8>>,
    /// Upper bound of the keys that the scan covered. A scan that broke off covers the keys up to the last one that it
    /// passed.
    pub upper: Bound<Vec<u8>>,
    /// Direction of the scan.
    pub direction: Direction,
    /// Snapshot of the scan.
    pub at: Timestamp,
    /// Keys that the engine returned, in that order, and the timestamp of the commit that wrote each; zero if the
    /// engine has forgotten it. The transaction's own writes are not among them.
    pub rows: Vec<(Vec<u8>, Timestamp)>,
}

impl Scanned {
    pub(crate) fn new(engine: usize, keyspace: u32, direction: Direction, at: Timestamp) -> Self {
        let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
        Self { engine, keyspace, lower, upper, direction, at, rows: Vec::new() }
    }

    pub(crate) fn cover(&mut self, range: &KeyRange) {
        self.lower = range.lower.as_ref().map(Key::to_vec);
        self.upper = range.upper.as_ref().map(Key::to_vec);
    }

    fn contains(&self, key: &[u8]) -> bool {
        let (lower, upper) = (self.lower.as_ref().map(Vec::as_slice), self.upper.as_ref().map(Vec::as_slice));
        RangeBounds::<[u8]>::contains(&(lower, upper), key)
    }
}

/// A write of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Number of the engine; the anchor is zero.
    pub engine: usize,
    /// Number of the keyspace.
    pub keyspace: u32,
    /// The key.
    pub key: Vec<u8>,
    /// True if the key was deleted.
    pub deleted: bool,
    /// True if the write only follows that of a keyspace which is being moved here. It conflicts with no other write.
    pub to_twin: bool,
}

/// The record of one transaction.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Number of the transaction.
    pub number: u64,
    /// Isolation level of the transaction.
    pub isolation: Isolation,
    /// Snapshot in each engine that the transaction used. At read committed there is only the first snapshot of the
    /// anchor.
    pub snapshots: [Option<Timestamp>; MAX_ENGINES],
    /// Reads by key.
    pub accesses: Vec<Access>,
    /// Reads by scans.
    pub scans: Vec<Scanned>,
    /// Writes.
    pub writes: Vec<Written>,
    /// Commit timestamp in each engine; none in all engines if the transaction only read.
    pub commits: [Option<Timestamp>; MAX_ENGINES],
}

impl Trace {
    pub(crate) fn new(number: u64, isolation: Isolation, anchor: Timestamp) -> Self {
        let mut snapshots = [None; MAX_ENGINES];
        snapshots[0] = Some(anchor);
        Self {
            number,
            isolation,
            snapshots,
            accesses: Vec::new(),
            scans: Vec::new(),
            writes: Vec::new(),
            commits: [None; MAX_ENGINES],
        }
    }
}

/// A collector of the traces of committed transactions.
#[derive(Debug, Default)]
pub struct Recorder {
    traces: Mutex<Vec<Trace>>,
}

impl Recorder {
    pub(crate) fn add(&self, trace: Trace) {
        self.traces.lock().push(trace);
    }

    /// Returns all traces so far, and removes them.
    #[must_use]
    pub fn take(&self) -> Vec<Trace> {
        std::mem::take(&mut self.traces.lock())
    }
}

/// The versions of a key: the transaction that wrote each, and true if it is a deletion.
type Versions = BTreeMap<Timestamp, (u64, bool)>;
type AllVersions<'a> = BTreeMap<(usize, u32, &'a [u8]), Versions>;

/// Checks a complete record of a database's transactions since it was empty. Returns the faults, a sentence each. The
/// rules:
///
/// - Every read returns the newest version at or below its snapshot.
/// - Every scan returns exactly the keys of its range that have such a version.
/// - If two transactions overlap and write the same key, one of them does not commit.
/// - Everything that a serializable transaction read is still current when it commits its own writes, and so is
///   everything that any transaction read for an update.
/// - Snapshots are monotone over the engines.
/// - No snapshot splits a commit.
#[must_use]
pub fn check(traces: &[Trace]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut versions = AllVersions::new();
    for trace in traces {
        for write in &trace.writes {
            let Some(at) = trace.commits[write.engine] else {
                wrong.push(format!(
                    "transaction {} wrote in engine {} without a commit timestamp",
                    trace.number, write.engine
                ));
                continue;
            };
            let of_key = versions.entry((write.engine, write.keyspace, &write.key)).or_default();
            if let Some((other, _)) = of_key.insert(at, (trace.number, write.deleted)) {
                wrong.push(format!("transactions {} and {other} committed at the same {at}", trace.number));
            }
        }
    }
    for trace in traces {
        check_reads(trace, &versions, &mut wrong);
        check_scans(trace, &versions, &mut wrong);
        if trace.isolation != Isolation::ReadCommitted {
            check_overlaps(trace, &versions, &mut wrong);
        }
    }
    for engine in 1..MAX_ENGINES {
        check_pairs(traces, engine, &mut wrong);
    }
    wrong
}

/// Returns the timestamp of the version that a reader at `at` sees, or none if it sees none.
fn visible(of_key: &Versions, at: Timestamp) -> Option<Timestamp> {
    let newest = of_key.range(..=at).next_back();
    newest.filter(|(_, (_, deleted))| !deleted).map(|(at, _)| *at)
}

/// Returns true if an engine reported the right version. It may have forgotten the timestamp.
fn is_version(said: Timestamp, expected: Timestamp) -> bool {
    said == expected || said == Timestamp::ZERO
}

/// Checks that nobody else wrote a key between its validated read at `at` and the commit.
fn check_unchanged(
    trace: &Trace,
    (engine, key, at): (usize, &[u8], Timestamp),
    of_key: &Versions,
    wrong: &mut Vec<String>,
) {
    if let Some(commit) = trace.commits[engine]
        && at < commit
        && let Some((since, (other, _))) = of_key.range(Timestamp(at.0 + 1)..commit).next()
    {
        wrong.push(format!(
            "transaction {} read {} in engine {engine} at {at} and committed at {commit}, but {other} wrote it at {since}",
            trace.number,
            key.escape_ascii(),
        ));
    }
}

fn check_reads(trace: &Trace, versions: &AllVersions<'_>, wrong: &mut Vec<String>) {
    for access in &trace.accesses {
        let Some(of_key) = versions.get(&(access.engine, access.keyspace, access.key.as_slice())) else {
            if access.version.is_some() {
                wrong.push(format!(
                    "transaction {} read {}, which nobody wrote",
                    trace.number,
                    access.key.escape_ascii()
                ));
            }
            continue;
        };
        let expected = visible(of_key, access.at);
        let same = match (access.version, expected) {
            (Some(said), Some(expected)) => is_version(said, expected),
            (said, expected) => said == expected,
        };
        if !same {
            wrong.push(format!(
                "transaction {} read version {:?} of {} in engine {} at {}, but the newest is {expected:?}",
                trace.number,
                access.version,
                access.key.escape_ascii(),
                access.engine,
                access.at
            ));
        }
        if access.validated {
            check_unchanged(trace, (access.engine, &access.key, access.at), of_key, wrong);
        }
    }
}

fn check_scans(trace: &Trace, versions: &AllVersions<'_>, wrong: &mut Vec<String>) {
    for scan in &trace.scans {
        let keyspace = (scan.engine, scan.keyspace, &[][..])..(scan.engine, scan.keyspace + 1, &[][..]);
        let of_range = versions.range(keyspace).filter(|((_, _, key), _)| scan.contains(key));
        let mut expected: Vec<(&[u8], Timestamp)> = Vec::new();
        for ((_, _, key), of_key) in of_range {
            expected.extend(visible(of_key, scan.at).map(|version| (*key, version)));
            if trace.isolation == Isolation::Serializable {
                check_unchanged(trace, (scan.engine, key, scan.at), of_key, wrong);
            }
        }
        if scan.direction == Direction::Backward {
            expected.reverse();
        }
        let same = scan.rows.len() == expected.len()
            && scan.rows.iter().zip(&expected).all(|((key, said), (expected_key, expected))| {
                key == expected_key && is_version(*said, *expected)
            });
        if !same {
            let shown = |rows: &[(&[u8], Timestamp)]| -> Vec<String> {
                rows.iter().map(|(key, at)| format!("{} of {at}", key.escape_ascii())).collect()
            };
            let rows: Vec<_> = scan.rows.iter().map(|(key, at)| (key.as_slice(), *at)).collect();
            wrong.push(format!(
                "a scan of transaction {} in engine {} at {} returned {:?}, but there is {:?}",
                trace.number,
                scan.engine,
                scan.at,
                shown(&rows),
                shown(&expected)
            ));
        }
    }
}

fn check_overlaps(trace: &Trace, versions: &AllVersions<'_>, wrong: &mut Vec<String>) {
    for write in trace.writes.iter().filter(|write| !write.to_twin) {
        let (Some(snapshot), Some(commit)) = (trace.snapshots[write.engine], trace.commits[write.engine])
        else {
            continue;
        };
        if snapshot >= commit {
            wrong.push(format!(
                "transaction {} committed at {commit}, before its snapshot {snapshot}",
                trace.number
            ));
            continue;
        }
        let of_key = &versions[&(write.engine, write.keyspace, write.key.as_slice())];
        if let Some((at, (other, _))) = of_key.range(Timestamp(snapshot.0 + 1)..commit).next() {
            wrong.push(format!(
                "transactions {} and {other} overlap and both wrote {}: snapshot {snapshot}, commits {at} and {commit}",
                trace.number,
                write.key.escape_ascii()
            ));
        }
    }
}

/// Checks that snapshots of the anchor and of `engine` are monotone and split no commit. It sweeps over both, sorted by
/// the anchor's timestamp.
fn check_pairs(traces: &[Trace], engine: usize, wrong: &mut Vec<String>) {
    let mut snapshots: Vec<(Timestamp, Timestamp, u64)> = traces
        .iter()
        .filter(|trace| trace.isolation != Isolation::ReadCommitted)
        .filter_map(|trace| Some((trace.snapshots[0]?, trace.snapshots[engine]?, trace.number)))
        .collect();
    snapshots.sort_unstable();
    // The largest snapshot so far, among those with strictly smaller anchor timestamps.
    let mut largest: Option<(Timestamp, u64)> = None;
    for group in snapshots.chunk_by(|a, b| a.0 == b.0) {
        if let (Some((before, other)), Some(first)) = (largest, group.first())
            && before > first.1
        {
            wrong.push(format!(
                "the snapshot of transaction {other} is older in the anchor and newer in engine {engine} than that of {}",
                first.2
            ));
        }
        if let Some(last) = group.last()
            && largest.is_none_or(|(before, _)| before < last.1)
        {
            largest = Some((last.1, last.2));
        }
    }
    let mut commits: Vec<(Timestamp, Timestamp, u64)> = traces
        .iter()
        .filter_map(|trace| Some((trace.commits[0]?, trace.commits[engine]?, trace.number)))
        .collect();
    commits.sort_unstable();
    for pair in commits.windows(2) {
        if pair[0].1 >= pair[1].1 {
            wrong.push(format!("the commits of transactions {} and {} cross", pair[0].2, pair[1].2));
        }
    }
    for (anchor, other, number) in &snapshots {
        // Commits are monotone, so only two can violate the rule: the last one seen in the anchor, and the first one
        // not seen.
        let seen = commits.partition_point(|commit| commit.0 <= *anchor);
        if let Some(last) = seen.checked_sub(1).and_then(|index| commits.get(index))
            && last.1 > *other
        {
            wrong.push(format!(
                "transaction {number} sees the commit of {} in the anchor and not in engine {engine}",
                last.2
            ));
        }
        if let Some(first) = commits.get(seen)
            && first.1 <= *other
        {
            wrong.push(format!(
                "transaction {number} sees the commit of {} in engine {engine} and not in the anchor",
                first.2
            ));
        }
    }
}

#[cfg(test)]
mod tests;
