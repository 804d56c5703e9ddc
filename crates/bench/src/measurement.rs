//! What came out of a run.

use crate::histogram::histogram;
use crate::workload::{Facts, Runnable};
use hdrhistogram::Histogram;
use lydite_database::{AbortReason, Tpcc};
use lydite_tpcc::{NodesTouched, Placement, TransactionKind};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Everything that came out of a run. Unless a field says otherwise it is about the measured window, and a
/// transaction belongs to the window if it was due and answered in it (clause 5.4.1), in an open loop if it was
/// answered in it.
#[derive(Clone, Debug)]
pub struct Measurement<W: Runnable = Tpcc> {
    /// How the run ended.
    pub status: Status,
    /// Why the target could not be reached when the run ended; none if it could.
    pub lost: Option<String>,
    /// When it was, and how long.
    pub window: MeasuredWindow,
    /// Each type, in the order of the workload's; for TPC-C see [`Measurement::kind`].
    pub kinds: Vec<KindMeasurement>,
    /// Of the whole run, whether it counts or not.
    pub whole: Whole,
    /// What is counted of this workload alone.
    pub facts: W::Facts,
    /// Attempts that the database gave up in the window, whatever became of their transactions, in the order of
    /// [`AbortReason::ALL`].
    pub aborts: [u64; AbortReason::COUNT],
    /// Distinct messages of the whole run, warm-up and reconnecting included, the most frequent first; at most
    /// twenty and one line that counts all others. Messages that differ only in digits are one.
    pub errors: Vec<ErrorCount>,
    /// The seconds of the warm-up; the first is a short one if the warm-up is not of whole seconds.
    pub warmup_series: Vec<Second>,
    /// The seconds of the window; the last is a short one if the window is not of whole seconds. They count
    /// exactly the transactions that `kinds` counts.
    pub series: Vec<Second>,
    /// When no session was of use, of the whole run, in order.
    pub outages: Vec<Outage>,
    /// How long after they were due requests were handed over by the scheduler, nanoseconds. Emulated terminals:
    /// all requests. Open loop: those that a session had been waiting for. Else empty.
    pub lateness: Histogram<u64>,
    /// Requests that were due before the end, but that no session had begun by then; emulated terminals and
    /// open loop.
    pub backlog: u64,
    /// What an open loop asked for; none otherwise.
    pub open: Option<OpenFacts>,
    /// Where the warehouses are at the end, if the database has moved any.
    pub placement: Option<Arc<Placement>>,
    /// When it did.
    pub moves: Vec<Moved>,
    /// What came of contention control; none without it.
    pub contention: Option<ContentionFacts>,
    /// Transactions that were answered but do not count since they were due before the window or answered (or
    /// given up) after it.
    pub straddling: u64,
    /// What the run cost this process.
    pub client: ClientCost,
    /// What else one should know, one line each.
    pub warnings: Vec<String>,
}

/// Transactions of a whole run: of warm-up and window, and those that were answered while the run waited for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// Transactions that the database committed, in the order of the workload's types.
    pub committed: Vec<u64>,
    /// Transactions of all types that may have been committed: the answer got lost, or had not come when the run was given up.
    pub unknown: u64,
}

impl Whole {
    pub(crate) fn new(kinds: usize) -> Self {
        Self { committed: vec![0; kinds], unknown: 0 }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (into, from) in self.committed.iter_mut().zip(&other.committed) {
            *into += from;
        }
        self.unknown += other.unknown;
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// As planned.
    Complete,
    /// [`crate::RunControl::stop`] ended it early.
    Interrupted,
    /// It is no result: a type of transaction failed, or has no known outcome, more often than it succeeded, which may
    /// have ended it early; or a thread of ours panicked. One line.
    Failing(String),
}

/// When the measured window was, and how long it really was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredWindow {
    /// Its beginning, by the client's clock.
    pub start: SystemTime,
    /// The warm-up before it.
    pub warmup: Duration,
    /// Its length; shorter than planned if the run ended early, zero if that was in the warm-up.
    pub measured: Duration,
}

/// What came out of one type of transaction.
#[derive(Clone, Debug)]
pub struct KindMeasurement {
    /// Transactions that the database committed.
    pub committed: u64,
    /// New-Orders that were rolled back as TPC-C wants; they are completed as the committed ones are.
    pub rolled_back: u64,
    /// Further attempts, of transactions however they ended.
    pub retries: u64,
    /// Transactions that ended with an error.
    pub failed: u64,
    /// Transactions of which nobody knows whether they were committed.
    pub unknown: u64,
    /// From due to answered, retries and the waits between them included; nanoseconds. All three histograms are
    /// of the completed transactions.
    pub latency: Histogram<u64>,
    /// From due until a session took it up; nanoseconds.
    pub queue: Histogram<u64>,
    /// From when a session took it up to answered: the database's share, with retries; nanoseconds.
    pub service: Histogram<u64>,
}

/// One second of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Transactions committed or rolled back as wanted, in the order of the workload's types, in the second in which
    /// they were answered.
    pub completed: Vec<u64>,
    /// Attempts that the database gave up in it.
    pub aborts: u64,
    /// Transactions that failed.
    pub errors: u64,
    /// Transactions of which nobody knows whether they were committed.
    pub unknown: u64,
    /// The least number of sessions that were connected at any time in it.
    pub connected: u32,
    /// Median latency of the transactions of the workload's first type (New-Order) completed in it, to within one
    /// percent.
    pub first_p50: Option<Duration>,
    /// 99th percentile of the same.
    pub first_p99: Option<Duration>,
    /// How many nodes those of them touched that count; nothing if it is not known where the warehouses are.
    pub touched: NodesTouched,
}

