//! The number of pairs that an experiment needs: a guess from the noise that was seen.

use crate::moments::quantile;

/// Most pairs that are worth a word. An experiment that needs more shows nothing that matters against its noise.
pub const MOST_NEEDED: usize = 1_000;

/// Returns the number of pairs, at least `made`, with which an interval that errs with probability `error` would just
/// exclude a threshold, if the ratio and its noise stay as they are; `None` if even [`MOST_NEEDED`] would not.
///
/// - `deviation`: standard deviation of the logarithm of the ratio of a pair
/// - `distance`: distance of the logarithm of the ratio from that of the threshold
#[must_use]
pub fn pairs_needed(deviation: f64, distance: f64, error: f64, made: usize) -> Option<usize> {
    let excluded = |pairs: usize| {
        let count = pairs as f64;
        quantile(error, count - 1.0) * deviation / count.sqrt() < distance.abs()
    };
    (made.max(2)..=MOST_NEEDED).find(|pairs| excluded(*pairs))
}
