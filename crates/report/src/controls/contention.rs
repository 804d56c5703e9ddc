//! Contention control: transactions that compete for hot rows.

use serde::{Deserialize, Serialize, Serializer};

/// Transactions that compete for the first hot row, and for each of them if there are several.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Contention {
    /// Table of the hot rows: `stock` or `district`.
    pub hot: String,
    /// Phases of the first hot row.
    pub phases: Vec<Competing>,
    /// Mean number of competing transactions in each full second of the window, for the first hot row.
    pub per_second: Vec<Option<f64>>,
    /// Transactions that waited in the client's queue after an abort.
    pub queued: u64,
    /// Hot rows, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<HotRow>,
}

/// A row that transactions compete for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfRow<'a> {
    /// The row, if there are several.
    pub(crate) row: Option<&'a HotRow>,
    pub(crate) phases: &'a [Competing],
    pub(crate) per_second: &'a [Option<f64>],
}

impl Contention {
    /// Returns each hot row.
    pub(crate) fn each_row(&self) -> Vec<OfRow<'_>> {
        if self.rows.is_empty() {
            return vec![OfRow { row: None, phases: &self.phases, per_second: &self.per_second }];
        }
        self.rows
            .iter()
            .map(|row| OfRow { row: Some(row), phases: &row.phases, per_second: &row.per_second })
            .collect()
    }
}

/// A hot row: of STOCK if it has an item, of DISTRICT if it has a district.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HotRow {
    /// Number of the warehouse.
    pub w_id: u32,
    /// Number of the item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub i_id: Option<u32>,
    /// Number of the district.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub d_id: Option<u32>,
    /// Phases.
    pub phases: Vec<Competing>,
    /// Mean number of competing transactions in each full second of the window.
    pub per_second: Vec<Option<f64>>,
}

impl HotRow {
    /// Returns the display name of the row.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let of = |table: &str, id: Option<u32>| Some(format!("{table} {}/{}", self.w_id, id?));
        of("stock", self.i_id).or_else(|| of("district", self.d_id))
    }
}

/// Transactions that compete for a row in a phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Competing {
    /// Configured number, or its mean if it follows a curve; whole unless it does.
    #[serde(serialize_with = "whole_if_it_is")]
    pub asked: f64,
    /// Measured mean since it had settled, or over the whole phase if it never did.
    pub actual: f64,
    /// Deviation of `actual` from the configured number over the same time; none if that was 0.
    pub deviation_percent: Option<f64>,
    /// Seconds until it had settled; none if it never did.
    pub settling_s: Option<f64>,
    /// Start of the phase, in seconds from the window's start.
    pub from_s: f64,
    /// End of the phase, likewise.
    pub to_s: f64,
}

/// Keys of a plan with contention control.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ContentionPlan {
    /// Competing transactions by phase and row, as they were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci: Option<String>,
    /// Table of the hot rows, if it is not the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot: Option<String>,
    /// Way of keeping the configured number, if it is not the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci_method: Option<String>,
}

/// Writes a number without a fraction if it has none.
fn whole_if_it_is<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0.0 && (0.0..9e15).contains(number) {
        to.serialize_u64(*number as u64)
    } else {
        to.serialize_f64(*number)
    }
}
