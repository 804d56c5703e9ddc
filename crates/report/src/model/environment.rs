//! The database under test, the machine and the cost of the client.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Latency;

/// The database under test.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TargetInfo {
    /// Family: `gemel`, `postgres`, …
    pub kind: String,
    /// Version that the database states.
    #[serde(default)]
    pub version: String,
    /// URL without password.
    #[serde(default)]
    pub url: String,
    /// Settings that matter to the result, from the database itself.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Settings of the server that differ from its defaults, without secrets and paths.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed_settings: BTreeMap<String, String>,
    /// True if connections were encrypted; `None` (null) if there were none, or if this is not known.
    #[serde(default)]
    pub encrypted: Option<bool>,
    /// True if it runs inside the client's process, so that its cost is part of the client's.
    #[serde(default)]
    pub embedded: bool,
    /// The nine tables at the end, as its catalog has them; empty if it does not report them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableInfo>,
}

/// A table, as the catalog of its database has it. Numbers that the catalog lacks are absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TableInfo {
    /// Name of the table.
    pub name: String,
    /// Bytes of its rows and indexes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Number of its rows, as the catalog estimates it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Partitions, if it has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitions: Option<u64>,
    /// Ranges of keys that the database stores apart, if it stores tables in ranges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranges: Option<u64>,
    /// Columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<u64>,
    /// Indexes, with that of the primary key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexes: Option<u64>,
}

impl TargetInfo {
    /// Returns the encryption of the connections in words; none if unknown.
    #[must_use]
    pub fn encryption(&self) -> Option<&'static str> {
        self.encrypted.map(|encrypted| if encrypted { "encrypted" } else { "not encrypted" })
    }
}

/// The machine that ran the client.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostInfo {
    /// Host name.
    pub hostname: String,
    /// Operating system.
    pub os: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Logical processors available to the client.
    pub cores: u32,
    /// Main memory in bytes.
    pub memory_bytes: u64,
}

/// Cost of the client itself over the measured window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientCost {
    /// Processor time in seconds. With an embedded target it includes the database's.
    pub cpu_s: f64,
    /// Greatest resident memory in bytes.
    pub peak_rss_bytes: u64,
    /// `cpu_s` per completed transaction, in microseconds.
    pub cpu_us_per_transaction: f64,
    /// Processor time of a driver's processes in seconds, not included in `cpu_s`; none without a driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_cpu_s: Option<f64>,
    /// `driver_cpu_s` per completed transaction, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_cpu_us_per_transaction: Option<f64>,
    /// Warning that the client, not the database, was the limit: a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<String>,
    /// Delay with which the client noticed that a transaction was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness_ms: Option<Latency>,
}
