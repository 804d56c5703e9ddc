//! The plan of a run in its result.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::controls::coaccess::ExtraPlan;
use crate::controls::contention::ContentionPlan;
use crate::controls::distribution::DistributionPlan;
use crate::controls::imbalance::ImbalancePlan;
use crate::controls::replicas::ReplicasPlan;
use crate::document;
pub use crate::setting::Setting;

/// A file of the user's statements.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScriptInfo {
    /// Path as the user wrote it.
    pub file: String,
    /// First 16 hexadecimal digits of the SHA-256 of its bytes.
    pub hash: String,
    /// Contents, if the process that wrote the document read the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl fmt::Display for ScriptInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SHA-256 {}…)", self.file, self.hash)
    }
}

/// The plan of a run. It has only the keys that apply to the run; keys of other versions are kept as they were written.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanInfo {
    /// Workload: `tpcc` or `micro`; `tpcc` if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Warehouses of the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warehouses: Option<u64>,
    /// Warehouses in use, if not all: `FIRST-LAST`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_warehouses: Option<String>,
    /// Size of the warehouses (`standard`, `small` or `tiny`), if it is not the standard's or the plan sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Skew of the districts over the warehouses, if they have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_skew: Option<String>,
    /// File of statements that made the tables, if Lydite's own did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<ScriptInfo>,
    /// File of statements that followed the rows of the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_load: Option<ScriptInfo>,
    /// Tables and transactions of the microbenchmark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micro: Option<MicroPlan>,
    /// Mix of transactions; the first if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<String>,
    /// Way in which transactions are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx: Option<String>,
    /// Seed of all inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Seed that the database was loaded with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_seed: Option<u64>,
    /// Constant of NURand that the database was loaded with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub c_load: Option<u64>,
    /// Mode: `direct`, `rte` or `open`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Terminals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminals: Option<u64>,
    /// Sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u64>,
    /// Factor on the waiting times of emulated users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_factor: Option<f64>,
    /// Address of the WAS that terminals have lines to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// Time that terminals take to display an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_delay_s: Option<f64>,
    /// Requests per second of an open loop; their mean if they change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Spread of these requests over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrival: Option<String>,
    /// Length of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// Length of the warm-up before it; its least length if it lasts until the throughput is steady.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup_s: Option<f64>,
    /// Longest warm-up, if it lasts until the throughput is steady.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady_s: Option<f64>,
    /// Retries of aborted transactions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPlan>,
    /// True if the run checks the database before and after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<bool>,
    /// Isolation of the transactions, as the database states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// Phases, if settings change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PlanPhase>,
    /// Faults, as `KIND[:ARGS]@FROM[..TO][,every=TIME]/WHERE`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// Observed sources, if the plan sets them: `db`, `host`, `prometheus=URL[,NAME…]`, or `off` alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub observe: Vec<String>,
    /// Keys of distribution control.
    #[serde(flatten)]
    pub distribution: DistributionPlan,
    /// Keys of contention control.
    #[serde(flatten)]
    pub contention: ContentionPlan,
    /// Keys of imbalance control.
    #[serde(flatten)]
    pub imbalance: ImbalancePlan,
    /// Keys of the Dike paper's transactions.
    #[serde(flatten)]
    pub extra: ExtraPlan,
    /// True if sessions preferred the warehouses that their endpoint leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<bool>,
    /// Keys of reading on replicas.
    #[serde(flatten)]
    pub replicas: ReplicasPlan,
    /// Keys of other versions, as they were written.
    #[serde(flatten)]
    pub others: BTreeMap<String, serde_json::Value>,
}

/// Retries of aborted transactions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RetryPlan {
    /// Most attempts at a transaction.
    pub attempts: u32,
    /// Shortest back-off.
    pub backoff_min_s: f64,
    /// Longest back-off.
    pub backoff_max_s: f64,
}

/// Tables and transactions of the microbenchmark.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MicroPlan {
    /// Tables; per engine if there are two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables: Option<u64>,
    /// Records of each table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// Bytes of each record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_bytes: Option<u64>,
    /// Accesses of each transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accesses: Option<u64>,
    /// Accesses that update their record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updates: Option<u64>,
    /// Share of accesses to tables on disk, in a database with two engines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_percent: Option<u64>,
}

/// A phase of the plan.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanPhase {
    /// Name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Start of the phase, in seconds from the window's start.
    pub from_s: f64,
    /// End of the phase, likewise.
    pub to_s: f64,
    /// Keys that it sets, as they were written.
    #[serde(flatten)]
    pub asked: BTreeMap<String, String>,
}

impl PlanInfo {
    /// Returns the keys with their values as text; `a.b` is key b of table a.
    #[must_use]
    pub(crate) fn texts(&self) -> BTreeMap<String, String> {
        document::texts(self)
    }

    /// Returns true if the plan sets the pace of requests, not the database: terminals that wait, or a given rate.
    #[must_use]
    pub fn is_paced(&self) -> bool {
        matches!(self.mode.as_deref(), Some("rte" | "open"))
    }
}
