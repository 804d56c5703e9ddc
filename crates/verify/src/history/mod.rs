//! Checker of isolation: decides from a recorded history whether a database kept an isolation level.
//!
//! Clients run small transactions whose writes all differ, so each read shows which write it saw. From the reads the
//! checker infers which transaction must have come before which other one. It looks for cycles in this order: no order
//! of the transactions allows a cycle. The isolation levels differ in the kinds of cycles that they allow (Adya, "Weak
//! Consistency", 1999). Lists that only grow by appends reveal the order of their values; this is the idea of Elle
//! (Kingsbury and Alvaro, VLDB 2020).
//!
//! Beside cycles it looks for lost writes: what was acknowledged and is not there at the end ([`History::final_from`]).
//!
//! The checker finds only what the history proves. Every reported anomaly did happen; others may have happened unseen.
//!
//! ```
//! use lydite_verify::history::{AnomalyKind, History, Level, Options, check};
//!
//! // Both read both keys as empty, then each appends to another one.
//! let history = History::from_json_lines(
//!     r#"
//! {"process":0,"invoked":1,"completed":3,"outcome":"committed","ops":[["r","x",[]],["r","y",[]],["append","x",1]]}
//! {"process":1,"invoked":2,"completed":4,"outcome":"committed","ops":[["r","x",[]],["r","y",[]],["append","y",1]]}
//! "#
//!     .as_bytes(),
//! )?;
//! assert!(check(&history, &Options::new(Level::SnapshotIsolation))?.holds);
//! let report = check(&history, &Options::new(Level::Serializable))?;
//! assert!(!report.holds);
//! assert_eq!(report.anomalies[0].kind, AnomalyKind::WriteSkew);
//! # Ok::<(), lydite_verify::history::HistoryError>(())
//! ```

mod check;
mod cycles;
mod edn;
mod explain;
mod file;
mod generate;
mod graph;
mod level;
mod lost;
mod model;
mod ranges;
mod record;
mod report;
mod versions;

pub use check::{Options, check};
pub use generate::{Generated, Generator, Request, Workload, WorkloadError, WorkloadKind};
pub use level::RegisterOrder;
pub use level::{AnomalyKind, Level, Order};
pub(crate) use lost::lost;
pub use model::{Action, History, HistoryError, Key, KeyId, Op, Outcome, Seen, Transaction, TxId};
pub use record::{Failure, HistoryClient, RecordError, record, record_interleaved};
pub use report::{Anomaly, Example, Report, Tally};
