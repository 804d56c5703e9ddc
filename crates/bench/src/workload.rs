//! What a workload must have to be driven and measured. All that sends, retries and counts is written once, over this.

use lydite_database::{Session, TargetError, Workload};
use lydite_tpcc::NodesTouched;
use std::fmt;
use std::time::Duration;

/// A workload that can be driven and measured.
pub trait Runnable: Workload {
    /// Where the inputs come from.
    type Inputs: Clone + fmt::Debug + Send + Sync + 'static;
    /// One stream of inputs. It has one transaction under way at a time.
    type Terminal: fmt::Debug + Send + 'static;
    /// What is counted of this workload alone.
    type Facts: Facts<Self>;

    /// Terminals in groups that sessions of a closed loop play in turn: at least as many groups as sessions.
    fn groups(inputs: &Self::Inputs, sessions: u32) -> Vec<Vec<Self::Terminal>>;

    /// Terminals in the order in which the requests of an open loop are theirs; at least one.
    fn in_turn(inputs: &Self::Inputs) -> Vec<Self::Terminal>;

    /// What a terminal enters next.
    fn next(inputs: &Self::Inputs, terminal: &mut Self::Terminal) -> Self::Transaction;

    /// What it enters if it is to go for a row that others go for too; only if the plan has a row of this number.
    fn contending(inputs: &Self::Inputs, terminal: &mut Self::Terminal, _row: usize) -> Self::Transaction {
        Self::next(inputs, terminal)
    }
}

/// What is counted of one workload alone, of the transactions that count.
pub trait Facts<W: Runnable>: Clone + fmt::Debug + Default + Send + 'static {
    /// A transaction was completed. `inputs`: where it came from; `phase`: when; `touched`: its second's counts of nodes.
    fn completed(
        &mut self,
        inputs: &W::Inputs,
        phase: usize,
        transaction: &W::Transaction,
        touched: &mut NodesTouched,
    );

    /// The database answered it, so long after it was due.
    fn answered(&mut self, transaction: &W::Transaction, outcome: &W::Outcome, took: Duration);

    /// How many of a type were completed, by these counts.
    fn count(&self, kind: usize) -> u64;

    /// Adds the counts of others.
    fn merge(&mut self, other: &Self);
}

/// Makes a session.
pub(crate) type Connect<W> = dyn Fn() -> Result<Box<dyn Session<W>>, TargetError> + Send + Sync;
