//! Contention control: how many transactions compete for one row at any moment (the Dike paper, section 4.2.2).
//!
//! Before each transaction a session asks whether it is to go for the row, and none is ever held up to wait for others.
//! The paper has it throw a coin; here the number of transactions that go for the row decides, which keeps every moment
//! and not only the mean. Some of those are still on their way to the row, so a feedback adds as many as are missing among
//! those that the row has been asked for. That number, averaged over time, is the contention intensity (CI).
//!
//! A database that gives up one of two writers, where others let it wait, has nobody waiting. There the client keeps the
//! queue: a transaction that was given up waits in it for its turn, and competes while it waits.

use crate::clock::{Clock, Nanos, SECOND, Window};
use crate::worker::Gate;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the feedback corrects.
const TICK: Nanos = SECOND / 10;
/// The share of what is missing that it adds each time.
const GAIN: f64 = 0.3;
/// A phase has settled from when on every mean over this time is near what was asked for.
const SETTLED_OVER: Nanos = SECOND;
/// How near: as a share of it, and in transactions at least.
const SETTLED_WITHIN: (f64, f64) = (0.1, 0.5);
/// The step of a fraction that spreads evenly over the unit interval: the golden section.
const SPREAD: f64 = 0.618_033_988_749_894_9;

/// How many are to compete, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentionPhase {
    /// Transactions that compete for the row at any moment, at most as many as sessions.
    pub asked: u32,
    /// More than zero.
    pub lasts: Duration,
}

/// What became of a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContentionFound {
    /// As in [`ContentionPhase::asked`].
    pub asked: u32,
    /// Seconds of the window at which it began and ended.
    pub from_s: f64,
    /// See `from_s`.
    pub to_s: f64,
    /// The mean number of competing transactions from when it had settled; over all of the phase if it never did.
    pub actual: f64,
    /// Seconds until it had settled; none if it never did.
    pub settling_s: Option<f64>,
}

/// What is known of contention at the end of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContentionFacts {
    /// In their order; those that the run did not reach are left out.
    pub phases: Vec<ContentionFound>,
    /// The mean of each full second of the window.
    pub per_second: Vec<f64>,
    /// Transactions that waited in the client's queue after the database gave them up.
    pub queued: u64,
}

#[derive(Debug, Default)]
struct Competition {
    /// Transactions that go for the row and have not ended.
    joined: u32,
    /// Those of them that the row has been asked for.
    competing: u32,
    /// When `competing` last changed, and its integral over time until then, in nanoseconds.
    since: Nanos,
    area: f64,
    /// How many more than asked for are let join.
    correction: f64,
    /// When the feedback last corrected, and the area then.
    tick: (Nanos, f64),
    /// Decides where a fraction of a transaction is to join.
    spread: f64,
    /// Times and areas, one for each tick.
    trace: Vec<(Nanos, f64)>,
}

impl Competition {
    fn advance(&mut self, now: Nanos) {
        self.area += f64::from(self.competing) * now.saturating_sub(self.since) as f64;
        self.since = self.since.max(now);
    }

    fn correct(&mut self, now: Nanos, asked: u32, sessions: u32) {
        let (then, area) = self.tick;
        if now < then + TICK {
            return;
        }
        let mean = (self.area - area) / (now - then) as f64;
        let most = f64::from(sessions - asked);
        self.correction = (self.correction + GAIN * (f64::from(asked) - mean)).clamp(-1.0, most);
        self.tick = (now, self.area);
        self.trace.push(self.tick);
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Contention {
    sessions: u32,
    /// When each phase ends, and what it asks for.
    phases: Vec<(Nanos, u32)>,
    competition: Mutex<Competition>,
    queue: Mutex<Queue>,
}

/// Transactions that were given up, the one whose turn it is first.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<(usize, Arc<Gate>)>,
    total: u64,
}

impl Contention {
    /// The phases begin with the window; the warm-up is like the first of them. There is at least one.
    pub(crate) fn new(phases: &[ContentionPhase], sessions: u32, window: &Window) -> Self {
        let mut end = window.start();
        let phases = phases.iter().map(|phase| {
            end += crate::clock::nanos(phase.lasts);
            (end, phase.asked)
        });
        Self { sessions, phases: phases.collect(), competition: Mutex::default(), queue: Mutex::default() }
    }

    fn asked(&self, now: Nanos) -> u32 {
        let phase = self.phases.partition_point(|&(end, _)| end <= now);
        self.phases.get(phase).or(self.phases.last()).map_or(0, |&(_, asked)| asked)
    }

    /// Whether the next transaction of a session is to go for the row. If so, [`Contention::leave`] is called when it has
    /// ended.
    pub(crate) fn join(&self, now: Nanos) -> bool {
        let asked = self.asked(now);
        let mut of = self.competition.lock();
        of.advance(now);
        of.correct(now, asked, self.sessions);
        of.spread = (of.spread + SPREAD).fract();
        let joins = f64::from(of.joined) + of.spread < f64::from(asked) + of.correction;
        of.joined += u32::from(joins && asked > 0);
        joins && asked > 0
    }

