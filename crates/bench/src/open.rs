//! The open loop: requests come at a given rate, whether or not the database keeps up.
//!
//! Sessions take requests in the order in which they are due and wait until then. If all sessions are busy when a
//! request is due, it waits in a queue. The queue exists only as arithmetic: it has no bound, and no request is ever
//! dropped.

use crate::clock::{Nanos, SECOND, Window};
use crate::measurement::OpenFacts;
use crate::os;
use crate::phase_counts::OpenPhase;
use crate::plan::Arrival;
use crate::request_source::{RequestSource, SourceResults};
use crate::share::Share;
use crate::stages::{Cursor, Stages};
use crate::worker::Worker;
use crate::workload::Runnable;
use lydite_tpcc::random::{Purpose, Stream};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Requests per second as a function of time, constant in each piece.
#[derive(Debug)]
struct Rates {
    /// Start of each piece, number of requests before it, and its rate. The first piece starts at 0.
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

    /// Returns the time at which the number of requests reaches `requests`; infinity if it never does. Begins at piece
    /// `at` and advances it.
    fn when(&self, requests: f64, at: &mut usize) -> f64 {
        // This also passes pieces without requests.
        while self.pieces.get(*at + 1).is_some_and(|&(_, before, _)| before <= requests) {
            *at += 1;
        }
        let (from, before, rate) = self.pieces[*at];
        if rate > 0.0 { from + (requests - before) * SECOND as f64 / rate } else { f64::INFINITY }
    }

    /// Returns the number of requests before a moment.
    fn until(&self, moment: Nanos) -> f64 {
        let moment = moment as f64;
        let piece = self.pieces.partition_point(|&(from, _, _)| from <= moment).saturating_sub(1);
        let (from, before, rate) = self.pieces[piece];
        before + (moment - from) / SECOND as f64 * rate
    }
}

/// Due times of the requests of a share. The requests of other shares are passed over, so every request is due when it
/// is due in a run in one process.
#[derive(Clone, Debug)]
struct Arrivals {
    share: Share,
    /// Number of terminals of the whole run, which send requests in turn.
    terminals: u64,
    arrival: Arrival,
    stream: Stream,
    rates: Arc<Rates>,
    /// Index of the current piece of the rates.
    piece: usize,
    /// Number of the next request in the whole run.
    number: u64,
    /// Number of earlier requests of the share.
    own: u64,
    /// Position of the next request on the scale of the rates. Requests at equal distances have whole numbers.
    requests: f64,
    /// Due time of request `number`.
    due: f64,
}

impl Arrivals {
    fn new(rates: &[(Nanos, f64)], arrival: Arrival, seed: u64, (share, terminals): (Share, u64)) -> Self {
        let stream = Stream::new(seed, Purpose::Arrivals, 0);
        let rates = Arc::new(Rates::new(rates));
        let mut arrivals = Self {
            share,
            terminals,
            arrival,
            stream,
            rates,
            piece: 0,
            number: 0,
            own: 0,
            requests: 0.0,
            due: 0.0,
        };
        arrivals.requests = arrivals.gap();
        arrivals.pass_others();
        arrivals.set_due();
        arrivals
    }

    /// Returns the distance to the next request. In a Poisson process the time from the beginning of the run to the
    /// first request is a gap like any other.
    fn gap(&mut self) -> f64 {
        match self.arrival {
            Arrival::Constant => 0.0,
            Arrival::Poisson => -self.stream.unit_open_low().ln(),
        }
    }

    fn set_due(&mut self) {
        let never = self.is_idle();
        self.due = if never { f64::INFINITY } else { self.rates.when(self.requests, &mut self.piece) };
    }

    /// True if the share has no terminal.
    fn is_idle(&self) -> bool {
        u64::from(self.share.index) >= self.terminals
    }

    /// Returns the due time of the next request. At a rate of zero it never comes.
    fn due(&self) -> Nanos {
        self.due as Nanos
    }

    /// Returns the number of the terminal that sends the next request.
    fn terminal(&self) -> u64 {
        self.number % self.terminals
    }