impl Second {
    /// Without anything, of a workload with so many types.
    pub(crate) fn new(kinds: usize) -> Self {
        Self { completed: vec![0; kinds], ..Self::default() }
    }
}

/// An error message and how often it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorCount {
    /// One line, the first of those counted here.
    pub message: String,
    /// How often.
    pub count: u64,
}

/// The reason why no session had an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutageCause {
    /// Each had lost its connection.
    Lost,
    /// Connections stayed, and nothing came over them.
    Silent,
}

/// A time in which the database answered no session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outage {
    /// The reason.
    pub cause: OutageCause,
    /// Seconds since the measured window began; negative in the warm-up.
    pub from_s: f64,
    /// The next answer, or the end of the run, in the same unit.
    pub to_s: f64,
}

/// It was seen that warehouses had moved to other nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// Seconds since the measured window began; negative in the warm-up.
    pub at_s: f64,
    /// How many.
    pub warehouses: u32,
}

/// What an open loop asked for and got.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenFacts {
    /// Requests per second, as planned: the mean over the window.
    pub asked_per_s: f64,
    /// Requests due in the window, begun or not.
    pub due: u64,
    /// These per second of the window: the rate as it was.
    pub due_per_s: f64,
    /// Transactions completed in the window per second.
    pub completed_per_s: f64,
}

/// What became of one hot row in a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContentionFound {
    /// The mean number of transactions that were to compete.
    pub asked: f64,
    /// Seconds of the window at which it began and ended.
    pub from_s: f64,
    /// See `from_s`.
    pub to_s: f64,
    /// The mean number of competing transactions from when it had settled; over all of the phase if it never did.
    pub actual: f64,
    /// What was asked for over the same time.
    pub asked_then: f64,
    /// Seconds until it had settled; none if it never did.
    pub settling_s: Option<f64>,
}

/// What is known of one hot row at the end of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowFacts {
    /// In their order; those that the run did not reach are left out.
    pub phases: Vec<ContentionFound>,
    /// The mean of each full second of the window.
    pub per_second: Vec<f64>,
}

/// What is known of contention at the end of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContentionFacts {
    /// Each hot row.
    pub rows: Vec<RowFacts>,
    /// Transactions that waited in the client's queue after the database gave them up.
    pub queued: u64,
}

/// What a run cost this process. A target within this process is part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCost {
    /// Processor time, user and system, of all threads in the measured window.
    pub cpu: Duration,
    /// The same of the processes that this one has started, which are a driver's; none if there are none.
    pub driver_cpu: Option<Duration>,
    /// The most memory that was resident since the process began, in bytes.
    pub peak_rss_bytes: u64,
}

impl KindMeasurement {
    pub(crate) fn new() -> Self {
        let (latency, queue, service) = (histogram(), histogram(), histogram());
        Self { committed: 0, rolled_back: 0, retries: 0, failed: 0, unknown: 0, latency, queue, service }
    }

    /// Transactions committed or rolled back as wanted.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.committed + self.rolled_back
    }
}

impl Measurement<Tpcc> {
    /// What came out of one type.
    #[must_use]
    pub fn kind(&self, kind: TransactionKind) -> &KindMeasurement {
        &self.kinds[kind.index()]
    }

    /// New orders per minute, the wanted rollbacks included (clause 5.4.2); zero if nothing was measured.
    #[must_use]
    pub fn nopm(&self) -> f64 {
        60.0 * self.per_second(self.kind(TransactionKind::NewOrder).completed())
    }
}

impl<W: Runnable> Measurement<W> {
    /// Transactions of all types that were committed or rolled back as wanted.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.kinds.iter().map(KindMeasurement::completed).sum()
    }

    /// Completed transactions of all types per second; zero if nothing was measured.
    #[must_use]
    pub fn tps(&self) -> f64 {
        self.per_second(self.completed())
    }

    fn per_second(&self, count: u64) -> f64 {
        let seconds = self.window.measured.as_secs_f64();
        if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
    }

    /// The same transactions are counted in three ways; they must agree.
    ///
    /// # Panics
    /// If they do not: the counts of this run are wrong, and no number of it must be used.
    pub(crate) fn assert_agrees(&self) {
        let sum = |of: fn(&Second) -> u64| self.series.iter().map(of).sum::<u64>();
        for (index, (found, kind)) in self.kinds.iter().zip(W::KINDS).enumerate() {
            let (completed, name) = (found.completed(), kind.name);
            let seconds: u64 = self.series.iter().map(|second| second.completed[index]).sum();
            assert_eq!(seconds, completed, "series and total of {name}");
            assert_eq!(self.facts.count(index), completed, "inputs and total of {name}");
            for histogram in [&found.latency, &found.queue, &found.service] {
                assert_eq!(histogram.len(), completed, "histogram and total of {name}");
            }
        }
        assert_eq!(sum(|s| s.aborts), self.aborts.iter().sum::<u64>(), "series and total of aborts");
        assert_eq!(
            sum(|s| s.errors),
            self.kinds.iter().map(|k| k.failed).sum::<u64>(),
            "series and total of errors"
        );
        assert_eq!(
            sum(|s| s.unknown),
            self.kinds.iter().map(|k| k.unknown).sum::<u64>(),
            "series and total of unknown commits"
        );
    }
}
