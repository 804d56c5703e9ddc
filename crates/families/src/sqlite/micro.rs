//! The microbenchmark on SQLite.

use crate::sqlite::Sqlite;
use crate::sqlite::config::DIALECT;
use crate::sqlite::connection::{SqliteConnection, failed};
use lydite_database::sql::meta::{self, Admin};
use lydite_database::sql::micro::{COLUMNS, MicroSession, MicroStatement, name, tables, totals};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::sql::tally::Tally;
use lydite_database::{LoadProgress, Micro, MicroLoader, MicroTarget, Session, TargetError};
use lydite_micro::{Engines, Meta, TableId, Totals};
use std::sync::Arc;

impl MicroTarget for Sqlite {
    fn engines(&self) -> Engines {
        Engines::One
    }

    fn create_tables(&self, meta: &Meta) -> Result<(), TargetError> {
        let mut connection = self.open()?;
        // The mode is stored in the file, see `Target::create_schema`.
        let mut sql = String::from("PRAGMA journal_mode = wal; BEGIN IMMEDIATE; ");
        for table in tables(meta) {
            sql += &format!(
                "CREATE TABLE {} (id INTEGER PRIMARY KEY, counter INTEGER NOT NULL, payload TEXT NOT NULL); ",
                name(table)
            );
        }
        sql += &meta::create_notes(&meta.notes());
        sql += "; COMMIT";
        connection.execute(&sql).map_err(self.failed("create the tables"))
    }

    fn table_loader(&self, meta: &Meta) -> Result<Box<dyn MicroLoader>, TargetError> {
        Ok(Box::new(SqliteTableLoader { connection: self.open()?, place: self.place(), meta: meta.clone() }))
    }

    fn finish_tables(
        &self,
        _meta: &Meta,
        _jobs: usize,
        stage: &(dyn Fn(&str) + Sync),
    ) -> Result<(), TargetError> {
        let mut connection = self.open()?;
        connection.execute(meta::READY).map_err(self.failed("note the end of the load"))?;
        stage("writing a checkpoint");
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").map_err(self.failed("checkpoint"))
    }

    fn connect_micro(&self, meta: &Meta) -> Result<Box<dyn Session<Micro>>, TargetError> {
        let statements = MicroStatement::all(meta, &DIALECT);
        let connection =
            SqliteConnection::open_with(&self.path, &self.config, Arc::clone(&self.shared), &statements)
                .map_err(self.unopened())?;
        Ok(Box::new(MicroSession::new(connection)))
    }

    fn totals(&self, meta: &Meta, table: TableId) -> Result<Totals, TargetError> {
        totals(&mut self.open()?, meta, table).map_err(self.failed(&format!("check {}", name(table))))
    }
}

struct SqliteTableLoader {
    connection: SqliteConnection,
    place: String,
    meta: Meta,
}

impl SqliteTableLoader {
    fn fill(&self, table: TableId, progress: &LoadProgress) -> Result<(), SqlError> {
        let database = self.connection.database();
        database.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        let sql = format!("INSERT INTO {} ({COLUMNS}) VALUES (?, 0, ?)", name(table));
        let mut insert = database.prepare(&sql).map_err(failed)?;
        let mut tally = Tally::new(progress, &name(table));
        self.meta.data.write_table(table, self.meta.seed, |record, text| {
            insert.execute((i64::from(record), text)).map_err(failed)?;
            tally.bytes(16 + text.len());
            tally.row()
        })?;
        tally.note();
        database.execute_batch("COMMIT").map_err(failed)
    }
}

impl MicroLoader for SqliteTableLoader {
    fn load(&mut self, table: TableId, progress: &LoadProgress) -> Result<(), TargetError> {
        self.connection.begin_writing();
        let loaded = progress.timed(|| self.fill(table, progress));
        if loaded.is_err() && !self.connection.database().is_autocommit() {
            // The first error is the one that matters.
            let _undone = self.connection.database().execute_batch("ROLLBACK");
        }
        self.connection.end_writing();
        loaded.map_err(|error| error.on_target(&format!("load {}", name(table)), &self.place))
    }
}
