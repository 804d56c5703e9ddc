//! Durability tests: a load in a process of its own, a failure, the recovery, and the comparison of the database with the
//! success file.
//!
//! [`Crash`] is the failure, [`Test`] the course of a test. The load is a process of this program, which runs [`play`].

mod crash;
mod load;
mod losses;
mod play;
mod test;

pub use crash::{Crash, Losses, Node, lab_of};
pub use play::{Part, play};
pub use test::{Test, Tested};
