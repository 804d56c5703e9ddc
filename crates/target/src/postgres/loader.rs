//! Loading by `COPY … FROM STDIN` in the binary form: one transaction per warehouse, so that it is there whole or
//! not at all.

use crate::error::TargetError;
use crate::postgres::config::Config;
use crate::postgres::wire::{Wire, encoding, unexpected};
use crate::postgres::{connected, load_lock, numeric};
use crate::sql::connection::SqlError;
use crate::sql::ddl;
use crate::sql::meta::{self, Admin};
use crate::sql::shards::ShardLoader;
use crate::sql::tally::Tally;
use crate::target::{LoadProgress, LoadUnit, Loader};
use lydite_tpcc::population::{Population, RowWriter};
use lydite_tpcc::rows::{ColumnSink, Row};
use lydite_tpcc::schema::{ColumnType, Table};
use lydite_tpcc::{Cents, Rate, Timestamp, WarehouseId};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

/// Bytes per CopyData message: large enough that the message's frame and the write cost nothing.
const CHUNK: usize = 256 * 1024;
/// Tag and length of a CopyData message.
const FRAME: usize = 5;

pub(crate) struct PgLoader {
    wire: Wire,
    place: String,
}

impl PgLoader {
    pub(crate) fn open(config: &Config) -> Result<Self, TargetError> {
        let place = config.place();
        let mut wire = connected(config)?;
        load_lock::share(&mut wire).map_err(|error| super::advised(error, "join the load", &place))?;
        Ok(Self { wire, place })
    }

    fn table(
        &mut self,
        population: &Population,
        table: Table,
        warehouse: WarehouseId,
        progress: &LoadProgress,
    ) -> Result<(), SqlError> {
        let types = table.schema().columns.iter().map(|column| column.kind).collect();
        copy_in(&mut self.wire, table.name(), &ddl::column_list(table), types, progress, |copy| {
            population.write_table(table, warehouse, copy).map(|_| ())
        })
    }
}

impl ShardLoader for PgLoader {
    fn has_loaded(&mut self, unit: LoadUnit) -> Result<bool, TargetError> {
        let noted =
            self.wire.column(&format!("SELECT unit FROM lydite_load WHERE unit = {}", unit.warehouse()));
        let noted = noted.map_err(|error| super::advised(error, "look for what is loaded", &self.place))?;
        Ok(!noted.is_empty())
    }

    fn note(&mut self, unit: LoadUnit) -> Result<(), TargetError> {
        let noted = self.wire.execute(&meta::loaded(unit));
        noted.map_err(|error| super::advised(error, &format!("note {unit} as loaded"), &self.place))
    }
}

/// Copies the rows that `write` writes into a table, within the transaction at hand; rolls that back if `write` fails.
pub(super) fn copy_in(
    wire: &mut Wire,
    table: &str,
    columns: &str,
    types: Vec<ColumnType>,
    progress: &LoadProgress,
    write: impl FnOnce(&mut Copy<'_>) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let sql = format!("COPY {table} ({columns}) FROM STDIN (FORMAT binary)");
    frontend::query(&sql, &mut wire.out).map_err(encoding)?;
    wire.flush()?;
    loop {
        match wire.message()? {
            Message::CopyInResponse(_) => break,
            Message::ErrorResponse(body) => return Err(wire.fail(body.fields())),
            Message::NoticeResponse(_) => {}
            _ => return Err(unexpected("no COPY")),
        }
    }
    let mut copy = Copy::new(wire, types, progress);
    match write(&mut copy).and_then(|()| copy.end()) {
        Ok(()) => wire.until_ready(),
        Err(SqlError::Decode(stopped)) => {
            // Ours: tell the server, which then undoes the COPY.
            frontend::copy_fail(&stopped, &mut wire.out).map_err(encoding)?;
            wire.flush()?;
            let _undone = wire.until_ready();
            let _idle = wire.execute("ROLLBACK");
            Err(SqlError::Decode(stopped))
        }
        Err(error) => Err(error),
    }
}

impl Loader for PgLoader {
    /// Loads the unit's tables in one transaction, which notes it as loaded.
    fn load(
        &mut self,
        unit: LoadUnit,
        population: &Population,
        progress: &LoadProgress,
    ) -> Result<(), TargetError> {
        let place = self.place.clone();
        let failed = |doing: String| {
            let place = place.clone();
            move |error: SqlError| super::advised(error, &doing, &place)
        };
        self.wire.execute("BEGIN").map_err(failed("begin".into()))?;
        for &table in unit.tables() {
            let copied = self.table(population, table, unit.warehouse(), progress);
            copied.map_err(failed(format!("load {unit}: {}", table.name())))?;
        }
        self.wire
            .execute(&format!("{}; COMMIT", meta::loaded(unit)))
            .map_err(failed(format!("commit {unit}")))
    }
}

/// Writes rows as CopyData messages.
pub(super) struct Copy<'a> {
    wire: &'a mut Wire,
    types: Vec<ColumnType>,
    /// Column that comes next.
    column: usize,
    buffer: Vec<u8>,
    tally: Tally<'a>,
}

