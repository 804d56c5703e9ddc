//! The transactions of the function tests: they read and change balances of several warehouses, over TPC-C's tables as
//! they are loaded. They are those of the Dike paper, section 5 and figure 13, which has W_YTD alone; where another engine
//! has DISTRICT, D_YTD is a balance as well.

use crate::workload::{Kind, Workload};
use lydite_tpcc::{Cents, DistrictId, WarehouseId};
use std::fmt;
use std::sync::Arc;

/// The workload of the function tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balances {}

/// What is read and changed.
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

/// A transaction on balances. Each has a statement of its own, in the order given.
#[derive(Clone, Debug)]
pub enum BalanceTransaction {
    /// dUpdateBalance: adds an amount to each.
    Add {
        /// What is added.
        amount: Cents,
        /// To which, none of them twice.
        balances: Vec<Balance>,
        /// What happens between two updates.
        between: Between,
    },
    /// dSelectBalance: reads each.
    Select {
        /// Which.
        balances: Vec<Balance>,
        /// What happens between two reads.
        between: Between,
    },
    /// Gives each a value: before a test, and to leave the database as it was.
    Set(Vec<(Balance, Cents)>),
}

impl Workload for Balances {
    type Transaction = BalanceTransaction;
    /// The values that were read, in the order of the balances; empty for what only writes.
    type Outcome = Vec<Cents>;

    const KINDS: &'static [Kind] = &[
        Kind { name: "update_balance", title: "dUpdateBalance" },
        Kind { name: "select_balance", title: "dSelectBalance" },
        Kind { name: "set_balance", title: "set balances" },
    ];

    fn kind(transaction: &BalanceTransaction) -> usize {
        match transaction {
            BalanceTransaction::Add { .. } => 0,
            BalanceTransaction::Select { .. } => 1,
            BalanceTransaction::Set(_) => 2,
        }
    }
}

/// What happens between two statements of a transaction, while it is open: a wait for another session, perhaps.
#[derive(Clone, Default)]
pub struct Between(Option<Arc<dyn Fn() + Send + Sync>>);

impl Between {
    /// Nothing.
    pub const NOTHING: Self = Self(None);

    /// This.
    pub fn new(what: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(what)))
    }

    /// To be called before each statement with its number from 0: the first has nothing before it.
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

/// The message of a row that is not there.
pub(crate) fn missing(balance: Balance) -> String {
    format!("{balance} is missing: run lydite check, or load again with --fresh")
}
