//! Check of the conditions by reading rows, for stores that have no query language.

use super::{CONDITION_COUNT, CONDITIONS, Condition};
use crate::ids::{CustomerId, DistrictId, OrderId, WarehouseId};
use crate::money::Cents;
use crate::population::RowWriter;
use crate::rows::{AnyRow, History, Order, OrderLine, Row};
use crate::scale::{Districts, Size};
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::fmt;

/// Number of offenders that a [`Finding`] names.
pub const OFFENDERS_SHOWN: usize = 5;

/// Result of the check of one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The condition.
    pub condition: &'static Condition,
    /// True if the condition holds.
    pub ok: bool,
    /// The first offenders by key, like `w=3 d=4 o=3007: O_OL_CNT 7, lines 6`.
    pub offenders: Vec<String>,
    /// Number of offenders.
    pub total: u64,
}

/// Reads the rows of a database and reports which conditions hold.
///
/// Rows may come in any order, and any number of warehouses may be open at a time. An open warehouse takes some 100
/// bytes for each of its orders and customers (7 MB as loaded). [`Evaluator::close`] judges it and frees this memory,
/// so reading one warehouse after the other needs the memory of the largest one. The rows of a warehouse are those that
/// bear its number; of HISTORY, those with its number in H_W_ID.
///
/// Only condition 10 reaches across warehouses: it sums a customer's payments wherever they were made. All other
/// conditions, 8, 9 and 12 too, read rows of one warehouse. So the evaluator keeps the difference between the two sides
/// of condition 10 for each customer while it is not zero. This takes some 50 bytes for each customer who paid at
/// another warehouse and has only one side read so far: at most one entry for each remote payment.
///
/// Several threads can each read a share of the warehouses with an evaluator of their own; see [`Evaluator::merge`].
#[derive(Debug)]
pub struct Evaluator {
    districts: Districts,
    size: Size,
    open: BTreeMap<WarehouseId, OpenWarehouse>,
    /// C_BALANCE - delivered + paid, for customers where this is not zero (yet).
    differences: HashMap<(WarehouseId, DistrictId, CustomerId), Cents>,
    violations: [Violations; CONDITION_COUNT],
    /// Warehouses that are judged.
    closed: Vec<WarehouseId>,
}

/// Location of an offender. Offenders are shown in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    w: WarehouseId,
    d: Option<DistrictId>,
    row: RowKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RowKey {
    None,
    Order(OrderId),
    Customer(CustomerId),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "w={}", self.w)?;
        if let Some(d) = self.d {
            write!(f, " d={d}")?;
        }
        match self.row {
            RowKey::None => Ok(()),
            RowKey::Order(o) => write!(f, " o={o}"),
            RowKey::Customer(c) => write!(f, " c={c}"),
        }
    }
}

#[derive(Debug, Default)]
struct Violations {
    total: u64,
    /// The offenders with the least keys so far, sorted.
    shown: Vec<(Key, String)>,
}

impl Violations {
    fn add(&mut self, key: Key, what: fmt::Arguments<'_>) {
        self.total += 1;
        self.show(key, || what.to_string());
    }

    fn show(&mut self, key: Key, what: impl FnOnce() -> String) {
        let place = self.shown.partition_point(|(other, _)| *other <= key);
        if place < OFFENDERS_SHOWN {
            self.shown.insert(place, (key, what()));
            self.shown.truncate(OFFENDERS_SHOWN);
        }
    }
}

#[derive(Debug, Default)]
struct OpenWarehouse {
    ytd: Option<Cents>,
    paid: Cents,
    districts: BTreeMap<DistrictId, OpenDistrict>,
}

#[derive(Debug, Default)]
struct OpenDistrict {
    row: Option<DistrictFacts>,
    paid: Cents,
    order_count: u64,
    new_order_count: u64,
    line_count: u64,
    lines_announced: u64,
    orders: BTreeMap<OrderId, OrderFacts>,
    customers: BTreeMap<CustomerId, CustomerFacts>,
}

#[derive(Clone, Copy, Debug)]
struct DistrictFacts {
    ytd: Cents,
    next_o_id: OrderId,
}

#[derive(Debug, Default)]
struct OrderFacts {
    row: Option<OrderRow>,
    is_new: bool,
    lines: u32,
    undelivered_lines: u32,
    delivered: Cents,
}

