//! Templates in a PostgreSQL server: databases beside the one under test, copied by `CREATE DATABASE … TEMPLATE`.

use super::{TABLE_KINDS, advised, connected};
use crate::error::TargetError;
use crate::postgres::config::Config;
use crate::postgres::wire::Wire;
use crate::sql::connection::SqlError;
use crate::sql::meta::{Admin, is_ours};
use std::thread;
use std::time::{Duration, Instant};

/// How long a database that somebody has open is waited for: connections that were just closed end a little later.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at it.
const AGAIN: Duration = Duration::from_millis(100);
/// A database that others have open.
const IN_USE: &str = "55006";
/// From this version on copies go through the log unless told otherwise, which is slow for large ones.
const STRATEGIES: &str = "150000";

/// The name of the template of a database, which PostgreSQL would cut if it were longer than 63 bytes.
fn named(config: &Config, name: &str) -> String {
    let mut most = config.database.len().min(30);
    while !config.database.is_char_boundary(most) {
        most -= 1;
    }
    format!("{}_{name}", &config.database[..most])
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn failed(config: &Config, doing: &str, error: SqlError) -> TargetError {
    advised(error, doing, &config.place())
}

/// A connection to another database of the server: one that somebody is connected to can be neither copied nor dropped.
fn aside(config: &Config) -> Result<Wire, TargetError> {
    let other = if config.database == "postgres" { "template1" } else { "postgres" };
    let mut config = config.clone();
    config.database = other.into();
    connected(&config)
}

/// Runs a statement; waits a while for others to leave the database.
fn insist(config: &Config, wire: &mut Wire, doing: &str, sql: &str) -> Result<(), TargetError> {
    let end = Instant::now() + PATIENCE;
    loop {
        match wire.execute(sql) {
            Ok(()) => return Ok(()),
            Err(SqlError::Database { code, .. }) if code == IN_USE && Instant::now() < end => {
                thread::sleep(AGAIN);
            }
            Err(error) => return Err(failed(config, doing, error)),
        }
    }
}

fn exists(config: &Config, wire: &mut Wire, database: &str) -> Result<bool, TargetError> {
    let sql = format!("SELECT 1 FROM pg_database WHERE datname = '{}'", database.replace('\'', "''"));
    Ok(!wire.column(&sql).map_err(|error| failed(config, "look for the template", error))?.is_empty())
}

fn copy(config: &Config, wire: &mut Wire, from: &str, to: &str) -> Result<(), TargetError> {
    let strategies = format!("SELECT current_setting('server_version_num')::int >= {STRATEGIES}");
    let told = wire.column(&strategies).map_err(|error| failed(config, "ask for the version", error))?;
    let strategy = if told.iter().any(|told| told == "t") { " STRATEGY file_copy" } else { "" };
    let sql = format!("CREATE DATABASE {} TEMPLATE {}{strategy}", quoted(to), quoted(from));
    insist(config, wire, "copy the database", &sql)
}

fn drop_database(config: &Config, wire: &mut Wire, database: &str) -> Result<(), TargetError> {
    insist(config, wire, "drop the database", &format!("DROP DATABASE IF EXISTS {}", quoted(database)))
}

pub(crate) fn has(config: &Config, name: &str) -> Result<bool, TargetError> {
    let mut wire = aside(config)?;
    exists(config, &mut wire, &named(config, name))
}

/// The tables, views and sequences of the database that Lydite did not make.
pub(crate) fn others(config: &Config) -> Result<Vec<String>, TargetError> {
    if !exists(config, &mut aside(config)?, &config.database)? {
        // An earlier restoring was cut off between dropping and making it.
        return Ok(Vec::new());
    }
    let mut wire = connected(config)?;
    let names = wire
        .column(&format!(
            "SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace \
             WHERE (relkind IN {TABLE_KINDS} OR relkind = 'S') AND nspname <> 'information_schema' \
             AND nspname NOT LIKE 'pg\\_%'"
        ))
        .map_err(|error| failed(config, "look for tables", error))?;
    Ok(names.into_iter().filter(|name| !is_ours(name)).collect())
}

pub(crate) fn save(config: &Config, name: &str) -> Result<(), TargetError> {
    let mut wire = aside(config)?;
    copy(config, &mut wire, &config.database, &named(config, name))
}

pub(crate) fn restore(config: &Config, name: &str) -> Result<(), TargetError> {
    let (mut wire, template) = (aside(config)?, named(config, name));
    // Not first to drop what then can't be made again.
    if !exists(config, &mut wire, &template)? {
        return Err(TargetError::database(format!("{}: the template {template:?} is gone", config.place())));
    }
    drop_database(config, &mut wire, &config.database)?;
    copy(config, &mut wire, &template, &config.database)
}

pub(crate) fn delete(config: &Config, name: &str) -> Result<(), TargetError> {
    let mut wire = aside(config)?;
    drop_database(config, &mut wire, &named(config, name))
}
