//! Rows in the binary form of `COPY … FROM STDIN`: as one stream, or in batches.

use crate::postgres::numeric;
use crate::postgres::wire::{Wire, encoding, unexpected};
use lydite_database::LoadProgress;
use lydite_database::sql::batch;
use lydite_database::sql::ddl;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::sql::tally::Tally;
use lydite_tpcc::population::RowWriter;
use lydite_tpcc::rows::{ColumnSink, Row};
use lydite_tpcc::schema::{ColumnType, Table};
use lydite_tpcc::{Cents, Rate, Timestamp};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use std::ops::Range;
use std::time::Instant;

/// Bytes per CopyData message, large enough that the message's frame and the write cost nothing.
const CHUNK: usize = 256 * 1024;
/// Beginning of every COPY: no flags, no header extension.
const HEADER: [u8; 19] = *b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// End of every COPY: a row of -1 fields.
const TRAILER: [u8; 2] = [0xff; 2];

/// Copies the rows that `write` writes into a table, within the current transaction. Rolls that back if `write` fails.
pub(super) fn copy_in(
    wire: &mut Wire,
    table: &str,
    columns: &str,
    types: Vec<ColumnType>,
    progress: &LoadProgress,
    write: impl FnOnce(&mut Copy<'_>) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let begun = Instant::now();
    begin(wire, table, columns)?;
    let mut copy = Copy { wire, rows: Encoder::new(types), tally: Tally::new(progress, table) };
    match write(&mut copy).and_then(|()| copy.end()) {
        Ok(()) => {
            wire.until_ready()?;
            progress.batch(begun.elapsed());
            Ok(())
        }
        Err(SqlError::Decode(stopped)) => {
            // The error is not the server's. The server undoes the COPY when it is told.
            frontend::copy_fail(&stopped, &mut wire.out).map_err(encoding)?;
            wire.flush()?;
            let _undone = wire.until_ready();
            let _idle = wire.execute("ROLLBACK");
            Err(SqlError::Decode(stopped))
        }
        Err(error) => Err(error),
    }
}

fn begin(wire: &mut Wire, table: &str, columns: &str) -> Result<(), SqlError> {
    let sql = format!("COPY {table} ({columns}) FROM STDIN (FORMAT binary)");
    let (sql, leading) = wire.led(&sql);
    frontend::query(&sql, &mut wire.out).map_err(encoding)?;
    wire.flush()?;
    wire.read_leading(leading)?;
    loop {
        match wire.message()? {
            Message::CopyInResponse(_) => break,
            Message::ErrorResponse(body) => return Err(wire.fail(body.fields())),
            Message::NoticeResponse(_) => {}
            _ => return Err(unexpected("no COPY")),
        }
    }
    data(wire, &HEADER)
}

/// Sends a CopyData message.
fn data(wire: &mut Wire, bytes: &[u8]) -> Result<(), SqlError> {
    let length = u32::try_from(bytes.len() + 4).map_err(|_| SqlError::Decode("a row is too long".into()))?;
    let [a, b, c, d] = length.to_be_bytes();
    wire.send(&[b'd', a, b, c, d])?;
    wire.send(bytes)
}

/// Ends the COPY. The server's answer follows.
fn end(wire: &mut Wire) -> Result<(), SqlError> {
    data(wire, &TRAILER)?;
    frontend::copy_done(&mut wire.out);
    wire.flush()
}

/// Encoder of rows in PostgreSQL's binary form.
pub(super) struct Encoder {
    types: Vec<ColumnType>,
    /// Index of the next column.
    column: usize,
    buffer: Vec<u8>,
}

impl Encoder {
    fn new(types: Vec<ColumnType>) -> Self {
        Self { types, column: 0, buffer: Vec::with_capacity(CHUNK + 4 * 1024) }
    }

    /// Writes a row. `fields` writes its fields.
    fn row(&mut self, fields: impl FnOnce(&mut Self)) {
        self.column = 0;
        self.buffer.extend_from_slice(&(self.types.len() as i16).to_be_bytes());
        fields(self);
        debug_assert_eq!(self.column, self.types.len());
    }

    pub(super) fn field(&mut self, bytes: &[u8]) {
        self.column += 1;
        self.buffer.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
        self.buffer.extend_from_slice(bytes);
    }

    /// Writes a field whose length is known only afterwards.
    fn sized(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        self.column += 1;
        let at = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        put(&mut self.buffer);
        let length = (self.buffer.len() - at - 4) as i32;
        self.buffer[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

impl ColumnSink for Encoder {
    fn int(&mut self, value: i64) {
        match self.types[self.column] {
            ColumnType::Integer { below } if below <= 1 << 15 => self.field(&(value as i16).to_be_bytes()),
            ColumnType::Integer { below } if below > 1 << 31 => self.field(&value.to_be_bytes()),
            _ => self.field(&(value as i32).to_be_bytes()),
        }
    }

    fn money(&mut self, value: Cents) {
        self.sized(|out| numeric::put_cents(value, out));
    }

    fn rate(&mut self, value: Rate) {
        self.sized(|out| numeric::put_rate(value, out));
    }

    fn text(&mut self, value: &str) {
        self.field(value.as_bytes());
    }

    fn time(&mut self, value: Timestamp) {
        self.field(&super::values::postgres_micros(value).to_be_bytes());
    }

    fn null(&mut self) {
        self.column += 1;
        self.buffer.extend_from_slice(&(-1_i32).to_be_bytes());
    }
}

/// One COPY that receives a stream of rows.
pub(super) struct Copy<'a> {
    wire: &'a mut Wire,
    rows: Encoder,
    tally: Tally<'a>,
}

impl Copy<'_> {
    /// Writes a row. `fields` writes its fields.
    pub(super) fn row(&mut self, fields: impl FnOnce(&mut Encoder)) -> Result<(), SqlError> {
        self.rows.row(fields);
        if self.rows.buffer.len() >= CHUNK {
            self.send()?;
        }
        self.tally.row()
    }

    fn send(&mut self) -> Result<(), SqlError> {
        data(self.wire, &self.rows.buffer)?;
        self.tally.bytes(self.rows.buffer.len());
        self.rows.buffer.clear();
        Ok(())
    }

    fn end(&mut self) -> Result<(), SqlError> {
        self.send()?;
        self.tally.note();
        end(self.wire)
    }
}

impl RowWriter for Copy<'_> {
    type Error = SqlError;

    fn write<R: Row>(&mut self, row: &R) -> Result<(), SqlError> {
        self.row(|rows| row.emit(rows))
    }
}

/// COPYs of a batch of rows each, every one in a transaction of its own.
pub(super) struct Batches<'a> {
    wire: &'a mut Wire,
    table: Table,
    rows: Encoder,
    /// End of each row of the buffer.
    ends: Vec<usize>,
    /// Rows per batch.
    size: &'a mut u32,
    tally: Tally<'a>,
    progress: &'a LoadProgress,
}