#[derive(Clone, Copy, Debug)]
struct OrderRow {
    customer: CustomerId,
    has_carrier: bool,
    ol_cnt: u8,
}

#[derive(Debug, Default)]
struct CustomerFacts {
    row: Option<CustomerRow>,
    delivered: Cents,
    paid_here: Cents,
}

#[derive(Clone, Copy, Debug)]
struct CustomerRow {
    balance: Cents,
    ytd_payment: Cents,
    delivery_cnt: u32,
}

impl Default for Evaluator {
    fn default() -> Self {
        Self::new()
    }
}

impl RowWriter for Evaluator {
    type Error = Infallible;

    fn write<R: Row>(&mut self, row: &R) -> Result<(), Infallible> {
        self.add(row);
        Ok(())
    }
}

impl Evaluator {
    /// Returns an evaluator for a database with the standard's rows and ten districts for each warehouse.
    #[must_use]
    pub fn new() -> Self {
        Self::of(Districts::uniform(), Size::Standard)
    }

    /// Returns an evaluator for a database with these districts of this size.
    #[must_use]
    pub fn of(districts: Districts, size: Size) -> Self {
        Self {
            districts,
            size,
            open: BTreeMap::new(),
            differences: HashMap::new(),
            violations: Default::default(),
            closed: Vec::new(),
        }
    }

    /// Reads a row. Conditions do not use rows of ITEM and STOCK, so these may be left out.
    pub fn add<R: Row>(&mut self, row: &R) {
        match row.as_any() {
            AnyRow::Item(_) | AnyRow::Stock(_) => {}
            AnyRow::Warehouse(row) => self.open.entry(row.id).or_default().ytd = Some(row.ytd),
            AnyRow::District(row) => {
                self.district(row.w_id, row.id).row =
                    Some(DistrictFacts { ytd: row.ytd, next_o_id: row.next_o_id });
            }
            AnyRow::Customer(row) => {
                let facts = self.district(row.w_id, row.d_id).customers.entry(row.id).or_default();
                facts.row = Some(CustomerRow {
                    balance: row.balance,
                    ytd_payment: row.ytd_payment,
                    delivery_cnt: row.delivery_cnt,
                });
            }
            AnyRow::History(row) => self.history(row),
            AnyRow::Order(row) => self.order(row),
            AnyRow::NewOrder(row) => {
                let district = self.district(row.w_id, row.d_id);
                district.new_order_count += 1;
                district.orders.entry(row.o_id).or_default().is_new = true;
            }
            AnyRow::OrderLine(row) => self.order_line(row),
        }
    }

    fn district(&mut self, w: WarehouseId, d: DistrictId) -> &mut OpenDistrict {
        self.open.entry(w).or_default().districts.entry(d).or_default()
    }

    fn history(&mut self, row: &History) {
        let warehouse = self.open.entry(row.w_id).or_default();
        warehouse.paid += row.amount;
        warehouse.districts.entry(row.d_id).or_default().paid += row.amount;
        if row.c_w_id == row.w_id {
            let district = warehouse.districts.entry(row.c_d_id).or_default();
            district.customers.entry(row.c_id).or_default().paid_here += row.amount;
        } else {
            self.differ((row.c_w_id, row.c_d_id, row.c_id), row.amount);
        }
    }

    fn order(&mut self, row: &Order) {
        let district = self.district(row.w_id, row.d_id);
        district.order_count += 1;
        district.lines_announced += u64::from(row.ol_cnt);
        district.orders.entry(row.id).or_default().row =
            Some(OrderRow { customer: row.c_id, has_carrier: row.carrier_id.is_some(), ol_cnt: row.ol_cnt });
    }

    fn order_line(&mut self, row: &OrderLine) {
        let district = self.district(row.w_id, row.d_id);
        district.line_count += 1;
        let order = district.orders.entry(row.o_id).or_default();
        order.lines += 1;
        if row.delivery_d.is_some() {
            order.delivered += row.amount;
        } else {
            order.undelivered_lines += 1;
        }
    }

    /// Adds to the customer's difference of condition 10. An entry of zero is removed.
    fn differ(&mut self, customer: (WarehouseId, DistrictId, CustomerId), amount: Cents) {
        if amount == Cents(0) {
            return;
        }
        let difference = self.differences.entry(customer).or_default();
        *difference += amount;
        if *difference == Cents(0) {
            self.differences.remove(&customer);
        }
    }

