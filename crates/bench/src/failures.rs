//! Failures by transaction type, and the decision that a run is no result any more.

use crate::clock::{Nanos, SECOND};
use crate::error_log;
use crate::measurement::KindMeasurement;
use lydite_database::Kind;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of bad seconds in a row of a type that end the run. A shorter burst of errors is measured.
const BAD_SECONDS: u64 = 5;
/// Least number of failures in these seconds. A few failures could all be of one type by chance.
const FAILURES_MIN: u64 = 100;
/// Least number of failed transactions of a type in the window that spoil a run which reached its end.
const VERDICT_MIN: u64 = 10;

/// Reason why a transaction did not succeed.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The database rejected it, and no retry follows.
    Rejected(String),
    /// The connection was lost.
    Lost(String),
}

/// Judges each transaction type by itself, because reads may succeed when no write does.
///
/// A second is bad for a type with more than twice as many rejections as successes; a second without either has no
/// effect. [`BAD_SECONDS`] in a row with [`FAILURES_MIN`] rejections in them end the run. So a type that fails nearly
/// always ends the run soon. A type that fails for a moment, or less than half of the time, never does, however long
/// the run.
///
/// Lost connections do not end a run either, because outages are measured. At the end all transactions that did not
/// succeed are compared with those that did.
#[derive(Debug)]
pub(crate) struct Failures {
    kinds: Vec<KindFailures>,
    reason_to_end: Mutex<Option<String>>,
}

#[derive(Debug)]
struct KindFailures {
    kind: Kind,
    /// True if successes matter. Otherwise a success writes nothing that other sessions read.
    troubled: AtomicBool,
    found: Mutex<FailureCounts>,
}

#[derive(Debug, Default)]
struct FailureCounts {
    /// The current second and its counts.
    second: u64,
    rejected: u64,
    succeeded: u64,
    /// Bad seconds in a row before the current one, and their rejections.
    bad_seconds: u64,
    bad_rejected: u64,
    /// Transactions in the window that did not succeed, and the reason of the last one.
    in_window: u64,
    last: String,
}

impl FailureCounts {
    /// Advances to the second of `at`. Answers that come a little late count in the current second.
    fn advance_to(&mut self, at: Nanos) {
        let second = at / SECOND;
        if second <= self.second {
            return;
        }
        if self.rejected > 2 * self.succeeded {
            self.bad_seconds += 1;
            self.bad_rejected += self.rejected;
        } else if self.succeeded > 0 {
            (self.bad_seconds, self.bad_rejected) = (0, 0);
        }
        (self.second, self.rejected, self.succeeded) = (second, 0, 0);
    }
}

impl Failures {
    pub(crate) fn new(kinds: &[Kind]) -> Self {
        let kind_failures =
            |&kind: &Kind| KindFailures { kind, troubled: AtomicBool::new(false), found: Mutex::default() };
        Self { kinds: kinds.iter().map(kind_failures).collect(), reason_to_end: Mutex::default() }
    }

    /// Records that a transaction of this type was committed, or rolled back as its input wants.
    pub(crate) fn succeeded(&self, kind: usize, at: Nanos) {
        let kind_failures = &self.kinds[kind];
        if kind_failures.troubled.load(Ordering::Relaxed) {
            let mut found = kind_failures.found.lock();
            found.advance_to(at);
            found.succeeded += 1;
            kind_failures.troubled.store(found.bad_seconds + found.rejected > 0, Ordering::Relaxed);
        }
    }

    /// Records that a transaction of this type failed finally, or that its outcome is unknown. `counts` is true if it
    /// is in the window.
    pub(crate) fn failed(&self, kind: usize, at: Nanos, counts: bool, trouble: &Trouble) {
        let kind_failures = &self.kinds[kind];
        let mut found = kind_failures.found.lock();
        let (Trouble::Rejected(message) | Trouble::Lost(message)) = trouble;
        if counts {
            found.in_window += 1;
            found.last = error_log::line(message);
        }
        if matches!(trouble, Trouble::Lost(_)) {
            return;
        }
        found.advance_to(at);
        found.rejected += 1;
        kind_failures.troubled.store(true, Ordering::Relaxed);
        if found.bad_seconds >= BAD_SECONDS && found.bad_rejected + found.rejected >= FAILURES_MIN {
            let message = error_log::line(message);
            self.end_run(format!(
                "the run ended early, {} keeps failing: {message}",
                kind_failures.kind.title
            ));
        }
    }

    /// Ends the run. The first reason is kept.
    pub(crate) fn end_run(&self, why: String) {
        self.reason_to_end.lock().get_or_insert(why);
    }

    /// Returns the reason why the run must end, if there is one.
    pub(crate) fn reason_to_end(&self) -> Option<String> {
        self.reason_to_end.lock().clone()
    }

    /// Returns the reason why a run that has reached its end is no result, if there is one: the run had to end, or a
    /// type failed more often than it succeeded. Transactions that were cut short by the end of the run, or of an
    /// outage, prove nothing.
    pub(crate) fn verdict(&self, measured: &[KindMeasurement]) -> Option<String> {
        self.reason_to_end().or_else(|| {
            self.kinds.iter().zip(measured).find_map(|(kind_failures, measured)| {
                let found = kind_failures.found.lock();
                let (failed, completed) = (found.in_window, measured.completed());
                (failed >= VERDICT_MIN && failed > completed).then(|| {
                    let (all, title) = (failed + completed, kind_failures.kind.title);
                    format!("{failed} of {all} {title} transactions did not succeed: {}", found.last)
                })
            })
        })
    }
}
