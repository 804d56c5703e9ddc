//! The workload of isolation checks on SQLite.

use crate::sqlite::Sqlite;
use crate::sqlite::config::DIALECT;
use crate::sqlite::connection::SqliteConnection;
use lydite_database::lists::{check_none, table_name};
use lydite_database::sql::lists::{ListSession, ListStatement, create_table, insert};
use lydite_database::sql::meta::Admin;
use lydite_database::{ListTarget, Lists, Session, TargetError};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

impl ListTarget for Sqlite {
    fn create_lists(&self) -> Result<(), TargetError> {
        let is_new = !self.path.exists();
        let mut connection = self.open()?;
        let there = connection
            .column("SELECT lower(name) FROM sqlite_master WHERE type IN ('table', 'view')")
            .map_err(self.failed("look for tables"))?;
        check_none(&self.place(), there.iter().map(String::as_str))?;
        // As a load does. The mode of somebody's file stays as it is.
        let mode = if is_new { "PRAGMA journal_mode = wal; " } else { "" };
        let sql = mode.to_owned() + &create_table(&DIALECT, "CREATE TABLE", 0, " PRIMARY KEY");
        connection.execute(&sql).map_err(self.failed("create a table for the isolation check"))
    }

    fn add_keys(&self, numbers: Range<u32>) -> Result<(), TargetError> {
        let mut connection = self.open()?;
        connection.begin_writing();
        connection.execute(&insert(0, numbers)).map_err(self.failed("add keys"))
    }

    fn connect_lists(&self, _longest_wait: Duration) -> Result<Box<dyn Session<Lists>>, TargetError> {
        let statements = ListStatement::all(&DIALECT, 1);
        let connection =
            SqliteConnection::open_with(&self.path, &self.config, Arc::clone(&self.shared), &statements)
                .map_err(self.unopened())?;
        Ok(Box::new(ListSession::new(connection)))
    }

    fn drop_lists(&self) -> Result<(), TargetError> {
        if !self.path.exists() {
            return Ok(());
        }
        let mut connection = self.open()?;
        connection.begin_writing();
        connection
            .execute(&format!("DROP TABLE IF EXISTS {}", table_name(0)))
            .map_err(self.failed("drop the table of the isolation check"))
    }
}
