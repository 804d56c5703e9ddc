//! Order of each key's versions, inferred from the history, with the anomalies that show without a cycle and the
//! dependencies between transactions. Ranges have no versions, see [`super::ranges`].

use super::explain::Explain;
use super::graph::{Edge, Kind, counted_ids, realtime_edges};
use super::level::AnomalyKind;
use super::level::RegisterOrder;
use super::model::{Action, History, KeyId, KeyKind, Outcome, Seen, TxId};
use super::report::Collector;
use std::collections::{HashMap, HashSet};

/// Number of writers that a reader is linked to if several versions follow one in an unknown order: the nearest in
/// time. So the number of edges stays linear in the history. On a key with many blind writes a cycle may be missed;
/// none is invented.
const UNORDERED_SUCCESSORS: usize = 32;

/// A write of the history.
#[derive(Clone, Copy)]
pub(super) struct Written {
    pub(super) by: TxId,
    /// True if this is the transaction's last write of the key.
    last: bool,
}

/// A read of other transactions' writes: the reader's own appends are cut off.
struct Read<'h> {
    by: TxId,
    seen: &'h [u64],
    /// True if the transaction had not written the key yet.
    first_hand: bool,
}

/// Reads and writes of a key so far in one transaction.
struct Own<'h> {
    key: KeyId,
    appended: Vec<u64>,
    written: Option<u64>,
    seen: Option<&'h [u64]>,
    register: Option<Option<u64>>,
}

/// Inferences from the data of a history.
pub(super) struct Inferred {
    /// True for each transaction that is committed, or unknown and seen by one that counts.
    pub counted: Vec<bool>,
    /// Dependencies by data.
    pub edges: Vec<Edge>,
}

/// Infers versions and dependencies, and reports to `found` the anomalies that need no cycle.
pub(super) fn infer(
    history: &History,
    kinds: &[KeyKind],
    order: RegisterOrder,
    found: &mut Collector,
) -> Inferred {
    let mut written = HashMap::new();
    let mut last: HashMap<(KeyId, TxId), u64> = HashMap::new();
    let mut ranges: Vec<Range<'_>> = Vec::new();
    ranges.resize_with(history.keys.len(), Range::default);
    for (by, tx) in history.numbered() {
        for op in &tx.ops {
            if let Some(value) = op.action.written() {
                written.insert((op.key, value), Written { by, last: false });
                last.insert((op.key, by), value);
            }
            if let Action::Insert(value) = op.action {
                ranges[op.key.0 as usize].inserted.push((by, value));
            }
        }
    }
    for ((key, _), value) in &last {
        if let Some(write) = written.get_mut(&(*key, *value)) {
            write.last = true;
        }
    }
    let counted = counted(history, &written);
    let mut inference =
        Inference { history, explain: Explain::new(history), written, counted, edges: Vec::new(), found };
    let mut lists: Vec<Vec<Read<'_>>> = Vec::new();
    lists.resize_with(history.keys.len(), Vec::new);
    let mut registers: Vec<Vec<(TxId, Option<u64>)>> = vec![Vec::new(); history.keys.len()];
    for id in counted_ids(&inference.counted.clone()) {
        inference.reads_of(id, &mut lists, &mut registers, &mut ranges);
    }
    let mut writers: Vec<Vec<(TxId, u64)>> = vec![Vec::new(); history.keys.len()];
    for ((key, by), value) in &last {
        if inference.counted[by.0 as usize] {
            writers[key.0 as usize].push((*by, *value));
        }
    }
    for (at, kind) in kinds.iter().enumerate() {
        let key = KeyId(at as u32);
        // Sorted, because the order of a hash table must not decide the report.
        writers[at].sort_unstable_by_key(|(by, _)| (history.tx(*by).invoked, *by));
        match kind {
            KeyKind::List => inference.list(key, &lists[at], &writers[at]),
            KeyKind::Register => inference.register(key, &registers[at], &writers[at], order),
            KeyKind::Range => inference.range(key, &ranges[at]),
        }
    }
    Inferred { counted: inference.counted, edges: inference.edges }
}

