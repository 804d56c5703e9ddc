//! Check of Lydite's own conditions by reading rows, for stores that have no query language.

mod accounts;

use super::own::{
    CUSTOMER_CONDITION, DISTRICT_CONDITION, HISTORY_CONDITION, ITEM_CONDITION, ORDER_LINE_CONDITION,
    ORDERS_CONDITION, OWN_CONDITIONS, PAYMENTS, PRICES, STOCK_CONDITION, WAREHOUSE_CONDITION, exchanged,
    price_sum, stock_residue,
};
use super::{Finding, OFFENDERS_SHOWN};
use crate::ids::{CustomerId, DistrictId, ItemId, OrderId, WarehouseId};
use crate::meta::Played;
use crate::money::Cents;
use crate::population::{INITIAL_OL_QUANTITY, INITIAL_PAYMENT, LineSums, Population};
use crate::rows::{AnyRow, District, History, Item, Order, OrderLine, Row, Stock, Warehouse};
use accounts::{Account, Accounts};
pub use accounts::{entries_of, paid};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// Reads the rows of a database and reports which of Lydite's own conditions hold.
///
/// Rows may come in any order, and any number of warehouses may be open at a time; [`OwnEvaluator::close`] judges one. An
/// open warehouse takes 24 bytes for each row of its stock and 48 for each customer. Stock and customers have their lines
/// and payments in any warehouse, so a difference of a few bytes stays for each of them until both sides are read.
#[derive(Debug)]
pub struct OwnEvaluator {
    population: Population,
    played: Played,
    /// I_PRICE as loaded, by I_ID - 1. The condition on ITEM compares them with the rows.
    prices: Vec<Cents>,
    items: u64,
    price_sum: Cents,
    /// The first items with another price than the loaded one: the price, and the loaded one.
    repriced: Vec<(ItemId, Cents, Cents)>,
    open: BTreeMap<WarehouseId, Open>,
    closed: Vec<WarehouseId>,
    /// Growth of STOCK less what lines say, where this is not zero (yet).
    growth: HashMap<(WarehouseId, ItemId), Growth>,
    accounts: Accounts,
    offenders: [Offenders; OWN_CONDITIONS.len()],
}

/// A row of STOCK without its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockCounts {
    /// S_W_ID.
    pub w_id: WarehouseId,
    /// S_I_ID.
    pub i_id: ItemId,
    /// S_QUANTITY.
    pub quantity: i32,
    /// S_YTD.
    pub ytd: u32,
    /// S_ORDER_CNT.
    pub order_cnt: u32,
    /// S_REMOTE_CNT.
    pub remote_cnt: u32,
}

impl From<&Stock> for StockCounts {
    fn from(row: &Stock) -> Self {
        let &Stock { w_id, i_id, quantity, ytd, order_cnt, remote_cnt, .. } = row;
        Self { w_id, i_id, quantity, ytd, order_cnt, remote_cnt }
    }
}

/// S_YTD, S_ORDER_CNT and S_REMOTE_CNT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Growth {
    ytd: i64,
    orders: i64,
    remote: i64,
}

impl Growth {
    fn add(&mut self, other: Self) {
        self.ytd += other.ytd;
        self.orders += other.orders;
        self.remote += other.remote;
    }
}

/// Order of offenders: warehouse, district, and up to two more numbers.
type Key = (u32, u16, u64, u32);

#[derive(Debug, Default)]
struct Offenders {
    total: u64,
    shown: Vec<(Key, String)>,
}

impl Offenders {
    fn add(&mut self, key: Key, what: fmt::Arguments<'_>) {
        self.total += 1;
        let place = self.shown.partition_point(|(other, _)| *other <= key);
        if place < OFFENDERS_SHOWN {
            self.shown.insert(place, (key, what.to_string()));
            self.shown.truncate(OFFENDERS_SHOWN);
        }
    }
}

/// An open warehouse.
#[derive(Debug)]
struct Open {
    warehouse: Warehouse,
    districts: Vec<District>,
    /// S_QUANTITY as loaded, by S_I_ID - 1; empty before the first row of STOCK.
    quantities: Vec<i32>,
    stock_rows: usize,
    stock: Vec<Growth>,
    sums: Vec<DistrictSums>,
    /// Orders that say that they have remote lines ([`SAYS`]), or that have some ([`HAS`]).
    remote: BTreeMap<(DistrictId, OrderId), u8>,
    accounts: Vec<Account>,
}

const SAYS: u8 = 1;
const HAS: u8 = 2;

