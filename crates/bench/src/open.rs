//! The open loop: requests come at a given rate, whether or not the database keeps up.
//!
//! Sessions take requests in the order in which they are due and wait until then. A request whose time has come
//! while all sessions are busy waits in a queue that exists only as arithmetic: it has no bound, and no request
//! is ever dropped.

use crate::clock::{Nanos, SECOND, Window};
use crate::drive::{Drive, Finished};
use crate::measurement::OpenFacts;
use crate::os;
use crate::plan::Arrival;
use crate::worker::Worker;
use crate::workload::Runnable;
use lydite_tpcc::random::{Purpose, Stream};
use parking_lot::Mutex;
use std::sync::Arc;

/// When requests are due.
#[derive(Clone, Debug)]
struct Arrivals {
    arrival: Arrival,
    stream: Stream,
    /// Nanoseconds between two requests, on average.
    distance: f64,
    number: u64,
    /// When request `number` is due.
    due: f64,
}

impl Arrivals {
    fn new(rate: f64, arrival: Arrival, seed: u64) -> Self {
        let stream = Stream::new(seed, Purpose::Arrivals, 0);
        let mut arrivals = Self { arrival, stream, distance: SECOND as f64 / rate, number: 0, due: 0.0 };
        arrivals.due = arrivals.gap();
        arrivals
    }

    /// The time from the beginning of the run to the first request of a Poisson process is a gap like any other.
    fn gap(&mut self) -> f64 {
        match self.arrival {
            Arrival::Constant => 0.0,
            Arrival::Poisson => -self.stream.unit_open_low().ln() * self.distance,
        }
    }

    fn due(&self) -> Nanos {
        self.due as Nanos
    }

    fn advance(&mut self) {
        self.number += 1;
        self.due = match self.arrival {
            // Multiplied, not added up: rounding must not change the rate.
            Arrival::Constant => self.number as f64 * self.distance,
            Arrival::Poisson => self.due + self.gap(),
        };
    }

    /// How many of the requests not yet taken are due before `end`, and how many of these from `start`.
    fn ahead(&self, start: Nanos, end: Nanos) -> (u64, u64) {
        let mut arrivals = self.clone();
        let (mut all, mut late) = (0, 0);
        while arrivals.due() < end {
            all += 1;
            late += u64::from(arrivals.due() >= start);
            arrivals.advance();
        }
        (all, late)
    }
}

/// Makes the requests, with their inputs, in order: so they are the same however many sessions take them.
struct Generator<W: Runnable> {
    arrivals: Arrivals,
    /// Requests are theirs in turn.
    terminals: Vec<W::Terminal>,
    /// Runs ahead of `arrivals` to what is due now, and never back.
    watched: Arrivals,
    /// Requests taken that are due in the window.
    taken: u64,
    /// When requests were due that were taken, but not begun before the end.
    unstarted: Vec<Nanos>,
}

/// See the module.
pub(crate) struct Open<W: Runnable> {
    inputs: W::Inputs,
    rate: f64,
    generator: Mutex<Generator<W>>,
}

impl<W: Runnable> Open<W> {
    pub(crate) fn new(inputs: W::Inputs, seed: u64, rate: f64, arrival: Arrival) -> Self {
        let arrivals = Arrivals::new(rate, arrival, seed);
        let generator = Generator {
            watched: arrivals.clone(),
            arrivals,
            terminals: W::in_turn(&inputs),
            taken: 0,
            unstarted: Vec::new(),
        };
        Self { inputs, rate, generator: Mutex::new(generator) }
    }

    /// The next request; none when it would be due after the end.
    fn take(&self, window: &Window) -> Option<(Nanos, W::Transaction)> {
        let generator = &mut *self.generator.lock();
        let due = generator.arrivals.due();
        if window.over(due) {
            return None;
        }
        let terminal = generator.arrivals.number % generator.terminals.len() as u64;
        let transaction = W::next(&self.inputs, &mut generator.terminals[terminal as usize]);
        generator.arrivals.advance();
        generator.taken += u64::from(due >= window.start());
        Some((due, transaction))
    }

