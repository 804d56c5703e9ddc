//! Connection strings of MySQL's and MariaDB's programs and drivers: what their parameters mean.

mod ado;
mod go;
mod jdbc;
mod odbc;
mod url;
mod words;

use crate::pasted::row::Dialect;

/// The dialects of the family.
pub(crate) static DIALECTS: &[&Dialect] =
    &[&url::URL, &jdbc::MYSQL, &jdbc::MARIADB, &ado::ADO, &odbc::ODBC, &go::GO];
