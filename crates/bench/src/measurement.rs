//! The results of a run.

use crate::error_log::{self, ErrorCount};
use crate::histogram::{histogram, merge};
use crate::phase_counts::{KindOfPhase, OpenPhase, PhaseCounts, PhaseKind, PhaseMeasurement};
use crate::workload::{Facts, Runnable};
use hdrhistogram::Histogram;
use lydite_database::{AbortReason, Tpcc};
use lydite_tpcc::{NodesTouched, Placement, StandardKind, TransactionKind};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Results of a run. Unless a field says otherwise, it is about the measured window. A transaction counts in the window
/// if it was due and answered in it (clause 5.4.1); in an open loop, if it was answered in it.
#[derive(Clone, Debug)]
pub struct Measurement<W: Runnable = Tpcc> {
    /// End of the run.
    pub status: Status,
    /// Reason why no session was connected at the end; `None` if one was.
    pub lost: Option<String>,
    /// Time and length of the window.
    pub window: MeasuredWindow,
    /// Results by transaction type, in the order of the workload's types; for TPC-C see [`Measurement::kind`].
    pub kinds: Vec<KindMeasurement>,
    /// Transactions of the whole run, whether they count or not.
    pub whole: Whole,
    /// Counts of this workload alone.
    pub facts: W::Facts,
    /// Attempts that the database aborted in the window, whatever the end of their transactions, in the order of
    /// [`AbortReason::ALL`].
    pub aborts: [u64; AbortReason::COUNT],
    /// Distinct error messages of the whole run, with warm-up and reconnecting, the most frequent first: at most
    /// twenty, and one line that counts all others. Messages that differ only in digits are one.
    pub errors: Vec<ErrorCount>,
    /// Seconds of the warm-up. The first one is shorter if the warm-up is not a whole number of seconds.
    pub warmup_series: Vec<Second>,
    /// Seconds of the window. The last one is shorter if the window is not a whole number of seconds. They count
    /// exactly the transactions that `kinds` counts.
    pub series: Vec<Second>,
    /// Pieces of the window, if the plan cuts it: the first one begins with the window.
    pub pieces: Vec<Piece>,
    /// Counts by phase, in order, without phases in which nothing was counted; empty if the plan has one phase. See
    /// [`Measurement::phase`].
    pub(crate) phases: Vec<(usize, PhaseCounts)>,
    /// Outages of the whole run, in order.
    pub outages: Vec<Outage>,
    /// Times by which requests were handed over late, in nanoseconds. Emulated users: all requests. Open loop: requests
    /// that a session waited for. Otherwise empty.
    pub lateness: Histogram<u64>,
    /// Requests that were due before the end but that no session had begun by then; zero in a closed loop.
    pub backlog: u64,
    /// Rates of an open loop; `None` in other modes.
    pub open: Option<OpenFacts>,
    /// Requests of an open loop in each phase that the run reached; empty in other modes.
    pub open_phases: Vec<OpenPhase>,
    /// Placement at the end, if the database moved warehouses.
    pub placement: Option<Arc<Placement>>,
    /// Moves of warehouses, in order.
    pub moves: Vec<Moved>,
    /// Results of contention control; `None` without it.
    pub contention: Option<ContentionFacts>,
    /// Transactions that were answered but do not count, because they were due before the window or answered (or given
    /// up) after it.
    pub straddling: u64,
    /// Resources that the run used in this process.
    pub client: ClientCost,
    /// Reason why lines of the success log are missing; `None` if it has all, or if there is no log.
    pub log_problem: Option<String>,
    /// Warnings, one line each.
    pub warnings: Vec<String>,
}