    /// Judges a warehouse whose rows are all read, and forgets them. Does nothing if no row was read.
    pub fn close(&mut self, w: WarehouseId) {
        let Some(mut warehouse) = self.open.remove(&w) else { return };
        self.judge_sums(w, &warehouse);
        for d in self.districts.ids(w) {
            // A district without any row has lost its DISTRICT row.
            warehouse.districts.entry(d).or_default();
        }
        for (d, mut district) in warehouse.districts {
            self.judge_district(w, d, &district);
            self.judge_orders(w, d, &district);
            for order in district.orders.values() {
                if let Some(row) = order.row {
                    district.customers.entry(row.customer).or_default().delivered += order.delivered;
                }
            }
            self.judge_customers(w, d, &district);
        }
        self.closed.push(w);
    }

    fn violate(&mut self, number: usize, key: Key, what: fmt::Arguments<'_>) {
        self.violations[number - 1].add(key, what);
    }

    /// Judges conditions 1 and 8.
    fn judge_sums(&mut self, w: WarehouseId, warehouse: &OpenWarehouse) {
        let key = Key { w, d: None, row: RowKey::None };
        let Some(ytd) = warehouse.ytd else {
            self.miss_warehouse(w);
            return;
        };
        let districts: Cents = warehouse.districts.values().filter_map(|d| Some(d.row?.ytd)).sum();
        if ytd != districts {
            self.violate(1, key, format_args!("W_YTD {ytd}, sum of D_YTD {districts}"));
        }
        let loaded = self.districts.of(w);
        if let Some((d, _)) = warehouse.districts.iter().find(|(d, of)| d.0 > loaded && of.row.is_some()) {
            self.violate(1, key, format_args!("district {d}, and {loaded} districts were loaded"));
        }
        if ytd != warehouse.paid {
            self.violate(8, key, format_args!("W_YTD {ytd}, sum of H_AMOUNT {}", warehouse.paid));
        }
    }

    fn miss_warehouse(&mut self, w: WarehouseId) {
        for number in [1, 8] {
            self.violate(number, Key { w, d: None, row: RowKey::None }, format_args!("no WAREHOUSE row"));
        }
    }

    /// Judges conditions 2, 3, 4, 9 and 11.
    fn judge_district(&mut self, w: WarehouseId, d: DistrictId, district: &OpenDistrict) {
        let key = Key { w, d: Some(d), row: RowKey::None };
        let rows = |(id, order): (&OrderId, &OrderFacts)| order.row.map(|_| id.get());
        let last_order = district.orders.iter().rev().find_map(rows).unwrap_or(0);
        let new = |(id, order): (&OrderId, &OrderFacts)| order.is_new.then_some(id.get());
        let last_new = district.orders.iter().rev().find_map(new);
        let first_new = district.orders.iter().find_map(new);

        if let Some(DistrictFacts { ytd, next_o_id }) = district.row {
            let last = next_o_id.get() - 1;
            if last != last_order || last_new.is_some_and(|new| last != new) {
                let new = last_new.map_or_else(|| "none".to_owned(), |new| new.to_string());
                self.violate(
                    2,
                    key,
                    format_args!("D_NEXT_O_ID {next_o_id}, last O_ID {last_order}, last NO_O_ID {new}"),
                );
            }
            if ytd != district.paid {
                self.violate(9, key, format_args!("D_YTD {ytd}, sum of H_AMOUNT {}", district.paid));
            }
        } else if d.0 <= self.districts.of(w) {
            self.violate(2, key, format_args!("no DISTRICT row"));
            self.violate(9, key, format_args!("no DISTRICT row"));
        }
        if let (Some(first), Some(last)) = (first_new, last_new) {
            let count = district.new_order_count;
            if last.abs_diff(first) + 1 != count {
                self.violate(3, key, format_args!("NO_O_ID {first} to {last}, new orders {count}"));
            }
        }
        if district.lines_announced != district.line_count {
            self.violate(
                4,
                key,
                format_args!("sum of O_OL_CNT {}, lines {}", district.lines_announced, district.line_count),
            );
        }
        let deliveries: u64 =
            district.customers.values().filter_map(|c| Some(u64::from(c.row?.delivery_cnt))).sum();
        let (orders, new_orders) = (district.order_count, district.new_order_count);
        if orders != new_orders + u64::from(self.size.delivered()) + deliveries {
            self.violate(
                11,
                key,
                format_args!("orders {orders}, new orders {new_orders}, sum of C_DELIVERY_CNT {deliveries}"),
            );
        }
    }

