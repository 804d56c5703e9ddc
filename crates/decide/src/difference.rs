//! Differences of two variants, and means of one, with intervals over runs: Student's on the values themselves, for
//! values that may be 0 and so have no logarithm, and for thresholds that are no ratios.

use crate::moments::{Estimate, Moments};
use crate::ratio::{NoRatio, Side};

/// A difference of two variants, `B - A`, or the mean of one, with its interval over runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The difference of the means, or the mean.
    pub difference: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Probability that the interval misses the true value, as 0.05.
    pub error: f64,
    /// Standard deviation of the difference of one run of B to one of A; of one run, if it is a mean.
    pub deviation: f64,
}

impl Difference {
    fn new(of: &Estimate, error: f64) -> Self {
        let (low, high) = (of.middle - of.reach, of.middle + of.reach);
        Self { difference: of.middle, low, high, error, deviation: of.deviation }
    }
}

/// Returns the difference of pairs `(a, b)` that were run one after the other.
///
/// # Errors
/// There are fewer than [`LEAST_RUNS`](crate::LEAST_RUNS) pairs, or a value is not finite.
pub fn difference_of_pairs(pairs: &[(f64, f64)], error: f64) -> Result<Difference, NoRatio> {
    finite(pairs.iter().map(|pair| pair.0), Side::A)?;
    finite(pairs.iter().map(|pair| pair.1), Side::B)?;
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    let of = Moments::new(&differences).ok_or(NoRatio::TooFewRuns(Side::A))?;
    Ok(Difference::new(&Estimate::of_one(&of, error), error))
}

/// Returns the difference of two groups of runs that were not run in turns.
///
/// # Errors
/// A group has fewer than [`LEAST_RUNS`](crate::LEAST_RUNS) runs, or a value is not finite.
pub fn difference_of_groups(a: &[f64], b: &[f64], error: f64) -> Result<Difference, NoRatio> {
    finite(a.iter().copied(), Side::A)?;
    finite(b.iter().copied(), Side::B)?;
    let a = Moments::new(a).ok_or(NoRatio::TooFewRuns(Side::A))?;
    let b = Moments::new(b).ok_or(NoRatio::TooFewRuns(Side::B))?;
    Ok(Difference::new(&Estimate::of_two(&a, &b, error), error))
}

/// Returns the mean of the runs of one variant, which is called B in errors.
///
/// # Errors
/// There are fewer than [`LEAST_RUNS`](crate::LEAST_RUNS) runs, or a value is not finite.
pub fn mean_of_runs(values: &[f64], error: f64) -> Result<Difference, NoRatio> {
    finite(values.iter().copied(), Side::B)?;
    let of = Moments::new(values).ok_or(NoRatio::TooFewRuns(Side::B))?;
    Ok(Difference::new(&Estimate::of_one(&of, error), error))
}

fn finite(mut values: impl Iterator<Item = f64>, side: Side) -> Result<(), NoRatio> {
    if values.all(f64::is_finite) { Ok(()) } else { Err(NoRatio::NotFinite(side)) }
}
