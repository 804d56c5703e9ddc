//! Decides which of two variants is better, from the values of whole runs. The seconds of one run say how it varied
//! within itself; only several runs say by how much two runs of the same variant differ, and so what a difference
//! means.
//!
//! [`of_pairs`] and [`of_groups`] give the ratio of two variants with an interval over runs, [`difference_of_pairs`]
//! and [`difference_of_groups`] their difference, for values that may be 0. [`Looks`] is a plan of looks at an
//! experiment that goes on: when to look, and with how much error, so that the whole experiment errs rarely. [`Range`]
//! searches the highest level that holds objectives, [`share_over`] judges a percentile by its sampling error, and
//! [`growth`] finds queues that get longer and longer.

mod closing;
mod crossing;
mod difference;
mod growth;
mod looks;
mod moments;
mod needed;
mod order;
mod ratio;
mod search;
mod share;

pub use closing::{MOST_IN_ALL, Tried};
pub use crossing::{Crossing, INTERVAL_ERROR, crossing};
pub use difference::{Difference, difference_of_groups, difference_of_pairs, mean_of_runs};
pub use growth::{Growth, growth};
pub use looks::{LEAST_PAIRS, Looks};
pub use moments::LEAST_RUNS;
pub use needed::{MOST_NEEDED, pairs_needed};
pub use order::first_of;
pub use ratio::{ERROR, NoRatio, Ratio, Side, of_groups, of_pairs};
pub use search::{CONFIRMED, Limit, Probe, Range, Step, Zone};
pub use share::{LEAST_SECONDS, Second, Share, pooled, share_over};
