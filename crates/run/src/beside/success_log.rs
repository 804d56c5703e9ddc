//! The success log of a run against the database: each order and each payment that the database acknowledged is there
//! once, and no other.

use crate::companion::{Begun, Companion, Found, Over};
use crate::halves::{Sides, blamed};
use crate::reading::{Reading, settled};
use crate::ready::tpcc::Ready;
use lydite_bench::{Logged, Measurement, Whole};
use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_database::{PaymentKey, Payments, Tpcc, Written, WrittenOrder};
use lydite_report::RunResult;
use lydite_report::model::{CheckResult, CheckedWhen, SUCCESS_LOG_CHECK, SuccessLogResult};
use lydite_tpcc::{CustomerId, DistrictId, StandardKind, WarehouseId};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Most transactions that a result names as examples.
const EXAMPLES: usize = 5;

/// Guess at the causes of rows that nobody acknowledged.
const GUESS: &str = "they were rolled back or committed twice, or somebody else writes to this database";

/// Opens the success log, if the plan has one.
pub(super) fn begin(ready: &Ready<'_>) -> Begun<Tpcc> {
    let Some(path) = &ready.request.plan.success_log else { return Ok(None) };
    Ok(Some(Box::new(SuccessLog::open(path, ready)?)))
}

/// The success log of a run, opened before its first transaction.
struct SuccessLog {
    reading: Reading,
    sides: Sides,
    interrupt: Interrupt,
    path: PathBuf,
    /// Orders and payments before the run.
    before: Written,
    /// The part of the result, once the log is compared.
    found: Option<SuccessLogResult>,
}

impl Companion<Tpcc> for SuccessLog {
    fn checks(&self, over: &Over<'_, Tpcc>) -> Option<&'static str> {
        over.agents.all_reported().then_some(SUCCESS_LOG_CHECK)
    }

    fn check(&mut self, over: &Over<'_, Tpcc>) -> Result<Found, Failure> {
        Ok(self.compare(over.measurement)?.into())
    }

    fn add_to(&self, _: &Over<'_, Tpcc>, result: &mut RunResult) {
        result.success_log.clone_from(&self.found);
    }
}

impl SuccessLog {
    /// Reads the database before the run.
    ///
    /// # Errors
    /// The database fails, or the user interrupted.
    fn open(path: &Path, ready: &Ready<'_>) -> Result<Self, Failure> {
        let (reading, interrupt) = (ready.reading(), ready.request.interrupt.clone());
        let before = reading.read(&interrupt, |target, warehouses| target.written(warehouses, None))?;
        let before = before.ok_or_else(|| {
            Failure::Interrupted("interrupted while reading orders and payments: nothing was measured".into())
        })?;
        Ok(Self { reading, sides: ready.sides(), interrupt, path: path.to_owned(), before, found: None })
    }

    /// Compares the log with the database. Returns `None` if the user interrupted.
    ///
    /// # Errors
    /// The log is not whole, or the database fails.
    fn compare(&mut self, measurement: &Measurement) -> Result<Option<CheckResult>, Failure> {
        let begun = Instant::now();
        let broken = |problem: &dyn fmt::Display| {
            Failure::usage(format!(
                "success log {}: {problem}: its lines can't be compared, so run again with a log on another disk",
                self.path.display()
            ))
        };
        if let Some(problem) = &measurement.log_problem {
            return Err(broken(problem));
        }
        let acknowledged =
            Acknowledged::read(&self.path, &measurement.whole).map_err(|error| broken(&error))?;
        let from = self.before.next_orders.values().min().copied();
        let verdict = settled(
            |verdict: &Option<Verdict>| verdict.as_ref().is_none_or(Verdict::holds),
            || {
                let after = self
                    .reading
                    .read(&self.interrupt, move |target, warehouses| target.written(warehouses, from))?;
                Ok(after.map(|after| acknowledged.judge(&self.before, after)))
            },
        )?;
        let Some(verdict) = verdict else { return Ok(None) };
        self.found = Some(SuccessLogResult {
            committed: acknowledged.committed(),
            lost: verdict.lost.len() as u64,
            resurrected: verdict.resurrected.len() as u64,
            unknown: acknowledged.unknown,
            path: self.path.display().to_string(),
            examples: verdict.examples(),
        });
        let half = if verdict.holds() { None } else { self.sides.half_a_commit(&self.interrupt)? };
        let words = verdict.words(&acknowledged);
        Ok(Some(CheckResult {
            id: SUCCESS_LOG_CHECK.into(),
            ok: verdict.holds(),
            detail: half.map_or_else(|| words.clone(), |half| blamed(&words, GUESS, &half)),
            when: CheckedWhen::After,
            seconds: begun.elapsed().as_secs_f64(),
        }))
    }
}

/// An order or a payment, as an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Entry {
    Order(WrittenOrder),
    /// The customer is `None` if several payments have the same key.
    Payment(PaymentKey, Option<CustomerId>),
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order(WrittenOrder { w_id, d_id, o_id, c_id }) => {
                write!(f, "order {o_id} of customer {c_id} in district {w_id}/{d_id}")
            }
            Self::Payment(PaymentKey { w_id, d_id, c_w_id, c_d_id, amount }, c_id) => {
                write!(f, "payment of {amount} in district {w_id}/{d_id} by ")?;
                match c_id {
                    Some(c_id) => write!(f, "customer {c_w_id}/{c_d_id}/{c_id}"),
                    None => write!(f, "a customer of {c_w_id}/{c_d_id}"),
                }
            }
        }
    }
}

