//! A run of a fleet, from its start to the last report.

use crate::coordinator::{ENDED, Fleet, silence};
use crate::error::FleetError;
use crate::messages::{Event, ToAgent, to_all, to_member};
use lydite_bench::{Measurement, Merging, RunControl, RunPlan, Snapshot, Status};
use std::time::{Duration, Instant, SystemTime};

/// Least time from the order to start until the start.
const AHEAD: Duration = Duration::from_millis(500);
/// The same in longest round trips, if that is more.
const TRIPS_AHEAD: u32 = 10;
/// Longest wait for the last reports, after the window and its drain.
const REPORTS: Duration = Duration::from_secs(10);

/// Time that the view of the run allows the counts of a second to come.
const ON_THE_WAY: Duration = Duration::from_millis(300);

impl Fleet {
    /// Runs `plan` on the agents, who read it from `work`. Returns the measurement of the whole run. Lost agents are in
    /// [`Fleet::members`], and are passed to `lost` at once. If an agent left before the start, it takes another one, or
    /// waits for one; `tell` says so.
    ///
    /// # Errors
    /// The run could not begin. Later events are part of the measurement.
    pub fn run(
        &mut self,
        work: &[u8],
        plan: &RunPlan,
        control: &RunControl,
        observer: &mut dyn FnMut(&Snapshot),
        tell: &dyn Fn(&str),
        lost: &dyn Fn(&str),
    ) -> Result<Measurement, FleetError> {
        self.choose(&|| control.is_stopped(), tell)?;
        let names: Vec<String> = self.members().map(|member| member.name.clone()).collect();
        // Before the agents begin: the success log may be impossible to create.
        let merging = Merging::new(plan, names).map_err(|error| FleetError::Usage(error.to_string()))?;
        self.give(work)?;
        self.await_ready(control)?;
        let ahead = AHEAD.max(TRIPS_AHEAD * self.compare_clocks(control)?);
        let start = Instant::now() + ahead;
        for (number, agent) in self.agents.iter().enumerate() {
            let at = self.clock.at(start) as i64 + agent.compared.offset;
            let at = u64::try_from(at).map_err(|_| {
                FleetError::Lost(format!("agent {}: its clock runs backwards", agent.member.name))
            })?;
            self.bus.send(to_member(&self.run, number), &ToAgent::Start { at })?;
        }
        Running::new(self, merging, plan, start, lost).watch(control, observer)
    }
}

/// A run that has been ordered to start.
struct Running<'a> {
    fleet: &'a mut Fleet,
    merging: Merging,
    start: Instant,
    /// Start of the window.
    window: Instant,
    /// Planned end of the window.
    end: Instant,
    /// Longest wait for transactions in flight at the end.
    drain: Duration,
    /// Latest time of the last reports.
    limit: Instant,
    /// Time at which the agents were told to stop.
    stopped: Option<Instant>,
    /// True if the share of an agent can't go on.
    failing: bool,
    /// Reports the loss of an agent.
    lost: &'a dyn Fn(&str),
}

impl<'a> Running<'a> {
    pub(crate) fn new(
        fleet: &'a mut Fleet,
        merging: Merging,
        plan: &RunPlan,
        start: Instant,
        lost: &'a dyn Fn(&str),
    ) -> Self {
        let window = start + plan.warmup;
        let end = window + plan.duration;
        let limit = end + plan.drain + REPORTS;
        Self {
            fleet,
            merging,
            start,
            window,
            end,
            drain: plan.drain,
            limit,
            stopped: None,
            failing: false,
            lost,
        }
    }

    /// Watches the run until all agents have reported or are lost.
    pub(crate) fn watch(
        mut self,
        control: &RunControl,
        observer: &mut dyn FnMut(&Snapshot),
    ) -> Result<Measurement, FleetError> {
        control.begins(self.window);
        let mut second = 1;
        while self.works() {
            let asked = control.is_stopped() || self.failing;
            if asked && self.stopped.is_none() {
                self.stopped = Some(Instant::now());
                self.limit = self.limit.min(Instant::now() + self.drain + REPORTS);
                // If it can't be sent, the agents notice the silence.
                let _ = self.fleet.bus.send(to_all(&self.fleet.run), &ToAgent::Stop);
            }
            let elapsed = self.start.elapsed();
            // The counts of a second come a little after it.
            let counted = elapsed.saturating_sub(ON_THE_WAY).as_secs();
            if counted >= second {
                second = counted + 1;
                observer(&self.merging.snapshot(elapsed));
            }
            for (agent, event) in self.fleet.attend() {
                self.take(agent, event);
            }
            self.lose_silent();
        }
        let end = self.stopped.map_or(self.end, |stopped| self.end.min(stopped));
        // Without an agent, the run ends with the last report.
        let lost = self.fleet.members().all(|member| member.lost.is_some());
        let last = (0..self.fleet.agents.len()).map(|agent| self.merging.reported(agent)).max();
        let end = last.filter(|_| lost).map_or(end, |last| end.min(self.start + last));
        self.conclude(end)
    }

