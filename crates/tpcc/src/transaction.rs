//! The five transactions, as the terminal enters them (clauses 2.4.1 to 2.8.1), and those of the Dike paper beside them.

use crate::ids::{CarrierId, CustomerId, DistrictId, ItemId, WarehouseId};
use crate::money::Cents;
use crate::named_enum;
use crate::text::LastName;
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

/// The most lines that an order can have (clause 2.4.1.3).
pub const MAX_ORDER_LINES: usize = 15;

/// What a terminal sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// Clause 2.4.
    NewOrder(NewOrder),
    /// Clause 2.5.
    Payment(Payment),
    /// Clause 2.6.
    OrderStatus(OrderStatus),
    /// Clause 2.7; the deferred part.
    Delivery(Delivery),
    /// Clause 2.8.
    StockLevel(StockLevel),
    /// The Dike paper's dUpdateStock.
    UpdateStock(UpdateStock),
    /// The Dike paper's dUpdateItem.
    UpdateItem(UpdateItem),
    /// The Dike paper's dUpdateBalance: adds [`BALANCE_UPDATE`] to each.
    UpdateBalance(WarehouseBalances),
    /// The Dike paper's dSelectBalance: reads each.
    SelectBalance(WarehouseBalances),
}

/// Input of New-Order (clause 2.4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// The terminal's warehouse.
    pub w_id: WarehouseId,
    /// The ordering customer's district.
    pub d_id: DistrictId,
    /// The ordering customer.
    pub c_id: CustomerId,
    /// 5 to 15 lines in the order of OL_NUMBER. An unused item in the last one makes the order roll back.
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
    /// The terminal's warehouse, which receives the money.
    pub w_id: WarehouseId,
    /// The district that receives the money.
    pub d_id: DistrictId,
    /// The customer's own warehouse; another than `w_id` in 15 % of the payments.
    pub c_w_id: WarehouseId,
    /// The customer's own district.
    pub c_d_id: DistrictId,
    /// Who pays.
    pub customer: CustomerSelector,
    /// H_AMOUNT, 1.00 to 5 000.00.
    pub amount: Cents,
}

/// Input of Order-Status (clause 2.6.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderStatus {
    /// The terminal's warehouse.
    pub w_id: WarehouseId,
    /// The customer's district.
    pub d_id: DistrictId,
    /// Whose last order is asked for.
    pub customer: CustomerSelector,
}

/// Input of Delivery (clause 2.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The terminal's warehouse; one order of each of its districts is delivered.
    pub w_id: WarehouseId,
    /// How many districts it has: ten, unless data is skewed.
    pub districts: u16,
    /// O_CARRIER_ID, 1 to 10.
    pub carrier_id: CarrierId,
}

impl Delivery {
    /// The districts of which an order is delivered.
    pub fn district_ids(&self) -> impl DoubleEndedIterator<Item = DistrictId> + ExactSizeIterator + use<> {
        DistrictId::up_to(self.districts)
    }
}

/// Input of Stock-Level (clause 2.8.1); with other districts that of the Dike paper's dStockLevel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockLevel {
    /// The terminal's warehouse.
    pub w_id: WarehouseId,
    /// The terminal's own district, fixed for the run.
    pub d_id: DistrictId,
    /// 10 to 20: stock below it counts as low.
    pub threshold: u8,
    /// Districts of other warehouses whose low stock is counted in the same transaction, and added up; none in the standard.
    pub others: ArrayVec<(WarehouseId, DistrictId), MAX_ORDER_LINES>,
}

impl StockLevel {
    /// The districts of which low stock is counted, the terminal's own first.
    pub fn districts(&self) -> impl Iterator<Item = (WarehouseId, DistrictId)> + '_ {
        std::iter::once((self.w_id, self.d_id)).chain(self.others.iter().copied())
    }
}

/// Input of dUpdateStock: what New-Order does to stock (clause 2.4.2.2), and nothing else of it, all rounds in one
/// transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateStock {
    /// The terminal's warehouse.
    pub w_id: WarehouseId,
    /// What is taken, 1 to 15 rounds, each from another row of stock, in the order of warehouse and item: that of
    /// [`NewOrder::access_order`], so that two of them, or one and an order, seldom wait for each other in a ring.
    pub rounds: ArrayVec<OrderLineInput, MAX_ORDER_LINES>,
}

/// Input of dUpdateItem: two items change their prices, so that the table which clusters have on every node changes, and
/// the sum of I_PRICE does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateItem {
    /// The terminal's warehouse.
    pub w_id: WarehouseId,
    /// Two different items, in the order of I_ID, in which they are locked.
    pub items: [ItemId; 2],
}

/// What a dUpdateBalance adds to each W_YTD: the paper's 10.
pub const BALANCE_UPDATE: Cents = Cents(1_000);

/// Input of dUpdateBalance and dSelectBalance, which change or read W_YTD of several warehouses in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarehouseBalances {
    /// The terminal's warehouse.
    pub w_id: WarehouseId,
    /// Whose balances, 1 to 15, none twice, in the order in which they are taken.
    pub warehouses: ArrayVec<WarehouseId, MAX_ORDER_LINES>,
}

/// How a customer is found: by number, or as the middle one of those with a last name (clauses 2.5.1.2, 2.6.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomerSelector {
    /// By C_ID.
    Id(CustomerId),
    /// By C_LAST: of n matching rows ordered by C_FIRST, the one at position ⌈n/2⌉, counted from 1.
    LastName(LastName),
}

named_enum! {
    /// The type of a transaction: those of the standard in its order, then those of the Dike paper; the names are those
    /// of results.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TransactionKind {
        /// Clause 2.4.
        NewOrder = "new_order",
        /// Clause 2.5.
        Payment = "payment",
        /// Clause 2.6.
        OrderStatus = "order_status",
        /// Clause 2.7.
        Delivery = "delivery",
        /// Clause 2.8.
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

    /// Whether the standard has it.
    #[must_use]
    pub const fn is_standard(self) -> bool {
        self.index() < Self::STANDARD.len()
    }

    /// Whether it changes nothing.
    #[must_use]
    pub const fn only_reads(self) -> bool {
        matches!(self, Self::OrderStatus | Self::StockLevel | Self::SelectBalance)
    }

    /// Its name as the standard, or else the paper, writes it.
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
    /// The type of this transaction.
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

    /// The home warehouse of the terminal that sent it.
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
    /// O_ALL_LOCAL: whether every line is supplied by the home warehouse (clause 2.4.2.2).
    #[must_use]
    pub fn all_local(&self) -> bool {
        self.lines.iter().all(|line| line.supply_w_id == self.w_id)
    }

    /// Indexes of the lines in the order in which all ways of talking touch stock: by supplying warehouse and
    /// item, so that two orders seldom wait for each other in a ring (within one statement
    /// the database may choose another order). The last line stays last when its item
    /// is the only one unused, because the profile wants all valid lines done before the rollback
    /// (clause 2.4.2.3); an unused id is above all valid ones, but its warehouse may be low.
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
