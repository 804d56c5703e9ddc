//! `gemel load`: reads a dump into a new or an existing database.

use crate::arguments::Arguments;
use crate::dump::{FORMAT, of_today};
use crate::failure::{Failure, GOOD, Outcome};
use crate::listing::say;
use crate::values::{self, Malformed, Parsed};
use gemel::row::{OwnedValue, Schema, Table, Value};
use gemel::{Database, Engine, FullDisk, Isolation, Keyspace, Options, Transaction};
use serde_json::value::RawValue;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// Rows of a transaction. A larger one would be faster by little: each waits for the disk once.
const BATCH_ROWS: usize = 5_000;
/// Bytes of the lines of a transaction, at least one line.
const BATCH_BYTES: usize = 8 << 20;
/// Maximum length of a line: a row of 16 MiB, each byte escaped.
const LINE_BYTES: u64 = 256 << 20;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome<u8> {
    let mut lines = Lines::open(arguments.at(1))?;
    lines.read_head()?;
    let path = arguments.path();
    // All rows of the dump's memory tables must fit, and only the application knows its limit.
    // On a full disk it fails at once, and says so: nobody sees how long it waits.
    let options =
        Options { memory_limit_bytes: u64::MAX / 4, full_disk: FullDisk::Fail, ..Options::default() };
    let db = match Database::is_in(path)? {
        true => Database::open_existing(path, options)?,
        false => Database::open(path, options)?,
    };
    let mut load = Load { db: &db, lines, replaces: arguments.has("--replace"), batch: Vec::new(), bytes: 0 };
    let mut parts = 0;
    while let Some(part) = load.begin_part(parts)? {
        let rows = load.rows(&part)?;
        // The load goes on if the reader of this line has gone.
        say(&format!("{}: {rows} rows\n", part.name()));
        parts += 1;
    }
    drop(load);
    db.close()?;
    say(&format!("{parts} tables and keyspaces loaded\n"));
    Ok(GOOD)
}

/// The lines of a dump.
struct Lines {
    name: String,
    reader: Box<dyn BufRead>,
    /// Number of the last line read.
    number: u64,
    line: String,
}

impl Lines {
    fn open(file: &OsStr) -> Outcome<Self> {
        let name = if file == "-" { "the standard input".to_owned() } else { file.display().to_string() };
        let reader: Box<dyn BufRead> = if file == "-" {
            Box::new(BufReader::new(io::stdin()))
        } else {
            let cant = |error| Failure::Other(format!("can't open {name}: {error}"));
            Box::new(BufReader::with_capacity(1 << 16, File::open(file).map_err(cant)?))
        };
        Ok(Self { name, reader, number: 0, line: String::new() })
    }

    /// Reads the next line. Returns false at the end of the file.
    fn next(&mut self) -> Outcome<bool> {
        self.line.clear();
        self.number += 1;
        let read = self.reader.by_ref().take(LINE_BYTES).read_line(&mut self.line);
        match read {
            Ok(0) => Ok(false),
            Ok(_) if self.line.ends_with('\n') => {
                self.line.truncate(self.line.trim_end().len());
                Ok(true)
            }
            Ok(bytes) if bytes as u64 == LINE_BYTES => Err(self.damaged("it is longer than a row can be")),
            Ok(_) => Err(self.damaged("the file ends within it: make the dump again")),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(self.damaged("it is not UTF-8")),
            Err(error) => Err(Failure::Other(format!("can't read {}: {error}", self.name))),
        }
    }

    /// Reads the next line, which must be there.
    fn expect(&mut self) -> Outcome {
        if self.next()? { Ok(()) } else { Err(self.damaged("the dump ends before it: make the dump again")) }
    }

    fn read_head(&mut self) -> Outcome {
        if !self.next()? {
            return Err(self.damaged("the file is empty: name a file that gemel dump has written"));
        }
        let head = self.object().map(|object| object.get("gemel_dump").and_then(serde_json::Value::as_u64));
        match head {
            Ok(Some(FORMAT)) => Ok(()),
            Ok(Some(format)) => Err(Failure::Other(format!(
                "{}: the dump has format {format}, and this version of gemel reads format {FORMAT}: \
                 use the version that wrote it",
                self.name
            ))),
            _ => Err(self.damaged("it does not begin a dump: name a file that gemel dump has written")),
        }
    }

    /// Returns the line as an object.
    fn object(&self) -> Outcome<serde_json::Map<String, serde_json::Value>> {
        serde_json::from_str(&self.line).map_err(|error| self.damaged(&error.to_string()))
    }

    fn damaged(&self, why: &str) -> Failure {
        Failure::Damaged(format!("{}, line {}: {why}", self.name, self.number))
    }

    fn refused(&self, number: u64, why: &str) -> Failure {
        Failure::Other(format!("{}, line {number}: {why}", self.name))
    }
}

/// A part of the dump, and its place in the database.
enum Part {
    Table(Box<Table>),
    Keyspace(Keyspace),
}

impl Part {
    fn name(&self) -> &str {
        match self {
            Self::Table(table) => table.name(),
            Self::Keyspace(keyspace) => keyspace.name(),
        }
    }
}

/// A row or entry that waits for its transaction.
struct Waiting {
    /// Number of its line.
    number: u64,
    row: Row,
}

enum Row {
    Values(Vec<OwnedValue>),
    Entry(Vec<u8>, Vec<u8>),
}

struct Load<'a> {
    db: &'a Database,
    lines: Lines,
    replaces: bool,
    batch: Vec<Waiting>,
    /// Bytes of the batch's lines.
    bytes: usize,
}

