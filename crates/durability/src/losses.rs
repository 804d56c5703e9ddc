//! The loss of a node for ever under full load, and then of another one (clause 3.5.3.1): the course of the test. Each
//! failure is judged against the throughput right before it.

use crate::crash::Losses;
use crate::load::LoadProcess;
use crate::test::{LOAD_ENDS, LOOK, Problem, Test, ready};
use lydite_audit::durability::Trial;
use std::thread;
use std::time::{Duration, Instant};

/// Longest time from a failure until the throughput is steady again.
const STEADY_WITHIN: Duration = Duration::from_secs(120);
/// Seconds in a row that are steady: each has at least this part of the throughput before.
const STEADY_SECONDS: usize = 3;
const STEADY_PART: f64 = 0.5;
/// Length of the look at the throughput before a failure.
const BEFORE: Duration = Duration::from_secs(2);
/// Time that the second node is down.
const DOWN: Duration = Duration::from_secs(2);
/// Longest time of both failures. The guard of the first one undoes it then.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// Throughput after a failure.
struct Steady {
    /// Time from the failure to the first steady second.
    after: Duration,
    /// New-Orders per second before it, and in the first steady seconds.
    rates: (f64, f64),
}

impl Steady {
    fn words(&self) -> String {
        let (before, now) = self.rates;
        format!(
            "steady again {:.0} s after it, with {:.0} % of the throughput before ({now:.1} of {before:.1} New-Orders per \
             second)",
            self.after.as_secs_f64(),
            100.0 * now / before
        )
    }
}

impl Test<'_> {
    /// Takes a node's data under full load, waits until the throughput is steady, kills another node, waits again, and gives
    /// the first one a new disk.
    ///
    /// # Errors
    /// The throughput does not come back, a fault can't be injected or undone, or the user stops the test.
    pub(crate) fn lose_nodes(
        &self,
        losses: &Losses,
        mut load: LoadProcess,
        trial: &mut Trial,
    ) -> Result<(), Problem> {
        // Dropping a guard undoes its fault, on every way out.
        let mut lost = ready(&losses.lost, LONGEST)?;
        let before = self.rate(&mut load)?;
        let failed = Instant::now();
        let begun = lost.begin().map_err(|problem| Problem::NotRun(problem.to_string()))?;
        trial.step(format!("the last node is killed and loses its data for ever: {}", begun.proof));
        let first = self.steady(&mut load, failed, before, "a node was lost")?;
        trial.step(format!("the throughput is {}", first.words()));

        let mut killed = ready(&losses.killed, LONGEST)?;
        let before = self.rate(&mut load)?;
        let failed = Instant::now();
        let begun = killed.begin().map_err(|problem| Problem::NotRun(problem.to_string()))?;
        trial.step(format!("another node is killed: {}", begun.proof));
        thread::sleep(DOWN);
        let ended = killed.end().map_err(|problem| Problem::Gone(problem.to_string()))?;
        trial.step(format!("it is started again: {}", ended.proof));
        let second = self.steady(&mut load, failed, before, "another node was killed")?;
        trial.step(format!("the throughput is {}", second.words()));

        let ended = load.end(Duration::ZERO, LOAD_ENDS).map_err(|problem| Problem::NotRun(problem.0))?;
        trial.acknowledged(ended.acknowledged);
        let ended = lost.end().map_err(|problem| Problem::NotRun(problem.to_string()))?;
        trial.step(format!("the lost node is started with empty data: {}", ended.proof));
        trial.observed(format!("after the loss {}; after the kill {}", first.words(), second.words()));
        Ok(())
    }

    /// Returns the New-Orders per second of the next moments.
    fn rate(&self, load: &mut LoadProcess) -> Result<f64, Problem> {
        let (begun, before) = (Instant::now(), self.entries()?);
        self.wait_until(load, begun + BEFORE)?;
        Ok(self.entries()?.saturating_sub(before) as f64 / begun.elapsed().as_secs_f64())
    }

    /// Waits until some seconds in a row have a good part of the throughput before.
    fn steady(
        &self,
        load: &mut LoadProcess,
        failed: Instant,
        before: f64,
        what: &str,
    ) -> Result<Steady, Problem> {
        // Number of the first whole second after the failure was injected.
        let mut second = failed.elapsed().as_secs() + 1;
        self.wait_until(load, failed + Duration::from_secs(second))?;
        let (mut count, mut rates) = (self.entries()?, Vec::new());
        while failed.elapsed() < STEADY_WITHIN {
            let begun = Instant::now();
            second += 1;
            self.wait_until(load, failed + Duration::from_secs(second))?;
            let found = self.entries()?;
            let length = begun.elapsed().as_secs_f64().max(LOOK.as_secs_f64());
            rates.push(found.saturating_sub(count) as f64 / length);
            count = found;
            if let Some(last) = rates.last_chunk::<STEADY_SECONDS>()
                && last.iter().all(|rate| *rate > 0.0 && *rate >= STEADY_PART * before)
            {
                let now = last.iter().sum::<f64>() / STEADY_SECONDS as f64;
                let after = Duration::from_secs(second.saturating_sub(STEADY_SECONDS as u64));
                return Ok(Steady { after, rates: (before, now) });
            }
        }
        Err(Problem::Gone(format!(
            "{} s after {what} no {STEADY_SECONDS} seconds in a row had half of the throughput before ({before:.1} New-Orders \
             per second)",
            STEADY_WITHIN.as_secs()
        )))
    }

    /// Waits until a moment.
    fn wait_until(&self, load: &mut LoadProcess, moment: Instant) -> Result<(), Problem> {
        while Instant::now() < moment {
            if load.has_ended() {
                return Err(Problem::ended_early(load));
            }
            if self.interrupt.asked() {
                return Err(Problem::Stopped);
            }
            thread::sleep(LOOK.min(moment.saturating_duration_since(Instant::now())));
        }
        Ok(())
    }
}
