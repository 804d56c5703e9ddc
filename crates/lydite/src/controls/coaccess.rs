//! The Dike paper's transactions beside the standard's, and co-access: groups of warehouses that dUpdateStocks are of.

use crate::check;
use crate::controls::{About, Control, Ground, PhaseOf, Scale};
use crate::exit::{Failure, Outcome};
use crate::phases::{PhaseKey, WantedStep};
use crate::plan::Plan;
use crate::raw::Raw;
use crate::result::Parts;
use crate::values::{percent, whole};
use lydite_bench::{PhaseFacts, RunPlan, Step};
use lydite_database::Placement;
use lydite_report::controls::coaccess::{self as report, Actual, Asked};
use lydite_report::controls::{Controls, PhaseControls};
use lydite_report::plan::PlanInfo;
use lydite_tpcc::consistency::{Condition, ITEMS_CONDITION, STOCK_CONDITION};
use lydite_tpcc::input::{BalanceOrder, BalancePlan};
use lydite_tpcc::transaction::MAX_ORDER_LINES;
use lydite_tpcc::{CoAccess, TransactionKind, WarehouseId};

/// The transactions of a plan that the standard does not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extra {
    /// Rounds of each dUpdateStock, if the plan says it.
    rounds: Option<u32>,
    /// Warehouses of each dUpdateBalance and dSelectBalance, if the plan says it.
    balance_warehouses: Option<u32>,
    /// Order in which these go to their warehouses, if the plan says it.
    balance_order: Option<BalanceOrder>,
}

/// The types of some steps that the standard does not have.
fn of_steps(steps: &[WantedStep]) -> impl Iterator<Item = TransactionKind> {
    let has = |kind: &TransactionKind| steps.iter().any(|step| step.mix.has(*kind));
    TransactionKind::ALL.into_iter().filter(|kind| !kind.is_standard()).filter(has)
}

fn is_of_balances(kind: TransactionKind) -> bool {
    matches!(kind, TransactionKind::UpdateBalance | TransactionKind::SelectBalance)
}

impl Control for Extra {
    const KEYS: &'static [&'static str] =
        &["update_stock_rounds", "coaccess", "balance_warehouses", "balance_order"];
    const PHASE_KEYS: &'static [PhaseKey] = &[PhaseKey::new("coaccess")];
    /// Share of dUpdateStocks that are of one whole group of warehouses, in percent; none without groups.
    type Step = Option<f64>;
    /// The groups of each step.
    type Settled = Vec<Option<CoAccess>>;

    fn read(raw: &mut Raw, about: &About<'_>) -> Self {
        if about.micro {
            return Self { rounds: None, balance_warehouses: None, balance_order: None };
        }
        Self {
            rounds: raw.read("update_stock_rounds", |text| whole(text, 1, MAX_ORDER_LINES as u32)),
            balance_warehouses: raw.read("balance_warehouses", |text| whole(text, 1, MAX_ORDER_LINES as u32)),
            balance_order: raw.read("balance_order", |text| {
                BalanceOrder::from_name(text).ok_or_else(|| "must be ascending or drawn".into())
            }),
        }
    }

    fn read_step(raw: &mut Raw) -> Option<f64> {
        raw.read("coaccess", percent)
    }

    fn check_steps(&self, raw: &mut Raw, about: &About<'_>, steps: &[WantedStep]) {
        if about.micro {
            return;
        }
        if let Some(kind) = of_steps(steps).next().filter(|_| about.rte) {
            let problem = format!(
                "has {}, for which the standard has no keying and think times: use --mode direct or open",
                kind.name()
            );
            raw.wrong("mix", &problem);
        }
        if self.rounds.is_some() && !of_steps(steps).any(|kind| kind == TransactionKind::UpdateStock) {
            raw.wrong("update_stock_rounds", "needs a mix with update_stock, as --mix update_stock=100");
        }
        if steps.iter().any(|step| step.controls.coaccess.is_some())
            && raw.text("update_stock_rounds").is_none_or(|text| text.trim() == "1")
        {
            raw.wrong("coaccess", "needs update_stock_rounds of 2 at least: so many warehouses are a group");
        }
        let balances = [
            ("balance_warehouses", self.balance_warehouses.is_some()),
            ("balance_order", self.balance_order.is_some()),
        ];
        for (key, _) in
            balances.into_iter().filter(|(_, given)| *given && !of_steps(steps).any(is_of_balances))
        {
            raw.wrong(key, "needs a mix with update_balance or select_balance, as --mix update_balance=100");
        }
    }

    fn fit(&self, plan: &Plan, scale: &Scale<'_>) -> Outcome {
        let (_, warehouses) = scale.active;
        let rounds = self.update_stock_rounds();
        if rounds > warehouses {
            return Err(Failure::usage(format!(
                "update_stock_rounds: {rounds} rounds are each of another warehouse, and {warehouses} are active: use more \
                 warehouses, or fewer rounds"
            )));
        }
        let together = self.balances(plan).map(|balances| balances.warehouses);
        if let Some(count) = together.filter(|&count| count > warehouses) {
            return Err(Failure::usage(format!(
                "balance_warehouses: each transaction is of {count} warehouses, and {warehouses} {} active: use more \
                 warehouses, or fewer of them in a transaction",
                if warehouses == 1 { "is" } else { "are" }
            )));
        }
        self.groups(&plan.steps, scale.active, None).map(drop)
    }

    fn settle(&self, plan: &Plan, ground: &Ground) -> Result<Self::Settled, Failure> {
        self.groups(&plan.steps, ground.active, ground.placement())
    }

    fn shape(&self, _: &Self::Settled, run: &mut RunPlan) {
        run.update_stock_rounds = self.update_stock_rounds();
        run.balances = self.balance_plan();
    }

    fn shape_step(settled: &Self::Settled, number: usize, _: &Option<f64>, step: &mut Step) {
        step.coaccess = settled.get(number).cloned().flatten();
    }

    fn write_plan(&self, parts: &Parts<'_>, info: &mut PlanInfo) {
        let plan = parts.plan;
        if plan.plays(TransactionKind::UpdateStock) {
            info.extra.update_stock_rounds = Some(self.update_stock_rounds());
            // What changes stands with the phases.
            let mut asked = plan.steps.iter().map(|step| step.controls.coaccess);
            let first = asked.next().flatten();
            info.extra.coaccess = Some(first.filter(|_| asked.all(|asked| asked == first)));
        }
        if let Some(balances) = self.balances(plan) {
            info.extra.balance_warehouses = Some(balances.warehouses);
            info.extra.balance_order = Some(balances.order.name().into());
        }
    }

    fn write(&self, parts: &Parts<'_>, controls: &mut Controls) {
        controls.coaccess = self.found(&parts.settled.coaccess, &parts.measurement.facts.all_phases());
    }

    fn write_phase(&self, parts: &Parts<'_>, phase: &PhaseOf<'_>, controls: &mut PhaseControls) {
        let groups = parts.settled.coaccess.get(phase.steps.clone()).unwrap_or_default();
        controls.coaccess = self.found(groups, phase.facts);
    }
}

