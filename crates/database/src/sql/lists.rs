//! The workload of isolation checks in SQL: tables, statements, and the session that runs the statements one by one.
//!
//! A key is a row, its list is a text of numbers with a comma behind each. So an append is one UPDATE of one row in
//! every database, and the row's lock or version is that of the list. A row for each element would need its place in
//! the list, and whoever counts the places reads before it writes.
//!
//! The rows of a range are further rows of the same table, with keys behind those of all lists. A range is read by a
//! condition on the primary key, where databases lock gaps or predicates if they do.

use crate::error::TxError;
use crate::lists::{ListKey, ListOp, ListTransaction, Lists, table_name};
use crate::session::Session;
use crate::sql::connection::Connection;
use crate::sql::dialect::Dialect;
use crate::sql::prepared::{Prepared, StatementRole};
use crate::sql::sql_error::SqlError;
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use lydite_tpcc::schema::ColumnType;
use std::ops::Range;

/// Keys between the rows of two ranges, so also the number of values that a range may have.
const RANGE: i64 = 1 << 32;

/// Width of a list as text. Keys are replaced long before.
const WIDTH: u16 = 500;

/// Returns `CREATE TABLE`, or another verb in its place, for the table of a place.
pub fn create_table(dialect: &Dialect, verb: &str, place: usize, key: &str) -> String {
    let text = (dialect.column_type)(ColumnType::VarText(WIDTH));
    format!("{verb} {} (id bigint NOT NULL{key}, elements {text} NOT NULL, latest bigint)", table_name(place))
}

/// Returns the statement that adds keys to the table of a place.
pub fn insert(place: usize, numbers: Range<u32>) -> String {
    let rows: Vec<String> = numbers.map(|number| format!("({number}, '')")).collect();
    format!("INSERT INTO {} (id, elements) VALUES {}", table_name(place), rows.join(", "))
}

/// A statement that sessions prepare. Numbers are those of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListStatement {
    /// Begins a transaction that writes.
    BeginWrite,
    /// Begins a transaction that only reads.
    BeginRead,
    /// Commits.
    Commit,
    /// Reads a list.
    ReadList(u32),
    /// Appends to a list.
    Append(u32),
    /// Reads a register.
    ReadRegister(u32),
    /// Writes a register.
    Write(u32),
    /// Reads the rows of a range.
    ReadRange(u32),
    /// Inserts a row into a range.
    Insert(u32),
}

use ListStatement::{
    Append, BeginRead, BeginWrite, Commit, Insert, ReadList, ReadRange, ReadRegister, Write,
};

/// Statements for each place.
const EACH_PLACE: usize = 6;

impl ListStatement {
    /// Returns all statements for a database with so many places, with their texts.
    pub fn all(dialect: &Dialect, places: usize) -> Vec<(Self, String)> {
        let mut all = vec![
            (BeginWrite, dialect.begin_write.to_string()),
            (BeginRead, dialect.begin_read.to_string()),
            (Commit, "COMMIT".to_string()),
        ];
        for place in 0..places {
            let (number, table) = (place as u32, table_name(place));
            let more = (dialect.as_text)("$1");
            for (statement, text) in [
                (ReadList(number), format!("SELECT elements FROM {table} WHERE id = $1")),
                (
                    Append(number),
                    format!("UPDATE {table} SET elements = concat(elements, {more}) WHERE id = $2"),
                ),
                (ReadRegister(number), format!("SELECT latest FROM {table} WHERE id = $1")),
                (Write(number), format!("UPDATE {table} SET latest = $1 WHERE id = $2")),
                (ReadRange(number), format!("SELECT latest FROM {table} WHERE id BETWEEN $1 AND $2")),
                (Insert(number), format!("INSERT INTO {table} (id, elements, latest) VALUES ($1, '', $2)")),
            ] {
                all.push((statement, dialect.placeholders(&text)));
            }
        }
        all
    }
}

impl Prepared for ListStatement {
    fn index(self) -> usize {
        match self {
            BeginWrite => 0,
            BeginRead => 1,
            Commit => 2,
            ReadList(place) => 3 + EACH_PLACE * place as usize,
            Append(place) => 4 + EACH_PLACE * place as usize,
            ReadRegister(place) => 5 + EACH_PLACE * place as usize,
            Write(place) => 6 + EACH_PLACE * place as usize,
            ReadRange(place) => 7 + EACH_PLACE * place as usize,
            Insert(place) => 8 + EACH_PLACE * place as usize,
        }
    }

    fn role(self) -> StatementRole {
        match self {
            BeginWrite => StatementRole::BeginWrite,
            BeginRead => StatementRole::BeginRead,
            Commit => StatementRole::Commit,
            ReadList(_) | Append(_) | ReadRegister(_) | Write(_) | ReadRange(_) | Insert(_) => {
                StatementRole::Other
            }
        }
    }
}