/// The transactions of a log.
#[derive(Default)]
struct Acknowledged {
    orders: HashMap<WrittenOrder, u64>,
    payments: HashMap<PaymentKey, Payments>,
    /// Numbers of acknowledged New-Orders and Payments.
    new_orders: u64,
    paid: u64,
    /// New-Orders of unknown outcome, by district and customer.
    unknown_orders: HashMap<(WarehouseId, DistrictId, CustomerId), u64>,
    /// Payments of unknown outcome.
    unknown_payments: HashMap<PaymentKey, u64>,
    /// Number of those of unknown outcome.
    unknown: u64,
}

impl Acknowledged {
    /// Reads a log, and checks that it has as many lines as the run acknowledged transactions.
    fn read(path: &Path, whole: &Whole) -> Result<Self, String> {
        let mut log = Self::default();
        Logged::read(path, |line| log.add(line)).map_err(|error| error.to_string())?;
        let committed = |kind: StandardKind| whole.committed[kind.index()];
        let expected = (committed(StandardKind::NewOrder), committed(StandardKind::Payment));
        if (log.new_orders, log.paid) != expected {
            return Err(format!(
                "it has {} New-Orders and {} Payments, and the run acknowledged {} and {}: somebody else writes to it",
                log.new_orders, log.paid, expected.0, expected.1
            ));
        }
        let unknown = |kind: StandardKind| whole.unknown[kind.index()];
        let least = unknown(StandardKind::NewOrder) + unknown(StandardKind::Payment);
        if log.unknown < least {
            return Err(format!(
                "it has {} transactions of unknown outcome, and the run {least}: somebody else writes to it",
                log.unknown
            ));
        }
        Ok(log)
    }

    fn add(&mut self, line: Logged) {
        match line {
            Logged::NewOrder { w_id, d_id, c_id, o_id: Some(o_id) } => {
                *self.orders.entry(WrittenOrder { w_id, d_id, o_id, c_id }).or_default() += 1;
                self.new_orders += 1;
            }
            Logged::NewOrder { w_id, d_id, c_id, o_id: None } => {
                *self.unknown_orders.entry((w_id, d_id, c_id)).or_default() += 1;
                self.unknown += 1;
            }
            Logged::Payment { key, c_id: Some(c_id) } => {
                self.payments.entry(key).or_default().add(c_id);
                self.paid += 1;
            }
            Logged::Payment { key, c_id: None } => {
                *self.unknown_payments.entry(key).or_default() += 1;
                self.unknown += 1;
            }
        }
    }

    fn committed(&self) -> u64 {
        self.new_orders + self.paid
    }

    /// Compares the growth of the database with the log.
    fn judge(&self, before: &Written, after: Written) -> Verdict {
        let mut verdict = Verdict::default();
        self.judge_orders(before, after.orders, &mut verdict);
        self.judge_payments(&before.payments, &after.payments, &mut verdict);
        verdict.lost.sort_unstable();
        verdict.resurrected.sort_unstable();
        verdict
    }

