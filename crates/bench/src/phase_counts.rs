//! Counts of the phases of a run: latencies, queues, and the attempts that the database aborted.
//!
//! They come with the seconds in which they were counted, so the collector and a coordinator add them up as they add
//! up seconds: no histogram is averaged, and a recorder holds those of a second or two.

use crate::fate::Fate;
use crate::histogram::histogram;
use crate::sparse_histogram::ThreeDigits;
use hdrhistogram::Histogram;
use lydite_database::AbortReason;
use serde::{Deserialize, Serialize};

/// Requests of an open loop in one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenPhase {
    /// Requests due in the phase, begun or not.
    pub due: u64,
    /// Requests that were due before the phase and that no session had begun at its start.
    pub backlog_before: u64,
    /// Requests that were due before the end of the phase and that no session had begun by then.
    pub backlog: u64,
}

/// Results of one phase. A transaction belongs to the phase in which it was due, with all its attempts; the first phase
/// also has those that were due in the warm-up and count.
#[derive(Clone, Debug)]
pub struct PhaseMeasurement {
    /// Results by transaction type, in the order of the workload's types.
    pub kinds: Vec<PhaseKind>,
    /// Attempts that the database aborted, in the order of [`AbortReason::ALL`].
    pub aborts: [u64; AbortReason::COUNT],
}

/// Results of one transaction type in one phase. See [`crate::KindMeasurement`] for the fields.
#[derive(Clone, Debug)]
pub struct PhaseKind {
    /// Retries of all transactions.
    pub retries: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// Transactions with an unknown outcome.
    pub unknown: u64,
    /// Times from due to answered, in nanoseconds.
    pub latency: Histogram<u64>,
    /// Times from due until a session took the request, in nanoseconds.
    pub queue: Histogram<u64>,
}

/// Counts of one phase, over the transactions that count. What was due in the warm-up belongs to the first phase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PhaseCounts {
    /// Counts by transaction type.
    pub(crate) kinds: Vec<KindOfPhase>,
    /// Aborted attempts, in the order of [`AbortReason::ALL`].
    pub(crate) aborts: [u64; AbortReason::COUNT],
}

/// Counts of one transaction type in one phase. The histograms are of the completed transactions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct KindOfPhase {
    pub(crate) retries: u64,
    pub(crate) failed: u64,
    pub(crate) unknown: u64,
    pub(crate) latency: ThreeDigits,
    pub(crate) queue: ThreeDigits,
}

impl PhaseCounts {
    pub(crate) fn new(kinds: usize) -> Self {
        Self { kinds: vec![KindOfPhase::default(); kinds], aborts: [0; AbortReason::COUNT] }
    }

    /// Returns the counts of phase `number` among those that have any, which are in order.
    pub(crate) fn of(phases: &mut Vec<(usize, Self)>, number: usize, kinds: usize) -> &mut Self {
        let at = phases.partition_point(|(before, _)| *before < number);
        if phases.get(at).is_none_or(|(found, _)| *found != number) {
            phases.insert(at, (number, Self::new(kinds)));
        }
        &mut phases[at].1
    }

    /// Adds the counts of another second or process to those of the same phases.
    pub(crate) fn merge_all(into: &mut Vec<(usize, Self)>, from: &[(usize, Self)]) {
        for (number, counts) in from {
            Self::of(into, *number, counts.kinds.len()).merge(counts);
        }
    }

    fn merge(&mut self, other: &Self) {
        for (into, from) in self.kinds.iter_mut().zip(&other.kinds) {
            into.retries += from.retries;
            into.failed += from.failed;
            into.unknown += from.unknown;
            into.latency.merge(&from.latency);
            into.queue.merge(&from.queue);
        }
        for (into, from) in self.aborts.iter_mut().zip(other.aborts) {
            *into += from;
        }
    }

    /// Returns the results of the phase.
    pub(crate) fn measurement(&self) -> PhaseMeasurement {
        let dense = |counts: &ThreeDigits| -> Histogram<u64> {
            let mut all = histogram();
            counts.add_to(&mut all);
            all
        };
        let of_kind = |kind: &KindOfPhase| PhaseKind {
            retries: kind.retries,
            failed: kind.failed,
            unknown: kind.unknown,
            latency: dense(&kind.latency),
            queue: dense(&kind.queue),
        };
        PhaseMeasurement { kinds: self.kinds.iter().map(of_kind).collect(), aborts: self.aborts }
    }
}

impl KindOfPhase {
    /// Counts an answered transaction that a session took after `queue` nanoseconds, and whose answer came after
    /// `latency`.
    pub(crate) fn count(&mut self, fate: Fate, retries: u32, (queue, latency): (u64, u64)) {
        self.retries += u64::from(retries);
        self.count_end(fate);
        if matches!(fate, Fate::Committed | Fate::RolledBack) {
            self.latency.count(latency);
            self.queue.count(queue);
        }
    }

    /// Counts the end of a transaction that did not complete.
    pub(crate) fn count_end(&mut self, fate: Fate) {
        self.failed += u64::from(fate == Fate::Failed);
        self.unknown += u64::from(fate == Fate::Unknown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_seconds_add_up_phase_by_phase() {
        let mut all = Vec::new();
        for (phase, latency) in [(3, 7), (0, 5), (3, 9)] {
            let mut second = Vec::new();
            let counts = PhaseCounts::of(&mut second, phase, 2);
            counts.kinds[1].count(Fate::Committed, 2, (1, latency));
            counts.kinds[1].count(Fate::Failed, 1, (1, 1_000));
            counts.kinds[0].count_end(Fate::Unknown);
            counts.aborts[1] += 3;
            PhaseCounts::merge_all(&mut all, &second);
        }
        let numbers: Vec<usize> = all.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [0, 3]);
        let last = all[1].1.measurement();
        let kind = &last.kinds[1];
        assert_eq!((kind.retries, kind.failed, kind.unknown), (6, 2, 0));
        assert_eq!((kind.latency.len(), kind.latency.min(), kind.latency.max()), (2, 7, 9));
        assert_eq!((kind.queue.len(), kind.queue.max()), (2, 1));
        assert_eq!((last.kinds[0].unknown, last.aborts[1], last.aborts[0]), (2, 6, 0));
    }

    /// The book names these sizes.
    #[test]
    fn a_phase_takes_eight_kilobytes_for_each_doubling_of_a_latency() {
        let mut phase = Vec::new();
        let counts = PhaseCounts::of(&mut phase, 0, 5);
        // Each of five types has all latencies from 1 to 64 ms, and each waited as long.
        for kind in &mut counts.kinds {
            (1_000_000..64_000_000)
                .step_by(250)
                .for_each(|time| kind.count(Fate::Committed, 0, (time, time)));
        }
        let bytes: usize = counts.kinds.iter().map(|kind| kind.latency.bytes() + kind.queue.bytes()).sum();
        assert!(bytes > 10 * 6 * 8_192 && bytes < 10 * 7 * 8_192 + 10 * 4_096, "{bytes} bytes");
    }
}
