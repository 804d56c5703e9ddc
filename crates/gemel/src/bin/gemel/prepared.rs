//! `gemel prepared` and `gemel decide`: the prepared transactions that are undecided, and their decisions.

use crate::arguments::{Arguments, Format};
use crate::failure::{Failure, GOOD, Outcome};
use crate::listing::{Cell, Listing, say};
use crate::parts;
use crate::values::in_quotes;
use gemel::PreparedTransaction;
use gemel::row::{ColumnType, Value};
use std::time::SystemTime;

/// Runs `gemel prepared`.
pub(crate) fn list(arguments: &Arguments) -> Outcome<u8> {
    let format = arguments.format(&[Format::Text, Format::Json, Format::Csv])?;
    let db = parts::open(arguments.path())?;
    let columns = ["name", "prepared_at", "rows", "bytes"].map(str::to_owned);
    let mut listing = Listing::begin(format, columns.into())?;
    for prepared in db.prepared() {
        listing.row(&cells(&prepared))?;
    }
    listing.end()?;
    db.close()?;
    Ok(GOOD)
}

fn cells(prepared: &PreparedTransaction) -> [Cell<'_>; 4] {
    let at = prepared.prepared_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let count = |n: u64| Cell::Value(Value::Int(i64::try_from(n).unwrap_or(i64::MAX)), ColumnType::I64);
    [
        Cell::Value(Value::Text(&prepared.name), ColumnType::Text),
        Cell::Value(
            Value::Timestamp(i64::try_from(at.as_micros()).unwrap_or(i64::MAX)),
            ColumnType::Timestamp,
        ),
        count(prepared.rows),
        count(prepared.bytes),
    ]
}

/// Runs `gemel decide`.
pub(crate) fn decide(arguments: &Arguments) -> Outcome<u8> {
    let texts = arguments.texts(1)?;
    let (name, commits) = match texts[..] {
        [name, "commit"] => (name, true),
        [name, "roll-back"] => (name, false),
        [_, other] => {
            let other = in_quotes(other);
            return Err(arguments.misused(&format!("{other} is no decision: use commit or roll-back")));
        }
        _ => return Err(arguments.misused("name a prepared transaction and a decision")),
    };
    let db = parts::open_to_write(arguments.path(), parts::to_write_rows())?;
    if !db.prepared().iter().any(|prepared| prepared.name == name) {
        return Err(Failure::Other(format!(
            "no prepared transaction {} is undecided: gemel prepared PATH lists those that are",
            in_quotes(name)
        )));
    }
    let ticket = if commits { db.commit_prepared(name)? } else { db.roll_back_prepared(name)? };
    ticket.wait()?;
    db.close()?;
    let outcome = if commits { "committed" } else { "rolled back" };
    say(&format!("the prepared transaction {} is {outcome}\n", in_quotes(name)));
    Ok(GOOD)
}
