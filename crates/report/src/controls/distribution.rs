//! Distribution control: nodes that transactions touch.

use serde::{Deserialize, Serialize};

use super::nullable;
use crate::setting::Setting;

/// Nodes that transactions touched, where the placement of the warehouses is known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Distribution {
    /// Configured distribution; none if the steps of the plan differ, or set none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// Measured distribution.
    pub actual: Actual,
    /// Source of the placement: the database, or the user.
    pub placement: String,
    /// Nodes, each with its warehouses.
    pub nodes: Vec<Node>,
    /// Moves of warehouses between nodes during the run.
    pub moves: Vec<Move>,
    /// Distribution of the New-Orders of each second.
    pub per_second: PerSecond,
    /// Mean number of keys of a distributed order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<f64>,
    /// Configured degree minus the measured one, with the paper's strategy; null if no order was distributed.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub degree_short_by: Option<Option<f64>>,
    /// The same difference by the paper's theorem 4.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theorem_4_1_short_by: Option<f64>,
}

/// Configured distribution.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// Share of New-Orders over several nodes; the standard's if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_percent: Option<f64>,
    /// Nodes that each of them touches.
    pub degree: u32,
    /// Strategy that picks their warehouses.
    pub strategy: String,
    /// Share of Payments over two nodes; the standard's if there is none.
    pub payment_percent: Option<f64>,
    /// Share of Stock-Levels over several nodes; the standard's if there is none.
    pub stock_level_percent: Option<f64>,
    /// Nodes that each of them touches, if not as many as a New-Order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stock_level_degree: Option<u32>,
}

/// Measured distribution; a share is missing if no transaction of its type was sent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Actual {
    /// Share of New-Orders over several nodes.
    pub ratio_percent: Option<f64>,
    /// Mean number of nodes that each of them touched.
    pub degree: Option<f64>,
    /// Standard deviation of that number.
    pub degree_stddev: Option<f64>,
    /// Shares of the New-Orders that touched 1, 2, … nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub percent_by_nodes: Vec<f64>,
    /// New-Orders.
    pub orders: u64,
    /// Share of Payments over two nodes.
    pub payment_percent: Option<f64>,
    /// Share of Stock-Levels over several nodes.
    pub stock_level_percent: Option<f64>,
    /// Mean number of nodes that each of them touched.
    pub stock_level_degree: Option<f64>,
    /// Share of dUpdateStocks over several nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_stock_percent: Option<f64>,
    /// Mean number of nodes that each of them touched; null if all were on one node.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub update_stock_degree: Option<Option<f64>>,
    /// Share of dUpdateBalances and dSelectBalances over several nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance_percent: Option<f64>,
    /// Mean number of nodes that each of them touched; null if all were on one node.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub balance_degree: Option<Option<f64>>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Name.
    pub node: String,
    /// Warehouses that it has, or leads.
    pub warehouses: u64,
}

/// A move of warehouses between nodes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Move {
    /// Time at which the run noticed it, in seconds from the window's start.
    pub at_s: f64,
    /// Warehouses that moved.
    pub warehouses: u64,
}

/// Distribution of the New-Orders of each second; null where there were none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PerSecond {
    /// Share over several nodes.
    pub ratio_percent: Vec<Option<f64>>,
    /// Mean number of nodes that each of them touched.
    pub degree: Vec<Option<f64>>,
}

/// Nodes that the transactions of a phase touched.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseDistribution {
    /// Configured distribution; none if the steps of the phase differ, or set none.
    pub asked: Option<Asked>,
    /// Measured distribution.
    pub actual: Actual,
}

/// Keys of a plan with distribution control. Keys that change from phase to phase are left out; a curve over the whole
/// window is kept as it was written.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DistributionPlan {
    /// Share of New-Orders over several nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dis_ratio: Option<Setting<f64>>,
    /// Nodes that each of them touches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dis_degree: Option<Setting<u32>>,
    /// Strategy that picks their warehouses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dis_strategy: Option<String>,
    /// Share of Payments over two nodes; null for the standard's.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub dis_payment: Option<Option<Setting<f64>>>,
    /// Share of Stock-Levels over several nodes; null for the standard's.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub dis_stock_level: Option<Option<Setting<f64>>>,
    /// Nodes that each of them touches, if not as many as a New-Order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dis_stock_level_degree: Option<Setting<u32>>,
}