    fn advance(&mut self) {
        self.own += 1;
        self.step();
        self.pass_others();
        self.set_due();
    }

    /// Moves to the next request of the whole run.
    fn step(&mut self) {
        self.number += 1;
        self.requests = match self.arrival {
            // Counted, not added up: rounding must not change the rate.
            Arrival::Constant => self.number as f64,
            Arrival::Poisson => self.requests + self.gap(),
        };
    }

    /// Passes over the requests of other shares.
    fn pass_others(&mut self) {
        while !self.is_idle() && !self.share.owns(self.terminal()) {
            self.step();
        }
    }

    /// Returns the part of all requests that are of the share.
    fn part(&self) -> f64 {
        f64::from(self.share.count(self.terminals as u32)) / self.terminals as f64
    }

    /// Returns the due times of the untaken requests that are due before `end`.
    fn before(&self, end: Nanos) -> impl Iterator<Item = Nanos> + use<> {
        let mut arrivals = self.clone();
        std::iter::from_fn(move || {
            let due = arrivals.due();
            (due < end).then(|| {
                arrivals.advance();
                due
            })
        })
    }
}

/// Makes the requests and their inputs in order, so they are the same for any number of sessions.
struct Generator<W: Runnable> {
    arrivals: Arrivals,
    /// Source of the inputs.
    cursor: Cursor<W::Inputs>,
    /// Terminals, which send requests in turn.
    terminals: Vec<W::Terminal>,
    /// Copy of `arrivals` that runs ahead to the requests that are due now. It never runs back.
    watched: Arrivals,
    /// Taken requests that are due in the window, by phase.
    taken: Vec<u64>,
    /// Requests that were due before each phase, or before the window for the first one, and taken after its start.
    overdue: Vec<u64>,
    /// Due times, all ahead, of requests that were taken before a window that may begin earlier.
    ahead: VecDeque<Nanos>,
    /// Due times of requests that were taken but not begun before the end.
    unstarted: Vec<Nanos>,
}

/// Adds one to the count of a phase.
fn count(counts: &mut Vec<u64>, phase: usize) {
    counts.resize(counts.len().max(phase + 1), 0);
    counts[phase] += 1;
}

impl<W: Runnable> Generator<W> {
    /// Counts a taken request that is due in the window.
    fn count_taken(&mut self, due: Nanos) {
        count(&mut self.taken, self.cursor.stage(due).phase);
    }

    /// Counts a request that was due at `due` and that no session takes before `now`, in each phase that began between
    /// the two.
    fn count_overdue(&mut self, window: &Window, due: Nanos, now: Nanos) {
        if due < window.start() && now >= window.start() {
            count(&mut self.overdue, 0);
        }
        let first = self.cursor.stage(due).phase + 1;
        for phase in first..=self.cursor.stage(now).phase {
            count(&mut self.overdue, phase);
        }
    }
}

/// Next action of a session.
enum NextAction<W: Runnable> {
    /// A request with its due time, the terminal that sends it, and its input. With contention control the input is made
    /// only when the session begins: it depends on the sessions that compete then.
    Request(Nanos, usize, Option<W::Transaction>),
    /// Rest until this time: fewer sessions are to play.
    Rest(Nanos),
    /// The run is over: no more requests are due before the end.
    Over,
}

/// The open loop. See the module.
pub(crate) struct Open<W: Runnable> {
    rates: Arc<Rates>,
    generator: Mutex<Generator<W>>,
}

impl<W: Runnable> Open<W> {
    /// Makes an open loop. `rates` has the requests per second from each moment on; the first moment is 0.
    pub(crate) fn new(
        stages: &Arc<Stages<W::Inputs>>,
        seed: u64,
        rates: &[(Nanos, f64)],
        arrival: Arrival,
        share: Share,
    ) -> Self {
        let terminals = W::in_turn(&stages.current()[0].inputs);
        let arrivals = Arrivals::new(rates, arrival, seed, (share, terminals.len() as u64));
        let rates = Arc::clone(&arrivals.rates);
        let generator = Generator {
            watched: arrivals.clone(),
            arrivals,
            cursor: Cursor::new(stages),
            terminals,
            taken: Vec::new(),
            overdue: Vec::new(),
            ahead: VecDeque::new(),
            unstarted: Vec::new(),
        };
        Self { rates, generator: Mutex::new(generator) }
    }