    /// The backlog at the end, and what was asked for.
    fn facts(&self, window: &Window, end: Nanos, completed: u64) -> (u64, OpenFacts) {
        let generator = self.generator.lock();
        let (left, left_in_window) = generator.arrivals.ahead(window.start(), end);
        let unstarted = generator.unstarted.iter().filter(|&&due| due < end).count() as u64;
        // A stop brought the end forward: what is due after it does not belong to the window any more.
        let beyond = generator.unstarted.iter().filter(|&&due| due >= end.max(window.start())).count() as u64;
        let due = generator.taken - beyond.min(generator.taken) + left_in_window;
        let seconds = end.saturating_sub(window.start()) as f64 / SECOND as f64;
        let per_s = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let facts = OpenFacts {
            asked_per_s: self.rate,
            due,
            due_per_s: per_s(due),
            completed_per_s: per_s(completed),
        };
        (left + unstarted, facts)
    }
}

impl<W: Runnable> Drive<W> for Open<W> {
    fn work(self: Arc<Self>, worker: &mut Worker<W>) {
        os::precise_timers();
        while worker.ensure_connected() {
            let Some((due, transaction)) = self.take(&worker.shared.window) else {
                // Nothing is due any more, but a run in which all sessions have ended would count as broken.
                worker.shared.sleep_until(Nanos::MAX);
                return;
            };
            let waits = worker.now() < due;
            // Most of the wait can be cut short by the end of the run; the last moment needs precision.
            if waits && worker.shared.sleep_until(due.saturating_sub(LAST_MOMENT)) {
                os::wait_precisely(&worker.shared.clock, due);
            }
            let picked = worker.now();
            if worker.shared.window.over(picked) {
                self.generator.lock().unstarted.push(due);
                return;
            }
            if waits {
                worker.shared.recorder(worker.index).record_lateness(&worker.shared.window, due, picked);
            }
            worker.play((due, picked), transaction, || |_| ());
        }
    }

    fn queued(&self, now: Nanos) -> u64 {
        let generator = &mut *self.generator.lock();
        while generator.watched.due() < now {
            generator.watched.advance();
        }
        generator.watched.number.saturating_sub(generator.arrivals.number)
    }

    fn finish(&self, window: &Window, end: Nanos, completed: u64) -> Finished<W> {
        let (left, facts) = self.facts(window, end, completed);
        // More than a second's requests behind: no hiccup at the end.
        let behind = (left as f64 > facts.asked_per_s).then(|| {
            format!(
                "{:.0} requests a second were asked for and {:.0} were answered: {left} that were due had not \
                 been begun at the end, and latencies grew with the run's length",
                facts.asked_per_s, facts.completed_per_s
            )
        });
        Finished {
            backlog: left,
            open: Some(facts),
            warnings: behind.into_iter().collect(),
            ..Finished::default()
        }
    }
}

/// How long before a request is due its session stops looking out for the end of the run.
const LAST_MOMENT: Nanos = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_rate_has_exact_distances() {
        let arrivals = Arrivals::new(3.0, Arrival::Constant, 1);
        assert_eq!(arrivals.ahead(0, 1_000_000 * SECOND), (3_000_000, 3_000_000));
        assert_eq!(arrivals.ahead(SECOND, 2 * SECOND), (6, 3));
    }

    #[test]
    fn a_poisson_process_has_the_rate_and_the_deviation() {
        let mut arrivals = Arrivals::new(100.0, Arrival::Poisson, 1);
        let mut counts = [0.0; 2_000];
        while let Some(count) = counts.get_mut((arrivals.due() / SECOND) as usize) {
            *count += 1.0;
            arrivals.advance();
        }
        let mean = counts.iter().sum::<f64>() / 2_000.0;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 1_999.0;
        // Five standard deviations of either estimate.
        assert!((mean - 100.0).abs() < 1.2, "{mean}");
        assert!((variance - 100.0).abs() < 16.0, "{variance}");
    }
}
