//! The loss of a node for ever under full load, and then of another one (clause 3.5.3.1): the course of the test. Each
//! failure is judged against the throughput right before it.

use crate::crash::Losses;
use crate::load::LoadProcess;
use crate::test::{LOAD_ENDS, LOOK, Problem, Test, ready};
use lydite_audit::durability::Trial;
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for a steady throughput after a failure: the time after which the next failure may come.
const STEADY_WITHIN: Duration = Duration::from_secs(120);
/// Seconds in a row that are steady: each has at least this part of the throughput before.
const STEADY_SECONDS: usize = 3;
const STEADY_PART: f64 = 0.5;
/// Last seconds of that wait. A database without a New-Order in them did not come back.
const SILENT_SECONDS: usize = 10;
/// Length of a look at the throughput before a failure, and the longest wait for some.
const BEFORE: Duration = Duration::from_secs(2);
const BEFORE_WITHIN: Duration = Duration::from_secs(60);
/// Time that the second node is down.
const DOWN: Duration = Duration::from_secs(2);
/// Longest time of both failures. The guard of the first one undoes it then.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// Throughput after a failure.
#[derive(Debug, PartialEq)]
struct Recovery {
    /// Time from the failure to the first steady second; `None` if it is not steady within [`STEADY_WITHIN`].
    after: Option<Duration>,
    /// New-Orders per second before it, which are more than zero, and in the first steady or the last seconds.
    rates: (f64, f64),
}

impl Recovery {
    /// Judges the New-Orders per second of each second since the failure, of which `first` is the number of the first.
    /// `None` if the throughput is not steady yet.
    fn of(rates: &[f64], before: f64, first: u64) -> Option<Self> {
        let last = rates.last_chunk::<STEADY_SECONDS>()?;
        let is_steady = last.iter().all(|rate| *rate > 0.0 && *rate >= STEADY_PART * before);
        let begin = first + (rates.len() - STEADY_SECONDS) as u64;
        is_steady.then(|| Self { after: Some(Duration::from_secs(begin)), rates: (before, mean(last)) })
    }

    /// Judges all seconds of a wait that ended without a steady throughput. The database may be slower than before, and
    /// has lost nothing by that. `None` if it does nothing at all.
    fn unsteady(rates: &[f64], before: f64) -> Option<Self> {
        let last = &rates[rates.len().saturating_sub(SILENT_SECONDS)..];
        last.iter().any(|rate| *rate > 0.0).then(|| Self { after: None, rates: (before, mean(last)) })
    }

    fn words(&self) -> String {
        let (before, now) = self.rates;
        let when = match self.after {
            Some(after) => format!("steady again {:.0} s after it", after.as_secs_f64()),
            None => format!("not steady within {} s", STEADY_WITHIN.as_secs()),
        };
        format!(
            "{when}, with {:.0} % of the throughput before ({now:.1} of {before:.1} New-Orders per second)",
            100.0 * now / before
        )
    }
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}

