//! The counts of the tier.

use lydite_tpcc::{StandardKind, TransactionKind};
use serde::Serialize;
use std::collections::BTreeMap;

/// Counts of the tier, from its start to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Terminals that got a context.
    pub terminals: u64,
    /// Most contexts at the same time.
    pub terminals_most: u64,
    /// Terminals that said goodbye.
    pub ended: u64,
    /// Lines that were lost: they ended, and their terminals had not said goodbye.
    pub lines_lost: u64,
    /// Terminals that came back to their context.
    pub reconnected: u64,
    /// Contexts that were dropped because their terminals did not come back in time.
    pub contexts_dropped: u64,
    /// Lines that were closed because they broke the protocol.
    pub lines_rejected: u64,
    /// Choices from the menu.
    pub menus: u64,
    /// Transactions by type.
    pub transactions: BTreeMap<&'static str, KindCounts>,
    /// Results of Deliveries whose operators were gone.
    pub results_dropped: u64,
    /// Most requests that waited for a session at the same time.
    pub queue_most: u64,
}

/// Counts of one transaction type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KindCounts {
    /// Executions that committed.
    pub committed: u64,
    /// Executions that rolled back because of an unused item.
    pub rolled_back: u64,
    /// Executions that the database aborted or rejected.
    pub failed: u64,
    /// Executions of which it is unknown if they committed.
    pub unknown: u64,
}

impl Counts {
    pub(super) fn new() -> Self {
        let kinds = StandardKind::ALL.map(|kind| (kind.name(), KindCounts::default()));
        Self { transactions: kinds.into(), ..Self::default() }
    }

    pub(crate) fn of(&mut self, kind: TransactionKind) -> &mut KindCounts {
        self.transactions.entry(kind.name()).or_default()
    }
}
