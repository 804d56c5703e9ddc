//! The open loop: requests come at a given rate, whether or not the database keeps up.
//!
//! Sessions take requests in the order in which they are due and wait until then. A request whose time has come
//! while all sessions are busy waits in a queue that exists only as arithmetic: it has no bound, and no request
//! is ever dropped.

use crate::clock::{Nanos, SECOND, Window};
use crate::course::{Course, Cursor};
use crate::drive::{Drive, Finished};
use crate::measurement::OpenFacts;
use crate::os;
use crate::plan::Arrival;
use crate::worker::Worker;
use crate::workload::Runnable;
use lydite_tpcc::random::{Purpose, Stream};
use parking_lot::Mutex;
use std::sync::Arc;

/// Requests per second over time: from each moment on, until the next.
#[derive(Debug)]
struct Rates {
    /// When, the requests until then, and the rate from then on; the first at 0.
    pieces: Vec<(f64, f64, f64)>,
}

impl Rates {
    fn new(rates: &[(Nanos, f64)]) -> Self {
        let mut pieces: Vec<(f64, f64, f64)> = Vec::with_capacity(rates.len());
        for &(from, rate) in rates {
            let from = from as f64;
            let before = pieces
                .last()
                .map_or(0.0, |&(then, before, rate)| before + (from - then) / SECOND as f64 * rate);
            pieces.push((from, before, rate));
        }
        Self { pieces }
    }

    /// When the requests until then are so many; never, if they will not be. Begins to look at piece `at` and moves it on.
    fn when(&self, requests: f64, at: &mut usize) -> f64 {
        // A piece without requests is left behind with those of the one before it.
        while self.pieces.get(*at + 1).is_some_and(|&(_, before, _)| before <= requests) {
            *at += 1;
        }
        let (from, before, rate) = self.pieces[*at];
        if rate > 0.0 { from + (requests - before) * SECOND as f64 / rate } else { f64::INFINITY }
    }

    /// The requests until a moment.
    fn until(&self, moment: Nanos) -> f64 {
        let moment = moment as f64;
        let piece = self.pieces.partition_point(|&(from, _, _)| from <= moment).saturating_sub(1);
        let (from, before, rate) = self.pieces[piece];
        before + (moment - from) / SECOND as f64 * rate
    }
}

/// When requests are due.
#[derive(Clone, Debug)]
struct Arrivals {
    arrival: Arrival,
    stream: Stream,
    rates: Arc<Rates>,
    /// The piece of the rates at which they are.
    piece: usize,
    number: u64,
    /// The requests until the next one is due, as the rates count them: whole numbers if they come at equal distances.
    requests: f64,
    /// When request `number` is due.
    due: f64,
}

impl Arrivals {
    fn new(rates: &[(Nanos, f64)], arrival: Arrival, seed: u64) -> Self {
        let stream = Stream::new(seed, Purpose::Arrivals, 0);
        let rates = Arc::new(Rates::new(rates));
        let mut arrivals = Self { arrival, stream, rates, piece: 0, number: 0, requests: 0.0, due: 0.0 };
        arrivals.requests = arrivals.gap();
        arrivals.settle();
        arrivals
    }

    /// The time from the beginning of the run to the first request of a Poisson process is a gap like any other.
    fn gap(&mut self) -> f64 {
        match self.arrival {
            Arrival::Constant => 0.0,
            Arrival::Poisson => -self.stream.unit_open_low().ln(),
        }
    }

    fn settle(&mut self) {
        self.due = self.rates.when(self.requests, &mut self.piece);
    }

    /// At a rate of zero this is never.
    fn due(&self) -> Nanos {
        self.due as Nanos
    }

