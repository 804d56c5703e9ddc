//! Rows of a load on their way to the server: as a file that the server requests, or as the text of INSERT. They go in
//! one stream within the current transaction, or in batches with a transaction each.

use crate::mysql::binary::{civil, put_cents, put_int, put_rate};
use crate::mysql::load_lock::MARK;
use crate::mysql::wire::{Head, Wire, unexpected};
use lydite_database::LoadProgress;
use lydite_database::sql::batch;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::sql::tally::Tally;
use lydite_tpcc::population::RowWriter;
use lydite_tpcc::rows::{ColumnSink, Row};
use lydite_tpcc::{Cents, Rate, Timestamp};
use std::ops::Range;
use std::time::Instant;

/// Bytes per send. Far below the smallest packet limit of servers (1 MiB in MariaDB's clients, 4 MiB in old servers),
/// and large enough that a packet's frame costs nothing.
const CHUNK: usize = 256 * 1024;

/// Method of sending rows to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Lines of a file that the server requests.
    File,
    /// Text of INSERT statements.
    Insert,
}

/// Returns how to load rows into this server. They must belong to the current transaction, so that a rollback removes
/// them.
pub(crate) fn way(wire: &mut Wire) -> Result<Way, SqlError> {
    if !wire.product.file_in_transaction {
        return Ok(Way::Insert);
    }
    let allowed = wire.column("SELECT @@GLOBAL.local_infile")?.concat();
    Ok(if matches!(allowed.as_str(), "0" | "OFF") { Way::Insert } else { Way::File })
}

/// Destination and method of a copy.
struct Destination<'a> {
    way: Way,
    table: &'a str,
    columns: &'a str,
}

impl Destination<'_> {
    /// Makes the server request a file.
    fn begin_file(&self, wire: &mut Wire) -> Result<(), SqlError> {
        let Self { table, columns, .. } = self;
        // The server passes the file name back to this client. No such file exists.
        wire.query(&format!(
            "{MARK} LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} CHARACTER SET utf8mb4 ({columns})"
        ))?;
        wire.flush()?;
        match wire.head()? {
            Head::WantsFile => Ok(()),
            Head::Done(_) | Head::Columns(_) => Err(unexpected("no request for rows")),
        }
    }

    /// Sends the end of the rows and reads the server's answer.
    fn end_file(&self, wire: &mut Wire, rows: u64) -> Result<(), SqlError> {
        wire.send_part(&[])?;
        match wire.head()? {
            // A server leaves out rows that it can't store, with a warning at most.
            Head::Done(done) if done.affected != rows => Err(SqlError::Decode(format!(
                "the server took {} of {rows} rows: are there rows already, or is its disk full?",
                done.affected
            ))),
            Head::Done(_) => Ok(()),
            Head::Columns(_) | Head::WantsFile => Err(unexpected("no end of the rows")),
        }
    }

    /// Runs an INSERT of rows. The first row begins with a comma, as all do.
    fn insert(&self, wire: &mut Wire, rows: &[u8]) -> Result<(), SqlError> {
        let rows = std::str::from_utf8(rows)
            .map_err(|error| SqlError::Decode(format!("rows that are no text: {error}")))?;
        let Self { table, columns, .. } = self;
        let rows = rows.strip_prefix(',').unwrap_or(rows);
        wire.execute(&format!("{MARK} INSERT INTO {table} ({columns}) VALUES {rows}"))
    }

    /// Stores some rows of a buffer in a transaction of their own. `ends` holds the end of each row in the buffer.
    fn transaction(
        &self,
        wire: &mut Wire,
        buffer: &[u8],
        ends: &[usize],
        rows: Range<usize>,
    ) -> Result<(), SqlError> {
        wire.execute("START TRANSACTION")?;
        let stored = self.store(wire, buffer, ends, rows).and_then(|()| wire.execute("COMMIT"));
        if stored.is_err() {
            // The first error is the one that matters.
            let _undone = wire.execute("ROLLBACK");
        }
        stored
    }

    fn store(
        &self,
        wire: &mut Wire,
        buffer: &[u8],
        ends: &[usize],
        rows: Range<usize>,
    ) -> Result<(), SqlError> {
        let start_of = |row: usize| row.checked_sub(1).map_or(0, |row| ends[row]);
        match self.way {
            Way::File => {
                self.begin_file(wire)?;
                for part in buffer[start_of(rows.start)..start_of(rows.end)].chunks(CHUNK) {
                    wire.send_part(part)?;
                }
                self.end_file(wire, rows.len() as u64)
            }
            Way::Insert => {
                let mut from = start_of(rows.start);
                for row in rows.clone() {
                    if ends[row] - from >= CHUNK || row + 1 == rows.end {
                        self.insert(wire, &buffer[from..ends[row]])?;
                        from = ends[row];
                    }
                }
                Ok(())
            }
        }
    }
}

