//! The verdict on the second of two variants, by the interval of what differs between them.

use crate::numbers::Better;
use serde::Serialize;

/// The verdict on the second variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval lies on the better side.
    Better,
    /// The whole interval lies on the worse side.
    Worse,
    /// The interval contains both sides.
    Undecided,
    /// There is no interval over runs, or the two are not comparable.
    NotJudged,
}

impl Verdict {
    /// Returns the verdict of the interval from `low` to `high`. `none` is the value without a difference: 1 of a ratio, 0
    /// of a difference.
    #[must_use]
    pub fn of((low, high): (f64, f64), none: f64, better: Better) -> Self {
        match (low > none, high < none, better) {
            (true, _, Better::Higher) | (_, true, Better::Lower) => Self::Better,
            (_, true, Better::Higher) | (true, _, Better::Lower) => Self::Worse,
            (false, false, _) => Self::Undecided,
        }
    }
}