impl Extra {
    /// Rounds of each dUpdateStock.
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

    /// The dUpdateBalances and dSelectBalances; none if the mix has neither.
    pub(crate) fn balances(&self, plan: &Plan) -> Option<BalancePlan> {
        of_steps(&plan.steps).any(is_of_balances).then(|| self.balance_plan())
    }

    /// The groups of each step, of the active warehouses, whose first is given with their number; none where none were asked
    /// for.
    fn groups(
        &self,
        steps: &[WantedStep],
        (first, warehouses): (u32, u32),
        placement: Option<&Placement>,
    ) -> Result<Vec<Option<CoAccess>>, Failure> {
        let asked = || steps.iter().filter_map(|step| step.controls.coaccess);
        let Some(least) = asked().min_by(f64::total_cmp) else { return Ok(vec![None; steps.len()]) };
        let groups =
            CoAccess::new(least, self.update_stock_rounds(), WarehouseId(first), warehouses, placement)
                .map_err(|problem| Failure::usage(format!("coaccess: {problem}")))?;
        Ok(steps.iter().map(|step| Some(groups.at(step.controls.coaccess?))).collect())
    }

    /// The share of groups that some steps asked for, and that of what was sent; none without groups.
    fn found(&self, groups: &[Option<CoAccess>], facts: &PhaseFacts) -> Option<report::CoAccess> {
        let first = groups.iter().flatten().next()?;
        let found = &facts.coaccess;
        // Where nothing was sent there is no mean; what does not change is told all the same.
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

impl Plan {
    /// True if transactions of this type belong to the run: the standard's always do, others if the mix of any phase has a
    /// share for them.
    pub(crate) fn plays(&self, kind: TransactionKind) -> bool {
        kind.is_standard() || of_steps(&self.steps).any(|extra| extra == kind)
    }

    /// The conditions that are checked before and after the run: the standard's, and those on what other types change.
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        check::conditions(|condition| match condition.number {
            ITEMS_CONDITION => self.plays(TransactionKind::UpdateItem),
            STOCK_CONDITION => self.plays(TransactionKind::UpdateStock),
            _ => false,
        })
    }

    /// The types that belong to the run.
    pub(crate) fn kinds(&self) -> Vec<TransactionKind> {
        TransactionKind::ALL.into_iter().filter(|kind| self.plays(*kind)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controls::tests::{DIRECT, raw};

    fn errors_of(values: &[(&str, &str)], about: &About<'_>, mix: &str) -> Vec<String> {
        let mut plan = raw(values);
        let extra = Extra::read(&mut plan, about);
        let Ok(mix) = mix.parse() else { panic!("{mix} is a mix") };
        let mut step = WantedStep { mix, ..WantedStep::default() };
        step.controls.coaccess = Extra::read_step(&mut plan);
        extra.check_steps(&mut plan, about, &[step]);
        plan.errors
    }

    #[test]
    fn keys_need_the_transactions_that_they_are_about() {
        let rounds = ("update_stock_rounds", "2");
        let share = ("coaccess", "50");
        assert_eq!(errors_of(&[rounds, share], &DIRECT, "update_stock=100"), [""; 0]);
        for (values, mix, said) in [
            (&[rounds][..], "45,43,4,4,4", "needs a mix with update_stock"),
            (&[share], "update_stock=100", "needs update_stock_rounds of 2 at least"),
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
