//! Scans of a range: committed rows merged with the transaction's own writes, and the note of what was read.

use super::given::checked_range;
use super::own::Own;
use super::scanned::part_read;
use super::{Seen, Transaction};
use crate::error::Result;
use crate::ids::Direction;
use crate::key::{Key, KeyRange};
use crate::keyspace::Keyspace;
use crate::options::Isolation;
use crate::oracle::Scanned;
use crate::order::clock::Timestamp;
use std::ops::{Bound, ControlFlow};

impl Transaction {
    /// Passes the keys of a range and their values to `each`, in order, until it breaks. The transaction's own writes
    /// are included. If the lower bound is above the upper one, the range is empty.
    ///
    /// # Errors
    /// [`Error::Capacity`](crate::Error::Capacity) if a bound is too long; otherwise the same as [`Transaction::read`].
    pub fn scan(
        &mut self,
        keyspace: &Keyspace,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        direction: Direction,
        each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let keyspace = self.readable(keyspace)?;
        let range = checked_range(lower, upper)?;
        if range.is_empty() {
            return Ok(());
        }
        self.scan_range(keyspace, range, direction, true, each).map(drop)
    }

    /// Passes all keys of a keyspace and their values to `each`, in order.
    pub(crate) fn scan_all(&mut self, keyspace: &Keyspace, mut each: impl FnMut(&[u8], &[u8])) -> Result<()> {
        self.scan(keyspace, Bound::Unbounded, Bound::Unbounded, Direction::Forward, |key, value| {
            each(key, value);
            ControlFlow::Continue(())
        })
    }

    /// Adds what a cursor has read to the scanned ranges.
    pub(super) fn end_walk(&mut self) {
        if let Some(walk) = self.walk.take() {
            self.scanned.note_walk(walk);
        }
    }

    /// Scans a range that is not empty. Returns the snapshot.
    ///
    /// Leaves the transaction's own writes out unless `with_own`. Only cursors do so. At read committed they note
    /// themselves what they have read.
    pub(super) fn scan_range(
        &mut self,
        keyspace: &Keyspace,
        range: KeyRange,
        direction: Direction,
        with_own: bool,
        each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Timestamp> {
        self.scan_and_note(keyspace, range, direction, with_own, each, || true)
    }

    /// Does the same as [`Transaction::scan_range`]. Calls `counts` at the end. If it returns false, the transaction
    /// notes nothing of what it has read, because nobody learns of it.
    pub(super) fn scan_and_note(
        &mut self,
        keyspace: &Keyspace,
        range: KeyRange,
        direction: Direction,
        with_own: bool,
        mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
        counts: impl FnOnce() -> bool,
    ) -> Result<Timestamp> {
        let engine = keyspace.engine_index();
        self.make_room_for_scan(with_own)?;
        // A scan is noted after those with older snapshots.
        self.end_walk();
        let at = self.snapshot(engine)?;
        let mut scanned = self.trace.as_ref().map(|_| Scanned::new(engine, keyspace.id.0, direction, at));
        // The range that the scan really covered: a scan that broke off read nothing after its last key.
        let covering = self.isolation != Isolation::Snapshot || scanned.is_some();
        let mut last: Option<Key> = None;
        let mut rows = 0;
        let mut deliver = |key: &[u8], value: &[u8]| {
            rows += 1;
            let flow = each(key, value);
            if covering && flow.is_break() {
                last = Some(Key::new(key));
            }
            flow
        };
        let mut note = |key: &[u8], written| {
            if let Some(scanned) = &mut scanned {
                scanned.rows.push((key.to_vec(), written));
            }
        };
        let store = &self.core.engines[engine];
        // Asked before each row: what was read up to then is right.
        let is_old = || self.core.check_age(self.seat).is_err();
        if !with_own || self.writes.is_empty() {
            let read = store.scan(keyspace.id, &range, direction, at, &mut |key, value, written| {
                if is_old() {
                    return ControlFlow::Break(());
                }
                note(key, written);
                deliver(key, value)
            });
            self.confirmed(keyspace, read)?;
        } else {
            self.writes.order_if_many();
            let mut own = Own::new(&self.writes, keyspace.id, &range, direction);
            let mut flow = ControlFlow::Continue(());
            let read = store.scan(keyspace.id, &range, direction, at, &mut |key, value, written| {
                if is_old() {
                    return ControlFlow::Break(());
                }
                flow = own.before(key, &mut deliver);
                if flow.is_continue() {
                    note(key, written);
                    flow = own.instead_of(key, value, &mut deliver);
                }
                flow
            });
            self.confirmed(keyspace, read)?;
            if flow.is_continue() {
                let _ = own.rest(&mut deliver);
            }
        }
        if covering && counts() {
            let range = part_read(range, last, direction);
            if let (Some(trace), Some(mut scanned)) = (&mut self.trace, scanned) {
                scanned.cover(&range);
                trace.scans.push(scanned);
            }
            match self.isolation {
                Isolation::ReadCommitted if with_own => self.scanned.note(keyspace.id, &range, at),
                Isolation::ReadCommitted | Isolation::Snapshot => {}
                Isolation::Serializable => {
                    self.seen_rows += rows;
                    self.see(Seen::Range { engine, keyspace: keyspace.id, range, since: at });
                }
            }
        }
        Ok(at)
    }
}
