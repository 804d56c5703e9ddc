//! The Dike paper's transactions, and co-access: groups of warehouses that dUpdateStocks use together.

use crate::controls::schedule::extra_kinds;
use crate::controls::{About, Control, Ground, PhaseOf, PlanStep, Ran, Scale, Schedule};
use crate::entries::Entries;
use crate::error::PlanError;
use crate::key::Key;
use crate::phase_key::PhaseKey;
use crate::problem::Problem;
use crate::values::{percent, whole};
use lydite_bench::{PhaseFacts, RunPlan, Step};
use lydite_database::Placement;
use lydite_report::controls::coaccess::{self as report, Actual, Asked};
use lydite_report::controls::{Controls, PhaseControls};
use lydite_report::plan::PlanInfo;
use lydite_tpcc::input::{BalanceOrder, BalancePlan};
use lydite_tpcc::transactions::{MAX_ITEM_ROUNDS, MAX_ORDER_LINES};
use lydite_tpcc::{CoAccess, DikeKind, WarehouseId};

/// The settings of transactions that are not the standard's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extra {
    /// Rounds of each dUpdateItem, if the plan sets them.
    item_rounds: Option<u32>,
    /// Rounds of each dUpdateStock, if the plan sets them.
    rounds: Option<u32>,
    /// Warehouses of each dUpdateBalance and dSelectBalance, if the plan sets them.
    balance_warehouses: Option<u32>,
    /// Order of these two's visits to their warehouses, if the plan sets it.
    balance_order: Option<BalanceOrder>,
}

fn is_of_balances(kind: DikeKind) -> bool {
    matches!(kind, DikeKind::UpdateBalance | DikeKind::SelectBalance)
}

impl Control for Extra {
    const KEYS: &'static [Key] = &[
        Key::new("update_item_rounds"),
        Key::new("update_stock_rounds"),
        Key::new("coaccess"),
        Key::new("balance_warehouses"),
        Key::new("balance_order"),
    ];
    const PHASE_KEYS: &'static [PhaseKey] = &[PhaseKey::new("coaccess")];
    /// Share of dUpdateStocks whose warehouses are one whole group, in percent; none without groups.
    type Step = Option<f64>;
    /// The groups of each step.
    type Settled = Vec<Option<CoAccess>>;

    fn read(entries: &mut Entries, about: &About<'_>) -> Self {
        if about.micro {
            return Self::default();
        }
        Self {
            item_rounds: entries.read("update_item_rounds", |text| whole(text, 1, MAX_ITEM_ROUNDS as u32)),
            rounds: entries.read("update_stock_rounds", |text| whole(text, 1, MAX_ORDER_LINES as u32)),
            balance_warehouses: entries
                .read("balance_warehouses", |text| whole(text, 1, MAX_ORDER_LINES as u32)),
            balance_order: entries.read("balance_order", |text| {
                BalanceOrder::from_name(text).ok_or_else(|| Problem::from("must be ascending or drawn"))
            }),
        }
    }

    fn read_step(entries: &mut Entries) -> Option<f64> {
        entries.read("coaccess", percent)
    }

    fn check_steps(&self, entries: &mut Entries, about: &About<'_>, steps: &[PlanStep]) {
        if about.micro {
            return;
        }
        if let Some(kind) = extra_kinds(steps).next().filter(|_| about.rte) {
            let problem = format!(
                "has {}, for which the standard has no keying and think times: use --mode direct or open",
                kind.name()
            );
            entries.wrong("mix", &problem);
        }
        let rounds = [
            ("update_item_rounds", self.item_rounds, DikeKind::UpdateItem),
            ("update_stock_rounds", self.rounds, DikeKind::UpdateStock),
        ];
        for (key, rounds, wanted) in rounds {
            if rounds.is_some() && !extra_kinds(steps).any(|kind| kind == wanted) {
                let name = wanted.name();
                entries.wrong(key, &format!("needs a mix with {name}, as --mix {name}=100"));
            }
        }
        if steps.iter().any(|step| step.controls.coaccess.is_some())
            && entries.text("update_stock_rounds").is_none_or(|text| text.trim() == "1")
        {
            entries.wrong(
                "coaccess",
                "needs update_stock_rounds of at least 2, the number of warehouses in a group",
            );
        }
        let balances = [
            ("balance_warehouses", self.balance_warehouses.is_some()),
            ("balance_order", self.balance_order.is_some()),
        ];
        for (key, _) in
            balances.into_iter().filter(|(_, is_set)| *is_set && !extra_kinds(steps).any(is_of_balances))
        {
            entries
                .wrong(key, "needs a mix with update_balance or select_balance, as --mix update_balance=100");
        }
    }

    fn fit(&self, schedule: &Schedule, scale: &Scale<'_>) -> Result<(), PlanError> {
        let (_, warehouses) = scale.active;
        let rounds = self.update_stock_rounds();
        if rounds > warehouses {
            return Err(PlanError::usage(format!(
                "update_stock_rounds: {rounds} rounds need a warehouse each, and {warehouses} are active: use more \
                 warehouses, or fewer rounds"
            )));
        }
        let together = self.balances(schedule).map(|balances| balances.warehouses);
        if let Some(count) = together.filter(|&count| count > warehouses) {
            return Err(PlanError::usage(format!(
                "balance_warehouses: each transaction needs {count} warehouses, and {warehouses} {} active: use more \
                 warehouses, or fewer of them in a transaction",
                if warehouses == 1 { "is" } else { "are" }
            )));
        }
        self.groups(&schedule.steps, scale.active, None).map(drop)
    }

    fn settle(&self, schedule: &Schedule, ground: &Ground) -> Result<Self::Settled, PlanError> {
        self.groups(&schedule.steps, ground.active, ground.placement())
    }

    fn shape(&self, _: &Self::Settled, run: &mut RunPlan) {
        run.update_item_rounds = self.item_rounds.unwrap_or(1);
        run.update_stock_rounds = self.update_stock_rounds();
        run.balances = self.balance_plan();
    }

    fn shape_step(settled: &Self::Settled, number: usize, _: &Option<f64>, step: &mut Step) {
        step.coaccess = settled.get(number).cloned().flatten();
    }

    fn write_plan(&self, ran: &Ran<'_>, info: &mut PlanInfo) {
        let schedule = ran.schedule;
        info.extra.update_item_rounds = self.item_rounds;
        if schedule.plays(DikeKind::UpdateStock) {
            info.extra.update_stock_rounds = Some(self.update_stock_rounds());
            // The phases of the result have a share that changes.
            let mut asked = schedule.steps.iter().map(|step| step.controls.coaccess);
            let first = asked.next().flatten();
            info.extra.coaccess = Some(first.filter(|_| asked.all(|asked| asked == first)));
        }
        if let Some(balances) = self.balances(schedule) {
            info.extra.balance_warehouses = Some(balances.warehouses);
            info.extra.balance_order = Some(balances.order.name().into());
        }
    }

    fn write(&self, ran: &Ran<'_>, controls: &mut Controls) {
        controls.coaccess = self.found(&ran.settled.coaccess, &ran.measurement.facts.all_phases());
    }

    fn write_phase(&self, ran: &Ran<'_>, phase: &PhaseOf<'_>, controls: &mut PhaseControls) {
        let groups = ran.settled.coaccess.get(phase.steps.clone()).unwrap_or_default();
        controls.coaccess = self.found(groups, phase.facts);
    }
}

