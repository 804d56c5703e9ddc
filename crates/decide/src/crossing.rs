//! The level at which the share of requests over a limit crosses the allowed one, from runs around it. Near its limit the
//! share of a queue grows by a factor for each step of the load (exactly so with one server and exponential times), so the
//! logarithm of the expected share is a line over the level. Requests over a limit come in clumps: the variance of a share is
//! its expectation times a factor, which the runs tell. This is a regression with quasi-likelihood (McCullagh and Nelder,
//! *Generalized linear models*, 1989, chapters 6 and 9), by iteratively reweighted least squares. A run without any request over the
//! limit counts like any other. All runs near the limit count, so the choice of the last two levels, which chance favoured, does not
//! make the answer look surer than it is.

use crate::moments::quantile;
use crate::share::Share;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Fewest runs of a fit.
const LEAST: usize = 4;

/// Steps of the fit. It needs about five.
const STEPS: usize = 50;

/// Shares above so many times the allowed one are left out: a queue that is nearly full follows another line.
const FAR: f64 = 10.0;

/// The level of the crossing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// The level.
    pub at: f64,
    /// Standard deviation of the level.
    pub deviation: f64,
    /// Runs that it rests on.
    pub runs: usize,
}

impl Crossing {
    /// Returns the probability that the true crossing is between two levels.
    #[must_use]
    pub fn between(&self, low: f64, high: f64) -> f64 {
        // Refused only for a deviation that is not above 0, or too few runs, which `crossing` never returns.
        StudentsT::new(self.at, self.deviation, self.freedom()).map_or(0.0, |of| of.cdf(high) - of.cdf(low))
    }

    /// Returns half the width of the interval that errs with a probability.
    #[must_use]
    pub fn reach(&self, error: f64) -> f64 {
        quantile(error, self.freedom()) * self.deviation
    }

    fn freedom(&self) -> f64 {
        self.runs as f64 - 2.0
    }
}

/// A line through logarithms: `offset + slope * (level - middle)`.
#[derive(Debug, Clone, Copy)]
struct Line {
    middle: f64,
    offset: f64,
    slope: f64,
    /// Sum of the weights, and of the weighted squares of the distances from the middle.
    weight: f64,
    spread: f64,
}

impl Line {
    /// Fits points, each a level, a logarithm and a weight, by least squares. Not finite if all are of one level.
    fn through(points: &[(f64, f64, f64)]) -> Self {
        let sum = |of: &dyn Fn(&(f64, f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
        let weight = sum(&|(_, _, w)| *w);
        let (middle, offset) = (sum(&|(x, _, w)| w * x) / weight, sum(&|(_, y, w)| w * y) / weight);
        let spread = sum(&|(x, _, w)| w * (x - middle).powi(2));
        let slope = sum(&|(x, y, w)| w * (x - middle) * (y - offset)) / spread;
        Self { middle, offset, slope, weight, spread }
    }

    /// Returns the expected share of a level.
    fn share(&self, level: f64) -> f64 {
        (self.offset + self.slope * (level - self.middle)).exp()
    }

    fn is_finite(&self) -> bool {
        [self.offset, self.slope].iter().all(|of| of.is_finite())
    }
}

/// Fits the runs, each with its level and its share, whose interval errs with `error`. `None` for too few runs, if all are of
/// one level, or if the share does not grow with the level. Runs with more than ten times the allowed share are left out: `None`
/// too if the line has its crossing beyond one of these.
#[must_use]
pub fn crossing(runs: &[(f64, Share)], allowed: f64, error: f64) -> Option<Crossing> {
    let known: Vec<(f64, Share)> =
        runs.iter().filter(|(_, share)| share.share <= FAR * allowed).copied().collect();
    let count = known.len() as f64;
    let mean = known.iter().map(|(_, share)| share.share).sum::<f64>() / count;
    if known.len() < LEAST || mean <= 0.0 {
        return None;
    }
    let line = fit(&known, mean)?;
    let at = line.middle + (allowed.ln() - line.offset) / line.slope;
    let beyond = |(level, share): &(f64, Share)| share.share > FAR * allowed && *level <= at;
    if !at.is_finite() || runs.iter().any(beyond) {
        return None;
    }
    // The factor of the variance, between the runs and within them: a few runs may be alike by chance.
    let apart =
        |(level, share): &(f64, Share)| (share.share - line.share(*level)).powi(2) / line.share(*level);
    let between = known.iter().map(apart).sum::<f64>() / (count - 2.0);
    let scale = quantile(error, Share::FREEDOM);
    let of_run = |(_, share): &(f64, Share)| ((share.high - share.share) / scale).powi(2);
    let within = known.iter().map(of_run).sum::<f64>() / count / mean;
    let factor = between.max(within);
    let variance =
        factor * (1.0 / line.weight + (at - line.middle).powi(2) / line.spread) / line.slope.powi(2);
    (variance > 0.0 && variance.is_finite()).then(|| Crossing {
        at,
        deviation: variance.sqrt(),
        runs: known.len(),
    })
}

/// Fits the line; none if the share does not grow with the level, or if the fit does not settle.
fn fit(known: &[(f64, Share)], mean: f64) -> Option<Line> {
    let start = |(level, share): &(f64, Share)| {
        let expected = f64::midpoint(share.share, mean);
        (*level, expected.ln() + (share.share - expected) / expected, expected)
    };
    let mut line = Line::through(&known.iter().map(start).collect::<Vec<_>>());
    for _ in 0..STEPS {
        let step = |(level, share): &(f64, Share)| {
            let expected = line.share(*level);
            (*level, expected.ln() + (share.share - expected) / expected, expected)
        };
        let next = Line::through(&known.iter().map(step).collect::<Vec<_>>());
        if !next.is_finite() {
            return None;
        }
        let settled = (next.slope - line.slope).abs() <= 1e-9 * next.slope.abs();
        line = next;
        if settled {
            return (line.slope > 0.0).then_some(line);
        }
    }
    None
}
