//! The order of commits and snapshots, within an engine and over engines.
//!
//! - `clock`: an engine's order of commits;
//! - `csr`: the registry that relates snapshots of two engines;
//! - `active`: the running transactions and the oldest snapshot that may still be read;
//! - `protocol`: the steps of a commit or snapshot over several engines that use more than one of these.
//!
//! These modules know no engine, log or file, so a model checker can run them: see `model`.

pub(crate) mod active;
pub(crate) mod clock;
pub(crate) mod csr;
#[cfg(test)]
mod model;
pub(crate) mod protocol;
mod sync;
#[cfg(test)]
mod tests;
