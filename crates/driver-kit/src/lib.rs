//! The kit for drivers in other languages: makes a working driver to start from, or one for a key-value store from a
//! specification of its calls.

mod language;
mod scaffold;
mod spec;

pub use language::Language;
pub use scaffold::{NewDriver, make};
