//! TPC-C's transactions that stop at points of their own, for the ACID tests of clause 3. A session plays them by the
//! same text as all others; a [`Script`] is called at each [`Point`] and says how the transaction continues.

use crate::workload::{Kind, Tpcc, Workload};
use lydite_tpcc::{DistrictId, OrderId, Outcome, Transaction};
use std::fmt;
use std::sync::Arc;

/// The workload of sessions that stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {}

impl Workload for Held {
    type Transaction = HeldTransaction;
    /// The answer that the terminal would show, also if the script rolled the transaction back.
    type Outcome = Outcome;

    const KINDS: &'static [Kind] = Tpcc::KINDS;

    fn kind(held: &HeldTransaction) -> usize {
        Tpcc::kind(&held.transaction)
    }
}

/// A transaction with its script.
#[derive(Clone, Debug)]
pub struct HeldTransaction {
    /// The transaction.
    pub transaction: Transaction,
    /// The function that is called at its points.
    pub script: Script,
}

/// A point of an open transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// New-Order has read this number of items, counted from 1.
    Item(usize),
    /// Delivery has looked for the oldest undelivered order of a district.
    Oldest(DistrictId, Option<OrderId>),
    /// Order-Status has looked for the last order of its customer.
    LastOrder(Option<OrderId>),
    /// All is done but the commit, or the rollback of an order with an unused item.
    End,
}

/// Continuation of a transaction after a [`Point`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Continues; at the end, it commits.
    Continue,
    /// Reads again and comes back to the same kind of point. Not for [`Point::Item`] and [`Point::End`].
    Repeat,
    /// Rolls back instead of the commit; at any other point, continues.
    RollBack,
}

/// A function that is called at each point of a transaction, on the session's thread. It may block: then the transaction
/// stays open.
#[derive(Clone)]
pub struct Script(Arc<dyn Fn(Point) -> Then + Send + Sync>);

impl Script {
    /// Makes a script from a function.
    pub fn new(at: impl Fn(Point) -> Then + Send + Sync + 'static) -> Self {
        Self(Arc::new(at))
    }

    /// Returns the continuation after a point.
    pub(crate) fn reach(&self, point: Point) -> Then {
        (self.0)(point)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}
