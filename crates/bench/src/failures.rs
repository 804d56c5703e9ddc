//! Which types of transactions fail, and when a run is no result any more.

use crate::measurement::KindMeasurement;
use lydite_tpcc::TransactionKind;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// By how many failures a type must outweigh its successes to end the run, unless there are so many sessions that a
/// single hiccup could do it.
const EXCESS: u64 = 100;

/// Weighs each type's failures against its successes, whatever the other types do: reading may go on when nothing can
/// be written. Failures add to a type's excess, successes take from it, never below none. So a type that fails more
/// often than it succeeds ends the run soon, and one that does not never will, however long the run.
#[derive(Debug)]
pub(crate) struct Failures {
    limit: u64,
    kinds: [OfKind; TransactionKind::COUNT],
}

#[derive(Debug, Default)]
struct OfKind {
    excess: AtomicU64,
    last: Mutex<Option<String>>,
}

impl Failures {
    pub(crate) fn new(sessions: u32) -> Self {
        Self { limit: EXCESS.max(2 * u64::from(sessions)), kinds: Default::default() }
    }

    /// A transaction of this type was committed or rolled back as wanted.
    pub(crate) fn succeeded(&self, kind: TransactionKind) {
        let excess = &self.kinds[kind.index()].excess;
        // Nearly always nothing is to be taken, and nothing is written that other sessions read.
        if excess.load(Ordering::Relaxed) > 0 {
            let less = |excess: u64| excess.checked_sub(1);
            let _none_left = excess.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }

    /// A transaction of this type failed for good. Why the run must end, if it must.
    pub(crate) fn failed(&self, kind: TransactionKind, message: &str) -> Option<String> {
        let of_kind = &self.kinds[kind.index()];
        *of_kind.last.lock() = Some(message.to_owned());
        let excess = of_kind.excess.fetch_add(1, Ordering::Relaxed) + 1;
        (excess >= self.limit)
            .then(|| format!("the run ended early, {} keeps failing: {message}", kind.name()))
    }

    /// Why a run that has reached its end is no result: a type that failed more often than it succeeded.
    pub(crate) fn verdict(&self, measured: &[KindMeasurement; TransactionKind::COUNT]) -> Option<String> {
        TransactionKind::ALL.into_iter().find_map(|kind| {
            let found = &measured[kind.index()];
            let (failed, completed) = (found.failed, found.completed());
            // Without a message they were merely cut short by the end of the run.
            let last = self.kinds[kind.index()].last.lock().clone().filter(|_| failed > completed)?;
            Some(format!("{failed} of {} of type {} failed: {last}", failed + completed, kind.name()))
        })
    }
}
