//! Databases under test: what each must offer ([`Target`], [`Session`], [`Loader`]), and one module per family.
//!
//! A target is named by a URL. [`TargetSpec::parse`] validates it without touching anything;
//! [`TargetSpec::open`] gives the [`Target`].

mod balances;
mod error;
mod etcd;
mod external;
mod family;
mod gemel;
pub mod kv;
mod micro;
mod mysql;
mod net;
mod null;
mod patience;
#[cfg(any(test, feature = "conformance"))]
#[allow(clippy::expect_used, reason = "tests call it")]
pub mod playing;
mod postgres;
mod profile;
mod redis;
mod registry;
mod replicas;
mod replication;
mod sql;
mod sqlite;
mod stoppable;
mod storage;
mod target;
mod target_url;
mod templates;
mod workload;

pub use balances::{Balance, BalanceTransaction, Balances, Between};
pub use error::{AbortReason, Committed, TargetError, TargetErrorKind, TxError};
pub use external::{GO_SDK, PYTHON_SDK, SdkFile};
pub use family::Family;
pub use lydite_tpcc::Placement;
pub use micro::{MicroLoader, MicroTarget};
pub use patience::Waiter;
pub use registry::{TargetSpec, families};
pub use replicas::{LONGEST_WAIT, LagWatch, Replicas, ReplicasReport, Staleness};
pub use replication::{Positions, Replication, Role};
pub use target::{
    BalanceTarget, Capabilities, Commit, ConditionFinding, DatabaseState, Demand, Description, LoadProgress,
    LoadUnit, Loader, NodeSize, Nodes, Replicated, Server, Session, StoppableWork, StoreTest, Submitted,
    TableChecksum, Target, TxMode,
};
pub use target_url::OptionSpec;
pub use templates::Templates;
pub use workload::{Kind, Micro, Tpcc, Workload};
