//! The long-run variance of a series: what the mean of seconds that depend on each other varies by.
//!
//! A series is made nearly white by an autoregression of first order, whose coefficient is corrected for its bias and
//! raised by its standard error. The spectrum of the rest at frequency 0 is the mean of its lowest frequencies
//! (orthonormal cosines; Lazarus, Lewis, Stock and Watson 2018). So the variance has as many degrees of freedom as
//! there are frequencies. The same is done for means of neighbouring seconds, which show a slow dependence that the
//! noise of single seconds hides; the larger variance counts.

/// Coefficient of the autoregression from which a series has no mean that it returns to: it drifts, or stepped.
const DRIFT: f64 = 0.97;

/// Fewest blocks whose coefficient shows a drift.
const BLOCKS_OF_DRIFT: usize = 10;

/// Fewest frequencies, so the fewest degrees of freedom.
const FEWEST_FREQUENCIES: usize = 4;

/// The mean of a series as a random number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LongRun {
    /// Variance of the mean.
    pub(super) of_mean: f64,
    /// Degrees of freedom of this variance.
    pub(super) freedom: f64,
    /// Independent seconds that would leave the mean as uncertain.
    pub(super) independent: f64,
}

/// Returns the long-run variance of a series; `None` if it drifts, is too short, or not finite.
pub(super) fn long_run(series: &[f64]) -> Option<LongRun> {
    let block = (series.len() as f64).cbrt().round() as usize;
    // A remainder at the beginning, where a warm-up may linger, is left out.
    let whole = series.get(series.len() % block.max(1)..)?;
    let blocks: Vec<f64> = whole.chunks_exact(block.max(1)).map(mean).collect();
    let of_seconds = coefficient(series, 1.0);
    // Chance alone brings that of a few blocks to 1.
    let of_blocks = coefficient(&blocks, 0.0);
    if of_seconds >= DRIFT || of_blocks >= DRIFT && blocks.len() >= BLOCKS_OF_DRIFT {
        return None;
    }
    let seconds = variance_of_mean(series, of_seconds)?;
    let blocks = variance_of_mean(&blocks, of_blocks.min(DRIFT))?;
    let (of_mean, freedom) = if blocks.0 > seconds.0 { blocks } else { seconds };
    let independent = if of_mean > 0.0 { variance(series) / of_mean } else { series.len() as f64 };
    of_mean.is_finite().then_some(LongRun { of_mean, freedom, independent })
}

/// Returns the arithmetic mean.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the variance of the mean and its degrees of freedom. `coefficient` is that of the autoregression.
fn variance_of_mean(series: &[f64], coefficient: f64) -> Option<(f64, f64)> {
    let n = series.len() as f64;
    if series.len() <= FEWEST_FREQUENCIES {
        return None;
    }
    let middle = mean(series);
    let rest: Vec<f64> =
        series.windows(2).map(|two| (two[1] - middle) - coefficient * (two[0] - middle)).collect();
    // The rate n^(2/3) and the factor 0.4 are those that the authors recommend.
    let frequencies = ((0.4 * n.powf(2.0 / 3.0)).round() as usize).max(FEWEST_FREQUENCIES);
    let spectrum =
        (1..=frequencies).map(|frequency| power(&rest, frequency)).sum::<f64>() / frequencies as f64;
    let long_run = spectrum / (1.0 - coefficient).powi(2);
    // Seconds that alternate would give less than independent ones. Nobody should rely on it.
    Some((long_run.max(variance(series)) / n, frequencies as f64))
}

/// Returns the coefficient of the autoregression of first order, at least 0, raised by `errors` of its standard errors.
fn coefficient(series: &[f64], errors: f64) -> f64 {
    let n = series.len() as f64;
    let middle = mean(series);
    let squares: f64 = series.iter().map(|value| (value - middle).powi(2)).sum();
    if squares == 0.0 {
        return 0.0;
    }
    let products: f64 = series.windows(2).map(|two| (two[0] - middle) * (two[1] - middle)).sum();
    // The estimate is too low by (1 + 3 coefficient) / n (Kendall 1954).
    let corrected = ((products / squares * n + 1.0) / (n - 3.0)).clamp(0.0, 1.0);
    let error = ((1.0 - corrected.powi(2)) / n).sqrt();
    corrected + errors * error
}

/// Returns the power of a series at a frequency: the square of its coefficient of the orthonormal cosine.
fn power(series: &[f64], frequency: usize) -> f64 {
    let n = series.len() as f64;
    let angle = std::f64::consts::PI * frequency as f64 / n;
    // Cosines of equal steps, each from the two before it.
    let (mut before, mut cosine) = ((angle / 2.0).cos(), (angle / 2.0).cos());
    let step = 2.0 * angle.cos();
    let mut sum = 0.0;
    for value in series {
        sum += value * cosine;
        (before, cosine) = (cosine, step * cosine - before);
    }
    2.0 / n * sum.powi(2)
}

/// Returns the variance of single values.
fn variance(series: &[f64]) -> f64 {
    let middle = mean(series);
    series.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (series.len() as f64 - 1.0)
}
