//! The transactions over any key-value store: a file for each, and the dispatch to them, made from the table of
//! [`lydite_tpcc::transactions!`].

mod customer;
mod delivery;
mod new_order;
mod order_status;
mod payment;
mod select_balance;
mod steps;
mod stock_level;
mod update_balance;
mod update_item;
mod update_stock;

pub(crate) use steps::{KvTxError, Moment};

use crate::kv::store::StoreTx;
use lydite_tpcc::{Dike, Outcome, Standard, Transaction};

macro_rules! of_all {
    (
        Standard {
            $($(#[$about:meta])* $Name:ident = $name:literal: $module:ident($Input:ty) -> $Outcome:ty;)+
        }
        Dike {
            $($(#[$about_of_dike:meta])* $OfDike:ident = $name_of_dike:literal:
                $module_of_dike:ident($InputOfDike:ty) -> $OutcomeOfDike:ty;)+
        }
    ) => {
        /// Runs one transaction up to its commit.
        pub(crate) fn play(
            tx: &mut impl StoreTx,
            transaction: &Transaction,
            moment: &mut Moment<'_>,
        ) -> Result<Outcome, KvTxError> {
            match transaction {
                $(Transaction::Standard(Standard::$Name(input)) => {
                    $module::play(tx, input, moment).map(Outcome::from)
                })+
                $(Transaction::Dike(Dike::$OfDike(input)) => {
                    $module_of_dike::play(tx, input, moment).map(Outcome::from)
                })+
            }
        }

        /// The text of the files.
        pub(crate) const SOURCE: &str = concat!(
            include_str!("steps.rs"),
            include_str!("customer.rs"),
            $(include_str!(concat!($name, ".rs")),)+
            $(include_str!(concat!($name_of_dike, ".rs")),)+
        );
    };
}

lydite_tpcc::transactions!(of_all);
