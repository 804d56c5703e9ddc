//! Work and data of the nodes of a database.

use serde::{Deserialize, Serialize};

/// Operations and data of each node of the database: lists by node, in the order of `names`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeFigures {
    /// Names of the nodes, from the database.
    pub names: Vec<String>,
    /// Start of each second, in seconds from the window's start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub second: Vec<i64>,
    /// By node, operations in each of these seconds: a transaction counts once for each node that it touches. Empty if
    /// unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ops: Vec<Vec<u64>>,
    /// Data of each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<NodeBytes>,
}

/// Data of each node over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeBytes {
    /// Times of the queries for it, in seconds from the window's start; negative before it.
    pub second: Vec<f64>,
    /// By node, bytes at each of these times.
    pub of: Vec<Vec<u64>>,
}