/// Transactions of a whole run: in the warm-up, in the window, and answered while the run waited for them at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whole {
    /// Transactions that the database committed, in the order of the workload's types.
    pub committed: Vec<u64>,
    /// Transactions with an unknown outcome, in the same order: the answer was lost, or had not come when the run
    /// stopped waiting.
    pub unknown: Vec<u64>,
    /// Pipelined commits of any type that had no answer when the run stopped waiting.
    pub unanswered: u64,
    /// Orders that the committed Deliveries delivered; zero in other workloads.
    pub delivered: u64,
    /// Transactions that found another number of rows than there must be.
    pub wrong_rows: WrongRows,
}

/// Transactions that found another number of rows than there must be: the database is broken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongRows {
    /// Number of the transactions.
    pub transactions: u64,
    /// First of them in one line: the title of its type and what it found; empty if there are none.
    pub example: String,
}

impl WrongRows {
    pub(crate) fn note(&mut self, title: &str, detail: &str) {
        self.transactions += 1;
        if self.example.is_empty() {
            self.example = error_log::line(&format!("{title}: {detail}"));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.transactions += other.transactions;
        if self.example.is_empty() {
            self.example.clone_from(&other.example);
        }
    }
}

impl Whole {
    pub(crate) fn new(kinds: usize) -> Self {
        Self {
            committed: vec![0; kinds],
            unknown: vec![0; kinds],
            unanswered: 0,
            delivered: 0,
            wrong_rows: WrongRows::default(),
        }
    }

    /// Returns the number of transactions of all types with an unknown outcome.
    #[must_use]
    pub fn unknown(&self) -> u64 {
        self.unknown.iter().sum::<u64>() + self.unanswered
    }

    /// Returns the greatest possible number of transactions of one type with an unknown outcome.
    #[must_use]
    pub fn unknown_of(&self, kind: usize) -> u64 {
        self.unknown[kind] + self.unanswered
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (into, from) in self.committed.iter_mut().zip(&other.committed) {
            *into += from;
        }
        for (into, from) in self.unknown.iter_mut().zip(&other.unknown) {
            *into += from;
        }
        self.unanswered += other.unanswered;
        self.wrong_rows.merge(&other.wrong_rows);
        self.delivered += other.delivered;
    }
}

/// End of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// The run ended as planned.
    Complete,
    /// [`crate::RunControl::stop`] ended the run early.
    Interrupted,
    /// The run is no result, with the reason in one line. A transaction type failed or had an unknown outcome more
    /// often than it succeeded, which may have ended the run early; or a thread of Lydite panicked.
    Failing(String),
}

/// Time and real length of the measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredWindow {
    /// Start of the window, by the client's clock.
    pub start: SystemTime,
    /// Length of the warm-up before the window.
    pub warmup: Duration,
    /// Length of the window; shorter than planned if the run ended early, zero if it ended in the warm-up.
    pub measured: Duration,
    /// True if the warm-up ended because the throughput was steady, false if it was not until the limit; `None` if the
    /// warm-up had a fixed length, or the run ended in it.
    pub steady: Option<bool>,
}

/// Results of one transaction type.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KindMeasurement {
    /// Transactions that the database committed.
    pub committed: u64,
    /// New-Orders that were rolled back as their input wants. They are completed, like the committed ones.
    pub rolled_back: u64,
    /// Retries of all transactions, whatever their end.
    pub retries: u64,
    /// Transactions that failed.
    pub failed: u64,
    /// Transactions with an unknown outcome.
    pub unknown: u64,
    /// Times from due to answered in nanoseconds, with all retries and back-offs. All three histograms are of the
    /// completed transactions.
    #[serde(with = "crate::histogram::wire")]
    pub latency: Histogram<u64>,
    /// Times from due until a session took the request, in nanoseconds.
    #[serde(with = "crate::histogram::wire")]
    pub queue: Histogram<u64>,
    /// Times from when a session took the request until it was answered, in nanoseconds: the database's share, with all
    /// retries and back-offs.
    #[serde(with = "crate::histogram::wire")]
    pub service: Histogram<u64>,
}

