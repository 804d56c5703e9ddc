//! Imbalance control, from the plan to the result: how the homes of transactions are spread over the warehouses.

use crate::exit::Failure;
use crate::phases::WantedStep;
use crate::raw::Raw;
use lydite_target::Placement;
use lydite_tpcc::WarehouseId;
use lydite_tpcc::home::Homes;
use serde_json::{Value, json};
use std::sync::Arc;

/// The keys of a plan that it reads.
pub(crate) const KEYS: &[&str] = &["homes", "homes_shift"];

/// Refuses it where it can't be had. `rte`: users are emulated.
pub(crate) fn allowed(raw: &mut Raw, rte: bool) {
    if raw.text("homes").is_none() {
        return;
    }
    if rte {
        raw.wrong(
            "mode",
            "must be direct or open with homes: a user of the standard stays in its warehouse (clause 2.4.1.1)",
        );
    }
    if raw.text("ci").is_some() {
        raw.wrong(
            "ci",
            "and homes can't go together: contention control gives each session a district of its own",
        );
    }
}

/// The homes of each step on so many active warehouses.
pub(crate) fn homes(
    steps: &[WantedStep],
    (first, warehouses): (u32, u32),
) -> Result<Vec<Option<Arc<Homes>>>, Failure> {
    let mut all: Vec<Option<Arc<Homes>>> = Vec::with_capacity(steps.len());
    for (number, step) in steps.iter().enumerate() {
        let before = number.checked_sub(1).map(|before| (&steps[before], &all[before]));
        let same = before
            .filter(|(before, _)| (&before.homes, before.homes_shift) == (&step.homes, step.homes_shift));
        let homes = match (same, &step.homes) {
            (Some((_, homes)), _) => homes.clone(),
            (None, None) => None,
            (None, Some(skew)) => {
                let homes = Homes::new(skew.clone(), WarehouseId(first), warehouses)
                    .map_err(|problem| Failure::usage(format!("homes: {problem}")))?;
                Some(Arc::new(homes.moved_on(step.homes_shift)))
            }
        };
        all.push(homes);
    }
    Ok(all)
}

/// What was asked and what came of it, for the result; nothing without control. `counts`: transactions of each active warehouse.
pub(crate) fn json(homes: Option<&Homes>, counts: &[u64], placement: Option<&Placement>) -> Value {
    let Some(homes) = homes else { return json!({}) };
    let total: u64 = counts.iter().sum();
    let percent = |count: u64| if total > 0 { 100.0 * count as f64 / total as f64 } else { 0.0 };
    let count_of = |place: usize| counts.get(place).copied().unwrap_or_default();
    let asked = |place: usize| 100.0 * homes.shares()[place];
    let places = || 0..homes.shares().len();
    let deviation = places().map(|place| (percent(count_of(place)) - asked(place)).abs()).fold(0.0, f64::max);
    let most = |share: &dyn Fn(usize) -> f64| places().map(share).fold(0.0, f64::max);
    let mut json = json!({
        "asked": { "homes": homes.skew().to_string(), "most_frequent_percent": most(&asked) },
        "actual": {
            "most_frequent_percent": most(&|place| percent(count_of(place))),
            "transactions": total,
            "greatest_deviation_points": deviation,
        },
    });
    if let Some(placement) = placement {
        let of_node = |node: u32| -> Value {
            let on = |place: &usize| placement.node(homes.at(*place)) == node;
            json!({
                "node": placement.nodes[node as usize],
                "asked_percent": places().filter(on).map(asked).sum::<f64>(),
                "actual_percent": percent(places().filter(on).map(count_of).sum()),
            })
        };
        json["nodes"] = (0..placement.nodes.len() as u32).map(of_node).collect();
    }
    json!({ "imbalance": json })
}
