//! Inputs of terminals (clauses 2.4.1 to 2.8.1). Equal seeds give equal inputs.
//!
//! A terminal carries its own random stream and deck, 64 bytes in all. So a million terminals fit into one process, and
//! their inputs do not depend on the thread that runs them.

use crate::coaccess::CoAccess;
use crate::deck::{Deck, Mix};
use crate::distribution::{Distribution, Remote};
use crate::home::Homes;
use crate::ids::{CarrierId, CustomerId, DISTRICTS_PER_WAREHOUSE, DistrictId, ITEMS, ItemId, WarehouseId};
use crate::meta::DatabaseMeta;
use crate::money::Cents;
use crate::named_enum;
use crate::nurand::{CLoad, RunConstants};
use crate::placement::Placement;
use crate::random::{Purpose, Stream};
use crate::scale::{Districts, Size};
use crate::transaction::{
    CustomerSelector, Delivery, MAX_ORDER_LINES, NewOrder, OrderLineInput, OrderStatus, Payment, StockLevel,
    Transaction, TransactionKind, UpdateItem, UpdateStock, WarehouseBalances,
};
use arrayvec::ArrayVec;
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
    /// The hot rows. Only [`Terminal::contending`] uses them: no other transaction changes them.
    pub hot: Vec<HotRow>,
    /// Placement of the warehouses, if it is known.
    pub placement: Option<Arc<Placement>>,
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

    /// Returns the first `count` inputs of all terminals, which take turns.
    #[must_use]
    pub fn in_turn(&self, count: usize) -> Vec<Transaction> {
        let mut terminals: Vec<Terminal> = (0..self.terminals()).map(|index| self.terminal(index)).collect();
        (0..count)
            .map(|number| {
                let terminal = number % terminals.len();
                terminals[terminal].next(self)
            })
            .collect()
    }

    /// Returns the number of terminals.
    #[must_use]
    pub fn terminals(&self) -> u32 {
        self.warehouses * TERMINALS_PER_WAREHOUSE
    }

    /// Returns terminal `index`, from 0. Each warehouse has ten terminals, one for each of its districts. If data is
    /// skewed and a warehouse has fewer districts, terminals share them. An index from [`InputPlan::terminals`] on
    /// names a further terminal of a warehouse that already has its ten.
    #[must_use]
    pub fn terminal(&self, index: u32) -> Terminal {
        let w_id = WarehouseId(index / TERMINALS_PER_WAREHOUSE % self.warehouses + self.first_warehouse.0);
        let place = (index % TERMINALS_PER_WAREHOUSE) as u16;
        Terminal {
            stream: Stream::new(self.seed, Purpose::Terminal, u64::from(index)),
            deck: Deck::default(),
            own: w_id,
            w_id,
            d_id: DistrictId(place % self.districts.of(w_id).max(1) + 1),
        }
    }

    /// Returns one of `terminals`, from 0. Fewer than [`InputPlan::terminals`] are spread over all warehouses.
    #[must_use]
    pub fn terminal_of(&self, number: u32, terminals: u32) -> Terminal {
        let all = self.terminals();
        self.terminal(if terminals < all {
            (u64::from(number) * u64::from(all) / u64::from(terminals)) as u32
        } else {
            number
        })
    }

    /// Returns the item that a warehouse supplies for a drawn one: the same, if the warehouse stocks it.
    fn stocked(&self, w_id: WarehouseId, drawn: ItemId) -> ItemId {
        ItemId((drawn.0 - 1) % self.districts.stock(w_id, self.size) + 1)
    }

    /// True if each terminal orders in its own district, as contention control needs it. With skewed data it allows one
    /// session for each warehouse instead, which orders in all districts.
    fn has_own_districts(&self) -> bool {
        !self.hot.is_empty() && self.districts.skew().is_none()
    }

    /// True if the district is a hot row.
    #[must_use]
    pub fn is_hot(&self, w_id: WarehouseId, d_id: DistrictId) -> bool {
        self.hot.contains(&HotRow::District(w_id, d_id))
    }

    /// Draws one of the districts of a warehouse that are no hot rows, all equally likely.
    fn cool_district(&self, w_id: WarehouseId, stream: &mut Stream) -> DistrictId {
        loop {
            // At most one of ten districts is hot, so this loop ends.
            let d_id = self.any_district(w_id, stream);
            if !self.is_hot(w_id, d_id) {
                return d_id;
            }
        }
    }

    /// Draws one of the districts of a warehouse, all equally likely.
    fn any_district(&self, w_id: WarehouseId, stream: &mut Stream) -> DistrictId {
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
}

