//! Student's intervals of means: of one set of values, and of the difference of two (Welch's).

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Fewest runs of a variant for an interval over runs.
pub const LEAST_RUNS: usize = 2;

/// Mean and variance of some values.
pub(crate) struct Moments {
    count: f64,
    mean: f64,
    variance: f64,
}

impl Moments {
    /// Returns those of at least [`LEAST_RUNS`] values; `None` of fewer.
    pub(crate) fn new(values: &[f64]) -> Option<Self> {
        if values.len() < LEAST_RUNS {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Some(Self { count, mean, variance })
    }

    /// Variance of the mean.
    fn of_mean(&self) -> f64 {
        self.variance / self.count
    }
}

/// The middle of an interval, its reach to both sides, and the standard deviation of one value.
pub(crate) struct Estimate {
    pub(crate) middle: f64,
    pub(crate) reach: f64,
    pub(crate) deviation: f64,
}

impl Estimate {
    /// Returns Student's interval of a mean.
    pub(crate) fn of_one(of: &Moments, error: f64) -> Self {
        let reach = quantile(error, of.count - 1.0) * of.of_mean().sqrt();
        Self { middle: of.mean, reach, deviation: of.variance.sqrt() }
    }

    /// Returns Welch's interval of the mean of `b` minus that of `a`, with the degrees of freedom of Satterthwaite.
    pub(crate) fn of_two(a: &Moments, b: &Moments, error: f64) -> Self {
        let variance = a.of_mean() + b.of_mean();
        let parts: f64 = [a, b].iter().map(|of| of.of_mean().powi(2) / (of.count - 1.0)).sum();
        // Without any variation the quantile does not matter.
        let freedom = if parts > 0.0 { variance.powi(2) / parts } else { a.count + b.count - 2.0 };
        let reach = quantile(error, freedom) * variance.sqrt();
        Self { middle: b.mean - a.mean, reach, deviation: (a.variance + b.variance).sqrt() }
    }
}

/// Returns Student's two-sided quantile: a variable with `freedom` degrees is farther from 0 with probability `error`.
pub(crate) fn quantile(error: f64, freedom: f64) -> f64 {
    // Refused only for degrees of freedom that are not above 0, which no caller has; then nothing is excluded.
    StudentsT::new(0.0, 1.0, freedom)
        .map_or(f64::INFINITY, |distribution| distribution.inverse_cdf(1.0 - error / 2.0))
}
