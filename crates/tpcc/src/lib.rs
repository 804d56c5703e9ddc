//! The TPC-C domain, pure and deterministic: no I/O, no clock, no async.
//!
//! Clause numbers refer to the TPC-C Standard, revision 5.11. Data flows through this crate in this order:
//! [`population`] makes the [`rows`] of the nine tables that [`schema`] describes. A [`terminal`] enters
//! [`mod@transactions`], and a database answers them. [`consistency`] says what must hold afterwards.
//! [`limits`] and [`compliance`] say how the standard judges a run.
//!
//! ```
//! use lydite_tpcc::consistency::Evaluator;
//! use lydite_tpcc::population::Population;
//! use lydite_tpcc::schema::Table;
//! use lydite_tpcc::{InputPlan, Mix, Timestamp, Transaction, WarehouseId};
//!
//! // Make the rows of one warehouse and check the twelve conditions on them.
//! let population = Population::new(1, 42, Timestamp(0));
//! let mut check = Evaluator::new();
//! for table in Table::OF_WAREHOUSE {
//!     population.write_table(table, WarehouseId(1), &mut check)?;
//! }
//! assert!(check.finish(1).iter().all(|finding| finding.ok));
//!
//! // Make the first input of the third of its ten terminals.
//! let plan = InputPlan::new(7, 1, population.c_load, Mix::Deck);
//! let transaction: Transaction = plan.terminal(2).next(&plan);
//! assert_eq!(transaction.home(), WarehouseId(1));
//! # Ok::<(), std::convert::Infallible>(())
//! ```

pub mod answer;
pub mod chi_squared;
pub mod coaccess;
pub mod compliance;
pub mod consistency;
pub mod deck;
pub mod distribution;
pub mod home;
pub mod ids;
pub mod input;
mod kind;
pub mod limits;
pub mod meta;
pub mod money;
mod named;
pub mod nurand;
mod order_line;
pub mod placement;
pub mod population;
pub mod random;
pub mod rows;
pub mod scale;
pub mod schema;
pub mod sizing;
pub mod statistics;
pub mod steady;
pub mod terminal;
pub mod text;
pub mod time;
pub mod transactions;

pub use coaccess::CoAccess;
pub use deck::Mix;
pub use distribution::{Distribution, DistributionAsked, DistributionError, Strategy};
pub use ids::{
    CarrierId, CustomerId, DISTRICTS_PER_WAREHOUSE, DistrictId, ITEMS, ItemId, OrderId, WarehouseId,
};
pub use input::InputPlan;
pub use money::{Cents, Rate};
pub use placement::{Nodes, Placement};
pub use scale::{DataSkew, Districts, Size};
pub use statistics::{ByNodes, InputStatistics, NodesTouched};
pub use terminal::Terminal;
pub use time::Timestamp;
pub use transactions::{
    Dike, DikeKind, DikeOutcome, Outcome, RolledBackOrder, Standard, StandardKind, StandardOutcome,
    Transaction, TransactionKind,
};
