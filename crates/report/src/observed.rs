//! Values that the run observed beside its transactions: statistics of the server, the machine, and exporters.

use serde::{Deserialize, Serialize};

/// A value that was sampled once a second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Observed {
    /// Source: `db`, `host`, or the address of a Prometheus exporter.
    pub source: String,
    /// Name, as the source calls it, as `pg_stat_wal.wal_bytes`; with the labels of an exporter's sample.
    pub name: String,
    /// Unit: `/s` for a counter's growth per second, `bytes`, `bytes/s`, `percent`, `cores`, … ; empty for a plain number.
    pub unit: String,
    /// Value of each second of the window, as many as in `series.second`; null without a sample.
    pub values: Vec<Option<f64>>,
}
