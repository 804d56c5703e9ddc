//! Which types of transactions fail, and when a run is no result any more.

use crate::clock::{Nanos, SECOND};
use crate::error_log;
use crate::measurement::KindMeasurement;
use lydite_database::Kind;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// A type must fail for so many seconds in a row before it ends the run: a burst of errors is to be measured.
const BAD_SECONDS: u64 = 5;
/// So many failures must be in them: of a few, chance may have chosen all.
const FAILURES_MIN: u64 = 100;
/// So many transactions of a type must have failed in the window for it to spoil a run that reached its end.
const VERDICT_MIN: u64 = 10;

/// Why a transaction did not succeed.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The database refused it for good.
    Refused(String),
    /// The connection was lost.
    Lost(String),
}

/// Judges each type on its own: reading may go on when nothing can be written.
///
/// A second is bad for a type if it was refused more than twice as often as it succeeded; seconds without either say
/// nothing. [`BAD_SECONDS`] in a row with [`FAILURES_MIN`] refusals in them end the run. So a type that fails nearly
/// always ends it soon, and one that does so for a moment, or less than half of the time, never will, however long the
/// run. Lost connections do not end it either: an outage is to be measured. At the end whatever did not succeed is held
/// against what did.
#[derive(Debug)]
pub(crate) struct Failures {
    kinds: Vec<OfKind>,
    hopeless: Mutex<Option<String>>,
}

#[derive(Debug)]
struct OfKind {
    kind: Kind,
    /// Whether successes bear on anything: else they write nothing that other sessions read.
    troubled: AtomicBool,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    /// The second at hand, and what came in it.
    second: u64,
    refused: u64,
    succeeded: u64,
    /// Bad seconds in a row before it, and the refusals in them.
    bad_seconds: u64,
    bad_refused: u64,
    /// Transactions that did not succeed in the window, and why the last of them did not.
    in_window: u64,
    last: String,
}

impl Found {
    /// Goes on to the second of `at`. Answers that come a little late count in the second at hand.
    fn turn(&mut self, at: Nanos) {
        let second = at / SECOND;
        if second <= self.second {
            return;
        }
        if self.refused > 2 * self.succeeded {
            self.bad_seconds += 1;
            self.bad_refused += self.refused;
        } else if self.succeeded > 0 {
            (self.bad_seconds, self.bad_refused) = (0, 0);
        }
        (self.second, self.refused, self.succeeded) = (second, 0, 0);
    }
}

impl Failures {
    pub(crate) fn new(kinds: &[Kind]) -> Self {
        let of_kind =
            |&kind: &Kind| OfKind { kind, troubled: AtomicBool::new(false), found: Mutex::default() };
        Self { kinds: kinds.iter().map(of_kind).collect(), hopeless: Mutex::default() }
    }

    /// A transaction of this type was committed or rolled back as wanted.
    pub(crate) fn succeeded(&self, kind: usize, at: Nanos) {
        let of_kind = &self.kinds[kind];
        if of_kind.troubled.load(Ordering::Relaxed) {
            let mut found = of_kind.found.lock();
            found.turn(at);
            found.succeeded += 1;
            of_kind.troubled.store(found.bad_seconds + found.refused > 0, Ordering::Relaxed);
        }
    }

    /// A transaction of this type failed for good, or nobody knows whether it did. `counts`: in the window.
    pub(crate) fn failed(&self, kind: usize, at: Nanos, counts: bool, trouble: &Trouble) {
        let of_kind = &self.kinds[kind];
        let mut found = of_kind.found.lock();
        let (Trouble::Refused(message) | Trouble::Lost(message)) = trouble;
        if counts {
            found.in_window += 1;
            found.last = error_log::line(message);
        }
        if matches!(trouble, Trouble::Lost(_)) {
            return;
        }
        found.turn(at);
        found.refused += 1;
        of_kind.troubled.store(true, Ordering::Relaxed);
        if found.bad_seconds >= BAD_SECONDS && found.bad_refused + found.refused >= FAILURES_MIN {
            let message = error_log::line(message);
            self.give_up(format!("the run ended early, {} keeps failing: {message}", of_kind.kind.title));
        }
    }

    /// There is no hope for the run. The first reason is kept.
    pub(crate) fn give_up(&self, why: String) {
        self.hopeless.lock().get_or_insert(why);
    }

    /// Why the run must end, if it must.
    pub(crate) fn hopeless(&self) -> Option<String> {
        self.hopeless.lock().clone()
    }

    /// Why a run that has reached its end is no result: there was no hope, or a type failed more often than it
    /// succeeded. What the end of the run, or of an outage, cut short says nothing of that.
    pub(crate) fn verdict(&self, measured: &[KindMeasurement]) -> Option<String> {
        self.hopeless().or_else(|| {
            self.kinds.iter().zip(measured).find_map(|(of_kind, measured)| {
                let found = of_kind.found.lock();
                let (failed, completed) = (found.in_window, measured.completed());
                (failed >= VERDICT_MIN && failed > completed).then(|| {
                    let (all, title) = (failed + completed, of_kind.kind.title);
                    format!("{failed} of {all} {title} transactions did not succeed: {}", found.last)
                })
            })
        })
    }
}
