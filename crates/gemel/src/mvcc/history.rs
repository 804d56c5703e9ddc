//! The versions of a key that a memtable keeps until its end.

use super::sync::Pin;
use super::version::{Chain, Draft, Seen, shared_bytes, version_bytes};
use crate::order::clock::Timestamp;
use std::slice;

/// The versions of a key, which are removed only all at once, with the history. So a reader needs no pin: what it borrows
/// lives as long as the history.
#[derive(Debug, Default)]
pub(crate) struct History(Chain);

impl History {
    /// Bytes of a history behind an `Arc`, without its versions.
    pub(crate) const BYTES: u64 = shared_bytes::<Self>();

    /// Adds a version; none deletes the key. Returns the bytes of memory that the version takes. `at` must be newer than
    /// all existing versions, and nobody else may add one meanwhile.
    pub(crate) fn push(&self, at: Timestamp, value: Option<Draft>) -> u64 {
        let bytes = version_bytes(value.as_ref().map_or(0, |value| value.len()));
        self.0.push(at, value);
        bytes
    }

    /// Returns the newest version committed at or before `at`.
    #[inline]
    pub(crate) fn at(&self, at: Timestamp) -> Option<Seen<'_>> {
        self.0.at(at, &Pin::new()).map(|seen| self.keep(seen))
    }

    /// Returns the versions, newest first, up to the newest one at or before `watermark`.
    pub(crate) fn since(&self, watermark: Timestamp) -> Vec<Seen<'_>> {
        let pin = Pin::new();
        let mut older = false;
        let versions = self.0.versions(&pin).take_while(|seen| {
            let wanted = !older;
            older = seen.timestamp <= watermark;
            wanted
        });
        versions.map(|seen| self.keep(seen)).collect()
    }

    /// Brings the newest version into the processor's caches.
    pub(crate) fn prefetch(&self) {
        self.0.prefetch_newest(&Pin::new());
    }

    /// Lets a version of this chain outlive the pin under which it was found.
    fn keep(&self, seen: Seen<'_>) -> Seen<'_> {
        // SAFETY: the callers pass versions of this chain. Nobody removes one, so its value lives until the chain is
        // dropped, which the borrow of this history prevents.
        let value = seen.value.map(|value| unsafe { slice::from_raw_parts(value.as_ptr(), value.len()) });
        Seen { timestamp: seen.timestamp, value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn pushed(history: &History, at: u64) {
        history.push(Timestamp(at), (!at.is_multiple_of(3)).then(|| Draft::from(&at.to_be_bytes())));
    }

    #[test]
    fn the_versions_since_a_watermark_include_the_one_that_it_reads() {
        let history = History::default();
        (1..=9).for_each(|at| pushed(&history, 2 * at));
        let since = |watermark| {
            let versions = history.since(Timestamp(watermark));
            versions.into_iter().map(|seen| seen.timestamp.0).collect::<Vec<_>>()
        };
        assert_eq!(since(13), [18, 16, 14, 12]);
        assert_eq!(since(14), [18, 16, 14]);
        assert_eq!(since(18), [18]);
        assert_eq!(since(1).len(), 9);
        assert_eq!(history.at(Timestamp(1)), None);
    }

    #[test]
    fn what_a_reader_borrows_stays_while_others_write() {
        let (history, done) = (History::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (1..=200).for_each(|at| pushed(&history, at));
                done.store(true, Ordering::Release);
            });
            let mut kept = Vec::new();
            while !done.load(Ordering::Acquire) {
                kept.extend(history.at(Timestamp::MAX));
                std::thread::yield_now();
            }
            for seen in kept {
                let expected = seen.timestamp.0.to_be_bytes();
                let value = (!seen.timestamp.0.is_multiple_of(3)).then_some(&expected[..]);
                assert_eq!(seen.value, value);
            }
        });
        assert_eq!(history.since(Timestamp::ZERO).len(), 200);
    }
}
