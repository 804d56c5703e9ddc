//! `gemel load`: reads a dump into a new or an existing database.
//!
//! The dump is read at least twice. First all of it is checked, so a damaged one changes nothing. Then its parts are
//! stored, one after the other. If a part can't be stored, what was stored of it is removed again.

mod keys;
mod reader;
mod source;

use crate::arguments::Arguments;
use crate::failure::{Failure, GOOD, Outcome};
use crate::listing::say;
use crate::parts;
use crate::values::escape;
use gemel::row::{Table, Value};
use gemel::{Database, Error, Isolation, Keyspace, Transaction};
use keys::Keys;
use reader::{Item, Part, Reader, Row};
use source::Source;

/// Rows of a transaction. A larger one would be faster by little: each waits for the disk once.
const BATCH_ROWS: usize = 5_000;
/// Bytes of the lines of a transaction, at least one line.
const BATCH_BYTES: usize = 8 << 20;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome<u8> {
    let source = Source::open(arguments.at(1))?;
    check(&source).map_err(|failure| failure.and("nothing is loaded"))?;
    let path = arguments.path();
    let options = parts::to_write_rows();
    let db = match Database::is_in(path)? {
        true => parts::open_to_write(path, options)?,
        false => Database::open(path, options)?,
    };
    let reader = Reader::begin(source.lines()?)?;
    let load = Load { db: &db, source: &source, reader, replaces: arguments.has("--replace") };
    let parts = load.all()?;
    db.close()?;
    say(&format!("{parts} tables and keyspaces loaded\n"));
    Ok(GOOD)
}

/// Reads a dump to its end. No key comes twice in a part: with `--replace`, one of the two rows would be lost.
fn check(source: &Source) -> Outcome {
    let mut keys = Keys::default();
    read_keys(source, &mut keys)?;
    if keys.need_second_pass() { read_keys(source, &mut keys) } else { Ok(()) }
}

fn read_keys(source: &Source, keys: &mut Keys) -> Outcome {
    let mut reader = Reader::begin(source.lines()?)?;
    loop {
        let noted = match reader.next()? {
            Item::Begin(part) => keys.begin(&part),
            Item::Row(row) => keys.add(&row),
            Item::End => Ok(()),
            Item::Last => return Ok(()),
        };
        noted.map_err(|why| reader.lines().damaged(&why.0))?;
    }
}

/// The place of a part in the database.
enum Target {
    Table(Table),
    Keyspace(Keyspace),
}

/// The work to do with each row of a part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Writes a row whose key must be free.
    Insert,
    /// Writes a row, in place of another one with its key.
    Replace,
    /// Removes the row with the same key.
    Delete,
}

/// A row and the number of its line.
type Numbered = (u64, Row);

/// The reason why a part is not stored.
enum Stop {
    Failed(Failure),
    /// A row violates a constraint.
    Rejected(Numbered, String),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

struct Load<'a> {
    db: &'a Database,
    source: &'a Source,
    reader: Reader<'a>,
    replaces: bool,
}

impl Load<'_> {
    /// Stores all parts. Returns their number.
    fn all(mut self) -> Outcome<usize> {
        let mut loaded: Vec<String> = Vec::new();
        loop {
            let stored = match self.reader.next() {
                Ok(Item::Begin(part)) => self.part(&part).map(|rows| (part.name, rows)),
                Ok(Item::Last) => return Ok(loaded.len()),
                // The reader returns rows within a part only.
                Ok(Item::Row(_) | Item::End) => continue,
                Err(failure) => Err(failure),
            };
            let (name, rows) = stored.map_err(|failure| match loaded.is_empty() {
                true => failure,
                false => failure.and(&format!("loaded before it: {}", loaded.join(", "))),
            })?;
            let name = escape(name.as_bytes());
            // The load goes on if the reader of this line has gone.
            say(&format!("{name}: {rows} rows\n"));
            loaded.push(name);
        }
    }

    /// Stores the part that begins. Returns its rows. Makes the part if it does not exist. One that exists stays in its
    /// engine.
    fn part(&mut self, part: &Part) -> Outcome<u64> {
        let name = escape(part.name.as_bytes());
        let is_new = !self.db.keyspaces().iter().any(|(known, _)| *known == part.name);
        let target = match Target::open(self.db, part) {
            Ok(target) => target,
            // In most cases, the database has another part of this name.
            Err(Error::Usage(why)) => {
                let why = format!("{why}; or load the dump into a new database");
                return Err(self.reader.lines().rejected(&why).and(&format!("nothing of {name} is loaded")));
            }
            Err(error) => return Err(error.into()),
        };
        // A table that the load has made has no rows that could be replaced.
        let work = if self.replaces && !is_new { Work::Replace } else { Work::Insert };
        let mut stored = 0;
        let stop = match store(self.db, &mut self.reader, &target, work, &mut stored, u64::MAX) {
            Ok(()) => return Ok(stored),
            Err(stop) => stop,
        };
        let undone = match work {
            _ if is_new => Target::drop(self.db, part),
            Work::Replace if stored > 0 => Err(Failure::Other("rows were replaced".into())),
            _ => self.delete(part, &target, stored),
        };
        let failure = match stop {
            Stop::Failed(failure) => failure,
            Stop::Rejected((line, row), why) => {
                let lines = self.reader.lines();
                match is_new || undone.is_ok() && work == Work::Insert && target.takes(self.db, &row)? {
                    // No other row is in the way but one of the dump.
                    true => lines.damaged_at(line, &why),
                    false if target.has(self.db, &row)? => lines
                        .rejected_at(line, &format!("{why}; with --replace, gemel load replaces such rows")),
                    false => lines.rejected_at(line, &why),
                }
            }
        };
        Err(failure.and(&match undone {
            Ok(()) => format!("nothing of {name} is loaded"),
            Err(why) => {
                let why = why.message().unwrap_or_default();
                format!(
                    "the first {stored} rows of {name} stay ({why}): repeat the load with --replace to go on"
                )
            }
        }))
    }

    /// Deletes the first rows of a part that exists, which the load has inserted.
    fn delete(&self, part: &Part, target: &Target, rows: u64) -> Outcome {
        if rows == 0 {
            return Ok(());
        }
        let mut reader = Reader::begin(self.source.lines()?)?;
        while !matches!(reader.next()?, Item::Begin(begun) if begun.name == part.name) {}
        match store(self.db, &mut reader, target, Work::Delete, &mut 0, rows) {
            Ok(()) => Ok(()),
            Err(Stop::Failed(failure)) => Err(failure),
            Err(Stop::Rejected(_, why)) => Err(Failure::Other(why)),
        }
    }
}

