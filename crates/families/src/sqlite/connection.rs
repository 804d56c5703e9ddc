//! A connection to an SQLite file.

use crate::file_templates::{real, with_suffix};
use crate::sqlite::config::{Config, DIALECT};
use crate::sqlite::statistics::Statistics;
use lydite_database::AbortReason;
use lydite_database::sql::connection::Connection;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::prepared::{Prepared, StatementRole};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::sql::statement::Statement;
use lydite_database::sql::value::{Field, Rows, Value, time_text};
use parking_lot::{Condvar, Mutex};
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ErrorCode, OpenFlags};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for a writer of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest wait for a connection that is just ending.
const SHORT_TIMEOUT: Duration = Duration::from_secs(1);

/// Admits the writers of this process one at a time, in the order in which they came.
///
/// SQLite itself has one writer too, but waiting writers poll for it, and others overtake some of them for seconds. The
/// wait counts as the database's time, because the single writer is SQLite's limit.
#[derive(Debug, Default)]
pub(crate) struct WriterTurn {
    state: Mutex<Turns>,
    called: Condvar,
}

#[derive(Debug, Default)]
struct Turns {
    next_ticket: u64,
    waiting: VecDeque<u64>,
}

impl WriterTurn {
    fn take(&self) {
        let mut state = self.state.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push_back(ticket);
        while state.waiting.front() != Some(&ticket) {
            self.called.wait(&mut state);
        }
    }

    /// Returns the number of writers that wait for their turn.
    pub(super) fn waiting(&self) -> usize {
        self.state.lock().waiting.len().saturating_sub(1)
    }

    fn give_back(&self) {
        self.state.lock().waiting.pop_front();
        self.called.notify_all();
    }
}

/// Everything that the connections of this process to a file share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(super) turn: WriterTurn,
    pub(super) statistics: Statistics,
}

/// A connection that prepares a statement at its first use.
pub(crate) struct SqliteConnection {
    database: rusqlite::Connection,
    texts: Vec<String>,
    shared: Arc<Shared>,
    /// True if this connection has the turn to write.
    writing: bool,
}

impl SqliteConnection {
    /// Returns a handle with which another thread can cancel a statement.
    pub(crate) fn interrupt_handle(&self) -> rusqlite::InterruptHandle {
        self.database.get_interrupt_handle()
    }

    /// Opens the file for the transactions of TPC-C.
    pub(crate) fn open(path: &Path, config: &Config, shared: Arc<Shared>) -> Result<Self, SqlError> {
        let statements = Statement::of_mode(lydite_database::TxMode::Statements, &DIALECT);
        let statements: Vec<(Statement, String)> =
            statements.into_iter().map(|statement| (statement, statement.text(&DIALECT))).collect();
        Self::open_with(path, config, shared, &statements)
    }

    /// Opens the file so that SQLite rejects every change. A file that does not exist is not made.
    pub(crate) fn open_to_read(path: &Path) -> Result<Self, SqlError> {
        let base = real(path);
        if ["-wal", "-shm", "-journal"].iter().any(|suffix| with_suffix(&base, suffix).exists()) {
            return Self::open_as(path, OpenFlags::SQLITE_OPEN_READ_ONLY, BUSY_TIMEOUT);
        }
        // A file at rest in mode `wal` gets the first two with its first reader, and only a connection that may write deletes them
        // when it is closed.
        let mut connection = Self::open_as(path, OpenFlags::SQLITE_OPEN_READ_WRITE, BUSY_TIMEOUT)?;
        connection.execute("PRAGMA query_only = on")?;
        Ok(connection)
    }

    /// Opens an existing file to change it. Waits only a moment for other connections.
    pub(crate) fn open_existing(path: &Path) -> Result<Self, SqlError> {
        Self::open_as(path, OpenFlags::SQLITE_OPEN_READ_WRITE, SHORT_TIMEOUT)
    }

    /// Opens the file without statements. `patience` is the longest wait for other connections.
    fn open_as(path: &Path, access: OpenFlags, patience: Duration) -> Result<Self, SqlError> {
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = rusqlite::Connection::open_with_flags(path, flags).map_err(failed)?;
        database.busy_timeout(patience).map_err(failed)?;
        Ok(Self { database, texts: Vec::new(), shared: Arc::default(), writing: false })
    }

    /// Opens the file for these statements.
    pub(crate) fn open_with<S: Prepared>(
        path: &Path,
        config: &Config,
        shared: Arc<Shared>,
        statements: &[(S, String)],
    ) -> Result<Self, SqlError> {
        let count = statements.iter().map(|(statement, _)| statement.index() + 1).max().unwrap_or(0);
        let mut texts = vec![String::new(); count];
        for (statement, text) in statements {
            texts[statement.index()].clone_from(text);
        }
        let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = Self::open_as(path, access, BUSY_TIMEOUT)?;
        (connection.texts, connection.shared) = (texts, shared);
        connection.database.set_prepared_statement_cache_capacity(count);
        connection.execute(&format!(
            "PRAGMA synchronous = {}; PRAGMA foreign_keys = {}; PRAGMA cache_size = -{}; \
             PRAGMA temp_store = memory",
            config.synchronous,
            if config.foreign_keys { "on" } else { "off" },
            u64::from(config.cache_mb) * 1024,
        ))?;
        Ok(connection)
    }

    /// Waits for the turn to write.
    pub(crate) fn begin_writing(&mut self) {
        if !self.writing {
            self.shared.turn.take();
            self.writing = true;
        }
    }

    /// Lets the next writer in.
    pub(crate) fn end_writing(&mut self) {
        if self.writing {
            self.shared.turn.give_back();
            self.writing = false;
        }
    }

