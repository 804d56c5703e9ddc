//! Settings for the inputs of terminals (clauses 2.4.1 to 2.8.1), and the draws that several transactions share.

use crate::coaccess::CoAccess;
use crate::deck::Mix;
use crate::distribution::{Distribution, Remote};
use crate::home::Homes;
use crate::ids::{DISTRICTS_PER_WAREHOUSE, DistrictId, ITEMS, ItemId, WarehouseId};
use crate::meta::DatabaseMeta;
use crate::named_enum;
use crate::nurand::{CLoad, RunConstants};
use crate::order_line::OrderLineInput;
use crate::placement::Placement;
use crate::random::Stream;
use crate::scale::{Districts, Size};
use std::sync::Arc;

/// Terminals of each warehouse (clause 4.2.1), each with a district of its own for Stock-Level.
pub const TERMINALS_PER_WAREHOUSE: u32 = DISTRICTS_PER_WAREHOUSE as u32;

/// An I_ID that no item has. The last line of an order that must roll back names it (clause 2.4.1.5).
pub const UNUSED_ITEM: ItemId = ItemId(ITEMS + 1);

named_enum! {
    /// Table that holds the hot rows.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Contended {
        /// S_QUANTITY of one item in one warehouse.
        #[default]
        Stock = "stock",
        /// D_NEXT_O_ID of one district.
        District = "district",
    }
}

/// A hot row: one that many transactions compete for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HotRow {
    /// The stock of an item in a warehouse.
    Stock(WarehouseId, ItemId),
    /// A district that is no terminal's own.
    District(WarehouseId, DistrictId),
}

impl HotRow {
    /// Returns hot row `number`, from 0, where `first` is the first active warehouse. Rows of stock are item 1 of the
    /// first warehouse, item 2 of the next one, and so on. Districts are the last one of the first warehouse, the last
    /// one of the next warehouse, and so on.
    #[must_use]
    pub fn nth(of: Contended, number: u32, first: WarehouseId, warehouses: u32) -> Self {
        let w_id = WarehouseId(first.0 + number % warehouses);
        match of {
            Contended::Stock => Self::Stock(w_id, ItemId(number + 1)),
            Contended::District => Self::District(w_id, DistrictId(DISTRICTS_PER_WAREHOUSE.into())),
        }
    }
}

named_enum! {
    /// Order in which a dUpdateBalance locks its warehouses.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum BalanceOrder {
        /// By number, so no two transactions wait for each other in a ring.
        #[default]
        Ascending = "ascending",
        /// The home first, then the others in the order of drawing. Deadlocks are part of the load, as in the function
        /// test of the Dike paper (section 5).
        Drawn = "drawn",
    }
}

/// Warehouses of a dUpdateBalance or dSelectBalance: the home and others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalancePlan {
    /// Number of warehouses in one transaction: 1 to 15, and at most the active ones.
    pub warehouses: u32,
    /// Order of the warehouses.
    pub order: BalanceOrder,
}

/// Two warehouses, the fewest that make a transaction distributed.
impl Default for BalancePlan {
    fn default() -> Self {
        Self { warehouses: 2, order: BalanceOrder::default() }
    }
}

/// Settings that all terminals of a run share.
#[derive(Clone, Debug, PartialEq)]
pub struct InputPlan {
    /// Seed of all terminals.
    pub seed: u64,
    /// The first of the active warehouses.
    pub first_warehouse: WarehouseId,
    /// Number of active warehouses, at least 1.
    pub warehouses: u32,
    /// Districts of each warehouse.
    pub districts: Districts,
    /// Rows of ITEM and of each district.
    pub size: Size,
    /// The constants C of NURand.
    pub constants: RunConstants,
    /// Choice of the transaction types.
    pub mix: Mix,
    /// Choice of the warehouses that supply an order; none for clause 2.4.1.5.
    pub distribution: Option<Arc<Distribution>>,
    /// Choice of the home warehouses; none if each terminal keeps its own.
    pub homes: Option<Arc<Homes>>,
    /// The hot rows. Only [`Terminal::contending`](crate::Terminal::contending) uses them: no other transaction changes
    /// them.
    pub hot: Vec<HotRow>,
    /// Placement of the warehouses, if it is known.
    pub placement: Option<Arc<Placement>>,
    /// Rounds of each dUpdateItem, each of two items: 1 to [`MAX_ITEM_ROUNDS`](crate::transactions::MAX_ITEM_ROUNDS).
    pub update_item_rounds: u32,
    /// Rounds of each dUpdateStock, each at another warehouse: 1 to 15, and at most the active warehouses.
    pub update_stock_rounds: u32,
    /// Groups of warehouses for the rounds of a dUpdateStock, each as large as there are rounds; none for any
    /// warehouses.
    pub coaccess: Option<CoAccess>,
    /// Warehouses of each dUpdateBalance and dSelectBalance.
    pub balances: BalancePlan,
}

