//! Workloads as sessions see them: transactions, outcomes, and transaction types.
//!
//! Sessions, and the code that drives and measures them, are compiled separately for each workload. So the existence of
//! several workloads costs no dispatch and no allocation per transaction.

use lydite_tpcc::{TransactionKind, WarehouseId};
use std::fmt;

/// A workload.
pub trait Workload: fmt::Debug + Clone + Send + Sync + 'static {
    /// Transaction that is sent.
    type Transaction: fmt::Debug + Send + 'static;
    /// Answer of the database.
    type Outcome: fmt::Debug + Send + 'static;

    /// Transaction types, at most 256, in display order. Per-second latencies are those of the first type.
    const KINDS: &'static [Kind];

    /// Returns the type of a transaction as an index into [`Workload::KINDS`].
    fn kind(transaction: &Self::Transaction) -> usize;

    /// Returns the home warehouse of a transaction; `None` if the workload has no warehouses.
    fn home(_transaction: &Self::Transaction) -> Option<WarehouseId> {
        None
    }
}

/// A type of transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Name in results.
    pub name: &'static str,
    /// Display name.
    pub title: &'static str,
}

/// TPC-C: its five transactions, and those of the Dike paper over the same tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tpcc {}

impl Workload for Tpcc {
    type Transaction = lydite_tpcc::Transaction;
    type Outcome = lydite_tpcc::Outcome;

    const KINDS: &'static [Kind] = &{
        let mut kinds = [Kind { name: "", title: "" }; TransactionKind::COUNT];
        let mut index = 0;
        while index < kinds.len() {
            let kind = TransactionKind::ALL[index];
            kinds[index] = Kind { name: kind.name(), title: kind.title() };
            index += 1;
        }
        kinds
    };

    fn kind(transaction: &Self::Transaction) -> usize {
        transaction.kind().index()
    }

    fn home(transaction: &Self::Transaction) -> Option<WarehouseId> {
        Some(transaction.home())
    }
}

/// The microbenchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Micro {}

impl Workload for Micro {
    type Transaction = lydite_micro::Transaction;
    type Outcome = lydite_micro::Outcome;

    const KINDS: &'static [Kind] = &[Kind { name: "micro", title: "Micro" }];

    fn kind(_transaction: &Self::Transaction) -> usize {
        0
    }
}
