//! Typed answers: the fields that a terminal must show for each transaction (clauses 2.4.3 to 2.8.3). Drivers outside
//! of this process answer with fields of these names. An optional field must be present, null if it has no value.

use crate::ids::{CarrierId, CustomerId, DistrictId, ItemId, OrderId, WarehouseId};
use crate::money::{Cents, Rate};
use crate::text::{Credit, LastName, Text};
use crate::time::Timestamp;
use serde::Deserialize;

/// The answer to a committed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Answer to a New-Order (clause 2.4.3.3).
    NewOrder(NewOrderOutcome),
    /// Answer to a Payment (clause 2.5.3.4).
    Payment(Box<PaymentOutcome>),
    /// Answer to an Order-Status (clause 2.6.3.3).
    OrderStatus(OrderStatusOutcome),
    /// Lines of the result file of a Delivery (clause 2.7.2.3).
    Delivery(DeliveryOutcome),
    /// Answer to a Stock-Level (clause 2.8.3.3).
    StockLevel(StockLevelOutcome),
    /// Answer to the Dike paper's dUpdateStock, whose terminal shows nothing.
    UpdateStock(UpdateStockOutcome),
    /// Answer to the Dike paper's dUpdateItem.
    UpdateItem(UpdateItemOutcome),
    /// Answer to the Dike paper's dUpdateBalance, whose terminal shows nothing.
    UpdateBalance,
    /// Answer to the Dike paper's dSelectBalance.
    SelectBalance(SelectBalanceOutcome),
}

impl Outcome {
    /// Returns the same answer without the times of the database's clock, so answers of two runs compare equal.
    #[must_use]
    pub fn without_clock(mut self) -> Self {
        match &mut self {
            Self::NewOrder(order) => order.entry_d = Timestamp(0),
            Self::Payment(payment) => payment.h_date = Timestamp(0),
            Self::OrderStatus(status) => {
                status.entry_d = Timestamp(0);
                for line in &mut status.lines {
                    line.delivery_d = line.delivery_d.map(|_| Timestamp(0));
                }
            }
            Self::Delivery(_)
            | Self::StockLevel(_)
            | Self::UpdateStock(_)
            | Self::UpdateItem(_)
            | Self::UpdateBalance
            | Self::SelectBalance(_) => {}
        }
        self
    }
}

/// Output of a committed New-Order. It does not repeat the input (W_ID, D_ID, C_ID, and the item, supplying warehouse
/// and quantity of each line).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NewOrderOutcome {
    /// O_ID of the new order.
    pub o_id: OrderId,
    /// O_ENTRY_D, the database's clock.
    pub entry_d: Timestamp,
    /// C_LAST.
    pub c_last: LastName,
    /// C_CREDIT.
    pub c_credit: Credit,
    /// C_DISCOUNT.
    pub c_discount: Rate,
    /// W_TAX.
    pub w_tax: Rate,
    /// D_TAX.
    pub d_tax: Rate,
    /// Field total-amount, rounded to the cent.
    pub total: Cents,
    /// One entry for each line of the input, in its order.
    pub lines: Vec<NewOrderLine>,
}

/// Output of one line of a New-Order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NewOrderLine {
    /// I_NAME.
    pub i_name: Text<24>,
    /// S_QUANTITY after the update.
    pub s_quantity: i32,
    /// True if both I_DATA and S_DATA contain `ORIGINAL`: shown as `B`, else `G`.
    pub brand: bool,
    /// I_PRICE.
    pub i_price: Cents,
    /// OL_AMOUNT.
    pub amount: Cents,
}

/// Output of a New-Order that was rolled back because of its unused item (clause 2.4.3.4).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RolledBackOrder {
    /// O_ID that the order would have had.
    pub o_id: OrderId,
    /// C_LAST.
    pub c_last: LastName,
    /// C_CREDIT.
    pub c_credit: Credit,
}

/// A postal address as the Payment screen shows it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Address {
    /// xx_STREET_1.
    pub street_1: Text<20>,
    /// xx_STREET_2.
    pub street_2: Text<20>,
    /// xx_CITY.
    pub city: Text<20>,
    /// xx_STATE.
    pub state: Text<2>,
    /// xx_ZIP.
    pub zip: Text<9>,
}

/// Output of a Payment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PaymentOutcome {
    /// H_DATE, the database's clock.
    pub h_date: Timestamp,
    /// The warehouse's address.
    pub warehouse: Address,
    /// The district's address.
    pub district: Address,
    /// C_ID, also when the customer was found by name.
    pub c_id: CustomerId,
    /// C_FIRST.
    pub c_first: Text<16>,
    /// C_MIDDLE.
    pub c_middle: Text<2>,
    /// C_LAST.
    pub c_last: LastName,
    /// The customer's address.
    pub address: Address,
    /// C_PHONE.
    pub c_phone: Text<16>,
    /// C_SINCE.
    pub c_since: Timestamp,
    /// C_CREDIT.
    pub c_credit: Credit,
    /// C_CREDIT_LIM.
    pub c_credit_lim: Cents,
    /// C_DISCOUNT.
    pub c_discount: Rate,
    /// C_BALANCE after the payment.
    pub c_balance: Cents,
    /// The first 200 characters of C_DATA after the update; none for good credit.
    #[serde(deserialize_with = "Option::deserialize")]
    pub c_data: Option<Text<200>>,
}

/// Output of an Order-Status.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OrderStatusOutcome {
    /// C_ID, also when the customer was found by name.
    pub c_id: CustomerId,
    /// C_FIRST.
    pub c_first: Text<16>,
    /// C_MIDDLE.
    pub c_middle: Text<2>,
    /// C_LAST.
    pub c_last: LastName,
    /// C_BALANCE.
    pub c_balance: Cents,
    /// O_ID of the customer's last order.
    pub o_id: OrderId,
    /// O_ENTRY_D.
    pub entry_d: Timestamp,
    /// O_CARRIER_ID; none while undelivered.
    #[serde(deserialize_with = "Option::deserialize")]
    pub carrier_id: Option<CarrierId>,
    /// The order's lines by OL_NUMBER.
    pub lines: Vec<OrderStatusLine>,
}

/// One line of an Order-Status.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OrderStatusLine {
    /// OL_I_ID.
    pub i_id: ItemId,
    /// OL_SUPPLY_W_ID.
    pub supply_w_id: WarehouseId,
    /// OL_QUANTITY.
    pub quantity: u8,
    /// OL_AMOUNT.
    pub amount: Cents,
    /// OL_DELIVERY_D; none while undelivered.
    #[serde(deserialize_with = "Option::deserialize")]
    pub delivery_d: Option<Timestamp>,
}

/// Output of the deferred part of a Delivery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct DeliveryOutcome {
    /// Order that each district delivered, by D_ID. A district without an undelivered order is missing (a skipped
    /// district, clause 2.7.4.2).
    pub delivered: Vec<(DistrictId, OrderId)>,
}

/// Output of a Stock-Level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct StockLevelOutcome {
    /// Field low_stock: the number of distinct items in the district's last 20 orders whose stock is below the
    /// threshold.
    pub low_stock: u32,
}

/// Output of a dUpdateStock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateStockOutcome {
    /// S_QUANTITY after each round, in the order of the input.
    pub quantities: Vec<i32>,
}

/// Output of a dUpdateItem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateItemOutcome {
    /// I_PRICE of the two items after the change.
    pub prices: [Cents; 2],
}

/// Output of a dSelectBalance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectBalanceOutcome {
    /// W_YTD of each warehouse, in the order of the input.
    pub balances: Vec<Cents>,
}
