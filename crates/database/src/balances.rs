//! The transactions of the function tests. They read and change balances of several warehouses in TPC-C's loaded
//! tables.
//!
//! They are the transactions of the Dike paper, section 5 and figure 13, which uses W_YTD alone. If another engine
//! holds DISTRICT, D_YTD is a balance as well.

use crate::workload::{Kind, Workload};
use lydite_tpcc::schema::Table;
use lydite_tpcc::{Cents, CustomerId, DistrictId, ItemId, OrderId, WarehouseId};
use std::fmt;
use std::sync::Arc;

/// The workload of the function tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balances {}

/// A balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Balance {
    /// W_YTD of a warehouse.
    Warehouse(WarehouseId),
    /// D_YTD of a district.
    District(WarehouseId, DistrictId),
}

impl fmt::Display for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Warehouse(id) => write!(f, "warehouse {id}"),
            Self::District(id, district) => write!(f, "district {id}/{district}"),
        }
    }
}

/// A number that a New-Order or a Payment changes in one table, so that a read shows whether it saw the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// W_YTD or D_YTD. A Payment changes both.
    Ytd(Balance),
    /// C_BALANCE. A Payment changes it.
    Customer(WarehouseId, DistrictId, CustomerId),
    /// Number of a district's rows in HISTORY. A Payment adds one.
    Payments(WarehouseId, DistrictId),
    /// D_NEXT_O_ID. A New-Order changes it.
    NextOrder(WarehouseId, DistrictId),
    /// S_QUANTITY. A New-Order changes it.
    Stock(WarehouseId, ItemId),
    /// Number of rows in ORDERS that have an order's key. A New-Order adds one.
    Order(WarehouseId, DistrictId, OrderId),
    /// The same in NEW-ORDER.
    NewOrder(WarehouseId, DistrictId, OrderId),
    /// The same in ORDER-LINE, for the first line.
    OrderLine(WarehouseId, DistrictId, OrderId),
}

impl Trace {
    /// Returns the table of the number.
    #[must_use]
    pub fn table(self) -> Table {
        match self {
            Self::Ytd(Balance::Warehouse(_)) => Table::Warehouse,
            Self::Ytd(Balance::District(..)) | Self::NextOrder(..) => Table::District,
            Self::Customer(..) => Table::Customer,
            Self::Payments(..) => Table::History,
            Self::Stock(..) => Table::Stock,
            Self::Order(..) => Table::Orders,
            Self::NewOrder(..) => Table::NewOrder,
            Self::OrderLine(..) => Table::OrderLine,
        }
    }
}

/// A transaction on balances. It runs one statement per balance, in the given order.
#[derive(Clone, Debug)]
pub enum BalanceTransaction {
    /// dUpdateBalance: adds an amount to each balance.
    Add {
        /// Added amount.
        amount: Cents,
        /// Changed balances, without duplicates.
        balances: Vec<Balance>,
        /// Action between two updates.
        between: Between,
    },
    /// dSelectBalance: reads each balance.
    Select {
        /// Balances to read.
        balances: Vec<Balance>,
        /// Action between two reads.
        between: Between,
    },
    /// Reads traces of a New-Order or a Payment.
    Trace {
        /// Traces to read.
        traces: Vec<Trace>,
        /// Action between two reads.
        between: Between,
    },
    /// Sets each balance: before a test, and to restore the database afterwards.
    Set(Vec<(Balance, Cents)>),
}

impl Workload for Balances {
    type Transaction = BalanceTransaction;
    /// Values that were read, in the order of the balances or traces; empty for transactions that only write. A trace that
    /// is no amount is as many cents.
    type Outcome = Vec<Cents>;

    const KINDS: &'static [Kind] = &[
        Kind { name: "update_balance", title: "dUpdateBalance" },
        Kind { name: "select_balance", title: "dSelectBalance" },
        Kind { name: "set_balance", title: "set balances" },
    ];

    fn kind(transaction: &BalanceTransaction) -> usize {
        match transaction {
            BalanceTransaction::Add { .. } => 0,
            BalanceTransaction::Select { .. } | BalanceTransaction::Trace { .. } => 1,
            BalanceTransaction::Set(_) => 2,
        }
    }
}

/// Action between two statements of an open transaction, for example a wait for another session.
#[derive(Clone, Default)]
pub struct Between(Option<Arc<dyn Fn() + Send + Sync>>);

impl Between {
    /// No action.
    pub const NOTHING: Self = Self(None);

    /// Makes an action from a function.
    pub fn new(what: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(what)))
    }

    /// Runs the action before a statement. `statement` counts from 0; nothing runs before the first.
    pub(crate) fn before(&self, statement: usize) {
        if let (1.., Some(what)) = (statement, &self.0) {
            what();
        }
    }
}

impl fmt::Debug for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Between(something)" } else { "Between(nothing)" })
    }
}

/// Returns the message for a missing row.
pub(crate) fn missing(balance: Balance) -> String {
    format!("{balance} is missing: run lydite check, or load again with --fresh")
}

/// Returns the message for a missing row of a trace.
pub(crate) fn missing_trace(trace: Trace) -> String {
    format!("a row of {} is missing: run lydite check, or load again with --fresh", trace.table().name())
}
