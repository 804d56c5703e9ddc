//! Configuration files of other TPC-C programs, read as plans.
//!
//! [`read_files`] finds out from the content which program a file belongs to ([`TOOLS`]), and returns plans as TOML.
//! Each program has a table with a row for each of its settings ([`Row`]), which says what becomes of it. A value of a
//! file gets into a plan only through its row, and a password has none that could take it anywhere. The parameters of
//! JDBC URLs are in the tables of `lydite_families`, which every command reads such URLs with.

mod decimal;
mod draft;
mod fate;
mod given;
mod import;
mod jdbc;
mod options;
mod place;
mod plan_text;
mod product;
mod setting;
mod source;
mod syntax;
mod table;
mod tools;

pub use fate::{Fate, Kind};
pub use import::{Import, ImportError, listed, read_files, tool_of};
pub use setting::{Setting, shown};
pub use source::{Source, SourceError};
pub use table::{Row, Tool};
pub use tools::TOOLS;
