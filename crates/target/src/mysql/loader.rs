//! Loading by `LOAD DATA LOCAL INFILE`, streamed from memory, or by INSERT of many rows where the server does not take
//! that: one transaction per warehouse, so that it is there whole or not at all.

use crate::error::TargetError;
use crate::mysql::binary::{civil, put_cents, put_int, put_rate};
use crate::mysql::config::Config;
use crate::mysql::load_lock::MARK;
use crate::mysql::wire::{Head, Wire, unexpected};
use crate::mysql::{advised, connected};
use crate::sql::connection::SqlError;
use crate::sql::ddl;
use crate::sql::meta::{self, Admin};
use crate::sql::shards::ShardLoader;
use crate::sql::tally::Tally;
use crate::target::{LoadProgress, LoadUnit, Loader};
use lydite_tpcc::population::{Population, RowWriter};
use lydite_tpcc::rows::{ColumnSink, Row};
use lydite_tpcc::schema::Table;
use lydite_tpcc::{Cents, Rate, Timestamp, WarehouseId};

/// Bytes that are sent together: far below what the smallest server takes in a packet (1 MiB in MariaDB's clients, 4 MiB
/// in old servers), and enough that a packet's frame costs nothing.
const CHUNK: usize = 256 * 1024;

/// How rows go to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As the lines of a file that the server asks for.
    File,
    /// As the text of INSERT statements.
    Insert,
}

/// How this server takes rows.
pub(crate) fn way(wire: &mut Wire) -> Result<Way, SqlError> {
    let allowed = wire.column("SELECT @@GLOBAL.local_infile")?.concat();
    Ok(if matches!(allowed.as_str(), "0" | "OFF") { Way::Insert } else { Way::File })
}

pub(crate) struct MysqlLoader {
    wire: Wire,
    place: String,
    way: Way,
}

impl MysqlLoader {
    pub(crate) fn open(config: &Config) -> Result<Self, TargetError> {
        let place = config.place();
        let mut wire = connected(config)?;
        wire.be_patient().map_err(|error| advised(error, "lift the limits of statements", &place))?;
        let way = way(&mut wire).map_err(|error| advised(error, "ask for local_infile", &place))?;
        Ok(Self { wire, place, way })
    }

    fn fill(
        &mut self,
        unit: LoadUnit,
        population: &Population,
        progress: &LoadProgress,
    ) -> Result<(), SqlError> {
        self.wire.execute("START TRANSACTION")?;
        for &table in unit.tables() {
            self.table(population, table, unit.warehouse(), progress).map_err(|error| match error {
                SqlError::Decode(detail) => SqlError::Decode(format!("{}: {detail}", table.name())),
                other => other,
            })?;
        }
        self.wire.execute(&format!("{}; COMMIT", meta::loaded(unit)))
    }

    fn table(
        &mut self,
        population: &Population,
        table: Table,
        warehouse: WarehouseId,
        progress: &LoadProgress,
    ) -> Result<(), SqlError> {
        let columns = ddl::column_list(table);
        copy_in(&mut self.wire, self.way, table.name(), &columns, progress, |copy| {
            population.write_table(table, warehouse, copy).map(|_| ())
        })
    }
}

impl Loader for MysqlLoader {
    fn load(
        &mut self,
        unit: LoadUnit,
        population: &Population,
        progress: &LoadProgress,
    ) -> Result<(), TargetError> {
        let loaded = self.fill(unit, population, progress);
        if loaded.is_err() {
            // The error that matters is the first one.
            let _undone = self.wire.execute("ROLLBACK");
        }
        loaded.map_err(|error| advised(error, &format!("load {unit}"), &self.place))
    }
}

impl ShardLoader for MysqlLoader {
    fn has_loaded(&mut self, unit: LoadUnit) -> Result<bool, TargetError> {
        let noted =
            self.wire.column(&format!("SELECT unit FROM lydite_load WHERE unit = {}", unit.warehouse()));
        let noted = noted.map_err(|error| advised(error, "look for what is loaded", &self.place))?;
        Ok(!noted.is_empty())
    }

    fn note(&mut self, unit: LoadUnit) -> Result<(), TargetError> {
        let noted = self.wire.execute(&meta::loaded(unit));
        noted.map_err(|error| advised(error, &format!("note {unit} as loaded"), &self.place))
    }
}

