//! The traits of a workload that a run can drive and measure. The code that sends, retries and counts is written once,
//! over these traits.

use crate::logged::Logged;
use lydite_database::{Session, TargetError, Workload};
use lydite_tpcc::{NodesTouched, WarehouseId};
use std::fmt;
use std::time::Duration;

/// A workload that a run can drive and measure.
pub trait Runnable: Workload {
    /// Source of the inputs.
    type Inputs: Clone + fmt::Debug + Send + Sync + 'static;
    /// A stream of inputs. It has one transaction in flight at a time.
    type Terminal: fmt::Debug + Send + 'static;
    /// Counts of this workload alone.
    type Facts: Facts<Self>;

    /// Returns terminals in groups that sessions of a closed loop play in turn: at least as many groups as sessions.
    fn groups(inputs: &Self::Inputs, sessions: u32) -> Vec<Vec<Self::Terminal>>;

    /// Returns terminals in the order in which they send the requests of an open loop; at least one.
    fn in_turn(inputs: &Self::Inputs) -> Vec<Self::Terminal>;

    /// Returns the home warehouse of a terminal; `None` if the workload has no warehouses.
    fn warehouse(_terminal: &Self::Terminal) -> Option<WarehouseId> {
        None
    }

    /// Returns the next input of a terminal.
    fn next(inputs: &Self::Inputs, terminal: &mut Self::Terminal) -> Self::Transaction;

    /// Returns the next input of a terminal on a hot row. Called only if the plan has a row of this number.
    fn contending(inputs: &Self::Inputs, terminal: &mut Self::Terminal, _row: usize) -> Self::Transaction {
        Self::next(inputs, terminal)
    }

    /// Returns the line of a transaction in a success log; `None` if its type is not logged. The outcome may be
    /// unknown.
    fn logged(_transaction: &Self::Transaction, _outcome: Option<&Self::Outcome>) -> Option<Logged> {
        None
    }

    /// Returns the number of orders that a committed transaction delivered.
    fn delivered(_outcome: &Self::Outcome) -> u64 {
        0
    }
}

/// Counts of one workload alone, over the transactions that count.
pub trait Facts<W: Runnable>: Clone + fmt::Debug + Default + Send + 'static {
    /// Counts a completed transaction. `inputs` is its source, `phase` is its phase, and `touched` has the node counts
    /// of its second.
    fn completed(
        &mut self,
        inputs: &W::Inputs,
        phase: usize,
        transaction: &W::Transaction,
        touched: &mut NodesTouched,
    );

    /// Counts an answer of the database. `took` is the time since the transaction was due.
    fn answered(&mut self, transaction: &W::Transaction, outcome: &W::Outcome, took: Duration);

    /// Returns the number of completed transactions of a type, by these counts.
    fn count(&self, kind: usize) -> u64;

    /// Adds the counts of another instance.
    fn merge(&mut self, other: &Self);
}

/// Function that opens a session.
pub type Connect<W> = dyn Fn() -> Result<Box<dyn Session<W>>, TargetError> + Send + Sync;
