//! The transactions: the five of the standard, and those of the Dike paper over the same tables.
//!
//! The file of a transaction implements the traits of `profile.rs`. It has the input as the terminal enters it (clauses
//! 2.4.1 to 2.8.1), the draw of that input, and the answer with the fields that a terminal must show (clauses 2.4.3 to
//! 2.8.3). It also counts inputs and checks answers. Drivers outside of this process answer with fields of these names.
//! An optional field must be present, null if it has no value.
//!
//! The macro [`transactions!`](macro@crate::transactions) is the one table of them. The enums here, the types in
//! `kind.rs`, and the dispatch in other crates are made from it.

mod balances;
mod counting;
mod customer;
mod delivery;
mod new_order;
mod order_status;
mod payment;
pub(crate) mod profile;
mod select_balance;
mod stock_level;
mod update_balance;
mod update_item;
mod update_stock;

pub use balances::WarehouseBalances;
pub use customer::CustomerSelector;
pub use delivery::{Delivery, DeliveryOutcome};
pub use new_order::{NewOrder, NewOrderLine, NewOrderOutcome, RolledBackOrder};
pub use order_status::{OrderStatus, OrderStatusLine, OrderStatusOutcome};
pub use payment::{Payment, PaymentOutcome};
pub use select_balance::SelectBalanceOutcome;
pub use stock_level::{StockLevel, StockLevelOutcome};
pub use update_balance::{BALANCE_UPDATE, UpdateBalanceOutcome};
pub use update_item::{MAX_ITEM_ROUNDS, UpdateItem, UpdateItemOutcome};
pub use update_stock::{UpdateStock, UpdateStockOutcome};

pub use crate::kind::{DikeKind, StandardKind, TransactionKind};
pub use crate::order_line::{MAX_ORDER_LINES, OrderLineInput};

use crate::answer::Contradiction;
use crate::ids::WarehouseId;
use crate::input::{InputPlan, Seat};
use crate::limits::KindLimits;
use crate::statistics::{InputStatistics, NodesTouched};
use profile::{Extra, Limited, Profile};

/// Calls a macro with the table of all transactions, in the order of results. A line has the variant, the name in
/// results, the module, and the types of input and answer. A crate with a module of that name for each transaction
/// makes its dispatch from the table.
///
/// ```
/// macro_rules! names {
///     (
///         Standard { $($(#[$about:meta])* $Name:ident = $name:literal: $module:ident($Input:ty) -> $Outcome:ty;)+ }
///         Dike { $($rest:tt)+ }
///     ) => {
///         const NAMES: [&str; 5] = [$($name),+];
///     };
/// }
/// lydite_tpcc::transactions!(names);
/// assert_eq!(NAMES, ["new_order", "payment", "order_status", "delivery", "stock_level"]);
/// ```
#[macro_export]
macro_rules! transactions {
    ($for_all:ident) => {
        $for_all! {
            Standard {
                /// New-Order (clause 2.4).
                NewOrder = "new_order": new_order(NewOrder) -> NewOrderOutcome;
                /// Payment (clause 2.5).
                Payment = "payment": payment(Payment) -> Box<PaymentOutcome>;
                /// Order-Status (clause 2.6).
                OrderStatus = "order_status": order_status(OrderStatus) -> OrderStatusOutcome;
                /// Delivery (clause 2.7), the deferred part.
                Delivery = "delivery": delivery(Delivery) -> DeliveryOutcome;
                /// Stock-Level (clause 2.8).
                StockLevel = "stock_level": stock_level(StockLevel) -> StockLevelOutcome;
            }
            Dike {
                /// The Dike paper's dUpdateStock (its section 4.3.2).
                UpdateStock = "update_stock": update_stock(UpdateStock) -> UpdateStockOutcome;
                /// The Dike paper's dUpdateItem (its appendix A.1: broadcastTest).
                UpdateItem = "update_item": update_item(UpdateItem) -> UpdateItemOutcome;
                /// The Dike paper's dUpdateBalance (its section 5): adds to the balance of each warehouse.
                UpdateBalance = "update_balance": update_balance(WarehouseBalances) -> UpdateBalanceOutcome;
                /// The Dike paper's dSelectBalance (its section 5): reads the balance of each warehouse.
                SelectBalance = "select_balance": select_balance(WarehouseBalances) -> SelectBalanceOutcome;
            }
        }
    };
}

