//! The rows of a load as CSV files: [`write()`] writes them with a manifest, [`check()`] checks files before a load and
//! returns them as [`lydite_database::RowFiles`]. Files of other programs are understood if their columns fit.

mod cells;
mod check;
mod error;
mod fields;
mod files;
mod foreign;
mod foreign_check;
mod gathered;
mod keys;
mod layout;
mod lines;
mod manifest;
mod parse;
mod rows_file;
mod scan;
mod text;
mod write;

pub use check::check;
pub use error::{CsvError, Problem};
pub use files::CsvRows;
pub use gathered::Wanted;
pub use manifest::MANIFEST;
pub use write::{Writing, write};
