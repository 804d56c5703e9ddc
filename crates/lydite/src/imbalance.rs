//! Imbalance control, from the plan to the result: how the homes of transactions, and the data, are spread over the warehouses.

use crate::data::TEN_USERS;
use crate::exit::Failure;
use crate::phases::WantedStep;
use crate::raw::Raw;
use lydite_bench::{Mode, PhaseFacts};
use lydite_database::Placement;
use lydite_tpcc::home::Homes;
use lydite_tpcc::input::Contended;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::{DataSkew, Districts, WarehouseId};
use serde_json::{Value, json};
use std::sync::Arc;

/// The keys of a plan that it reads.
pub(crate) const KEYS: &[&str] = &["homes", "homes_shift"];

/// The most shares of homes in all steps of a run: each takes 24 bytes.
const MAX_SHARES: u64 = 10_000_000;

/// Refuses what can't be done where districts are not ten for each warehouse. `contended`: of which table the hot rows are, if
/// there are any. `warehouses`: active ones.
pub(crate) fn fits(
    districts: &Districts,
    mode: &Mode,
    contended: Option<Contended>,
    warehouses: u32,
) -> Result<(), Failure> {
    let Some(skew) = districts.skew() else { return Ok(()) };
    match mode {
        Mode::Rte { .. } => {
            Err(Failure::usage(format!("mode: {TEN_USERS}, and the database was loaded with {skew}")))
        }
        Mode::Direct { .. } if contended == Some(Contended::District) => Err(Failure::usage(format!(
            "hot: a district of ten is kept for those who contend for it, and the database was loaded with {skew}: use \
             hot=stock"
        ))),
        // The last of them may have one district only.
        Mode::Direct { terminals } if contended.is_some() && *terminals > warehouses => {
            Err(Failure::usage(format!(
                "--ci: {terminals} sessions need a warehouse each with data_skew {skew}, so that they meet nowhere but at the \
             hot row, and {warehouses} are active: use more warehouses, or fewer --terminals"
            )))
        }
        Mode::Direct { .. } | Mode::Open { .. } => Ok(()),
    }
}

/// How the data is spread, for the result: what was asked, and what there is; nothing if each warehouse has ten districts and
/// nobody asked.
fn data_json(asked: Option<DataSkew>, meta: &DatabaseMeta, placement: Option<&Placement>) -> Option<Value> {
    let skew = asked.or(meta.districts.skew())?;
    let warehouses = || (1..=meta.warehouses).map(WarehouseId);
    let counts: Vec<u16> = warehouses().map(|w| meta.districts.of(w)).collect();
    let all: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let percent = |count: u64| if all > 0 { 100.0 * count as f64 / all as f64 } else { 0.0 };
    let mut json = json!({
        "asked": skew.to_string(),
        "districts": counts,
        "largest_percent": percent(counts.iter().copied().max().map_or(0, u64::from)),
    });
    if let Some(placement) = placement {
        let of_node = |node: u32| -> Value {
            let on = warehouses().filter(|&w| placement.node(w) == node);
            let count = on.map(|w| u64::from(meta.districts.of(w))).sum();
            json!({ "node": placement.nodes[node as usize], "districts": count, "percent": percent(count) })
        };
        json["nodes"] = (0..placement.nodes.len() as u32).map(of_node).collect();
    }
    Some(json)
}

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
    let (mut made, mut spreads) = (0, 0);
    for (number, step) in steps.iter().enumerate() {
        let before = number.checked_sub(1).map(|before| (&steps[before], &all[before]));
        let same = before
            .filter(|(before, _)| (&before.homes, before.homes_shift) == (&step.homes, step.homes_shift));
        let homes = match (same, &step.homes) {
            (Some((_, homes)), _) => homes.clone(),
            (None, None) => None,
            (None, Some(skew)) => {
                made += u64::from(warehouses);
                if made > MAX_SHARES {
                    return Err(Failure::usage(format!(
                        "homes: they change so often that {warehouses} warehouses would have more than {MAX_SHARES} shares \
                         in all: use fewer phases, a shorter curve, or fewer warehouses"
                    )));
                }
                let homes = Homes::new(skew.clone(), WarehouseId(first), warehouses)
                    .map_err(|problem| Failure::usage(format!("homes: {problem}")))?;
                let homes = homes.moved_on(step.homes_shift).numbered(spreads);
                spreads += 1;
                Some(Arc::new(homes))
            }
        };
        all.push(homes);
    }
    Ok(all)
}

