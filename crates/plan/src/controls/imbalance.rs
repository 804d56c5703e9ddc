//! Imbalance control: the skew of homes of transactions over the warehouses, and the skew of the loaded data.

use crate::controls::{About, Control, Ground, PhaseOf, PlanStep, Ran, Scale, Schedule};
use crate::data::TEN_USERS;
use crate::entries::Entries;
use crate::error::PlanError;
use crate::key::Key;
use crate::phase_key::PhaseKey;
use crate::problem::Problem;
use crate::values::whole;
use lydite_bench::{Mode, PhaseFacts, Step};
use lydite_database::Placement;
use lydite_report::controls::imbalance::{
    self as report, ActualHomes, AskedHomes, Data, NodeData, NodeHomes,
};
use lydite_report::controls::{Controls, PhaseControls};
use lydite_report::plan::PlanInfo;
use lydite_tpcc::home::{Homes, Skew};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::{DataSkew, Districts, WarehouseId};
use std::sync::Arc;

/// The most shares of homes in all steps of a run: each takes 24 bytes.
const MAX_SHARES: u64 = 10_000_000;

/// Imbalance control of a plan. All of it may change from step to step.
#[derive(Clone, Copy, Debug)]
pub struct Imbalance;

/// The homes of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepHomes {
    /// Their skew, if the step sets one.
    pub homes: Option<Skew>,
    /// Shift of the order of the homes, in places.
    pub shift: u32,
}

impl Control for Imbalance {
    const KEYS: &'static [Key] = &[Key::new("homes"), Key::new("homes_shift")];
    const PHASE_KEYS: &'static [PhaseKey] = &[
        PhaseKey::new("homes").with_commas().not_of_users(),
        PhaseKey::new("homes_shift").whole().not_of_users(),
    ];
    type Step = StepHomes;
    /// The homes of each step.
    type Settled = Vec<Option<Arc<Homes>>>;

    fn read(entries: &mut Entries, about: &About<'_>) -> Self {
        if entries.text("homes").is_some() && about.rte {
            entries.wrong(
                "mode",
                "must be direct or open with homes: a user of the standard stays in its warehouse (clause 2.4.1.1)",
            );
        }
        if entries.text("homes").is_some() && entries.text("ci").is_some() {
            entries.wrong(
                "ci",
                "can't be combined with homes: contention control gives each session a district of its own",
            );
        }
        Self
    }

    fn read_step(entries: &mut Entries) -> StepHomes {
        let homes = entries.read("homes", |text| {
            let hint = if text.contains("),") { "; between phases write ;" } else { "" };
            text.parse::<Skew>().map_err(|problem| Problem::from(format!("{problem}{hint}")))
        });
        let shift = entries.read("homes_shift", |text| whole(text, 0, u32::MAX)).unwrap_or_default();
        if homes.is_none() && entries.text("homes").is_none() && entries.text("homes_shift").is_some() {
            entries.wrong("homes_shift", "needs homes, whose order it shifts, as hotspot(0.1,0.9)");
        }
        StepHomes { homes, shift }
    }

    /// Rejects homes that the warehouses don't allow, and emulated users on skewed districts.
    fn fit(&self, schedule: &Schedule, scale: &Scale<'_>) -> Result<(), PlanError> {
        homes(&schedule.steps, scale.active)?;
        let Some(skew) = scale.districts.and_then(Districts::skew) else { return Ok(()) };
        match scale.mode {
            Mode::Rte { .. } => {
                Err(PlanError::usage(format!("mode: {TEN_USERS}, and the database was loaded with {skew}")))
            }
            Mode::Direct { .. } | Mode::Open { .. } => Ok(()),
        }
    }

    fn settle(&self, schedule: &Schedule, ground: &Ground) -> Result<Self::Settled, PlanError> {
        homes(&schedule.steps, ground.active)
    }

    fn shape_step(settled: &Self::Settled, number: usize, _: &StepHomes, step: &mut Step) {
        step.homes = settled.get(number).cloned().flatten();
    }

    fn write_plan(&self, ran: &Ran<'_>, info: &mut PlanInfo) {
        let schedule = ran.schedule;
        let skew = schedule.steps.first().and_then(|step| step.controls.imbalance.homes.as_ref());
        info.imbalance.homes = skew.map(|skew| {
            let first = schedule.phases.first().and_then(|phase| phase.asked("homes"));
            let steady = first.filter(|_| schedule.phases.iter().all(|phase| phase.asked("homes") == first));
            steady.map_or_else(|| skew.to_string(), str::to_owned)
        });
        info.imbalance.homes_shift = schedule.whole_curve("homes_shift");
    }

    fn write(&self, ran: &Ran<'_>, controls: &mut Controls) {
        let (facts, placement) = (ran.measurement.facts.all_phases(), ran.placement());
        let homes = homes_of(&ran.settled.imbalance, &facts, placement);
        let data = data(ran.data.skew, ran.meta, placement);
        if homes.is_some() || data.is_some() {
            controls.imbalance = Some(report::Imbalance { data, ..homes.unwrap_or_default() });
        }
    }

    fn write_phase(&self, ran: &Ran<'_>, phase: &PhaseOf<'_>, controls: &mut PhaseControls) {
        let homes = ran.settled.imbalance.get(phase.steps.clone()).unwrap_or_default();
        controls.imbalance = homes_of(homes, phase.facts, ran.placement());
    }
}

