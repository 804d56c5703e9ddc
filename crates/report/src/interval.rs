//! 95 % confidence intervals for ratios of two series of seconds, which hold their level although the seconds of a run
//! depend on each other: a slow second is followed by another (checkpoints, compactions).
//!
//! The interval of a ratio of means is Student's on the logarithms, with the long-run variances of both series
//! (`variance.rs`) and the degrees of freedom of Welch and Satterthwaite. That of a ratio of medians takes the
//! quantiles at 1/2 ± the uncertainty of the share of seconds below the median (Woodruff 1952) and joins both series
//! by the distances of the limits from the medians (Zou and Donner 2008). Series that are worth too few independent
//! seconds get no interval: any number would be too narrow. The tests below measure the level by simulation.

mod student;
#[cfg(test)]
mod tests;
mod variance;

use std::cmp::Ordering;

use student::quantile_975;
pub(crate) use variance::mean;
use variance::{LongRun, long_run};

/// Fewest seconds of a series that gets an interval.
pub(crate) const SECONDS_NEEDED: usize = 20;

/// Fewest independent seconds that a series must be worth to get an interval.
pub(crate) const INDEPENDENT_NEEDED: f64 = 4.0;

/// A number that sums up a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statistic {
    Mean,
    Median,
}

/// The reason why a ratio has no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoInterval {
    /// A series has fewer than [`SECONDS_NEEDED`].
    TooShort,
    /// The seconds of a series depend on each other too much, or drift: it is worth fewer than [`INDEPENDENT_NEEDED`]
    /// independent seconds. True for each series that is so.
    TooDependent([bool; 2]),
    /// A statistic is not above 0, so the ratio has no logarithm.
    NotPositive,
}

/// Returns the 95 % interval of `statistic(b) / statistic(a)`.
pub(crate) fn ratio_interval(a: &[f64], b: &[f64], statistic: Statistic) -> Result<(f64, f64), NoInterval> {
    if a.len() < SECONDS_NEEDED || b.len() < SECONDS_NEEDED {
        return Err(NoInterval::TooShort);
    }
    let (low, high) = match statistic {
        Statistic::Mean => of_means(a, b)?,
        Statistic::Median => of_medians(a, b)?,
    };
    let (low, high) = (low.exp(), high.exp());
    if low.is_finite() && high.is_finite() {
        Ok((low, high))
    } else {
        Err(NoInterval::TooDependent([true; 2]))
    }
}

/// Returns the interval of the logarithm of the ratio of means.
fn of_means(a: &[f64], b: &[f64]) -> Result<(f64, f64), NoInterval> {
    let (mean_a, mean_b) = (positive(mean(a))?, positive(mean(b))?);
    let (of_a, of_b) = both(known(a), known(b))?;
    let variances = [of_a.of_mean / mean_a.powi(2), of_b.of_mean / mean_b.powi(2)];
    let reach = student(variances, [&of_a, &of_b]) * variances.iter().sum::<f64>().sqrt();
    let ratio = (mean_b / mean_a).ln();
    Ok((ratio - reach, ratio + reach))
}

/// Returns the interval of the logarithm of the ratio of medians.
fn of_medians(a: &[f64], b: &[f64]) -> Result<(f64, f64), NoInterval> {
    let (median_a, median_b) = (positive(median(&mut a.to_vec()))?, positive(median(&mut b.to_vec()))?);
    let (a, b) = both(Quantiles::new(a, median_a), Quantiles::new(b, median_b))?;
    // The distances at one standard error stand for the variances of both medians.
    let variance = |(low, high): (f64, f64)| ((high - low) / 2.0).powi(2);
    let (of_a, of_b) = both(a.limits(1.0), b.limits(1.0))?;
    let t = student([variance(of_a), variance(of_b)], [&a.below, &b.below]);
    let ((low_a, high_a), (low_b, high_b)) = both(a.limits(t), b.limits(t))?;
    let ratio = b.median - a.median;
    let down = (b.median - low_b).hypot(high_a - a.median);
    let up = (high_b - b.median).hypot(a.median - low_a);
    Ok((ratio - down, ratio + up))
}

/// The quantiles of a series around its median, as logarithms.
struct Quantiles {
    sorted: Vec<f64>,
    median: f64,
    /// The share of seconds below the median.
    below: LongRun,
}

impl Quantiles {
    /// Returns `None` for a series that is worth too few seconds. `median` is its own, above 0.
    fn new(series: &[f64], median: f64) -> Option<Self> {
        let side = |second: &f64| match second.total_cmp(&median) {
            Ordering::Less => 1.0,
            Ordering::Equal => 0.5,
            Ordering::Greater => 0.0,
        };
        let below = known(&series.iter().map(side).collect::<Vec<f64>>())?;
        let mut sorted = series.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Self { sorted, median: median.ln(), below })
    }

    /// Returns the quantiles `t` standard errors below and above the median; `None` if the series does not reach them.
    fn limits(&self, t: f64) -> Option<(f64, f64)> {
        let last = (self.sorted.len() - 1) as f64;
        let reach = t * self.below.of_mean.sqrt() * self.sorted.len() as f64;
        let (low, high) = (last / 2.0 - reach, last / 2.0 + reach);
        let at = |place: f64| {
            let (before, after) =
                (self.sorted.get(place.floor() as usize)?, self.sorted.get(place.ceil() as usize)?);
            Some((before + (after - before) * place.fract()).ln())
        };
        let (low, high) = (at(low).filter(|_| low >= 0.0)?, at(high)?);
        // Of an even number of seconds the median is the upper one of two, so a limit may pass it.
        (low.is_finite() && high.is_finite()).then(|| (low.min(self.median), high.max(self.median)))
    }
}

/// Returns the long-run variance of a series that is worth enough independent seconds.
fn known(series: &[f64]) -> Option<LongRun> {
    long_run(series).filter(|of| of.independent >= INDEPENDENT_NEEDED)
}

/// Returns both values, or the series without one.
fn both<T>(of_a: Option<T>, of_b: Option<T>) -> Result<(T, T), NoInterval> {
    match (of_a, of_b) {
        (Some(of_a), Some(of_b)) => Ok((of_a, of_b)),
        (of_a, of_b) => Err(NoInterval::TooDependent([of_a.is_none(), of_b.is_none()])),
    }
}

/// Returns Student's quantile for the sum of two variances, by the degrees of freedom of Welch and Satterthwaite.
fn student(variances: [f64; 2], of: [&LongRun; 2]) -> f64 {
    let sum: f64 = variances.iter().sum();
    let parts: f64 = variances.iter().zip(of).map(|(variance, of)| variance.powi(2) / of.freedom).sum();
    // Without any variation the quantile does not matter.
    let freedom = if parts > 0.0 { sum.powi(2) / parts } else { of.iter().map(|of| of.freedom).sum() };
    quantile_975(freedom)
}

fn positive(value: f64) -> Result<f64, NoInterval> {
    if value > 0.0 && value.is_finite() { Ok(value) } else { Err(NoInterval::NotPositive) }
}

/// Returns the median (the upper one of an even number of values); reorders the values.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}