/// Returns for each transaction whether it counts as committed.
fn counted(history: &History, written: &HashMap<(KeyId, u64), Written>) -> Vec<bool> {
    let mut counted: Vec<bool> =
        history.transactions.iter().map(|tx| tx.outcome == Outcome::Committed).collect();
    // Only keys with a write of an unknown transaction need a look.
    let mut doubtful = vec![false; history.keys.len()];
    let unknown = history.transactions.iter().filter(|tx| tx.outcome == Outcome::Unknown);
    for op in unknown.flat_map(|tx| &tx.ops).filter(|op| op.action.written().is_some()) {
        doubtful[op.key.0 as usize] = true;
    }
    if !doubtful.contains(&true) {
        return counted;
    }
    let mut open: Vec<TxId> = counted_ids(&counted).collect();
    while let Some(reader) = open.pop() {
        for op in history.tx(reader).ops.iter().filter(|op| doubtful[op.key.0 as usize]) {
            let seen = match &op.action {
                Action::Read(Some(Seen::List(values) | Seen::Range(values))) => values.as_slice(),
                Action::Read(Some(Seen::Register(Some(value)))) => std::slice::from_ref(value),
                _ => continue,
            };
            for write in seen.iter().filter_map(|value| written.get(&(op.key, *value))) {
                let at = write.by.0 as usize;
                if history.tx(write.by).outcome == Outcome::Unknown && !counted[at] {
                    counted[at] = true;
                    open.push(write.by);
                }
            }
        }
    }
    counted
}

pub(super) struct Inference<'h, 'f> {
    history: &'h History,
    pub(super) explain: Explain<'h>,
    pub(super) written: HashMap<(KeyId, u64), Written>,
    pub(super) counted: Vec<bool>,
    edges: Vec<Edge>,
    pub(super) found: &'f mut Collector,
}