    /// Judges conditions 5, 6 and 7.
    fn judge_orders(&mut self, w: WarehouseId, d: DistrictId, district: &OpenDistrict) {
        for (&id, order) in &district.orders {
            let key = Key { w, d: Some(d), row: RowKey::Order(id) };
            let Some(row) = order.row else {
                if order.is_new {
                    self.violate(5, key, format_args!("a NEW-ORDER row without its order"));
                }
                if order.lines > 0 {
                    self.violate(6, key, format_args!("{} lines without their order", order.lines));
                }
                continue;
            };
            let carrier = if row.has_carrier { "set" } else { "null" };
            if row.has_carrier == order.is_new {
                let new = if order.is_new { "a" } else { "no" };
                self.violate(5, key, format_args!("O_CARRIER_ID {carrier}, {new} NEW-ORDER row"));
            }
            if u32::from(row.ol_cnt) != order.lines {
                self.violate(6, key, format_args!("O_OL_CNT {}, lines {}", row.ol_cnt, order.lines));
            }
            let allowed = if row.has_carrier { 0 } else { order.lines };
            if order.undelivered_lines != allowed {
                self.violate(
                    7,
                    key,
                    format_args!(
                        "O_CARRIER_ID {carrier}, OL_DELIVERY_D null in {} of {} lines",
                        order.undelivered_lines, order.lines
                    ),
                );
            }
        }
    }

    /// Judges condition 12, and this warehouse's part of condition 10.
    fn judge_customers(&mut self, w: WarehouseId, d: DistrictId, district: &OpenDistrict) {
        for (&id, customer) in &district.customers {
            let key = Key { w, d: Some(d), row: RowKey::Customer(id) };
            let delivered = customer.delivered;
            let balance = customer.row.map_or(Cents(0), |row| row.balance);
            self.differ((w, d, id), balance - delivered + customer.paid_here);
            match customer.row {
                Some(CustomerRow { balance, ytd_payment, .. }) if balance + ytd_payment != delivered => {
                    self.violate(
                        12,
                        key,
                        format_args!(
                            "C_BALANCE {balance}, C_YTD_PAYMENT {ytd_payment}, delivered {delivered}"
                        ),
                    );
                }
                None if delivered != Cents(0) => {
                    self.violate(12, key, format_args!("no CUSTOMER row, delivered {delivered}"));
                }
                _ => {}
            }
        }
    }

    fn close_all(&mut self) {
        while let Some((&w, _)) = self.open.first_key_value() {
            self.close(w);
        }
    }

    /// Adds the findings of another evaluator, after judging its open warehouses. All rows of a warehouse must have
    /// gone to the same evaluator.
    pub fn merge(&mut self, mut other: Self) {
        other.close_all();
        for (customer, difference) in other.differences {
            self.differ(customer, difference);
        }
        for (into, from) in self.violations.iter_mut().zip(other.violations) {
            into.total += from.total;
            for (key, what) in from.shown {
                into.show(key, || what);
            }
        }
        self.closed.extend(other.closed);
    }

    /// Judges the open warehouses and returns one finding for each condition, by number. Warehouses 1 to `warehouses`
    /// must all be there.
    #[must_use]
    pub fn finish(mut self, warehouses: u32) -> Vec<Finding> {
        self.close_all();
        for ((w, d, c), difference) in std::mem::take(&mut self.differences) {
            let key = Key { w, d: Some(d), row: RowKey::Customer(c) };
            self.violate(10, key, format_args!("C_BALANCE differs from delivered less paid by {difference}"));
        }
        self.closed.sort_unstable();
        for w in (1..=warehouses).map(WarehouseId) {
            if self.closed.binary_search(&w).is_err() {
                self.miss_warehouse(w);
            }
        }
        let named = |(key, what)| format!("{key}: {what}");
        CONDITIONS
            .iter()
            .zip(self.violations)
            .map(|(condition, violations)| Finding {
                condition,
                ok: violations.total == 0,
                offenders: violations.shown.into_iter().map(named).collect(),
                total: violations.total,
            })
            .collect()
    }
}
