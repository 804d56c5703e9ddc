//! Scans over the places that hold a keyspace: memtables and files.

use crate::engine::Each;
use crate::ids::Direction;
use crate::key::Key;
use crate::mvcc::{History, Seen};
use crate::order::clock::Timestamp;
use lsm_tree::{InternalValue, Result, SeqNo};
use std::cmp::Ordering;
use std::iter::Peekable;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Sequence number of timestamp zero. It is more than the number of flushes and compactions while a tree is open, and
/// still short in the files, which store sequence numbers with variable length.
pub(super) const SHIFT: SeqNo = 1 << 32;

/// Returns the timestamp of a version in a tree.
pub(super) fn timestamp(seqno: SeqNo) -> Timestamp {
    Timestamp(seqno.saturating_sub(SHIFT))
}

/// A key in one of the places.
pub(super) enum Row {
    /// A key with a version that the scan sees. It may be a tombstone.
    InMemory(Key, Arc<History>),
    /// A key with a value.
    InFile(InternalValue),
}

impl Row {
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::InMemory(one, _), Self::InMemory(two, _)) => one.cmp(two),
            (Self::InMemory(one, _), Self::InFile(two)) => one.with(|one| one.cmp(&two.key.user_key)),
            (Self::InFile(one), Self::InMemory(two, _)) => two.with(|two| (*one.key.user_key).cmp(two)),
            (Self::InFile(one), Self::InFile(two)) => one.key.user_key.cmp(&two.key.user_key),
        }
    }

    /// Passes the value at `at` to `each`, if the key has one.
    fn pass(&self, at: Timestamp, each: &mut Each<'_>) -> ControlFlow<()> {
        match self {
            Self::InMemory(key, history) => match history.at(at) {
                Some(Seen { timestamp, value: Some(value) }) => key.with(|key| each(key, value, timestamp)),
                _ => ControlFlow::Continue(()),
            },
            Self::InFile(entry) => each(&entry.key.user_key, &entry.value, timestamp(entry.key.seqno)),
        }
    }
}

/// The keys of one place, in the order of the scan.
pub(super) type Source<'s> = Peekable<Box<dyn Iterator<Item = Result<Row>> + 's>>;

pub(super) fn source<'s>(rows: impl Iterator<Item = Result<Row>> + 's) -> Source<'s> {
    let rows: Box<dyn Iterator<Item = Result<Row>> + 's> = Box::new(rows);
    rows.peekable()
}

/// Returns the source with the first key in the direction of the scan. If several have it, returns the first of them. An
/// error comes before all keys.
fn first(sources: &mut [Source<'_>], direction: Direction) -> Option<usize> {
    let mut first: Option<(usize, &Row)> = None;
    for (number, source) in sources.iter_mut().enumerate() {
        let Some(row) = source.peek() else { continue };
        let Ok(row) = row else { return Some(number) };
        let is_before = |(_, other): (_, &Row)| match direction {
            Direction::Forward => row.compare(other).is_lt(),
            Direction::Backward => row.compare(other).is_gt(),
        };
        if first.is_none_or(is_before) {
            first = Some((number, row));
        }
    }
    first.map(|(number, _)| number)
}

/// Passes the values of all keys at `at` to `each`, in order, until it breaks. If several sources have a key, the first of
/// them decides: it is the newest.
pub(super) fn merge(
    mut sources: Vec<Source<'_>>,
    direction: Direction,
    at: Timestamp,
    each: &mut Each<'_>,
) -> Result<()> {
    while let Some(number) = first(&mut sources, direction) {
        let Some((newest, older)) = sources[number..].split_first_mut() else { return Ok(()) };
        let Some(row) = newest.next().transpose()? else { return Ok(()) };
        for source in older {
            let has_it = |other: &Result<Row>| other.as_ref().is_ok_and(|other| row.compare(other).is_eq());
            source.next_if(has_it);
        }
        if row.pass(at, each).is_break() {
            return Ok(());
        }
    }
    Ok(())
}
