//! Inputs of the five transactions as the terminal enters them (clauses 2.4.1 to 2.8.1), and of those of the Dike
//! paper.

use crate::ids::{CarrierId, CustomerId, DistrictId, ItemId, WarehouseId};
use crate::money::Cents;
use crate::named_enum;
use crate::text::LastName;
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

/// Most lines of an order (clause 2.4.1.3).
pub const MAX_ORDER_LINES: usize = 15;

/// A transaction with its input, as a terminal sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// New-Order (clause 2.4).
    NewOrder(NewOrder),
    /// Payment (clause 2.5).
    Payment(Payment),
    /// Order-Status (clause 2.6).
    OrderStatus(OrderStatus),
    /// Delivery (clause 2.7), the deferred part.
    Delivery(Delivery),
    /// Stock-Level (clause 2.8).
    StockLevel(StockLevel),
    /// The Dike paper's dUpdateStock.
    UpdateStock(UpdateStock),
    /// The Dike paper's dUpdateItem.
    UpdateItem(UpdateItem),
    /// The Dike paper's dUpdateBalance: adds [`BALANCE_UPDATE`] to each warehouse.
    UpdateBalance(WarehouseBalances),
    /// The Dike paper's dSelectBalance: reads each warehouse.
    SelectBalance(WarehouseBalances),
}

/// Input of New-Order (clause 2.4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// The terminal's home warehouse.
    pub w_id: WarehouseId,
    /// The ordering customer's district.
    pub d_id: DistrictId,
    /// The ordering customer.
    pub c_id: CustomerId,
    /// The 5 to 15 lines in the order of OL_NUMBER. An unused item in the last line makes the order roll back.
    pub lines: ArrayVec<OrderLineInput, MAX_ORDER_LINES>,
}

/// One line of an order as it is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderLineInput {
    /// OL_I_ID.
    pub i_id: ItemId,
    /// OL_SUPPLY_W_ID.
    pub supply_w_id: WarehouseId,
    /// OL_QUANTITY, 1 to 10.
    pub quantity: u8,
}

/// Input of Payment (clause 2.5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// The terminal's home warehouse, which receives the money.
    pub w_id: WarehouseId,
    /// The district that receives the money.
    pub d_id: DistrictId,
    /// The customer's own warehouse; not `w_id` in 15 % of the payments.
    pub c_w_id: WarehouseId,
    /// The customer's own district.
    pub c_d_id: DistrictId,
    /// The customer who pays.
    pub customer: CustomerSelector,
    /// H_AMOUNT, 1.00 to 5 000.00.
    pub amount: Cents,
}

/// Input of Order-Status (clause 2.6.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderStatus {
    /// The terminal's home warehouse.
    pub w_id: WarehouseId,
    /// The customer's district.
    pub d_id: DistrictId,
    /// The customer whose last order is shown.
    pub customer: CustomerSelector,
}

/// Input of Delivery (clause 2.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The terminal's home warehouse. One order of each of its districts is delivered.
    pub w_id: WarehouseId,
    /// Number of districts of the warehouse: ten, unless data is skewed.
    pub districts: u16,
    /// O_CARRIER_ID, 1 to 10.
    pub carrier_id: CarrierId,
}

impl Delivery {
    /// Returns the districts that deliver an order.
    pub fn district_ids(&self) -> impl DoubleEndedIterator<Item = DistrictId> + ExactSizeIterator + use<> {
        DistrictId::up_to(self.districts)
    }
}

/// Input of Stock-Level (clause 2.8.1). With other districts it is the input of the Dike paper's dStockLevel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockLevel {
    /// The terminal's home warehouse.
    pub w_id: WarehouseId,
    /// The terminal's own district, fixed for the run.
    pub d_id: DistrictId,
    /// Threshold, 10 to 20: stock below it is low.
    pub threshold: u8,
    /// Districts of other warehouses whose low stock is counted in the same transaction and added. Empty in the
    /// standard.
    pub others: ArrayVec<(WarehouseId, DistrictId), MAX_ORDER_LINES>,
}

impl StockLevel {
    /// Returns the districts whose low stock is counted, the terminal's own first.
    pub fn districts(&self) -> impl Iterator<Item = (WarehouseId, DistrictId)> + '_ {
        std::iter::once((self.w_id, self.d_id)).chain(self.others.iter().copied())
    }
}

/// Input of dUpdateStock, which updates stock like a New-Order (clause 2.4.2.2) and does nothing else. All rounds are
/// in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateStock {
    /// The terminal's home warehouse.
    pub w_id: WarehouseId,
    /// The 1 to 15 rounds, each on another row of stock, in the order of warehouse and item. This is the order of
    /// [`NewOrder::access_order`], so two dUpdateStocks, or one and a New-Order, seldom wait for each other in a ring.
    pub rounds: ArrayVec<OrderLineInput, MAX_ORDER_LINES>,
}

/// Input of dUpdateItem: two items change prices with each other. So the table changes that clusters replicate to every
/// node, while the sum of I_PRICE stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateItem {
    /// The terminal's home warehouse.
    pub w_id: WarehouseId,
    /// Two different items in the order of I_ID, in which they are locked.
    pub items: [ItemId; 2],
}

/// Amount that a dUpdateBalance adds to each W_YTD: 10, as in the Dike paper.
pub const BALANCE_UPDATE: Cents = Cents(1_000);

