//! Reads on replicas.

use serde::{Deserialize, Serialize};

/// Reads that replicas answered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Replicas {
    /// URLs of the replicas, without passwords.
    pub urls: Vec<String>,
    /// Staleness: the greatest age of what a read may see.
    pub staleness: String,
    /// Reads that replicas answered.
    pub reads: u64,
    /// Reads that each replica answered.
    pub reads_of: Vec<u64>,
    /// Reads that the primary answered because the replica was too far behind.
    pub to_primary: u64,
    /// Reads that waited for their replica.
    pub waited: u64,
    /// Total time that they waited.
    pub waited_s: f64,
    /// Measured lag; none if it can't be measured.
    pub lag: Option<Lag>,
}

/// Lag behind the primary.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Lag {
    /// Mean.
    pub mean_s: f64,
    /// Greatest value.
    pub max_s: f64,
}

/// Keys of a plan with replicas.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplicasPlan {
    /// URLs of the replicas, without passwords.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<Vec<String>>,
    /// Staleness: the greatest age of what a read may see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staleness: Option<String>,
}