/// Sums over a district.
#[derive(Clone, Copy, Debug, Default)]
struct DistrictSums {
    lines: LineSums,
    /// 1 + … + O_OL_CNT of all orders less OL_NUMBER of all lines.
    numbers: i64,
    /// Rows of HISTORY that were loaded.
    payments: u32,
}

impl OwnEvaluator {
    /// Returns an evaluator for a database that was loaded with `population`, where these other transactions ran since.
    #[must_use]
    pub fn new(population: Population, played: Played) -> Self {
        Self {
            prices: population.items().map(|item| item.price).collect(),
            population,
            played,
            items: 0,
            price_sum: Cents(0),
            repriced: Vec::new(),
            open: BTreeMap::new(),
            closed: Vec::new(),
            growth: HashMap::new(),
            accounts: Accounts::default(),
            offenders: Default::default(),
        }
    }

    /// Reads a row. Rows of warehouses that were not loaded do not count: condition 1 finds them.
    pub fn add<R: Row>(&mut self, row: &R) {
        match row.as_any() {
            AnyRow::Item(row) => self.item(row),
            AnyRow::Warehouse(row) => self.warehouse(row),
            AnyRow::District(row) => self.district(row),
            AnyRow::Customer(row) => self.customer(row),
            AnyRow::History(row) => self.history(row),
            AnyRow::Order(row) => self.order(row),
            AnyRow::NewOrder(_) => {}
            AnyRow::OrderLine(row) => self.order_line(row),
            AnyRow::Stock(row) => self.stock(&row.into()),
        }
    }

    fn offend(&mut self, number: u8, key: Key, what: fmt::Arguments<'_>) {
        self.offenders[usize::from(number - ITEM_CONDITION)].add(key, what);
    }

    fn open(&mut self, w: WarehouseId) -> Option<&mut Open> {
        if !(1..=self.population.warehouses).contains(&w.0) {
            return None;
        }
        let population = &self.population;
        Some(self.open.entry(w).or_insert_with(|| {
            let districts: Vec<District> = population.districts(w).collect();
            let customers = districts.len() * population.size.customers() as usize;
            Open {
                warehouse: population.warehouse(w),
                quantities: Vec::new(),
                stock_rows: 0,
                stock: vec![Growth::default(); population.districts.stock(w, population.size) as usize],
                sums: vec![DistrictSums::default(); districts.len()],
                districts,
                remote: BTreeMap::new(),
                accounts: vec![Account::default(); customers],
            }
        }))
    }

    fn sums(&mut self, w: WarehouseId, d: DistrictId) -> Option<&mut DistrictSums> {
        self.open(w)?.sums.get_mut(usize::from(d.0).wrapping_sub(1))
    }

    /// Returns the account of a customer at home; none if he was not loaded.
    fn account(&mut self, (w, d, c): (WarehouseId, DistrictId, CustomerId)) -> Option<&mut Account> {
        let customers = self.population.size.customers() as usize;
        let place = (c.0 as usize).wrapping_sub(1);
        let district = usize::from(d.0).wrapping_sub(1);
        let open = self.open(w)?;
        (place < customers).then_some(())?;
        open.accounts.get_mut(district.checked_mul(customers)?.checked_add(place)?)
    }

    fn price(&self, item: ItemId) -> Option<Cents> {
        self.prices.get((item.0 as usize).wrapping_sub(1)).copied()
    }

    fn item(&mut self, row: &Item) {
        self.items += 1;
        self.price_sum += row.price;
        let loaded = self.price(row.id);
        if loaded != Some(row.price) && !self.played.update_item {
            if self.repriced.len() <= 2 {
                self.repriced.push((row.id, row.price, loaded.unwrap_or_default()));
            }
            let was = loaded.map_or("no such item".to_owned(), |price| price.to_string());
            self.offend(
                ITEM_CONDITION,
                (0, 0, row.id.0.into(), 0),
                format_args!("i={}: I_PRICE {}, and {was} was loaded", row.id, row.price),
            );
        }
    }

    fn warehouse(&mut self, row: &Warehouse) {
        let Some(open) = self.open(row.id) else { return };
        let loaded = &open.warehouse;
        if (row.name, row.tax, &row.address) != (loaded.name, loaded.tax, &loaded.address) {
            let what = format!(
                "w={}: W_NAME {}, W_TAX {}; {} and {} were loaded, with an address",
                row.id, row.name, row.tax, loaded.name, loaded.tax
            );
            self.offend(WAREHOUSE_CONDITION, (row.id.0, 0, 0, 0), format_args!("{what}"));
        }
    }