/// Reads the rows of a part up to its end, at most `most`, and commits them, some thousand at a time. `stored` becomes
/// the number of rows that are committed.
fn store(
    db: &Database,
    reader: &mut Reader<'_>,
    target: &Target,
    work: Work,
    stored: &mut u64,
    most: u64,
) -> Result<(), Stop> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    loop {
        let is_last = match reader.next()? {
            Item::Row(row) => {
                bytes += reader.lines().line().len();
                batch.push((reader.lines().number(), row));
                *stored + batch.len() as u64 == most
            }
            _ => true,
        };
        if is_last || batch.len() == BATCH_ROWS || bytes >= BATCH_BYTES {
            commit(db, reader, target, work, &mut batch)?;
            *stored += batch.len() as u64;
            batch.clear();
            bytes = 0;
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Commits rows in one transaction.
fn commit(
    db: &Database,
    reader: &Reader<'_>,
    target: &Target,
    work: Work,
    batch: &mut Vec<Numbered>,
) -> Result<(), Stop> {
    let mut at = 0;
    let done = db.run(Isolation::Snapshot, |transaction| {
        for (place, (_, row)) in batch.iter().enumerate() {
            at = place;
            target.apply(transaction, row, work)?;
        }
        Ok(())
    });
    match done {
        Ok(()) => Ok(()),
        Err(Error::Constraint(why)) => Err(Stop::Rejected(batch.swap_remove(at), why)),
        Err(Error::Capacity(why)) => Err(Stop::Failed(reader.lines().rejected_at(batch[at].0, &why))),
        Err(error) => Err(Stop::Failed(error.into())),
    }
}

impl Target {
    /// Returns a part of the database, and makes it if it does not exist.
    fn open(db: &Database, part: &Part) -> gemel::Result<Self> {
        match &part.schema {
            Some(schema) => db.open_or_create_table(&part.name, part.engine, schema.clone()).map(Self::Table),
            None => db.open_or_create_keyspace(&part.name, part.engine).map(Self::Keyspace),
        }
    }

    /// Drops a part that the load has made.
    fn drop(db: &Database, part: &Part) -> Outcome {
        match part.schema {
            Some(_) => db.drop_table(&part.name)?,
            None => db.drop_keyspace(&part.name)?,
        }
        Ok(())
    }

    fn apply(&self, transaction: &mut Transaction, row: &Row, work: Work) -> gemel::Result<()> {
        match (self, row) {
            (Self::Table(table), Row::Values(values)) => {
                let values: Vec<Value<'_>> = values.iter().map(Value::from).collect();
                match work {
                    Work::Insert => table.insert(transaction, &values),
                    Work::Replace => table.upsert(transaction, &values).map(drop),
                    Work::Delete => table.delete(transaction, &key_of(table, &values)).map(drop),
                }
            }
            (Self::Keyspace(keyspace), Row::Entry(key, value)) => match work {
                Work::Insert => transaction.insert(keyspace, key, value),
                Work::Replace => transaction.put(keyspace, key, value),
                Work::Delete => transaction.delete(keyspace, key).map(drop),
            },
            _ => Err(self.of_another_kind()),
        }
    }

    /// Returns true if the row can be inserted as the database is.
    fn takes(&self, db: &Database, row: &Row) -> Outcome<bool> {
        let mut transaction = db.begin(Isolation::Snapshot)?;
        match self.apply(&mut transaction, row, Work::Insert) {
            Ok(()) => Ok(true),
            Err(Error::Constraint(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns true if the database has a row with the same key.
    fn has(&self, db: &Database, row: &Row) -> Outcome<bool> {
        let mut transaction = db.begin(Isolation::Snapshot)?;
        Ok(match (self, row) {
            (Self::Table(table), Row::Values(values)) => {
                let values: Vec<Value<'_>> = values.iter().map(Value::from).collect();
                table.get(&mut transaction, &key_of(table, &values))?.is_some()
            }
            (Self::Keyspace(keyspace), Row::Entry(key, _)) => transaction.get(keyspace, key)?.is_some(),
            _ => return Err(self.of_another_kind().into()),
        })
    }

    /// Rows are read for the part into which they go, so this is an error of the program.
    fn of_another_kind(&self) -> Error {
        let name = match self {
            Self::Table(table) => table.name(),
            Self::Keyspace(keyspace) => keyspace.name(),
        };
        Error::Usage(format!("a row of another kind for {name}"))
    }
}

/// Returns the values of the primary key.
fn key_of<'v>(table: &Table, values: &[Value<'v>]) -> Vec<Value<'v>> {
    table.primary_key().positions().map(|at| values[at]).collect()
}