/// Returns the distribution of the data; none if each warehouse has ten districts and the plan sets no skew.
fn data(asked: Option<DataSkew>, meta: &DatabaseMeta, placement: Option<&Placement>) -> Option<Data> {
    let skew = asked.or(meta.districts.skew())?;
    let warehouses = || (1..=meta.warehouses).map(WarehouseId);
    let districts: Vec<u64> = warehouses().map(|w| meta.districts.of(w).into()).collect();
    let all: u64 = districts.iter().sum();
    let percent = |count: u64| if all > 0 { 100.0 * count as f64 / all as f64 } else { 0.0 };
    let nodes = placement.map(|placement| {
        let of_node = |(number, name): (u32, &String)| {
            let on = warehouses().filter(|&w| placement.node(w) == number);
            let count = on.map(|w| u64::from(meta.districts.of(w))).sum();
            NodeData { node: name.clone(), districts: count, percent: percent(count) }
        };
        (0..).zip(&placement.nodes).map(of_node).collect()
    });
    Some(Data {
        asked: skew.to_string(),
        largest_percent: percent(districts.iter().copied().max().unwrap_or_default()),
        districts,
        nodes: nodes.unwrap_or_default(),
    })
}

/// Returns the homes of each step. The pair is the first active warehouse and their number.
fn homes(steps: &[PlanStep], (first, warehouses): (u32, u32)) -> Result<Vec<Option<Arc<Homes>>>, PlanError> {
    let mut all: Vec<Option<Arc<Homes>>> = Vec::with_capacity(steps.len());
    let (mut made, mut spreads) = (0, 0);
    for (number, step) in steps.iter().enumerate() {
        let before = number.checked_sub(1).map(|before| (&steps[before], &all[before]));
        let asked = &step.controls.imbalance;
        let same = before.filter(|(before, _)| before.controls.imbalance == *asked);
        let homes = match (same, &asked.homes) {
            (Some((_, homes)), _) => homes.clone(),
            (None, None) => None,
            (None, Some(skew)) => {
                made += u64::from(warehouses);
                if made > MAX_SHARES {
                    return Err(PlanError::usage(format!(
                        "homes: they change so often that {warehouses} warehouses would have more than {MAX_SHARES} \
                         shares in all: use fewer phases, a shorter curve, or fewer warehouses"
                    )));
                }
                let homes = Homes::new(skew.clone(), WarehouseId(first), warehouses)
                    .map_err(|problem| PlanError::usage(format!("homes: {problem}")))?;
                let homes = homes.moved_on(asked.shift).numbered(spreads);
                spreads += 1;
                Some(Arc::new(homes))
            }
        };
        all.push(homes);
    }
    Ok(all)
}

/// Returns the configured and the measured homes of some steps; none if these did not control homes. If the homes
/// changed, the configured shares are a mean, weighted by the transactions that were drawn from each.
fn homes_of(
    homes: &[Option<Arc<Homes>>],
    facts: &PhaseFacts,
    placement: Option<&Placement>,
) -> Option<report::Imbalance> {
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
    let nodes = placement.map(|placement| {
        let of_node = |(number, name): (u32, &String)| {
            let on = |place: &usize| placement.node(first.at(*place)) == number;
            NodeHomes {
                node: name.clone(),
                asked_percent: places().filter(on).map(asked).sum::<f64>(),
                actual_percent: percent(places().filter(on).map(count_of).sum()),
            }
        };
        (0..).zip(&placement.nodes).map(of_node).collect()
    });
    Some(report::Imbalance {
        asked: Some(AskedHomes { homes: skews(&drawn_from), most_frequent_percent: most(&asked) }),
        actual: Some(ActualHomes {
            most_frequent_percent: most(&|place| percent(count_of(place))),
            transactions: total,
            greatest_deviation_points: deviation,
        }),
        nodes: nodes.unwrap_or_default(),
        data: None,
    })
}

/// Returns the skews of the homes in order; of four or more the first and the last.
fn skews(homes: &[&Homes]) -> String {
    let mut skews: Vec<String> = homes.iter().map(|homes| homes.skew().to_string()).collect();
    skews.dedup();
    match &skews[..] {
        [first, _, _, .., last] => format!("{first}; …; {last}"),
        few => few.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controls::tests::{DIRECT, entries};

    #[test]
    fn homes_have_a_skew_and_a_shift() {
        let mut plan = entries(&[("homes", "hotspot(0.1,0.9)"), ("homes_shift", "3")]);
        let read = Imbalance::read_step(&mut plan);
        assert_eq!(read.homes.map(|skew| skew.to_string()).as_deref(), Some("hotspot(0.1,0.9)"));
        assert_eq!(read.shift, 3);
        assert_eq!(plan.errors, [""; 0]);
        let mut alone = entries(&[("homes_shift", "3")]);
        Imbalance::read_step(&mut alone);
        assert!(alone.errors[0].contains("needs homes"), "{:?}", alone.errors);
    }

    #[test]
    fn emulated_users_and_hot_rows_keep_their_homes() {
        let mut plan = entries(&[("homes", "zipf(1)"), ("ci", "3"), ("mode", "rte")]);
        Imbalance::read(&mut plan, &About { rte: true, ..DIRECT });
        assert!(plan.errors[0].contains("must be direct or open with homes"), "{:?}", plan.errors);
        assert!(plan.errors[1].contains("can't be combined with homes"), "{:?}", plan.errors);
    }

    #[test]
    fn equal_steps_share_their_homes() {
        let step = |shift| {
            let mut step = PlanStep::default();
            step.controls.imbalance = StepHomes { homes: "zipf(1)".parse().ok(), shift };
            step
        };
        let Ok(made) = homes(&[step(0), step(0), step(1), PlanStep::default()], (1, 4)) else {
            panic!("four warehouses are enough");
        };
        let numbers: Vec<Option<u32>> =
            made.iter().map(|homes| homes.as_ref().map(|homes| homes.number())).collect();
        assert_eq!(numbers, [Some(0), Some(0), Some(1), None]);
    }
}