/// One second of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Completed transactions by type, in the order of the workload's types. A transaction belongs to the second of its
    /// answer.
    pub completed: Vec<u64>,
    /// Attempts that the database aborted.
    pub aborts: u64,
    /// Transactions that failed.
    pub errors: u64,
    /// Transactions with an unknown outcome.
    pub unknown: u64,
    /// Least number of connected sessions at any time of the second.
    pub connected: u32,
    /// Median latency of the completed transactions of the workload's first type (New-Order), to within one percent;
    /// `None` if there were none.
    pub first_p50: Option<Duration>,
    /// 99th percentile of the same latencies.
    pub first_p99: Option<Duration>,
    /// Numbers of nodes that the transactions that count touched; empty if the placement is unknown.
    pub touched: NodesTouched,
    /// Completed transactions over each limit of the plan, in its order.
    pub over: Vec<u64>,
}

impl Second {
    /// Makes an empty second of a workload with `kinds` types.
    pub(crate) fn new(kinds: usize) -> Self {
        Self { completed: vec![0; kinds], ..Self::default() }
    }
}

/// A part of the window between two cuts of the plan, to whole seconds.
#[derive(Clone, Debug)]
pub struct Piece {
    /// First second of the window that belongs to it.
    pub from_s: u64,
    /// Latencies of the completed transactions of the workload's first type (New-Order) in nanoseconds, to within one
    /// percent.
    pub first_latency: Histogram<u64>,
    /// Attempts that the database aborted, in the order of [`AbortReason::ALL`].
    pub aborts: [u64; AbortReason::COUNT],
}

/// Reason why no session had an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutageCause {
    /// All sessions lost their connections.
    Lost,
    /// Connections stayed open, but no answer came.
    Silent,
}

/// A time in which the database answered no session.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outage {
    /// Reason of the outage.
    pub cause: OutageCause,
    /// Start, in seconds since the window began; negative in the warm-up.
    pub from_s: f64,
    /// Next answer, or the end of the run, in the same unit.
    pub to_s: f64,
}

/// A move of warehouses to other nodes, as the client noticed it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// Seconds since the window began; negative in the warm-up.
    pub at_s: f64,
    /// Number of warehouses that moved.
    pub warehouses: u32,
}

/// Configured and measured rates of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenFacts {
    /// Configured requests per second, as the mean over the window.
    pub asked_per_s: f64,
    /// Requests due in the window, begun or not.
    pub due: u64,
    /// Requests due per second of the window: the measured rate.
    pub due_per_s: f64,
    /// Completed transactions per second of the window.
    pub completed_per_s: f64,
}

/// Contention for one hot row in a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContentionFound {
    /// Configured mean number of competing transactions.
    pub asked: f64,
    /// Start of the phase, in seconds since the window began.
    pub from_s: f64,
    /// End of the phase, in the same unit.
    pub to_s: f64,
    /// Measured mean number of competing transactions since the phase had settled; over the whole phase if it never
    /// did.
    pub actual: f64,
    /// Configured mean over the same time.
    pub asked_then: f64,
    /// Seconds until the phase had settled; `None` if it never did.
    pub settling_s: Option<f64>,
}

/// Contention for one hot row in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowFacts {
    /// Results by phase, in order; without the phases that the run did not reach.
    pub phases: Vec<ContentionFound>,
    /// Mean number of competing transactions in each full second of the window.
    pub per_second: Vec<f64>,
}

/// Results of contention control.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContentionFacts {
    /// Results by hot row.
    pub rows: Vec<RowFacts>,
    /// Transactions that waited in the client's queue after the database aborted them.
    pub queued: u64,
}

/// Resources that a run used in this process, including those of a target within this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientCost {
    /// Processor time, user and system, of all threads in the measured window.
    pub cpu: Duration,
    /// Processor time of the processes that this one started (a driver's) in the window; `None` without such processes.
    pub driver_cpu: Option<Duration>,
    /// Peak of the resident memory since the process began, in bytes.
    pub peak_rss_bytes: u64,
}