/// An emulated user and the source of its future inputs.
#[derive(Clone, Debug)]
pub struct Terminal {
    stream: Stream,
    deck: Deck,
    /// Home warehouse, unless homes are controlled.
    own: WarehouseId,
    /// Home warehouse of the current transaction.
    w_id: WarehouseId,
    d_id: DistrictId,
}

impl Terminal {
    /// Returns the home warehouse, which is fixed for the run (clause 2.4.1.1).
    #[must_use]
    pub fn warehouse(&self) -> WarehouseId {
        self.w_id
    }

    /// Returns the terminal's own district, which only Stock-Level uses (clause 2.8.1.1).
    #[must_use]
    pub fn district(&self) -> DistrictId {
        self.d_id
    }

    /// Chooses the type of the next transaction (clause 5.2.4), and its home if homes are controlled.
    pub fn next_kind(&mut self, plan: &InputPlan) -> TransactionKind {
        self.w_id = match &plan.homes {
            Some(homes) => homes.draw(&mut self.stream),
            None => self.own,
        };
        plan.mix.draw(&mut self.deck, &mut self.stream)
    }

    /// Chooses and fills in the next transaction.
    pub fn next(&mut self, plan: &InputPlan) -> Transaction {
        let kind = self.next_kind(plan);
        self.input(plan, kind)
    }

    /// Fills in a transaction of type `kind`.
    pub fn input(&mut self, plan: &InputPlan, kind: TransactionKind) -> Transaction {
        match kind {
            TransactionKind::NewOrder => Transaction::NewOrder(self.new_order(plan)),
            TransactionKind::Payment => Transaction::Payment(self.payment(plan)),
            TransactionKind::OrderStatus => Transaction::OrderStatus(self.order_status(plan)),
            TransactionKind::Delivery => Transaction::Delivery(self.delivery(plan)),
            TransactionKind::StockLevel => Transaction::StockLevel(self.stock_level(plan)),
            TransactionKind::UpdateStock => Transaction::UpdateStock(self.update_stock(plan)),
            TransactionKind::UpdateItem => Transaction::UpdateItem(self.update_item(plan)),
            TransactionKind::UpdateBalance => Transaction::UpdateBalance(self.balances(plan)),
            TransactionKind::SelectBalance => Transaction::SelectBalance(self.balances(plan)),
        }
    }

    /// Makes a New-Order that uses hot row number `row`. A hot row of stock replaces the first line of an order in the
    /// terminal's own district. A hot district is the order's district.
    ///
    /// # Panics
    /// Panics if the plan has no such row.
    pub fn contending(&mut self, plan: &InputPlan, row: usize) -> Transaction {
        let order = match plan.hot[row] {
            HotRow::Stock(w_id, i_id) => {
                let mut order = self.new_order(plan);
                (order.lines[0].supply_w_id, order.lines[0].i_id) = (w_id, i_id);
                order
            }
            HotRow::District(w_id, d_id) => {
                let own = (self.w_id, self.d_id);
                (self.w_id, self.d_id) = (w_id, d_id);
                let order = self.new_order(plan);
                (self.w_id, self.d_id) = own;
                order
            }
        };
        Transaction::NewOrder(order)
    }

