//! Values second by second.

use lydite_tpcc::TransactionKind;
use serde::{Deserialize, Serialize};

/// Values second by second, in parallel arrays, each as long as `second` or empty. Those of TPC-C's types are empty for
/// other workloads; `micro` and its latencies exist for the microbenchmark only.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    /// Start of each second, in seconds from the window's start; negative before it.
    pub second: Vec<i64>,
    /// New-Orders completed, rolled-back ones included.
    pub new_order: Vec<u64>,
    /// Payments completed.
    pub payment: Vec<u64>,
    /// Order-Statuses completed.
    pub order_status: Vec<u64>,
    /// Deliveries completed.
    pub delivery: Vec<u64>,
    /// Stock-Levels completed.
    pub stock_level: Vec<u64>,
    /// dUpdateStocks completed; empty unless the mix has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub update_stock: Vec<u64>,
    /// dUpdateItems completed; empty unless the mix has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub update_item: Vec<u64>,
    /// dUpdateBalances completed; empty unless the mix has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub update_balance: Vec<u64>,
    /// dSelectBalances completed; empty unless the mix has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub select_balance: Vec<u64>,
    /// Attempts that the database aborted.
    pub aborts: Vec<u64>,
    /// Transactions that ended in an error.
    pub errors: Vec<u64>,
    /// Transactions with an unknown outcome.
    pub unknown: Vec<u64>,
    /// Median latency of the second's New-Orders, in milliseconds; `None` without any.
    pub new_order_p50_ms: Vec<Option<f64>>,
    /// 99th percentile of these latencies.
    pub new_order_p99_ms: Vec<Option<f64>>,
    /// Transactions of the microbenchmark completed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub micro: Vec<u64>,
    /// Median latency of the second's transactions, in milliseconds; `None` without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub micro_p50_ms: Vec<Option<f64>>,
    /// 99th percentile of these latencies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub micro_p99_ms: Vec<Option<f64>>,
    /// Sessions that were connected.
    pub sessions_connected: Vec<u32>,
}

impl Series {
    /// Returns the completed transactions of one type.
    #[must_use]
    pub fn of(&self, kind: TransactionKind) -> &[u64] {
        match kind {
            TransactionKind::NewOrder => &self.new_order,
            TransactionKind::Payment => &self.payment,
            TransactionKind::OrderStatus => &self.order_status,
            TransactionKind::Delivery => &self.delivery,
            TransactionKind::StockLevel => &self.stock_level,
            TransactionKind::UpdateStock => &self.update_stock,
            TransactionKind::UpdateItem => &self.update_item,
            TransactionKind::UpdateBalance => &self.update_balance,
            TransactionKind::SelectBalance => &self.select_balance,
        }
    }

    /// Returns the completed transactions of each type of the series, with the type's display name.
    #[must_use]
    pub fn types(&self) -> Vec<(&'static str, &[u64])> {
        if self.micro.is_empty() {
            let there = |kind: &TransactionKind| kind.is_standard() || !self.of(*kind).is_empty();
            let kinds = TransactionKind::ALL.into_iter().filter(there);
            kinds.map(|kind| (kind.title(), self.of(kind))).collect()
        } else {
            vec![(crate::figures::MICRO_TITLE, &self.micro)]
        }
    }

    /// Returns the median and 99th percentile of the latency of the workload's first type: New-Order, or the only one.
    #[must_use]
    pub fn first_type_ms(&self) -> [&[Option<f64>]; 2] {
        if self.micro.is_empty() {
            [&self.new_order_p50_ms, &self.new_order_p99_ms]
        } else {
            [&self.micro_p50_ms, &self.micro_p99_ms]
        }
    }

    /// Returns the real length of the short second at the edge (the first of a warm-up, the last of a window) of a
    /// series that covers `length_s` seconds; none if all seconds are whole.
    #[must_use]
    pub fn short_second_s(&self, length_s: f64) -> Option<f64> {
        let left = length_s - (self.second.len() as f64 - 1.0);
        // Differences below a thousandth come from the clock.
        (!self.second.is_empty() && left > 0.0 && left < 0.999).then_some(left)
    }

    /// Returns the completed transactions of all types, second by second.
    #[must_use]
    pub fn total(&self) -> Vec<u64> {
        let types = self.types();
        let at = |i: usize| {
            types.iter().map(|(_, of)| of.get(i).copied().unwrap_or(0)).fold(0, u64::saturating_add)
        };
        (0..self.second.len()).map(at).collect()
    }
}
