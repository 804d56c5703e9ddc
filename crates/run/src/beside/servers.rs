//! Servers with the sessions of a run: their counts, and warnings about those that got no work.

use crate::companion::{Begun, Companion, Made, Over};
use crate::ready::tpcc::Ready;
use lydite_bench::Runnable;
use lydite_console::output::complain;
use lydite_database::{EndpointReport, ReplicasReport, Target, Tpcc};
use lydite_report::RunResult;
use lydite_report::figures::plural;
use lydite_report::model::EndpointResult;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The servers of a run.
pub(crate) struct Servers {
    target: Arc<dyn Target>,
    sessions: u32,
    counts: Vec<EndpointResult>,
    warnings: Vec<String>,
}

/// Begins, unless a fleet plays the run: its agents open the sessions.
pub(super) fn begin(ready: &Ready<'_>) -> Begun<Tpcc> {
    if ready.request.fleet.is_some() {
        return Ok(None);
    }
    let sessions = ready.run_plan().sessions();
    Ok(Some(Box::new(Servers::new(&ready.target, sessions))))
}

impl Servers {
    /// Returns the servers of a run with so many sessions.
    pub(crate) fn new(target: &Arc<dyn Target>, sessions: u32) -> Self {
        Self { target: Arc::clone(target), sessions, counts: Vec::new(), warnings: Vec::new() }
    }
}

impl<W: Runnable> Companion<W> for Servers {
    fn finish(&mut self, over: &Over<'_, W>) -> Option<Made> {
        self.counts = endpoints(&*self.target);
        let window = (self.sessions, over.measurement.window.start);
        self.warnings = idle_in_window(&*self.target, over.replicas, window);
        self.warnings.extend(over.replicas.iter().flat_map(|replicas| replicas.unmeasured.clone()));
        self.warnings.iter().for_each(|warning| complain(warning));
        None
    }

    fn add_to(&self, _: &Over<'_, W>, result: &mut RunResult) {
        result.warnings.extend(self.warnings.iter().cloned());
        result.endpoints.clone_from(&self.counts);
    }
}

/// Returns the warnings about endpoints and replicas that got no transaction in a window that began at `start`, except
/// those that the spread of the sessions warned of.
fn idle_in_window(
    target: &dyn Target,
    replicas: Option<&ReplicasReport>,
    (sessions, start): (u32, SystemTime),
) -> Vec<String> {
    let mut warnings = Vec::new();
    let spread = target.capabilities().endpoints.filter(|endpoints| endpoints.names().len() > 1);
    for found in spread.map(|endpoints| endpoints.report()).unwrap_or_default().iter().take(sessions as usize)
    {
        // The times of the last transactions are of whole milliseconds.
        if found.last.is_some_and(|last| last + Duration::from_millis(1) >= start) {
            continue;
        }
        warnings.push(format!(
            "The endpoint {} got no transaction in the window: it had {} at most",
            found.endpoint,
            plural(found.sessions.into(), "session")
        ));
    }
    let replicas = replicas.into_iter().flat_map(|report| report.urls.iter().zip(&report.reads_of));
    let unread = replicas.take(sessions as usize).filter(|(_, reads)| **reads == 0);
    warnings.extend(unread.map(|(url, _)| format!("The replica {url} answered no transaction")));
    warnings
}

/// Returns the sessions and transactions of each endpoint; none unless sessions are spread, or renewed.
fn endpoints(target: &dyn Target) -> Vec<EndpointResult> {
    let of = |found: EndpointReport| EndpointResult {
        endpoint: found.endpoint,
        sessions: found.sessions,
        opened: found.opened,
        connecting_s: found.connecting.as_secs_f64(),
        lost: found.lost,
        refused: found.refused,
        moved: found.moved,
        refreshed: found.refreshed,
        transactions: found.transactions,
        away: found.away,
    };
    let endpoints = target.capabilities().endpoints.filter(|endpoints| endpoints.is_spread());
    endpoints.map(|endpoints| endpoints.report()).unwrap_or_default().into_iter().map(of).collect()
}
