//! Dependencies over ranges: rows are only ever inserted, and a read returns the values of all rows in its range.
//!
//! Inserts have no order among themselves, but a read divides them: it comes after each insert that it saw, and before
//! each one that it missed. That a read missed a row which was not there yet is a dependency on a predicate (Adya 1999,
//! section 4.4), and a cycle through it a phantom.

use super::graph::Kind;
use super::level::AnomalyKind;
use super::model::{KeyId, TxId};
use super::versions::{Inference, Range, has_doubles};
use std::collections::HashSet;

impl<'h> Inference<'h, '_> {
    /// Holds a read of a range against what its own transaction had `inserted` and read `before`.
    pub(super) fn own_range(
        &mut self,
        id: TxId,
        key: KeyId,
        inserted: &[u64],
        before: Option<&'h [u64]>,
        seen: &'h [u64],
    ) {
        if !inserted.iter().all(|value| seen.contains(value)) {
            self.found.add(AnomalyKind::OwnWrites, || self.explain.own_inserts(id, key, inserted, seen));
        }
        let own = |value: &u64| self.written.get(&(key, *value)).is_some_and(|write| write.by == id);
        if let Some(later) = seen.iter().find(|value| own(value) && !inserted.contains(value)) {
            self.found.add(AnomalyKind::OwnWrites, || self.explain.future_read(id, key, *later));
        }
        let others = |values: &'h [u64]| {
            values.iter().filter(|value| !inserted.contains(value)).collect::<HashSet<_>>()
        };
        if let Some(before) = before
            && others(before) != others(seen)
        {
            self.found.add(AnomalyKind::UnrepeatableRead, || {
                self.explain.unrepeatable_range(id, key, before, seen)
            });
        }
        if has_doubles(seen) {
            self.found.add(AnomalyKind::DuplicateAppend, || self.explain.duplicate(id, key, seen));
        }
    }

    /// Adds the dependencies over a range.
    pub(super) fn range(&mut self, key: KeyId, range: &Range<'h>) {
        let writers: Vec<(TxId, u64)> =
            range.inserted.iter().filter(|(by, _)| self.counted[by.0 as usize]).copied().collect();
        let own: HashSet<(TxId, u64)> = writers.iter().copied().collect();
        for (reader, values) in &range.reads {
            let seen: HashSet<u64> = values.iter().copied().collect();
            for value in values.iter().filter(|value| !own.contains(&(*reader, **value))) {
                if let Some(write) = self.source(*reader, key, *value) {
                    self.edge(write.by, *reader, Kind::WriteRead, key, *value, false);
                }
            }
            for (writer, value) in writers.iter().filter(|(_, value)| !seen.contains(value)) {
                self.edge(*reader, *writer, Kind::ReadWrite, key, *value, false);
            }
        }
    }
}
