//! Imbalance control: spread of homes and data over the warehouses.

use serde::{Deserialize, Serialize};

/// Spread of the homes of transactions, and of the data.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Imbalance {
    /// Configured homes; none if each terminal keeps its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<AskedHomes>,
    /// Measured homes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<ActualHomes>,
    /// Homes by node, where the placement is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeHomes>,
    /// Districts of the warehouses, if they are skewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
}

/// Configured homes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AskedHomes {
    /// Skew of the homes; all of them in order if it changes.
    pub homes: String,
    /// Share of the most frequent warehouse.
    pub most_frequent_percent: f64,
}

/// Measured homes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ActualHomes {
    /// Share of the most frequent warehouse.
    pub most_frequent_percent: f64,
    /// Transactions that were sent.
    pub transactions: u64,
    /// Greatest difference between the measured and the configured share of a warehouse, in percentage points.
    pub greatest_deviation_points: f64,
}

/// Homes of a node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeHomes {
    /// Name of the node.
    pub node: String,
    /// Configured share of its warehouses.
    pub asked_percent: f64,
    /// Measured share of its warehouses.
    pub actual_percent: f64,
}

/// Districts of the warehouses.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Data {
    /// Skew of the districts.
    pub asked: String,
    /// Districts of each warehouse.
    pub districts: Vec<u64>,
    /// Share of the largest warehouse.
    pub largest_percent: f64,
    /// Districts by node, where the placement is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeData>,
}

/// Districts of a node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeData {
    /// Name of the node.
    pub node: String,
    /// Districts.
    pub districts: u64,
    /// Share of all districts.
    pub percent: f64,
}

/// Keys of a plan with imbalance control.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ImbalancePlan {
    /// Skew of the homes; the first if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub homes: Option<String>,
    /// Shift of the homes' order, as it was written, if there is one phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub homes_shift: Option<String>,
}
