//! A database under test: the traits that it must offer ([`Target`], [`Session`], [`Loader`]), and the code that
//! databases of a kind share. [`sql`] has the transactions as SQL, [`kv`] has them over a key-value store.
//!
//! This crate names no database. Those that Lydite drives are in `lydite-families`; a program may bring its own.

mod balances;
mod capabilities;
pub mod code;
pub mod connecting;
mod endpoints;
mod error;
mod facts;
mod held;
pub mod kv;
mod leaving;
pub mod lists;
mod load;
mod load_rows;
pub mod micro;
mod observe;
pub mod patience;
#[cfg(any(test, feature = "conformance"))]
#[allow(clippy::expect_used, reason = "tests call it")]
pub mod playing;
pub mod profile;
mod replicas;
mod replication;
mod reread;
mod seated;
pub mod secret;
mod session;
mod shapes;
pub mod sql;
mod statements;
mod target;
pub mod target_url;
mod workload;
mod written;

pub use balances::{Balance, BalanceTransaction, Balances, Between, Trace};
pub use capabilities::{
    BalanceTarget, Capabilities, HeldTarget, Moved, NodeSize, Nodes, Program, Replicated, Server,
    StoppableWork, StoreTest, TableEngines, engines_of_all, or_unknown,
};
pub use endpoints::{EndpointReport, Endpoints, Life, Probe, Seat};
pub use error::{AbortReason, Committed, RUN_CHECK, TargetError, TargetErrorKind, TxError};
pub use facts::{ConditionFinding, DatabaseState, Description, LedgerCounts, TableChecksum};
pub use held::{Held, HeldTransaction, Point, Script, Then};
pub use leaving::{Inventory, Leaving, Others, Thing, ThingKind};
pub use lists::{HeldListTransaction, HeldLists, ListKey, ListOp, ListTarget, ListTransaction, Lists, Stops};
pub use load::{Batches, LoadProgress, LoadUnit, Loader};
pub use load_rows::{LoadRows, RowFiles, RowsLost, write_any};
pub use lydite_tpcc::Placement;
pub use micro::{MicroLoader, MicroTarget};
pub use observe::{Configuration, Observe, Observer, Sample, SampleKind};
pub use patience::Waiter;
pub use replicas::{
    CATCH_UP, CATCH_UP_WITH_LOAD, LONGEST_WAIT, LagWatch, Replicas, ReplicasReport, Staleness,
};
pub use replication::{Positions, Replication, Role};
pub use reread::{
    CustomerKey, FoundCustomer, FoundLine, FoundOrder, FoundPayment, FoundRows, FoundStock, HalfCounts,
    OrderKey, RowKeys, StockKey,
};
pub use seated::seated;
pub use session::{Commit, Session, Submitted, TerminalLines};
pub use shapes::{TableShape, TableShapes, over_shards};
pub use statements::{StatementCounts, StatementUse, StatementWork, with_texts};
pub use target::{Demand, MICRO_RECORDS, Target, TxMode, run_at_work};
pub use workload::{Kind, Micro, Tpcc, Workload};
pub use written::{PaymentKey, Payments, Written, WrittenOrder};
