//! The ledger of a run: what the database acknowledged against what it holds. The consistency conditions compare tables
//! with one another, so they miss a commit that is gone from all of them.

use crate::companion::{Begun, Companion, Found, Over};
use crate::halves::{Sides, blamed};
use crate::reading::{Reading, settled};
use crate::ready::tpcc::Ready;
use lydite_bench::Whole;
use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_database::{LedgerCounts, Tpcc};
use lydite_report::model::{CheckResult, CheckedWhen, LEDGER_CHECK};
use lydite_tpcc::{StandardKind, WarehouseId};
use std::time::Instant;

/// Guess at the causes of rows that are too many.
const GUESS: &str = "somebody else writes to this database, or a commit was applied twice";

/// Opens the ledger, if the plan checks.
pub(super) fn begin(ready: &Ready<'_>) -> Begun<Tpcc> {
    if !ready.checks() {
        return Ok(None);
    }
    Ok(Some(Box::new(Ledger::open(ready)?)))
}

/// The ledger of a run, opened before its first transaction.
struct Ledger {
    reading: Reading,
    sides: Sides,
    interrupt: Interrupt,
    /// The greatest number of orders that one Delivery can deliver.
    orders_per_delivery: u64,
    /// Counts before the run.
    before: LedgerCounts,
}

impl Ledger {
    /// Counts before the run.
    ///
    /// # Errors
    /// The database fails, or the user interrupted.
    fn open(ready: &Ready<'_>) -> Result<Self, Failure> {
        let (reading, meta, interrupt) = (ready.reading(), &ready.meta, ready.request.interrupt.clone());
        let districts = reading.warehouses().map(|w_id| meta.districts.of(WarehouseId(w_id)));
        let orders_per_delivery = districts.max().map_or(0, u64::from);
        let before = reading.read(&interrupt, |target, warehouses| target.counts(warehouses))?;
        let before = before.ok_or_else(|| {
            Failure::Interrupted(
                "interrupted while counting orders and payments: nothing was measured".into(),
            )
        })?;
        Ok(Self { reading, sides: ready.sides(), interrupt, orders_per_delivery, before })
    }

    /// Compares the growth since before the run with what was acknowledged. Returns `None` if the user interrupted.
    ///
    /// # Errors
    /// The database fails.
    fn compare(&self, whole: &Whole) -> Result<Option<CheckResult>, Failure> {
        let begun = Instant::now();
        let acknowledged = Acknowledged::new(whole, self.orders_per_delivery);
        let verdict = settled(
            |verdict: &Option<Result<String, String>>| verdict.as_ref().is_none_or(Result::is_ok),
            || {
                let after =
                    self.reading.read(&self.interrupt, |target, warehouses| target.counts(warehouses))?;
                Ok(after.map(|after| acknowledged.judge(&self.before, &after)))
            },
        )?;
        let Some(verdict) = verdict else { return Ok(None) };
        // The side that is counted may be the whole one. Nobody waited for the other one if the outcome is unknown.
        let half = if verdict.is_err() || whole.unknown() > 0 {
            self.sides.half_a_commit(&self.interrupt)?
        } else {
            None
        };
        let (ok, detail) = match (verdict, half) {
            (Ok(detail), None) => (true, detail),
            (Ok(_), Some(half)) => (false, half),
            (Err(detail), None) => (false, detail),
            (Err(detail), Some(half)) => (false, blamed(&detail, GUESS, &half)),
        };
        let seconds = begun.elapsed().as_secs_f64();
        Ok(Some(CheckResult { id: LEDGER_CHECK.into(), ok, detail, when: CheckedWhen::After, seconds }))
    }
}

impl Companion<Tpcc> for Ledger {
    fn checks(&self, over: &Over<'_, Tpcc>) -> Option<&'static str> {
        over.agents.all_reported().then_some(LEDGER_CHECK)
    }

    fn check(&mut self, over: &Over<'_, Tpcc>) -> Result<Found, Failure> {
        Ok(self.compare(&over.measurement.whole)?.into())
    }
}

/// Bounds of a count.
#[derive(Clone, Copy)]
struct Bounds {
    acknowledged: u64,
    /// Transactions of unknown outcome, which may have been done besides.
    unknown: u64,
}

/// Effects of a run, as the client knows them.
struct Acknowledged {
    new_orders: Bounds,
    payments: Bounds,
    /// Orders that were delivered.
    delivered: Bounds,
}

impl Acknowledged {
    fn new(whole: &Whole, orders_per_delivery: u64) -> Self {
        let unknown = |kind: StandardKind| whole.unknown_of(kind.index());
        let of = |kind: StandardKind| Bounds {
            acknowledged: whole.committed[kind.index()],
            unknown: unknown(kind),
        };
        Self {
            new_orders: of(StandardKind::NewOrder),
            payments: of(StandardKind::Payment),
            delivered: Bounds {
                acknowledged: whole.delivered,
                unknown: unknown(StandardKind::Delivery) * orders_per_delivery,
            },
        }
    }