impl<'h> Inference<'h, '_> {
    /// Walks through one transaction: reports contradictions and notes the other reads by key.
    fn reads_of(
        &mut self,
        id: TxId,
        lists: &mut [Vec<Read<'h>>],
        registers: &mut [Vec<(TxId, Option<u64>)>],
        ranges: &mut [Range<'h>],
    ) {
        let mut owns: Vec<Own<'h>> = Vec::new();
        for op in &self.history.tx(id).ops {
            let at = owns.iter().position(|own| own.key == op.key).unwrap_or_else(|| {
                let (key, appended) = (op.key, Vec::new());
                owns.push(Own { key, appended, written: None, seen: None, register: None });
                owns.len() - 1
            });
            let own = &mut owns[at];
            match &op.action {
                Action::Append(value) | Action::Insert(value) => own.appended.push(*value),
                Action::Write(value) => own.written = Some(*value),
                Action::Read(None) => {}
                Action::Read(Some(Seen::List(values))) => {
                    let seen = match values.strip_suffix(own.appended.as_slice()) {
                        Some(seen) => seen,
                        None => {
                            let wrote = own.appended.clone();
                            self.found.add(AnomalyKind::OwnWrites, || {
                                self.explain.own_appends(id, op.key, &wrote, values)
                            });
                            values
                        }
                    };
                    if let Some(before) = own.seen.replace(seen)
                        && before != seen
                    {
                        self.found.add(AnomalyKind::UnrepeatableRead, || {
                            self.explain.unrepeatable_list(id, op.key, before, seen)
                        });
                    }
                    let first_hand = own.appended.is_empty();
                    lists[op.key.0 as usize].push(Read { by: id, seen, first_hand });
                }
                Action::Read(Some(Seen::Range(values))) => {
                    let (before, inserted) = (own.seen.replace(values), own.appended.as_slice());
                    self.own_range(id, op.key, inserted, before, values);
                    ranges[op.key.0 as usize].reads.push((id, values));
                }
                Action::Read(Some(Seen::Register(value))) => {
                    if let Some(wrote) = own.written {
                        if *value != Some(wrote) {
                            self.found.add(AnomalyKind::OwnWrites, || {
                                self.explain.own_write(id, op.key, wrote, *value)
                            });
                        }
                        continue;
                    }
                    if let Some(before) = own.register.replace(*value)
                        && before != *value
                    {
                        self.found.add(AnomalyKind::UnrepeatableRead, || {
                            self.explain.unrepeatable_register(id, op.key, before, *value)
                        });
                    }
                    registers[op.key.0 as usize].push((id, *value));
                }
            }
        }
    }

    /// Returns the write that a read saw if that is sound; reports it otherwise.
    pub(super) fn source(&mut self, reader: TxId, key: KeyId, value: u64) -> Option<Written> {
        let Some(write) = self.written.get(&(key, value)).copied() else {
            self.found.add(AnomalyKind::GarbageRead, || self.explain.garbage(reader, key, value));
            return None;
        };
        if write.by == reader {
            self.found.add(AnomalyKind::OwnWrites, || self.explain.future_read(reader, key, value));
            return None;
        }
        if !self.counted[write.by.0 as usize] {
            self.found.add(AnomalyKind::AbortedRead, || {
                self.explain.bad_source(reader, key, value, write.by, "was aborted")
            });
            return None;
        }
        Some(write)
    }

    pub(super) fn edge(
        &mut self,
        from: TxId,
        to: TxId,
        kind: Kind,
        key: KeyId,
        value: u64,
        lost_update: bool,
    ) {
        if from != to {
            self.edges.push(Edge { from, to, kind, lost_update, key, value });
        }
    }

    /// Judges a list: the longest read is the order of its values, and every other read must be a beginning of it.
    fn list(&mut self, key: KeyId, reads: &[Read<'h>], writers: &[(TxId, u64)]) {
        let longest = reads.iter().max_by_key(|read| read.seen.len());
        let versions = longest.map_or(&[][..], |read| read.seen);
        let mut listed = HashSet::new();
        // Writer of each version, if it counts, and the length of the list's faultless beginning.
        let mut by: Vec<Option<TxId>> = Vec::with_capacity(versions.len());
        let (mut doubled_from, mut faulty_from) = (usize::MAX, usize::MAX);
        for (at, value) in versions.iter().enumerate() {
            let fresh = listed.insert(*value);
            let write = self.written.get(&(key, *value)).filter(|write| self.counted[write.by.0 as usize]);
            by.push(write.filter(|_| fresh).map(|write| write.by));
            if !fresh {
                doubled_from = doubled_from.min(at);
            } else if write.is_none() {
                faulty_from = faulty_from.min(at);
            }
        }
        let mut sound = Vec::with_capacity(reads.len());
        for read in reads {
            let fits = versions.starts_with(read.seen);
            if !fits && let Some(longest) = longest {
                let (a, b) = (longest.by, read.by);
                self.found.add(AnomalyKind::IncompatibleOrder, || {
                    self.explain.incompatible(key, (a, versions), (b, read.seen))
                });
            }
            // Each read is reported once, by the first of its wrong values.
            let doubled = if fits { read.seen.len() > doubled_from } else { has_doubles(read.seen) };
            if doubled {
                self.found
                    .add(AnomalyKind::DuplicateAppend, || self.explain.duplicate(read.by, key, read.seen));
            }
            if fits && read.seen.len() > faulty_from {
                self.source(read.by, key, versions[faulty_from]);
            } else if !fits {
                let bad = read.seen.iter().find(|value| {
                    self.written.get(&(key, **value)).is_none_or(|w| !self.counted[w.by.0 as usize])
                });
                if let Some(value) = bad {
                    self.source(read.by, key, *value);
                }
            }
            if fits {
                sound.push(read);
            }
        }
        self.list_edges(key, versions, &by, &sound, writers, &listed);
    }

    /// Adds the dependencies over a list of known order.
    fn list_edges(
        &mut self,
        key: KeyId,
        versions: &[u64],
        by: &[Option<TxId>],
        reads: &[&Read<'h>],
        writers: &[(TxId, u64)],
        listed: &HashSet<u64>,
    ) {
        // The next version at or after a place whose writer counts.
        let mut next = vec![versions.len(); versions.len() + 1];
        for at in (0..versions.len()).rev() {
            next[at] = if by[at].is_some() { at } else { next[at + 1] };
        }
        // The last version before a place whose writer counts.
        let mut before: Vec<Option<(usize, TxId)>> = vec![None; versions.len() + 1];
        for (at, writer) in by.iter().enumerate() {
            before[at + 1] = writer.map(|writer| (at, writer)).or(before[at]);
            if let (Some((_, earlier)), Some(later)) = (before[at], *writer) {
                self.edge(earlier, later, Kind::WriteWrite, key, versions[at], false);
            }
        }
        // An append that no list shows must come after all that lists show: lists lose nothing.
        let unseen: Vec<(TxId, u64)> =
            writers.iter().filter(|(_, value)| !listed.contains(value)).copied().collect();
        if let Some((_, earlier)) = before[versions.len()] {
            for (later, value) in &unseen {
                self.edge(earlier, *later, Kind::WriteWrite, key, *value, false);
            }
        }
        let appenders: HashSet<TxId> = writers.iter().map(|(by, _)| *by).collect();
        // Readers of the whole list that then appended: of two of them, one overwrote what it had not seen.
        let read_all: HashSet<TxId> = reads
            .iter()
            .filter(|read| read.first_hand && next[read.seen.len()] == versions.len())
            .map(|read| read.by)
            .collect();
        for read in reads {
            let mut unread = read.seen.len();
            if let Some(value) = read.seen.last()
                && by[read.seen.len() - 1].is_some_and(|writer| writer != read.by || read.first_hand)
                && let Some(write) = self.source(read.by, key, *value)
                && !write.last
            {
                self.found.add(AnomalyKind::IntermediateRead, || {
                    self.explain.bad_source(read.by, key, *value, write.by, "then appended more")
                });
                while next[unread] < versions.len() && by[next[unread]] == Some(write.by) {
                    unread = next[unread] + 1;
                }
            }
            if let Some((at, writer)) = before[read.seen.len()] {
                self.edge(writer, read.by, Kind::WriteRead, key, versions[at], false);
            }
            let writes = read.first_hand && appenders.contains(&read.by);
            let at = next[unread];
            if at < versions.len() {
                if let Some(writer) = by[at] {
                    self.edge(read.by, writer, Kind::ReadWrite, key, versions[at], writes);
                }
            } else {
                for (writer, value) in nearest(self.history, &unseen, read.by) {
                    let lost = writes && read_all.contains(writer);
                    self.edge(read.by, *writer, Kind::ReadWrite, key, *value, lost);
                }
            }
        }
    }

    /// Judges a register: the first value follows nil, and the write of a transaction follows what it read.
    fn register(
        &mut self,
        key: KeyId,
        reads: &[(TxId, Option<u64>)],
        writers: &[(TxId, u64)],
        order: RegisterOrder,
    ) {
        let final_write: HashMap<TxId, u64> = writers.iter().copied().collect();
        // Writers on top of each read version. No version stands for nil.
        let mut followers: HashMap<Option<u64>, Vec<(TxId, u64)>> = HashMap::new();
        let mut informed = HashSet::new();
        let mut overwrote: HashSet<(TxId, Option<u64>)> = HashSet::new();
        let mut sound = Vec::with_capacity(reads.len());
        for (reader, value) in reads {
            let mut ends = true;
            if let Some(value) = value {
                let Some(write) = self.source(*reader, key, *value) else { continue };
                self.edge(write.by, *reader, Kind::WriteRead, key, *value, false);
                ends = write.last;
                if !ends {
                    self.found.add(AnomalyKind::IntermediateRead, || {
                        self.explain.bad_source(*reader, key, *value, write.by, "then wrote another value")
                    });
                }
            }
            if ends {
                sound.push((*reader, *value));
                if let Some(own) = final_write.get(reader) {
                    informed.insert(*reader);
                    if overwrote.insert((*reader, *value)) {
                        followers.entry(*value).or_default().push((*reader, *own));
                    }
                }
            }
        }
        // Writes without a read follow nil at least.
        let blind = writers.iter().filter(|(by, _)| !informed.contains(by)).copied();
        followers.entry(None).or_default().extend(blind);
        for (earlier, later) in ordered_writes(self.history, writers, order) {
            followers.entry(Some(earlier.1)).or_default().push(later);
            self.edge(earlier.0, later.0, Kind::WriteWrite, key, later.1, false);
        }
        for list in followers.values_mut() {
            list.sort_unstable_by_key(|(by, value)| (self.history.tx(*by).invoked, *by, *value));
            list.dedup();
        }
        for (reader, value) in sound {
            let Some(list) = followers.get(&value) else { continue };
            for (writer, next) in nearest(self.history, list, reader) {
                let lost = overwrote.contains(&(reader, value)) && overwrote.contains(&(*writer, value));
                self.edge(reader, *writer, Kind::ReadWrite, key, *next, lost);
            }
        }
        for (value, list) in &followers {
            let writer = value.and_then(|value| self.written.get(&(key, value))).map(|write| write.by);
            for (later, next) in list {
                if let Some(writer) = writer {
                    self.edge(writer, *later, Kind::WriteWrite, key, *next, false);
                }
            }
        }
    }
}

/// Returns pairs of writes of one register, the first of which is taken to come before the second.
fn ordered_writes(
    history: &History,
    writers: &[(TxId, u64)],
    order: RegisterOrder,
) -> Vec<((TxId, u64), (TxId, u64))> {
    let value: HashMap<TxId, u64> = writers.iter().copied().collect();
    let mut pairs = Vec::new();
    let mut pair = |a: TxId, b: TxId| pairs.push(((a, value[&a]), (b, value[&b])));
    match order {
        RegisterOrder::Reads => {}
        RegisterOrder::Session => {
            let mut last: HashMap<u32, TxId> = HashMap::new();
            for (by, _) in writers {
                let tx = history.tx(*by);
                if let Some(before) = last.get(&tx.process) {
                    pair(*before, *by);
                }
                if tx.outcome == Outcome::Committed {
                    last.insert(tx.process, *by);
                }
            }
        }
        RegisterOrder::Realtime => realtime_edges(history, writers.iter().map(|(by, _)| *by), pair),
    }
    pairs
}

/// Returns at most [`UNORDERED_SUCCESSORS`] of the writers, sorted by their begin, around a reader's.
fn nearest<'w>(history: &History, writers: &'w [(TxId, u64)], reader: TxId) -> &'w [(TxId, u64)] {
    if writers.len() <= UNORDERED_SUCCESSORS {
        return writers;
    }
    let here = writers.partition_point(|(by, _)| history.tx(*by).invoked < history.tx(reader).invoked);
    let from = here.saturating_sub(UNORDERED_SUCCESSORS / 2).min(writers.len() - UNORDERED_SUCCESSORS);
    &writers[from..from + UNORDERED_SUCCESSORS]
}

/// True if a value stands in a list twice.
pub(super) fn has_doubles(values: &[u64]) -> bool {
    let mut seen = HashSet::new();
    !values.iter().all(|value| seen.insert(*value))
}

/// Inserts into one range and reads of it.
#[derive(Default)]
pub(super) struct Range<'h> {
    /// Writer and value of each row, of all transactions.
    pub(super) inserted: Vec<(TxId, u64)>,
    /// Reader and values of each read by a transaction that counts.
    pub(super) reads: Vec<(TxId, &'h [u64])>,
}
