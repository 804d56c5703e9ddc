//! Values that a run sampled once a second beside its transactions.

use serde::{Deserialize, Serialize};

/// A value that was sampled once a second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Observed {
    /// Source: `db`, `db:HOST:PORT` for further servers, `host`, or the address of a Prometheus exporter.
    pub source: String,
    /// Name, as the source calls it, as `pg_stat_wal.wal_bytes`; with the labels of an exporter's sample.
    pub name: String,
    /// Unit: `/s` for a counter's growth per second, `bytes`, `bytes/s`, `percent`, `cores`, … ; empty for a plain number.
    pub unit: String,
    /// Value of each second of the window, as many as in `series.second`; null without a sample.
    pub values: Vec<Option<f64>>,
}

/// Mean and bounds of an observed value over its samples.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Extent {
    /// Arithmetic mean.
    pub mean: f64,
    /// Lowest sample.
    pub lowest: f64,
    /// Highest sample.
    pub highest: f64,
}

impl Observed {
    /// Returns mean and bounds of the samples; none without samples.
    #[must_use]
    pub fn extent(&self) -> Option<Extent> {
        let samples: Vec<f64> = self.values.iter().flatten().copied().collect();
        let lowest = samples.iter().copied().reduce(f64::min)?;
        let highest = samples.iter().copied().reduce(f64::max)?;
        Some(Extent { mean: samples.iter().sum::<f64>() / samples.len() as f64, lowest, highest })
    }
}
