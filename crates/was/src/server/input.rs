//! Checks of entered fields before any transaction (clause 2.2.2.4). A terminal that enters other values than a
//! terminal can breaks the protocol.

use crate::frame::BadFrame;
use lydite_tpcc::transactions::{CustomerSelector, Delivery, NewOrder, Payment};
use lydite_tpcc::{DISTRICTS_PER_WAREHOUSE, DistrictId, ITEMS, Standard, WarehouseId};

/// Fewest lines of an order (clause 2.4.1.3).
const LINES_MIN: usize = 5;
/// Greatest C_ID (clause 1.2.1).
const CUSTOMERS: u32 = 3_000;

/// The place of a terminal, and the size of its database.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    pub(super) w_id: WarehouseId,
    pub(super) d_id: DistrictId,
    /// Warehouses; 0 if there is no limit.
    pub(super) warehouses: u32,
}

fn within<T: PartialOrd + std::fmt::Display>(field: &str, value: T, low: T, high: T) -> Result<(), BadFrame> {
    if low <= value && value <= high {
        Ok(())
    } else {
        Err(BadFrame::new(format!("{field} is {value}, from {low} to {high} are allowed")))
    }
}

fn district(field: &str, d_id: DistrictId) -> Result<(), BadFrame> {
    within(field, d_id.0, 1, DISTRICTS_PER_WAREHOUSE.into())
}

fn customer(customer: &CustomerSelector) -> Result<(), BadFrame> {
    match customer {
        CustomerSelector::Id(id) => within("C_ID", id.0, 1, CUSTOMERS),
        CustomerSelector::LastName(name) if name.is_empty() => Err(BadFrame::new("C_LAST is empty")),
        CustomerSelector::LastName(_) => Ok(()),
    }
}

impl Home {
    /// Checks the place itself.
    pub(super) fn check(&self) -> Result<(), BadFrame> {
        self.warehouse("W_ID", self.w_id)?;
        district("D_ID", self.d_id)
    }

    fn warehouse(&self, field: &str, w_id: WarehouseId) -> Result<(), BadFrame> {
        let most = if self.warehouses == 0 { u32::MAX } else { self.warehouses };
        within(field, w_id.0, 1, most)
    }

    /// Checks the fields that the terminal entered.
    pub(super) fn check_input(&self, transaction: &Standard) -> Result<(), BadFrame> {
        // W_ID is fixed (clause 2.4.1.1).
        within("W_ID", transaction.home().0, self.w_id.0, self.w_id.0)?;
        match transaction {
            Standard::NewOrder(input) => self.order(input),
            Standard::Payment(input) => self.payment(input),
            Standard::OrderStatus(input) => {
                district("D_ID", input.d_id)?;
                customer(&input.customer)
            }
            Standard::Delivery(input) => self.delivery(input),
            Standard::StockLevel(input) => {
                // D_ID is fixed (clause 2.8.1.1).
                within("D_ID", input.d_id.0, self.d_id.0, self.d_id.0)?;
                within("threshold", input.threshold, 10, 20)?;
                input.others.iter().try_for_each(|&(w_id, d_id)| {
                    self.warehouse("W_ID", w_id)?;
                    district("D_ID", d_id)
                })
            }
        }
    }

    fn order(&self, input: &NewOrder) -> Result<(), BadFrame> {
        district("D_ID", input.d_id)?;
        within("C_ID", input.c_id.0, 1, CUSTOMERS)?;
        within("number of lines", input.lines.len(), LINES_MIN, input.lines.capacity())?;
        input.lines.iter().try_for_each(|line| {
            // The number behind the last item is unused (clause 2.4.1.5).
            within("OL_I_ID", line.i_id.0, 1, ITEMS + 1)?;
            within("OL_QUANTITY", line.quantity, 1, 10)?;
            self.warehouse("OL_SUPPLY_W_ID", line.supply_w_id)
        })
    }

    fn payment(&self, input: &Payment) -> Result<(), BadFrame> {
        district("D_ID", input.d_id)?;
        district("C_D_ID", input.c_d_id)?;
        self.warehouse("C_W_ID", input.c_w_id)?;
        within("H_AMOUNT in cents", input.amount.0, 100, 500_000)?;
        customer(&input.customer)
    }

    /// Checks a Delivery that a terminal enters or an operator repeats.
    pub(super) fn delivery(&self, input: &Delivery) -> Result<(), BadFrame> {
        self.warehouse("W_ID", input.w_id)?;
        within("O_CARRIER_ID", input.carrier_id.0, 1, 10)?;
        let all = u16::from(DISTRICTS_PER_WAREHOUSE);
        within("number of districts", input.districts, all, all)
    }
}