    fn judge_orders(&self, before: &Written, mut found: Vec<WrittenOrder>, verdict: &mut Verdict) {
        found.sort_unstable();
        let mut matched = 0;
        // Numbers of those of unknown outcome that are there.
        let mut unknown: HashMap<(WarehouseId, DistrictId, CustomerId), u64> = HashMap::new();
        for same in found.chunk_by(|one, next| one == next) {
            let WrittenOrder { w_id, d_id, o_id, c_id } = same[0];
            let there = same.len() as u64;
            let logged = self.orders.get(&same[0]).copied().unwrap_or_default();
            matched += there.min(logged);
            // After a failover to a stale copy, numbers from before the run are given again.
            if before.next_orders.get(&(w_id, d_id)).is_some_and(|first| o_id < *first) {
                continue;
            }
            let customer = (w_id, d_id, c_id);
            let possible = self.unknown_orders.get(&customer).copied().unwrap_or_default();
            for _ in logged..there {
                let explained = unknown.entry(customer).or_default();
                if *explained < possible {
                    *explained += 1;
                    verdict.unknown_there += 1;
                } else {
                    verdict.resurrected.push(Entry::Order(same[0]));
                }
            }
        }
        if matched == self.new_orders {
            return;
        }
        for (order, logged) in &self.orders {
            let first = found.partition_point(|other| other < order);
            let there = found[first..].partition_point(|other| other == order) as u64;
            verdict.lost.extend((there..*logged).map(|_| Entry::Order(*order)));
        }
    }

    fn judge_payments(
        &self,
        before: &HashMap<PaymentKey, Payments>,
        after: &HashMap<PaymentKey, Payments>,
        verdict: &mut Verdict,
    ) {
        let keys: HashSet<&PaymentKey> =
            self.payments.keys().chain(before.keys()).chain(after.keys()).collect();
        for key in keys {
            let of =
                |payments: &HashMap<PaymentKey, Payments>| payments.get(key).copied().unwrap_or_default();
            let (then, now, logged) = (of(before), of(after), of(&self.payments));
            let unknown = self.unknown_payments.get(key).copied().unwrap_or_default();
            // The customer of the only payment.
            let only = |payments: Payments| {
                let customer = u32::try_from(payments.customers).ok().map(CustomerId);
                customer.filter(|_| payments.rows == 1)
            };
            let expected =
                Payments { rows: then.rows + logged.rows, customers: then.customers + logged.customers };
            let new = Payments {
                rows: now.rows.saturating_sub(then.rows),
                customers: now.customers.saturating_sub(then.customers),
            };
            let lost = expected.rows.saturating_sub(now.rows);
            let more = now.rows.saturating_sub(expected.rows);
            let of_the_run = lost.min(logged.rows);
            verdict.lost.extend((0..of_the_run).map(|_| Entry::Payment(*key, only(logged))));
            verdict.gone += lost - of_the_run;
            verdict.unknown_there += more.min(unknown);
            verdict.resurrected.extend((unknown..more).map(|_| Entry::Payment(*key, only(new))));
            // One of unknown outcome may stand for an acknowledged one of another customer.
            if now.rows == expected.rows && now.customers != expected.customers && unknown == 0 {
                verdict.lost.push(Entry::Payment(*key, only(logged)));
                verdict.resurrected.push(Entry::Payment(*key, only(new)));
            }
        }
    }
}

/// The comparison of a log with the database.
#[derive(Default)]
struct Verdict {
    /// Acknowledged, but not there.
    lost: Vec<Entry>,
    /// There, but neither acknowledged nor of unknown outcome.
    resurrected: Vec<Entry>,
    /// Number of transactions of unknown outcome that are there.
    unknown_there: u64,
    /// Number of payments from before the run that are missing.
    gone: u64,
}

impl Verdict {
    fn holds(&self) -> bool {
        self.lost.is_empty() && self.resurrected.is_empty() && self.gone == 0
    }