/// Copies the rows that `write` writes into a table. With a batch size each batch is a transaction of its own, else all
/// rows go into the current transaction. The batch size is reduced if the server finds it too large.
pub(crate) fn copy_in(
    wire: &mut Wire,
    way: Way,
    (table, columns): (&str, &str),
    batch: Option<&mut u32>,
    progress: &LoadProgress,
    write: impl FnOnce(&mut Copy<'_>) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let into = Destination { way, table, columns };
    let streams = batch.is_none() && way == Way::File;
    let begun = Instant::now();
    if streams {
        into.begin_file(wire)?;
    }
    let tally = Tally::new(progress, table);
    let rows = Encoder::new(way);
    let mut copy = Copy { wire, into, rows, count: 0, batch, ends: Vec::new(), tally, progress };
    let written = write(&mut copy).and_then(|()| copy.send());
    copy.tally.note();
    match written {
        // The server waits for more rows. It rolls back those that it has.
        Err(SqlError::Decode(stopped)) if streams => {
            let _answered = copy.into.end_file(copy.wire, copy.count);
            Err(SqlError::Decode(stopped))
        }
        Ok(()) if streams => {
            copy.into.end_file(copy.wire, copy.count)?;
            progress.batch(begun.elapsed());
            Ok(())
        }
        written => written,
    }
}

/// Receiver of the rows of a table.
pub(crate) struct Copy<'a> {
    wire: &'a mut Wire,
    into: Destination<'a>,
    rows: Encoder,
    /// Rows so far.
    count: u64,
    /// Rows per batch; `None` for one stream.
    batch: Option<&'a mut u32>,
    /// End of each row of the batch.
    ends: Vec<usize>,
    tally: Tally<'a>,
    progress: &'a LoadProgress,
}

impl Copy<'_> {
    /// Writes a row. `fields` writes its fields.
    pub(crate) fn row(&mut self, fields: impl FnOnce(&mut Encoder)) -> Result<(), SqlError> {
        self.rows.row(fields);
        self.count += 1;
        let full = match &self.batch {
            None => self.rows.buffer.len() >= CHUNK,
            Some(size) => {
                self.ends.push(self.rows.buffer.len());
                self.ends.len() >= **size as usize
            }
        };
        if full {
            self.send()?;
        }
        self.tally.row()
    }

    /// Sends the buffered rows.
    fn send(&mut self) -> Result<(), SqlError> {
        let Self { wire, into, rows, batch, ends, tally, progress, .. } = self;
        if rows.buffer.is_empty() {
            return Ok(());
        }
        match batch {
            Some(size) => {
                let codes = wire.product.too_large;
                let is_too_large = |error: &SqlError| matches!(error, SqlError::Database { code, .. } if codes.iter().any(|known| known.to_string() == *code));
                batch::send(ends.len(), size, is_too_large, |batch| {
                    progress.timed(|| into.transaction(wire, &rows.buffer, ends, batch))
                })?;
                ends.clear();
            }
            None if into.way == Way::File => wire.send_part(&rows.buffer)?,
            None => progress.timed(|| into.insert(wire, &rows.buffer))?,
        }
        tally.bytes(rows.buffer.len());
        rows.buffer.clear();
        Ok(())
    }
}

impl RowWriter for Copy<'_> {
    type Error = SqlError;

    fn write<R: Row>(&mut self, row: &R) -> Result<(), SqlError> {
        self.row(|rows| row.emit(rows))
    }
}

/// Encoder of rows as text: lines, or lists in parentheses that begin with a comma.
pub(crate) struct Encoder {
    way: Way,
    buffer: Vec<u8>,
    /// Columns of the current row that are written.
    column: usize,
    /// Last point in time and its text. All rows of a load have the same.
    epoch: (Timestamp, String),
}

impl Encoder {
    fn new(way: Way) -> Self {
        let buffer = Vec::with_capacity(CHUNK + 4 * 1024);
        Self { way, buffer, column: 0, epoch: (Timestamp(0), String::new()) }
    }

    /// Writes a row. `fields` writes its fields.
    fn row(&mut self, fields: impl FnOnce(&mut Self)) {
        self.column = 0;
        match self.way {
            Way::File => {
                fields(self);
                self.buffer.push(b'\n');
            }
            Way::Insert => {
                self.buffer.extend_from_slice(b",(");
                fields(self);
                self.buffer.push(b')');
            }
        }
    }

    fn field(&mut self) -> &mut Vec<u8> {
        if self.column > 0 {
            self.buffer.push(match self.way {
                Way::File => b'\t',
                Way::Insert => b',',
            });
        }
        self.column += 1;
        &mut self.buffer
    }
}

impl ColumnSink for Encoder {
    fn int(&mut self, value: i64) {
        put_int(value, self.field());
    }

    fn money(&mut self, value: Cents) {
        put_cents(value, self.field());
    }

    fn rate(&mut self, value: Rate) {
        put_rate(value, self.field());
    }

    fn text(&mut self, value: &str) {
        let way = self.way;
        let out = self.field();
        if way == Way::Insert {
            out.push(b'\'');
        }
        // A backslash escapes the next character, in lines and in literals.
        if value.bytes().any(|byte| matches!(byte, b'\\' | b'\'' | b'\t' | b'\n')) {
            for byte in value.bytes() {
                if matches!(byte, b'\\' | b'\'' | b'\t' | b'\n') {
                    out.push(b'\\');
                }
                out.push(byte);
            }
        } else {
            out.extend_from_slice(value.as_bytes());
        }
        if way == Way::Insert {
            out.push(b'\'');
        }
    }

    fn time(&mut self, value: Timestamp) {
        if self.epoch.1.is_empty() || self.epoch.0 != value {
            let text = civil(value).map(|time| time.strftime("%Y-%m-%d %H:%M:%S%.6f").to_string());
            self.epoch = (value, text.unwrap_or_default());
        }
        let text = std::mem::take(&mut self.epoch.1);
        self.text(&text);
        self.epoch.1 = text;
    }

    fn null(&mut self) {
        let null: &[u8] = match self.way {
            Way::File => b"\\N",
            Way::Insert => b"NULL",
        };
        self.field().extend_from_slice(null);
    }
}
