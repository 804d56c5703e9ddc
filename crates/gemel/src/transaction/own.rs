//! The own writes of a transaction, merged into its scans.

use super::writes::Writes;
use crate::ids::{Direction, KeyspaceId};
use crate::key::{Key, KeyRange};
use std::cmp::Ordering;
use std::ops::ControlFlow;

/// The transaction's own writes in one keyspace and range, in the order of a scan.
pub(super) struct Own<'a> {
    next: Option<(&'a Key, Option<&'a [u8]>)>,
    iterator: Box<dyn Iterator<Item = (&'a Key, Option<&'a [u8]>)> + 'a>,
    direction: Direction,
}

impl<'a> Own<'a> {
    /// Begins before the first one.
    pub(super) fn new(
        writes: &'a Writes,
        keyspace: KeyspaceId,
        range: &'a KeyRange,
        direction: Direction,
    ) -> Self {
        let mut iterator = writes.range(keyspace, range, direction);
        Self { next: iterator.next(), iterator, direction }
    }

    /// Compares the next own key with `key`, in the order of the scan.
    fn order(&self, key: &[u8]) -> Option<Ordering> {
        let (own, _) = self.next?;
        let order = own.with(|own| own.cmp(key));
        Some(if self.direction == Direction::Forward { order } else { order.reverse() })
    }

    /// Delivers the own writes that come before `key`.
    pub(super) fn before(
        &mut self,
        key: &[u8],
        deliver: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while self.order(key) == Some(Ordering::Less) {
            self.one(deliver)?;
        }
        ControlFlow::Continue(())
    }

    /// Delivers `key` with its own value if it has one, otherwise with its committed value. All own writes before `key`
    /// must be delivered already.
    pub(super) fn instead_of(
        &mut self,
        key: &[u8],
        committed: &[u8],
        deliver: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.order(key) == Some(Ordering::Equal) { self.one(deliver) } else { deliver(key, committed) }
    }

    fn one(&mut self, deliver: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> ControlFlow<()> {
        let Some((key, value)) = self.next else { return ControlFlow::Continue(()) };
        self.next = self.iterator.next();
        match value {
            Some(value) => key.with(|key| deliver(key, value)),
            None => ControlFlow::Continue(()),
        }
    }

    pub(super) fn rest(
        &mut self,
        deliver: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while self.next.is_some() {
            self.one(deliver)?;
        }
        ControlFlow::Continue(())
    }
}
