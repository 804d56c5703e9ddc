//! The session of an SQL database: the steps that the files of the transactions share.

use crate::error::RUN_CHECK;
use crate::sql::connection::{Connection, Step};
use crate::sql::dialect::Dialect;
use crate::sql::sql_error::SqlError;
use crate::sql::statement::{Statement, Way};
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use crate::target::TxMode;
use lydite_tpcc::input::Contended;
use lydite_tpcc::transactions::MAX_ORDER_LINES;
use std::sync::Arc;

/// Result of a transaction.
pub(crate) type Played<R> = Result<R, SqlTxError>;

/// A session of an SQL database.
pub struct SqlSession {
    // Behind a pointer, so that the transactions are compiled once and not once for each family. A statement takes far
    // longer than the call.
    pub(crate) connection: Box<dyn Connection>,
    pub(crate) way: Way,
    pub(crate) dialect: &'static Dialect,
    /// True if the database answers no conflict by an error of a key, see [`SqlSession::judging_keys`].
    pub(crate) judges_keys: bool,
    /// Table of the hot rows, and the function to call before a New-Order requests a row of it.
    pub(crate) watching: Option<(Contended, Arc<dyn Fn() + Send + Sync>)>,
    /// Buffers for the answers of the longest pipeline.
    pub(crate) rows: [Rows; LONGEST_PIPELINE],
}

/// Most statements that are sent together: an order, its row in NEW-ORDER, its lines, and their stock.
pub(crate) const LONGEST_PIPELINE: usize = 3 + MAX_ORDER_LINES;

impl SqlSession {
    /// Makes a session that plays TPC-C over `connection` in one way of sending.
    pub fn new(connection: impl Connection + 'static, mode: TxMode, dialect: &'static Dialect) -> Self {
        let way = Way::of(mode, dialect);
        let connection = Box::new(connection);
        Self { connection, way, dialect, judges_keys: false, watching: None, rows: Default::default() }
    }

    /// Takes a key that a new row has in common with another one for a broken database, if `judges`. The database must
    /// be one that answers no conflict of transactions by such an error.
    #[must_use]
    pub fn judging_keys(self, judges: bool) -> Self {
        Self { judges_keys: judges, ..self }
    }
}

impl SqlSession {
    /// Runs a statement and returns its rows, which are in `self.rows[0]`.
    pub(crate) fn step(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<&Rows, SqlTxError> {
        self.connection.run(statement, params, &mut self.rows[0])?;
        Ok(&self.rows[0])
    }

    /// Runs a statement that must change exactly one row.
    pub(crate) fn change(&mut self, statement: Statement, params: &[Value<'_>]) -> Result<(), SqlTxError> {
        self.change_rows(statement, params, 1)
    }

    /// Runs a statement that must change `wanted` rows.
    pub(crate) fn change_rows(
        &mut self,
        statement: Statement,
        params: &[Value<'_>],
        wanted: u64,
    ) -> Result<(), SqlTxError> {
        self.step(statement, params)?;
        changed(&self.rows[..1], wanted, || statement.in_words(self.dialect))
    }

    pub(crate) fn commit(&mut self) -> Result<(), SqlTxError> {
        self.connection.run(Statement::Commit, &[], &mut self.rows[0]).map_err(SqlTxError::CommitFailed)
    }

    /// Sends steps together. The rows of step `n` are in `self.rows[n]`.
    pub(crate) fn send(&mut self, steps: &[Step<'_>]) -> Result<(), SqlTxError> {
        Ok(self.connection.pipeline(steps, &mut self.rows[..steps.len()])?)
    }

    /// Sends steps together, the last of which commits. An error of the connection leaves the commit unknown.
    pub(crate) fn send_with_commit(&mut self, steps: &[Step<'_>]) -> Result<(), SqlTxError> {
        self.connection.pipeline(steps, &mut self.rows[..steps.len()]).map_err(SqlTxError::CommitFailed)
    }

    /// Calls a stored procedure in a transaction of its own, and reads its answer by `read`.
    pub(crate) fn call<R>(
        &mut self,
        begin: Statement,
        procedure: Statement,
        params: &[Value<'_>],
        read: impl FnOnce(&Rows) -> Result<R, SqlError>,
    ) -> Result<R, SqlTxError> {
        let steps: [Step<'_>; 3] = [(begin, &[]), (procedure, params), (Statement::Commit, &[])];
        let steps = if self.dialect.procedures_commit { &steps[1..2] } else { &steps[..] };
        self.send_with_commit(steps)?;
        // The commit came with the call. An answer that can't be read does not undo it.
        read(&self.rows[steps.len() / 2]).map_err(SqlTxError::CommitFailed)
    }

    /// Reports that a New-Order is about to request a row of `row`'s table, if these are the hot rows.
    pub(crate) fn report_request(&self, row: Contended) {
        if let Some((hot, report)) = &self.watching
            && *hot == row
        {
            report();
        }
    }
}

/// Checks that there is exactly one row, because a row that the profile names must exist (clause 2.3.6).
pub(crate) fn one(rows: &Rows, what: impl Fn() -> String) -> Result<(), SqlTxError> {
    present(rows, &what)?;
    match rows.len() {
        1 => Ok(()),
        found => Err(SqlTxError::WrongRows(format!("{} has {found} rows instead of 1: {RUN_CHECK}", what()))),
    }
}

/// Checks that there are rows, because rows that the profile names must exist (clause 2.3.6).
pub(crate) fn present(rows: &Rows, what: impl FnOnce() -> String) -> Result<(), SqlTxError> {
    if rows.is_empty() {
        Err(SqlTxError::WrongRows(format!("{} is missing: {RUN_CHECK}", what())))
    } else {
        Ok(())
    }
}

/// Checks that an UPDATE returned the one row that it changed. `what` names the statement and the row.
pub(crate) fn returned_one(rows: &Rows, what: impl Fn() -> String) -> Result<(), SqlTxError> {
    match rows.len() {
        1 => Ok(()),
        found => {
            Err(SqlTxError::WrongRows(format!("{} changed {found} rows instead of 1: {RUN_CHECK}", what())))
        }
    }
}

/// Checks that the statement of each answer changed `wanted` rows.
pub(crate) fn changed(rows: &[Rows], wanted: u64, what: impl Fn() -> String) -> Result<(), SqlTxError> {
    match rows.iter().find(|rows| rows.affected() != wanted) {
        None => Ok(()),
        Some(rows) => Err(SqlTxError::WrongRows(wrong_count(rows, wanted, what()))),
    }
}

/// Checks that the statements of the answers changed one row each, after their commit was sent with them.
pub(crate) fn committed_one_each<'a>(
    answers: impl IntoIterator<Item = (Statement, &'a Rows)>,
    dialect: &Dialect,
) -> Result<(), SqlTxError> {
    match answers.into_iter().find(|(_, rows)| rows.affected() != 1) {
        None => Ok(()),
        Some((statement, rows)) => {
            Err(SqlTxError::CommittedWrongRows(wrong_count(rows, 1, statement.in_words(dialect))))
        }
    }
}

fn wrong_count(rows: &Rows, wanted: u64, what: String) -> String {
    let plural = if rows.affected() == 1 { "row" } else { "rows" };
    format!("{what} changed {} {plural} instead of {wanted}: {RUN_CHECK}", rows.affected())
}
