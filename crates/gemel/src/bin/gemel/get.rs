//! `gemel get`: one row by its primary key, or the value of a key.

use crate::arguments::{Arguments, Format};
use crate::failure::{Failure, GOOD, Outcome};
use crate::listing::{Cell, Listing, cells, out};
use crate::parts::{self, Part};
use crate::values::{self, in_quotes};
use gemel::row::{Table, Value};
use gemel::{Database, Isolation};
use std::io::Write;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome<u8> {
    let format = arguments.format(&[Format::Text, Format::Json, Format::Csv])?;
    let texts = arguments.texts(1)?;
    let (name, given) = texts.split_first().ok_or_else(|| arguments.misused("name a table"))?;
    let db = parts::open(arguments.path())?;
    match parts::find(&db, name)? {
        Part::Table(table, _) => row(arguments, format, &db, &table, given)?,
        Part::Keyspace(keyspace, _) => {
            let [key] = given else {
                return Err(arguments.misused("a keyspace has one KEY"));
            };
            let bytes = values::unescape(key)?;
            let value = db.begin(Isolation::Snapshot)?.get(&keyspace, &bytes)?;
            let value = value.ok_or_else(|| missing(name, key))?;
            if format == Format::Text {
                let mut out = out();
                writeln!(out, "{}", values::escape(&value))?;
                out.flush()?;
            } else {
                let mut listing = Listing::begin(format, vec!["key".into(), "value".into()])?;
                listing.row(&[Cell::Bytes(&bytes), Cell::Bytes(&value)])?;
                listing.end()?;
            }
        }
    }
    db.close()?;
    Ok(GOOD)
}

fn row(arguments: &Arguments, format: Format, db: &Database, table: &Table, given: &[&str]) -> Outcome {
    let (schema, columns) = (table.schema(), parts::key_columns(table));
    if given.len() != columns.len() {
        let (needed, names) = (columns.len(), parts::listed(&columns));
        return Err(arguments.misused(&format!(
            "{} values for the primary key of {}, which has {needed} ({names})",
            given.len(),
            table.name()
        )));
    }
    let key = parts::key(&columns, given)?;
    let key: Vec<Value<'_>> = key.iter().map(Value::from).collect();
    let mut transaction = db.begin(Isolation::Snapshot)?;
    let row = table.get(&mut transaction, &key)?;
    let row = row.ok_or_else(|| missing(table.name(), &given.join(", ")))?;
    let view = row.view();
    let values = view.values()?;
    if format != Format::Text {
        let names = schema.columns.iter().map(|column| column.name.clone()).collect();
        let mut listing = Listing::begin(format, names)?;
        listing.row(&cells(&schema.columns, &values))?;
        return listing.end();
    }
    let width = parts::name_width(schema);
    let mut out = out();
    for (column, value) in schema.columns.iter().zip(values) {
        let name = values::escape(column.name.as_bytes());
        writeln!(out, "{name:width$}  {}", values::text(value, column.kind))?;
    }
    Ok(out.flush()?)
}

fn missing(name: &str, key: &str) -> Failure {
    Failure::Other(format!("{name} has nothing with the key {}", in_quotes(key)))
}