impl<'a> Batches<'a> {
    pub(super) fn new(
        wire: &'a mut Wire,
        (table, types): (Table, Vec<ColumnType>),
        size: &'a mut u32,
        progress: &'a LoadProgress,
    ) -> Self {
        let tally = Tally::new(progress, table.name());
        Self { wire, table, rows: Encoder::new(types), ends: Vec::new(), size, tally, progress }
    }

    /// Sends the remaining rows.
    pub(super) fn end(&mut self) -> Result<(), SqlError> {
        self.send()?;
        self.tally.note();
        Ok(())
    }

    fn send(&mut self) -> Result<(), SqlError> {
        let Self { wire, table, rows, ends, size, progress, .. } = self;
        batch::send(ends.len(), size, is_too_large, |batch| {
            progress.timed(|| copy(wire, *table, &rows.buffer, ends, batch))
        })?;
        self.tally.bytes(self.rows.buffer.len());
        self.rows.buffer.clear();
        self.ends.clear();
        Ok(())
    }
}

/// Copies some rows of a buffer. `ends` holds the end of each row in the buffer.
fn copy(
    wire: &mut Wire,
    table: Table,
    buffer: &[u8],
    ends: &[usize],
    rows: Range<usize>,
) -> Result<(), SqlError> {
    let end_of = |row: usize| row.checked_sub(1).map_or(0, |row| ends[row]);
    begin(wire, table.name(), &ddl::column_list(table))?;
    for chunk in buffer[end_of(rows.start)..end_of(rows.end)].chunks(CHUNK) {
        data(wire, chunk)?;
    }
    end(wire)?;
    wire.until_ready()
}

/// True if the server says that a transaction is too large, by the code "program limit exceeded" or in words.
fn is_too_large(error: &SqlError) -> bool {
    matches!(error, SqlError::Database { code, message, .. } if code == "54000" || message.contains("too large"))
}

impl RowWriter for Batches<'_> {
    type Error = SqlError;

    fn write<R: Row>(&mut self, row: &R) -> Result<(), SqlError> {
        self.rows.row(|rows| row.emit(rows));
        self.ends.push(self.rows.buffer.len());
        if self.ends.len() >= *self.size as usize {
            self.send()?;
        }
        self.tally.row()
    }
}
