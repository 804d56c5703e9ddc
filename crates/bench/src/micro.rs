//! The microbenchmark as a workload that a run can drive and measure.

use crate::workload::{Facts, Runnable};
use lydite_database::Micro;
use lydite_micro::{Inputs, Outcome, Terminal, Transaction};
use lydite_tpcc::NodesTouched;
use std::time::Duration;

/// Input streams that a session plays in turn. With pipelined commits the session has as many transactions in flight,
/// the same number as a session of TPC-C with a warehouse of its own.
const TERMINALS_PER_SESSION: u32 = 10;

/// Counts of the microbenchmark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MicroFacts {
    /// Completed transactions.
    pub transactions: u64,
    /// Records that these transactions accessed.
    pub accesses: u64,
    /// Accesses to records on disk.
    pub on_disk: u64,
    /// Accesses that were updates.
    pub updates: u64,
}

impl Facts<Micro> for MicroFacts {
    fn completed(
        &mut self,
        _inputs: &Inputs,
        _phase: usize,
        transaction: &Transaction,
        _touched: &mut NodesTouched,
    ) {
        self.transactions += 1;
        self.accesses += transaction.accesses.len() as u64;
        self.updates += transaction.updates().count() as u64;
        self.on_disk += transaction
            .accesses
            .iter()
            .filter(|access| access.table.home == lydite_micro::Home::Disk)
            .count() as u64;
    }

    fn answered(&mut self, _transaction: &Transaction, _outcome: &Outcome, _took: Duration) {}

    fn count(&self, _kind: usize) -> u64 {
        self.transactions
    }

    fn merge(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.accesses += other.accesses;
        self.on_disk += other.on_disk;
        self.updates += other.updates;
    }
}

impl Runnable for Micro {
    type Inputs = Inputs;
    type Terminal = Terminal;
    type Facts = MicroFacts;

    fn groups(inputs: &Inputs, sessions: u32) -> Vec<Vec<Terminal>> {
        (0..sessions)
            .map(|session| {
                let first = session * TERMINALS_PER_SESSION;
                (first..first + TERMINALS_PER_SESSION).map(|index| inputs.terminal(index)).collect()
            })
            .collect()
    }

    fn in_turn(inputs: &Inputs) -> Vec<Terminal> {
        vec![inputs.terminal(0)]
    }

    fn next(inputs: &Inputs, terminal: &mut Terminal) -> Transaction {
        inputs.next(terminal)
    }
}
