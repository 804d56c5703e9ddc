//! The growth of a latency over a window. In a queue that gets more than it answers, each request waits longer than
//! the one before: with a share of `e` too much, by `e` seconds in each second. A stable queue varies around a level.

use crate::moments::quantile;

/// Batches of a series.
const BATCHES: usize = 12;

/// The slope of a latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Growth of the latency, in seconds per second. Equals the share of requests that get no answer.
    pub slope: f64,
    /// Lower end of its interval.
    pub low: f64,
}

/// Returns the slope of the typical latency of each second (in s; `None` for seconds without an answer), by least
/// squares over the means of twelve batches, since neighbouring seconds depend on each other. The true slope is below
/// `low` with probability `error`. `None` for fewer seconds than batches, or if a batch has no answer.
#[must_use]
pub fn growth(latencies: &[Option<f64>], error: f64) -> Option<Growth> {
    let length = latencies.len() / BATCHES;
    if length == 0 {
        return None;
    }
    let batches = latencies.get(latencies.len() % BATCHES..)?.chunks(length);
    let means: Option<Vec<f64>> = batches
        .map(|batch| {
            let known: Vec<f64> = batch.iter().copied().flatten().collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        })
        .collect();
    let means = means?;
    let count = BATCHES as f64;
    let time = |place: usize| (place as f64 - (count - 1.0) / 2.0) * length as f64;
    let mean = means.iter().sum::<f64>() / count;
    let spread: f64 = (0..BATCHES).map(|place| time(place).powi(2)).sum();
    let slope = means.iter().enumerate().map(|(place, y)| time(place) * y).sum::<f64>() / spread;
    let rest = |(place, y): (usize, &f64)| (y - mean - slope * time(place)).powi(2);
    let squares: f64 = means.iter().enumerate().map(rest).sum();
    let deviation = (squares / (count - 2.0) / spread).sqrt();
    // The quantile is two-sided, and only the lower end matters.
    Some(Growth { slope, low: slope - quantile(2.0 * error, count - 2.0) * deviation })
}
