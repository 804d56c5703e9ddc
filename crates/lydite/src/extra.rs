//! The Dike paper's transactions beside the standard's, from the plan to the result.

use crate::exit::Failure;
use crate::phases::WantedStep;
use crate::plan::{Plan, whole};
use crate::raw::Raw;
use lydite_tpcc::TransactionKind;
use lydite_tpcc::transaction::MAX_ORDER_LINES;
use serde_json::{Value, json};

/// The keys of a plan that it reads.
pub(crate) const KEYS: &[&str] = &["update_stock_rounds"];

/// What a plan says of the transactions that the standard does not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extra {
    /// Rounds of each dUpdateStock.
    pub(crate) update_stock_rounds: u32,
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
    Extra { update_stock_rounds: rounds.unwrap_or(1) }
}

impl Extra {
    /// Of a plan that says nothing.
    pub(crate) const NONE: Self = Self { update_stock_rounds: 1 };

    /// Refuses what so many active warehouses can't do.
    pub(crate) fn fits(&self, warehouses: u32) -> Result<(), Failure> {
        let rounds = self.update_stock_rounds;
        if rounds > warehouses {
            return Err(Failure::usage(format!(
                "update_stock_rounds: {rounds} rounds are each of another warehouse, and {warehouses} are active: use more \
                 warehouses, or fewer rounds"
            )));
        }
        Ok(())
    }

    /// What the plan says of it, where the mix has what it is about.
    pub(crate) fn plan_json(&self, plan: &Plan) -> Value {
        if plan.plays(TransactionKind::UpdateStock) {
            json!({ "update_stock_rounds": self.update_stock_rounds })
        } else {
            json!({})
        }
    }
}

impl Plan {
    /// Whether transactions of this type belong to the run: the standard's always do, others if the mix of any phase has a
    /// share for them.
    pub(crate) fn plays(&self, kind: TransactionKind) -> bool {
        kind.is_standard() || of_steps(&self.steps).any(|extra| extra == kind)
    }

    /// The types that belong to the run.
    pub(crate) fn kinds(&self) -> Vec<TransactionKind> {
        TransactionKind::ALL.into_iter().filter(|kind| self.plays(*kind)).collect()
    }
}