/// A session that plays isolation checks.
pub struct ListSession {
    connection: Box<dyn Connection<ListStatement>>,
    rows: Rows,
}

impl ListSession {
    /// Makes a session that plays isolation checks over `connection`.
    pub fn new(connection: impl Connection<ListStatement> + 'static) -> Self {
        Self { connection: Box::new(connection), rows: Rows::default() }
    }

    fn step(&mut self, statement: ListStatement, params: &[Value<'_>]) -> Result<(), SqlError> {
        self.connection.run(statement, params, &mut self.rows)
    }

    fn change(&mut self, statement: ListStatement, value: Value<'_>, key: ListKey) -> Result<(), SqlTxError> {
        self.step(statement, &[value, Value::Int(i64::from(key.number))])?;
        match self.rows.affected() {
            1 => Ok(()),
            // The row is older than the transaction, but this server or snapshot is older still.
            _ => Err(SqlTxError::Overtaken("the key is not there yet")),
        }
    }

    fn play(&mut self, transaction: &ListTransaction) -> Result<Vec<Vec<u64>>, SqlTxError> {
        let mut reads = Vec::new();
        self.step(if transaction.is_read_only() { BeginRead } else { BeginWrite }, &[])?;
        for op in &transaction.ops {
            match *op {
                ListOp::ReadList(key) => {
                    self.step(ReadList(key.place), &[Value::Int(i64::from(key.number))])?;
                    reads.push(if self.rows.is_empty() {
                        Vec::new()
                    } else {
                        numbers(self.rows.text(0, 0)?)?
                    });
                }
                ListOp::ReadRegister(key) => {
                    self.step(ReadRegister(key.place), &[Value::Int(i64::from(key.number))])?;
                    let value =
                        if self.rows.is_empty() { None } else { self.rows.optional_int::<u64>(0, 0)? };
                    reads.push(value.into_iter().collect());
                }
                ListOp::Append(key, value) => {
                    self.change(Append(key.place), Value::Text(&format!("{value},")), key)?;
                }
                ListOp::Write(key, value) => {
                    self.change(Write(key.place), Value::Int(whole(value)?), key)?;
                }
                ListOp::ReadRange(key) => {
                    let (first, last) = (row(key, 0)?, row(key, RANGE as u64 - 1)?);
                    self.step(ReadRange(key.place), &[Value::Int(first), Value::Int(last)])?;
                    let values = (0..self.rows.len()).map(|at| self.rows.int(at, 0));
                    reads.push(values.collect::<Result<_, _>>()?);
                }
                ListOp::Insert(key, value) => {
                    let row = row(key, value)?;
                    self.step(Insert(key.place), &[Value::Int(row), Value::Int(whole(value)?)])?;
                }
            }
        }
        if transaction.rolls_back {
            return Err(SqlTxError::Overtaken("rolled back, as the workload wants"));
        }
        self.step(Commit, &[]).map_err(SqlTxError::CommitFailed)?;
        Ok(reads)
    }
}

/// Returns a value as SQL has it.
fn whole(value: u64) -> Result<i64, SqlError> {
    i64::try_from(value).map_err(|_| SqlError::Decode(format!("{value} is too large")))
}

/// Returns the key of the row with this value in a range.
fn row(range: ListKey, value: u64) -> Result<i64, SqlError> {
    let first = (i64::from(range.number) + 1).checked_mul(RANGE);
    let fits = first.filter(|_| value < RANGE as u64).zip(i64::try_from(value).ok());
    fits.map(|(first, value)| first + value)
        .ok_or_else(|| SqlError::Decode(format!("range {} has no row {value}", range.number)))
}

/// Reads a list from its text.
fn numbers(text: &str) -> Result<Vec<u64>, SqlError> {
    let number = |text: &str| {
        text.parse().map_err(|_| SqlError::Decode(format!("the list has {text:?}, which is no number")))
    };
    text.split_terminator(',').map(number).collect()
}

impl Session<Lists> for ListSession {
    fn execute(&mut self, transaction: &ListTransaction) -> Result<Vec<Vec<u64>>, TxError> {
        self.play(transaction).map_err(|error| error.roll_back(&mut *self.connection))
    }
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn a_list_is_read_from_its_text_and_nothing_else_is() {
        assert_eq!(numbers(""), Ok(vec![]));
        assert_eq!(numbers("1,20,3,"), Ok(vec![1, 20, 3]));
        assert!(numbers("1,x,").is_err() && numbers("1,,2,").is_err());
    }
}