    pub(crate) fn database(&self) -> &rusqlite::Connection {
        &self.database
    }
}

impl Drop for SqliteConnection {
    fn drop(&mut self) {
        self.end_writing();
    }
}

impl<S: Prepared> Connection<S> for SqliteConnection {
    fn run(&mut self, statement: S, params: &[Value<'_>], rows: &mut Rows) -> Result<(), SqlError> {
        if statement.role() == StatementRole::BeginWrite {
            self.begin_writing();
        }
        let result = query(&self.database, &self.texts[statement.index()], params, rows);
        if statement.role() == StatementRole::Commit && result.is_ok() {
            self.shared.statistics.ended(true, &self.database);
            self.end_writing();
        }
        result
    }

    fn roll_back(&mut self) -> Result<(), SqlError> {
        let result = if self.database.is_autocommit() {
            Ok(())
        } else {
            self.database.execute_batch("ROLLBACK").map_err(failed)
        };
        self.shared.statistics.ended(false, &self.database);
        self.end_writing();
        result
    }
}

fn query(
    database: &rusqlite::Connection,
    text: &str,
    params: &[Value<'_>],
    rows: &mut Rows,
) -> Result<(), SqlError> {
    let mut prepared = database.prepare_cached(text).map_err(failed)?;
    for (index, value) in params.iter().enumerate() {
        prepared.raw_bind_parameter(index + 1, to_sql(value)?).map_err(failed)?;
    }
    let columns = prepared.column_count();
    rows.reset(columns);
    if columns == 0 {
        let changed = prepared.raw_execute().map_err(failed)?;
        rows.set_affected(changed as u64);
        return Ok(());
    }
    let mut found = prepared.raw_query();
    while let Some(row) = found.next().map_err(failed)? {
        for column in 0..columns {
            let field = match row.get_ref(column).map_err(failed)? {
                ValueRef::Null => Field::Null,
                ValueRef::Integer(number) => Field::Int(number),
                ValueRef::Text(bytes) => rows.text_field(
                    std::str::from_utf8(bytes)
                        .map_err(|_| SqlError::Decode("text that is not UTF-8".into()))?,
                ),
                ValueRef::Real(_) | ValueRef::Blob(_) => {
                    return Err(SqlError::Decode(format!(
                        "column {column} is no number or text: was the schema changed by hand?"
                    )));
                }
            };
            rows.push(field);
        }
    }
    Ok(())
}

fn to_sql<'a>(value: &Value<'a>) -> Result<ToSqlOutput<'a>, SqlError> {
    Ok(match value {
        Value::Int(number) => ToSqlOutput::Owned((*number).into()),
        Value::OptionalInt(number) => ToSqlOutput::Owned((*number).into()),
        Value::Money(cents) => ToSqlOutput::Owned(cents.0.into()),
        Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        Value::OptionalText(Some(text)) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        Value::OptionalText(None) => ToSqlOutput::Borrowed(ValueRef::Null),
        Value::Time(time) => ToSqlOutput::Owned(time_text(*time).into()),
        Value::Ints(_) | Value::Monies(_) => {
            return Err(SqlError::Decode("SQLite has no arrays".into()));
        }
    })
}

/// Converts an error of SQLite.
pub(crate) fn failed(error: rusqlite::Error) -> SqlError {
    let code = error.sqlite_error_code();
    let retry = matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
        .then_some(AbortReason::LockTimeout);
    let (number, message) = match &error {
        rusqlite::Error::SqliteFailure(failure, message) => {
            (failure.extended_code.to_string(), message.clone().unwrap_or_else(|| failure.to_string()))
        }
        // Without the text of the statement.
        rusqlite::Error::SqlInputError { error, msg, .. } => (error.extended_code.to_string(), msg.clone()),
        other => ("-".to_string(), other.to_string()),
    };
    let message = match code {
        Some(ErrorCode::DiskFull) => format!("{message}: make room on the disk"),
        Some(ErrorCode::NotADatabase) => format!("{message}: the file is something else; name another path"),
        _ => message,
    };
    SqlError::Database {
        retry,
        unavailable: false,
        doubtful: false,
        code: format!("sqlite {number}"),
        message,
        detail: None,
    }
}

impl Admin for SqliteConnection {
    fn query_each(&mut self, sql: &str, row: &mut dyn FnMut(&[Option<&str>])) -> Result<(), SqlError> {
        let mut batch = rusqlite::Batch::new(&self.database, sql);
        loop {
            let next = batch.next().map_err(failed);
            let mut prepared = match next {
                Ok(Some(prepared)) => prepared,
                Ok(None) => return Ok(()),
                Err(error) => {
                    if !self.database.is_autocommit() {
                        self.database.execute_batch("ROLLBACK").map_err(failed)?;
                    }
                    return Err(error);
                }
            };
            let columns = prepared.column_count();
            let stepped = (|| -> rusqlite::Result<()> {
                let mut found = prepared.raw_query();
                let mut texts: Vec<Option<String>> = Vec::with_capacity(columns);
                while let Some(next) = found.next()? {
                    texts.clear();
                    for column in 0..columns {
                        texts.push(match next.get_ref(column)? {
                            ValueRef::Null => None,
                            ValueRef::Integer(number) => Some(number.to_string()),
                            ValueRef::Real(number) => Some(number.to_string()),
                            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                                Some(String::from_utf8_lossy(bytes).into_owned())
                            }
                        });
                    }
                    let fields: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
                    row(&fields);
                }
                Ok(())
            })();
            if let Err(error) = stepped {
                drop(prepared);
                if !self.database.is_autocommit() {
                    self.database.execute_batch("ROLLBACK").map_err(failed)?;
                }
                return Err(failed(error));
            }
        }
    }
}
