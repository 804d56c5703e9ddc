//! Throughput so far (NOPM, or transactions per second): the samples of the sparkline, and the mean over the measured
//! time.

use std::collections::VecDeque;
use std::time::Duration;

/// Most samples: the columns of the widest frame.
const SAMPLES_MAX: usize = super::screen::WIDTH_MAX as usize;

/// One interval's throughput.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// End of the interval, since the start of the run.
    pub(super) at: Duration,
    /// New orders per minute in the interval, or transactions per second for workloads without new orders.
    pub(super) rate: f64,
    /// True if the interval belongs to the measured time.
    pub(super) measured: bool,
}

/// The last samples, and the mean over all measured ones.
#[derive(Debug, Default)]
pub(super) struct History {
    samples: VecDeque<Sample>,
    last_at: Duration,
    measured_s: f64,
    /// Integral of the rate over the measured seconds.
    rate_seconds: f64,
}

impl History {
    /// Adds the interval that ended at `sample.at`, unless its rate is not finite.
    pub(super) fn push(&mut self, sample: Sample) {
        let interval_s = sample.at.saturating_sub(self.last_at).as_secs_f64();
        self.last_at = sample.at;
        if !sample.rate.is_finite() {
            return;
        }
        if sample.measured {
            self.measured_s += interval_s;
            self.rate_seconds += sample.rate * interval_s;
        }
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// Returns the newest `count` samples, oldest first.
    pub(super) fn last(&self, count: usize) -> impl Iterator<Item = &Sample> + Clone {
        self.samples.iter().skip(self.samples.len().saturating_sub(count))
    }

    /// Returns the highest rate of the kept measured samples, or of all samples before any is measured.
    pub(super) fn peak(&self) -> f64 {
        let highest = |measured: bool| {
            let of = self.samples.iter().filter(|sample| sample.measured || !measured);
            of.map(|sample| sample.rate).fold(0.0, f64::max)
        };
        if self.measured_s > 0.0 { highest(true) } else { highest(false) }
    }

    /// Returns the mean rate over the measured time, weighted by time; none before any was measured.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.measured_s > 0.0).then(|| self.rate_seconds / self.measured_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(s: u64, rate: f64, measured: bool) -> Sample {
        Sample { at: Duration::from_secs(s), rate, measured }
    }

    #[test]
    fn the_mean_excludes_the_warm_up_and_weighs_by_time() {
        let mut history = History::default();
        history.push(sample(5, 900.0, false));
        assert_eq!((history.mean(), history.peak()), (None, 900.0));
        history.push(sample(6, 100.0, true));
        history.push(sample(9, 200.0, true));
        assert_eq!((history.mean(), history.peak()), (Some(175.0), 200.0));
        history.push(sample(10, f64::NAN, true));
        assert_eq!(history.mean(), Some(175.0));
    }

    #[test]
    fn a_long_run_keeps_only_what_fits_the_widest_frame() {
        let mut history = History::default();
        for s in 0..100_000 {
            history.push(sample(s, s as f64, true));
        }
        assert_eq!(history.last(usize::MAX).count(), SAMPLES_MAX);
        assert_eq!(history.last(1).next().map(|s| s.rate), Some(99_999.0));
    }
}