impl<'a> Copy<'a> {
    fn new(wire: &'a mut Wire, types: Vec<ColumnType>, progress: &'a LoadProgress) -> Self {
        let mut buffer = Vec::with_capacity(CHUNK + 4 * 1024);
        buffer.extend_from_slice(&[0; FRAME]);
        buffer.extend_from_slice(b"PGCOPY\n\xff\r\n\0");
        // No flags, no header extension.
        buffer.extend_from_slice(&[0; 8]);
        Self { wire, types, column: 0, buffer, tally: Tally::new(progress) }
    }

    fn send(&mut self) -> Result<(), SqlError> {
        let length = (self.buffer.len() - 1) as u32;
        self.buffer[0] = b'd';
        self.buffer[1..FRAME].copy_from_slice(&length.to_be_bytes());
        self.wire.send(&self.buffer)?;
        self.tally.bytes(self.buffer.len() - FRAME);
        self.buffer.truncate(FRAME);
        Ok(())
    }

    fn end(&mut self) -> Result<(), SqlError> {
        self.buffer.extend_from_slice(&(-1_i16).to_be_bytes());
        self.send()?;
        self.tally.note();
        frontend::copy_done(&mut self.wire.out);
        self.wire.flush()
    }

    /// Writes a row: `fields` puts its fields.
    pub(super) fn row(&mut self, fields: impl FnOnce(&mut Self)) -> Result<(), SqlError> {
        self.column = 0;
        self.buffer.extend_from_slice(&(self.types.len() as i16).to_be_bytes());
        fields(self);
        debug_assert_eq!(self.column, self.types.len());
        if self.buffer.len() >= CHUNK {
            self.send()?;
        }
        self.tally.row()
    }

    pub(super) fn field(&mut self, bytes: &[u8]) {
        self.column += 1;
        self.buffer.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
        self.buffer.extend_from_slice(bytes);
    }

    /// Puts a field whose length is known only afterwards.
    fn sized(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        self.column += 1;
        let at = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        put(&mut self.buffer);
        let length = (self.buffer.len() - at - 4) as i32;
        self.buffer[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

impl RowWriter for Copy<'_> {
    type Error = SqlError;

    fn write<R: Row>(&mut self, row: &R) -> Result<(), SqlError> {
        self.row(|copy| row.emit(copy))
    }
}

impl ColumnSink for Copy<'_> {
    fn int(&mut self, value: i64) {
        match self.types[self.column] {
            ColumnType::Integer { below } if below <= 1 << 15 => self.field(&(value as i16).to_be_bytes()),
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
        self.field(&super::session::postgres_micros(value).to_be_bytes());
    }

    fn null(&mut self) {
        self.column += 1;
        self.buffer.extend_from_slice(&(-1_i32).to_be_bytes());
    }
}