/// Input of dUpdateBalance and dSelectBalance, which change or read W_YTD of several warehouses in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarehouseBalances {
    /// The terminal's home warehouse.
    pub w_id: WarehouseId,
    /// The 1 to 15 different warehouses in the order in which they are locked or read.
    pub warehouses: ArrayVec<WarehouseId, MAX_ORDER_LINES>,
}

/// Selection of a customer: by number, or as the middle one of those with a last name (clauses 2.5.1.2, 2.6.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomerSelector {
    /// By number: C_ID.
    Id(CustomerId),
    /// By last name: of the n rows with this C_LAST, ordered by C_FIRST, the one at position ⌈n/2⌉, counted from 1.
    LastName(LastName),
}

impl CustomerSelector {
    /// Returns the customer of a district in words, for messages.
    #[must_use]
    pub fn in_words(&self, w_id: WarehouseId, d_id: DistrictId) -> String {
        match self {
            Self::Id(c_id) => format!("customer {c_id} of district {w_id}/{d_id}"),
            Self::LastName(name) => format!("a customer named \"{name}\" of district {w_id}/{d_id}"),
        }
    }
}

named_enum! {
    /// Type of a transaction: those of the standard in its order, then those of the Dike paper. Results use these
    /// names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TransactionKind {
        /// New-Order (clause 2.4).
        NewOrder = "new_order",
        /// Payment (clause 2.5).
        Payment = "payment",
        /// Order-Status (clause 2.6).
        OrderStatus = "order_status",
        /// Delivery (clause 2.7).
        Delivery = "delivery",
        /// Stock-Level (clause 2.8).
        StockLevel = "stock_level",
        /// The Dike paper's dUpdateStock (its section 4.3.2).
        UpdateStock = "update_stock",
        /// The Dike paper's dUpdateItem (its appendix A.1: broadcastTest).
        UpdateItem = "update_item",
        /// The Dike paper's dUpdateBalance (its section 5).
        UpdateBalance = "update_balance",
        /// The Dike paper's dSelectBalance (its section 5).
        SelectBalance = "select_balance",
    }
}

impl TransactionKind {
    /// The types of the standard.
    pub const STANDARD: [Self; 5] =
        [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// True if the standard has this type.
    #[must_use]
    pub const fn is_standard(self) -> bool {
        self.index() < Self::STANDARD.len()
    }

    /// True if the type changes nothing.
    #[must_use]
    pub const fn only_reads(self) -> bool {
        matches!(self, Self::OrderStatus | Self::StockLevel | Self::SelectBalance)
    }

    /// Returns the name that the standard, or else the paper, uses.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::NewOrder => "New-Order",
            Self::Payment => "Payment",
            Self::OrderStatus => "Order-Status",
            Self::Delivery => "Delivery",
            Self::StockLevel => "Stock-Level",
            Self::UpdateStock => "dUpdateStock",
            Self::UpdateItem => "dUpdateItem",
            Self::UpdateBalance => "dUpdateBalance",
            Self::SelectBalance => "dSelectBalance",
        }
    }
}

impl Transaction {
    /// Returns the type of this transaction.
    #[must_use]
    pub fn kind(&self) -> TransactionKind {
        match self {
            Self::NewOrder(_) => TransactionKind::NewOrder,
            Self::Payment(_) => TransactionKind::Payment,
            Self::OrderStatus(_) => TransactionKind::OrderStatus,
            Self::Delivery(_) => TransactionKind::Delivery,
            Self::StockLevel(_) => TransactionKind::StockLevel,
            Self::UpdateStock(_) => TransactionKind::UpdateStock,
            Self::UpdateItem(_) => TransactionKind::UpdateItem,
            Self::UpdateBalance(_) => TransactionKind::UpdateBalance,
            Self::SelectBalance(_) => TransactionKind::SelectBalance,
        }
    }

    /// Returns the home warehouse of the terminal that sent the transaction.
    #[must_use]
    pub fn home(&self) -> WarehouseId {
        match self {
            Self::NewOrder(t) => t.w_id,
            Self::Payment(t) => t.w_id,
            Self::OrderStatus(t) => t.w_id,
            Self::Delivery(t) => t.w_id,
            Self::StockLevel(t) => t.w_id,
            Self::UpdateStock(t) => t.w_id,
            Self::UpdateItem(t) => t.w_id,
            Self::UpdateBalance(t) | Self::SelectBalance(t) => t.w_id,
        }
    }
}

impl NewOrder {
    /// Returns O_ALL_LOCAL: true if the home warehouse supplies every line (clause 2.4.2.2).
    #[must_use]
    pub fn all_local(&self) -> bool {
        self.lines.iter().all(|line| line.supply_w_id == self.w_id)
    }

    /// Returns the indexes of the lines in the order in which every target locks stock: by supplying warehouse and
    /// item. So two orders seldom wait for each other in a ring. (Within one statement the database may choose another
    /// order.) A last line with the only unused item stays last, because the profile wants all valid lines done before
    /// the rollback (clause 2.4.2.3). An unused id is above all valid ones, but its warehouse may have a low number.
    #[must_use]
    pub fn access_order(&self) -> ArrayVec<usize, MAX_ORDER_LINES> {
        let mut order: ArrayVec<usize, MAX_ORDER_LINES> = (0..self.lines.len()).collect();
        order.sort_by_key(|&index| {
            let line = &self.lines[index];
            (line.i_id.0 > crate::ids::ITEMS, line.supply_w_id, line.i_id, index)
        });
        order
    }
}