    /// Makes a New-Order (clause 2.4.1). The same item may occur twice in an order.
    fn new_order(&mut self, plan: &InputPlan) -> NewOrder {
        let stream = &mut self.stream;
        let d_id = if plan.has_own_districts() { self.d_id } else { plan.any_district(self.w_id, stream) };
        let c_id = plan.constants.customer(stream, plan.size);
        let line_count = stream.uniform(5, 15);
        let rolls_back = stream.percent(1);
        let remote = plan.distribution.as_ref().and_then(|of| of.remote(self.w_id, stream));
        if let Some(remote) = remote {
            return self.distributed(plan, (d_id, c_id), line_count, rolls_back, &remote);
        }
        let mut order = NewOrder {
            w_id: self.w_id,
            d_id,
            c_id,
            lines: (0..line_count)
                .map(|_| {
                    let i_id = plan.constants.item(stream, plan.size);
                    let supply_w_id =
                        if stream.percent(1) { plan.other_warehouse(self.w_id, stream) } else { self.w_id };
                    let quantity = stream.uniform(1, 10) as u8;
                    OrderLineInput { i_id: plan.stocked(supply_w_id, i_id), supply_w_id, quantity }
                })
                .collect(),
        };
        keep_apart(plan, self.d_id, &mut order.lines);
        if rolls_back && let Some(last) = order.lines.last_mut() {
            last.i_id = UNUSED_ITEM;
        }
        order
    }

    /// Makes a New-Order (clause 2.4.1) whose supplying warehouses are given.
    fn distributed(
        &mut self,
        plan: &InputPlan,
        (d_id, c_id): (DistrictId, CustomerId),
        line_count: u32,
        rolls_back: bool,
        remote: &Remote,
    ) -> NewOrder {
        let (w_id, stream) = (self.w_id, &mut self.stream);
        // The last line is the home's: it may name the unused item, which has no supplying warehouse to touch.
        let line_count = (line_count as usize).max(remote.len() + 1);
        let lines = (0..line_count)
            .map(|line| {
                let supply_w_id = remote.get(line).copied().unwrap_or(w_id);
                let i_id = if rolls_back && line + 1 == line_count {
                    UNUSED_ITEM
                } else {
                    plan.stocked(supply_w_id, plan.constants.item(stream, plan.size))
                };
                OrderLineInput { i_id, supply_w_id, quantity: stream.uniform(1, 10) as u8 }
            })
            .collect();
        NewOrder { w_id, d_id, c_id, lines }
    }

    /// Makes a Payment (clause 2.5.1).
    fn payment(&mut self, plan: &InputPlan) -> Payment {
        let stream = &mut self.stream;
        let d_id = plan.cool_district(self.w_id, stream);
        let controlled = plan.distribution.as_ref().and_then(|of| of.customer_warehouse(self.w_id, stream));
        let (c_w_id, c_d_id) = match controlled {
            Some(home) if home == self.w_id => (home, d_id),
            Some(other) => (other, plan.any_district(other, stream)),
            None if stream.percent(15) => {
                let other = plan.other_warehouse(self.w_id, stream);
                (other, plan.any_district(other, stream))
            }
            None => (self.w_id, d_id),
        };
        Payment {
            w_id: self.w_id,
            d_id,
            c_w_id,
            c_d_id,
            customer: any_customer(plan, stream),
            amount: Cents(i64::from(stream.uniform(100, 500_000))),
        }
    }

    /// Makes an Order-Status (clause 2.6.1).
    fn order_status(&mut self, plan: &InputPlan) -> OrderStatus {
        let stream = &mut self.stream;
        let d_id = plan.any_district(self.w_id, stream);
        OrderStatus { w_id: self.w_id, d_id, customer: any_customer(plan, stream) }
    }

    /// Makes a Delivery (clause 2.7.1).
    fn delivery(&mut self, plan: &InputPlan) -> Delivery {
        Delivery {
            w_id: self.w_id,
            districts: plan.districts.of(self.w_id),
            carrier_id: CarrierId(self.stream.uniform(1, 10) as u8),
        }
    }

    /// Makes a Stock-Level (clause 2.8.1). With skewed data it draws any district, because the ten terminals of a
    /// warehouse do not have one each.
    fn stock_level(&mut self, plan: &InputPlan) -> StockLevel {
        let d_id = match plan.districts.skew() {
            None => self.d_id,
            Some(_) => plan.any_district(self.w_id, &mut self.stream),
        };
        let threshold = self.stream.uniform(10, 20) as u8;
        let remote = plan.distribution.as_ref().map(|of| of.stock_level_remote(self.w_id, &mut self.stream));
        let others = remote.into_iter().flatten();
        let others = others.map(|w_id| (w_id, plan.any_district(w_id, &mut self.stream))).collect();
        StockLevel { w_id: self.w_id, d_id, threshold, others }
    }

