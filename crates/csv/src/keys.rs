//! The keys of another program's rows: each id within its bounds, no key twice, and each order with its lines.
//!
//! A warehouse takes about 110 KB: a bit for each row that it must have, and three bytes for each order.

use crate::error::Unfit;
use crate::parse::OwnRow;
use lydite_tpcc::schema::Table;
use lydite_tpcc::transactions::MAX_ORDER_LINES;
use lydite_tpcc::{DISTRICTS_PER_WAREHOUSE, DistrictId, Size};
use parking_lot::Mutex;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Most lines of an order (clause 4.3.3.1).
const MOST_LINES: u8 = MAX_ORDER_LINES as u8;
/// Fewest lines of an order.
const FEWEST_LINES: u8 = 5;

/// The keys that were found so far.
pub(crate) struct Keys {
    size: Size,
    items: Mutex<Bits>,
    /// By the number of the warehouse less one.
    of: Vec<Mutex<OfWarehouse>>,
}

/// A set of small numbers.
#[derive(Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn with(count: u64) -> Self {
        Self(vec![0; count.div_ceil(64) as usize])
    }

    /// Adds a number, and returns false if it is there already.
    fn add(&mut self, number: u64) -> bool {
        let Some(word) = self.0.get_mut((number / 64) as usize) else { return false };
        let bit = 1 << (number % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}

/// The keys of a warehouse.
struct OfWarehouse {
    /// True once its row of WAREHOUSE is found.
    found: bool,
    districts: Bits,
    customers: Bits,
    stock: Bits,
    new_orders: Bits,
    /// O_OL_CNT of each order, 0 until it is found.
    counts: Vec<u8>,
    /// Numbers of the lines of each order, a bit each.
    lines: Vec<u16>,
}

impl OfWarehouse {
    fn new(size: Size) -> Self {
        let districts = u64::from(DISTRICTS_PER_WAREHOUSE);
        let orders = districts * u64::from(size.orders());
        Self {
            found: false,
            districts: Bits::with(districts),
            customers: Bits::with(districts * u64::from(size.customers())),
            stock: Bits::with(size.items().into()),
            new_orders: Bits::with(orders),
            counts: vec![0; orders as usize],
            lines: vec![0; orders as usize],
        }
    }

    /// Adds a row of this warehouse. Returns false if its key is there already.
    fn add(&mut self, row: &OwnRow, size: Size, warehouses: u32) -> Result<bool, Unfit> {
        let (customers, orders) = (size.customers(), size.orders());
        let (items, last) = (size.items(), u64::from(orders));
        Ok(match row {
            // Its table is no warehouse's.
            OwnRow::Item(_) => true,
            OwnRow::Warehouse(_) => !std::mem::replace(&mut self.found, true),
            OwnRow::District(row) => {
                within("d_next_o_id", row.next_o_id.0, last + 1..=last + 1)?;
                let at = place(("d_id", row.id), 1, 1)?;
                self.districts.add(at)
            }
            OwnRow::Customer(row) => {
                within("c_id", row.id.0, 1..=customers)?;
                self.customers.add(place(("c_d_id", row.d_id), customers, row.id.0.into())?)
            }
            OwnRow::History(row) => {
                place(("h_d_id", row.d_id), 1, 1)?;
                place(("h_c_d_id", row.c_d_id), 1, 1)?;
                within("h_c_w_id", row.c_w_id.0, 1..=warehouses)?;
                within("h_c_id", row.c_id.0, 1..=customers)?;
                true
            }
            OwnRow::Order(row) => {
                within("o_id", row.id.0, 1..=last)?;
                within("o_c_id", row.c_id.0, 1..=customers)?;
                within("o_ol_cnt", row.ol_cnt, FEWEST_LINES..=MOST_LINES)?;
                if let Some(carrier) = row.carrier_id {
                    within("o_carrier_id", carrier.0, 1..=10)?;
                }
                let at = place(("o_d_id", row.d_id), orders, row.id.0)?;
                let count = &mut self.counts[at as usize];
                std::mem::replace(count, row.ol_cnt) == 0
            }
            OwnRow::NewOrder(row) => {
                within("no_o_id", row.o_id.0, u64::from(size.delivered()) + 1..=last)?;
                self.new_orders.add(place(("no_d_id", row.d_id), orders, row.o_id.0)?)
            }
            OwnRow::OrderLine(row) => {
                within("ol_o_id", row.o_id.0, 1..=last)?;
                within("ol_number", row.number, 1..=MOST_LINES)?;
                within("ol_i_id", row.i_id.0, 1..=items)?;
                within("ol_supply_w_id", row.supply_w_id.0, 1..=warehouses)?;
                let at = place(("ol_d_id", row.d_id), orders, row.o_id.0)?;
                let (lines, bit) = (&mut self.lines[at as usize], 1 << row.number);
                let new = *lines & bit == 0;
                *lines |= bit;
                new
            }
            OwnRow::Stock(row) => {
                within("s_i_id", row.i_id.0, 1..=items)?;
                self.stock.add(u64::from(row.i_id.0) - 1)
            }
        })
    }
}

/// An order whose lines are not those that it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongLines {
    pub(crate) warehouse: u32,
    pub(crate) district: u64,
    pub(crate) order: u64,
    /// O_OL_CNT.
    pub(crate) wanted: u8,
    pub(crate) found: u32,
}

