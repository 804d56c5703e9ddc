//! The progress of a run, for its observers.

use std::time::Duration;

/// Part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before the measured window.
    Warmup,
    /// In the measured window.
    Measuring,
    /// After the window: the run waits for transactions in flight.
    Draining,
}

/// Progress of a run, reported to its observer once a second.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Time since the run began, including the warm-up.
    pub elapsed: Duration,
    /// Length of the warm-up. It becomes less if the throughput is steady before the longest warm-up is over.
    pub warmup: Duration,
    /// Current part of the run.
    pub phase: Phase,
    /// Index of the current phase of the plan, from 0.
    pub in_phase: usize,
    /// Transaction types, in the order of the workload.
    pub kinds: Vec<KindSnapshot>,
    /// Attempts that the database aborted, in the window so far, or in the warm-up while it lasts.
    pub aborts: u64,
    /// Failed transactions, in the same time.
    pub errors: u64,
    /// Transactions with unknown outcome, in the same time.
    pub unknown: u64,
    /// Connected sessions.
    pub connected: u32,
    /// Requests that are due and wait for a session.
    pub queued: u64,
}

/// One transaction type in a [`Snapshot`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindSnapshot {
    /// Completed in the last full second.
    pub last_second: u64,
    /// Completed in the window so far, or in the warm-up while it lasts.
    pub completed: u64,
    /// Median latency in the same time, to within one percent; `None` if no transaction completed.
    pub p50: Option<Duration>,
    /// 95th percentile.
    pub p95: Option<Duration>,
    /// 99th percentile.
    pub p99: Option<Duration>,
}