impl InputPlan {
    /// Returns a plan over the first `warehouses` of a database that was loaded with `c_load`, the standard's rows and
    /// ten districts for each warehouse.
    #[must_use]
    pub fn new(seed: u64, warehouses: u32, c_load: CLoad, mix: Mix) -> Self {
        let (first_warehouse, constants) = (WarehouseId(1), RunConstants::new(seed, c_load));
        Self {
            seed,
            first_warehouse,
            warehouses,
            districts: Districts::uniform(),
            size: Size::Standard,
            constants,
            mix,
            distribution: None,
            homes: None,
            hot: Vec::new(),
            placement: None,
            update_item_rounds: 1,
            update_stock_rounds: 1,
            coaccess: None,
            balances: BalancePlan::default(),
        }
    }

    /// Returns a plan over all warehouses of a database that was loaded with `meta`.
    #[must_use]
    pub fn on(meta: &DatabaseMeta, seed: u64, mix: Mix) -> Self {
        Self {
            districts: meta.districts.clone(),
            size: meta.size,
            ..Self::new(seed, meta.warehouses, meta.c_load, mix)
        }
    }

    /// Returns the number of terminals.
    #[must_use]
    pub fn terminals(&self) -> u32 {
        self.warehouses * TERMINALS_PER_WAREHOUSE
    }

    /// Returns the item that a warehouse supplies for a drawn one: the same, if the warehouse stocks it.
    pub(crate) fn stocked(&self, w_id: WarehouseId, drawn: ItemId) -> ItemId {
        ItemId((drawn.0 - 1) % self.districts.stock(w_id, self.size) + 1)
    }

    /// True if each terminal orders in its own district, as contention control needs it. With skewed data it allows one
    /// session for each warehouse instead, which orders in all districts.
    pub(crate) fn has_own_districts(&self) -> bool {
        !self.hot.is_empty() && self.districts.skew().is_none()
    }

    /// True if the district is a hot row.
    #[must_use]
    pub fn is_hot(&self, w_id: WarehouseId, d_id: DistrictId) -> bool {
        self.hot.contains(&HotRow::District(w_id, d_id))
    }

    /// Draws one of the districts of a warehouse that are no hot rows, all equally likely.
    pub(crate) fn cool_district(&self, w_id: WarehouseId, stream: &mut Stream) -> DistrictId {
        loop {
            // At most one of ten districts is hot, so this loop ends.
            let d_id = self.any_district(w_id, stream);
            if !self.is_hot(w_id, d_id) {
                return d_id;
            }
        }
    }

    /// Draws one of the districts of a warehouse, all equally likely.
    pub(crate) fn any_district(&self, w_id: WarehouseId, stream: &mut Stream) -> DistrictId {
        DistrictId(stream.uniform(1, u32::from(self.districts.of(w_id).max(1))) as u16)
    }

    /// Draws one of the active warehouses other than `home`, all equally likely; `home` if it is the only one.
    pub fn other_warehouse(&self, home: WarehouseId, stream: &mut Stream) -> WarehouseId {
        if self.warehouses == 1 {
            return home;
        }
        let first = self.first_warehouse.0;
        let drawn = stream.uniform(1, self.warehouses - 1) + first - 1;
        WarehouseId(drawn + u32::from(drawn >= home.0))
    }

    /// Adds warehouses other than `home` until there are `count` different ones. So many must be active.
    pub(crate) fn add_others(
        &self,
        home: WarehouseId,
        count: u32,
        warehouses: &mut Remote,
        stream: &mut Stream,
    ) {
        while warehouses.len() < count as usize {
            let other = self.other_warehouse(home, stream);
            if !warehouses.contains(&other) {
                warehouses.push(other);
            }
        }
    }

    /// Replaces each item, if there are hot rows, by a near one that is not hot and that only terminals of the same
    /// district number use. Orders of different terminals then meet in hot rows only, or where another warehouse
    /// supplies a line.
    /// Items as they are drawn (clause 2.1.6) often coincide: two orders of ten lines in a warehouse share an item in
    /// 2 % of all cases, and in 14 % if there is a tenth of the items.
    ///
    /// With skewed data only hot items are replaced.
    pub(crate) fn keep_apart(&self, d_id: DistrictId, lines: &mut [OrderLineInput]) {
        if self.hot.is_empty() {
            return;
        }
        // With a step of ten, each district number has an item of each ten; with a step of one, items stay as drawn.
        let step = if self.has_own_districts() { u32::from(DISTRICTS_PER_WAREHOUSE) } else { 1 };
        let own = u32::from(d_id.0 - 1) % step;
        for line in lines {
            // A multiple of the step, so a step around the end never leads to another terminal's items.
            let stock = self.districts.stock(line.supply_w_id, self.size);
            line.i_id = ItemId((line.i_id.0 - 1) / step * step + own + 1);
            while self.hot.contains(&HotRow::Stock(line.supply_w_id, line.i_id)) {
                line.i_id = ItemId((line.i_id.0 + step - 1) % stock + 1);
            }
        }
    }
}

/// Place of a terminal, and the random stream of its inputs.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) stream: Stream,
    /// Home warehouse of the current transaction.
    pub(crate) w_id: WarehouseId,
    /// The terminal's own district.
    pub(crate) d_id: DistrictId,
}