/// Reports an id that is out of its bounds.
fn within<T: PartialOrd + Display>(column: &str, id: T, bounds: RangeInclusive<T>) -> Result<(), Unfit> {
    if bounds.contains(&id) {
        return Ok(());
    }
    Err(Unfit(format!("{column} is {id}, and must be from {} to {}", bounds.start(), bounds.end())))
}

/// Returns the place of a number in a district, counted over the districts of a warehouse.
fn place((column, d): (&str, DistrictId), each: u32, number: u64) -> Result<u64, Unfit> {
    within(column, u64::from(d.0), 1..=DISTRICTS_PER_WAREHOUSE.into())?;
    Ok((u64::from(d.0) - 1) * u64::from(each) + number - 1)
}

impl Keys {
    /// Makes the sets of a database of this size.
    pub(crate) fn new(size: Size, warehouses: u32) -> Self {
        Self {
            size,
            items: Mutex::new(Bits::with(size.items().into())),
            of: (0..warehouses).map(|_| Mutex::new(OfWarehouse::new(size))).collect(),
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The fault of its line: an id out of bounds, or a key that another row has.
    pub(crate) fn add(&self, row: &OwnRow) -> Result<(), Unfit> {
        let w = row.warehouse().0;
        let new = match row {
            OwnRow::Item(item) => {
                within("i_id", item.id.0, 1..=self.size.items())?;
                self.items.lock().add(u64::from(item.id.0) - 1)
            }
            _ => {
                let warehouses = self.of.len() as u32;
                let Some(of) = (w as usize).checked_sub(1).and_then(|at| self.of.get(at)) else {
                    let what =
                        format!("is of warehouse {w}, and the rows of WAREHOUSE end with {warehouses}");
                    return Err(Unfit(what));
                };
                of.lock().add(row, self.size, warehouses)?
            }
        };
        if new { Ok(()) } else { Err(Unfit(format!("has the key of another row: {}", key_of(row)))) }
    }

    /// Returns the orders whose lines are not those that they count, at most `most`. Call it after all rows.
    pub(crate) fn wrong_lines(&self, most: usize) -> Vec<WrongLines> {
        let orders = u64::from(self.size.orders());
        let of = self.of.iter().zip(1..).flat_map(|(of, warehouse)| {
            let of = of.lock();
            let wrong = of.counts.iter().zip(&of.lines).enumerate().filter_map(|(place, (wanted, lines))| {
                // The lines are numbered from 1 without a gap.
                let all = (1_u32 << (u32::from(*wanted) + 1)) - 2;
                let place = place as u64;
                (u32::from(*lines) != all && *wanted > 0).then(|| WrongLines {
                    warehouse,
                    district: place / orders + 1,
                    order: place % orders + 1,
                    wanted: *wanted,
                    found: lines.count_ones(),
                })
            });
            wrong.take(most).collect::<Vec<_>>()
        });
        of.take(most).collect()
    }
}

/// Returns the key of a row in words.
fn key_of(row: &OwnRow) -> String {
    let (table, parts): (Table, &[u64]) = match row {
        OwnRow::Item(row) => (Table::Item, &[row.id.0.into()]),
        OwnRow::Warehouse(row) => (Table::Warehouse, &[row.id.0.into()]),
        OwnRow::District(row) => (Table::District, &[row.w_id.0.into(), row.id.0.into()]),
        OwnRow::Customer(row) => (Table::Customer, &[row.w_id.0.into(), row.d_id.0.into(), row.id.0.into()]),
        OwnRow::History(row) => (Table::History, &[row.w_id.0.into(), row.d_id.0.into()]),
        OwnRow::Order(row) => (Table::Orders, &[row.w_id.0.into(), row.d_id.0.into(), row.id.0]),
        OwnRow::NewOrder(row) => (Table::NewOrder, &[row.w_id.0.into(), row.d_id.0.into(), row.o_id.0]),
        OwnRow::OrderLine(row) => {
            (Table::OrderLine, &[row.w_id.0.into(), row.d_id.0.into(), row.o_id.0, row.number.into()])
        }
        OwnRow::Stock(row) => (Table::Stock, &[row.w_id.0.into(), row.i_id.0.into()]),
    };
    let parts = table.schema().primary_key.iter().zip(parts).map(|(name, part)| format!("{name} {part}"));
    parts.collect::<Vec<_>>().join(", ")
}
