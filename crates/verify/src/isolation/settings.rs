//! Settings and results of a recording.

use crate::history::{History, WorkloadKind};
use lydite_database::TargetError;
use std::collections::BTreeMap;
use std::time::Duration;

/// Transactions of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Played {
    /// Small transactions on lists or registers, in tables of the check's own.
    Own(WorkloadKind),
    /// The mix of TPC-C on a loaded database.
    Tpcc,
}

/// Settings of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Transactions.
    pub played: Played,
    /// Longest duration of the recording.
    pub duration: Duration,
    /// Transactions after which the recording ends before its duration.
    pub transactions: u64,
    /// Number of sessions.
    pub sessions: u32,
    /// Longest wait of a transaction for a lock; those of TPC-C wait as long as in a run.
    pub limit: Duration,
    /// Seed of the transactions.
    pub seed: u64,
}

/// Result of a recording.
#[derive(Debug)]
pub struct Recording {
    /// The history.
    pub history: History,
    /// Aborted transactions by reason, without those that the workload rolls back.
    pub aborts: BTreeMap<&'static str, u64>,
    /// True if the user stopped the recording.
    pub stopped: bool,
    /// Reason why not every key could be read at the end. Lost appends may then be unseen.
    pub unread: Option<String>,
    /// Error that ended the recording early, or lost the database.
    pub lost: Option<TargetError>,
    /// Reason why the tables could not be dropped.
    pub undropped: Option<String>,
}

impl Recording {
    /// Returns the recording that failed before its first transaction.
    pub(super) fn nothing(error: TargetError) -> Self {
        Self {
            history: History::default(),
            aborts: BTreeMap::new(),
            stopped: false,
            unread: Some(error.message.clone()),
            lost: Some(error),
            undropped: None,
        }
    }
}
