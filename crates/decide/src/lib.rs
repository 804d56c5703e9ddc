//! Which of two variants is better, from the values of whole runs. The seconds of one run say how it varied within itself;
//! only several runs say by how much two runs of the same variant differ, and so what a difference means.
//!
//! [`of_pairs`] and [`of_groups`] give the ratio of two variants with an interval over runs. [`Looks`] is a plan of
//! looks at an experiment that goes on: when to look, and with how much error, so that the whole experiment errs rarely.

mod looks;
mod needed;
mod order;
mod ratio;

pub use looks::{LEAST_PAIRS, Looks};
pub use needed::{MOST_NEEDED, pairs_needed};
pub use order::first_of;
pub use ratio::{ERROR, LEAST_RUNS, NoRatio, Ratio, Side, of_groups, of_pairs};
