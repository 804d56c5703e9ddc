//! The totals of a run so far: the sum of its recorders.

use crate::histogram::{histogram, merge};
use crate::measurement::{KindMeasurement, Whole};
use crate::recorder::Recorder;
use crate::workload::{Facts, Runnable};
use hdrhistogram::Histogram;
use lydite_database::AbortReason;
use serde::{Deserialize, Serialize};

/// Counts of a run that are sums. See [`crate::Measurement`] for the fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "W::Facts: Serialize", deserialize = "W::Facts: Deserialize<'de>"))]
pub(crate) struct Totals<W: Runnable> {
    pub(crate) kinds: Vec<KindMeasurement>,
    pub(crate) whole: Whole,
    pub(crate) aborts: [u64; AbortReason::COUNT],
    pub(crate) facts: W::Facts,
    #[serde(with = "crate::histogram::wire")]
    pub(crate) lateness: Histogram<u64>,
    pub(crate) straddling: u64,
}

impl<W: Runnable> Totals<W> {
    pub(crate) fn new() -> Self {
        Self {
            kinds: W::KINDS.iter().map(|_| KindMeasurement::new()).collect(),
            whole: Whole::new(W::KINDS.len()),
            aborts: [0; AbortReason::COUNT],
            facts: W::Facts::default(),
            lateness: histogram(),
            straddling: 0,
        }
    }

    /// Adds the counts of a recorder.
    pub(crate) fn add(&mut self, recorder: &Recorder<W>) {
        for (total, kind) in self.kinds.iter_mut().zip(&recorder.kinds) {
            kind.add_to(total);
        }
        for (total, aborts) in self.aborts.iter_mut().zip(recorder.aborts) {
            *total += aborts;
        }
        self.whole.merge(&recorder.whole);
        self.facts.merge(&recorder.facts);
        recorder.lateness.add_to(&mut self.lateness);
        self.straddling += recorder.straddling;
    }

    /// Adds the counts of another process.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (total, kind) in self.kinds.iter_mut().zip(&other.kinds) {
            total.merge(kind);
        }
        for (total, aborts) in self.aborts.iter_mut().zip(other.aborts) {
            *total += aborts;
        }
        self.whole.merge(&other.whole);
        self.facts.merge(&other.facts);
        merge(&mut self.lateness, &other.lateness);
        self.straddling += other.straddling;
    }
}
