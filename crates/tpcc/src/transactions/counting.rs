//! Counts of transactions: by type, by input, and by the nodes that they touch.

use super::Transaction;
use crate::ids::WarehouseId;
use crate::kind::TransactionKind;
use crate::placement::{Nodes, Placement};
use crate::statistics::{InputStatistics, NodesTouched};

impl InputStatistics {
    /// Counts one transaction. A retried transaction counts once.
    pub fn record(&mut self, transaction: &Transaction) {
        self.transactions[transaction.kind().index()] += 1;
        match transaction {
            Transaction::Standard(transaction) => transaction.count(self),
            Transaction::Dike(transaction) => transaction.count(self),
        }
    }
}

impl NodesTouched {
    /// Counts one transaction of a type, with its nodes from [`Placement::touched`].
    pub fn record(&mut self, kind: impl Into<TransactionKind>, nodes: &Nodes) {
        match kind.into() {
            TransactionKind::Standard(kind) => kind.count_nodes(self, nodes.len()),
            TransactionKind::Dike(kind) => kind.count_nodes(self, nodes.len()),
        }
        self.record_nodes(nodes);
    }
}

impl Placement {
    /// Returns the nodes that a transaction touches, its home's node first. Order-Status, Delivery and the standard's
    /// Stock-Level touch the home's node only. A placement does not say where ITEM is, so a dUpdateItem counts at its
    /// home.
    #[must_use]
    pub fn touched(&self, transaction: &Transaction) -> Nodes {
        // A transaction has few nodes, so a list is the fastest set.
        let mut nodes = Nodes::new();
        nodes.push(self.node(transaction.home()));
        let touch = |warehouse: WarehouseId| {
            let node = self.node(warehouse);
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        };
        match transaction {
            Transaction::Standard(transaction) => transaction.touch(touch),
            Transaction::Dike(transaction) => transaction.touch(touch),
        }
        nodes
    }
}
