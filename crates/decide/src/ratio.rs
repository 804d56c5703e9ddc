//! Ratios of two variants with intervals over runs: Student's on the logarithms of the values. Logarithms, because noise
//! multiplies (a busy machine makes each run slower by a share), and because the ratio of B to A then mirrors that of A
//! to B. For pairs that were run in turns the interval is that of the differences within the pairs, which a drift of the
//! machine leaves alone. For groups it is Welch's, with the degrees of freedom of Satterthwaite.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};
use thiserror::Error;

/// The usual error: 5 %, a 95 % interval.
pub const ERROR: f64 = 0.05;

/// Fewest runs of a variant for an interval over runs.
pub const LEAST_RUNS: usize = 2;

/// One of the two variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The first: what is compared with.
    A,
    /// The second.
    B,
}

/// A ratio of two variants, `B / A`, with its interval over runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratio {
    /// The geometric mean of the ratios.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Probability that the interval misses the true ratio, as 0.05.
    pub error: f64,
    /// Runs of A and of B.
    pub runs: [usize; 2],
    /// Standard deviation of the logarithm of the ratio of one run of B to one of A: about the share by which such a
    /// ratio varies.
    pub deviation: f64,
}

impl Ratio {
    /// Tells whether the whole interval lies above `value`.
    #[must_use]
    pub fn above(&self, value: f64) -> bool {
        self.low > value
    }

    /// Tells whether the whole interval lies below `value`.
    #[must_use]
    pub fn below(&self, value: f64) -> bool {
        self.high < value
    }
}

/// The reason why there is no ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NoRatio {
    /// A variant has fewer than [`LEAST_RUNS`] runs. The other variant may have, too.
    #[error("an interval over runs needs at least {LEAST_RUNS} runs of each variant")]
    TooFewRuns(Side),
    /// A value is zero, negative or not finite, so it has no logarithm.
    #[error("a value is not above 0")]
    NotPositive(Side),
}

/// Returns the ratio of pairs `(a, b)` that were run one after the other.
///
/// # Errors
/// There are fewer than [`LEAST_RUNS`] pairs, or a value is not above 0.
pub fn of_pairs(pairs: &[(f64, f64)], error: f64) -> Result<Ratio, NoRatio> {
    let a = logarithms(pairs.iter().map(|pair| pair.0), Side::A)?;
    let b = logarithms(pairs.iter().map(|pair| pair.1), Side::B)?;
    let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
    let of = Moments::new(&differences, Side::A)?;
    let reach = quantile(error, of.count - 1.0) * of.of_mean().sqrt();
    Ok(ratio(of.mean, reach, error, [pairs.len(); 2], of.variance.sqrt()))
}

/// Returns the ratio of two groups of runs that were not run in turns.
///
/// # Errors
/// A group has fewer than [`LEAST_RUNS`] runs, or a value is not above 0.
pub fn of_groups(a: &[f64], b: &[f64], error: f64) -> Result<Ratio, NoRatio> {
    let of_a = Moments::new(&logarithms(a.iter().copied(), Side::A)?, Side::A)?;
    let of_b = Moments::new(&logarithms(b.iter().copied(), Side::B)?, Side::B)?;
    let variance = of_a.of_mean() + of_b.of_mean();
    let parts: f64 = [&of_a, &of_b].iter().map(|of| of.of_mean().powi(2) / (of.count - 1.0)).sum();
    // Without any variation the quantile does not matter.
    let freedom = if parts > 0.0 { variance.powi(2) / parts } else { of_a.count + of_b.count - 2.0 };
    let reach = quantile(error, freedom) * variance.sqrt();
    let deviation = (of_a.variance + of_b.variance).sqrt();
    Ok(ratio(of_b.mean - of_a.mean, reach, error, [a.len(), b.len()], deviation))
}

fn ratio(logarithm: f64, reach: f64, error: f64, runs: [usize; 2], deviation: f64) -> Ratio {
    Ratio {
        ratio: logarithm.exp(),
        low: (logarithm - reach).exp(),
        high: (logarithm + reach).exp(),
        error,
        runs,
        deviation,
    }
}

fn logarithms(values: impl Iterator<Item = f64>, side: Side) -> Result<Vec<f64>, NoRatio> {
    let one = |value: f64| {
        if value > 0.0 && value.is_finite() { Ok(value.ln()) } else { Err(NoRatio::NotPositive(side)) }
    };
    values.map(one).collect()
}

/// Mean and variance of some values.
struct Moments {
    count: f64,
    mean: f64,
    variance: f64,
}

impl Moments {
    fn new(values: &[f64], side: Side) -> Result<Self, NoRatio> {
        if values.len() < LEAST_RUNS {
            return Err(NoRatio::TooFewRuns(side));
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Ok(Self { count, mean, variance })
    }

    /// Variance of the mean.
    fn of_mean(&self) -> f64 {
        self.variance / self.count
    }
}

/// Returns Student's two-sided quantile: a variable with `freedom` degrees is farther from 0 with probability `error`.
pub(crate) fn quantile(error: f64, freedom: f64) -> f64 {
    // Refused only for degrees of freedom that are not above 0, which no caller has; then nothing is excluded.
    StudentsT::new(0.0, 1.0, freedom)
        .map_or(f64::INFINITY, |distribution| distribution.inverse_cdf(1.0 - error / 2.0))
}