    /// The row is about to be asked for.
    fn touched(&self, now: Nanos) {
        let mut of = self.competition.lock();
        of.advance(now);
        of.competing += 1;
    }

    /// A transaction has ended. `touched`: the row was asked for.
    fn leave(&self, now: Nanos, touched: bool) {
        let mut of = self.competition.lock();
        of.advance(now);
        of.joined -= 1;
        of.competing -= u32::from(touched);
    }

    /// Waits in the queue until it is the session's turn; no if the run is over before. Who has the turn already goes
    /// on at once.
    pub(crate) fn take_turn(&self, session: usize, mut over: impl FnMut() -> bool) -> bool {
        let gate = {
            let mut queue = self.queue.lock();
            if queue.waiting.iter().any(|(waiting, _)| *waiting == session) {
                return true;
            }
            let gate = Arc::<Gate>::default();
            if !queue.waiting.is_empty() {
                gate.shut();
            }
            queue.total += 1;
            queue.waiting.push_back((session, Arc::clone(&gate)));
            gate
        };
        gate.pass(&mut over)
    }

    /// The session's transaction has ended, whether it waited in the queue or not.
    fn end_turn(&self, session: usize) {
        let mut queue = self.queue.lock();
        queue.waiting.retain(|(waiting, _)| *waiting != session);
        if let Some((_, next)) = queue.waiting.front() {
            next.open();
        }
    }

    /// What came of it, when the run ended at `end`.
    pub(crate) fn facts(&self, window: &Window, end: Nanos) -> ContentionFacts {
        let mut of = self.competition.lock();
        of.advance(end);
        let last = (of.since, of.area);
        of.trace.push(last);
        let trace = Trace(&of.trace);
        let mut begin = window.start();
        let mut phases = Vec::new();
        for &(until, asked) in &self.phases {
            let until = until.min(end);
            if begin < until {
                phases.push(trace.phase(asked, begin, until, window.start()));
            }
            begin = until;
        }
        let seconds = end.saturating_sub(window.start()) / SECOND;
        let second = |number| window.start() + number * SECOND;
        let per_second = (0..seconds).map(|number| trace.mean(second(number), second(number + 1))).collect();
        ContentionFacts { phases, per_second, queued: self.queue.lock().total }
    }
}

/// Areas by time, the times rising.
struct Trace<'a>(&'a [(Nanos, f64)]);

impl Trace<'_> {
    /// The area until `at`, between two entries on a line.
    fn area(&self, at: Nanos) -> f64 {
        let after = self.0.partition_point(|&(time, _)| time < at);
        let (from, below) = after.checked_sub(1).map_or((0, 0.0), |before| self.0[before]);
        match self.0.get(after) {
            Some(&(to, above)) if to > from => {
                below + (above - below) * (at - from) as f64 / (to - from) as f64
            }
            _ => below,
        }
    }

    fn mean(&self, from: Nanos, to: Nanos) -> f64 {
        (self.area(to) - self.area(from)) / (to - from) as f64
    }

    fn phase(&self, asked: u32, begin: Nanos, end: Nanos, zero: Nanos) -> ContentionFound {
        let wanted = f64::from(asked);
        let near = (SETTLED_WITHIN.0 * wanted).max(SETTLED_WITHIN.1);
        // From the end back, as far as all is near.
        let mut settled = None;
        let mut at = end.saturating_sub(SETTLED_OVER);
        while at >= begin && end - begin >= SETTLED_OVER {
            if (self.mean(at, at + SETTLED_OVER) - wanted).abs() > near {
                break;
            }
            settled = Some(at);
            if at < begin + TICK {
                break;
            }
            at -= TICK;
        }
        let seconds = |time: Nanos| (time - zero) as f64 / SECOND as f64;
        ContentionFound {
            asked,
            from_s: seconds(begin),
            to_s: seconds(end),
            actual: self.mean(settled.unwrap_or(begin), end),
            settling_s: settled.map(|at| (at - begin) as f64 / SECOND as f64),
        }
    }
}

/// A session's part in it.
#[derive(Debug)]
pub(crate) struct Contender {
    contention: Arc<Contention>,
    clock: Clock,
    session: usize,
    /// The transaction at hand goes for the row.
    joined: AtomicBool,
    /// The row has been asked for in it.
    touched: AtomicBool,
}

impl Contender {
    pub(crate) fn new(contention: Arc<Contention>, clock: Clock, session: usize) -> Self {
        Self { contention, clock, session, joined: AtomicBool::new(false), touched: AtomicBool::new(false) }
    }

    /// Whether the next transaction is to go for the row.
    pub(crate) fn join(&self) -> bool {
        let joins = self.contention.join(self.clock.now());
        self.joined.store(joins, Ordering::Relaxed);
        joins
    }

    /// Whether the transaction at hand goes for the row.
    pub(crate) fn has_joined(&self) -> bool {
        self.joined.load(Ordering::Relaxed)
    }

