//! Connection strings of SQLite's drivers and object mappers: what their parameters mean.

mod ado;
mod jdbc;
mod odbc;
mod url;
mod words;

use crate::pasted::row::Dialect;

/// The dialects of the family.
pub(crate) static DIALECTS: &[&Dialect] = &[&url::URL, &jdbc::JDBC, &ado::ADO, &odbc::ODBC];