    /// Returns the next action of a session at `now`. `contends` is true with contention control.
    fn take(&self, window: &Window, session: usize, now: Nanos, contends: bool) -> NextAction<W> {
        let generator = &mut *self.generator.lock();
        let due = generator.arrivals.due();
        if window.over(due) {
            return NextAction::Over;
        }
        // The request is played when it is due, or now if that is later.
        let played = due.max(now);
        if session as u64 >= u64::from(generator.cursor.stage(played).sessions) {
            return NextAction::Rest(generator.cursor.next(played));
        }
        let terminal = generator.arrivals.terminal() as usize;
        let transaction = (!contends)
            .then(|| W::next(&generator.cursor.stage(due).inputs, &mut generator.terminals[terminal]));
        generator.arrivals.advance();
        if due < now {
            generator.count_overdue(window, due, now);
        }
        if due >= window.start() {
            generator.count_taken(due);
        } else if due > now {
            while generator.ahead.pop_front_if(|due| *due <= now).is_some() {}
            generator.ahead.push_back(due);
        }
        NextAction::Request(due, terminal, transaction)
    }

    /// Makes the input of a request that was taken without one. `row` is the hot row that it competes for, if any.
    fn input(&self, due: Nanos, terminal: usize, row: Option<usize>) -> W::Transaction {
        let Generator { cursor, terminals, .. } = &mut *self.generator.lock();
        let (inputs, terminal) = (&cursor.stage(due).inputs, &mut terminals[terminal]);
        match row {
            Some(row) => W::contending(inputs, terminal, row),
            None => W::next(inputs, terminal),
        }
    }

    /// Returns the backlog at the end, the configured and measured rates, and the requests of each phase.
    fn facts(&self, window: &Window, end: Nanos, completed: u64) -> (u64, OpenFacts, Vec<OpenPhase>) {
        let generator = &mut *self.generator.lock();
        let mut backlog = generator.unstarted.iter().filter(|&&due| due < end).count() as u64;
        let last = end.saturating_sub(1);
        for due in generator.arrivals.before(end) {
            backlog += 1;
            generator.count_overdue(window, due, last);
            if due >= window.start() {
                generator.count_taken(due);
            }
        }
        for due in std::mem::take(&mut generator.ahead) {
            if due >= window.start() {
                generator.count_taken(due);
            }
        }
        // A stop moves the end forward. Requests that are due after it are outside of the window.
        for &due in generator.unstarted.iter().filter(|&&due| due >= end.max(window.start())) {
            let phase = generator.cursor.stage(due).phase;
            if let Some(taken) = generator.taken.get_mut(phase) {
                *taken = taken.saturating_sub(1);
            }
        }
        let of = |counts: &[u64], phase: usize| counts.get(phase).copied().unwrap_or_default();
        let reached = generator.cursor.stage(last).phase;
        let phases: Vec<OpenPhase> = (0..=reached)
            .map(|phase| OpenPhase {
                due: of(&generator.taken, phase),
                backlog_before: of(&generator.overdue, phase),
                backlog: if phase == reached { backlog } else { of(&generator.overdue, phase + 1) },
            })
            .collect();
        let due = generator.taken.iter().sum::<u64>();
        let seconds = end.saturating_sub(window.start()) as f64 / SECOND as f64;
        let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        let facts = OpenFacts {
            asked_per_s: generator.arrivals.part()
                * per_second(self.rates.until(end) - self.rates.until(window.start().min(end))),
            due,
            due_per_s: per_second(due as f64),
            completed_per_s: per_second(completed as f64),
        };
        (backlog, facts, phases)
    }
}

