//! Values second by second.

use lydite_tpcc::{DikeKind, StandardKind, TransactionKind};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

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
    /// Transactions of the Dike paper completed, those of each type under its name.
    #[serde(flatten)]
    pub dike: DikeSeries,
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

/// Transactions of the Dike paper completed second by second, of those types that the mix has.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct DikeSeries(BTreeMap<DikeKind, Vec<u64>>);

impl DikeSeries {
    /// Returns the completed transactions of one type; empty unless the mix has them.
    #[must_use]
    pub fn of(&self, kind: DikeKind) -> &[u64] {
        self.0.get(&kind).map_or(&[], Vec::as_slice)
    }
}

/// Takes the series of types. An empty one is left out.
impl FromIterator<(DikeKind, Vec<u64>)> for DikeSeries {
    fn from_iter<I: IntoIterator<Item = (DikeKind, Vec<u64>)>>(series: I) -> Self {
        Self(series.into_iter().filter(|(_, of_type)| !of_type.is_empty()).collect())
    }
}

/// Reads the names of types from an object that may have others.
impl<'de> Deserialize<'de> for DikeSeries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfTypes)
    }
}

struct OfTypes;

impl<'de> Visitor<'de> for OfTypes {
    type Value = DikeSeries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<DikeSeries, A::Error> {
        let mut series = Vec::new();
        while let Some(name) = entries.next_key::<String>()? {
            match DikeKind::from_name(&name) {
                Some(kind) => series.push((kind, entries.next_value()?)),
                None => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(series.into_iter().collect())
    }
}

impl Series {
    /// Returns the completed transactions of one type.
    #[must_use]
    pub fn of(&self, kind: impl Into<TransactionKind>) -> &[u64] {
        match kind.into() {
            TransactionKind::Standard(StandardKind::NewOrder) => &self.new_order,
            TransactionKind::Standard(StandardKind::Payment) => &self.payment,
            TransactionKind::Standard(StandardKind::OrderStatus) => &self.order_status,
            TransactionKind::Standard(StandardKind::Delivery) => &self.delivery,
            TransactionKind::Standard(StandardKind::StockLevel) => &self.stock_level,
            TransactionKind::Dike(kind) => self.dike.of(kind),
        }
    }

    /// Returns the completed transactions of each type of the series, with the type's display name.
    #[must_use]
    pub fn types(&self) -> Vec<(&'static str, &[u64])> {
        if self.micro.is_empty() {
            let there = |kind: &TransactionKind| kind.standard().is_some() || !self.of(*kind).is_empty();
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
