//! The level at which the share of requests over a limit crosses the allowed one, from runs around it. Near its limit the
//! share of a queue grows by a factor for each step of the load (exactly so with one server and exponential times), so a
//! line is fitted to the logarithms of the shares, each run with the weight of its sampling error. All runs near the limit count,
//! so the choice of the last two levels, which chance favoured, does not make the answer look surer than it is.

use crate::moments::quantile;
use crate::share::Share;
use statrs::distribution::{ContinuousCDF, Normal};

/// Fewest runs of a fit.
const LEAST: usize = 4;

/// The level of the crossing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// The level.
    pub at: f64,
    /// Standard deviation of the level.
    pub deviation: f64,
}

impl Crossing {
    /// Returns the probability that the true crossing is between two levels.
    #[must_use]
    pub fn between(&self, low: f64, high: f64) -> f64 {
        // Refused only for a deviation that is not above 0, which `crossing` never returns.
        Normal::new(self.at, self.deviation).map_or(0.0, |normal| normal.cdf(high) - normal.cdf(low))
    }
}

/// Fits the runs, each with its level and its share, whose interval errs with `error`. `None` for too few runs, if all are of
/// one level, or if the share does not grow with the level. Runs without any request over the limit are left out: they have no
/// logarithm.
#[must_use]
pub fn crossing(runs: &[(f64, Share)], allowed: f64, error: f64) -> Option<Crossing> {
    let scale = quantile(error, Share::FREEDOM);
    let known: Vec<(f64, f64, f64)> = runs
        .iter()
        .filter(|(_, share)| share.share > 0.0)
        .map(|(level, share)| {
            let deviation = (share.high - share.share) / scale / share.share;
            (*level, share.share.ln(), 1.0 / (deviation * deviation))
        })
        .filter(|(.., weight)| weight.is_finite())
        .collect();
    if known.len() < LEAST {
        return None;
    }
    let sum = |of: &dyn Fn(&(f64, f64, f64)) -> f64| known.iter().map(of).sum::<f64>();
    let weights = sum(&|(_, _, w)| *w);
    let (x_mean, y_mean) = (sum(&|(x, _, w)| w * x) / weights, sum(&|(_, y, w)| w * y) / weights);
    let spread = sum(&|(x, _, w)| w * (x - x_mean).powi(2));
    let slope = sum(&|(x, y, w)| w * (x - x_mean) * (y - y_mean)) / spread;
    // Not a number if all runs are of one level.
    if slope.is_nan() || slope <= 0.0 {
        return None;
    }
    let at = x_mean + (allowed.ln() - y_mean) / slope;
    // Runs may differ by more than each of them knows.
    let squares = sum(&|(x, y, w)| w * (y - y_mean - slope * (x - x_mean)).powi(2));
    let excess = (squares / (known.len() as f64 - 2.0)).max(1.0);
    let variance = excess * (1.0 / weights + (at - x_mean).powi(2) / spread) / slope.powi(2);
    (variance > 0.0 && at.is_finite()).then(|| Crossing { at, deviation: variance.sqrt() })
}
