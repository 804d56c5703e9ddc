//! Ratios of two variants with intervals over runs: Student's on the logarithms of the values. Logarithms, because
//! noise multiplies (a busy machine makes each run slower by a share), and because the ratio of B to A then mirrors
//! that of A to B. For pairs that were run in turns the interval is that of the differences within the pairs, which a
//! drift of the machine leaves alone. For groups it is Welch's, with the degrees of freedom of Satterthwaite.

use serde::Serialize;
use thiserror::Error;

use crate::moments::{Estimate, LEAST_RUNS, Moments};

/// The usual error: 5 %, a 95 % interval.
pub const ERROR: f64 = 0.05;

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
    /// True if the whole interval lies above `value`.
    #[must_use]
    pub fn above(&self, value: f64) -> bool {
        self.low > value
    }

    /// True if the whole interval lies below `value`.
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
    /// A value is no finite number.
    #[error("a value is no finite number")]
    NotFinite(Side),
}

/// Returns the ratio of pairs `(a, b)` that were run one after the other.
///
/// # Errors
/// There are fewer than [`LEAST_RUNS`] pairs, or a value is not above 0.
pub fn of_pairs(pairs: &[(f64, f64)], error: f64) -> Result<Ratio, NoRatio> {
    let a = logarithms(pairs.iter().map(|pair| pair.0), Side::A)?;
    let b = logarithms(pairs.iter().map(|pair| pair.1), Side::B)?;
    let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
    let of = Moments::new(&differences).ok_or(NoRatio::TooFewRuns(Side::A))?;
    Ok(ratio(&Estimate::of_one(&of, error), error, [pairs.len(); 2]))
}

/// Returns the ratio of two groups of runs that were not run in turns.
///
/// # Errors
/// A group has fewer than [`LEAST_RUNS`] runs, or a value is not above 0.
pub fn of_groups(a: &[f64], b: &[f64], error: f64) -> Result<Ratio, NoRatio> {
    let moments = |values: &[f64], side| {
        Moments::new(&logarithms(values.iter().copied(), side)?).ok_or(NoRatio::TooFewRuns(side))
    };
    let (of_a, of_b) = (moments(a, Side::A)?, moments(b, Side::B)?);
    Ok(ratio(&Estimate::of_two(&of_a, &of_b, error), error, [a.len(), b.len()]))
}

fn ratio(of: &Estimate, error: f64, runs: [usize; 2]) -> Ratio {
    Ratio {
        ratio: of.middle.exp(),
        low: (of.middle - of.reach).exp(),
        high: (of.middle + of.reach).exp(),
        error,
        runs,
        deviation: of.deviation,
    }
}

fn logarithms(values: impl Iterator<Item = f64>, side: Side) -> Result<Vec<f64>, NoRatio> {
    let one = |value: f64| {
        if value > 0.0 && value.is_finite() { Ok(value.ln()) } else { Err(NoRatio::NotPositive(side)) }
    };
    values.map(one).collect()
}
