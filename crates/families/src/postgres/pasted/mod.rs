//! Connection strings of PostgreSQL's programs and drivers: what their parameters mean.

mod ado;
mod jdbc;
mod libpq;
mod odbc;
mod service;
mod words;

use crate::pasted::row::Dialect;

/// The dialects of the databases with PostgreSQL's protocol.
pub(crate) static DIALECTS: &[&Dialect] =
    &[&libpq::KEYWORDS, &libpq::URL, &jdbc::JDBC, &jdbc::YUGABYTE, &ado::ADO, &odbc::ODBC];