/// A transaction with its input, as a terminal sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// One of the standard.
    Standard(Standard),
    /// One of the Dike paper.
    Dike(Dike),
}

/// The answer to a committed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Answer to a transaction of the standard.
    Standard(StandardOutcome),
    /// Answer to a transaction of the Dike paper.
    Dike(DikeOutcome),
}

/// Declares the transactions and answers of one group.
macro_rules! group {
    (
        $(#[$about:meta])* $Group:ident, $Kind:ident,
        $(#[$about_outcomes:meta])* $Outcomes:ident;
        $($(#[$about_name:meta])* $Name:ident: $module:ident($Input:ty) -> $Outcome:ty;)+
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $Group {
            $($(#[$about_name])* $Name($Input),)+
        }

        $(#[$about_outcomes])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $Outcomes {
            $($(#[$about_name])* $Name($Outcome),)+
        }

        impl $Kind {
            /// Returns the name that the standard, or else the paper, uses.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$Name => $module::$Name::TITLE,)+
                }
            }

            /// True if the type changes nothing.
            #[must_use]
            pub const fn only_reads(self) -> bool {
                match self {
                    $(Self::$Name => $module::$Name::ONLY_READS,)+
                }
            }

            fn draw(self, seat: &mut Seat, plan: &InputPlan) -> $Group {
                match self {
                    $(Self::$Name => $Group::$Name($module::$Name::draw(seat, plan)),)+
                }
            }

            fn count_nodes(self, touched: &mut NodesTouched, nodes: usize) {
                match self {
                    $(Self::$Name => $module::$Name::count_nodes(touched, nodes),)+
                }
            }
        }

        impl $Group {
            /// Returns the type of the transaction.
            #[must_use]
            pub const fn kind(&self) -> $Kind {
                match self {
                    $(Self::$Name(_) => $Kind::$Name,)+
                }
            }

            /// Returns the home warehouse of the terminal that sent the transaction.
            #[must_use]
            pub fn home(&self) -> WarehouseId {
                match self {
                    $(Self::$Name(input) => input.w_id,)+
                }
            }

            fn touch(&self, touch: impl FnMut(WarehouseId)) {
                match self {
                    $(Self::$Name(input) => $module::$Name::touch(input, touch),)+
                }
            }

            fn count(&self, counts: &mut InputStatistics) {
                match self {
                    $(Self::$Name(input) => $module::$Name::count(input, counts),)+
                }
            }

            fn contradiction(&self, answered: &$Outcomes) -> Option<Contradiction> {
                match (self, answered) {
                    $((Self::$Name(entered), $Outcomes::$Name(answered)) => {
                        $module::$Name::contradiction(entered, answered)
                    })+
                    _ => Some(Contradiction::Type),
                }
            }
        }

        impl $Outcomes {
            /// Returns the type of the transaction.
            #[must_use]
            pub const fn kind(&self) -> $Kind {
                match self {
                    $(Self::$Name(_) => $Kind::$Name,)+
                }
            }

            fn forget_times(&mut self) {
                match self {
                    $(Self::$Name(answered) => $module::$Name::forget_times(answered),)+
                }
            }
        }

        $(
            impl From<$Outcome> for $Outcomes {
                fn from(outcome: $Outcome) -> Self {
                    Self::$Name(outcome)
                }
            }

            impl From<$Outcome> for Outcome {
                fn from(outcome: $Outcome) -> Self {
                    Self::$Group($Outcomes::$Name(outcome))
                }
            }
        )+
    };
}

/// Declares the transactions and answers of both groups from the table.
macro_rules! both {
    (
        Standard {
            $($(#[$about:meta])* $Name:ident = $name:literal: $module:ident($Input:ty) -> $Outcome:ty;)+
        }
        Dike {
            $($(#[$about_of_dike:meta])* $OfDike:ident = $name_of_dike:literal:
                $module_of_dike:ident($InputOfDike:ty) -> $OutcomeOfDike:ty;)+
        }
    ) => {
        group! {
            /// A transaction of the standard with its input.
            Standard, StandardKind,
            /// The answer to a committed transaction of the standard.
            StandardOutcome;
            $($(#[$about])* $Name: $module($Input) -> $Outcome;)+
        }
        group! {
            /// A transaction of the Dike paper with its input.
            Dike, DikeKind,
            /// The answer to a committed transaction of the Dike paper.
            DikeOutcome;
            $($(#[$about_of_dike])* $OfDike: $module_of_dike($InputOfDike) -> $OutcomeOfDike;)+
        }

        $(
            impl From<$Input> for Transaction {
                fn from(input: $Input) -> Self {
                    Self::Standard(Standard::$Name(input))
                }
            }
        )+

        impl StandardKind {
            /// Returns the limits of the standard for this type.
            #[must_use]
            pub const fn limits(self) -> &'static KindLimits {
                match self {
                    $(Self::$Name => &$module::$Name::LIMITS,)+
                }
            }
        }

        impl Dike {
            /// Returns an answer of the right form with invented numbers, for a target that stores nothing.
            #[must_use]
            pub fn invented_outcome(&self) -> DikeOutcome {
                match self {
                    $(Self::$OfDike(input) => {
                        DikeOutcome::$OfDike($module_of_dike::$OfDike::invent(input))
                    })+
                }
            }
        }
    };
}

transactions!(both);

impl TransactionKind {
    /// Returns the name that the standard, or else the paper, uses.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Standard(kind) => kind.title(),
            Self::Dike(kind) => kind.title(),
        }
    }

    /// True if the type changes nothing.
    #[must_use]
    pub const fn only_reads(self) -> bool {
        match self {
            Self::Standard(kind) => kind.only_reads(),
            Self::Dike(kind) => kind.only_reads(),
        }
    }

    /// Draws the input of a terminal from its stream.
    pub(crate) fn draw(self, seat: &mut Seat, plan: &InputPlan) -> Transaction {
        match self {
            Self::Standard(kind) => Transaction::Standard(kind.draw(seat, plan)),
            Self::Dike(kind) => Transaction::Dike(kind.draw(seat, plan)),
        }
    }
}

impl Transaction {
    /// Returns the type of the transaction.
    #[must_use]
    pub const fn kind(&self) -> TransactionKind {
        match self {
            Self::Standard(transaction) => TransactionKind::Standard(transaction.kind()),
            Self::Dike(transaction) => TransactionKind::Dike(transaction.kind()),
        }
    }

    /// Returns the home warehouse of the terminal that sent the transaction.
    #[must_use]
    pub fn home(&self) -> WarehouseId {
        match self {
            Self::Standard(transaction) => transaction.home(),
            Self::Dike(transaction) => transaction.home(),
        }
    }

    /// Returns the first contradiction in the answer to a committed transaction; none if the answer is consistent.
    #[must_use]
    pub fn contradiction(&self, answered: &Outcome) -> Option<Contradiction> {
        match (self, answered) {
            (Self::Standard(entered), Outcome::Standard(answered)) => entered.contradiction(answered),
            (Self::Dike(entered), Outcome::Dike(answered)) => entered.contradiction(answered),
            _ => Some(Contradiction::Type),
        }
    }
}

impl Outcome {
    /// Returns the type of the transaction.
    #[must_use]
    pub const fn kind(&self) -> TransactionKind {
        match self {
            Self::Standard(outcome) => TransactionKind::Standard(outcome.kind()),
            Self::Dike(outcome) => TransactionKind::Dike(outcome.kind()),
        }
    }

    /// Returns the same answer without the times of the database's clock, so answers of two runs compare equal.
    #[must_use]
    pub fn without_clock(mut self) -> Self {
        match &mut self {
            Self::Standard(outcome) => outcome.forget_times(),
            Self::Dike(outcome) => outcome.forget_times(),
        }
        self
    }
}

impl From<StandardOutcome> for Outcome {
    fn from(outcome: StandardOutcome) -> Self {
        Self::Standard(outcome)
    }
}

impl From<DikeOutcome> for Outcome {
    fn from(outcome: DikeOutcome) -> Self {
        Self::Dike(outcome)
    }
}

impl From<Standard> for Transaction {
    fn from(transaction: Standard) -> Self {
        Self::Standard(transaction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::DistrictId;

    #[test]
    fn low_stock_is_bounded_by_the_recent_orders_and_an_answer_has_its_type() {
        let entered = Transaction::from(StockLevel {
            w_id: WarehouseId(1),
            d_id: DistrictId(1),
            threshold: 10,
            others: Default::default(),
        });
        let low = |low_stock| entered.contradiction(&StockLevelOutcome { low_stock }.into());
        assert_eq!(low(300), None);
        assert_eq!(low(301), Some(Contradiction::LowStock { answered: 301, most: 300 }));
        assert_eq!(entered.contradiction(&UpdateBalanceOutcome.into()), Some(Contradiction::Type));
    }
}
