//! Opening a database for a command, and finding a table or keyspace in it.

use crate::failure::{Failure, Outcome};
use crate::values::{self, Parsed, in_quotes};
use gemel::row::{Column, OwnedValue, Schema, Table};
use gemel::{Database, Engine, Error, FullDisk, Keyspace, Options};
use std::ffi::OsStr;

/// Opens a database to read it. Writes no checkpoint, whatever the length of the log.
pub(crate) fn open(path: &OsStr) -> Outcome<Database> {
    let options = Options { checkpoint_log_bytes: u64::MAX, ..Options::default() };
    Database::open_existing(path, options).map_err(|error| cant_read(path, error))
}

/// Returns the options for writing rows.
pub(crate) fn to_write_rows() -> Options {
    // All rows of memory tables must fit, and only the application knows its limit.
    // On a full disk it fails at once, and says so: nobody sees how long it waits.
    Options { memory_limit_bytes: u64::MAX / 4, full_disk: FullDisk::Fail, ..Options::default() }
}

/// Opens a database to change it.
pub(crate) fn open_to_write(path: &OsStr, options: Options) -> Outcome<Database> {
    let advice = "end that process, or close the database there; only gemel backup works meanwhile";
    Database::open_existing(path, options).map_err(|error| cant_open(path, error, advice))
}

/// Returns the failure of a command that reads a database and can't open it.
pub(crate) fn cant_read(path: &OsStr, error: Error) -> Failure {
    let copy = format!("make a copy with gemel backup {} COPY and read that", path.display());
    cant_open(path, error, &format!("close it there, or {copy}"))
}

/// Returns the failure of opening a database: the error, or the advice if another process has the database open.
fn cant_open(path: &OsStr, error: Error, advice: &str) -> Failure {
    match error {
        Error::AlreadyOpen(_) => {
            Failure::Other(format!("{} is open in another process: {advice}", path.display()))
        }
        error => error.into(),
    }
}

/// A table, or a keyspace that is part of no table.
pub(crate) enum Part {
    Table(Table, Engine),
    Keyspace(Keyspace, Engine),
}

/// Finds a table or keyspace.
pub(crate) fn find(db: &Database, name: &str) -> Outcome<Part> {
    let engine = |list: Vec<(String, Engine)>| {
        list.into_iter().find(|(known, _)| known == name).map(|(_, engine)| engine)
    };
    if let Some(engine) = engine(db.tables()) {
        return Ok(Part::Table(db.table(name)?, engine));
    }
    if let Some((table, index)) = index_of(db, name)? {
        return Err(Failure::Other(format!(
            "{} is an index of {table}: name the table; gemel scan PATH {table} --index {index} reads the index",
            in_quotes(name)
        )));
    }
    match engine(db.keyspaces()) {
        Some(engine) => Ok(Part::Keyspace(db.keyspace(name, engine)?, engine)),
        None => Err(Failure::Other(format!(
            "there is no table or keyspace {}: gemel stat PATH lists those of the database",
            in_quotes(name)
        ))),
    }
}

/// Returns the names of all tables, and then those of the keyspaces that are part of no table.
pub(crate) fn names(db: &Database) -> Outcome<Vec<String>> {
    let mut names: Vec<String> = db.tables().into_iter().map(|(name, _)| name).collect();
    for (name, _) in db.keyspaces() {
        if !names.contains(&name) && index_of(db, &name)?.is_none() {
            names.push(name);
        }
    }
    Ok(names)
}

/// Returns the table and the index to which a keyspace belongs, if it belongs to one.
fn index_of(db: &Database, keyspace: &str) -> Outcome<Option<(String, String)>> {
    for (table, _) in db.tables() {
        let Some(index) = keyspace.strip_prefix(&table).and_then(|rest| rest.strip_prefix('.')) else {
            continue;
        };
        if db.table(&table)?.schema().indexes.iter().any(|known| known.name == index) {
            return Ok(Some((table, index.to_owned())));
        }
    }
    Ok(None)
}

/// Returns the columns of the primary key.
pub(crate) fn key_columns(table: &Table) -> Vec<&Column> {
    table.primary_key().positions().map(|at| &table.schema().columns[at]).collect()
}

/// Reads the values of a key's first columns from the arguments of a command.
pub(crate) fn key(columns: &[&Column], given: &[&str]) -> Parsed<Vec<OwnedValue>> {
    columns.iter().zip(given).map(|(column, given)| values::parse(column, given)).collect()
}

/// Returns the length of the longest column name, in characters.
pub(crate) fn name_width(schema: &Schema) -> usize {
    schema.columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0)
}

/// Returns the names of a key's columns, for messages.
pub(crate) fn listed(columns: &[&Column]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    names.join(", ")
}
