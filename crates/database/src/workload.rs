//! What a workload is to a session: what is sent, what is answered, and the types of transactions that there are.
//!
//! Sessions, and the machinery that drives and measures them, are compiled for each workload anew: nothing is dispatched
//! or allocated for a transaction because there are several workloads.

use lydite_tpcc::TransactionKind;
use std::fmt;

/// A workload.
pub trait Workload: fmt::Debug + Clone + Send + Sync + 'static {
    /// What is sent.
    type Transaction: fmt::Debug + Send + 'static;
    /// What is answered.
    type Outcome: fmt::Debug + Send + 'static;

    /// The types of transactions, at most 256, in the order in which people expect them. The first is the one whose
    /// latencies are shown second by second.
    const KINDS: &'static [Kind];

    /// The type of a transaction: its place in [`Workload::KINDS`].
    fn kind(transaction: &Self::Transaction) -> usize;
}

/// A type of transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name in results.
    pub name: &'static str,
    /// Its name for people.
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
