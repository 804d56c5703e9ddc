//! The transactions and commits of a session that have no answer yet.

use crate::clock::Nanos;
use crate::fate::Fate;
use std::sync::atomic::{AtomicU64, Ordering};

/// The transaction that a session is waiting for, and how many it does not wait for any more. The former is changed only
/// by the session, so that it may be read when the session hangs; a cache line of its own, since neighbours are written
/// to all the time.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct InFlight {
    packed: AtomicU64,
    /// Time of the request that has no answer yet, plus one nanosecond; 0 without such a request.
    sent: AtomicU64,
    /// Time of the database's last answer, errors included.
    heard: AtomicU64,
    /// Commits that are on their way to stable storage.
    committing: AtomicU64,
}

impl InFlight {
    pub(crate) fn begin_transaction(&self, due: Nanos, kind: usize, not_committed: bool) {
        let packed = (due + 1) << 9 | u64::from(not_committed) << 8 | kind as u64;
        self.packed.store(packed, Ordering::Relaxed);
    }

    /// Notes a request to the database.
    pub(crate) fn note_request(&self, at: Nanos) {
        self.sent.store(at + 1, Ordering::Relaxed);
    }

    /// Notes the database's answer.
    pub(crate) fn note_answer(&self, at: Nanos) {
        self.heard.store(at, Ordering::Relaxed);
        self.forget_request();
    }

    /// Forgets the request: its answer will not come.
    pub(crate) fn forget_request(&self) {
        self.sent.store(0, Ordering::Relaxed);
    }

    /// Returns the time of the request that has no answer yet.
    pub(crate) fn request_sent_at(&self) -> Option<Nanos> {
        self.sent.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Returns the time of the database's last answer; 0 if there was none.
    pub(crate) fn last_answer_at(&self) -> Nanos {
        self.heard.load(Ordering::Relaxed)
    }

    /// Ends the transaction. `at` is also the time of the answer, unless the request was lost or answered before.
    pub(crate) fn end_transaction(&self, at: Nanos) {
        if self.request_sent_at().is_some() {
            self.note_answer(at);
        }
        self.packed.store(0, Ordering::Relaxed);
    }

    /// The session goes on to others while this one is committed.
    pub(crate) fn begin_commit(&self) {
        self.committing.fetch_add(1, Ordering::Relaxed);
        self.packed.store(0, Ordering::Relaxed);
    }

    pub(crate) fn end_commit(&self) {
        self.committing.fetch_sub(1, Ordering::Relaxed);
    }

    /// When the transaction was due, its type, and how it counts if no answer ever comes.
    pub(crate) fn transaction(&self) -> Option<(Nanos, usize, Fate)> {
        let packed = self.packed.load(Ordering::Relaxed);
        let due = (packed >> 9).checked_sub(1)?;
        let fate = if packed & 1 << 8 == 0 { Fate::Unknown } else { Fate::Failed };
        Some((due, (packed & 0xff) as usize, fate))
    }

    /// Commits that have no answer yet.
    pub(crate) fn unanswered_commits(&self) -> u64 {
        self.committing.load(Ordering::Relaxed)
    }
}
