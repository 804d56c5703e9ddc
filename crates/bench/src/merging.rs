//! A run that several agents play: their parts become one measurement, as the sessions of one process do.

use crate::clock::{Nanos, Window, nanos};
use crate::collector::Collector;
use crate::error_log::ErrorCount;
use crate::finished::{Ended, Finished, Part, seconds_between};
use crate::measurement::{ClientCost, KindMeasurement, Measurement, OpenFacts, Outage, OutageCause, Status};
use crate::phase_counts::OpenPhase;
use crate::plan::RunPlan;
use crate::run_error::RunError;
use crate::snapshot::{KindSnapshot, Phase, Snapshot};
use crate::success_log::{MergedLog, Taken};
use crate::totals::Totals;
use lydite_database::{Tpcc, Workload};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// Counts of all agents so far.
pub struct Merging {
    window: Window,
    /// Starts of the phases of the plan.
    phases: Vec<Nanos>,
    collector: Collector,
    agents: Vec<Agent>,
    /// Success log of the run.
    log: Option<MergedLog>,
}

/// Counts of one agent so far.
struct Agent {
    name: String,
    totals: Totals<Tpcc>,
    /// Seconds that have ended.
    seconds: usize,
    /// Sessions that were connected in the last of them.
    connected: u32,
    /// Time of the run at which the last part was made.
    at: Nanos,
    client: ClientCost,
    ended: Option<Ended>,
    lost: bool,
}

impl Agent {
    /// Returns the agent's outages. If it was lost, the time from its last report to the end of the window is one. Its
    /// outages before that are known only if it reported its end. `measured_s` is the length of the window.
    fn without_answer(&self, window_start: Nanos, measured_s: f64) -> Vec<Outage> {
        let (mut all, last) = match &self.ended {
            Some(ended) => (ended.outages.clone(), ended.end),
            None => (Vec::new(), self.at),
        };
        let from_s = seconds_between(window_start, last.max(window_start));
        if self.lost && from_s < measured_s {
            all.push(Outage { cause: OutageCause::Lost, from_s, to_s: measured_s });
        }
        all
    }
}

impl Merging {
    /// Begins a run of these agents.
    ///
    /// # Errors
    /// The success log of the plan can't be created.
    pub fn new(plan: &RunPlan, names: impl IntoIterator<Item = String>) -> Result<Self, RunError> {
        let log = plan.success_log.as_deref().map(|path| {
            MergedLog::create(path).map_err(|error| RunError::SuccessLog { path: path.to_owned(), error })
        });
        let window = Window::new(plan.warmup, plan.duration, plan.counting());
        let agent = |name| Agent {
            name,
            totals: Totals::new(),
            seconds: 0,
            connected: 0,
            at: 0,
            client: ClientCost::default(),
            ended: None,
            lost: false,
        };
        Ok(Self {
            log: log.transpose()?,
            phases: plan.settings().phases,
            collector: Collector::new(&window, Tpcc::KINDS.len(), &plan.cuts, &plan.limits),
            window,
            agents: names.into_iter().map(agent).collect(),
        })
    }

    /// Adds the next part of an agent. The parts of an agent must come in their order, and all of them.
    pub fn add(&mut self, agent: usize, part: Part) {
        let of = &mut self.agents[agent];
        if of.lost || of.ended.is_some() {
            return;
        }
        for (number, counts) in &part.news.counts {
            self.collector.extend(number + 1, 0);
            self.collector.add(*number, counts);
        }
        for (number, &connected) in (part.news.from..).zip(&part.news.connected) {
            self.collector.connect(number, connected);
            of.connected = connected;
        }
        of.seconds = part.news.from + part.news.connected.len();
        (of.totals, of.at, of.client, of.ended) = (part.totals, part.at, part.client, part.ended);
        if let Some(log) = &self.log {
            log.add(&part.log);
        }
        self.close();
    }

    /// Notes that an agent is lost: what it has reported stays, and nothing is added.
    pub fn lose(&mut self, agent: usize) {
        self.agents[agent].lost = true;
        self.close();
    }

    /// Closes the seconds that have ended for all agents.
    fn close(&mut self) {
        let ended = self.agents.iter().filter(|agent| !agent.lost).map(|agent| agent.seconds).min();
        if let Some(ended) = ended.filter(|ended| *ended > 0) {
            self.collector.close(ended, u32::MAX);
        }
    }

    /// Returns the time of the run until which the reports of an agent go.
    #[must_use]
    pub fn reported(&self, agent: usize) -> Duration {
        Duration::from_nanos(self.agents[agent].at)
    }

    /// True if the agent's last part has come.
    #[must_use]
    pub fn has_ended(&self, agent: usize) -> bool {
        self.agents[agent].ended.is_some()
    }

    /// Returns the status with which an agent ended its share; `None` before its last part.
    #[must_use]
    pub fn end_of(&self, agent: usize) -> Option<&Status> {
        self.agents[agent].ended.as_ref().map(|ended| &ended.status)
    }

