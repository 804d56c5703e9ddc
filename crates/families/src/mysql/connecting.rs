//! Connections to a server of the kind that the scheme names, and the errors of failed attempts.

use super::config::Config;
use super::errors::{self, has_code};
use super::galera::without_rows;
use super::product::Product;
use super::schema;
use super::wire::Wire;
use crate::net::{self, Purpose};
use lydite_database::sql::shards::Layout;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{TargetError, TxMode};

/// Connects for administration to a server of the kind that the scheme names. Errors come with advice.
pub(super) fn connected(config: &Config) -> Result<Wire, TargetError> {
    connected_for(config, Purpose::Administration)
}

/// Connects as [`connected`] does, for a purpose.
pub(super) fn connected_for(config: &Config, purpose: Purpose) -> Result<Wire, TargetError> {
    let wire = net::connecting(|| Wire::connect(config, purpose)).map_err(|error| {
        let why = has_code(&error, errors::UNKNOWN_DATABASE).then(|| without_rows(config)).flatten();
        why.map_or_else(
            || refused(error, config),
            |why| TargetError::unreachable(format!("{}: {why}", config.place())),
        )
    })?;
    suits(config, wire.product)?;
    Ok(wire)
}

/// Checks that the server is of the kind that the scheme names and supports the mode.
fn suits(config: &Config, product: &Product) -> Result<(), TargetError> {
    let Config { scheme, mode, .. } = config;
    if !product.schemes.contains(&scheme.as_str()) {
        let own = product.schemes.last().copied().unwrap_or("mysql");
        return Err(TargetError::usage(format!(
            "{}: the server is {}: write {own}:// instead of {scheme}://, or mysql:// for any server with its protocol",
            config.place(),
            product.name
        )));
    }
    if config.foreign_keys == Some(true)
        && let Some(tables) = schema::without_foreign_keys(config, product)
    {
        return Err(TargetError::usage(format!(
            "{}: foreign_keys=on: {tables} can't have foreign keys: leave that option out",
            config.place()
        )));
    }
    if config.transactions.is_some() && product.set_transactions.is_empty() {
        return Err(TargetError::usage(format!(
            "{}: target option transactions: {} does not have these modes of TiDB: leave it out",
            config.place(),
            product.name
        )));
    }
    if config.snapshot_at_begin && product.snapshot_dialect.is_none() {
        return Err(TargetError::usage(format!(
            "{}: target option snapshot=begin: {} has one engine, so leave it out",
            config.place(),
            product.name
        )));
    }
    if config.layout != Layout::default() && config.shards.is_empty() && product.together.is_empty() {
        return Err(TargetError::usage(format!(
            "{}: target options items and colocated: {} does not support them: leave them out",
            config.place(),
            product.name
        )));
    }
    if *mode == TxMode::Procedures && !product.procedures {
        return Err(TargetError::usage(format!(
            "{}: --tx procedures: {} has no stored procedures: use --tx statements or batched",
            config.place(),
            product.name
        )));
    }
    Ok(())
}

/// Returns the error of a failed connection attempt. Its kind is always "unreachable", whatever the server said.
pub(super) fn refused(error: SqlError, config: &Config) -> TargetError {
    TargetError::unreachable(advised(error, "connect", &config.place()).message)
}

/// Returns the error of an operation, with advice.
pub(super) fn advised(error: SqlError, doing: &str, place: &str) -> TargetError {
    let advice = match &error {
        SqlError::Database { code, .. } => errors::advice(code),
        SqlError::Lost(_) | SqlError::Decode(_) => None,
    };
    let mut failed = error.on_target(doing, place);
    if let Some(advice) = advice {
        failed.message = format!("{}: {advice}", failed.message);
    }
    failed
}
