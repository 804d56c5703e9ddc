//! Counts of inputs, for the judgement of clauses 5.5.1.5 and 9.2.2.5.

use crate::kind::TransactionKind;
use crate::order_line::MAX_ORDER_LINES;
use crate::placement::Nodes;
use serde::{Deserialize, Serialize};

/// Counts of inputs. Each worker has its own counts; they are merged at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputStatistics {
    /// Transactions of each type, in the order of [`TransactionKind::ALL`].
    pub transactions: [u64; TransactionKind::COUNT],
    /// New-Orders that name an unused item.
    pub rollbacks_asked: u64,
    /// New-Orders by their number of lines: entry 5 counts those of five lines.
    pub orders_by_lines: [u64; MAX_ORDER_LINES + 1],
    /// Order lines supplied by another warehouse than the home.
    pub remote_lines: u64,
    /// New-Orders with at least one remote line.
    pub remote_orders: u64,
    /// Payments by a customer of another warehouse than the home.
    pub remote_payments: u64,
    /// Payments that select the customer by last name.
    pub payments_by_name: u64,
    /// Order-Statuses that select the customer by last name.
    pub order_status_by_name: u64,
}

impl InputStatistics {
    /// Adds the counts of another worker.
    pub fn merge(&mut self, other: &Self) {
        let add = |into: &mut [u64], from: &[u64]| {
            for (into, from) in into.iter_mut().zip(from) {
                *into += from;
            }
        };
        add(&mut self.transactions, &other.transactions);
        add(&mut self.orders_by_lines, &other.orders_by_lines);
        self.rollbacks_asked += other.rollbacks_asked;
        self.remote_lines += other.remote_lines;
        self.remote_orders += other.remote_orders;
        self.remote_payments += other.remote_payments;
        self.payments_by_name += other.payments_by_name;
        self.order_status_by_name += other.order_status_by_name;
    }

    /// Returns the number of transactions of one type.
    #[must_use]
    pub fn count(&self, kind: impl Into<TransactionKind>) -> u64 {
        self.transactions[kind.into().index()]
    }

    /// Returns the number of transactions of all types.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.transactions.iter().sum()
    }

    /// Returns the number of order lines.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.orders_by_lines.iter().zip(0..).map(|(orders, lines)| orders * lines).sum()
    }

    /// Returns the share of each type in percent, in the order of [`TransactionKind::ALL`]; zeros if nothing was
    /// recorded.
    #[must_use]
    pub fn percent(&self) -> [f64; TransactionKind::COUNT] {
        let total = self.total().max(1) as f64;
        self.transactions.map(|count| 100.0 * count as f64 / total)
    }
}

/// Counts of transactions by the nodes that they touched. Each worker has its own counts; they are merged at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodesTouched {
    /// Counts of New-Orders.
    pub new_orders: ByNodes,
    /// Counts of Stock-Levels.
    pub stock_levels: ByNodes,
    /// Counts of dUpdateStocks.
    pub update_stocks: ByNodes,
    /// Counts of dUpdateBalances and dSelectBalances.
    pub balances: ByNodes,
    /// Payments that touched one node.
    pub local_payments: u64,
    /// Payments that touched two nodes.
    pub distributed_payments: u64,
    /// Transactions of all types that touched each node, once for each node. It grows with the greatest node number.
    pub of_node: Vec<u64>,
}

impl NodesTouched {
    /// Counts the nodes of one transaction.
    pub(crate) fn record_nodes(&mut self, nodes: &Nodes) {
        for &node in nodes {
            let node = node as usize;
            if self.of_node.len() <= node {
                self.of_node.resize(node + 1, 0);
            }
            self.of_node[node] += 1;
        }
    }

    /// Adds the counts of another worker.
    pub fn merge(&mut self, other: &Self) {
        self.new_orders.merge(&other.new_orders);
        self.stock_levels.merge(&other.stock_levels);
        self.update_stocks.merge(&other.update_stocks);
        self.balances.merge(&other.balances);
        self.local_payments += other.local_payments;
        self.distributed_payments += other.distributed_payments;
        self.of_node.resize(self.of_node.len().max(other.of_node.len()), 0);
        for (into, from) in self.of_node.iter_mut().zip(&other.of_node) {
            *into += from;
        }
    }
}

/// Transactions by their number of nodes: entry 2 counts those that touched two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByNodes(pub [u64; MAX_ORDER_LINES + 2]);

impl ByNodes {
    fn merge(&mut self, other: &Self) {
        for (into, from) in self.0.iter_mut().zip(other.0) {
            *into += from;
        }
    }

    /// Returns the number of all transactions.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the number of transactions that touched more than one node.
    #[must_use]
    pub fn distributed(&self) -> u64 {
        self.0[2..].iter().sum()
    }

    /// Returns the share of transactions that touched more than one node, in percent; none without transactions.
    #[must_use]
    pub fn ratio_percent(&self) -> Option<f64> {
        (self.count() > 0).then(|| 100.0 * self.distributed() as f64 / self.count() as f64)
    }

    /// Returns the share of transactions that touched 1, 2, … nodes, in percent, up to the greatest number found; empty
    /// without transactions.
    #[must_use]
    pub fn percent_by_nodes(&self) -> Vec<f64> {
        let all = self.count() as f64;
        let last = self.0.iter().rposition(|found| *found > 0).unwrap_or(0);
        self.0.get(1..=last).unwrap_or_default().iter().map(|found| 100.0 * *found as f64 / all).collect()
    }

    /// Returns the mean number of nodes over all transactions; none without transactions.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = (0..).zip(self.0).map(|(nodes, found)| f64::from(nodes) * found as f64).sum();
        (self.count() > 0).then(|| sum / self.count() as f64)
    }

    /// Returns mean and standard deviation of the number of nodes, over transactions that touched more than one; none
    /// without such transactions.
    #[must_use]
    pub fn degree(&self) -> Option<(f64, f64)> {
        let count = self.distributed() as f64;
        let distributed = || (0..).zip(self.0).skip(2).map(|(nodes, found)| (f64::from(nodes), found as f64));
        let mean = distributed().map(|(nodes, found)| nodes * found).sum::<f64>() / count;
        let squares: f64 = distributed().map(|(nodes, found)| found * (nodes - mean).powi(2)).sum();
        (count > 0.0).then(|| (mean, (squares / count).sqrt()))
    }
}
