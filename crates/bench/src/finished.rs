//! A run that has ended, before its results are put together.

use crate::clock::{Nanos, SECOND};
use crate::collector::{Collected, Collector, News};
use crate::error_log::ErrorCount;
use crate::measurement::{
    ClientCost, ContentionFacts, MeasuredWindow, Measurement, OpenFacts, Outage, Status,
};
use crate::phase_counts::OpenPhase;
use crate::success_log::Taken;
use crate::totals::Totals;
use crate::workload::Runnable;
use lydite_database::Tpcc;
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime};

/// Facts that are known once the part of a process in a run has ended. See [`Measurement`] for the fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub(crate) status: Status,
    pub(crate) lost: Option<String>,
    /// End of the window, in the time of the run.
    pub(crate) end: Nanos,
    pub(crate) errors: Vec<ErrorCount>,
    pub(crate) outages: Vec<Outage>,
    pub(crate) backlog: u64,
    pub(crate) open: Option<OpenFacts>,
    pub(crate) open_phases: Vec<OpenPhase>,
    pub(crate) warnings: Vec<String>,
}

/// Counts of an agent for the coordinator of its run, since the last part.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "W::Facts: Serialize", deserialize = "W::Facts: Deserialize<'de>"))]
pub struct Part<W: Runnable = Tpcc> {
    /// Time of the run at which the agent made the part.
    pub(crate) at: Nanos,
    pub(crate) news: News,
    /// Totals since the run began. They count the same transactions as all news so far.
    pub(crate) totals: Totals<W>,
    /// Lines of the success log since the last part.
    pub(crate) log: Taken,
    /// Cost of the agent since the window began.
    pub(crate) client: ClientCost,
    /// End of the agent's run; only in its last part.
    pub(crate) ended: Option<Ended>,
}

/// A run that has ended.
pub(crate) struct Finished<W: Runnable> {
    /// Start of the window.
    pub(crate) start: SystemTime,
    /// The same in the time of the run.
    pub(crate) window_start: Nanos,
    /// See [`MeasuredWindow::steady`].
    pub(crate) steady: Option<bool>,
    pub(crate) collector: Collector,
    pub(crate) totals: Totals<W>,
    pub(crate) client: ClientCost,
    pub(crate) ended: Ended,
    pub(crate) contention: Option<ContentionFacts>,
    /// Lines of the success log that are in no part and no file yet.
    pub(crate) log: Taken,
    /// See [`Measurement::log_problem`].
    pub(crate) log_problem: Option<String>,
}

/// Returns the time between two moments of a run in seconds, negative if the second one is earlier.
pub(crate) fn seconds_between(from: Nanos, to: Nanos) -> f64 {
    (to as f64 - from as f64) / SECOND as f64
}

impl<W: Runnable> Finished<W> {
    /// Returns the last part of an agent.
    pub(crate) fn into_part(mut self) -> Part<W> {
        let seconds = self.collector.series().len();
        Part {
            at: self.ended.end,
            news: self.collector.take_news(seconds),
            totals: self.totals,
            log: self.log,
            client: self.client,
            ended: Some(self.ended),
        }
    }

    /// Puts the results together.
    ///
    /// # Panics
    /// Panics if the counts contradict each other: then no number of the run can be trusted.
    pub(crate) fn measurement(self) -> Measurement<W> {
        let Collected { warmup_series, series, pieces, phases } = self.collector.finish();
        let Self { totals, ended, .. } = self;
        let measurement = Measurement {
            status: ended.status,
            lost: ended.lost,
            window: MeasuredWindow {
                start: self.start,
                warmup: Duration::from_nanos(self.window_start.min(ended.end)),
                measured: Duration::from_nanos(ended.end.saturating_sub(self.window_start)),
                steady: self.steady,
            },
            kinds: totals.kinds,
            whole: totals.whole,
            facts: totals.facts,
            aborts: totals.aborts,
            errors: ended.errors,
            warmup_series,
            series,
            pieces,
            phases,
            outages: ended.outages,
            lateness: totals.lateness,
            backlog: ended.backlog,
            open: ended.open,
            open_phases: ended.open_phases,
            placement: None,
            moves: Vec::new(),
            contention: self.contention,
            straddling: totals.straddling,
            client: self.client,
            log_problem: self.log_problem,
            warnings: ended.warnings,
        };
        measurement.assert_agrees();
        measurement
    }
}
