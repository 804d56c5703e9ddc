//! Counting transactions as they are answered.
//!
//! A recorder is shared by a few sessions at most and locked for a fraction of a microsecond, by them and, once
//! a second, by the collector, which takes away the seconds that are over. So its size does not depend on how
//! long the run lasts.

use crate::clock::{Nanos, Window};
use crate::measurement::{DeliveryFacts, KindMeasurement, count, histogram};
use hdrhistogram::Histogram;
use lydite_target::AbortReason;
use lydite_tpcc::limits::DEFERRED_DELIVERY_S;
use lydite_tpcc::{DistrictId, InputStatistics, Outcome, Transaction, TransactionKind};
use std::collections::VecDeque;
use std::time::Duration;

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Committed,
    RolledBack,
    Failed,
    Unknown,
}

/// A transaction that has ended.
#[derive(Debug)]
pub(crate) struct Ended<'a> {
    pub(crate) transaction: &'a Transaction,
    pub(crate) verdict: Verdict,
    pub(crate) outcome: Option<&'a Outcome>,
    pub(crate) due: Nanos,
    pub(crate) picked: Nanos,
    pub(crate) answered: Nanos,
    pub(crate) retries: u32,
    pub(crate) aborts: [u32; AbortReason::COUNT],
}

/// Counts of one second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bucket {
    pub(crate) completed: [u64; TransactionKind::COUNT],
    pub(crate) aborts: u64,
    pub(crate) errors: u64,
    pub(crate) unknown: u64,
    /// Latencies in nanoseconds, with two digits.
    pub(crate) latency: [Option<Histogram<u32>>; TransactionKind::COUNT],
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Set when the counts have been taken: a session that was hung must not add to them.
    pub(crate) closed: bool,
    pub(crate) kinds: [KindMeasurement; TransactionKind::COUNT],
    pub(crate) inputs: InputStatistics,
    pub(crate) aborts: [u64; AbortReason::COUNT],
    pub(crate) delivery: DeliveryFacts,
    pub(crate) lateness: Histogram<u64>,
    pub(crate) straddling: u64,
    /// When the last counted transaction was answered.
    pub(crate) last_answered: Nanos,
    seconds: VecDeque<(usize, Box<Bucket>)>,
}

/// An empty histogram for a single second.
pub(crate) fn small_histogram() -> Histogram<u32> {
    match Histogram::new(2) {
        Ok(histogram) => histogram,
        Err(error) => unreachable!("two digits are valid: {error}"),
    }
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            closed: false,
            kinds: std::array::from_fn(|_| KindMeasurement::new()),
            inputs: InputStatistics::default(),
            aborts: [0; AbortReason::COUNT],
            delivery: DeliveryFacts::new(),
            lateness: histogram(),
            straddling: 0,
            last_answered: 0,
            seconds: VecDeque::new(),
        }
    }

    /// Counts a transaction, if it counts.
    pub(crate) fn record(&mut self, window: &Window, ended: &Ended<'_>) {
        if self.closed {
            return;
        }
        let kind = ended.transaction.kind().index();
        if window.counts(ended.due, ended.answered) {
            self.record_total(kind, ended);
        } else if ended.answered >= window.start().min(window.end()) {
            self.straddling += 1;
            return;
        }
        let bucket = self.bucket(window.second(ended.answered));
        bucket.aborts += ended.aborts.iter().map(|&aborts| u64::from(aborts)).sum::<u64>();
        match ended.verdict {
            Verdict::Committed | Verdict::RolledBack => {
                bucket.completed[kind] += 1;
                let latency = bucket.latency[kind].get_or_insert_with(small_histogram);
                count(latency, ended.answered - ended.due);
            }
            Verdict::Failed => bucket.errors += 1,
            Verdict::Unknown => bucket.unknown += 1,
        }
    }

    fn record_total(&mut self, kind: usize, ended: &Ended<'_>) {
        self.last_answered = self.last_answered.max(ended.answered);
        for (total, &aborts) in self.aborts.iter_mut().zip(&ended.aborts) {
            *total += u64::from(aborts);
        }
        let found = &mut self.kinds[kind];
        found.retries += u64::from(ended.retries);
        match ended.verdict {
            Verdict::Committed => found.committed += 1,
            Verdict::RolledBack => found.rolled_back += 1,
            Verdict::Failed => found.failed += 1,
            Verdict::Unknown => found.unknown += 1,
        }
        if matches!(ended.verdict, Verdict::Committed | Verdict::RolledBack) {
            count(&mut found.latency, ended.answered - ended.due);
            count(&mut found.queue, ended.picked - ended.due);
            count(&mut found.service, ended.answered - ended.picked);
            self.inputs.record(ended.transaction);
        }
        if let Some(Outcome::Delivery(outcome)) = ended.outcome {
            let skipped = DistrictId::all().len().saturating_sub(outcome.delivered.len()) as u64;
            let took = Duration::from_nanos(ended.answered - ended.due);
            self.delivery.completed += 1;
            self.delivery.skipped_districts += skipped;
            self.delivery.with_skips += u64::from(skipped > 0);
            self.delivery.within_80_s += u64::from(took.as_secs_f64() <= DEFERRED_DELIVERY_S);
        }
    }

    /// A request that a session was waiting for was due at `due` and begun at `begun`.
    pub(crate) fn record_lateness(&mut self, window: &Window, due: Nanos, begun: Nanos) {
        if window.counts(due, begun) && !self.closed {
            count(&mut self.lateness, begun - due);
        }
    }

    /// A transaction that was never answered: counted at the end of the window.
    pub(crate) fn record_unanswered(&mut self, window: &Window, kind: TransactionKind, verdict: Verdict) {
        let last = self.bucket(window.second(window.end().saturating_sub(1)));
        if verdict == Verdict::Failed {
            last.errors += 1;
            self.kinds[kind.index()].failed += 1;
        } else {
            last.unknown += 1;
            self.kinds[kind.index()].unknown += 1;
        }
    }

    /// Takes away the seconds before `second`.
    pub(crate) fn take_before(&mut self, second: usize, mut take: impl FnMut(usize, Box<Bucket>)) {
        while let Some((number, bucket)) = self.seconds.pop_front_if(|(number, _)| *number < second) {
            take(number, bucket);
        }
    }

    fn bucket(&mut self, second: usize) -> &mut Bucket {
        // Sessions that share a recorder may come a little out of order, so the last is not always the one.
        let at = self.seconds.partition_point(|(number, _)| *number < second);
        if self.seconds.get(at).is_none_or(|(number, _)| *number != second) {
            self.seconds.insert(at, (second, Box::default()));
        }
        &mut self.seconds[at].1
    }
}
