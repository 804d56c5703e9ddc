//! The order of commits and snapshots, within an engine and over engines.
//!
//! - `clock`: an engine's order of commits;
//! - `csr`: which snapshots of two engines belong together;
//! - `active`: who is running, and how old a snapshot may still be read;
//! - `protocol`: the steps of a commit or snapshot over several engines that touch more than one of these.
//!
//! None of them knows an engine, a log or a file, so that a model checker can run them: see `model`.

pub(crate) mod active;
pub(crate) mod clock;
pub(crate) mod csr;
#[cfg(test)]
mod model;
pub(crate) mod protocol;
mod sync;
#[cfg(test)]
mod tests;
