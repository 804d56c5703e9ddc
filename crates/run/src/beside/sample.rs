//! Sampled answers of a run, read again column by column: what a terminal was shown is what the database holds.

use crate::companion::{Begun, Companion, Found, Over};
use crate::reading::{Reading, settled};
use crate::ready::tpcc::Ready;
use lydite_bench::{SampledDelivery, SampledOrder, SampledPayment, Samples};
use lydite_console::exit::Failure;
use lydite_console::interrupt::Interrupt;
use lydite_database::kv::meta::initial_rows;
use lydite_database::profile::history_data;
use lydite_database::{
    CustomerKey, FoundCustomer, FoundLine, FoundOrder, FoundPayment, FoundRows, FoundStock, OrderKey,
    RowKeys, StockKey, Tpcc,
};
use lydite_report::model::{CheckResult, CheckedWhen, SAMPLE_CHECK};
use lydite_tpcc::WarehouseId;
use lydite_tpcc::consistency::{ENTRIES_THAT_FIT, entries_of, paid, stock_residue};
use lydite_tpcc::meta::DatabaseMeta;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Display;
use std::time::Instant;

/// Bounds of S_QUANTITY (clauses 2.4.2.2 and 4.3.3.1).
const QUANTITIES: std::ops::RangeInclusive<i64> = 10..=100;
/// Most findings that a result names.
const EXAMPLES: usize = 3;

/// Begins, if the plan checks. The answers of a fleet stay with its agents.
pub(super) fn begin(ready: &Ready<'_>) -> Begun<Tpcc> {
    if !ready.checks() || ready.request.fleet.is_some() {
        return Ok(None);
    }
    let (reading, meta) = (ready.reading(), ready.meta.clone());
    Ok(Some(Box::new(Sample { reading, meta, interrupt: ready.request.interrupt.clone() })))
}

/// The rows that answers of the sample showed.
struct Sample {
    reading: Reading,
    meta: DatabaseMeta,
    interrupt: Interrupt,
}

impl Companion<Tpcc> for Sample {
    fn checks(&self, over: &Over<'_, Tpcc>) -> Option<&'static str> {
        (!over.measurement.facts.samples.is_empty()).then_some(SAMPLE_CHECK)
    }

    fn check(&mut self, over: &Over<'_, Tpcc>) -> Result<Found, Failure> {
        let samples = &over.measurement.facts.samples;
        Ok(check(&self.reading, &self.meta, samples, &self.interrupt)?.into())
    }
}

/// Reads the rows of the sample and holds them against the answers. Returns `None` if the user interrupted.
///
/// # Errors
/// The database fails.
fn check(
    reading: &Reading,
    meta: &DatabaseMeta,
    samples: &Samples,
    interrupt: &Interrupt,
) -> Result<Option<CheckResult>, Failure> {
    let begun = Instant::now();
    let loaded = Loaded::of(meta, samples);
    let keys = keys(samples);
    let verdict = settled(
        |verdict: &Option<Result<String, String>>| verdict.as_ref().is_none_or(Result::is_ok),
        || {
            let keys = keys.clone();
            let found = reading.read(interrupt, move |target, _| target.reread(&keys))?;
            Ok(found.map(|found| judge(samples, &found, &loaded)))
        },
    )?;
    let (ok, detail) = match verdict {
        None => return Ok(None),
        Some(Ok(detail)) => (true, detail),
        Some(Err(detail)) => (false, detail),
    };
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Some(CheckResult { id: SAMPLE_CHECK.into(), ok, detail, when: CheckedWhen::After, seconds }))
}

/// S_QUANTITY of one warehouse as loaded, modulo 91, by S_I_ID from 1.
struct Loaded {
    w_id: WarehouseId,
    residues: Vec<u32>,
}

