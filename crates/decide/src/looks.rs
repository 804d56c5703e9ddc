//! Plans of looks at an experiment that goes on: when, and with how much error. Whoever looks after each pair with a
//! 95 % interval and stops as soon as it excludes 1 is wrong far more often than in 5 % of experiments. Here each look
//! spends a part of the 5 %, so that by Bonferroni's inequality all looks together err with at most 5 %, however the
//! looks depend on each other. Each interval wants pairs that are independent. The intervals are repeated confidence
//! intervals (Jennison and Turnbull 1989): the one at which the experiment stops is right at the level of the whole
//! experiment.
//!
//! The third and the fourth pair get a good part of the error, which finds large differences at once. Half is kept for
//! the last look, which so finds nearly what an experiment without looks would.

use crate::ratio::ERROR;

/// Pairs at the first look: fewer tell nothing about their noise.
pub const LEAST_PAIRS: usize = 3;

/// Weights of the error of the first two looks, of all looks between them and the last together, and of the last.
const FIRST: f64 = 1.0;
const SECOND: f64 = 2.0;
const BETWEEN: f64 = 2.0;
const LAST: f64 = 5.0;

/// A plan of looks at an experiment of pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Looks {
    /// Pairs at each look, and the error that it spends.
    all: Vec<(usize, f64)>,
}

impl Looks {
    /// Returns the plan for at most `most` pairs; `None` if these are fewer than [`LEAST_PAIRS`].
    #[must_use]
    pub fn new(most: usize) -> Option<Self> {
        if most < LEAST_PAIRS {
            return None;
        }
        // 3, 4, 6, 8, 12, 16, 24 …: a look soon after another one learns little.
        let steps = (0_u32..usize::BITS - 2).flat_map(|power| [3_usize << power, 4_usize << power]);
        let pairs: Vec<usize> = steps.take_while(|pairs| *pairs < most).chain([most]).collect();
        let last = pairs.len() - 1;
        let between = last.saturating_sub(2) as f64;
        let weight = |place: usize| match place {
            _ if place == last => LAST,
            0 => FIRST,
            1 => SECOND,
            _ => BETWEEN / between,
        };
        let sum: f64 = (0..pairs.len()).map(weight).sum();
        let all = pairs.iter().enumerate().map(|(place, pairs)| (*pairs, ERROR * weight(place) / sum));
        Some(Self { all: all.collect() })
    }

    /// Returns the most pairs of the experiment.
    #[must_use]
    pub fn most(&self) -> usize {
        self.all.last().map_or(LEAST_PAIRS, |look| look.0)
    }

    /// Returns the error that the look after this many pairs spends; `None` if nobody looks then.
    #[must_use]
    pub fn error_at(&self, pairs: usize) -> Option<f64> {
        self.all.iter().find(|look| look.0 == pairs).map(|look| look.1)
    }

    /// Returns the error that a last look after this many pairs has, if the experiment ends there for a reason that is
    /// not its values, as the time that it may take: all that earlier looks did not spend.
    #[must_use]
    pub fn error_left(&self, pairs: usize) -> f64 {
        ERROR - self.all.iter().filter(|look| look.0 < pairs).map(|look| look.1).sum::<f64>()
    }
}
