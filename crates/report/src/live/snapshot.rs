//! A moment of a run, as its view gets it.

use super::observed::ObservedNow;
use std::time::Duration;

/// Part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Sessions are being opened.
    Connecting,
    /// Transactions run, but are not measured.
    Warmup,
    /// Transactions run and are measured.
    Measuring,
    /// No transaction starts any more; the run waits for those under way.
    Draining,
    /// The database is being checked after the run.
    Checking,
}

impl Phase {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Warmup => "warm-up",
            Self::Measuring => "measuring",
            Self::Draining => "draining",
            Self::Checking => "checking",
        }
    }
}

/// Numbers of one transaction type. Latencies are those of the window so far (or of the warm-up while it lasts); none
/// without samples.
#[derive(Debug, Clone, Copy)]
pub struct TypeRow<'a> {
    /// Name, such as `new_order`.
    pub name: &'a str,
    /// Completed transactions per second, in the last interval.
    pub per_s: f64,
    /// Median latency in ms.
    pub p50_ms: Option<f64>,
    /// 95th percentile of latency in ms.
    pub p95_ms: Option<f64>,
    /// 99th percentile of latency in ms.
    pub p99_ms: Option<f64>,
}

/// State of a run. Rates are those of the interval since the snapshot before; latencies and counts are those of
/// the window so far, or of the warm-up while it lasts.
#[derive(Debug, Clone, Copy)]
pub struct RunSnapshot<'a> {
    /// Time since the start of the run, warm-up included.
    pub elapsed: Duration,
    /// Part of the run.
    pub phase: Phase,
    /// New orders per minute; none for workloads without new orders.
    pub nopm: Option<f64>,
    /// Transactions of all types per second.
    pub tps: f64,
    /// A row per type, in display order; plain lines show the latencies of the first only.
    pub per_type: &'a [TypeRow<'a>],
    /// Attempts that the database aborted.
    pub aborts: u64,
    /// Failed transactions.
    pub errors: u64,
    /// Transactions with an unknown outcome.
    pub unknown: u64,
    /// Sessions that are open.
    pub sessions_connected: u64,
    /// Planned sessions.
    pub sessions_total: u64,
    /// Requests that are due and wait for a session; none where the mode has no queue.
    pub queue_length: Option<u64>,
    /// Newest samples of observed values, for wide terminals; empty if nothing is observed.
    pub observed: &'a [ObservedNow<'a>],
    /// Message for the user, such as an injected fault.
    pub message: Option<&'a str>,
}

/// The planned course of a run.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Length of the warm-up.
    pub warmup: Duration,
    /// Length of the measured window; zero means until interrupted.
    pub window: Duration,
}

impl Times {
    /// Returns the time since the phase began, and the length of the phase if the plan sets one. Phases after the
    /// window count from its end.
    pub(super) fn of(self, phase: Phase, elapsed: Duration) -> (Duration, Option<Duration>) {
        let measured = elapsed.saturating_sub(self.warmup);
        match phase {
            Phase::Connecting => (elapsed, None),
            Phase::Warmup => (elapsed, Some(self.warmup)),
            Phase::Measuring => (measured, Some(self.window).filter(|window| !window.is_zero())),
            Phase::Draining | Phase::Checking => (measured.saturating_sub(self.window), None),
        }
    }
}