    /// True while an agent has neither reported its end nor is lost.
    fn works(&self) -> bool {
        (0..self.fleet.agents.len()).any(|agent| self.is_open(agent))
    }

    fn is_open(&self, agent: usize) -> bool {
        self.fleet.agents[agent].member.lost.is_none() && !self.merging.has_ended(agent)
    }

    /// Takes an event of an agent.
    fn take(&mut self, number: usize, event: Event) {
        if !self.is_open(number) {
            return;
        }
        let agent = &mut self.fleet.agents[number];
        match event {
            Event::Begun { at } => {
                let begun = at as i64 - agent.compared.offset;
                let planned = self.fleet.clock.at(self.start) as i64;
                agent.member.start_s = Some((begun - planned) as f64 / 1e9);
            }
            Event::Piece { part, piece, pieces, bytes } => {
                match agent.unpacker.add((part, piece, pieces), &bytes) {
                    Ok(Some(part)) => {
                        self.merging.add(number, part);
                        self.judge_end(number);
                    }
                    Ok(None) => {}
                    Err(problem) => self.lose(number, &problem),
                }
            }
            Event::Failed(problem) => self.lose(number, &problem),
            Event::Alive | Event::Ready | Event::Pong { .. } | Event::Ending(_) | Event::Load { .. } => {}
        }
    }

    /// Judges the end of an agent's share, if it has ended. A share that can't go on ends the run, as it does in one
    /// process. One that ended too early for another reason is lost from then on.
    fn judge_end(&mut self, number: usize) {
        match self.merging.end_of(number) {
            Some(Status::Failing(_)) => self.failing = true,
            Some(Status::Interrupted) if self.stopped.is_none() => {
                self.lose(number, ENDED);
            }
            _ => {}
        }
    }

    /// Declares agents without a sign of life lost.
    fn lose_silent(&mut self) {
        let late = Instant::now() >= self.limit;
        for number in 0..self.fleet.agents.len() {
            let silent = self.fleet.agents[number].is_silent();
            if self.is_open(number) && (silent || late) {
                // If the connection is down, nothing is known about the agent.
                let why = match self.fleet.bus.problem() {
                    Some(problem) => problem.to_string(),
                    None if silent => silence(),
                    None => "did not report its end".to_owned(),
                };
                self.lose(number, &why);
            }
        }
    }

    /// Declares an agent lost. `why` is the reason unless the agent has sent one.
    fn lose(&mut self, number: usize, why: &str) {
        let agent = &self.fleet.agents[number];
        let why = agent.reason_or(why).to_owned();
        (self.lost)(&format!("{} is lost: {why}", agent.shown()));
        self.merging.lose(number);
        // Its load would go on, and nobody would count it. If it can't be sent, the agent notices the silence.
        let _ = self.fleet.bus.send(to_member(&self.fleet.run, number), &ToAgent::Stop);
        let reported = self.start + self.merging.reported(number);
        let member = &mut self.fleet.agents[number].member;
        member.lost = Some(why);
        member.lost_at_s = Some(seconds(self.window, reported));
    }

    /// Puts the measurement together.
    fn conclude(self, end: Instant) -> Result<Measurement, FleetError> {
        let measured_s = seconds(self.window, end).max(0.0);
        for (number, agent) in self.fleet.agents.iter_mut().enumerate() {
            agent.member.completed = self.merging.completed(number);
            agent.member.cpu_s = self.merging.cpu(number).as_secs_f64();
            let lost_at = agent.member.lost_at_s.map(|at| at.max(0.0));
            agent.member.missing_s = lost_at.map_or(0.0, |at| (measured_s - at).max(0.0));
        }
        let ago = self.window.elapsed();
        Ok(self.merging.finish(SystemTime::now() - ago))
    }
}

/// Returns the seconds from one instant to another, negative if the second one is earlier.
fn seconds(from: Instant, to: Instant) -> f64 {
    match to.checked_duration_since(from) {
        Some(since) => since.as_secs_f64(),
        None => -from.duration_since(to).as_secs_f64(),
    }
}