    fn district(&mut self, row: &District) {
        let Some(open) = self.open(row.w_id) else { return };
        let Some(loaded) = open.districts.get(usize::from(row.id.0).wrapping_sub(1)) else { return };
        if (row.name, row.tax, &row.address) != (loaded.name, loaded.tax, &loaded.address) {
            let what = format!(
                "w={} d={}: D_NAME {}, D_TAX {}; {} and {} were loaded, with an address",
                row.w_id, row.id, row.name, row.tax, loaded.name, loaded.tax
            );
            self.offend(DISTRICT_CONDITION, (row.w_id.0, row.id.0, 0, 0), format_args!("{what}"));
        }
    }

    fn history(&mut self, row: &History) {
        let customer = (row.c_w_id, row.c_d_id, row.c_id);
        let is_loaded = !row.data.contains(' ');
        if is_loaded && let Some(sums) = self.sums(row.c_w_id, row.c_d_id).filter(|_| row.c_w_id == row.w_id)
        {
            sums.payments += 1;
        }
        let entry = (!is_loaded).then_some((row.d_id, row.w_id, row.amount));
        if row.c_w_id == row.w_id {
            if let Some(account) = self.account(customer) {
                account.pay(row.amount, entry);
            }
        } else if self.open(row.w_id).is_some() {
            self.accounts.pay(customer, row.amount, entry);
        }
        let Some(open) = self.open(row.w_id) else { return };
        let right = if is_loaded {
            row.amount == INITIAL_PAYMENT && (row.c_w_id, row.c_d_id) == (row.w_id, row.d_id)
        } else {
            let district = open.districts.get(usize::from(row.d_id.0).wrapping_sub(1));
            let parts = row.data.split_once("    ");
            let names = district.map(|district| (&*open.warehouse.name, &*district.name));
            parts == names && names.is_some() && PAYMENTS.contains(&row.amount)
        };
        if !right {
            self.offend(
                HISTORY_CONDITION,
                (row.w_id.0, row.d_id.0, row.c_id.0.into(), 0),
                format_args!(
                    "w={} d={} of customer w={} d={} c={}: H_AMOUNT {}, H_DATA {:?}",
                    row.w_id, row.d_id, row.c_w_id, row.c_d_id, row.c_id, row.amount, &*row.data
                ),
            );
        }
    }

    fn customer(&mut self, row: &crate::rows::Customer) {
        let Some(account) = self.account((row.w_id, row.d_id, row.id)) else { return };
        if let Some(what) = account.customer(row) {
            let key = (row.w_id.0, row.d_id.0, row.id.0.into(), 0);
            let (w, d, c) = (row.w_id, row.d_id, row.id);
            self.offend(CUSTOMER_CONDITION, key, format_args!("w={w} d={d} c={c}: {what}"));
        }
    }

    fn order(&mut self, row: &Order) {
        let count = i64::from(row.ol_cnt);
        let Some(sums) = self.sums(row.w_id, row.d_id) else { return };
        sums.numbers += count * (count + 1) / 2;
        if row.carrier_id.is_some()
            && !self.population.size.is_delivered(row.id)
            && let Some(account) = self.account((row.w_id, row.d_id, row.c_id))
        {
            account.deliver();
        }
        if let Some(carrier) = row.carrier_id.filter(|carrier| !(1..=10).contains(&carrier.0)) {
            self.offend(
                ORDERS_CONDITION,
                (row.w_id.0, row.d_id.0, row.id.0, 0),
                format_args!("w={} d={} o={}: O_CARRIER_ID {carrier}", row.w_id, row.d_id, row.id),
            );
        }
        if !row.all_local {
            self.remote(row.w_id, row.d_id, row.id, SAYS);
        }
    }

    fn remote(&mut self, w: WarehouseId, d: DistrictId, o: OrderId, flag: u8) {
        if let Some(open) = self.open(w) {
            *open.remote.entry((d, o)).or_default() |= flag;
        }
    }

