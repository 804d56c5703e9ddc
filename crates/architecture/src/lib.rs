//! Reads the sources of the workspace, so that tests can hold them against the rules of ARCHITECTURE.md.
//!
//! Nothing of the product is compiled for it. The rules are the tests in `tests/it/`.

pub mod book;
pub mod circles;
pub mod imported;
pub mod imports;
pub mod kept;
mod literals;
pub mod measures;
mod tests;
pub mod workspace;
