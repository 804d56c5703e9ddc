//! Counts transactions as they are answered.
//!
//! A few sessions share a recorder and lock it for a fraction of a microsecond. Once a second the collector locks it
//! and takes out the finished seconds, so its size does not depend on the length of the run.

use crate::clock::{Nanos, Window};
use crate::fate::Fate;
use crate::histogram::count_times;
use crate::measurement::{KindMeasurement, Whole};
use crate::phase_counts::PhaseCounts;
use crate::sparse_histogram::{ThreeDigits, TwoDigits};
use crate::stages::Cursor;
use crate::success_log::Lines;
use crate::workload::{Facts, Runnable};
use lydite_database::AbortReason;
use lydite_tpcc::NodesTouched;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;

/// A transaction that has ended.
#[derive(Debug)]
pub(crate) struct EndedTransaction<'a, W: Runnable> {
    pub(crate) session: usize,
    pub(crate) transaction: &'a W::Transaction,
    pub(crate) fate: Fate,
    pub(crate) outcome: Option<&'a W::Outcome>,
    /// Wrong numbers of rows that it found, if it did.
    pub(crate) wrong_rows: Option<&'a str>,
    pub(crate) due: Nanos,
    pub(crate) picked: Nanos,
    pub(crate) answered: Nanos,
    pub(crate) retries: u32,
}

/// Counts of one second.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SecondCounts {
    /// Completed transactions, by type.
    pub(crate) completed: Vec<u64>,
    /// Aborted attempts, in the order of [`AbortReason::ALL`].
    pub(crate) aborts: [u64; AbortReason::COUNT],
    pub(crate) errors: u64,
    pub(crate) unknown: u64,
    /// Latencies, by type.
    pub(crate) latency: Vec<TwoDigits>,
    /// Numbers of nodes that the transactions that count touched.
    pub(crate) touched: NodesTouched,
    /// Counts by phase, in order; empty if the plan has one phase.
    pub(crate) phases: Vec<(usize, PhaseCounts)>,
}

impl SecondCounts {
    fn new(kinds: usize) -> Self {
        Self {
            completed: vec![0; kinds],
            aborts: [0; AbortReason::COUNT],
            errors: 0,
            unknown: 0,
            latency: vec![TwoDigits::default(); kinds],
            touched: NodesTouched::default(),
            phases: Vec::new(),
        }
    }

    fn of_phase(&mut self, number: usize) -> &mut PhaseCounts {
        let kinds = self.completed.len();
        PhaseCounts::of(&mut self.phases, number, kinds)
    }
}

/// Counts of one transaction type, for its [`KindMeasurement`].
#[derive(Clone, Debug, Default)]
pub(crate) struct KindCounts {
    pub(crate) committed: u64,
    pub(crate) rolled_back: u64,
    pub(crate) retries: u64,
    pub(crate) failed: u64,
    pub(crate) unknown: u64,
    /// Latencies of the transactions that a session took when they were due, which are also their service times. In a
    /// closed loop these are all transactions.
    pub(crate) unqueued: ThreeDigits,
    /// Latencies of all other transactions.
    pub(crate) latency: ThreeDigits,
    pub(crate) queue: ThreeDigits,
    pub(crate) service: ThreeDigits,
}

impl KindCounts {
    /// Adds the counts to the results of the type.
    pub(crate) fn add_to(&self, total: &mut KindMeasurement) {
        total.committed += self.committed;
        total.rolled_back += self.rolled_back;
        total.retries += self.retries;
        total.failed += self.failed;
        total.unknown += self.unknown;
        self.latency.add_to(&mut total.latency);
        self.queue.add_to(&mut total.queue);
        self.service.add_to(&mut total.service);
        self.unqueued.add_to(&mut total.latency);
        self.unqueued.add_to(&mut total.service);
        count_times(&mut total.queue, 0, self.unqueued.total());
    }
}

/// Counts of a few sessions. See the module.
#[derive(Debug)]
pub(crate) struct Recorder<W: Runnable> {
    /// True once the counts have been read: a session that hung until then must not change them.
    pub(crate) closed: bool,
    /// Counts by type.
    pub(crate) kinds: Vec<KindCounts>,
    /// Counts of the whole run.
    pub(crate) whole: Whole,
    pub(crate) aborts: [u64; AbortReason::COUNT],
    pub(crate) facts: W::Facts,
    /// Source of the inputs at each moment.
    cursor: Cursor<W::Inputs>,
    /// True if the plan has several phases. Counts of a single one are those of the window.
    by_phase: bool,
    pub(crate) lateness: ThreeDigits,
    pub(crate) straddling: u64,
    /// Time of the last answer that counts.
    pub(crate) last_answered: Nanos,
    /// Counts by the number of the second, in order.
    seconds: VecDeque<(usize, Box<SecondCounts>)>,
    /// Lines of the success log; `None` without a log.
    pub(crate) log: Option<Lines>,
}

impl<W: Runnable> Recorder<W> {
    pub(crate) fn new(cursor: Cursor<W::Inputs>, log: Option<Lines>) -> Self {
        Self {
            by_phase: cursor.has_phases(),
            cursor,
            closed: false,
            kinds: vec![KindCounts::default(); W::KINDS.len()],
            whole: Whole::new(W::KINDS.len()),
            aborts: [0; AbortReason::COUNT],
            facts: W::Facts::default(),
            lateness: ThreeDigits::default(),
            straddling: 0,
            last_answered: 0,
            seconds: VecDeque::new(),
            log,
        }
    }

