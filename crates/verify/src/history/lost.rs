//! Lost writes: acknowledged writes that the state at the end lacks.
//!
//! A read that misses a write may be stale, which weak levels allow. Only a read at the end tells a lost write from a
//! late one: it began after all writers had ended, and its recorder repeated it for a while. So nothing is lost in a
//! history without reads at the end. A write without an answer is never lost.
//!
//! An append and an inserted row stay for ever: each must be in the last read. A register has one value, and its last
//! write must be it. The writes that certainly came after the value read at the end are those of transactions that
//! began after the value had been acknowledged, or that had read it. If there is one, the end lacks it or whatever
//! overwrote it; the latest of them is named, and the key counts once.

use super::model::{Action, KeyId, Outcome, Seen, Transaction, TxId};
use std::collections::{BTreeMap, HashMap, HashSet};

/// An acknowledged write that the state at the end lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    /// Key of the write.
    pub(crate) key: KeyId,
    /// The writer.
    pub(super) by: TxId,
    /// Written value.
    pub(super) value: u64,
    /// The read at the end that lacks it.
    pub(super) reader: TxId,
    /// Reason why a register's value at the end is older.
    pub(super) older: Option<Older>,
}

/// Reason why the value that a register has at the end is older than a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Older {
    /// The register has no value.
    Nothing,
    /// The writer had read the value.
    Read,
    /// The value's writer had been acknowledged before the other began.
    Acknowledged(TxId),
}

/// Reads and acknowledged writes of a key.
#[derive(Default)]
struct OfKey<'h> {
    /// Acknowledged writers with their last values. Of lists and ranges each value counts, of registers the last one.
    written: Vec<(TxId, u64)>,
    /// Reads of committed transactions.
    reads: Vec<(TxId, &'h Seen)>,
    /// Values of a register with the transactions that had read them before they wrote.
    read_before: HashSet<(TxId, u64)>,
}

/// Finds the lost writes. Reads are at the end if they began at `final_from` or later.
pub(crate) fn lost(transactions: &[Transaction], final_from: u64) -> Vec<Lost> {
    let tx = |id: TxId| &transactions[id.0 as usize];
    let mut keys: BTreeMap<KeyId, OfKey<'_>> = BTreeMap::new();
    let mut writers: HashMap<(KeyId, u64), TxId> = HashMap::new();
    for (at, transaction) in transactions.iter().enumerate() {
        let id = TxId(at as u32);
        for op in &transaction.ops {
            if let Some(value) = op.action.written() {
                writers.insert((op.key, value), id);
            }
            if transaction.outcome != Outcome::Committed {
                continue;
            }
            let of_key = keys.entry(op.key).or_default();
            let before = of_key.written.last().copied().filter(|(by, _)| *by == id);
            match &op.action {
                Action::Append(value) | Action::Insert(value) => of_key.written.push((id, *value)),
                Action::Write(value) => {
                    if before.is_some() {
                        of_key.written.pop();
                    }
                    of_key.written.push((id, *value));
                }
                Action::Read(Some(seen)) => {
                    of_key.reads.push((id, seen));
                    if let (Seen::Register(Some(value)), None) = (seen, before) {
                        of_key.read_before.insert((id, *value));
                    }
                }
                Action::Read(None) => {}
            }
        }
    }
    let mut found = Vec::new();
    for (key, OfKey { written, reads, read_before }) in keys {
        let at_end = reads.iter().filter(|(id, _)| tx(*id).invoked >= final_from);
        let Some(&(reader, _)) = at_end.max_by_key(|(id, _)| tx(*id).invoked) else { continue };
        let begun = tx(reader).invoked;
        // Reads that may have come after it show the same state.
        let shown: Vec<&Seen> =
            reads.iter().filter(|(id, _)| tx(*id).completed > begun).map(|(_, seen)| *seen).collect();
        let acknowledged = written.iter().filter(|(by, _)| tx(*by).completed < begun);
        if let Some(values) = registers(&shown) {
            let older = |(by, value): (TxId, u64), shown: Option<u64>| -> Option<Older> {
                let Some(shown) = shown else { return Some(Older::Nothing) };
                let writer = *writers.get(&(key, shown))?;
                if shown == value || writer == by {
                    None
                } else if read_before.contains(&(by, shown)) {
                    Some(Older::Read)
                } else {
                    let committed = tx(writer).outcome == Outcome::Committed;
                    let is_before = committed && tx(writer).completed < tx(by).invoked;
                    is_before.then_some(Older::Acknowledged(writer))
                }
            };
            let after = acknowledged.filter_map(|write| {
                let reasons: Option<Vec<Older>> = values.iter().map(|value| older(*write, *value)).collect();
                reasons.map(|reasons| (*write, reasons.first().copied()))
            });
            if let Some(((by, value), older)) = after.max_by_key(|((by, _), _)| tx(*by).invoked) {
                found.push(Lost { key, by, value, reader, older });
            }
        } else {
            let there: HashSet<u64> = shown.iter().flat_map(|seen| values(seen)).copied().collect();
            let absent = acknowledged.filter(|(_, value)| !there.contains(value));
            found.extend(absent.map(|&(by, value)| Lost { key, by, value, reader, older: None }));
        }
    }
    found
}

/// Returns the values of a register, or `None` if these are reads of a list or a range.
fn registers(shown: &[&Seen]) -> Option<Vec<Option<u64>>> {
    let value = |seen: &&Seen| if let Seen::Register(value) = seen { Some(*value) } else { None };
    shown.iter().map(value).collect()
}

/// Returns the values of a list or a range.
fn values(seen: &Seen) -> &[u64] {
    match seen {
        Seen::List(values) | Seen::Range(values) => values,
        Seen::Register(value) => value.as_slice(),
    }
}
