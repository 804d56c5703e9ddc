//! The microbenchmark in SQL: tables, statements, and the session that runs the statements one by one.

use crate::error::TxError;
use crate::micro::{missing, table_name, wrong_rows};
use crate::session::Session;
use crate::sql::connection::Connection;
use crate::sql::dialect::Dialect;
use crate::sql::meta::Admin;
use crate::sql::prepared::{Prepared, StatementRole};
use crate::sql::sql_error::SqlError;
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use crate::workload::Micro;
use lydite_micro::{Access, Engines, Home, Meta, Outcome, TableId, Totals, Transaction};

/// Columns of a table, in order.
pub const COLUMNS: &str = "id, counter, payload";

/// Returns the name of a table.
pub fn name(table: TableId) -> String {
    table_name(Engines::One, table)
}

/// Returns the tables of a database.
pub fn tables(meta: &Meta) -> impl Iterator<Item = TableId> + use<> {
    meta.data.all_tables(Engines::One)
}

/// A statement that sessions prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MicroStatement {
    /// Begins a transaction that writes.
    BeginWrite,
    /// Begins a transaction that only reads.
    BeginRead,
    /// Commits.
    Commit,
    /// Reads a record of the table with this number.
    Read(u32),
    /// Updates a record of the table with this number.
    Update(u32),
}

use MicroStatement::{BeginRead, BeginWrite, Commit, Read, Update};

impl MicroStatement {
    /// Returns all statements for a database with their texts.
    pub fn all(meta: &Meta, dialect: &Dialect) -> Vec<(Self, String)> {
        let mut all = vec![
            (BeginWrite, dialect.begin_write.to_string()),
            (BeginRead, dialect.begin_read.to_string()),
            (Commit, "COMMIT".to_string()),
        ];
        for number in 0..meta.data.tables {
            let table = name(TableId { home: Home::Memory, number });
            let read = format!("SELECT counter, payload FROM {table} WHERE id = $1");
            let update = format!("UPDATE {table} SET counter = counter + 1 WHERE id = $1");
            all.push((Read(number), dialect.placeholders(&read)));
            all.push((Update(number), dialect.placeholders(&update)));
        }
        all
    }
}

impl Prepared for MicroStatement {
    fn index(self) -> usize {
        match self {
            BeginWrite => 0,
            BeginRead => 1,
            Commit => 2,
            Read(table) => 3 + 2 * table as usize,
            Update(table) => 4 + 2 * table as usize,
        }
    }

    fn role(self) -> StatementRole {
        match self {
            BeginWrite => StatementRole::BeginWrite,
            BeginRead => StatementRole::BeginRead,
            Commit => StatementRole::Commit,
            Read(_) | Update(_) => StatementRole::Other,
        }
    }
}

/// A session that plays the microbenchmark.
pub struct MicroSession<C> {
    connection: C,
    rows: Rows,
}

impl<C: Connection<MicroStatement>> MicroSession<C> {
    /// Makes a session that plays the microbenchmark over `connection`.
    pub fn new(connection: C) -> Self {
        Self { connection, rows: Rows::default() }
    }

    fn step(&mut self, statement: MicroStatement, params: &[Value<'_>]) -> Result<(), SqlError> {
        self.connection.run(statement, params, &mut self.rows)
    }

    fn play(&mut self, transaction: &Transaction) -> Result<Outcome, SqlTxError> {
        let gone = |access: &Access| SqlTxError::WrongRows(missing(Engines::One, access));
        let wrong =
            |access: &Access, found: String| SqlTxError::WrongRows(wrong_rows(Engines::One, access, &found));
        let mut outcome = Outcome::default();
        self.step(if transaction.is_read_only() { BeginRead } else { BeginWrite }, &[])?;
        for access in transaction.reads() {
            self.step(Read(access.table.number), &[Value::Int(i64::from(access.record))])?;
            match self.rows.len() {
                1 => {}
                0 => return Err(gone(access)),
                found => return Err(wrong(access, format!("has {found} rows"))),
            }
            outcome.counters = outcome.counters.wrapping_add_signed(self.rows.int(0, 0)?);
            outcome.text_bytes += self.rows.text(0, 1)?.len() as u64;
        }
        for access in transaction.updates() {
            self.step(Update(access.table.number), &[Value::Int(i64::from(access.record))])?;
            match self.rows.affected() {
                1 => {}
                found => return Err(wrong(access, format!("changed {found} rows"))),
            }
        }
        self.step(Commit, &[]).map_err(SqlTxError::CommitFailed)?;
        Ok(outcome)
    }
}

impl<C: Connection<MicroStatement>> Session<Micro> for MicroSession<C> {
    fn execute(&mut self, transaction: &Transaction) -> Result<Outcome, TxError> {
        self.play(transaction).map_err(|error| error.roll_back(&mut self.connection))
    }
}

/// Returns the totals of a table.
pub fn totals(admin: &mut impl Admin, meta: &Meta, table: TableId) -> Result<Totals, SqlError> {
    let sql = format!(
        "SELECT count(*), coalesce(sum(counter), 0), \
         coalesce(sum(CASE WHEN length(payload) = {} THEN 0 ELSE 1 END), 0) FROM {}",
        meta.data.text_bytes(),
        name(table)
    );
    let mut found = None;
    admin.query_each(&sql, &mut |row| {
        if let [Some(records), Some(counters), Some(bad_texts)] = row
            && let (Ok(records), Ok(counters), Ok(bad_texts)) =
                (records.parse(), counters.parse(), bad_texts.parse())
        {
            found = Some(Totals { records, counters, bad_texts });
        }
    })?;
    found.ok_or_else(|| {
        SqlError::Decode(format!("{} has no sums: was the schema changed by hand?", name(table)))
    })
}
