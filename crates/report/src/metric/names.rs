//! Names of metrics: the short ones, and paths into the result.

use crate::document::Document;
use crate::metrics::FiveNumbers;
use crate::model::{
    ClientCost, DeliveryReport, HostInfo, Latency, LoadInfo, RunResult, TRANSACTION_TYPES, TransactionResult,
    Window,
};
use crate::suggest::nearest;

/// Transaction types of workloads other than TPC-C.
pub(super) const OTHER_TYPES: [&str; 1] = ["micro"];

/// Numbers of a latency: the name, the name in words, and the fewest transactions that give such a number. With fewer,
/// a percentile is just the greatest value.
pub(super) const SHARES: [(&str, &str, u64); 7] = [
    ("mean", "Mean", 1),
    ("p50", "Median", 2),
    ("p90", "90th percentile", 10),
    ("p95", "95th percentile", 20),
    ("p99", "99th percentile", 100),
    ("p999", "99.9th percentile", 1000),
    ("max", "Greatest", 1),
];

/// Metrics of box plots: numbers over the nodes of a run.
pub const BOXED: [&str; 4] = ["nodes.ops", "nodes.bytes", "nodes.warehouses", "nodes.districts"];

/// Short names without a dot.
const ALONE: [&str; 15] = [
    "nopm",
    "tps",
    "efficiency",
    "failed",
    "unknown",
    "failed_rate",
    "abort_rate",
    "rollback_rate",
    "cpu_per_transaction",
    "driver_cpu_per_transaction",
    "tps_per_node",
    "t_e",
    "r_e",
    "r_e_during",
    "seconds_without_commit",
];

/// The short names, for messages.
pub const SHORT_NAMES: &str = "nopm, tps, tps.TYPE, TYPE.p95 or latency.TYPE.p95, latency.p95 (or mean, p50, p90, p99, \
     p999, max), efficiency, failed, unknown, failed_rate, abort_rate, abort_rate.REASON, rollback_rate, \
     cpu_per_transaction, driver_cpu_per_transaction, tps_per_node, t_e, r_e, r_e_during, \
     seconds_without_commit, nodes.ops.median, nodes.bytes.median (or \
     nodes.warehouses, nodes.districts; or min, q1, q3, max), observed.SOURCE.NAME";

/// Returns every short name except those with an abort reason and those of `latency.TYPE`.
fn short_names() -> Vec<String> {
    let mut all: Vec<String> = ALONE.iter().map(|name| (*name).to_owned()).collect();
    for (share, ..) in SHARES {
        all.push(format!("latency.{share}"));
    }
    for of in TRANSACTION_TYPES.iter().chain(&OTHER_TYPES) {
        all.push(format!("tps.{of}"));
        all.extend(SHARES.iter().map(|(share, ..)| format!("{of}.{share}")));
    }
    for boxed in BOXED {
        all.extend(FiveNumbers::NAMES.iter().map(|number| format!("{boxed}.{number}")));
    }
    all
}

/// Returns the index of one of the five numbers.
pub(super) fn place(name: &str) -> Result<usize, String> {
    FiveNumbers::NAMES.iter().position(|known| *known == name).ok_or_else(|| {
        format!("is none of the five numbers over the nodes: use {}", FiveNumbers::NAMES.join(", "))
    })
}

pub(super) fn type_of(name: &str) -> Result<String, String> {
    if TRANSACTION_TYPES.iter().chain(&OTHER_TYPES).any(|known| *known == name) {
        return Ok(name.to_owned());
    }
    Err(format!(
        "names no type of transactions: use {} or {}",
        TRANSACTION_TYPES.join(", "),
        OTHER_TYPES.join(", ")
    ))
}

pub(super) fn share_of(name: &str) -> Result<&'static str, String> {
    SHARES
        .iter()
        .map(|(known, ..)| *known)
        .find(|known| *known == name)
        .ok_or_else(|| "names no percentile: use mean, p50, p90, p95, p99, p999 or max".to_owned())
}

/// Returns a path, if a result has its first name.
pub(super) fn path(parts: &[&str]) -> Result<Vec<String>, String> {
    let empty = Document::of(&RunResult::default());
    let has = |path: &[&str]| empty.as_ref().is_some_and(|empty| empty.has(path));
    let optional = [
        "load",
        "delivery",
        "pacing",
        "terminals",
        "nodes",
        "faults",
        "availability",
        "observed",
        "statements",
        "phases",
    ];
    let first = parts.first().copied().unwrap_or_default();
    if let ["availability", number @ ("t_e" | "r_e" | "r_e_during" | "seconds_without_commit")] = parts {
        return Err(format!(
            "names a list: use {number} for the worst fault, or availability.0.{number} for the first"
        ));
    }
    if let ["observed"] | ["observed", _] = parts {
        return Err("is incomplete: use observed.SOURCE.NAME, as observed.host.db.cpu".to_owned());
    }
    let known = has(&[first]) || optional.contains(&first);
    if !known || parts.iter().any(|part| part.is_empty()) {
        let names = short_names();
        let meant =
            nearest(&parts.join("."), &names).map_or(String::new(), |name| format!("did you mean {name}? "));
        return Err(format!(
            "is not known: {meant}use {SHORT_NAMES}, or a path into the result as client.peak_rss_bytes"
        ));
    }
    // Parts with fixed names can be checked further.
    let (inner, begun) = match parts {
        ["window", inner @ ..] => (fixed(&Window::default(), &[]), inner),
        ["client", inner @ ..] => (fixed(&client(), &["lateness_ms"]), inner),
        ["host", inner @ ..] => (fixed(&HostInfo::default(), &[]), inner),
        ["load", inner @ ..] => (fixed(&LoadInfo { tables: Some(0), ..LoadInfo::default() }, &[]), inner),
        ["delivery", inner @ ..] => (fixed(&DeliveryReport::default(), &[]), inner),
        ["transactions", of, inner @ ..] => {
            type_of(of)?;
            (fixed(&TransactionResult::default(), &["interactive_ms"]), inner)
        }
        _ => return Ok(parts.iter().map(|part| (*part).to_owned()).collect()),
    };
    let mut at = &inner;
    for (depth, name) in begun.iter().enumerate() {
        match at.get(*name) {
            Some(next) => at = next,
            None => {
                let before = parts[..parts.len() - begun.len() + depth].join(".");
                let names: Vec<String> =
                    at.as_object().into_iter().flat_map(|of| of.keys().cloned()).collect();
                let meant =
                    nearest(name, &names).map_or(String::new(), |name| format!(": did you mean {name}?"));
                return Err(format!("is not known: a result has no {before}.{name}{meant}"));
            }
        }
    }
    Ok(parts.iter().map(|part| (*part).to_owned()).collect())
}

/// Returns a part of a result with all its names; `latencies` are optional ones.
fn fixed(part: &impl serde::Serialize, latencies: &[&str]) -> serde_json::Value {
    let mut names = serde_json::to_value(part).unwrap_or_default();
    let latency = serde_json::to_value(Latency::default()).unwrap_or_default();
    for name in latencies {
        names[*name] = latency.clone();
    }
    names
}

/// Returns a cost of the client with all optional fields.
fn client() -> ClientCost {
    ClientCost { driver_cpu_s: Some(0.0), driver_cpu_us_per_transaction: Some(0.0), ..ClientCost::default() }
}