    /// Makes a dUpdateItem of two different items, drawn like those of an order.
    fn update_item(&mut self, plan: &InputPlan) -> UpdateItem {
        let one = plan.constants.item(&mut self.stream, plan.size);
        let mut other = one;
        while other == one {
            other = plan.constants.item(&mut self.stream, plan.size);
        }
        UpdateItem { w_id: self.w_id, items: [one.min(other), one.max(other)] }
    }

    /// Makes a dUpdateStock: one round at the home, the others at as many other warehouses. Without co-access all other
    /// warehouses are equally likely.
    fn update_stock(&mut self, plan: &InputPlan) -> UpdateStock {
        let (w_id, stream) = (self.w_id, &mut self.stream);
        let mut warehouses: Remote = match &plan.coaccess {
            Some(coaccess) => coaccess.draw(w_id, stream),
            None => std::iter::once(w_id).collect(),
        };
        add_others(plan, w_id, plan.update_stock_rounds, &mut warehouses, stream);
        warehouses.sort_unstable();
        let round = |supply_w_id| OrderLineInput {
            i_id: plan.stocked(supply_w_id, plan.constants.item(stream, plan.size)),
            supply_w_id,
            quantity: stream.uniform(1, 10) as u8,
        };
        let mut rounds: ArrayVec<_, MAX_ORDER_LINES> = warehouses.into_iter().map(round).collect();
        keep_apart(plan, self.d_id, &mut rounds);
        UpdateStock { w_id, rounds }
    }

    /// Makes the warehouses of a dUpdateBalance or dSelectBalance: the home and others, all equally likely.
    fn balances(&mut self, plan: &InputPlan) -> WarehouseBalances {
        let w_id = self.w_id;
        let mut warehouses: Remote = std::iter::once(w_id).collect();
        add_others(plan, w_id, plan.balances.warehouses, &mut warehouses, &mut self.stream);
        if plan.balances.order == BalanceOrder::Ascending {
            warehouses.sort_unstable();
        }
        WarehouseBalances { w_id, warehouses }
    }
}

/// Adds warehouses other than `home` until there are `count` different ones. So many must be active.
fn add_others(plan: &InputPlan, home: WarehouseId, count: u32, warehouses: &mut Remote, stream: &mut Stream) {
    while warehouses.len() < count as usize {
        let other = plan.other_warehouse(home, stream);
        if !warehouses.contains(&other) {
            warehouses.push(other);
        }
    }
}

/// With hot rows, replaces each item by a near one that only terminals of the same district number use, and that is not
/// hot. Orders of different terminals then meet in hot rows only, or where another warehouse supplies a line. Items as
/// they are drawn (clause 2.1.6) often coincide: two orders of ten lines in a warehouse share an item in 2 % of all
/// cases, and in 14 % if there is a tenth of the items.
///
/// With skewed data only hot items are replaced.
fn keep_apart(plan: &InputPlan, d_id: DistrictId, lines: &mut [OrderLineInput]) {
    if plan.hot.is_empty() {
        return;
    }
    // With a step of ten, each district number has an item of each ten; with a step of one, items stay as drawn.
    let step = if plan.has_own_districts() { u32::from(DISTRICTS_PER_WAREHOUSE) } else { 1 };
    let own = u32::from(d_id.0 - 1) % step;
    for line in lines {
        // A multiple of the step, so a step around the end never leads to another terminal's items.
        let stock = plan.districts.stock(line.supply_w_id, plan.size);
        line.i_id = ItemId((line.i_id.0 - 1) / step * step + own + 1);
        while plan.hot.contains(&HotRow::Stock(line.supply_w_id, line.i_id)) {
            line.i_id = ItemId((line.i_id.0 + step - 1) % stock + 1);
        }
    }
}

/// Draws a customer: 60 % by last name, 40 % by number (clauses 2.5.1.2 and 2.6.1.2).
fn any_customer(plan: &InputPlan, stream: &mut Stream) -> CustomerSelector {
    if stream.percent(60) {
        CustomerSelector::LastName(plan.constants.last_name(stream, plan.size))
    } else {
        CustomerSelector::Id(plan.constants.customer(stream, plan.size))
    }
}