impl KindMeasurement {
    pub(crate) fn new() -> Self {
        let (latency, queue, service) = (histogram(), histogram(), histogram());
        Self { committed: 0, rolled_back: 0, retries: 0, failed: 0, unknown: 0, latency, queue, service }
    }

    /// Adds the results of another process.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.retries += other.retries;
        self.failed += other.failed;
        self.unknown += other.unknown;
        merge(&mut self.latency, &other.latency);
        merge(&mut self.queue, &other.queue);
        merge(&mut self.service, &other.service);
    }

    /// Returns the number of completed transactions: committed, or rolled back as their input wants.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.committed + self.rolled_back
    }
}

impl Measurement<Tpcc> {
    /// Returns the results of one type.
    #[must_use]
    pub fn kind(&self, kind: impl Into<TransactionKind>) -> &KindMeasurement {
        &self.kinds[kind.into().index()]
    }

    /// Returns the new orders per minute, with the rolled back ones (clause 5.4.2); zero if nothing was measured.
    #[must_use]
    pub fn nopm(&self) -> f64 {
        60.0 * self.per_second(self.kind(StandardKind::NewOrder).completed())
    }
}

impl<W: Runnable> Measurement<W> {
    /// Returns the number of completed transactions of all types.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.kinds.iter().map(KindMeasurement::completed).sum()
    }

    /// Returns the completed transactions of all types per second; zero if nothing was measured.
    #[must_use]
    pub fn tps(&self) -> f64 {
        self.per_second(self.completed())
    }

    /// Returns the results of a phase, by its number in the plan.
    #[must_use]
    pub fn phase(&self, number: usize) -> PhaseMeasurement {
        // Without counts by phase the only phase is the window, or nothing was counted at all.
        if self.phases.is_empty() {
            let of_kind = |kind: &KindMeasurement| PhaseKind {
                retries: kind.retries,
                failed: kind.failed,
                unknown: kind.unknown,
                latency: kind.latency.clone(),
                queue: kind.queue.clone(),
            };
            return PhaseMeasurement { kinds: self.kinds.iter().map(of_kind).collect(), aborts: self.aborts };
        }
        let found = self.phases.iter().find(|(of, _)| *of == number);
        found.map_or_else(
            || PhaseCounts::new(self.kinds.len()).measurement(),
            |(_, counts)| counts.measurement(),
        )
    }

    fn per_second(&self, count: u64) -> f64 {
        let seconds = self.window.measured.as_secs_f64();
        if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
    }

    /// Compares the counts: totals, series and inputs count the same transactions.
    ///
    /// # Panics
    /// Panics if they differ: then no number of this run can be trusted.
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
        self.assert_phases_agree();
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

    /// Compares the sums of all phases with the totals.
    fn assert_phases_agree(&self) {
        if self.phases.is_empty() {
            return;
        }
        for (index, (found, kind)) in self.kinds.iter().zip(W::KINDS).enumerate() {
            let sum = |of: fn(&KindOfPhase) -> u64| {
                self.phases.iter().map(|(_, phase)| of(&phase.kinds[index])).sum::<u64>()
            };
            let (of_phases, completed) = (sum(|of| of.latency.total()), found.completed());
            assert_eq!(of_phases, completed, "phases and total of {}", kind.name);
            assert_eq!(sum(|of| of.queue.total()), completed, "queues of phases and total of {}", kind.name);
            let ends = [sum(|of| of.retries), sum(|of| of.failed), sum(|of| of.unknown)];
            let totals = [found.retries, found.failed, found.unknown];
            assert_eq!(ends, totals, "retries, failed and unknown of phases and total of {}", kind.name);
        }
        for (reason, total) in self.aborts.iter().enumerate() {
            let of_phases: u64 = self.phases.iter().map(|(_, phase)| phase.aborts[reason]).sum();
            assert_eq!(of_phases, *total, "phases and total of aborts");
        }
    }
}
