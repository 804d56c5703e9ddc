//! The Dike paper's transactions beside the standard's, from the plan to the result.

use crate::check;
use crate::exit::Failure;
use crate::phases::WantedStep;
use crate::plan::{Plan, whole};
use crate::raw::Raw;
use lydite_bench::PhaseFacts;
use lydite_database::Placement;
use lydite_tpcc::consistency::{Condition, ITEMS_CONDITION, STOCK_CONDITION};
use lydite_tpcc::input::{BalanceOrder, BalancePlan};
use lydite_tpcc::transaction::MAX_ORDER_LINES;
use lydite_tpcc::{CoAccess, TransactionKind, WarehouseId};
use serde_json::{Value, json};

/// The keys of a plan that it reads.
pub(crate) const KEYS: &[&str] = &["update_stock_rounds", "coaccess", "balance_warehouses", "balance_order"];

/// What a plan says of the transactions that the standard does not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extra {
    /// Rounds of each dUpdateStock.
    pub(crate) update_stock_rounds: u32,
    /// What dUpdateBalances and dSelectBalances are of; none if the mix has neither.
    pub(crate) balances: Option<BalancePlan>,
}

/// The types of some steps that the standard does not have.
fn of_steps(steps: &[WantedStep]) -> impl Iterator<Item = TransactionKind> {
    let has = |kind: &TransactionKind| steps.iter().any(|step| step.mix.has(*kind));
    TransactionKind::ALL.into_iter().filter(|kind| !kind.is_standard()).filter(has)
}

/// Reads what the plan says. `rte`: users are emulated.
pub(crate) fn wanted(raw: &mut Raw, steps: &[WantedStep], rte: bool) -> Extra {
    let rounds = raw.read("update_stock_rounds", |text| whole(text, 1, MAX_ORDER_LINES as u32));
    if let Some(kind) = of_steps(steps).next().filter(|_| rte) {
        let problem = format!(
            "has {}, for which the standard has no keying and think times: use --mode direct or open",
            kind.name()
        );
        raw.wrong("mix", &problem);
    }
    if rounds.is_some() && !of_steps(steps).any(|kind| kind == TransactionKind::UpdateStock) {
        raw.wrong("update_stock_rounds", "needs a mix with update_stock, as --mix update_stock=100");
    }
    if steps.iter().any(|step| step.coaccess.is_some())
        && raw.text("update_stock_rounds").is_none_or(|text| text.trim() == "1")
    {
        raw.wrong("coaccess", "needs update_stock_rounds of 2 at least: so many warehouses are a group");
    }
    Extra { update_stock_rounds: rounds.unwrap_or(1), balances: balances(raw, steps) }
}

fn balances(raw: &mut Raw, steps: &[WantedStep]) -> Option<BalancePlan> {
    let warehouses = raw.read("balance_warehouses", |text| whole(text, 1, MAX_ORDER_LINES as u32));
    let order = raw.read("balance_order", |text| {
        BalanceOrder::from_name(text).ok_or_else(|| "must be ascending or drawn".into())
    });
    let of_balances = |kind| matches!(kind, TransactionKind::UpdateBalance | TransactionKind::SelectBalance);
    if of_steps(steps).any(of_balances) {
        let default = BalancePlan::default();
        return Some(BalancePlan {
            warehouses: warehouses.unwrap_or(default.warehouses),
            order: order.unwrap_or(default.order),
        });
    }
    for (key, given) in [("balance_warehouses", warehouses.is_some()), ("balance_order", order.is_some())] {
        if given {
            raw.wrong(key, "needs a mix with update_balance or select_balance, as --mix update_balance=100");
        }
    }
    None
}

impl Extra {
    /// Of a plan that says nothing.
    pub(crate) const NONE: Self = Self { update_stock_rounds: 1, balances: None };

    /// Refuses what so many active warehouses can't do.
    pub(crate) fn fits(&self, steps: &[WantedStep], active: (u32, u32)) -> Result<(), Failure> {
        let (_, warehouses) = active;
        let rounds = self.update_stock_rounds;
        if rounds > warehouses {
            return Err(Failure::usage(format!(
                "update_stock_rounds: {rounds} rounds are each of another warehouse, and {warehouses} are active: use more \
                 warehouses, or fewer rounds"
            )));
        }
        let together = self.balances.map(|balances| balances.warehouses);
        if let Some(count) = together.filter(|&count| count > warehouses) {
            return Err(Failure::usage(format!(
                "balance_warehouses: each transaction is of {count} warehouses, and {warehouses} {} active: use more \
                 warehouses, or fewer of them in a transaction",
                if warehouses == 1 { "is" } else { "are" }
            )));
        }
        self.groups(steps, active, None).map(drop)
    }

    /// The groups of each step, of the active warehouses, whose first is given with their number; none where none were asked
    /// for.
    pub(crate) fn groups(
        &self,
        steps: &[WantedStep],
        (first, warehouses): (u32, u32),
        placement: Option<&Placement>,
    ) -> Result<Vec<Option<CoAccess>>, Failure> {
        let asked = || steps.iter().filter_map(|step| step.coaccess);
        let Some(least) = asked().min_by(f64::total_cmp) else { return Ok(vec![None; steps.len()]) };
        let groups =
            CoAccess::new(least, self.update_stock_rounds, WarehouseId(first), warehouses, placement)
                .map_err(|problem| Failure::usage(format!("coaccess: {problem}")))?;
        Ok(steps.iter().map(|step| Some(groups.at(step.coaccess?))).collect())
    }

    /// What was asked of groups in some steps, and what came of it, for the result; nothing without groups.
    pub(crate) fn json(&self, groups: &[Option<CoAccess>], facts: &PhaseFacts) -> Value {
        let Some(first) = groups.iter().flatten().next() else { return json!({}) };
        let found = &facts.coaccess;
        // Where nothing was sent there is no mean; what does not change is told all the same.
        let steady = groups.iter().flatten().all(|groups| groups.percent() == first.percent());
        let asked = if steady { Some(first.percent()) } else { found.asked_percent() };
        json!({ "coaccess": {
            "rounds": self.update_stock_rounds,
            "groups": first.groups(),
            "asked": { "percent": asked },
            "actual": {
                "percent": found.percent(),
                "updates": found.updates,
                "nodes_mean": facts.touched.update_stocks.mean(),
            },
        } })
    }

    /// What the plan says of it, where the mix has what it is about.
    pub(crate) fn plan_json(&self, plan: &Plan) -> Value {
        let mut json = json!({});
        if plan.plays(TransactionKind::UpdateStock) {
            json["update_stock_rounds"] = json!(self.update_stock_rounds);
            // What changes stands with the phases.
            let mut asked = plan.steps.iter().map(|step| step.coaccess);
            let first = asked.next().flatten();
            json["coaccess"] = json!(first.filter(|_| asked.all(|asked| asked == first)));
        }
        if let Some(balances) = self.balances {
            json["balance_warehouses"] = json!(balances.warehouses);
            json["balance_order"] = json!(balances.order.name());
        }
        json
    }
}

impl Plan {
    /// Whether transactions of this type belong to the run: the standard's always do, others if the mix of any phase has a
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
