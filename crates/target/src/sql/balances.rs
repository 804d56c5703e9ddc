//! The transactions of the function tests in SQL, and the session that plays them one statement after the other.

use crate::balances::{BalanceTransaction, Balances, missing};
use crate::error::TxError;
use crate::sql::connection::{Connection, SqlError};
use crate::sql::dialect::Dialect;
use crate::sql::prepared::{Prepared, Role};
use crate::sql::stop::Stop;
use crate::sql::value::{Rows, Value};
use crate::target::Session;
use lydite_tpcc::{Cents, WarehouseId};

/// A statement that sessions prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BalanceStatement {
    BeginWrite,
    BeginRead,
    Commit,
    AddBalance,
    SetBalance,
    GetBalance,
}

use BalanceStatement::{AddBalance, BeginRead, BeginWrite, Commit, GetBalance, SetBalance};

impl BalanceStatement {
    /// All statements with their texts.
    pub(crate) fn all(dialect: &Dialect) -> Vec<(Self, String)> {
        [
            (BeginWrite, dialect.begin_write),
            (BeginRead, dialect.begin_read),
            (Commit, "COMMIT"),
            (AddBalance, "UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2"),
            (SetBalance, "UPDATE warehouse SET w_ytd = $1 WHERE w_id = $2"),
            (GetBalance, "SELECT w_ytd FROM warehouse WHERE w_id = $1"),
        ]
        .map(|(statement, text)| (statement, dialect.placeholders(text)))
        .into()
    }
}

impl Prepared for BalanceStatement {
    fn index(self) -> usize {
        self as usize
    }

    fn role(self) -> Role {
        match self {
            BeginWrite => Role::BeginWrite,
            BeginRead => Role::BeginRead,
            Commit => Role::Commit,
            AddBalance | SetBalance | GetBalance => Role::Other,
        }
    }
}

/// A session that plays the transactions of the function tests.
pub(crate) struct BalanceSession<C> {
    connection: C,
    rows: Rows,
}

impl<C: Connection<BalanceStatement>> BalanceSession<C> {
    pub(crate) fn new(connection: C) -> Self {
        Self { connection, rows: Rows::default() }
    }

    fn step(&mut self, statement: BalanceStatement, params: &[Value<'_>]) -> Result<(), SqlError> {
        self.connection.run(statement, params, &mut self.rows)
    }

    fn change(&mut self, statement: BalanceStatement, cents: Cents, id: WarehouseId) -> Result<(), Stop> {
        self.step(statement, &[Value::Money(cents), Value::Int(i64::from(id.0))])?;
        if self.rows.affected() == 1 { Ok(()) } else { Err(Stop::Missing(missing(id))) }
    }

    fn read(&mut self, id: WarehouseId) -> Result<Cents, Stop> {
        self.step(GetBalance, &[Value::Int(i64::from(id.0))])?;
        if self.rows.len() == 0 {
            return Err(Stop::Missing(missing(id)));
        }
        Ok(self.rows.money(0, 0)?)
    }

    fn play(&mut self, transaction: &BalanceTransaction) -> Result<Vec<Cents>, Stop> {
        let mut values = Vec::new();
        match transaction {
            BalanceTransaction::Add { amount, warehouses, between } => {
                self.step(BeginWrite, &[])?;
                for (number, &id) in warehouses.iter().enumerate() {
                    between.before(number);
                    self.change(AddBalance, *amount, id)?;
                }
            }
            BalanceTransaction::Set(balances) => {
                self.step(BeginWrite, &[])?;
                balances.iter().try_for_each(|&(id, cents)| self.change(SetBalance, cents, id))?;
            }
            BalanceTransaction::Select { warehouses, between } => {
                self.step(BeginRead, &[])?;
                for (number, &id) in warehouses.iter().enumerate() {
                    between.before(number);
                    values.push(self.read(id)?);
                }
            }
        }
        self.step(Commit, &[]).map_err(Stop::CommitFailed)?;
        Ok(values)
    }
}

impl<C: Connection<BalanceStatement>> Session<Balances> for BalanceSession<C> {
    fn execute(&mut self, transaction: &BalanceTransaction) -> Result<Vec<Cents>, TxError> {
        self.play(transaction).map_err(|stop| stop.end(&mut self.connection))
    }
}
