//! The share of requests that took longer than a limit, with its interval. Requests of one second depend on each other
//! (a checkpoint slows them all), so an interval that counts each as independent is far too narrow. Here neighbouring
//! seconds are joined to a few batches, which are nearly independent (the method of batch means; Schmeiser 1982 finds
//! 10 to 30 batches enough), and the share is their ratio estimate.

use crate::moments::quantile;

/// Batches of a series.
const BATCHES: usize = 12;

/// Fewest seconds of a series that tells anything about its own variation: two for each batch.
pub const LEAST_SECONDS: usize = 2 * BATCHES;

/// The requests that ended in a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Second {
    /// Requests.
    pub all: u64,
    /// Of these, requests over the limit.
    pub over: u64,
}

/// A share with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// The share over the limit, 0 to 1.
    pub share: f64,
    /// Lower end of the interval, at least 0.
    pub low: f64,
    /// Upper end of the interval, at most 1.
    pub high: f64,
}

impl Share {
    /// Degrees of freedom of the interval of a run.
    pub(crate) const FREEDOM: f64 = BATCHES as f64 - 1.0;

    /// Returns the distance from the share to the upper end. The lower end is cut at 0.
    fn reach(&self) -> f64 {
        self.high - self.share
    }
}

/// Returns the share of several runs together, each with the same weight. Its interval reaches at least two standard
/// errors between the runs: none of them can know how far runs differ. `None` without a run.
#[must_use]
pub fn pooled(runs: &[Share]) -> Option<Share> {
    if runs.is_empty() {
        return None;
    }
    let count = runs.len() as f64;
    let share = runs.iter().map(|run| run.share).sum::<f64>() / count;
    let within = runs.iter().map(|run| run.reach().powi(2)).sum::<f64>().sqrt() / count;
    let squares: f64 = runs.iter().map(|run| (run.share - share).powi(2)).sum();
    let between = if runs.len() > 1 { 2.0 * (squares / (count - 1.0) / count).sqrt() } else { 0.0 };
    let reach = within.max(between);
    Some(Share { share, low: (share - reach).max(0.0), high: (share + reach).min(1.0) })
}

/// Returns the share over the limit with an interval that errs with probability `error`; `None` for fewer than
/// [`LEAST_SECONDS`] seconds, and without any request.
#[must_use]
pub fn share_over(seconds: &[Second], error: f64) -> Option<Share> {
    if seconds.len() < LEAST_SECONDS {
        return None;
    }
    let sums = |seconds: &[Second]| {
        seconds
            .iter()
            .fold((0.0, 0.0), |(all, over), second| (all + second.all as f64, over + second.over as f64))
    };
    let (all, over) = sums(seconds);
    if all == 0.0 {
        return None;
    }
    let share = over / all;
    let length = seconds.len() / BATCHES;
    // A remainder at the beginning is left out of the variation, not of the share.
    let batches = seconds.get(seconds.len() % BATCHES..)?.chunks(length);
    let squares: f64 = batches.map(sums).map(|(all, over)| (over - share * all).powi(2)).sum();
    let count = BATCHES as f64;
    // Variance of the sum of the batches' differences, over the square of all requests.
    let of_batches = squares * count / (count - 1.0) / (all * all);
    // Equal batches, as those without any request over the limit, do not prove that there is no variation: at least
    // that of independent requests (with one more of each kind, so that a share of 0 has some).
    let smoothed = (over + 1.0) / (all + 2.0);
    let of_chance = smoothed * (1.0 - smoothed) / all;
    let reach = quantile(error, Share::FREEDOM) * of_batches.max(of_chance).sqrt();
    Some(Share { share, low: (share - reach).max(0.0), high: (share + reach).min(1.0) })
}