    fn order_line(&mut self, row: &OrderLine) {
        let is_loaded = row.o_id.0 <= u64::from(self.population.size.orders());
        let remote = row.supply_w_id != row.w_id;
        let Some(sums) = self.sums(row.w_id, row.d_id) else { return };
        sums.numbers -= i64::from(row.number);
        if remote {
            self.remote(row.w_id, row.d_id, row.o_id, HAS);
        }
        let right = if is_loaded {
            if let Some(sums) = self.sums(row.w_id, row.d_id) {
                sums.lines.add(row.i_id, row.amount);
            }
            row.quantity == INITIAL_OL_QUANTITY && !remote
        } else {
            self.ordered(row, remote);
            (1..=10).contains(&row.quantity) && self.is_priced(row)
        };
        if !right {
            let price = self.price(row.i_id).map_or("none".to_owned(), |price| price.to_string());
            self.offend(
                ORDER_LINE_CONDITION,
                (row.w_id.0, row.d_id.0, row.o_id.0, row.number.into()),
                format_args!(
                    "w={} d={} o={} number={}: OL_I_ID {}, OL_SUPPLY_W_ID {}, OL_QUANTITY {}, OL_AMOUNT {}, loaded \
                     I_PRICE {price}",
                    row.w_id,
                    row.d_id,
                    row.o_id,
                    row.number,
                    row.i_id,
                    row.supply_w_id,
                    row.quantity,
                    row.amount
                ),
            );
        }
    }

    /// True if the amount of a line is its quantity times its price.
    fn is_priced(&self, row: &OrderLine) -> bool {
        let quantity = i64::from(row.quantity);
        match self.price(row.i_id) {
            // Items have exchanged their prices.
            Some(_) if self.played.update_item => {
                quantity > 0
                    && row.amount.0 % quantity == 0
                    && PRICES.contains(&Cents(row.amount.0 / quantity))
            }
            Some(price) => row.amount == price.times(row.quantity.into()),
            None => false,
        }
    }

    /// Takes a line since the load from the growth of its stock.
    fn ordered(&mut self, row: &OrderLine, remote: bool) {
        let taken = Growth { ytd: -i64::from(row.quantity), orders: -1, remote: -i64::from(remote) };
        let place = (row.i_id.0 as usize).wrapping_sub(1);
        let home = self.open(row.w_id).filter(|_| !remote);
        match home.and_then(|open| open.stock.get_mut(place)) {
            Some(growth) => growth.add(taken),
            None => self.grow((row.supply_w_id, row.i_id), taken),
        }
    }

    /// Adds to the growth of a row of STOCK that is not decided yet. An entry of zero is removed.
    fn grow(&mut self, stock: (WarehouseId, ItemId), by: Growth) {
        let growth = self.growth.entry(stock).or_default();
        growth.add(by);
        if *growth == Growth::default() {
            self.growth.remove(&stock);
        }
    }

    /// Reads the counts of a row of STOCK. The rest of the row is text that no condition needs.
    pub fn stock(&mut self, row: &StockCounts) {
        if self.open(row.w_id).is_some_and(|open| open.quantities.is_empty()) {
            let quantities = self.population.stock_quantities(row.w_id).collect();
            self.open.entry(row.w_id).and_modify(|open| open.quantities = quantities);
        }
        let Some(open) = self.open(row.w_id) else { return };
        open.stock_rows += 1;
        let place = (row.i_id.0 as usize).wrapping_sub(1);
        let loaded = open.quantities.get(place).copied();
        if let Some(growth) = open.stock.get_mut(place) {
            let [ytd, orders, remote] = [row.ytd, row.order_cnt, row.remote_cnt].map(i64::from);
            growth.add(Growth { ytd, orders, remote });
        }
        let counts = u64::from(row.order_cnt)..=10 * u64::from(row.order_cnt);
        let possible = (10..=100).contains(&row.quantity)
            && counts.contains(&row.ytd.into())
            && row.remote_cnt <= row.order_cnt;
        if !possible
            || loaded.map(|loaded| stock_residue(loaded, 0)) != Some(stock_residue(row.quantity, row.ytd))
        {
            let was = loaded.map_or("none".to_owned(), |loaded| loaded.to_string());
            self.offend(
                STOCK_CONDITION,
                (row.w_id.0, 0, row.i_id.0.into(), 0),
                format_args!(
                    "w={} i={}: S_QUANTITY {}, S_YTD {}, S_ORDER_CNT {}, S_REMOTE_CNT {}, loaded S_QUANTITY {was}",
                    row.w_id, row.i_id, row.quantity, row.ytd, row.order_cnt, row.remote_cnt
                ),
            );
        }
    }