impl Test<'_> {
    /// Takes a node's data under full load, waits until the throughput is steady, kills another node, waits again, and gives
    /// the first one a new disk.
    ///
    /// # Errors
    /// The database does not come back, a fault can't be injected or undone, or the user stops the test.
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
        trial.step(format!(
            "the last node is killed and loses its data for ever{}",
            after_colon(&begun.proof)
        ));
        let first = self.steady(&mut load, failed, before, "a node was lost")?;
        trial.step(format!("the throughput is {}", first.words()));

        let mut killed = ready(&losses.killed, LONGEST)?;
        let before = self.rate(&mut load)?;
        let failed = Instant::now();
        let begun = killed.begin().map_err(|problem| Problem::NotRun(problem.to_string()))?;
        let (who, again) = if losses.promotes {
            ("the primary", "a replica is promoted in its place, and the lost ones copy its rows")
        } else {
            ("another node", "it is started again")
        };
        trial.step(format!("{who} is killed{}", after_colon(&begun.proof)));
        thread::sleep(DOWN);
        let ended = killed.end().map_err(Problem::of_end)?;
        trial.step(format!("{again}{}", after_colon(&ended.proof)));
        let second = self.steady(&mut load, failed, before, &format!("{who} was killed"))?;
        trial.step(format!("the throughput is {}", second.words()));

        let ended = load.end(Duration::ZERO, LOAD_ENDS).map_err(|problem| Problem::NotRun(problem.0))?;
        trial.acknowledged(ended.acknowledged);
        let ended = lost.end().map_err(|problem| Problem::NotRun(problem.to_string()))?;
        trial.step(format!("the lost node is started with empty data{}", after_colon(&ended.proof)));
        trial.observed(format!("after the loss {}; after the kill {}", first.words(), second.words()));
        Ok(())
    }

    /// Returns the New-Orders per second of the next moments, which are more than zero.
    fn rate(&self, load: &mut LoadProcess) -> Result<f64, Problem> {
        let (begun, before) = (Instant::now(), self.entries()?);
        loop {
            self.wait_until(load, Instant::now() + BEFORE)?;
            let found = self.entries()?.saturating_sub(before);
            if found > 0 {
                return Ok(found as f64 / begun.elapsed().as_secs_f64());
            }
            if begun.elapsed() >= BEFORE_WITHIN {
                return Err(Problem::NotRun(format!(
                    "no New-Order ended in the {:.0} s before a failure, so there is no throughput to come back to",
                    begun.elapsed().as_secs_f64()
                )));
            }
        }
    }

    /// Waits until some seconds in a row have a good part of the throughput before, or for [`STEADY_WITHIN`].
    fn steady(
        &self,
        load: &mut LoadProcess,
        failed: Instant,
        before: f64,
        what: &str,
    ) -> Result<Recovery, Problem> {
        // Number of the first whole second after the failure was injected.
        let first = failed.elapsed().as_secs() + 1;
        let mut second = first;
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
            if let Some(recovery) = Recovery::of(&rates, before, first) {
                return Ok(recovery);
            }
        }
        Recovery::unsteady(&rates, before).ok_or_else(|| {
            Problem::Gone(format!(
                "{} s after {what} no New-Order had ended for {SILENT_SECONDS} s: {before:.1} per second ended before",
                STEADY_WITHIN.as_secs()
            ))
        })
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

/// Returns the proof of a fault after a colon; nothing without one.
fn after_colon(proof: &str) -> String {
    if proof.is_empty() { String::new() } else { format!(": {proof}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_throughput_is_steady_after_three_seconds_in_a_row_with_half_of_the_one_before() {
        let of = |rates: &[f64]| Recovery::of(rates, 10.0, 4);
        assert_eq!(of(&[9.0, 9.0]), None);
        assert_eq!(of(&[9.0, 4.0, 9.0]), None);
        let steady = of(&[0.0, 4.0, 6.0, 6.0, 9.0]).expect("steady");
        assert_eq!(steady, Recovery { after: Some(Duration::from_secs(6)), rates: (10.0, 7.0) });
        assert_eq!(
            steady.words(),
            "steady again 6 s after it, with 70 % of the throughput before (7.0 of 10.0 New-Orders per second)"
        );
    }

    #[test]
    fn a_database_that_is_slower_than_before_has_recovered_and_one_that_is_silent_has_not() {
        let slow = Recovery::unsteady(&[vec![0.0; 60], vec![1.0; 20]].concat(), 10.0).expect("it works");
        assert_eq!(slow, Recovery { after: None, rates: (10.0, 1.0) });
        assert!(
            slow.words().starts_with("not steady within 120 s, with 10 % of the throughput before"),
            "{slow:?}"
        );
        assert_eq!(Recovery::unsteady(&[vec![1.0; 60], vec![0.0; 10]].concat(), 10.0), None);
        assert_eq!(Recovery::unsteady(&[], 10.0), None);
    }
}