impl<W: Runnable> RequestSource<W> for Open<W> {
    fn work(self: Arc<Self>, worker: &mut Worker<W>) {
        os::precise_timers();
        while worker.ensure_connected() {
            let contends = worker.contender.is_some();
            let next = self.take(&worker.shared.window, worker.index, worker.now(), contends);
            let (due, terminal, transaction) = match next {
                NextAction::Request(due, terminal, transaction) => (due, terminal, transaction),
                NextAction::Rest(until) if worker.wait_until(until) => continue,
                NextAction::Rest(_) => return,
                NextAction::Over => {
                    // No more requests are due, but a run whose sessions have all ended would count as broken.
                    worker.wait_until(Nanos::MAX);
                    return;
                }
            };
            let waits = worker.now() < due;
            // The end of the run may cut most of the wait short; the last moment must be precise.
            if waits && worker.wait_until(due.saturating_sub(LAST_MOMENT)) {
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
            let transaction =
                transaction.unwrap_or_else(|| self.input(due, terminal, worker.join_hot_row(picked)));
            let answer = worker.play((due, picked), transaction, || |_| ());
            worker.leave_hot_row(answer.map(|answer| answer.at));
        }
    }

    fn queued(&self, now: Nanos) -> u64 {
        let generator = &mut *self.generator.lock();
        while generator.watched.due() < now {
            generator.watched.advance();
        }
        generator.watched.own.saturating_sub(generator.arrivals.own)
    }

    fn finish(&self, window: &Window, end: Nanos, completed: u64) -> SourceResults<W> {
        let (left, facts, phases) = self.facts(window, end, completed);
        // The backlog is more than one second's requests, so it is not just a delay at the end.
        let behind = (left as f64 > facts.asked_per_s).then(|| {
            format!(
                "the database completed {:.0} of {:.0} configured requests per second: {left} due requests had not \
                 begun at the end, and latencies grew with the length of the run",
                facts.completed_per_s, facts.asked_per_s
            )
        });
        SourceResults {
            backlog: left,
            open: Some(facts),
            open_phases: phases,
            warnings: behind.into_iter().collect(),
            ..SourceResults::default()
        }
    }
}

/// Time before a request is due in which its session no longer looks for the end of the run.
const LAST_MOMENT: Nanos = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: (Share, u64) = (Share::WHOLE, 10);

    #[test]
    fn shares_have_the_requests_of_the_whole_run_at_the_same_times() {
        let due = |arrival, parts: (Share, u64)| {
            let mut arrivals = Arrivals::new(&[(0, 100.0), (SECOND, 5.0)], arrival, 1, parts);
            let mut requests = Vec::new();
            while arrivals.due() < 4 * SECOND {
                requests.push((arrivals.due(), arrivals.terminal()));
                arrivals.advance();
            }
            requests
        };
        for arrival in [Arrival::Constant, Arrival::Poisson] {
            let whole = due(arrival, (Share::WHOLE, 7));
            // With more shares than terminals, some have no request.
            for of in [2, 3, 9] {
                let mut parts: Vec<_> =
                    (0..of).flat_map(|index| due(arrival, (Share { index, of }, 7))).collect();
                parts.sort_unstable();
                assert_eq!(parts, whole, "{arrival:?} over {of}");
            }
        }
    }

    #[test]
    fn a_constant_rate_has_exact_distances() {
        let arrivals = Arrivals::new(&[(0, 3.0)], Arrival::Constant, 1, WHOLE);
        assert_eq!(arrivals.before(1_000_000 * SECOND).count(), 3_000_000);
        let until_two: Vec<Nanos> = arrivals.before(2 * SECOND).collect();
        assert_eq!((until_two.len(), until_two.iter().filter(|&&due| due >= SECOND).count()), (6, 3));
    }

    #[test]
    fn a_poisson_process_has_the_rate_and_the_deviation() {
        let mut arrivals = Arrivals::new(&[(0, 100.0)], Arrival::Poisson, 1, WHOLE);
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
        let arrivals = Arrivals::new(&rates, Arrival::Constant, 1, WHOLE);
        let mut counts = [0; 7];
        arrivals.before(7 * SECOND).for_each(|due| counts[(due / SECOND) as usize] += 1);
        assert_eq!(counts, [10, 0, 0, 4, 4, 0, 0]);
        assert!((arrivals.rates.until(4 * SECOND) - 14.0).abs() < 1e-9);
    }
}
