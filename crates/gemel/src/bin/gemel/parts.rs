//! Opening a database for a command, and finding a table or keyspace in it.

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::values::{self, Parsed};
use gemel::row::{Column, OwnedValue, Schema, Table};
use gemel::{Database, Engine, Keyspace, Options};
use std::ffi::OsStr;

/// Opens a database to read it. Writes no checkpoint, whatever the length of the log.
pub(crate) fn open(path: &OsStr) -> Outcome<Database> {
    let options = Options { checkpoint_log_bytes: u64::MAX, ..Options::default() };
    Ok(Database::open_existing(path, options)?)
}

/// A table, or a keyspace that is part of no table.
pub(crate) enum Part {
    Table(Box<Table>, Engine),
    Keyspace(Keyspace, Engine),
}

/// Finds a table or keyspace.
pub(crate) fn find(db: &Database, name: &str) -> Outcome<Part> {
    let engine = |list: Vec<(String, Engine)>| {
        list.into_iter().find(|(known, _)| known == name).map(|(_, engine)| engine)
    };
    if let Some(engine) = engine(db.tables()) {
        return Ok(Part::Table(Box::new(db.table(name)?), engine));
    }
    if let Some((table, index)) = index_of(db, name)? {
        return Err(Failure::Other(format!(
            "{name:?} is an index: read it by its table, gemel scan PATH {table} --index {index}"
        )));
    }
    match engine(db.keyspaces()) {
        Some(engine) => Ok(Part::Keyspace(db.keyspace(name, engine)?, engine)),
        None => Err(Failure::Other(format!(
            "there is no table or keyspace {name:?}: gemel stat PATH lists those of the database"
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

/// Returns the columns of these names.
pub(crate) fn columns<'s>(schema: &'s Schema, names: &[String]) -> Vec<&'s Column> {
    names.iter().filter_map(|name| Some(&schema.columns[schema.position(name)?])).collect()
}

/// Reads the values of a key's first columns from the arguments of a command.
pub(crate) fn key(arguments: &Arguments, columns: &[&Column], given: &[&str]) -> Outcome<Vec<OwnedValue>> {
    let parse = |(column, given): (&&Column, &&str)| values::parse(column, given);
    let read: Parsed<Vec<_>> = columns.iter().zip(given).map(parse).collect();
    read.map_err(|why| arguments.misused(&why.0))
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
