//! The controls of a run: what each was asked and what it did, one module each. [`Controls`] is the table of them for the whole
//! run, [`PhaseControls`] that of a phase; their parts of the plan are in [`crate::plan::PlanInfo`].
//!
//! A control that this version does not know is kept as it was written, for the page and for whatever looks at a result by paths.

pub mod accesses;
pub mod coaccess;
pub mod contention;
pub mod distribution;
pub mod function_tests;
pub mod imbalance;
pub mod rate;
pub mod replicas;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Controls of the whole run; each is there only if the run had it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Controls {
    /// Accesses of the microbenchmark's transactions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accesses: Option<accesses::Accesses>,
    /// Groups of warehouses that dUpdateStocks are of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coaccess: Option<coaccess::CoAccess>,
    /// Transactions that compete for hot rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contention: Option<contention::Contention>,
    /// Nodes that transactions touch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<distribution::Distribution>,
    /// Function tests before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub functions: Option<Vec<function_tests::FunctionTest>>,
    /// Spread of homes and data over the warehouses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imbalance: Option<imbalance::Imbalance>,
    /// Requests that wait for a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<rate::Queue>,
    /// Requests of an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<rate::Rate>,
    /// Reading on replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<replicas::Replicas>,
    /// Controls of other versions, as they were written.
    #[serde(flatten)]
    pub others: BTreeMap<String, serde_json::Value>,
}

/// Controls of one phase; each is there only if the run had it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseControls {
    /// Groups of warehouses that dUpdateStocks are of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coaccess: Option<coaccess::CoAccess>,
    /// Transactions that compete for each hot row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contention: Option<Vec<contention::Competing>>,
    /// Nodes that transactions touch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<distribution::PhaseDistribution>,
    /// Spread of homes over the warehouses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imbalance: Option<imbalance::Imbalance>,
    /// Requests of an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<rate::PhaseRate>,
    /// Controls of other versions, as they were written.
    #[serde(flatten)]
    pub others: BTreeMap<String, serde_json::Value>,
}

/// Reads a field that is left out or null for two different reasons: one that is left out stays `None`.
pub(crate) fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    field: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(field).map(Some)
}

/// Writes an object with its keys in alphabetical order.
pub(crate) fn sorted<T: Serialize, S: Serializer>(object: &T, to: S) -> Result<S::Ok, S::Error> {
    serde_json::to_value(object).map_err(serde::ser::Error::custom)?.serialize(to)
}