    /// Counts an attempt that the database aborted at `at`, whatever the fate of its transaction, which was due at
    /// `due`.
    pub(crate) fn record_abort(&mut self, window: &Window, reason: AbortReason, (due, at): (Nanos, Nanos)) {
        if self.closed || window.over(at) {
            return;
        }
        let counts = at >= window.start();
        self.aborts[reason.index()] += u64::from(counts);
        let second = second_counts::<W>(&mut self.seconds, window.second(at));
        second.aborts[reason.index()] += 1;
        if counts && self.by_phase {
            second.of_phase(self.cursor.stage(due).phase).aborts[reason.index()] += 1;
        }
    }

    /// Notes that a session begins a transaction, for the log.
    pub(crate) fn begin(&mut self, session: usize, transaction: &W::Transaction) {
        if let Some(log) = &mut self.log
            && let Some(unknown) = W::logged(transaction, None)
        {
            log.begin(session, unknown);
        }
    }

    /// Counts an answered transaction: in the totals if it counts, in its second unless it straddles the window, and in
    /// the whole run with its log.
    pub(crate) fn record(&mut self, window: &Window, ended: &EndedTransaction<'_, W>) {
        if self.closed {
            return;
        }
        let kind = W::kind(ended.transaction);
        self.whole.committed[kind] += u64::from(ended.fate == Fate::Committed);
        self.whole.unknown[kind] += u64::from(ended.fate == Fate::Unknown);
        if let Some(detail) = ended.wrong_rows {
            self.whole.wrong_rows.note(W::KINDS[kind].title, detail);
        }
        self.whole.delivered += ended.outcome.map_or(0, W::delivered);
        if let Some(log) = &mut self.log
            && let Some(unknown) = W::logged(ended.transaction, None)
        {
            let line = match ended.fate {
                Fate::Committed => W::logged(ended.transaction, ended.outcome),
                Fate::Unknown => Some(unknown),
                Fate::RolledBack | Fate::Failed => None,
            };
            log.end(ended.session, unknown, line);
        }
        let counts = window.counts(ended.due, ended.answered);
        if counts {
            self.record_total(kind, ended);
        } else if ended.answered >= window.start().min(window.end()) {
            self.straddling += 1;
            return;
        }
        let second = second_counts::<W>(&mut self.seconds, window.second(ended.answered));
        if counts && self.by_phase {
            let times = (ended.picked - ended.due, ended.answered - ended.due);
            let phase = second.of_phase(self.cursor.stage(ended.due).phase);
            phase.kinds[kind].count(ended.fate, ended.retries, times);
        }
        match ended.fate {
            Fate::Committed | Fate::RolledBack => {
                second.completed[kind] += 1;
                second.latency[kind].count(ended.answered - ended.due);
                if counts {
                    // The input was made when the transaction was due.
                    let stage = self.cursor.stage(ended.due);
                    self.facts.completed(&stage.inputs, stage.phase, ended.transaction, &mut second.touched);
                }
            }
            Fate::Failed => second.errors += 1,
            Fate::Unknown => second.unknown += 1,
        }
    }

    fn record_total(&mut self, kind: usize, ended: &EndedTransaction<'_, W>) {
        self.last_answered = self.last_answered.max(ended.answered);
        let found = &mut self.kinds[kind];
        found.retries += u64::from(ended.retries);
        match ended.fate {
            Fate::Committed => found.committed += 1,
            Fate::RolledBack => found.rolled_back += 1,
            Fate::Failed => found.failed += 1,
            Fate::Unknown => found.unknown += 1,
        }
        if matches!(ended.fate, Fate::Committed | Fate::RolledBack) {
            if ended.picked == ended.due {
                found.unqueued.count(ended.answered - ended.due);
            } else {
                found.latency.count(ended.answered - ended.due);
                found.queue.count(ended.picked - ended.due);
                found.service.count(ended.answered - ended.picked);
            }
        }
        if let Some(outcome) = ended.outcome {
            self.facts.answered(ended.transaction, outcome, Duration::from_nanos(ended.answered - ended.due));
        }
    }

    /// Counts the lateness of a request that a session waited for: it was due at `due` and begun at `begun`.
    pub(crate) fn record_lateness(&mut self, window: &Window, due: Nanos, begun: Nanos) {
        if window.counts(due, begun) && !self.closed {
            self.lateness.count(begun - due);
        }
    }

    /// Counts a transaction that was due at `due` and never answered, in the last second of the window.
    pub(crate) fn record_unanswered(&mut self, window: &Window, kind: usize, (due, fate): (Nanos, Fate)) {
        let last = second_counts::<W>(&mut self.seconds, window.second(window.end().saturating_sub(1)));
        if fate == Fate::Failed {
            last.errors += 1;
            self.kinds[kind].failed += 1;
        } else {
            last.unknown += 1;
            self.kinds[kind].unknown += 1;
        }
        if self.by_phase {
            last.of_phase(self.cursor.stage(due).phase).kinds[kind].count_end(fate);
        }
    }

    /// Takes out the seconds before `second` and passes them to `take`.
    pub(crate) fn take_before(&mut self, second: usize, mut take: impl FnMut(usize, Box<SecondCounts>)) {
        while let Some((number, counts)) = self.seconds.pop_front_if(|(number, _)| *number < second) {
            take(number, counts);
        }
    }
}

/// Returns the counts of a second.
fn second_counts<W: Runnable>(
    seconds: &mut VecDeque<(usize, Box<SecondCounts>)>,
    second: usize,
) -> &mut SecondCounts {
    // Sessions that share a recorder may come a little out of order, so the second is not always the last one.
    let at = seconds.partition_point(|(number, _)| *number < second);
    if seconds.get(at).is_none_or(|(number, _)| *number != second) {
        seconds.insert(at, (second, Box::new(SecondCounts::new(W::KINDS.len()))));
    }
    &mut seconds[at].1
}