    /// Returns the transactions that an agent reported as completed in the window.
    #[must_use]
    pub fn completed(&self, agent: usize) -> u64 {
        self.agents[agent].totals.kinds.iter().map(KindMeasurement::completed).sum()
    }

    /// Returns the processor time of an agent in the window, until its last report.
    #[must_use]
    pub fn cpu(&self, agent: usize) -> Duration {
        self.agents[agent].client.cpu
    }

    /// Returns the progress at a time of the run.
    #[must_use]
    pub fn snapshot(&self, elapsed: Duration) -> Snapshot {
        let live = || self.agents.iter().filter(|agent| !agent.lost);
        let last = live().map(|agent| agent.seconds).min().and_then(|ended| ended.checked_sub(1));
        let last = last.and_then(|last| self.collector.series().get(last));
        let totals = self.collector.totals();
        let of_kind = |kind: usize| KindSnapshot {
            last_second: last.map_or(0, |second| second.completed[kind]),
            completed: totals.completed[kind],
            p50: self.collector.quantile(kind, 0.50),
            p95: self.collector.quantile(kind, 0.95),
            p99: self.collector.quantile(kind, 0.99),
        };
        let now = nanos(elapsed);
        let phase = match now {
            now if now < self.window.start() => Phase::Warmup,
            now if now < self.window.end() => Phase::Measuring,
            _ => Phase::Draining,
        };
        Snapshot {
            elapsed,
            warmup: Duration::from_nanos(self.window.start()),
            phase,
            in_phase: self.phases.partition_point(|&begins| begins <= now).saturating_sub(1),
            kinds: (0..Tpcc::KINDS.len()).map(of_kind).collect(),
            aborts: totals.aborts,
            errors: totals.errors,
            unknown: totals.unknown,
            connected: live().map(|agent| agent.connected).sum(),
            queued: 0,
        }
    }

    /// Returns the measurement of the whole run. `start` is the start of the window.
    ///
    /// # Panics
    /// Panics if the counts contradict each other, which no database can cause.
    #[must_use]
    pub fn finish(self, start: SystemTime) -> Measurement {
        let mut totals = Totals::new();
        self.agents.iter().for_each(|agent| totals.merge(&agent.totals));
        let ended = merged(&self.agents, self.window.start());
        let finished = Finished {
            start,
            window_start: self.window.start(),
            steady: None,
            collector: self.collector,
            totals,
            client: cost(&self.agents),
            ended,
            contention: None,
            log: Taken::default(),
            log_problem: self.log.and_then(MergedLog::finish),
        };
        finished.measurement()
    }
}

/// Merges the ends of all agents. One that was lost before it reported its end has none.
fn merged(agents: &[Agent], window_start: Nanos) -> Ended {
    let ends: Vec<(&str, &Ended)> =
        agents.iter().filter_map(|agent| Some((agent.name.as_str(), agent.ended.as_ref()?))).collect();
    let end = ends.iter().map(|(_, ended)| ended.end).max();
    let end = end.unwrap_or_else(|| agents.iter().map(|agent| agent.at).max().unwrap_or_default());
    let with_name = |name: &str, text: &str| format!("agent {name}: {text}");
    let failing = ends.iter().find_map(|(name, ended)| match &ended.status {
        Status::Failing(why) => Some(Status::Failing(with_name(name, why))),
        Status::Complete | Status::Interrupted => None,
    });
    // The early end of a lost agent is none of the run.
    let interrupted = || {
        let live = agents.iter().filter(|agent| !agent.lost).filter_map(|agent| agent.ended.as_ref());
        live.into_iter().any(|ended| ended.status == Status::Interrupted)
    };
    let status = failing.unwrap_or(if interrupted() { Status::Interrupted } else { Status::Complete });
    let lost = ends.iter().find_map(|(name, ended)| Some(with_name(name, ended.lost.as_ref()?)));
    let lost = lost.or_else(|| ends.is_empty().then(|| "all agents were lost".to_owned()));
    let mut errors = BTreeMap::new();
    for error in ends.iter().flat_map(|(_, ended)| &ended.errors) {
        *errors.entry(error.message.as_str()).or_insert(0) += error.count;
    }
    let mut errors: Vec<ErrorCount> = errors
        .into_iter()
        .map(|(message, count)| ErrorCount { message: message.to_owned(), count })
        .collect();
    errors.sort_by_key(|error| Reverse(error.count));
    let measured = seconds_between(window_start, end.max(window_start));
    let no_end = agents.iter().filter(|agent| agent.ended.is_none()).map(|agent| {
        with_name(&agent.name, "was lost without its error messages, so those of the run are too few")
    });
    let warnings =
        ends.iter().flat_map(|(name, ended)| ended.warnings.iter().map(|warning| with_name(name, warning)));
    Ended {
        status,
        lost,
        end,
        errors,
        outages: common(agents.iter().map(|agent| agent.without_answer(window_start, measured))),
        backlog: ends.iter().map(|(_, ended)| ended.backlog).sum(),
        open: open(ends.iter().filter_map(|(_, ended)| ended.open), measured),
        open_phases: open_phases(ends.iter().map(|(_, ended)| &ended.open_phases[..])),
        warnings: warnings.chain(no_end).collect(),
    }
}

