//! Differences of the plans, targets, hosts and settings of two results.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::RunResult;

/// Returns the differences in plan, target and host.
pub(crate) fn differences(a: &RunResult, b: &RunResult) -> Vec<String> {
    let mut all = Vec::new();
    let plan_keys = differing_plan_keys(a, b);
    if !plan_keys.is_empty() {
        all.push(format!("The plans differ: {}.", plan_keys.join(", ")));
    }
    if a.is_paced() || b.is_paced() {
        all.push(
            "With think times or a given rate the throughput is bound by the plan; compare latencies instead."
                .to_owned(),
        );
    }
    let mut differ = |what: &str, of_a: &str, of_b: &str| {
        if of_a != of_b {
            all.push(format!("The {what} differ: {} and {}.", or_unknown(of_a), or_unknown(of_b)));
        }
    };
    differ("targets", &target_in_words(a), &target_in_words(b));
    differ("hosts", &host_in_words(a), &host_in_words(b));
    differ("kernels", &a.host.kernel, &b.host.kernel);
    differ("versions of lydite", &a.lydite, &b.lydite);
    let encryption = |r: &RunResult| r.target.encryption().unwrap_or_default();
    differ("connections", encryption(a), encryption(b));
    if a.target.kind == b.target.kind {
        let texts = differing_settings(a, b);
        if !texts.is_empty() {
            all.push(format!("Settings of the targets differ: {}.", texts.join(", ")));
        }
    }
    all
}

/// Returns the plan keys in which the two differ, with both values. The target is compared on its own.
fn differing_plan_keys(a: &RunResult, b: &RunResult) -> Vec<String> {
    let keys = differing(&a.plan_flat(), &b.plan_flat()).into_iter();
    keys.filter(|(key, _)| key != "target").map(|(_, text)| text).collect()
}

/// Returns the server settings that differ between two results, each with both values. Those of both plans are left
/// out.
#[must_use]
pub fn differing_settings(a: &RunResult, b: &RunResult) -> Vec<String> {
    let in_both_plans = |key: &str| [a, b].iter().all(|r| r.plan_flat().contains_key(key));
    let settings = differing(&a.target.settings, &b.target.settings).into_iter();
    let settings = settings.filter(|(key, _)| !in_both_plans(key));
    // Changed settings may be among the others.
    let listed = |key: &str| [a, b].iter().any(|r| r.target.settings.contains_key(key));
    let changed = differing(&a.target.changed_settings, &b.target.changed_settings).into_iter();
    let changed = changed.filter(|(key, _)| !listed(key));
    settings.chain(changed).map(|(_, text)| text).collect()
}

/// Returns the keys whose values differ, each with a text that has both values.
pub(crate) fn differing(
    of_a: &BTreeMap<String, String>,
    of_b: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    let keys: BTreeSet<&String> = of_a.keys().chain(of_b.keys()).collect();
    keys.into_iter()
        .filter(|key| of_a.get(*key) != of_b.get(*key))
        .map(|key| {
            let [a, b] = [of_a, of_b].map(|of| of.get(key).map_or("unset", String::as_str));
            (key.clone(), format!("{key} ({a} / {b})"))
        })
        .collect()
}

pub(crate) fn target_in_words(r: &RunResult) -> String {
    format!("{} {}", r.target.kind, r.target.version).trim().to_owned()
}

pub(crate) fn host_in_words(r: &RunResult) -> String {
    let h = &r.host;
    if h.hostname.is_empty() {
        String::new()
    } else {
        format!("{} ({}, {} cores)", h.hostname, h.cpu, h.cores)
    }
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "unknown" } else { text }
}
