//! The controls of a run, one module each: configured values (`asked`) and measured values (`actual`). [`Controls`]
//! holds those of the whole run, [`PhaseControls`] those of a phase; their plan keys are in [`crate::plan::PlanInfo`].
//!
//! Controls that this version does not know are kept as they were written, for the page and for paths into the result.

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

/// Controls of the whole run; each is present only if the run had it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Controls {
    /// Accesses of the microbenchmark's transactions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accesses: Option<accesses::Accesses>,
    /// Groups of warehouses that dUpdateStocks update together.
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
    /// Reads on replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<replicas::Replicas>,
    /// Controls of other versions, as they were written.
    #[serde(flatten)]
    pub others: BTreeMap<String, serde_json::Value>,
}

/// Controls of one phase; each is present only if the run had it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseControls {
    /// Groups of warehouses that dUpdateStocks update together.
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
    /// Requests that wait for a session of an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<rate::PhaseQueue>,
    /// Requests of an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<rate::PhaseRate>,
    /// Controls of other versions, as they were written.
    #[serde(flatten)]
    pub others: BTreeMap<String, serde_json::Value>,
}

/// Reads a field in which null and absence differ: null becomes `Some(None)`, an absent field stays `None`.
pub(crate) fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    field: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(field).map(Some)
}

/// Writes an object with its keys in alphabetical order.
pub(crate) fn sorted<T: Serialize, S: Serializer>(object: &T, to: S) -> Result<S::Ok, S::Error> {
    serde_json::to_value(object).map_err(serde::ser::Error::custom)?.serialize(to)
}