/// Returns the cost of all agents, each until its last report.
fn cost(agents: &[Agent]) -> ClientCost {
    ClientCost {
        cpu: agents.iter().map(|agent| agent.client.cpu).sum(),
        driver_cpu: None,
        peak_rss_bytes: agents.iter().map(|agent| agent.client.peak_rss_bytes).sum(),
    }
}

/// Returns the rates of all shares of an open loop.
fn open(parts: impl Iterator<Item = OpenFacts>, measured_s: f64) -> Option<OpenFacts> {
    let sum = parts.reduce(|sum, part| OpenFacts {
        asked_per_s: sum.asked_per_s + part.asked_per_s,
        due: sum.due + part.due,
        due_per_s: 0.0,
        completed_per_s: sum.completed_per_s + part.completed_per_s,
    })?;
    let due_per_s = if measured_s > 0.0 { sum.due as f64 / measured_s } else { 0.0 };
    Some(OpenFacts { due_per_s, ..sum })
}

/// Returns the requests of all shares of an open loop, phase by phase.
fn open_phases<'a>(parts: impl Iterator<Item = &'a [OpenPhase]>) -> Vec<OpenPhase> {
    let mut sum: Vec<OpenPhase> = Vec::new();
    for part in parts {
        sum.resize(sum.len().max(part.len()), OpenPhase::default());
        for (into, from) in sum.iter_mut().zip(part) {
            into.due += from.due;
            into.backlog_before += from.backlog_before;
            into.backlog += from.backlog;
        }
    }
    sum
}

/// Returns the outages that all agents share: no session of any agent had an answer then.
fn common(agents: impl Iterator<Item = Vec<Outage>>) -> Vec<Outage> {
    let both = |one: Vec<Outage>, other: Vec<Outage>| {
        let pairs = one.iter().flat_map(|one| other.iter().map(move |other| (one, other)));
        let overlap = pairs.map(|(one, other)| Outage {
            cause: one.cause,
            from_s: one.from_s.max(other.from_s),
            to_s: one.to_s.min(other.to_s),
        });
        overlap.filter(|outage| outage.from_s < outage.to_s).collect()
    };
    agents.reduce(both).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outage(from_s: f64, to_s: f64) -> Outage {
        Outage { cause: OutageCause::Lost, from_s, to_s }
    }

    #[test]
    fn an_outage_of_the_run_is_one_of_every_agent() {
        let one = [outage(1.0, 4.0), outage(6.0, 9.0)];
        let other = [outage(2.0, 7.0)];
        assert_eq!(common([one.to_vec(), other.to_vec()].into_iter()), [outage(2.0, 4.0), outage(6.0, 7.0)]);
        assert_eq!(common([one.to_vec(), vec![]].into_iter()), []);
        assert_eq!(common([one.to_vec()].into_iter()), one);
    }

    /// An agent that was lost may have had answers until its last report.
    #[test]
    fn an_outage_of_the_run_is_after_the_last_report_of_a_lost_agent() {
        const SECOND: Nanos = 1_000_000_000;
        let ended = |outages| Ended {
            status: Status::Complete,
            lost: None,
            end: 20 * SECOND,
            errors: Vec::new(),
            outages,
            backlog: 0,
            open: None,
            open_phases: Vec::new(),
            warnings: Vec::new(),
        };
        let agent = |name: &str, at, ended, lost| Agent {
            name: name.to_owned(),
            totals: Totals::new(),
            seconds: 0,
            connected: 0,
            at,
            client: ClientCost { cpu: Duration::from_secs(2), ..ClientCost::default() },
            ended,
            lost,
        };
        let stays = || agent("a", 20 * SECOND, Some(ended(vec![outage(2.0, 4.0), outage(8.0, 12.0)])), false);
        // The window begins after a warm-up of one second.
        let run = |agents: &[Agent]| merged(agents, SECOND);
        let whole = run(&[stays(), agent("b", 20 * SECOND, Some(ended(vec![outage(3.0, 9.0)])), false)]);
        assert_eq!(whole.outages, [outage(3.0, 4.0), outage(8.0, 9.0)]);
        assert_eq!(whole.warnings, [""; 0]);
        let agents = [stays(), agent("b", 11 * SECOND, None, true)];
        let lost = run(&agents);
        assert_eq!(lost.outages, [outage(10.0, 12.0)]);
        assert_eq!(cost(&agents).cpu, Duration::from_secs(4), "the cost until its last report counts");
        assert!(
            lost.warnings[0].starts_with("agent b: was lost without its error messages"),
            "{:?}",
            lost.warnings
        );
        let early = Ended { end: 11 * SECOND, ..ended(vec![outage(3.0, 9.0)]) };
        let early = run(&[stays(), agent("b", 11 * SECOND, Some(early), true)]);
        assert_eq!(early.outages, [outage(3.0, 4.0), outage(8.0, 9.0), outage(10.0, 12.0)]);
        assert_eq!(run(&[agent("b", 11 * SECOND, None, true)]).outages, []);
    }
}
