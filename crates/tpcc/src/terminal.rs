//! Terminals, and the inputs that they enter one after another. Equal seeds give equal inputs.
//!
//! A terminal carries its own random stream and deck, 72 bytes in all. So a million terminals fit into one process, and
//! their inputs do not depend on the thread that runs them.

use crate::deck::Deck;
use crate::ids::{DistrictId, WarehouseId};
use crate::input::{HotRow, InputPlan, Seat, TERMINALS_PER_WAREHOUSE};
use crate::kind::{StandardKind, TransactionKind};
use crate::random::{Purpose, Stream};
use crate::transactions::profile::Profile;
use crate::transactions::{Delivery, NewOrder, Transaction};

/// An emulated user and the source of its future inputs.
#[derive(Clone, Debug)]
pub struct Terminal {
    seat: Seat,
    deck: Deck,
    /// Home warehouse, unless homes are controlled.
    own: WarehouseId,
}

impl InputPlan {
    /// Returns terminal `index`, from 0. Each warehouse has ten terminals, one for each of its districts. If data is
    /// skewed and a warehouse has fewer districts, terminals share them. An index from [`InputPlan::terminals`] on
    /// names a further terminal of a warehouse that already has its ten.
    #[must_use]
    pub fn terminal(&self, index: u32) -> Terminal {
        let w_id = WarehouseId(index / TERMINALS_PER_WAREHOUSE % self.warehouses + self.first_warehouse.0);
        let place = (index % TERMINALS_PER_WAREHOUSE) as u16;
        let seat = Seat {
            stream: Stream::new(self.seed, Purpose::Terminal, u64::from(index)),
            w_id,
            d_id: DistrictId(place % self.districts.of(w_id).max(1) + 1),
        };
        Terminal { seat, deck: Deck::default(), own: w_id }
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
}

impl Terminal {
    /// Returns the home warehouse, which is fixed for the run (clause 2.4.1.1).
    #[must_use]
    pub fn warehouse(&self) -> WarehouseId {
        self.seat.w_id
    }

    /// Returns the terminal's own district, which only Stock-Level uses (clause 2.8.1.1).
    #[must_use]
    pub fn district(&self) -> DistrictId {
        self.seat.d_id
    }

    /// Chooses the type of the next transaction (clause 5.2.4), and its home if homes are controlled.
    pub fn next_kind(&mut self, plan: &InputPlan) -> TransactionKind {
        self.seat.w_id = match &plan.homes {
            Some(homes) => homes.draw(&mut self.seat.stream),
            None => self.own,
        };
        plan.mix.draw(&mut self.deck, &mut self.seat.stream)
    }

    /// Chooses the next transaction among the standard's types, as a user at a screen does. Other types have no screen:
    /// their share of the mix goes to New-Order.
    pub fn next_standard_kind(&mut self, plan: &InputPlan) -> StandardKind {
        self.next_kind(plan).standard().unwrap_or(StandardKind::NewOrder)
    }

    /// Chooses and fills in the next transaction.
    pub fn next(&mut self, plan: &InputPlan) -> Transaction {
        let kind = self.next_kind(plan);
        self.input(plan, kind)
    }

    /// Fills in a transaction of type `kind`.
    pub fn input(&mut self, plan: &InputPlan, kind: impl Into<TransactionKind>) -> Transaction {
        kind.into().draw(&mut self.seat, plan)
    }

    /// Fills in a Delivery.
    pub fn delivery(&mut self, plan: &InputPlan) -> Delivery {
        Delivery::draw(&mut self.seat, plan)
    }

    /// Makes a New-Order that uses hot row number `row`. A hot row of stock replaces the first line of an order in the
    /// terminal's own district. A hot district is the order's district.
    ///
    /// # Panics
    /// Panics if the plan has no such row.
    pub fn contending(&mut self, plan: &InputPlan, row: usize) -> Transaction {
        let seat = &mut self.seat;
        let order = match plan.hot[row] {
            HotRow::Stock(w_id, i_id) => {
                let mut order = NewOrder::draw(seat, plan);
                (order.lines[0].supply_w_id, order.lines[0].i_id) = (w_id, i_id);
                order
            }
            HotRow::District(w_id, d_id) => {
                let own = (seat.w_id, seat.d_id);
                (seat.w_id, seat.d_id) = (w_id, d_id);
                let order = NewOrder::draw(seat, plan);
                (seat.w_id, seat.d_id) = own;
                order
            }
        };
        order.into()
    }
}
