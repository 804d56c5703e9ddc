//! Tests of imports.

mod files;
mod leaks;
mod page;
mod sources;
