//! Loading SQLite by prepared inserts. A warehouse is one transaction, so it is stored whole or not at all.

use crate::sqlite::connection::{SqliteConnection, failed};
use lydite_database::sql::ddl;
use lydite_database::sql::meta;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::sql::tally::Tally;
use lydite_database::sql::value::time_text;
use lydite_database::{LoadProgress, LoadRows, LoadUnit, Loader, TargetError};
use lydite_tpcc::population::RowWriter;
use lydite_tpcc::rows::{ColumnSink, Row};
use lydite_tpcc::{Cents, Rate, Timestamp};

pub(crate) struct SqliteLoader {
    connection: SqliteConnection,
    place: String,
}

impl SqliteLoader {
    pub(crate) fn new(connection: SqliteConnection, place: String) -> Self {
        Self { connection, place }
    }

    fn fill(&self, unit: LoadUnit, rows: &LoadRows, progress: &LoadProgress) -> Result<(), SqlError> {
        let database = self.connection.database();
        database.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        for &table in unit.tables() {
            let width = table.schema().columns.len();
            let holes = vec!["?"; width].join(", ");
            let sql = format!("INSERT INTO {} ({}) VALUES ({holes})", table.name(), ddl::column_list(table));
            let statement = database.prepare(&sql).map_err(failed)?;
            let mut insert = Insert {
                statement,
                column: 0,
                failure: None,
                tally: Tally::new(progress, table.name()),
                epoch: (Timestamp(0), String::new()),
            };
            rows.write_table(table, unit.warehouse(), &mut insert)?;
            insert.tally.note();
        }
        database.execute_batch(&format!("{}; COMMIT", meta::loaded(unit))).map_err(failed)
    }
}

impl Loader for SqliteLoader {
    fn load(&mut self, unit: LoadUnit, rows: &LoadRows, progress: &LoadProgress) -> Result<(), TargetError> {
        self.connection.begin_writing();
        let loaded = progress.timed(|| self.fill(unit, rows, progress));
        if loaded.is_err() && !self.connection.database().is_autocommit() {
            // The first error is the one that matters.
            let _undone = self.connection.database().execute_batch("ROLLBACK");
        }
        self.connection.end_writing();
        loaded.map_err(|error| error.on_target(&format!("load {unit}"), &self.place))
    }
}

struct Insert<'a> {
    statement: rusqlite::Statement<'a>,
    column: usize,
    failure: Option<rusqlite::Error>,
    tally: Tally<'a>,
    /// Last point in time and its text. All rows of a load have the same.
    epoch: (Timestamp, String),
}

impl Insert<'_> {
    fn bind(&mut self, value: impl rusqlite::ToSql, bytes: usize) {
        self.column += 1;
        self.tally.bytes(bytes);
        if let Err(error) = self.statement.raw_bind_parameter(self.column, value) {
            self.failure.get_or_insert(error);
        }
    }
}

impl RowWriter for Insert<'_> {
    type Error = SqlError;

    fn write<R: Row>(&mut self, row: &R) -> Result<(), SqlError> {
        self.column = 0;
        row.emit(self);
        if let Some(error) = self.failure.take() {
            return Err(failed(error));
        }
        self.statement.raw_execute().map_err(failed)?;
        self.tally.row()
    }
}

impl ColumnSink for Insert<'_> {
    fn int(&mut self, value: i64) {
        self.bind(value, 8);
    }

    fn money(&mut self, value: Cents) {
        self.bind(value.0, 8);
    }

    fn rate(&mut self, value: Rate) {
        self.bind(value.0, 4);
    }

    fn text(&mut self, value: &str) {
        self.bind(value, value.len());
    }

    fn time(&mut self, value: Timestamp) {
        if self.epoch.1.is_empty() || self.epoch.0 != value {
            self.epoch = (value, time_text(value));
        }
        let text = std::mem::take(&mut self.epoch.1);
        self.bind(&text, text.len());
        self.epoch.1 = text;
    }

    fn null(&mut self) {
        self.bind(rusqlite::types::Null, 0);
    }
}