impl Load<'_> {
    /// Reads the line that begins a part, and makes the part if it does not exist. A part that exists stays in its
    /// engine. Returns none at the last line, which must count `done` parts.
    fn begin_part(&mut self, done: u64) -> Outcome<Option<Part>> {
        self.lines.expect()?;
        let mut object = self.lines.object()?;
        if let Some(parts) = object.get("parts") {
            if parts.as_u64() != Some(done) {
                return Err(self.lines.damaged(&format!("the dump has {parts} parts, and {done} were read")));
            }
            return if self.lines.next()? {
                Err(self.lines.damaged("the dump goes on behind its end"))
            } else {
                Ok(None)
            };
        }
        let engine = match object.get("engine").and_then(serde_json::Value::as_str) {
            Some("memory") => Engine::Memory,
            Some("disk") => Engine::Disk,
            _ => return Err(self.lines.damaged("expected a table or keyspace with its engine")),
        };
        let name = |key: &str| object.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
        let part = match (name("table"), name("keyspace")) {
            (Some(table), None) => {
                let schema = object.remove("schema").unwrap_or_default();
                let schema = serde_json::from_value::<Schema>(schema)
                    .map_err(|error| self.lines.damaged(&format!("the schema can't be read: {error}")))?;
                let table = self.db.open_or_create_table(&table, engine, of_today(&schema));
                table.map(|table| Part::Table(Box::new(table)))
            }
            (None, Some(keyspace)) => self.db.open_or_create_keyspace(&keyspace, engine).map(Part::Keyspace),
            _ => return Err(self.lines.damaged("expected a table or a keyspace")),
        };
        match part {
            Ok(part) => Ok(Some(part)),
            // In most cases, the database has another part of this name.
            Err(gemel::Error::Usage(why)) => {
                Err(Failure::Other(format!("{why}; or load the dump into a new database")))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the rows of a part up to the line that ends it. Returns their number.
    fn rows(&mut self, part: &Part) -> Outcome<u64> {
        let mut rows = 0;
        loop {
            self.lines.expect()?;
            if !self.lines.line.starts_with('[') {
                let object = self.lines.object()?;
                if object.get("rows").and_then(serde_json::Value::as_u64) != Some(rows) {
                    return Err(self.lines.damaged(&format!(
                        "expected the number of rows of {}, of which {rows} were read",
                        part.name()
                    )));
                }
                self.store(part)?;
                return Ok(rows);
            }
            let row = self.row(part).map_err(|why| self.lines.damaged(&why.0))?;
            self.batch.push(Waiting { number: self.lines.number, row });
            self.bytes += self.lines.line.len();
            rows += 1;
            if self.batch.len() == BATCH_ROWS || self.bytes >= BATCH_BYTES {
                self.store(part)?;
            }
        }
    }

    fn row(&self, part: &Part) -> Parsed<Row> {
        let cells: Vec<&RawValue> =
            serde_json::from_str(&self.lines.line).map_err(|error| Malformed(error.to_string()))?;
        match part {
            Part::Table(table) => {
                let columns = &table.schema().columns;
                if cells.len() != columns.len() {
                    return Err(Malformed(format!("{} values for {} columns", cells.len(), columns.len())));
                }
                let values = columns.iter().zip(cells).map(|(column, cell)| values::parse_json(column, cell));
                values.collect::<Parsed<_>>().map(Row::Values)
            }
            Part::Keyspace(_) => {
                let bytes = |cell: &RawValue| values::unescape(&values::parse_string(cell)?);
                let [key, value] = cells[..] else {
                    return Err(Malformed(format!("{} strings for a key and its value", cells.len())));
                };
                Ok(Row::Entry(bytes(key)?, bytes(value)?))
            }
        }
    }

    /// Commits the rows that wait, in one transaction.
    fn store(&mut self, part: &Part) -> Outcome {
        let (batch, replaces) = (&self.batch, self.replaces);
        let mut number = 0;
        let stored = self.db.run(Isolation::Snapshot, |transaction| {
            for waiting in batch {
                number = waiting.number;
                put(transaction, part, &waiting.row, replaces)?;
            }
            Ok(())
        });
        match stored {
            Ok(()) => {}
            Err(gemel::Error::Constraint(why)) => {
                let hint = if replaces { "" } else { "; with --replace, gemel load replaces such rows" };
                return Err(self.lines.refused(number, &format!("{why}{hint}")));
            }
            Err(gemel::Error::Capacity(why)) => return Err(self.lines.refused(number, &why)),
            Err(error) => return Err(error.into()),
        }
        self.batch.clear();
        self.bytes = 0;
        Ok(())
    }
}

fn put(transaction: &mut Transaction, part: &Part, row: &Row, replaces: bool) -> gemel::Result<()> {
    match (part, row) {
        (Part::Table(table), Row::Values(values)) => {
            let values: Vec<Value<'_>> = values.iter().map(Value::from).collect();
            if replaces {
                table.upsert(transaction, &values).map(drop)
            } else {
                table.insert(transaction, &values)
            }
        }
        (Part::Keyspace(keyspace), Row::Entry(key, value)) if replaces => {
            transaction.put(keyspace, key, value)
        }
        (Part::Keyspace(keyspace), Row::Entry(key, value)) => transaction.insert(keyspace, key, value),
        // Rows are read for the part into which they go.
        _ => Err(gemel::Error::Usage(format!("a row of another kind for {}", part.name()))),
    }
}
