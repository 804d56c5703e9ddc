//! The terminals' end of the lines: one connection for each terminal, and sessions that use them.

mod line;
mod lines;
mod session;
mod watcher;

pub use lines::{LineCounts, Lines};