impl Extra {
    /// Returns the rounds of each dUpdateStock.
    fn update_stock_rounds(&self) -> u32 {
        self.rounds.unwrap_or(1)
    }

    fn balance_plan(&self) -> BalancePlan {
        let usual = BalancePlan::default();
        BalancePlan {
            warehouses: self.balance_warehouses.unwrap_or(usual.warehouses),
            order: self.balance_order.unwrap_or(usual.order),
        }
    }

    /// Returns the settings of dUpdateBalances and dSelectBalances; none if the mix has neither.
    pub fn balances(&self, schedule: &Schedule) -> Option<BalancePlan> {
        schedule.extra_kinds().any(is_of_balances).then(|| self.balance_plan())
    }

    /// Returns the groups of each step, or none for steps without co-access. The pair is the first active warehouse and
    /// their number.
    fn groups(
        &self,
        steps: &[PlanStep],
        (first, warehouses): (u32, u32),
        placement: Option<&Placement>,
    ) -> Result<Vec<Option<CoAccess>>, PlanError> {
        let asked = || steps.iter().filter_map(|step| step.controls.coaccess);
        let Some(least) = asked().min_by(f64::total_cmp) else { return Ok(vec![None; steps.len()]) };
        let groups =
            CoAccess::new(least, self.update_stock_rounds(), WarehouseId(first), warehouses, placement)
                .map_err(|problem| PlanError::usage(format!("coaccess: {problem}")))?;
        Ok(steps.iter().map(|step| Some(groups.at(step.controls.coaccess?))).collect())
    }

    /// Returns the configured and the measured share of groups in some steps; none without groups.
    fn found(&self, groups: &[Option<CoAccess>], facts: &PhaseFacts) -> Option<report::CoAccess> {
        let first = groups.iter().flatten().next()?;
        let found = &facts.coaccess;
        // A share that changes is a mean over the sent transactions; a steady one is known without any.
        let steady = groups.iter().flatten().all(|groups| groups.percent() == first.percent());
        Some(report::CoAccess {
            rounds: self.update_stock_rounds(),
            groups: first.groups(),
            asked: Asked { percent: if steady { Some(first.percent()) } else { found.asked_percent() } },
            actual: Actual {
                percent: found.percent(),
                updates: found.updates,
                nodes_mean: facts.touched.update_stocks.mean(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controls::tests::{DIRECT, entries};

    fn errors_of(values: &[(&str, &str)], about: &About<'_>, mix: &str) -> Vec<String> {
        let mut plan = entries(values);
        let extra = Extra::read(&mut plan, about);
        let Ok(mix) = mix.parse() else { panic!("{mix} is a mix") };
        let mut step = PlanStep { mix, ..PlanStep::default() };
        step.controls.coaccess = Extra::read_step(&mut plan);
        extra.check_steps(&mut plan, about, &[step]);
        plan.errors
    }

    #[test]
    fn keys_need_their_transactions_in_the_mix() {
        let rounds = ("update_stock_rounds", "2");
        let share = ("coaccess", "50");
        assert_eq!(errors_of(&[rounds, share], &DIRECT, "update_stock=100"), [""; 0]);
        for (values, mix, said) in [
            (&[rounds][..], "45,43,4,4,4", "needs a mix with update_stock"),
            (&[share], "update_stock=100", "needs update_stock_rounds of at least 2"),
            (&[("balance_order", "drawn")], "45,43,4,4,4", "needs a mix with update_balance"),
            (&[("balance_order", "odd")], "update_balance=100", "must be ascending or drawn"),
        ] {
            let errors = errors_of(values, &DIRECT, mix);
            assert!(errors.len() == 1 && errors[0].contains(said), "{said}: {errors:?}");
        }
        let users = errors_of(&[], &About { rte: true, ..DIRECT }, "update_item=100");
        assert!(users[0].contains("has update_item, for which the standard has no keying"), "{users:?}");
    }
}
