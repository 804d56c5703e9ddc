//! The transactions and commits of a session that have no answer yet.

use crate::clock::Nanos;
use crate::fate::Fate;
use std::sync::atomic::{AtomicU64, Ordering};

/// The transaction that a session waits for, and the number of its pipelined commits. Only the session changes the
/// transaction, so it can be read while the session hangs. A cache line of its own, because sessions write to it all
/// the time.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct InFlight {
    /// Due time plus one nanosecond, one bit that says not committed, and eight bits of the type; 0 without a
    /// transaction.
    packed: AtomicU64,
    /// Time of the request that has no answer yet, plus one nanosecond; 0 without such a request.
    sent: AtomicU64,
    /// Time of the database's last answer, errors included.
    heard: AtomicU64,
    /// Pipelined commits that have no answer yet.
    committing: AtomicU64,
}

impl InFlight {
    /// Begins a transaction. `not_committed` is true while it can't have been committed.
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

    /// Turns the transaction into a pipelined commit, so that the session can take the next one.
    pub(crate) fn begin_commit(&self) {
        self.committing.fetch_add(1, Ordering::Relaxed);
        self.packed.store(0, Ordering::Relaxed);
    }

    /// Ends a pipelined commit.
    pub(crate) fn end_commit(&self) {
        self.committing.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the due time of the transaction, its type, and its fate if no answer ever comes.
    pub(crate) fn transaction(&self) -> Option<(Nanos, usize, Fate)> {
        let packed = self.packed.load(Ordering::Relaxed);
        let due = (packed >> 9).checked_sub(1)?;
        let fate = if packed & 1 << 8 == 0 { Fate::Unknown } else { Fate::Failed };
        Some((due, (packed & 0xff) as usize, fate))
    }

    /// Returns the number of pipelined commits without an answer.
    pub(crate) fn unanswered_commits(&self) -> u64 {
        self.committing.load(Ordering::Relaxed)
    }
}
