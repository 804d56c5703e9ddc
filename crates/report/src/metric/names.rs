//! Names of metrics: the short ones, and paths into the result.

use crate::document::Document;
use crate::metrics::FiveNumbers;
use crate::model::{
    ClientCost, DeliveryReport, HostInfo, Latency, LoadInfo, RunResult, TRANSACTION_TYPES, TransactionResult,
    Window,
};
use crate::numbers::latency::{OF_LATENCY, OfLatency};
use crate::numbers::nodes::BOXED;
use crate::numbers::{Group, NUMBERS, Number, OTHER_TYPES, Only, PartKind};
use crate::reasons::UnknownMetric;
use crate::suggest::nearest;

/// Returns the short names in words, for messages.
fn short_names_in_words() -> String {
    let of_number = |number: &Number| {
        let part = number.parts.as_ref().map(|parts| match parts.kind {
            PartKind::Type => format!("{}.TYPE", number.name),
            PartKind::Reason => format!("{}.REASON", number.name),
        });
        std::iter::once(number.name.to_owned()).chain(part)
    };
    let of_group =
        |group| Number::in_group(group).filter(|number| !number.name.is_empty()).flat_map(of_number);
    let others: Vec<&str> =
        OF_LATENCY.iter().map(|number| number.name).filter(|name| *name != "p95").collect();
    let latencies = format!("TYPE.p95 or latency.TYPE.p95, latency.p95 (or {})", others.join(", "));
    let [first, second, boxes @ ..] = &BOXED;
    let numbers: Vec<&str> = FiveNumbers::NAMES.into_iter().filter(|name| *name != "median").collect();
    let of_nodes =
        format!("{first}.median, {second}.median (or {}; or {})", boxes.join(", "), numbers.join(", "));
    let mut all: Vec<String> = of_group(Group::Throughput).collect();
    all.push(latencies);
    all.extend(of_group(Group::Other));
    all.push(of_nodes);
    all.push("observed.SOURCE.NAME".to_owned());
    all.join(", ")
}

/// Returns every short name except those with an abort reason and those of `latency.TYPE`.
fn short_names() -> Vec<String> {
    let alone = NUMBERS.iter().map(|number| number.name).filter(|name| !name.is_empty());
    let mut all: Vec<String> = alone.map(str::to_owned).collect();
    let shares = || OF_LATENCY.iter().map(|number| number.name);
    all.extend(shares().map(|share| format!("latency.{share}")));
    for of in TRANSACTION_TYPES.iter().chain(&OTHER_TYPES) {
        all.push(format!("tps.{of}"));
        all.extend(shares().map(|share| format!("{of}.{share}")));
    }
    for boxed in BOXED {
        all.extend(FiveNumbers::NAMES.iter().map(|number| format!("{boxed}.{number}")));
    }
    all
}

/// Returns the index of one of the five numbers.
pub(super) fn place(name: &str) -> Result<usize, UnknownMetric> {
    FiveNumbers::NAMES.iter().position(|known| *known == name).ok_or_else(|| {
        let names = FiveNumbers::NAMES.join(", ");
        UnknownMetric(format!("is none of the five numbers over the nodes: use {names}"))
    })
}

pub(super) fn type_of(name: &str) -> Result<String, UnknownMetric> {
    if TRANSACTION_TYPES.iter().chain(&OTHER_TYPES).any(|known| *known == name) {
        return Ok(name.to_owned());
    }
    Err(UnknownMetric(format!(
        "names no type of transactions: use {} or {}",
        TRANSACTION_TYPES.join(", "),
        OTHER_TYPES.join(", ")
    )))
}

pub(super) fn share_of(name: &str) -> Result<&'static OfLatency, UnknownMetric> {
    OfLatency::named(name).ok_or_else(|| {
        let names = OF_LATENCY.each_ref().map(|number| number.name);
        let (last, before) = names.split_last().unwrap_or((&"", &[]));
        UnknownMetric(format!("names no percentile: use {} or {last}", before.join(", ")))
    })
}

/// Returns a path, if a result has its first name.
pub(super) fn path(parts: &[&str]) -> Result<Vec<String>, UnknownMetric> {
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
        "periodic_faults",
        "observed",
        "statements",
        "phases",
    ];
    let first = parts.first().copied().unwrap_or_default();
    if let ["availability", number] = parts
        && Number::named(number).is_some_and(|number| number.only == Only::Faults)
    {
        return Err(UnknownMetric(format!(
            "names a list: use {number} for the worst fault, or availability.0.{number} for the first"
        )));
    }
    if let ["observed"] | ["observed", _] = parts {
        return Err(UnknownMetric(
            "is incomplete: use observed.SOURCE.NAME, as observed.host.db.cpu".to_owned(),
        ));
    }
    let known = has(&[first]) || optional.contains(&first);
    if !known || parts.iter().any(|part| part.is_empty()) {
        let names = short_names();
        let meant =
            nearest(&parts.join("."), &names).map_or(String::new(), |name| format!("did you mean {name}? "));
        return Err(UnknownMetric(format!(
            "is not known: {meant}use {}, or a path into the result as client.peak_rss_bytes",
            short_names_in_words()
        )));
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
                return Err(UnknownMetric(format!("is not known: a result has no {before}.{name}{meant}")));
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
