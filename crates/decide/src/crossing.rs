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

/// Levels whose odds of a request over the limit are above so many times the allowed ones are left out: a queue that
/// is nearly full follows another line. Of an allowed share of 1 % that is 9 %, of 10 % it is 53 %.
const FAR: f64 = 10.0;

/// A run farther above the line than so many deviations of the others is left out: something stalled it. At most one of
/// [`KEPT_FOR_EACH`] runs is.
const STALLED: f64 = 6.0;
const KEPT_FOR_EACH: usize = 6;

/// Error of the interval of a limit.
pub const INTERVAL_ERROR: f64 = 0.1;

/// The level of the crossing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// The level.
    pub at: f64,
    /// Standard deviation of the level.
    pub deviation: f64,
    /// Runs that it rests on.
    pub runs: usize,
    /// Runs near it that are left out because something stalled them.
    pub stalled: usize,
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

    /// Returns the distance of a run's share from the expected one, in roots of the expected one.
    fn residual(&self, (level, share): &(f64, Share)) -> f64 {
        let expected = self.share(*level);
        (share.share - expected) / expected.sqrt()
    }

    fn is_finite(&self) -> bool {
        [self.offset, self.slope].iter().all(|of| of.is_finite())
    }
}

/// Fits the runs, each with its level and its share, whose interval errs with `error`. `None` for too few runs, if all
/// are of one level, or if the share does not grow with the level. Levels with far more than the allowed share are
/// left out: `None` too if the line has its crossing beyond one of these.
#[must_use]
pub fn crossing(runs: &[(f64, Share)], allowed: f64, error: f64) -> Option<Crossing> {
    let odds = |share: f64| share / (1.0 - share);
    let is_far = |level: f64| {
        let of_level = || runs.iter().filter(|(of, _)| *of == level).map(|(_, share)| share.share);
        odds(of_level().sum::<f64>() / of_level().count() as f64) > FAR * odds(allowed)
    };
    let (far, mut known): (Vec<_>, Vec<_>) = runs.iter().copied().partition(|(level, _)| is_far(*level));
    let mut line = fit(&known)?;
    let most_stalled = known.len() / KEPT_FOR_EACH;
    let mut stalled = 0;
    while stalled < most_stalled
        && let Some(place) = stalled_run(&known, error)
    {
        known.remove(place);
        line = fit(&known)?;
        stalled += 1;
    }
    let at = line.middle + (allowed.ln() - line.offset) / line.slope;
    if !at.is_finite() || far.iter().any(|(level, _)| *level <= at) {
        return None;
    }
    let variance = factor(&known, &line, error)
        * (1.0 / line.weight + (at - line.middle).powi(2) / line.spread)
        / line.slope.powi(2);
    (variance > 0.0 && variance.is_finite()).then(|| Crossing {
        at,
        deviation: variance.sqrt(),
        runs: known.len(),
        stalled,
    })
}

/// Returns the factor of the variance: by the distances of the runs from the line, and by the batches within the runs,
/// whichever is more, since a few runs may be alike by chance.
fn factor(known: &[(f64, Share)], line: &Line, error: f64) -> f64 {
    let sum = |of: &dyn Fn(&(f64, Share)) -> f64| known.iter().map(of).sum::<f64>();
    let between = sum(&|run| line.residual(run).powi(2)) / (known.len() as f64 - 2.0);
    let scale = quantile(error, Share::FREEDOM);
    let within =
        sum(&|(_, share)| ((share.high - share.share) / scale).powi(2)) / sum(&|(_, share)| share.share);
    between.max(within)
}

/// Returns the place of the run that is farthest above the line of all others, if something stalled it.
fn stalled_run(known: &[(f64, Share)], error: f64) -> Option<usize> {
    let distance = |place: usize| {
        let mut others = known.to_vec();
        let run = others.remove(place);
        // Against the line of the others: the run itself would pull the line towards it.
        let line = fit(&others)?;
        Some((place, line.residual(&run) / factor(&others, &line, error).sqrt()))
    };
    let farthest = (0..known.len()).filter_map(distance).max_by(|a, b| a.1.total_cmp(&b.1));
    farthest.filter(|(_, distance)| *distance > STALLED).map(|(place, _)| place)
}

/// Fits the line; none for too few runs, if the share does not grow with the level, or if the fit does not settle.
fn fit(known: &[(f64, Share)]) -> Option<Line> {
    let mean = known.iter().map(|(_, share)| share.share).sum::<f64>() / known.len() as f64;
    if known.len() < LEAST || mean <= 0.0 {
        return None;
    }
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
