//! The load of a database: its numbers in a result, and the document of `lydite load`.

use crate::plan::ScriptInfo;
use serde::{Deserialize, Serialize};

use super::{FORMAT, HostInfo, Latency, Observed, Status, TargetInfo};
use crate::statements::StatementResult;

/// The load of the database.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadInfo {
    /// Wall time in seconds.
    pub seconds: f64,
    /// Rows of all tables.
    pub rows: u64,
    /// Bytes of row data sent.
    pub bytes: u64,
    /// Warehouses loaded; 0 for workloads without warehouses.
    pub warehouses: u64,
    /// Tables loaded, where the plan sets their number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables: Option<u64>,
    /// Loaders that worked at the same time.
    pub jobs: u32,
    /// `rows` divided by `seconds`.
    pub rows_per_s: f64,
    /// `bytes` divided by `seconds`.
    pub bytes_per_s: f64,
    /// Time at which it began, in RFC 3339.
    pub start: String,
    /// Phases, in order and without gaps.
    pub phases: Vec<LoadPhase>,
    /// Rows and bytes in each second.
    pub series: LoadSeries,
    /// Tables of TPC-C; empty for other workloads, and if agents loaded.
    pub by_table: Vec<TableLoad>,
    /// Batches: what a loader sends before it waits for the database.
    pub batches: LoadBatches,
    /// Cost of the client.
    pub client: LoadClient,
    /// Values that were observed in each second, as many as in `series.second`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<Observed>,
    /// Statements on which the servers spent the most time, by server, the most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<StatementResult>,
}

/// A phase of a load, in seconds since the load began.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadPhase {
    /// Name: `preparing`, `creating tables`, `rows`, then the steps of the database in its words.
    pub name: String,
    /// Begin.
    pub from_s: f64,
    /// End.
    pub to_s: f64,
}

/// A load second by second. The last second is cut by the end of the load.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadSeries {
    /// Seconds since the load began, from 0.
    pub second: Vec<i64>,
    /// Rows sent in each second.
    pub rows: Vec<u64>,
    /// Bytes sent in each second.
    pub bytes: Vec<u64>,
}

/// The rows of one table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TableLoad {
    /// Name of the table.
    pub table: String,
    /// Rows sent.
    pub rows: u64,
    /// Bytes sent.
    pub bytes: u64,
}

/// The batches of a load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadBatches {
    /// Number of batches that the database has answered.
    pub count: u64,
    /// Time from the first row of a batch to the database's answer.
    pub latency_ms: Latency,
    /// The histogram of these times; see [`crate::hdr`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hdr: String,
}

/// Cost of the client over a load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadClient {
    /// Processor time in seconds. With an embedded target it includes the database's.
    pub cpu_s: f64,
    /// Greatest resident memory in bytes.
    pub peak_rss_bytes: u64,
}

/// The plan of a load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadPlan {
    /// Workload: `tpcc` or `micro`.
    pub workload: String,
    /// Warehouses of the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warehouses: Option<u64>,
    /// Size of the warehouses: `standard`, `small` or `tiny`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Distribution of the districts, if it is not ten for each warehouse.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_skew: Option<String>,
    /// Seed of the rows.
    pub seed: u64,
    /// Directory of the files with the rows, if they were read from files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Time of the check of these files before the load, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_s: Option<f64>,
    /// File of statements that made the tables, if Lydite's own did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<ScriptInfo>,
    /// File of statements that followed the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_load: Option<ScriptInfo>,
    /// Observed sources, if the plan sets them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub observe: Vec<String>,
}

/// The document of `lydite load`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadResult {
    /// Version of the program that wrote the document.
    pub lydite: String,
    /// Version of the document, [`FORMAT`].
    pub format: u32,
    /// The user's name for the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Status of the load: partial if it was interrupted.
    #[serde(default)]
    pub status: Status,
    /// The plan of the load.
    #[serde(default)]
    pub plan: LoadPlan,
    /// The loaded database.
    #[serde(default)]
    pub target: TargetInfo,
    /// The machine that ran the client.
    #[serde(default)]
    pub host: HostInfo,
    /// The load.
    #[serde(default)]
    pub load: LoadInfo,
    /// Warnings, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Default for LoadResult {
    fn default() -> Self {
        Self {
            lydite: env!("CARGO_PKG_VERSION").to_owned(),
            format: FORMAT,
            label: None,
            status: Status::default(),
            plan: LoadPlan::default(),
            target: TargetInfo::default(),
            host: HostInfo::default(),
            load: LoadInfo::default(),
            warnings: Vec::new(),
        }
    }
}

impl LoadResult {
    /// Returns the JSON text of the document.
    ///
    /// # Errors
    /// If a number has no form in JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string(self)?;
        text.push('\n');
        Ok(text)
    }
}
