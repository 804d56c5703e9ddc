//! Confidence intervals for ratios of two series, by moving-block bootstrap.
//!
//! The seconds of a run are not independent: a slow second is followed by another (checkpoints, compactions). If single
//! seconds were drawn, the intervals would be too narrow. So whole blocks of neighbouring seconds are drawn (Künsch
//! 1989). Blocks of √n seconds keep dependence up to that length and still leave √n blocks to draw from.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// Resamples drawn for one interval.
pub(crate) const RESAMPLES: usize = 2000;

/// Fewest seconds of a series that gets an interval.
pub(crate) const SECONDS_NEEDED: usize = 20;

/// A constant, so that equal data gives equal intervals.
const SEED: u64 = 0x6c79_6469_7465;

/// Returns the block length, in seconds, for a series of `n` seconds: √n, at least 3.
#[must_use]
pub(crate) fn block_length(n: usize) -> usize {
    ((n as f64).sqrt().round() as usize).max(3).min(n.max(1))
}

/// Returns the 95 % interval of `statistic(b) / statistic(a)`; `None` if a series is shorter than [`SECONDS_NEEDED`],
/// or if a resample has no finite ratio.
pub(crate) fn ratio_interval(a: &[f64], b: &[f64], statistic: fn(&mut [f64]) -> f64) -> Option<(f64, f64)> {
    if a.len() < SECONDS_NEEDED || b.len() < SECONDS_NEEDED {
        return None;
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut drawn = Vec::with_capacity(a.len().max(b.len()));
    let mut ratios: Vec<f64> = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        draw(&mut rng, a, &mut drawn);
        let of_a = statistic(&mut drawn);
        draw(&mut rng, b, &mut drawn);
        let of_b = statistic(&mut drawn);
        let ratio = of_b / of_a;
        if ratio.is_finite() {
            ratios.push(ratio);
        }
    }
    // Without the infinite ratios the interval would look narrower than the data allows.
    if ratios.len() < RESAMPLES {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let at = |quantile: f64| ratios[((ratios.len() - 1) as f64 * quantile).round() as usize];
    Some((at(0.025), at(0.975)))
}

/// Fills `drawn` with blocks of `series` until it is as long as the series.
fn draw(rng: &mut Xoshiro256PlusPlus, series: &[f64], drawn: &mut Vec<f64>) {
    let length = block_length(series.len());
    let starts = (series.len() - length + 1) as u64;
    drawn.clear();
    while drawn.len() < series.len() {
        // The bias of the remainder is below 2^-40 for any series that fits memory.
        let start = (rng.next_u64() % starts) as usize;
        let taken = length.min(series.len() - drawn.len());
        drawn.extend_from_slice(&series[start..start + taken]);
    }
}

/// Returns the arithmetic mean.
pub(crate) fn mean(values: &mut [f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the median (the upper one of an even number of values); reorders the values.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}