    /// Judges the growth of the counts, and describes it.
    ///
    /// # Errors
    /// Something that was acknowledged is missing, or there is more than can have been done.
    fn judge(&self, before: &LedgerCounts, after: &LedgerCounts) -> Result<String, String> {
        let growth = |of: fn(&LedgerCounts) -> u64| i128::from(of(after)) - i128::from(of(before));
        let order_ids = growth(|counts| counts.next_order_ids);
        let rows_of_new_order = growth(|counts| counts.new_orders);
        let entries = [
            Entry {
                bounds: self.new_orders,
                found: order_ids,
                names: ["New-Order", "New-Orders"],
                evidence: grown("Σ D_NEXT_O_ID", order_ids, ""),
            },
            Entry {
                bounds: self.payments,
                found: growth(|counts| counts.payments),
                names: ["Payment", "Payments"],
                evidence: grown("HISTORY", growth(|counts| counts.payments), " rows"),
            },
            Entry {
                bounds: self.delivered,
                // A New-Order adds to both, a Delivery takes from one.
                found: order_ids - rows_of_new_order,
                names: ["delivery of an order", "deliveries of orders"],
                evidence: format!(
                    "{}, {}",
                    grown("NEW-ORDER", rows_of_new_order, " rows"),
                    grown("Σ D_NEXT_O_ID", order_ids, "")
                ),
            },
        ];
        let problems: Vec<String> = entries.iter().filter_map(Entry::problem).collect();
        if !problems.is_empty() {
            return Err(problems.join("; "));
        }
        let [new_orders, payments, delivered] = entries.map(|entry| entry.words());
        Ok(format!("the database has all that it acknowledged: {new_orders}, {payments}, {delivered}"))
    }
}

/// One count of the ledger.
struct Entry {
    bounds: Bounds,
    /// Number that the database did, by its counts; less than zero if rows from before the run are gone.
    found: i128,
    /// Name of the counted things, as one and as several.
    names: [&'static str; 2],
    /// Growth of the tables.
    evidence: String,
}

impl Entry {
    /// Describes what is missing or too much; `None` if the count is within its bounds.
    fn problem(&self) -> Option<String> {
        let Bounds { acknowledged, unknown } = self.bounds;
        let (least, most) = (i128::from(acknowledged), i128::from(acknowledged) + i128::from(unknown));
        let name = |count: i128| self.names[usize::from(count != 1)];
        let (found, evidence) = (self.found, &self.evidence);
        if found < 0 {
            Some(format!(
                "{least} of {least} acknowledged {} and {} from before the run are missing: {evidence}",
                name(least),
                -found
            ))
        } else if found < least {
            let missing = least - found;
            let are = if missing == 1 { "is" } else { "are" };
            Some(format!("{missing} of {least} acknowledged {} {are} missing: {evidence}", name(least)))
        } else if found > most {
            let of_unknown_outcome =
                if unknown == 0 { String::new() } else { format!(" and {unknown} of unknown outcome") };
            Some(format!(
                "{} {} too many for {least} acknowledged{of_unknown_outcome}: {evidence}: {GUESS}",
                found - most,
                name(found - most)
            ))
        } else {
            None
        }
    }

    /// Describes a count within its bounds.
    fn words(&self) -> String {
        let Bounds { acknowledged, unknown } = self.bounds;
        let more = self.found - i128::from(acknowledged);
        let name = self.names[usize::from(acknowledged != 1)];
        if unknown == 0 {
            format!("{acknowledged} {name}")
        } else {
            format!("{acknowledged} {name} and {more} of up to {unknown} of unknown outcome")
        }
    }
}

/// Describes the growth of a table or a sum.
fn grown(what: &str, by: i128, unit: &str) -> String {
    if by < 0 { format!("{what} fell by {}{unit}", -by) } else { format!("{what} grew by {by}{unit}") }
}

#[cfg(test)]
mod tests {
    use super::{Acknowledged, Bounds};
    use lydite_database::LedgerCounts;

