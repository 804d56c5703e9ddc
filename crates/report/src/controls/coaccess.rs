//! Co-access, and the plan of the Dike paper's transactions: groups of warehouses that dUpdateStocks are of.

use serde::{Deserialize, Serialize};

use super::nullable;

/// How often a dUpdateStock is of one whole group of warehouses.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CoAccess {
    /// Warehouses of a group, and rounds of each dUpdateStock.
    pub rounds: u32,
    /// Groups of warehouses.
    pub groups: usize,
    /// Share that the plan asks for.
    pub asked: Asked,
    /// Share that was sent.
    pub actual: Actual,
}

/// Share that the plan asks for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// Share of dUpdateStocks that are of a whole group; if it changes, its mean over those that were sent.
    pub percent: Option<f64>,
}

/// Share that was sent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Actual {
    /// Share of dUpdateStocks that were of a whole group; none if none was sent.
    pub percent: Option<f64>,
    /// dUpdateStocks that were sent.
    pub updates: u64,
    /// Mean number of nodes that a dUpdateStock touched, where the placement is known.
    pub nodes_mean: Option<f64>,
}

/// Keys of a plan whose mix has transactions of the Dike paper.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ExtraPlan {
    /// Rounds of each dUpdateStock, if the mix has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_stock_rounds: Option<u32>,
    /// Share of dUpdateStocks that are of a whole group, if the mix has them; null without groups, or if it changes.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub coaccess: Option<Option<f64>>,
    /// Warehouses of each dUpdateBalance and dSelectBalance, if the mix has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance_warehouses: Option<u32>,
    /// Order in which they go to their warehouses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance_order: Option<String>,
}
