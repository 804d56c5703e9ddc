//! `gemel dump`: tables and keyspaces as lines of JSON, which `gemel load` reads.
//!
//! The first line is `{"gemel_dump":3}`, with the number of the format. Each part begins with a line that describes it,
//! has an array in a line for each row, and ends with the number of its rows. The last line has the number of parts. So
//! a dump that was cut short is found.
//!
//! ```text
//! {"gemel_dump":3}
//! {"table":"orders","engine":"disk","schema":{"columns":[…],"primary_key":["number"],"indexes":[…]}}
//! [1,"ring",null]
//! {"rows":1}
//! {"keyspace":"notes","engine":"memory"}
//! ["a key","\\x00\\xff"]
//! {"rows":1}
//! {"parts":2}
//! ```
//!
//! A column of a key is its name or, in descending order, `{"name":"number","descending":true}`. Format 1 has names only.
//! Formats up to 2 have no columns that an index includes.

use crate::arguments::Arguments;
use crate::failure::{GOOD, Outcome};
use crate::listing::{Out, out};
use crate::parts::{self, Part};
use crate::values::{self, quote};
use gemel::row::{RowRange, RowView, Schema, Table};
use gemel::{Direction, Isolation, Keyspace, Transaction};
use serde::Serialize;
use std::io::Write;
use std::ops::{Bound, ControlFlow};

/// The format that this version writes, and the newest that it reads.
pub(crate) const FORMAT: u64 = 3;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome<u8> {
    let given = arguments.texts(1)?;
    let db = parts::open(arguments.path())?;
    let mut names: Vec<String> = Vec::new();
    for name in given {
        if names.iter().any(|known| known == name) {
            return Err(arguments.misused(&format!("{name} is given twice")));
        }
        names.push(name.to_owned());
    }
    if names.is_empty() {
        names = parts::names(&db)?;
    }
    // A name that does not exist is reported before anything is written.
    let found = names.iter().map(|name| parts::find(&db, name)).collect::<Outcome<Vec<Part>>>()?;
    // One snapshot for all parts.
    let mut transaction = db.begin(Isolation::Snapshot)?;
    let mut out = out();
    writeln!(out, "{{\"gemel_dump\":{FORMAT}}}")?;
    for (name, part) in names.iter().zip(&found) {
        let rows = match part {
            Part::Table(table, engine) => {
                let (engine, schema) = (engine.name(), json_of(&of_today(table.schema()))?);
                writeln!(out, "{{\"table\":{},\"engine\":\"{engine}\",\"schema\":{schema}}}", quote(name))?;
                write_rows(&mut out, &mut transaction, table)?
            }
            Part::Keyspace(keyspace, engine) => {
                writeln!(out, "{{\"keyspace\":{},\"engine\":\"{}\"}}", quote(name), engine.name())?;
                write_entries(&mut out, &mut transaction, keyspace)?
            }
        };
        writeln!(out, "{{\"rows\":{rows}}}")?;
    }
    writeln!(out, "{{\"parts\":{}}}", names.len())?;
    out.flush()?;
    drop(transaction);
    db.close()?;
    Ok(GOOD)
}

/// Returns a schema, or a part of one, as JSON.
pub(crate) fn json_of(part: &impl Serialize) -> Outcome<String> {
    Ok(serde_json::to_string(part).map_err(std::io::Error::from)?)
}

/// Returns a schema without the columns of earlier rows: a load writes all rows with the columns of today.
pub(crate) fn of_today(schema: &Schema) -> Schema {
    let mut plain = Schema::new();
    plain.columns.clone_from(&schema.columns);
    plain.primary_key.clone_from(&schema.primary_key);
    plain.indexes.clone_from(&schema.indexes);
    plain
}

fn write_rows(out: &mut Out, transaction: &mut Transaction, table: &Table) -> Outcome<u64> {
    let columns = &table.schema().columns;
    let (mut rows, mut written, mut line) = (0, Ok(()), String::new());
    table.scan(transaction, &RowRange::all(), Direction::Forward, |row: RowView<'_>| {
        line.clear();
        for (column, value) in columns.iter().zip(row.values()?) {
            line.push(if line.is_empty() { '[' } else { ',' });
            line.push_str(&values::json(value, column.kind));
        }
        rows += 1;
        written = writeln!(out, "{line}]");
        Ok(if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    written?;
    Ok(rows)
}

fn write_entries(out: &mut Out, transaction: &mut Transaction, keyspace: &Keyspace) -> Outcome<u64> {
    let (mut rows, mut written) = (0, Ok(()));
    transaction.scan(keyspace, Bound::Unbounded, Bound::Unbounded, Direction::Forward, |key, value| {
        rows += 1;
        let [key, value] = [key, value].map(values::json_bytes);
        written = writeln!(out, "[{key},{value}]");
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    written?;
    Ok(rows)
}