    fn advance(&mut self) {
        self.number += 1;
        self.requests = match self.arrival {
            // Counted, not added up: rounding must not change the rate.
            Arrival::Constant => self.number as f64,
            Arrival::Poisson => self.requests + self.gap(),
        };
        self.settle();
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
    /// Where their inputs come from.
    cursor: Cursor<W::Inputs>,
    /// Requests are theirs in turn.
    terminals: Vec<W::Terminal>,
    /// Runs ahead of `arrivals` to what is due now, and never back.
    watched: Arrivals,
    /// Requests taken that are due in the window.
    taken: u64,
    /// When requests were due that were taken, but not begun before the end.
    unstarted: Vec<Nanos>,
}

/// What there is for a session.
enum Taken<W: Runnable> {
    /// When it is due, and what it is.
    Request(Nanos, W::Transaction),
    /// Nothing until then: fewer sessions are to play.
    Rest(Nanos),
    /// Nothing is due any more before the end.
    Over,
}

/// See the module.
pub(crate) struct Open<W: Runnable> {
    rates: Arc<Rates>,
    generator: Mutex<Generator<W>>,
}

impl<W: Runnable> Open<W> {
    /// `rates`: from when on how many requests there are each second; the first from 0.
    pub(crate) fn new(
        course: &Arc<Course<W::Inputs>>,
        seed: u64,
        rates: &[(Nanos, f64)],
        arrival: Arrival,
    ) -> Self {
        let arrivals = Arrivals::new(rates, arrival, seed);
        let rates = Arc::clone(&arrivals.rates);
        let generator = Generator {
            watched: arrivals.clone(),
            arrivals,
            cursor: Cursor::new(course),
            terminals: W::in_turn(&course.stages()[0].inputs),
            taken: 0,
            unstarted: Vec::new(),
        };
        Self { rates, generator: Mutex::new(generator) }
    }

    /// The next request for a session, at `now`.
    fn take(&self, window: &Window, session: usize, now: Nanos) -> Taken<W> {
        let generator = &mut *self.generator.lock();
        let due = generator.arrivals.due();
        if window.over(due) {
            return Taken::Over;
        }
        // It is played when it is due, or now.
        let played = due.max(now);
        if session as u64 >= u64::from(generator.cursor.stage(played).sessions) {
            return Taken::Rest(generator.cursor.next(played));
        }
        let terminal = generator.arrivals.number % generator.terminals.len() as u64;
        let inputs = &generator.cursor.stage(due).inputs;
        let transaction = W::next(inputs, &mut generator.terminals[terminal as usize]);
        generator.arrivals.advance();
        generator.taken += u64::from(due >= window.start());
        Taken::Request(due, transaction)
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
        let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        let facts = OpenFacts {
            asked_per_s: per_second(self.rates.until(end) - self.rates.until(window.start().min(end))),
            due,
            due_per_s: per_second(due as f64),
            completed_per_s: per_second(completed as f64),
        };
        (left + unstarted, facts)
    }
}

impl<W: Runnable> Drive<W> for Open<W> {
    fn work(self: Arc<Self>, worker: &mut Worker<W>) {
        os::precise_timers();
        while worker.ensure_connected() {
            let (due, transaction) = match self.take(&worker.shared.window, worker.index, worker.now()) {
                Taken::Request(due, transaction) => (due, transaction),
                Taken::Rest(until) if worker.shared.sleep_until(until) => continue,
                Taken::Rest(_) => return,
                Taken::Over => {
                    // Nothing is due any more, but a run in which all sessions have ended would count as broken.
                    worker.shared.sleep_until(Nanos::MAX);
                    return;
                }
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
        let arrivals = Arrivals::new(&[(0, 3.0)], Arrival::Constant, 1);
        assert_eq!(arrivals.ahead(0, 1_000_000 * SECOND), (3_000_000, 3_000_000));
        assert_eq!(arrivals.ahead(SECOND, 2 * SECOND), (6, 3));
    }

    #[test]
    fn a_poisson_process_has_the_rate_and_the_deviation() {
        let mut arrivals = Arrivals::new(&[(0, 100.0)], Arrival::Poisson, 1);
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

    #[test]
    fn a_rate_that_changes_keeps_each_of_its_pieces_and_none_comes_while_it_is_zero() {
        let rates = [(0, 10.0), (SECOND, 0.0), (3 * SECOND, 4.0), (5 * SECOND, 0.0)];
        let arrivals = Arrivals::new(&rates, Arrival::Constant, 1);
        let counts: Vec<u64> =
            (0..7).map(|second| arrivals.ahead(second * SECOND, (second + 1) * SECOND).1).collect();
        assert_eq!(counts, [10, 0, 0, 4, 4, 0, 0]);
        assert!((arrivals.rates.until(4 * SECOND) - 14.0).abs() < 1e-9);
    }
}
