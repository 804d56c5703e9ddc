//! The transactions of the function tests in SQL, and the session that runs their statements one by one.

use crate::balances::{Balance, BalanceTransaction, Balances, Trace, missing, missing_trace};
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
    /// Reads C_BALANCE.
    GetCustomer,
    /// Counts a district's rows in HISTORY.
    CountPayments,
    /// Reads D_NEXT_O_ID.
    GetNextOrder,
    /// Reads S_QUANTITY.
    GetStock,
    /// Counts rows with an order's key in ORDERS.
    CountOrder,
    /// Counts rows with an order's key in NEW-ORDER.
    CountNewOrder,
    /// Counts rows with an order's key and the first number in ORDER-LINE.
    CountOrderLine,
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
            (GetCustomer, "SELECT c_balance FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3"),
            (CountPayments, "SELECT count(*) FROM history WHERE h_w_id = $1 AND h_d_id = $2"),
            (GetNextOrder, "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2"),
            (GetStock, "SELECT s_quantity FROM stock WHERE s_w_id = $1 AND s_i_id = $2"),
            (CountOrder, "SELECT count(*) FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3"),
            (
                CountNewOrder,
                "SELECT count(*) FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3",
            ),
            (
                CountOrderLine,
                "SELECT count(*) FROM order_line \
                 WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3 AND ol_number = 1",
            ),
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

    fn read_trace(&mut self, trace: Trace) -> Result<Cents, SqlTxError> {
        let int = |id: i64| Value::Int(id);
        match trace {
            Trace::Ytd(balance) => return self.read(balance),
            Trace::Customer(w_id, d_id, c_id) => {
                self.step(GetCustomer, &[int(w_id.get()), int(d_id.get()), int(c_id.get())])
            }
            Trace::Payments(w_id, d_id) => self.step(CountPayments, &[int(w_id.get()), int(d_id.get())]),
            Trace::NextOrder(w_id, d_id) => self.step(GetNextOrder, &[int(w_id.get()), int(d_id.get())]),
            Trace::Stock(w_id, i_id) => self.step(GetStock, &[int(w_id.get()), int(i_id.get())]),
            Trace::Order(w_id, d_id, o_id) => {
                self.step(CountOrder, &[int(w_id.get()), int(d_id.get()), int(o_id.get())])
            }
            Trace::NewOrder(w_id, d_id, o_id) => {
                self.step(CountNewOrder, &[int(w_id.get()), int(d_id.get()), int(o_id.get())])
            }
            Trace::OrderLine(w_id, d_id, o_id) => {
                self.step(CountOrderLine, &[int(w_id.get()), int(d_id.get()), int(o_id.get())])
            }
        }?;
        if self.rows.is_empty() {
            return Err(SqlTxError::WrongRows(missing_trace(trace)));
        }
        Ok(if matches!(trace, Trace::Customer(..)) {
            self.rows.money(0, 0)?
        } else {
            Cents(self.rows.int(0, 0)?)
        })
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
            BalanceTransaction::Trace { traces, between } => {
                self.step(BeginRead, &[])?;
                for (number, &trace) in traces.iter().enumerate() {
                    between.before(number);
                    values.push(self.read_trace(trace)?);
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
