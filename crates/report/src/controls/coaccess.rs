//! Co-access: groups of warehouses that dUpdateStocks update together; and the plan of the Dike paper's transactions.

use serde::{Deserialize, Serialize};

use super::nullable;

/// Share of dUpdateStocks that update one whole group of warehouses.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CoAccess {
    /// Warehouses of a group, and rounds of each dUpdateStock.
    pub rounds: u32,
    /// Groups of warehouses.
    pub groups: usize,
    /// Configured share.
    pub asked: Asked,
    /// Measured share.
    pub actual: Actual,
}

/// Configured share.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// Share of dUpdateStocks that update a whole group; if it changes, its mean over those that were sent.
    pub percent: Option<f64>,
}

/// Measured share.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Actual {
    /// Share of dUpdateStocks that updated a whole group; none without dUpdateStocks.
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
    /// Rounds of each dUpdateItem, if the plan sets them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_item_rounds: Option<u32>,
    /// Rounds of each dUpdateStock, if the mix has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_stock_rounds: Option<u32>,
    /// Share of dUpdateStocks that update a whole group, if the mix has them; null without groups, or if it changes.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub coaccess: Option<Option<f64>>,
    /// Warehouses of each dUpdateBalance and dSelectBalance, if the mix has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance_warehouses: Option<u32>,
    /// Order in which they use their warehouses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance_order: Option<String>,
}
