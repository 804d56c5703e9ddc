//! A load by a fleet: each agent loads its share of the rows.

use crate::coordinator::{ENDED, Fleet, silence};
use crate::error::FleetError;
use crate::messages::{Event, ToAgent, to_all};
use lydite_bench::{Loaded, RunControl};
use std::time::{Duration, Instant};

/// Longest wait for the other agents after the load was stopped: they roll unfinished warehouses back.
const ROLLING_BACK: Duration = Duration::from_secs(60);
/// Time between two calls of the observer.
const STEP: Duration = Duration::from_millis(100);

/// Share of an agent in a load.
#[derive(Clone, Default)]
struct Part {
    loaded: Loaded,
    /// End of its work: true if its share is loaded whole.
    ended: Option<bool>,
    /// True if the agent failed or is lost.
    failed: bool,
}

impl Part {
    fn is_open(&self) -> bool {
        self.ended.is_none() && !self.failed
    }
}

impl Fleet {
    /// Lets each agent load its share, which it reads from `work`. Passes the sum of their counts to `observer` several
    /// times a second. Returns false if `control` asked for a stop.
    ///
    /// If another coordinator has taken an agent since, it waits for others; `tell` says so. If an agent fails, ends by
    /// itself or is lost, the others stop, and all that is left open is rolled back.
    ///
    /// # Errors
    /// An agent fails, ends by itself or is lost: the first one is named. Or NATS has a problem.
    pub fn load(
        &mut self,
        work: &[u8],
        control: &RunControl,
        observer: &mut dyn FnMut(Loaded),
        tell: &dyn Fn(&str),
    ) -> Result<bool, FleetError> {
        self.choose(&|| control.is_stopped(), tell)?;
        self.give(work)?;
        let mut parts = vec![Part::default(); self.agents.len()];
        let mut shown = Instant::now();
        let (mut failure, mut stopped) = (None::<FleetError>, None::<Instant>);
        while parts.iter().any(Part::is_open) {
            if stopped.is_none() && (control.is_stopped() || failure.is_some()) {
                stopped = Some(Instant::now());
                // If it can't be sent, the agents notice the silence.
                let _ = self.bus.send(to_all(&self.run), &ToAgent::Stop);
            }
            if stopped.is_some_and(|stopped| stopped.elapsed() > ROLLING_BACK) {
                break;
            }
            if shown.elapsed() >= STEP {
                shown = Instant::now();
                observer(sum(&parts));
            }
            for (agent, event) in self.attend() {
                match event {
                    Event::Load { loaded, ended } => {
                        (parts[agent].loaded, parts[agent].ended) = (loaded, ended);
                        if ended == Some(false) && stopped.is_none() {
                            failure.get_or_insert(FleetError::Lost(self.words(agent, ENDED)));
                        }
                    }
                    Event::Failed(problem) => {
                        parts[agent].failed = true;
                        failure.get_or_insert(FleetError::Lost(self.words(agent, &problem)));
                    }
                    Event::Ready
                    | Event::Pong { .. }
                    | Event::Begun { .. }
                    | Event::Alive
                    | Event::Ending(_)
                    | Event::Piece { .. } => {}
                }
            }
            for (agent, part) in parts.iter_mut().enumerate() {
                if part.is_open() && self.agents[agent].is_silent() {
                    part.failed = true;
                    let silent = || FleetError::Lost(self.words(agent, &silence()));
                    let problem = self.bus.problem().unwrap_or_else(silent);
                    failure.get_or_insert(problem);
                }
            }
        }
        observer(sum(&parts));
        match failure {
            Some(failure) => Err(failure),
            None => Ok(parts.iter().all(|part| part.ended == Some(true))),
        }
    }

    /// Returns the problem of an agent in words, with the reason that the agent has sent, if it has.
    fn words(&self, agent: usize, problem: &str) -> String {
        let agent = &self.agents[agent];
        format!("{}: {}", agent.shown(), agent.reason_or(problem))
    }
}

/// Returns the counts of all agents.
fn sum(parts: &[Part]) -> Loaded {
    parts.iter().fold(Loaded::default(), |sum, part| sum.plus(part.loaded))
}
