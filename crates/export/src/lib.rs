//! Results as tables for other programs: each table has a row in [`TABLES`], each format one in [`FORMATS`].
//!
//! A [`Table`] holds rows of several results with the same columns, whatever the results have: a column without a value
//! is null in every row. Formats know columns by their [`Role`] and [`Kind`] alone, so a new table needs no line in any
//! of them, and a new format none in a table.
//!
//! ```
//! use lydite_export::{Format, Layout, Run, Table, TableKind};
//! use lydite_report::RunResult;
//!
//! let mut result = RunResult::default();
//! result.window.start = "2026-01-02T03:04:05Z".to_owned();
//! result.series.second = vec![0];
//! result.series.new_order = vec![7];
//! let runs = [Run::new("a.json".to_owned(), &result)];
//! let series = Table::of(TableKind::named("series").unwrap(), &runs)?;
//! let Layout::FilePerTable(write) = Format::named("csv").unwrap().layout else { unreachable!() };
//! let mut text = Vec::new();
//! write(&series, &mut text)?;
//! assert!(String::from_utf8(text)?.starts_with("run,label,time,window,second,"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cell;
mod column;
mod error;
mod formats;
mod run;
mod table;
mod tables;

pub use cell::Cell;
pub use column::{Column, Kind, Role};
pub use error::ExportError;
pub use formats::{FORMATS, Format, Layout};
pub use run::{Run, Span};
pub use table::{Row, Table, TableKind};
pub use tables::TABLES;
