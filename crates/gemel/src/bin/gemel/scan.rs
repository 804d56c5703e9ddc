//! `gemel scan`: rows of a table in the order of its primary key or of an index, or the entries of a keyspace.

use crate::arguments::{Arguments, Format};
use crate::failure::{Failure, GOOD, Outcome};
use crate::listing::{Cell, Listing, cells};
use crate::parts::{self, Part};
use crate::values::{self, in_quotes};
use gemel::row::{Column, OwnedValue, RowRange, RowView, Table, Value};
use gemel::{Database, Direction, Isolation, Keyspace};
use std::ops::{Bound, ControlFlow};

/// The options for the lower bound, and those for the upper bound. A scan takes at most one of each pair.
const BOUNDS: [[&str; 2]; 2] = [["--from", "--after"], ["--to", "--before"]];

/// Settings of a scan, apart from the bounds.
struct Request {
    format: Format,
    direction: Direction,
    limit: u64,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome<u8> {
    let limit = match arguments.option("--limit") {
        None => u64::MAX,
        Some(text) => {
            let wrong = || Failure::Usage(format!("--limit {} is not a number of rows", in_quotes(text)));
            text.parse().map_err(|_| wrong())?
        }
    };
    let request = Request {
        format: arguments.format(&[Format::Text, Format::Json, Format::Csv])?,
        direction: if arguments.has("--reverse") { Direction::Backward } else { Direction::Forward },
        limit,
    };
    for pair in BOUNDS {
        if pair.iter().all(|name| arguments.has(name)) {
            return Err(arguments.misused(&format!("{} and {} exclude each other", pair[0], pair[1])));
        }
    }
    if arguments.has("--prefix") && BOUNDS.iter().flatten().any(|name| arguments.has(name)) {
        return Err(arguments.misused("--prefix goes with no other bound"));
    }
    let texts = arguments.texts(1)?;
    let name = texts.first().ok_or_else(|| arguments.misused("name a table"))?;
    let db = parts::open(arguments.path())?;
    match parts::find(&db, name)? {
        Part::Table(table, _) => rows(arguments, &request, &db, &table)?,
        Part::Keyspace(keyspace, _) => entries(arguments, &request, &db, &keyspace)?,
    }
    db.close()?;
    Ok(GOOD)
}

fn rows(arguments: &Arguments, request: &Request, db: &Database, table: &Table) -> Outcome {
    let schema = table.schema();
    let index = arguments.option("--index");
    let columns: Vec<&Column> = match index {
        None => parts::key_columns(table),
        Some(name) if schema.indexes.iter().all(|index| index.name != name) => {
            return Err(no_index(table, name));
        }
        Some(name) => table.index_columns(name)?.into_iter().map(|column| &schema.columns[column]).collect(),
    };
    let bound = |name: &str| bound_of(arguments, &columns, name);
    let bounds = [bound("--from")?, bound("--after")?, bound("--to")?, bound("--before")?];
    let prefix = bound("--prefix")?;
    let bounds = bounds.each_ref().map(|bound| bound.as_deref().map(borrowed));
    let prefix = prefix.as_deref().map(borrowed);
    let range = match &prefix {
        Some(prefix) => RowRange::prefix(prefix),
        None => {
            let [from, after, to, before] = bounds.each_ref().map(|bound| bound.as_deref());
            RowRange::new(between(from, after), between(to, before))
        }
    };
    let names = schema.columns.iter().map(|column| column.name.clone()).collect();
    let mut listing = Listing::begin(request.format, names)?;
    let (mut left, mut failure) = (request.limit, Ok(()));
    let each = |row: RowView<'_>| {
        failure = listing.row(&cells(&schema.columns, &row.values()?));
        left -= 1;
        Ok(if failure.is_err() || left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    let mut transaction = db.begin(Isolation::Snapshot)?;
    if request.limit > 0 {
        match index {
            None => table.scan(&mut transaction, &range, request.direction, each)?,
            Some(index) => table.scan_index(&mut transaction, index, &range, request.direction, each)?,
        }
    }
    failure?;
    listing.end()
}

/// Reads the value of a bound: values of a key's first columns, with commas in between.
fn bound_of(arguments: &Arguments, columns: &[&Column], name: &str) -> Outcome<Option<Vec<OwnedValue>>> {
    let Some(given) = arguments.option(name) else { return Ok(None) };
    let given = values::split(given);
    if given.len() > columns.len() {
        let (columns, given) = (parts::listed(columns), given.len());
        return Err(Failure::Usage(format!(
            "{name} has {given} values for the columns {columns}; a comma within a value is written \\,"
        )));
    }
    Ok(Some(parts::key(columns, &given).map_err(|why| why.of(name))?))
}

fn borrowed(values: &[OwnedValue]) -> Vec<Value<'_>> {
    values.iter().map(Value::from).collect()
}

fn between<'a, T: ?Sized>(included: Option<&'a T>, excluded: Option<&'a T>) -> Bound<&'a T> {
    let excluded = excluded.map_or(Bound::Unbounded, Bound::Excluded);
    included.map_or(excluded, Bound::Included)
}

fn no_index(table: &Table, name: &str) -> Failure {
    let known: Vec<&str> = table.schema().indexes.iter().map(|index| index.name.as_str()).collect();
    let known =
        if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
    Failure::Other(format!("table {} has no index {name}: {known}", table.name()))
}

fn entries(arguments: &Arguments, request: &Request, db: &Database, keyspace: &Keyspace) -> Outcome {
    if arguments.has("--index") {
        return Err(Failure::Other(format!("{} is a keyspace and has no indexes", keyspace.name())));
    }
    let bound = |name: &str| match arguments.option(name) {
        None => Ok(None),
        Some(text) => values::unescape(text).map(Some).map_err(|why| why.of(name)),
    };
    let (from, after) = (bound("--from")?, bound("--after")?);
    let (to, before, prefix) = (bound("--to")?, bound("--before")?, bound("--prefix")?);
    let prefix = prefix.filter(|prefix| !prefix.is_empty());
    let lower = between(from.as_deref().or(prefix.as_deref()), after.as_deref());
    let upper = between(to.as_deref(), before.as_deref());
    // Keys with a prefix follow each other, but there may be no key that is the first behind them.
    let end = prefix.as_deref().and_then(end_of);
    let upper = end.as_deref().map_or(upper, Bound::Excluded);
    let mut listing = Listing::begin(request.format, vec!["key".into(), "value".into()])?;
    let (mut left, mut failure) = (request.limit, Ok(()));
    if request.limit > 0 {
        let mut transaction = db.begin(Isolation::Snapshot)?;
        transaction.scan(keyspace, lower, upper, request.direction, |key, value| {
            failure = listing.row(&[Cell::Bytes(key), Cell::Bytes(value)]);
            left -= 1;
            if failure.is_err() || left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    failure?;
    listing.end()
}

/// Returns the first key behind those with a prefix, if there is one.
fn end_of(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}