    /// Judges a warehouse whose rows are all read, and forgets them.
    pub fn close(&mut self, w: WarehouseId) {
        let Some(_) = self.open(w) else { return };
        let Some(open) = self.open.remove(&w) else { return };
        self.closed.push(w);
        if open.stock_rows != open.stock.len() {
            self.offend(
                STOCK_CONDITION,
                (w.0, 0, 0, 0),
                format_args!("w={w}: {} rows of STOCK instead of {}", open.stock_rows, open.stock.len()),
            );
        }
        for (growth, item) in open.stock.into_iter().zip(1..) {
            if growth != Growth::default() {
                self.grow((w, ItemId(item)), growth);
            }
        }
        self.judge_districts(w, &open.sums);
        for ((d, o), flags) in open.remote {
            if flags != SAYS | HAS {
                let [says, has] = if flags == SAYS { ["0", "no"] } else { ["1", "a"] };
                self.offend(
                    ORDERS_CONDITION,
                    (w.0, d.0, o.0, 0),
                    format_args!("w={w} d={d} o={o}: O_ALL_LOCAL {says}, {has} line of another warehouse"),
                );
            }
        }
        let customers: Vec<_> = self.population.customers(w).zip(open.accounts).collect();
        for (loaded, account) in customers {
            let (w, d, c) = (loaded.w_id, loaded.d_id, loaded.id);
            if let Some(what) = account.against(&loaded) {
                self.offend(
                    CUSTOMER_CONDITION,
                    (w.0, d.0, c.0.into(), 0),
                    format_args!("w={w} d={d} c={c}: {what}"),
                );
            }
            self.accounts.settle((w, d, c), account);
        }
    }

    fn judge_districts(&mut self, w: WarehouseId, found: &[DistrictSums]) {
        let loaded = self.population.line_sums(w);
        let customers = self.population.size.customers();
        for ((sums, loaded), d) in found.iter().zip(loaded).zip(1..) {
            if sums.lines != loaded {
                self.offend(
                    ORDER_LINE_CONDITION,
                    (w.0, d, 0, 0),
                    format_args!("w={w} d={d}: loaded lines are {}; {loaded} were loaded", sums.lines),
                );
            }
            if sums.numbers != 0 {
                self.offend(
                    ORDER_LINE_CONDITION,
                    (w.0, d, 0, 0),
                    format_args!(
                        "w={w} d={d}: the sum of OL_NUMBER differs by {} from lines that are counted from 1",
                        sums.numbers
                    ),
                );
            }
            if sums.payments != customers {
                self.offend(
                    HISTORY_CONDITION,
                    (w.0, d, 0, 0),
                    format_args!(
                        "w={w} d={d}: {} rows without names in H_DATA, and {customers} were loaded",
                        sums.payments
                    ),
                );
            }
        }
    }

    /// Judges what is open, and the warehouses without any row, and returns one finding for each condition, by number.
    #[must_use]
    pub fn finish(mut self) -> Vec<Finding> {
        self.closed.sort_unstable();
        for w in self.population.warehouse_ids() {
            if self.closed.binary_search(&w).is_err() {
                self.close(w);
            }
        }
        if let Some(why) = exchanged(&self.repriced)
            && let Some((_, last)) = self.offenders[0].shown.last_mut()
        {
            *last += &format!(": {why}");
        }
        let (items, found, loaded) = (self.items, self.price_sum, self.population.size.items());
        let sum = price_sum(&self.population);
        if (items, found) != (loaded.into(), sum) {
            self.offend(
                ITEM_CONDITION,
                (0, 0, 0, 0),
                format_args!("all: {items} items, sum of I_PRICE {found}; {loaded} and {sum} were loaded"),
            );
        }
        let at_least = self.played.update_stock;
        for ((w, i), Growth { ytd, orders, remote }) in std::mem::take(&mut self.growth) {
            if !at_least || [ytd, orders, remote].iter().any(|&growth| growth < 0) {
                self.offend(
                    STOCK_CONDITION,
                    (w.0, 0, i.0.into(), 1),
                    format_args!(
                        "w={w} i={i}: S_YTD, S_ORDER_CNT and S_REMOTE_CNT differ by {ytd}, {orders} and {remote} from \
                         the lines since the load"
                    ),
                );
            }
        }
        for ((w, d, c), what) in std::mem::take(&mut self.accounts).unsettled() {
            self.offend(
                CUSTOMER_CONDITION,
                (w.0, d.0, c.0.into(), 1),
                format_args!("w={w} d={d} c={c}: {what}"),
            );
        }
        OWN_CONDITIONS
            .iter()
            .zip(self.offenders)
            .map(|(condition, offenders)| Finding {
                condition,
                ok: offenders.total == 0,
                offenders: offenders.shown.into_iter().map(|(_, what)| what).collect(),
                total: offenders.total,
            })
            .collect()
    }
}
