//! Did a database keep the isolation it promised? A black-box check of recorded histories.
//!
//! Clients run small transactions whose writes are all different, so that a read tells whose write it saw.
//! From the reads the checker works out which transaction must have come before which, and looks for cycles
//! in that: a cycle cannot happen in any order of the transactions. Which kinds of cycles are allowed makes
//! the isolation levels (Adya, "Weak Consistency", 1999); working the order out of lists that are only ever
//! appended to is the idea of Elle (Kingsbury and Alvaro, VLDB 2020).
//!
//! The checker finds what the history proves and nothing else: what it reports did happen, what it does not
//! report may still have happened unseen.
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
mod explain;
mod file;
mod generate;
mod graph;
mod level;
mod model;
mod record;
mod report;
mod versions;

pub use check::{Options, RegisterOrder, check};
pub use generate::{Generated, Generator, Request, Workload, WorkloadError, WorkloadKind};
pub use level::{AnomalyKind, Level, Order};
pub use model::{Action, History, HistoryError, Key, KeyId, Op, Outcome, Seen, Transaction, TxId};
pub use record::{Failure, HistoryClient, RecordError, record, record_interleaved};
pub use report::{Anomaly, Example, Report, Tally};