impl Loaded {
    /// Makes the rows of the warehouse that most of the sampled lines took their stock from.
    fn of(meta: &DatabaseMeta, samples: &Samples) -> Self {
        let mut lines: BTreeMap<WarehouseId, usize> = BTreeMap::new();
        for (line, ..) in samples.orders.iter().flat_map(|order| &order.lines) {
            *lines.entry(line.supply_w_id).or_default() += 1;
        }
        let most = lines.into_iter().max_by_key(|(_, lines)| *lines);
        let w_id = most.map_or(WarehouseId(1), |(w_id, _)| w_id);
        // Without the rows that were loaded, nothing is known of any item.
        let population = most.and_then(|_| initial_rows(meta).ok());
        let quantities = population.into_iter().flat_map(|rows| rows.stock_quantities(w_id));
        let residues = quantities.map(|quantity| stock_residue(quantity, 0)).collect();
        Self { w_id, residues }
    }
}

/// Returns the keys of all rows of the sample.
fn keys(samples: &Samples) -> RowKeys {
    let mut keys = RowKeys::default();
    for order in samples.orders.iter() {
        keys.orders.insert((order.w_id, order.d_id, order.o_id));
        keys.stocks.extend(order.lines.iter().map(|(line, ..)| (line.supply_w_id, line.i_id)));
    }
    for delivery in samples.deliveries.iter() {
        keys.orders.extend(delivery.delivered.iter().map(|(d_id, o_id)| (delivery.w_id, *d_id, *o_id)));
    }
    keys.customers.extend(samples.payments.iter().chain(samples.bad_credit.iter()).map(customer_of));
    keys
}

fn customer_of(payment: &SampledPayment) -> CustomerKey {
    (payment.c_w_id, payment.c_d_id, payment.c_id)
}

/// Found rows by their keys.
struct Rows<'a> {
    orders: HashMap<OrderKey, Vec<&'a FoundOrder>>,
    lines: HashMap<OrderKey, Vec<&'a FoundLine>>,
    new_orders: HashSet<OrderKey>,
    payments: HashMap<CustomerKey, Vec<&'a FoundPayment>>,
    customers: HashMap<CustomerKey, Vec<&'a FoundCustomer>>,
    stocks: HashMap<StockKey, Vec<&'a FoundStock>>,
}

fn by_key<K: Copy + Eq + std::hash::Hash, R>(rows: &[(K, R)]) -> HashMap<K, Vec<&R>> {
    let mut found: HashMap<K, Vec<&R>> = HashMap::new();
    for (key, row) in rows {
        found.entry(*key).or_default().push(row);
    }
    found
}

/// The answers that were looked at, and what is wrong with their rows.
#[derive(Default)]
struct Findings {
    wrong: Vec<String>,
    /// Payments whose entry in C_DATA later ones may have pushed out.
    pushed_out: u64,
}

impl Findings {
    /// Notes a value of a row unless it is the wanted one.
    fn equal<T: PartialEq + Display>(
        &mut self,
        place: &dyn Fn() -> String,
        column: &str,
        found: T,
        wanted: T,
    ) {
        if found != wanted {
            self.wrong.push(format!("{}: {column} is {found} instead of {wanted}", place()));
        }
    }

    /// Returns the only one of some rows, else notes their number.
    fn one<'a, R>(&mut self, place: &dyn Fn() -> String, rows: Option<&Vec<&'a R>>) -> Option<&'a R> {
        match rows.map_or(&[][..], Vec::as_slice) {
            [row] => Some(row),
            rows => {
                self.wrong.push(format!("{}: {} rows instead of 1", place(), rows.len()));
                None
            }
        }
    }
}

impl<'a> Rows<'a> {
    fn of(found: &'a FoundRows) -> Self {
        Self {
            orders: by_key(&found.orders),
            lines: by_key(&found.lines),
            new_orders: found.new_orders.iter().copied().collect(),
            payments: by_key(&found.payments),
            customers: by_key(&found.customers),
            stocks: by_key(&found.stocks),
        }
    }
}

