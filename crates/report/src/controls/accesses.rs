//! Accesses of the microbenchmark's transactions.

use serde::{Deserialize, Serialize};

/// Accesses of a transaction and their shares.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Accesses {
    /// Configured accesses.
    pub asked: Asked,
    /// Measured accesses.
    pub actual: Actual,
}

/// Configured accesses.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// Accesses of each transaction.
    pub per_transaction: u32,
    /// Share of accesses that update their record.
    pub updates_percent: f64,
    /// Share of accesses to tables on disk, in a database with two engines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_percent: Option<u32>,
}

/// Measured accesses.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Actual {
    /// Mean number of accesses of a transaction.
    pub per_transaction: f64,
    /// Share of accesses that updated their record.
    pub updates_percent: f64,
    /// Share of accesses to tables on disk, in a database with two engines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_percent: Option<f64>,
}