    /// The row is about to be asked for, if the transaction at hand goes for it. Its later attempts change nothing.
    pub(crate) fn touch(&self) {
        if self.has_joined() && !self.touched.swap(true, Ordering::Relaxed) {
            self.contention.touched(self.clock.now());
        }
    }

    /// See [`Contention::take_turn`].
    pub(crate) fn take_turn(&self, over: impl FnMut() -> bool) -> bool {
        self.contention.take_turn(self.session, over)
    }

    /// The transaction at hand has ended.
    pub(crate) fn leave(&self) {
        if self.joined.swap(false, Ordering::Relaxed) {
            self.contention.end_turn(self.session);
            self.contention.leave(self.clock.now(), self.touched.swap(false, Ordering::Relaxed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Counting;

    const MS: Nanos = 1_000_000;

    fn window(seconds: u64) -> Window {
        Window::new(Duration::ZERO, Duration::from_secs(seconds), Counting::DueAndAnswered)
    }

    fn phase(asked: u32, seconds: u64) -> ContentionPhase {
        ContentionPhase { asked, lasts: Duration::from_secs(seconds) }
    }

    /// Sixty sessions in simulated time: a transaction that goes for the row needs 2 ms to get there, and the row serves one
    /// in 1 ms; others take 3 ms.
    fn simulate(contention: &Contention, seconds: u64) {
        #[derive(Clone, Copy)]
        enum At {
            Free,
            Elsewhere(Nanos),
            OnItsWay(Nanos),
            Waiting,
        }
        let mut sessions = [At::Free; 60];
        let mut row: VecDeque<usize> = VecDeque::new();
        for now in (0..seconds * SECOND).step_by(MS as usize) {
            if let Some(served) = row.pop_front() {
                contention.leave(now, true);
                sessions[served] = At::Free;
            }
            for (number, at) in sessions.iter_mut().enumerate() {
                match *at {
                    At::Elsewhere(until) if now >= until => *at = At::Free,
                    At::OnItsWay(until) if now >= until => {
                        contention.touched(now);
                        row.push_back(number);
                        *at = At::Waiting;
                    }
                    _ => {}
                }
                if matches!(at, At::Free) {
                    *at = if contention.join(now) {
                        At::OnItsWay(now + 2 * MS)
                    } else {
                        At::Elsewhere(now + 3 * MS)
                    };
                }
            }
        }
    }

    #[test]
    fn each_phase_settles_soon_and_keeps_its_mean() {
        let schedule = [10, 40, 50, 25, 15].map(|asked| phase(asked, 15));
        let window = window(75);
        let contention = Contention::new(&schedule, 60, &window);
        simulate(&contention, 75);
        let facts = contention.facts(&window, 75 * SECOND);
        assert_eq!(facts.phases.len(), 5);
        for found in &facts.phases {
            let asked = f64::from(found.asked);
            assert!((found.actual - asked).abs() < 0.03 * asked, "{found:?}");
            assert!(found.settling_s.is_some_and(|settling| settling < 5.0), "{found:?}");
        }
        assert_eq!(facts.per_second.len(), 75);
        assert!((facts.per_second[25] - 40.0).abs() < 4.0, "{}", facts.per_second[25]);
    }

    #[test]
    fn what_can_not_be_reached_is_told_as_it_is() {
        let window = window(10);
        let contention = Contention::new(&[phase(40, 10)], 60, &window);
        // Nobody comes as far as the row.
        for now in (0..10 * SECOND).step_by(MS as usize) {
            if contention.join(now) {
                contention.leave(now, false);
            }
        }
        let found = contention.facts(&window, 10 * SECOND).phases[0];
        assert_eq!((found.actual, found.settling_s), (0.0, None));
    }

    #[test]
    fn with_nothing_asked_for_nobody_goes_for_the_row() {
        let window = window(2);
        let contention = Contention::new(&[phase(0, 1), phase(5, 1)], 8, &window);
        assert!((0..SECOND).step_by(MS as usize).all(|now| !contention.join(now)));
        assert!(contention.join(SECOND), "the second phase");
    }

    #[test]
    fn turns_come_in_order_and_the_next_has_its_when_one_ends() {
        let contention = Arc::new(Contention::new(&[phase(3, 1)], 3, &window(1)));
        assert!(contention.take_turn(0, || true), "nobody is before it");
        assert!(contention.take_turn(0, || true), "it has the turn still");
        assert!(!contention.take_turn(1, || true), "the run is over before its turn");
        contention.end_turn(1);
        let (tell, told) = std::sync::mpsc::channel();
        let waiting = Arc::clone(&contention);
        let thread = std::thread::spawn(move || {
            let turn = waiting.take_turn(2, || false);
            assert!(tell.send(turn).is_ok());
        });
        while contention.queue.lock().waiting.len() < 2 {
            std::thread::yield_now();
        }
        assert!(told.try_recv().is_err(), "it waits");
        contention.end_turn(0);
        assert_eq!(told.recv(), Ok(true));
        assert!(thread.join().is_ok());
        assert_eq!(contention.queue.lock().total, 3);
    }
}