/// What was asked and what came of it, for the result; nothing without control. `homes`: of each step.
pub(crate) fn json(
    homes: &[Option<Arc<Homes>>],
    facts: &PhaseFacts,
    (asked, meta): (Option<DataSkew>, &DatabaseMeta),
    placement: Option<&Placement>,
) -> Value {
    let mut json = homes_json(homes, facts, placement).unwrap_or_else(|| json!({}));
    if let Some(data) = data_json(asked, meta, placement) {
        json["data"] = data;
    }
    if json == json!({}) { json } else { json!({ "imbalance": json }) }
}

/// What was asked of the homes, and what came of it; nothing where they were not controlled. Homes that changed were asked for as
/// often as transactions were drawn from each.
pub(crate) fn homes_json(
    homes: &[Option<Arc<Homes>>],
    facts: &PhaseFacts,
    placement: Option<&Placement>,
) -> Option<Value> {
    let mut drawn_from: Vec<&Homes> = homes.iter().flatten().map(|homes| &**homes).collect();
    drawn_from.dedup_by_key(|homes| homes.number());
    let first = *drawn_from.first()?;
    let drawn = |homes: &Homes| facts.homes_drawn.get(homes.number() as usize).copied().unwrap_or_default();
    let all: u64 = drawn_from.iter().map(|homes| drawn(homes)).sum();
    let share = |place: usize| -> f64 {
        if all == 0 {
            return first.shares()[place];
        }
        drawn_from.iter().map(|homes| drawn(homes) as f64 / all as f64 * homes.shares()[place]).sum()
    };
    let asked: Vec<f64> = (0..first.shares().len()).map(|place| 100.0 * share(place)).collect();
    let counts = &facts.homes;
    let total: u64 = counts.iter().sum();
    let percent = |count: u64| if total > 0 { 100.0 * count as f64 / total as f64 } else { 0.0 };
    let count_of = |place: usize| counts.get(place).copied().unwrap_or_default();
    let asked = |place: usize| asked[place];
    let places = || 0..first.shares().len();
    let deviation = places().map(|place| (percent(count_of(place)) - asked(place)).abs()).fold(0.0, f64::max);
    let most = |share: &dyn Fn(usize) -> f64| places().map(share).fold(0.0, f64::max);
    let mut json = json!({
        "asked": { "homes": skews(&drawn_from), "most_frequent_percent": most(&asked) },
        "actual": {
            "most_frequent_percent": most(&|place| percent(count_of(place))),
            "transactions": total,
            "greatest_deviation_points": deviation,
        },
    });
    if let Some(placement) = placement {
        let of_node = |node: u32| -> Value {
            let on = |place: &usize| placement.node(first.at(*place)) == node;
            json!({
                "node": placement.nodes[node as usize],
                "asked_percent": places().filter(on).map(asked).sum::<f64>(),
                "actual_percent": percent(places().filter(on).map(count_of).sum()),
            })
        };
        json["nodes"] = (0..placement.nodes.len() as u32).map(of_node).collect();
    }
    Some(json)
}

/// What homes were spread by, one after the other; of many the first and the last.
fn skews(homes: &[&Homes]) -> String {
    let mut skews: Vec<String> = homes.iter().map(|homes| homes.skew().to_string()).collect();
    skews.dedup();
    match &skews[..] {
        [first, _, _, .., last] => format!("{first}; …; {last}"),
        few => few.join("; "),
    }
}