    const BEFORE: LedgerCounts = LedgerCounts { next_order_ids: 6_020, payments: 6_000, new_orders: 1_800 };

    /// A run that acknowledged 1 040 New-Orders, 1 000 Payments and 400 delivered orders. The outcome of 3 New-Orders,
    /// 2 Payments and 20 deliveries is unknown if `open` is true.
    fn acknowledged(open: bool) -> Acknowledged {
        let bounds = |acknowledged, unknown| Bounds { acknowledged, unknown: if open { unknown } else { 0 } };
        Acknowledged { new_orders: bounds(1_040, 3), payments: bounds(1_000, 2), delivered: bounds(400, 20) }
    }

    /// The verdict on a database that did this since [`BEFORE`].
    fn judged(open: bool, new_orders: i64, payments: i64, delivered: i64) -> Result<String, String> {
        let after = LedgerCounts {
            next_order_ids: BEFORE.next_order_ids.saturating_add_signed(new_orders),
            payments: BEFORE.payments.saturating_add_signed(payments),
            new_orders: BEFORE.new_orders.saturating_add_signed(new_orders - delivered),
        };
        acknowledged(open).judge(&BEFORE, &after)
    }

    #[test]
    fn what_was_acknowledged_and_nothing_else_is_in_order() {
        assert_eq!(
            judged(false, 1_040, 1_000, 400),
            Ok("the database has all that it acknowledged: 1040 New-Orders, 1000 Payments, 400 deliveries of orders"
                .into())
        );
    }

    #[test]
    fn a_commit_of_unknown_outcome_may_be_there_or_not() {
        for (new_orders, payments, delivered) in
            [(1_040, 1_000, 400), (1_043, 1_002, 420), (1_041, 1_002, 407)]
        {
            let words = judged(true, new_orders, payments, delivered).expect("within the bounds");
            let more = format!("1040 New-Orders and {} of up to 3 of unknown outcome, ", new_orders - 1_040);
            assert!(words.contains(&more), "{words}");
        }
        for (new_orders, payments, delivered) in [
            (1_039, 1_000, 400),
            (1_044, 1_000, 400),
            (1_040, 999, 400),
            (1_040, 1_003, 400),
            (1_040, 1_000, 399),
            (1_040, 1_000, 421),
        ] {
            let words = judged(true, new_orders, payments, delivered).expect_err("beyond the bounds");
            assert!(!words.contains(';'), "one count is wrong: {words}");
        }
    }

    #[test]
    fn lost_commits_are_counted_and_named() {
        let lost = |new_orders, payments, delivered| {
            judged(false, new_orders, payments, delivered).expect_err("it lost some")
        };
        assert_eq!(
            lost(951, 1_000, 400),
            "89 of 1040 acknowledged New-Orders are missing: Σ D_NEXT_O_ID grew by 951"
        );
        assert_eq!(
            lost(1_040, 999, 393),
            "1 of 1000 acknowledged Payments is missing: HISTORY grew by 999 rows; 7 of 400 acknowledged deliveries of \
             orders are missing: NEW-ORDER grew by 647 rows, Σ D_NEXT_O_ID grew by 1040"
        );
        assert_eq!(
            lost(-5, 1_000, 400),
            "1040 of 1040 acknowledged New-Orders and 5 from before the run are missing: Σ D_NEXT_O_ID fell by 5"
        );
    }

    #[test]
    fn more_than_can_have_been_committed_is_named_with_its_causes() {
        let causes = "somebody else writes to this database, or a commit was applied twice";
        assert_eq!(
            judged(false, 1_040, 1_001, 400),
            Err(format!("1 Payment too many for 1000 acknowledged: HISTORY grew by 1001 rows: {causes}"))
        );
        assert_eq!(
            judged(true, 1_050, 1_000, 400),
            Err(format!(
                "7 New-Orders too many for 1040 acknowledged and 3 of unknown outcome: Σ D_NEXT_O_ID grew by 1050: \
                 {causes}"
            ))
        );
    }
}