    /// Returns the first of the lost and of the resurrected transactions in words; empty if there are none.
    fn examples(&self) -> String {
        let of = |name: &str, entries: &[Entry]| {
            (!entries.is_empty()).then(|| format!("{name}: {}", listed(entries)))
        };
        let all = [of("lost", &self.lost), of("resurrected", &self.resurrected)];
        all.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Returns the verdict in words.
    fn words(&self, acknowledged: &Acknowledged) -> String {
        let Acknowledged { new_orders, paid, unknown, .. } = acknowledged;
        if self.holds() {
            let open = if *unknown == 0 {
                String::new()
            } else {
                format!(", and {} of {unknown} of unknown outcome", self.unknown_there)
            };
            return format!(
                "the database has each acknowledged transaction once, and none that was rolled back: {new_orders} \
                 New-Orders, {paid} Payments{open}"
            );
        }
        let mut problems = Vec::new();
        if !self.lost.is_empty() {
            problems.push(format!(
                "{} of {} acknowledged New-Orders and Payments are lost: {}",
                self.lost.len(),
                acknowledged.committed(),
                listed(&self.lost)
            ));
        }
        if !self.resurrected.is_empty() {
            problems.push(format!(
                "{} that were not acknowledged are there: {}: {GUESS}",
                self.resurrected.len(),
                listed(&self.resurrected)
            ));
        }
        if self.gone > 0 {
            problems.push(format!("{} payments from before the run are missing", self.gone));
        }
        problems.join("; ")
    }
}

/// Returns the first entries in words.
fn listed(entries: &[Entry]) -> String {
    let first = entries.iter().take(EXAMPLES).map(Entry::to_string).collect::<Vec<_>>().join(", ");
    match entries.len().saturating_sub(EXAMPLES) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_bench::WrongRows;
    use lydite_tpcc::TransactionKind;
    use lydite_tpcc::{Cents, OrderId};

    fn order(o_id: u64, c_id: u32) -> WrittenOrder {
        let (w_id, d_id) = (WarehouseId(1), DistrictId(2));
        WrittenOrder { w_id, d_id, o_id: OrderId(o_id), c_id: CustomerId(c_id) }
    }

    fn key(amount: i64) -> PaymentKey {
        let (w_id, d_id) = (WarehouseId(1), DistrictId(2));
        PaymentKey { w_id, d_id, c_w_id: WarehouseId(3), c_d_id: DistrictId(4), amount: Cents(amount) }
    }

    fn written(next: u64, orders: &[WrittenOrder], payments: &[(i64, u32)]) -> Written {
        let mut written = Written { orders: orders.to_vec(), ..Written::default() };
        written.next_orders.insert((WarehouseId(1), DistrictId(2)), OrderId(next));
        for (amount, c_id) in payments {
            written.payments.entry(key(*amount)).or_default().add(CustomerId(*c_id));
        }
        written
    }

    /// The database before the run: loaded payments have one amount.
    fn before() -> Written {
        written(301, &[], &[(1_000, 1), (1_000, 2), (1_000, 3)])
    }

    /// A run with two orders and two payments, and one of unknown outcome of each if `open` is true.
    fn log(open: bool) -> Acknowledged {
        let mut log = Acknowledged::default();
        for (o_id, c_id) in [(301, 7), (302, 8)] {
            let WrittenOrder { w_id, d_id, .. } = order(o_id, c_id);
            log.add(Logged::NewOrder { w_id, d_id, c_id: CustomerId(c_id), o_id: Some(OrderId(o_id)) });
        }
        log.add(Logged::Payment { key: key(500), c_id: Some(CustomerId(7)) });
        log.add(Logged::Payment { key: key(1_000), c_id: Some(CustomerId(8)) });
        if open {
            let WrittenOrder { w_id, d_id, c_id, .. } = order(0, 9);
            log.add(Logged::NewOrder { w_id, d_id, c_id, o_id: None });
            log.add(Logged::Payment { key: key(600), c_id: None });
        }
        log
    }

    const OLD: WrittenOrder =
        WrittenOrder { w_id: WarehouseId(1), d_id: DistrictId(2), o_id: OrderId(299), c_id: CustomerId(1) };
    const LOADED: [(i64, u32); 3] = [(1_000, 1), (1_000, 2), (1_000, 3)];

    /// Counts of lost and resurrected transactions, and the verdict in words.
    fn judged(
        log: &Acknowledged,
        orders: &[WrittenOrder],
        payments: &[(i64, u32)],
    ) -> (usize, usize, String) {
        let orders = [&[OLD], orders].concat();
        let verdict = log.judge(&before(), written(303, &orders, &[&LOADED, payments].concat()));
        (verdict.lost.len(), verdict.resurrected.len(), verdict.words(log))
    }

    const PAID: [(i64, u32); 2] = [(500, 7), (1_000, 8)];

    #[test]
    fn exactly_the_acknowledged_transactions_are_right() {
        let (lost, resurrected, words) = judged(&log(false), &[order(302, 8), order(301, 7)], &PAID);
        assert_eq!((lost, resurrected), (0, 0), "{words}");
        assert_eq!(
            words,
            "the database has each acknowledged transaction once, and none that was rolled back: 2 New-Orders, 2 \
             Payments"
        );
    }

    #[test]
    fn a_lost_transaction_is_named_even_if_another_one_took_its_order_number() {
        let (lost, resurrected, words) = judged(&log(false), &[order(301, 7)], &PAID);
        assert_eq!((lost, resurrected), (1, 0));
        assert_eq!(
            words,
            "1 of 4 acknowledged New-Orders and Payments are lost: order 302 of customer 8 in district 1/2"
        );
        // After a crash the number was given again.
        let mut again = log(false);
        again.add(Logged::NewOrder {
            w_id: WarehouseId(1),
            d_id: DistrictId(2),
            c_id: CustomerId(50),
            o_id: Some(OrderId(302)),
        });
        let (lost, resurrected, words) = judged(&again, &[order(301, 7), order(302, 50)], &PAID);
        assert_eq!((lost, resurrected), (1, 0));
        assert!(words.contains("order 302 of customer 8 "), "{words}");
        let (lost, resurrected, words) = judged(&log(false), &[order(301, 7), order(302, 8)], &PAID[1..]);
        assert_eq!((lost, resurrected), (1, 0));
        assert!(words.ends_with("are lost: payment of 5.00 in district 1/2 by customer 3/4/7"), "{words}");
    }

    #[test]
    fn a_transaction_that_was_not_acknowledged_is_resurrected_and_so_is_one_that_is_there_twice() {
        let orders = [order(301, 7), order(302, 8)];
        let (lost, resurrected, words) =
            judged(&log(false), &[&orders[..], &[order(303, 9)]].concat(), &PAID);
        assert_eq!((lost, resurrected), (0, 1));
        assert!(
            words.starts_with("1 that were not acknowledged are there: order 303 of customer 9"),
            "{words}"
        );
        let (lost, resurrected, _) = judged(&log(false), &[&orders[..], &orders[..1]].concat(), &PAID);
        assert_eq!((lost, resurrected), (0, 1));
        let twice = [PAID[0], PAID[0], PAID[1]];
        let (lost, resurrected, words) = judged(&log(false), &orders, &twice);
        assert_eq!((lost, resurrected), (0, 1), "{words}");
    }

    #[test]
    fn a_payment_by_another_customer_is_lost_and_resurrected() {
        let orders = [order(301, 7), order(302, 8)];
        let (lost, resurrected, words) = judged(&log(false), &orders, &[(500, 6), (1_000, 8)]);
        assert_eq!((lost, resurrected), (1, 1), "{words}");
    }

    #[test]
    fn a_transaction_of_unknown_outcome_may_be_there_or_not_but_only_it() {
        let orders = [order(301, 7), order(302, 8)];
        let (lost, resurrected, words) = judged(&log(true), &orders, &PAID);
        assert_eq!((lost, resurrected), (0, 0), "{words}");
        assert!(words.ends_with("and 0 of 2 of unknown outcome"), "{words}");
        let more = [&orders[..], &[order(303, 9)]].concat();
        let paid = [PAID[0], PAID[1], (600, 44)];
        let (lost, resurrected, words) = judged(&log(true), &more, &paid);
        assert_eq!((lost, resurrected), (0, 0), "{words}");
        assert!(words.ends_with("and 2 of 2 of unknown outcome"), "{words}");
        // Of another customer.
        let (_, resurrected, _) = judged(&log(true), &[&orders[..], &[order(303, 10)]].concat(), &paid);
        assert_eq!(resurrected, 1);
        // It excuses one row.
        let twice = [&more[..], &[order(304, 9)]].concat();
        let (_, resurrected, words) = judged(&log(true), &twice, &[&paid[..], &[(600, 1)]].concat());
        assert_eq!(resurrected, 2, "{words}");
        assert!(words.contains("order 304 of customer 9 ") && words.contains("payment of 6.00"), "{words}");
    }

    #[test]
    fn payments_from_before_the_run_must_stay() {
        let log = log(false);
        let after = written(303, &[order(301, 7), order(302, 8)], &[(500, 7), (1_000, 1)]);
        let verdict = log.judge(&before(), after);
        assert_eq!((verdict.lost.len(), verdict.gone), (1, 2));
        assert!(verdict.words(&log).ends_with("2 payments from before the run are missing"));
    }

    #[test]
    fn a_log_with_other_lines_than_the_run_acknowledged_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        std::fs::write(&path, "new_order 1 2 7 301\npayment? 1 2 3 4 500\n").unwrap();
        let mut whole = Whole {
            committed: vec![0; TransactionKind::COUNT],
            unknown: vec![0; TransactionKind::COUNT],
            unanswered: 0,
            delivered: 0,
            wrong_rows: WrongRows::default(),
        };
        let error = Acknowledged::read(&path, &whole).err().unwrap();
        assert!(error.contains("1 New-Orders and 0 Payments, and the run acknowledged 0 and 0"), "{error}");
        whole.committed[StandardKind::NewOrder.index()] = 1;
        whole.unknown[StandardKind::Payment.index()] = 1;
        assert_eq!(Acknowledged::read(&path, &whole).unwrap().unknown, 1);
        whole.unknown[StandardKind::Payment.index()] = 2;
        let error = Acknowledged::read(&path, &whole).err().unwrap();
        assert!(error.contains("1 transactions of unknown outcome, and the run 2"), "{error}");
    }
}
