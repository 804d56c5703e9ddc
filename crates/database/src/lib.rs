//! Databases under test: what each must offer ([`Target`], [`Session`], [`Loader`]), and one module per family.
//!
//! A target is named by a URL. [`TargetSpec::parse`] validates it without touching anything;
//! [`TargetSpec::open`] gives the [`Target`].

mod balances;
mod error;
mod etcd;
mod external;
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
mod sql;
mod sqlite;
mod stoppable;
mod storage;
mod target;
mod templates;
mod workload;

pub use balances::{Balance, BalanceTransaction, Balances, Between};
pub use error::{AbortReason, Committed, TargetError, TargetErrorKind, TxError};
pub use external::{GO_SDK, PYTHON_SDK, SdkFile};
pub use lydite_tpcc::Placement;
pub use micro::{MicroLoader, MicroTarget};
pub use patience::Waiter;
pub use registry::{Family, TargetSpec, families};
pub use replicas::{
    LONGEST_WAIT, LagWatch, Positions, Replicas, ReplicasReport, Replication, Role, Staleness,
};
pub use target::{
    Commit, ConditionFinding, DatabaseState, Description, LoadProgress, LoadUnit, Loader, NodeSize, Session,
    Submitted, TableChecksum, Target, TxMode,
};
pub use templates::Templates;
pub use workload::{Kind, Micro, Tpcc, Workload};