/// Copies the rows that `write` writes into a table, within the transaction at hand.
pub(crate) fn copy_in(
    wire: &mut Wire,
    way: Way,
    table: &str,
    columns: &str,
    progress: &LoadProgress,
    write: impl FnOnce(&mut Copy<'_>) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let begin = match way {
        Way::File => {
            // The file's name is ours to understand: there is no such file.
            wire.query(&format!(
                "{MARK} LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} CHARACTER SET utf8mb4 ({columns})"
            ))?;
            wire.flush()?;
            match wire.head() {
                Ok(Head::WantsFile) => {}
                Ok(_) => return Err(unexpected("no request for rows")),
                Err(error) => return Err(error),
            }
            String::new()
        }
        Way::Insert => format!("{MARK} INSERT INTO {table} ({columns}) VALUES "),
    };
    let mut copy = Copy {
        wire,
        way,
        buffer: begin.clone().into_bytes(),
        begin,
        column: 0,
        rows: 0,
        tally: Tally::new(progress),
        epoch: (Timestamp(0), String::new()),
    };
    match write(&mut copy).and_then(|()| copy.send()) {
        Ok(()) => copy.end(),
        Err(SqlError::Decode(stopped)) => {
            // Ours: the rows that the server has got are rolled back.
            let _answered = copy.end();
            Err(SqlError::Decode(stopped))
        }
        Err(error) => Err(error),
    }
}

/// Writes rows as lines of a file or as an INSERT's text.
pub(crate) struct Copy<'a> {
    wire: &'a mut Wire,
    way: Way,
    /// What each statement begins with.
    begin: String,
    buffer: Vec<u8>,
    /// Columns of this row that are written.
    column: usize,
    /// Rows so far.
    rows: u64,
    tally: Tally<'a>,
    /// The last point in time and its text: all rows of a load have the same.
    epoch: (Timestamp, String),
}

impl Copy<'_> {
    /// Sends what there is.
    fn send(&mut self) -> Result<(), SqlError> {
        if self.buffer.len() == self.begin.len() {
            return Ok(());
        }
        self.tally.bytes(self.buffer.len() - self.begin.len());
        match self.way {
            Way::File => self.wire.send_part(&self.buffer)?,
            Way::Insert => {
                let sql = std::str::from_utf8(&self.buffer)
                    .map_err(|error| SqlError::Decode(format!("rows that are no text: {error}")))?;
                self.wire.execute(sql)?;
            }
        }
        self.buffer.truncate(self.begin.len());
        Ok(())
    }

    /// Tells the server that there are no more rows, and reads what it says to that.
    fn end(&mut self) -> Result<(), SqlError> {
        self.tally.note();
        match self.way {
            Way::Insert => Ok(()),
            Way::File => {
                self.wire.send_part(&[])?;
                match self.wire.head()? {
                    // Rows that a server can't keep it leaves out, with a warning at most.
                    Head::Done(done) if done.affected != self.rows => Err(SqlError::Decode(format!(
                        "the server took {} of {} rows: are there rows already, or is its disk full?",
                        done.affected, self.rows
                    ))),
                    Head::Done(_) => Ok(()),
                    Head::Columns(_) | Head::WantsFile => Err(unexpected("no end of the rows")),
                }
            }
        }
    }

    /// Writes a row: `fields` puts its fields.
    pub(crate) fn row(&mut self, fields: impl FnOnce(&mut Self)) -> Result<(), SqlError> {
        self.column = 0;
        self.rows += 1;
        match self.way {
            Way::File => {
                fields(self);
                self.buffer.push(b'\n');
            }
            Way::Insert => {
                let first = self.buffer.len() == self.begin.len();
                self.buffer.extend_from_slice(if first { b"(" } else { b",(" });
                fields(self);
                self.buffer.push(b')');
            }
        }
        if self.buffer.len() >= CHUNK {
            self.send()?;
        }
        self.tally.row()
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

impl RowWriter for Copy<'_> {
    type Error = SqlError;

    fn write<R: Row>(&mut self, row: &R) -> Result<(), SqlError> {
        self.row(|copy| row.emit(copy))
    }
}

impl ColumnSink for Copy<'_> {
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
        // A backslash takes the next character as it is, in lines and in literals.
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
