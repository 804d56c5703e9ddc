//! The transactions of the function tests in SQL, and the session that runs their statements one by one.

use crate::balances::{Balance, BalanceTransaction, Balances, missing};
use crate::error::TxError;
use crate::session::Session;
use crate::sql::connection::Connection;
use crate::sql::dialect::Dialect;
use crate::sql::prepared::{Prepared, StatementRole};
use crate::sql::sql_error::SqlError;
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use lydite_tpcc::Cents;

/// A statement that sessions prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalanceStatement {
    /// Begins a transaction that writes.
    BeginWrite,
    /// Begins a transaction that only reads.
    BeginRead,
    /// Commits.
    Commit,
    /// Adds to W_YTD.
    AddWarehouse,
    /// Sets W_YTD.
    SetWarehouse,
    /// Reads W_YTD.
    GetWarehouse,
    /// Adds to D_YTD of a warehouse's first district.
    AddDistrict,
    /// Sets D_YTD.
    SetDistrict,
    /// Reads D_YTD.
    GetDistrict,
}

use BalanceStatement::*;

impl BalanceStatement {
    /// Returns all statements with their texts.
    pub fn all(dialect: &Dialect) -> Vec<(Self, String)> {
        [
            (BeginWrite, dialect.begin_write),
            (BeginRead, dialect.begin_read),
            (Commit, "COMMIT"),
            (AddWarehouse, "UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2"),
            (SetWarehouse, "UPDATE warehouse SET w_ytd = $1 WHERE w_id = $2"),
            (GetWarehouse, "SELECT w_ytd FROM warehouse WHERE w_id = $1"),
            (AddDistrict, "UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3"),
            (SetDistrict, "UPDATE district SET d_ytd = $1 WHERE d_w_id = $2 AND d_id = $3"),
            (GetDistrict, "SELECT d_ytd FROM district WHERE d_w_id = $1 AND d_id = $2"),
        ]
        .map(|(statement, text)| (statement, dialect.placeholders(text)))
        .into()
    }
}

impl Prepared for BalanceStatement {
    fn index(self) -> usize {
        self as usize
    }

    fn role(self) -> StatementRole {
        match self {
            BeginWrite => StatementRole::BeginWrite,
            BeginRead => StatementRole::BeginRead,
            Commit => StatementRole::Commit,
            _ => StatementRole::Other,
        }
    }
}

/// A session that plays the transactions of the function tests.
pub struct BalanceSession {
    connection: Box<dyn Connection<BalanceStatement>>,
    rows: Rows,
}

impl BalanceSession {
    /// Makes a session that plays the function tests over `connection`.
    pub fn new(connection: impl Connection<BalanceStatement> + 'static) -> Self {
        Self { connection: Box::new(connection), rows: Rows::default() }
    }

    fn step(&mut self, statement: BalanceStatement, params: &[Value<'_>]) -> Result<(), SqlError> {
        self.connection.run(statement, params, &mut self.rows)
    }

    fn add(&mut self, cents: Cents, balance: Balance) -> Result<(), SqlTxError> {
        self.change([AddWarehouse, AddDistrict], cents, balance)
    }

    fn set(&mut self, cents: Cents, balance: Balance) -> Result<(), SqlTxError> {
        self.change([SetWarehouse, SetDistrict], cents, balance)
    }

    /// Changes a balance by the statement for warehouses or that for districts.
    fn change(
        &mut self,
        [of_warehouse, of_district]: [BalanceStatement; 2],
        cents: Cents,
        balance: Balance,
    ) -> Result<(), SqlTxError> {
        let cents = Value::Money(cents);
        match balance {
            Balance::Warehouse(id) => self.step(of_warehouse, &[cents, Value::Int(id.get())]),
            Balance::District(id, district) => {
                self.step(of_district, &[cents, Value::Int(id.get()), Value::Int(district.get())])
            }
        }?;
        if self.rows.affected() == 1 { Ok(()) } else { Err(SqlTxError::WrongRows(missing(balance))) }
    }

    fn read(&mut self, balance: Balance) -> Result<Cents, SqlTxError> {
        match balance {
            Balance::Warehouse(id) => self.step(GetWarehouse, &[Value::Int(id.get())]),
            Balance::District(id, district) => {
                self.step(GetDistrict, &[Value::Int(id.get()), Value::Int(district.get())])
            }
        }?;
        if self.rows.is_empty() {
            return Err(SqlTxError::WrongRows(missing(balance)));
        }
        Ok(self.rows.money(0, 0)?)
    }

    fn play(&mut self, transaction: &BalanceTransaction) -> Result<Vec<Cents>, SqlTxError> {
        let mut values = Vec::new();
        match transaction {
            BalanceTransaction::Add { amount, balances, between } => {
                self.step(BeginWrite, &[])?;
                for (number, &balance) in balances.iter().enumerate() {
                    between.before(number);
                    self.add(*amount, balance)?;
                }
            }
            BalanceTransaction::Set(balances) => {
                self.step(BeginWrite, &[])?;
                balances.iter().try_for_each(|&(balance, cents)| self.set(cents, balance))?;
            }
            BalanceTransaction::Select { balances, between } => {
                self.step(BeginRead, &[])?;
                for (number, &balance) in balances.iter().enumerate() {
                    between.before(number);
                    values.push(self.read(balance)?);
                }
            }
        }
        self.step(Commit, &[]).map_err(SqlTxError::CommitFailed)?;
        Ok(values)
    }
}

impl Session<Balances> for BalanceSession {
    fn execute(&mut self, transaction: &BalanceTransaction) -> Result<Vec<Cents>, TxError> {
        self.play(transaction).map_err(|error| error.roll_back(&mut *self.connection))
    }
}