/// Holds the found rows against the answers, and describes the verdict.
///
/// # Errors
/// Some rows are not as they were answered.
fn judge(samples: &Samples, found: &FoundRows, loaded: &Loaded) -> Result<String, String> {
    let rows = Rows::of(found);
    let mut findings = Findings::default();
    let mut wrong = [0_usize; 3];
    let mut counts = [0_usize; 3];
    let mut looked = |kind: usize, findings: &mut Findings, look: &mut dyn FnMut(&mut Findings)| {
        let before = findings.wrong.len();
        look(findings);
        counts[kind] += 1;
        wrong[kind] += usize::from(findings.wrong.len() > before);
    };
    for order in samples.orders.iter() {
        looked(0, &mut findings, &mut |findings| judge_order(order, &rows, loaded, findings));
    }
    for payment in samples.payments.iter().chain(samples.bad_credit.iter()) {
        looked(1, &mut findings, &mut |findings| judge_payment(payment, &rows, found, findings));
    }
    for delivery in samples.deliveries.iter() {
        looked(2, &mut findings, &mut |findings| judge_delivery(delivery, &rows, findings));
    }
    let [orders, payments, deliveries] = counts;
    let all = format!("{orders} New-Orders, {payments} Payments and {deliveries} Deliveries");
    if findings.wrong.is_empty() {
        let pushed_out = match findings.pushed_out {
            0 => String::new(),
            count => format!("; later payments may have pushed {count} entries out of C_DATA"),
        };
        return Ok(format!("the rows of a sample are as they were answered: {all}{pushed_out}"));
    }
    let shown = findings.wrong.iter().take(EXAMPLES).map(String::as_str).collect::<Vec<_>>().join("; ");
    let more = match findings.wrong.len().saturating_sub(EXAMPLES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let wrong: usize = wrong.iter().sum();
    let answers = if wrong == 1 { "answer" } else { "answers" };
    Err(format!(
        "the rows of {wrong} {answers} out of a sample of {all} are not as they were answered: {shown}{more}"
    ))
}

fn judge_order(order: &SampledOrder, rows: &Rows<'_>, loaded: &Loaded, findings: &mut Findings) {
    let SampledOrder { w_id, d_id, o_id, c_id, lines } = order;
    let key = (*w_id, *d_id, *o_id);
    let place = || format!("ORDERS {w_id}/{d_id}/{o_id}");
    let Some(row) = findings.one(&place, rows.orders.get(&key)) else { return };
    findings.equal(&place, "O_C_ID", row.c_id, *c_id);
    findings.equal(&place, "O_OL_CNT", row.ol_cnt, lines.len() as i64);
    let all_local = lines.iter().all(|(line, ..)| line.supply_w_id == *w_id);
    findings.equal(&place, "O_ALL_LOCAL", i64::from(row.all_local), i64::from(all_local));
    if !row.is_dated {
        findings.wrong.push(format!("{}: O_ENTRY_D is null", place()));
    }
    let is_new = rows.new_orders.contains(&key);
    if is_new == row.carrier_id.is_some() {
        let has = if is_new { "a row" } else { "no row" };
        let carrier = if is_new { "a" } else { "no" };
        findings.wrong.push(format!("{}: {has} in NEW_ORDER and {carrier} O_CARRIER_ID", place()));
    }
    let found = rows.lines.get(&key).map_or(&[][..], Vec::as_slice);
    findings.equal(&place, "rows in ORDER_LINE", found.len(), lines.len());
    for (number, (line, s_quantity, amount)) in (1..).zip(lines) {
        let place = || format!("ORDER_LINE {w_id}/{d_id}/{o_id}/{number}");
        let of_number: Vec<&FoundLine> = found.iter().copied().filter(|line| line.number == number).collect();
        let Some(row) = findings.one(&place, Some(&of_number)) else { continue };
        findings.equal(&place, "OL_I_ID", row.i_id, line.i_id);
        findings.equal(&place, "OL_SUPPLY_W_ID", row.supply_w_id, line.supply_w_id);
        findings.equal(&place, "OL_QUANTITY", row.quantity, i64::from(line.quantity));
        findings.equal(&place, "OL_AMOUNT", row.amount, *amount);
        let place = || format!("STOCK {}/{}", line.supply_w_id, line.i_id);
        let Some(stock) = findings.one(&place, rows.stocks.get(&(line.supply_w_id, line.i_id))) else {
            continue;
        };
        let dist = stock.dist[usize::from(d_id.stock_column()) - 1];
        if row.dist_info != dist.as_str() {
            let of = format!("ORDER_LINE {w_id}/{d_id}/{o_id}/{number}");
            findings.wrong.push(format!(
                "{of}: OL_DIST_INFO is {:?} instead of {:?}",
                row.dist_info,
                dist.as_str()
            ));
        }
        if !QUANTITIES.contains(&i64::from(*s_quantity)) {
            findings
                .wrong
                .push(format!("{}: S_QUANTITY was answered as {s_quantity}, beyond 10 to 100", place()));
        }
        judge_stock(
            &place,
            stock,
            (line.supply_w_id == loaded.w_id).then_some(line.i_id.0),
            loaded,
            findings,
        );
    }
}

/// Judges a row of stock. `item` is its number, if what was loaded for it is known.
fn judge_stock(
    place: &dyn Fn() -> String,
    stock: &FoundStock,
    item: Option<u32>,
    loaded: &Loaded,
    findings: &mut Findings,
) {
    let FoundStock { quantity, ytd, .. } = *stock;
    if !QUANTITIES.contains(&quantity) {
        findings.wrong.push(format!("{}: S_QUANTITY is {quantity}, beyond 10 to 100", place()));
        return;
    }
    let residue = item.and_then(|item| loaded.residues.get((item as usize).wrapping_sub(1)));
    let found = (quantity + ytd).rem_euclid(91);
    if let Some(&residue) = residue
        && found != i64::from(residue)
    {
        findings.wrong.push(format!(
            "{}: S_QUANTITY {quantity} and S_YTD {ytd} are {found} modulo 91 together, and {residue} was loaded",
            place()
        ));
    }
}

fn judge_payment(payment: &SampledPayment, rows: &Rows<'_>, all: &FoundRows, findings: &mut Findings) {
    let SampledPayment { w_id, d_id, c_w_id, c_d_id, c_id, amount } = payment;
    let key = customer_of(payment);
    let of_customer = rows.payments.get(&key).map_or(&[][..], Vec::as_slice);
    let place = || format!("HISTORY of customer {c_w_id}/{c_d_id}/{c_id}");
    let same: Vec<&FoundPayment> = of_customer
        .iter()
        .copied()
        .filter(|row| (row.w_id, row.d_id, row.amount) == (*w_id, *d_id, *amount))
        .collect();
    let Some(first) = same.iter().min_by(|one, other| one.date.cmp(&other.date)) else {
        findings.wrong.push(format!("{}: no row of {amount} in district {w_id}/{d_id}", place()));
        return;
    };
    if first.date.is_empty() {
        findings.wrong.push(format!("{}: H_DATE is null", place()));
    }
    if let (Some(w_name), Some(d_name)) = (all.warehouses.get(w_id), all.districts.get(&(*w_id, *d_id))) {
        let wanted = history_data(w_name, d_name);
        // A row that was loaded may have the same amount by chance.
        if !same.iter().any(|row| row.data == wanted.as_str()) {
            findings.wrong.push(format!(
                "{}: H_DATA is {:?} instead of {:?}",
                place(),
                first.data,
                wanted.as_str()
            ));
        }
    }
    let place = || format!("CUSTOMER {c_w_id}/{c_d_id}/{c_id}");
    let Some(customer) = findings.one(&place, rows.customers.get(&key)) else { return };
    let has_entry = entries_of(&customer.data).any(|entry| paid(entry, key) == Some((*d_id, *w_id, *amount)));
    if customer.credit != "BC" {
        if has_entry {
            findings.wrong.push(format!(
                "{}: C_DATA has a payment, and C_CREDIT is {}",
                place(),
                customer.credit
            ));
        }
        return;
    }
    if has_entry {
        return;
    }
    // The loaded texts have no blanks.
    let payments = of_customer.iter().filter(|row| row.data.contains(' ')).count();
    if payments > ENTRIES_THAT_FIT as usize {
        findings.pushed_out += 1;
    } else {
        let begins: String = customer.data.chars().take(40).collect();
        let own = format!("{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {amount}|");
        findings.wrong.push(format!("{}: C_DATA lacks {own:?} and begins with {begins:?}", place()));
    }
}

fn judge_delivery(delivery: &SampledDelivery, rows: &Rows<'_>, findings: &mut Findings) {
    let SampledDelivery { w_id, carrier_id, delivered } = delivery;
    for (d_id, o_id) in delivered {
        let key = (*w_id, *d_id, *o_id);
        let place = || format!("ORDERS {w_id}/{d_id}/{o_id}");
        let Some(row) = findings.one(&place, rows.orders.get(&key)) else { continue };
        findings.equal(&place, "O_CARRIER_ID", row.carrier_id.unwrap_or(0), carrier_id.get());
        if rows.new_orders.contains(&key) {
            findings
                .wrong
                .push(format!("NEW_ORDER {w_id}/{d_id}/{o_id}: there is a row of a delivered order"));
        }
        let lines = rows.lines.get(&key).map_or(&[][..], Vec::as_slice);
        findings.equal(&place, "rows in ORDER_LINE", lines.len() as i64, row.ol_cnt);
        if let Some(line) = lines.iter().find(|line| !line.is_delivered) {
            let number = line.number;
            findings.wrong.push(format!("ORDER_LINE {w_id}/{d_id}/{o_id}/{number}: OL_DELIVERY_D is null"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_tpcc::text::Text;
    use lydite_tpcc::{Cents, CustomerId, DistrictId, ItemId, OrderId};

    const W: WarehouseId = WarehouseId(1);
    const D: DistrictId = DistrictId(2);

    fn stock() -> FoundStock {
        FoundStock { quantity: 50, ytd: 41, dist: [Text::from("d").expect("short"); 10] }
    }

    fn order() -> (SampledOrder, FoundRows) {
        let line = lydite_tpcc::transactions::OrderLineInput { i_id: ItemId(1), supply_w_id: W, quantity: 3 };
        let (o_id, c_id) = (OrderId(31), CustomerId(7));
        let sampled = SampledOrder { w_id: W, d_id: D, o_id, c_id, lines: vec![(line, 50, Cents(900))] };
        let key = (W, D, o_id);
        let row = FoundOrder { c_id, is_dated: true, carrier_id: None, ol_cnt: 1, all_local: true };
        let line = FoundLine {
            number: 1,
            i_id: ItemId(1),
            supply_w_id: W,
            quantity: 3,
            amount: Cents(900),
            is_delivered: false,
            dist_info: "d".into(),
        };
        let rows = FoundRows {
            orders: vec![(key, row)],
            lines: vec![(key, line)],
            new_orders: vec![key],
            stocks: vec![((W, ItemId(1)), stock())],
            ..FoundRows::default()
        };
        (sampled, rows)
    }

    /// Returns the faults that `look` finds in the rows.
    fn wrong(look: impl FnOnce(&Rows<'_>, &mut Findings), found: &FoundRows) -> Findings {
        let rows = Rows::of(found);
        let mut findings = Findings::default();
        look(&rows, &mut findings);
        findings
    }

    #[test]
    fn each_column_of_an_order_that_differs_is_named_with_both_values() {
        let loaded = Loaded { w_id: W, residues: vec![0] };
        let (sampled, good) = order();
        let said = |rows: &FoundRows| {
            wrong(|rows, findings| judge_order(&sampled, rows, &loaded, findings), rows).wrong
        };
        assert_eq!(said(&good), Vec::<String>::new());
        let spoiled = |spoil: &dyn Fn(&mut FoundRows)| {
            let mut rows = good.clone();
            spoil(&mut rows);
            said(&rows).join("; ")
        };
        assert_eq!(
            spoiled(&|rows| rows.orders[0].1.c_id = CustomerId(8)),
            "ORDERS 1/2/31: O_C_ID is 8 instead of 7"
        );
        assert_eq!(spoiled(&|rows| rows.orders.clear()), "ORDERS 1/2/31: 0 rows instead of 1");
        assert_eq!(
            spoiled(&|rows| rows.lines[0].1.quantity = 4),
            "ORDER_LINE 1/2/31/1: OL_QUANTITY is 4 instead of 3"
        );
        assert_eq!(
            spoiled(&|rows| rows.lines[0].1.amount = Cents(901)),
            "ORDER_LINE 1/2/31/1: OL_AMOUNT is 9.01 instead of 9.00"
        );
        assert_eq!(
            spoiled(&|rows| rows.new_orders.clear()),
            "ORDERS 1/2/31: no row in NEW_ORDER and no O_CARRIER_ID"
        );
        assert_eq!(
            spoiled(&|rows| rows.stocks[0].1.quantity = 53),
            "STOCK 1/1: S_QUANTITY 53 and S_YTD 41 are 3 modulo 91 together, and 0 was loaded"
        );
        assert_eq!(
            spoiled(&|rows| rows.stocks[0].1.quantity = 9),
            "STOCK 1/1: S_QUANTITY is 9, beyond 10 to 100"
        );
    }

    #[test]
    fn a_payment_that_later_ones_may_have_pushed_out_of_c_data_is_no_fault() {
        let (c_id, amount) = (CustomerId(7), Cents(1_234));
        let sampled = SampledPayment { w_id: W, d_id: D, c_w_id: W, c_d_id: D, c_id, amount };
        let key = (W, D, c_id);
        let row = |amount: i64, date: &str| FoundPayment {
            w_id: W,
            d_id: D,
            amount: Cents(amount),
            date: date.into(),
            data: "w    d".into(),
        };
        let found = |payments: usize, data: &str| FoundRows {
            payments: std::iter::once((key, row(1_234, "1")))
                .chain((1..payments).map(|_| (key, row(500_000, "2"))))
                .collect(),
            customers: vec![(key, FoundCustomer { credit: "BC".into(), data: data.into() })],
            warehouses: [(W, "w".to_owned())].into(),
            districts: [((W, D), "d".to_owned())].into(),
            ..FoundRows::default()
        };
        let judged = |found: &FoundRows| {
            let findings = wrong(|rows, findings| judge_payment(&sampled, rows, found, findings), found);
            (findings.wrong.join("; "), findings.pushed_out)
        };
        for entry in ["12.34", "12.340000", "0012.34"] {
            assert_eq!(judged(&found(1, &format!("7 2 1 2 1 {entry}|old"))), (String::new(), 0));
        }
        let lacks = "CUSTOMER 1/2/7: C_DATA lacks \"7 2 1 2 1 12.34|\" and begins with \"old\"";
        assert_eq!(judged(&found(1, "old")), (lacks.into(), 0));
        assert_eq!(judged(&found(10, "old")), (lacks.into(), 0));
        assert_eq!(judged(&found(12, "old")), (lacks.into(), 0));
        assert_eq!(judged(&found(13, "old")), (String::new(), 1));
        let gone = FoundRows { payments: Vec::new(), ..found(1, "") };
        assert_eq!(judged(&gone).0, "HISTORY of customer 1/2/7: no row of 12.34 in district 1/2");
    }
}
