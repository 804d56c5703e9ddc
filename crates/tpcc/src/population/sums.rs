//! Parts of the initial rows, for checks that compare a database with them.

use super::{MARK, Population, TenPercent};
use crate::ids::{DISTRICTS_PER_WAREHOUSE, ItemId, WarehouseId};
use crate::money::Cents;
use crate::random::Purpose;
use std::fmt;

/// Sums over the loaded lines of a district.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineSums {
    /// Number of lines.
    pub lines: u64,
    /// Sum of OL_I_ID.
    pub items: u64,
    /// Sum of OL_AMOUNT.
    pub amount: Cents,
}

impl LineSums {
    /// Adds a line.
    pub fn add(&mut self, item: ItemId, amount: Cents) {
        self.lines += 1;
        self.items += u64::from(item.0);
        self.amount += amount;
    }
}

impl fmt::Display for LineSums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, items, amount } = self;
        write!(f, "{lines} with a sum of OL_I_ID of {items} and of OL_AMOUNT of {amount}")
    }
}

impl Population {
    /// Returns S_QUANTITY of the rows of [`Population::stock`], by S_I_ID, some ten times as fast.
    pub fn stock_quantities(&self, w: WarehouseId) -> impl Iterator<Item = i32> + use<> {
        let mut stream = self.stream(Purpose::Stock, w, None);
        let stocked = self.districts.stock(w, self.size);
        let mut original = TenPercent::of(stocked);
        (1..=stocked).map(move |_| {
            let quantity = stream.uniform(10, 100) as i32;
            for _ in 0..DISTRICTS_PER_WAREHOUSE {
                stream.skip_letters(24);
            }
            let length = stream.skip_alphanumeric(26, 50);
            if original.next(&mut stream) {
                stream.below(length - MARK.len() as u32 + 1);
            }
            quantity
        })
    }

    /// Returns the sums of [`Population::order_lines`] of each district, by D_ID.
    #[must_use]
    pub fn line_sums(&self, w: WarehouseId) -> Vec<LineSums> {
        let stocked = self.districts.stock(w, self.size);
        let of = |d| {
            let mut stream = self.stream(Purpose::OrderLines, w, Some(d));
            let mut sums = LineSums::default();
            for (o_id, ol_cnt) in self.order_sizes(w, d) {
                for _ in 0..ol_cnt {
                    let item = ItemId(stream.uniform(1, stocked));
                    let amount = if self.size.is_delivered(o_id) { 0 } else { stream.uniform(1, 999_999) };
                    stream.skip_letters(24);
                    sums.add(item, Cents(amount.into()));
                }
            }
            sums
        };
        self.districts.ids(w).map(of).collect()
    }
}
