//! Connections to a server, the errors of failed attempts, and the schema that a connection works in.

use super::config::Config;
use super::errors;
use super::wire::Wire;
use crate::net::{self, Purpose};
use lydite_database::TargetError;
use lydite_database::sql::sql_error::SqlError;

/// The schema of new tables. Not `current_schema()::regnamespace`, which parses a name as SQL does.
pub(super) const SCHEMA: &str = "(SELECT oid FROM pg_namespace WHERE nspname = current_schema())";

/// Values of `relkind` that share the names of tables: tables, partitioned tables, views, materialized views, foreign
/// tables.
pub(super) const TABLE_KINDS: &str = "('r', 'p', 'v', 'm', 'f')";

/// Connects for administration. Errors come with advice.
pub(super) fn connected(config: &Config) -> Result<Wire, TargetError> {
    connected_for(config, Purpose::Administration)
}

/// Connects for a purpose. Errors come with advice.
pub(super) fn connected_for(config: &Config, purpose: Purpose) -> Result<Wire, TargetError> {
    net::connecting(|| Wire::connect(config, purpose)).map_err(|error| refused(error, config))
}

/// Returns the error of a failed connection attempt. Its kind is always "unreachable", whatever the server said.
pub(super) fn refused(error: SqlError, config: &Config) -> TargetError {
    let advised = advised(error, "connect", &config.place());
    TargetError::unreachable(advised.message)
}

/// Returns the error of an operation, with advice.
pub(super) fn advised(error: SqlError, doing: &str, place: &str) -> TargetError {
    let advice = match &error {
        SqlError::Database { code, message, .. } => errors::advice(code, message),
        SqlError::Lost(_) | SqlError::Decode(_) => None,
    };
    let mut failed = error.on_target(doing, place);
    if let Some(advice) = advice {
        failed.message = format!("{}: {advice}", failed.message);
    }
    failed
}
