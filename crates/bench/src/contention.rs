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
use crate::gate::Gate;
use crate::measurement::{ContentionFacts, ContentionFound, RowFacts};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The bits of a time's word that say which row it is; the others have nanoseconds for 200 days.
const ROW_BITS: u32 = 10;
const ROW_MASK: u64 = (1 << ROW_BITS) - 1;
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

/// A hot row. What sessions write to on their way are atomics.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Row {
    /// Transactions that go for the row and have not ended.
    joined: AtomicU32,
    /// So many may join, as many as asked for and the correction: the bits of an `f64`.
    limit: AtomicU64,
    queue: Mutex<TurnQueue>,
    feedback: Mutex<Feedback>,
}

/// What the feedback knows of a row.
#[derive(Debug, Default)]
struct Feedback {
    /// How many more than asked for are let join.
    correction: f64,
    /// When it was last corrected, and the sum then.
    corrected: (Nanos, f64),
    /// The competing transactions summed over time, in nanoseconds, at each tick and when a step begins.
    trace: Vec<(Nanos, f64)>,
}

/// Where a session is, for those who sum up. A cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct CompetingTime {
    /// When its transaction asked for the row, and one more, and in the lowest bits which row; 0 while it has not.
    at: AtomicU64,
    /// Nanoseconds that its earlier transactions competed, for each row.
    spent: Box<[AtomicU64]>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Contention {
    sessions: u32,
    /// From when on each row is asked for by how many; the first from 0.
    steps: Vec<(Nanos, Vec<u32>)>,
    rows: Vec<Row>,
    competing: Vec<CompetingTime>,
    /// When the feedback corrects next.
    tick: AtomicU64,
    /// The step of the last correction.
    step: AtomicUsize,
}

/// Transactions that were given up, the one whose turn it is first.
#[derive(Debug, Default)]
struct TurnQueue {
    waiting: VecDeque<(usize, Arc<Gate>)>,
    total: u64,
}

impl Contention {
    /// There is at least one step, the first from 0, and all have as many rows, or none.
    pub(crate) fn new(steps: Vec<(Nanos, Vec<u32>)>, sessions: u32) -> Self {
        let rows = steps.iter().map(|(_, asked)| asked.len()).max().unwrap_or_default();
        assert!(rows < 1 << ROW_BITS, "a row fits in its bits");
        let time = |_| CompetingTime {
            at: AtomicU64::new(0),
            spent: (0..rows).map(|_| AtomicU64::new(0)).collect(),
        };
        let contention = Self {
            sessions,
            steps,
            rows: (0..rows).map(|_| Row::default()).collect(),
            competing: (0..sessions).map(time).collect(),
            tick: AtomicU64::new(TICK),
            step: AtomicUsize::new(0),
        };
        for row in 0..rows {
            contention.set_limit(row, contention.asked(row, 0), 0.0);
        }
        contention
    }

    fn step_at(&self, now: Nanos) -> usize {
        self.steps.partition_point(|&(from, _)| from <= now).saturating_sub(1)
    }

    fn asked(&self, row: usize, step: usize) -> u32 {
        self.steps[step].1.get(row).copied().unwrap_or_default()
    }

    fn set_limit(&self, row: usize, asked: u32, correction: f64) {
        // With nothing asked for nobody goes there, whatever was missing before.
        let limit = if asked == 0 { 0.0 } else { f64::from(asked) + correction };
        self.rows[row].limit.store(limit.to_bits(), Ordering::Relaxed);
    }

    /// The row that the next transaction of a session is to go for, if any: the first with room, from number `first` around.
    /// `spread`, from 0 to 1, decides where a fraction of one is to join. If there is a row, [`Contention::leave`] is called
    /// when the transaction has ended.
    pub(crate) fn join(&self, now: Nanos, first: usize, spread: f64) -> Option<usize> {
        if now >= self.tick.load(Ordering::Relaxed) || self.step_is_over(now) {
            self.correct(now);
        }
        let goes = |row: &Row| {
            let limit = f64::from_bits(row.limit.load(Ordering::Relaxed));
            let fits = |joined: u32| f64::from(joined) + spread < limit;
            // Looked at before it is written to, so that those who do not go leave the cache line alone.
            fits(row.joined.load(Ordering::Relaxed))
                && row
                    .joined
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |joined| {
                        fits(joined).then_some(joined + 1)
                    })
                    .is_ok()
        };
        let count = self.rows.len();
        (0..count).map(|further| (first + further) % count).find(|&row| goes(&self.rows[row]))
    }

    fn step_is_over(&self, now: Nanos) -> bool {
        let step = self.step.load(Ordering::Relaxed);
        self.steps.get(step + 1).is_some_and(|&(from, _)| from <= now)
    }

    /// Adds what is missing, or takes away; once for each tick.
    fn correct(&self, now: Nanos) {
        let step = self.step_at(now);
        let moved = self.step.fetch_max(step, Ordering::Relaxed) < step;
        let tick = self.tick.load(Ordering::Relaxed);
        let ticks = now >= tick
            && self.tick.compare_exchange(tick, now + TICK, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !ticks && !moved {
            // Somebody else was first.
            return;
        }
        for (number, row) in self.rows.iter().enumerate() {
            let mut feedback = row.feedback.lock();
            // Under the lock: who comes later must not bring an earlier step.
            let asked = self.asked(number, self.step.load(Ordering::Relaxed));
            let (last, before) = feedback.trace.last().copied().unwrap_or_default();
            let area = self.area(number, now).max(before);
            if now > last {
                feedback.trace.push((now, area));
            }
            let (then, before) = feedback.corrected;
            if ticks && now > then {
                let mean = (area - before) / (now - then) as f64;
                let most = f64::from(self.sessions.saturating_sub(asked));
                let missing = GAIN * (f64::from(asked) - mean);
                feedback.correction = (feedback.correction + missing).clamp(-1.0, most);
                feedback.corrected = (now, area);
            }
            self.set_limit(number, asked, feedback.correction);
        }
    }

    /// The transactions that competed for a row, summed over time until now, in nanoseconds.
    fn area(&self, row: usize, now: Nanos) -> f64 {
        let of = |time: &CompetingTime| {
            // First what is over: a transaction that ends in between is missed, and never counted twice.
            let spent = time.spent[row].load(Ordering::Acquire);
            let at = time.at.load(Ordering::Acquire);
            let here = at > 0 && (at & ROW_MASK) as usize == row;
            spent + if here { (now + 1).saturating_sub(at >> ROW_BITS) } else { 0 }
        };
        self.competing.iter().map(of).sum::<u64>() as f64
    }

    /// A session is about to ask for the row that it goes for.
    fn row_requested(&self, session: usize, row: usize, now: Nanos) {
        self.competing[session].at.store((now + 1) << ROW_BITS | row as u64, Ordering::Release);
    }

    /// A session's transaction is not at the row any more.
    fn leave_row(&self, session: usize, row: usize, now: Nanos) {
        let time = &self.competing[session];
        let at = time.at.swap(0, Ordering::AcqRel);
        if at > 0 {
            // Who sums up in between misses this transaction, and finds it the next time.
            time.spent[row].fetch_add((now + 1).saturating_sub(at >> ROW_BITS), Ordering::Release);
        }
    }

    /// A session's transaction that went for the row has ended.
    fn leave(&self, session: usize, row: usize, now: Nanos) {
        self.leave_row(session, row, now);
        self.rows[row].joined.fetch_sub(1, Ordering::Relaxed);
    }

    /// Waits in the queue of a row until it is the session's turn; no if the run is over before. Who has the turn already
    /// goes on at once.
    pub(crate) fn take_turn(&self, session: usize, row: usize, mut over: impl FnMut() -> bool) -> bool {
        let gate = {
            let mut queue = self.rows[row].queue.lock();
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

    /// The transaction of a session that has been in the queue of a row has ended.
    fn end_turn(&self, session: usize, row: usize) {
        let mut queue = self.rows[row].queue.lock();
        queue.waiting.retain(|(waiting, _)| *waiting != session);
        if let Some((_, next)) = queue.waiting.front() {
            next.open();
        }
    }

    /// What came of it, when the run ended at `end`. `phases`: when each begins.
    pub(crate) fn facts(&self, window: &Window, phases: &[Nanos], end: Nanos) -> ContentionFacts {
        let rows = self.rows.iter().enumerate().map(|(number, row)| {
            let mut feedback = row.feedback.lock();
            let (time, before) = feedback.trace.last().copied().unwrap_or_default();
            if time < end {
                feedback.trace.push((end, self.area(number, end).max(before)));
            }
            let steps = self.steps.iter().map(|&(from, _)| from).chain([end]);
            let asked = (0..self.steps.len()).map(|step| f64::from(self.asked(number, step)));
            let mut area = 0.0;
            let mut plan = vec![(0, 0.0)];
            for ((from, to), asked) in steps.clone().zip(steps.skip(1)).zip(asked) {
                area += asked * to.saturating_sub(from) as f64;
                plan.push((to, area));
            }
            let (found, wanted) = (Trace(&feedback.trace), Trace(&plan));
            let ends = phases.iter().skip(1).copied().chain([Nanos::MAX]);
            let phases = phases.iter().zip(ends).map(|(&begin, until)| (begin, until.min(end)));
            let seconds = end.saturating_sub(window.start()) / SECOND;
            let second = |number| window.start() + number * SECOND;
            RowFacts {
                phases: phases
                    .filter(|(begin, until)| begin < until)
                    .map(|(begin, until)| found.phase(&wanted, begin, until, window.start()))
                    .collect(),
                per_second: (0..seconds)
                    .map(|number| found.mean(second(number), second(number + 1)))
                    .collect(),
            }
        });
        ContentionFacts {
            rows: rows.collect(),
            queued: self.rows.iter().map(|row| row.queue.lock().total).sum(),
        }
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

    fn phase(&self, asked: &Trace<'_>, begin: Nanos, end: Nanos, zero: Nanos) -> ContentionFound {
        let settled_at = |at: Nanos| {
            let wanted = asked.mean(at, at + SETTLED_OVER);
            let near = (SETTLED_WITHIN.0 * wanted).max(SETTLED_WITHIN.1);
            (self.mean(at, at + SETTLED_OVER) - wanted).abs() <= near
        };
        // From the end back, as far as all is near.
        let mut settled = None;
        let mut at = end.saturating_sub(SETTLED_OVER);
        while at >= begin && end - begin >= SETTLED_OVER && settled_at(at) {
            settled = Some(at);
            if at < begin + TICK {
                break;
            }
            at -= TICK;
        }
        let seconds = |time: Nanos| (time - zero) as f64 / SECOND as f64;
        let from = settled.unwrap_or(begin);
        ContentionFound {
            asked: asked.mean(begin, end),
            from_s: seconds(begin),
            to_s: seconds(end),
            actual: self.mean(from, end),
            asked_then: asked.mean(from, end),
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
    /// The row that the transaction at hand goes for, and one more; 0 for none.
    row: AtomicUsize,
    /// The row has been asked for in it.
    requested: AtomicBool,
    /// It has been in the queue.
    queued: AtomicBool,
    /// Transactions so far: where in the unit interval the next lies.
    number: AtomicU32,
}

impl Contender {
    pub(crate) fn new(contention: Arc<Contention>, clock: Clock, session: usize) -> Self {
        Self {
            contention,
            clock,
            session,
            row: AtomicUsize::new(0),
            requested: AtomicBool::new(false),
            queued: AtomicBool::new(false),
            number: AtomicU32::new(session as u32),
        }
    }

    /// The row that the next transaction is to go for, if any.
    pub(crate) fn join(&self, now: Nanos) -> Option<usize> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let row = self.contention.join(now, number as usize, (f64::from(number) * SPREAD).fract());
        self.row.store(row.map_or(0, |row| row + 1), Ordering::Relaxed);
        row
    }

    /// The row that the transaction at hand goes for.
    fn row(&self) -> Option<usize> {
        self.row.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Whether the transaction at hand goes for a row.
    pub(crate) fn has_joined(&self) -> bool {
        self.row().is_some()
    }

    /// The row is about to be asked for, if the transaction at hand goes for one. Its later attempts change nothing.
    pub(crate) fn request_row(&self) {
        if let Some(row) = self.row()
            && !self.requested.swap(true, Ordering::Relaxed)
        {
            self.contention.row_requested(self.session, row, self.clock.now());
        }
    }

    /// The transaction at hand lost its connection, and with it its place at the row, until it asks for it again.
    pub(crate) fn leave_row(&self, now: Nanos) {
        if let Some(row) = self.row() {
            self.requested.store(false, Ordering::Relaxed);
            self.contention.leave_row(self.session, row, now);
        }
    }

    /// Whether the transaction at hand has been in the queue already.
    pub(crate) fn has_queued(&self) -> bool {
        self.queued.load(Ordering::Relaxed)
    }

    /// See [`Contention::take_turn`].
    pub(crate) fn take_turn(&self, over: impl FnMut() -> bool) -> bool {
        self.queued.store(true, Ordering::Relaxed);
        self.row().is_none_or(|row| self.contention.take_turn(self.session, row, over))
    }

    /// The transaction at hand has ended.
    pub(crate) fn leave(&self, now: Nanos) {
        let Some(row) = self.row.swap(0, Ordering::Relaxed).checked_sub(1) else { return };
        if self.queued.swap(false, Ordering::Relaxed) {
            self.contention.end_turn(self.session, row);
        }
        self.requested.store(false, Ordering::Relaxed);
        self.contention.leave(self.session, row, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Counting;
    use std::time::Duration;

    const MS: Nanos = 1_000_000;

    fn window(seconds: u64) -> Window {
        Window::new(Duration::ZERO, Duration::from_secs(seconds), Counting::DueAndAnswered)
    }

    /// So many are to compete for one row, for so many seconds each.
    fn schedule(asked: &[u32], seconds: u64) -> (Vec<(Nanos, Vec<u32>)>, Vec<Nanos>) {
        let steps: Vec<(Nanos, Vec<u32>)> =
            (0..).zip(asked).map(|(number, &asked)| (number * seconds * SECOND, vec![asked])).collect();
        let phases = steps.iter().map(|(from, _)| *from).collect();
        (steps, phases)
    }

    fn contender(contention: &Arc<Contention>, session: usize) -> Contender {
        Contender::new(Arc::clone(contention), Clock::start(), session)
    }

    /// Sixty sessions in simulated time: a transaction that goes for a row needs 2 ms to get there, and each row serves one
    /// in 1 ms; others take 3 ms.
    fn simulate(contention: &Arc<Contention>, seconds: u64) {
        #[derive(Clone, Copy)]
        enum At {
            Free,
            Elsewhere(Nanos),
            OnItsWay(usize, Nanos),
            Waiting,
        }
        let contenders: Vec<Contender> = (0..60).map(|session| contender(contention, session)).collect();
        let mut sessions = [At::Free; 60];
        let mut rows: Vec<VecDeque<usize>> = vec![VecDeque::new(); contention.rows.len()];
        for now in (0..seconds * SECOND).step_by(MS as usize) {
            for row in &mut rows {
                if let Some(served) = row.pop_front() {
                    contenders[served].leave(now);
                    sessions[served] = At::Free;
                }
            }
            for (number, at) in sessions.iter_mut().enumerate() {
                match *at {
                    At::Elsewhere(until) if now >= until => {
                        contenders[number].leave(now);
                        *at = At::Free;
                    }
                    At::OnItsWay(row, until) if now >= until => {
                        contention.row_requested(number, row, now);
                        rows[row].push_back(number);
                        *at = At::Waiting;
                    }
                    _ => {}
                }
                if matches!(at, At::Free) {
                    *at = match contenders[number].join(now) {
                        Some(row) => At::OnItsWay(row, now + 2 * MS),
                        None => At::Elsewhere(now + 3 * MS),
                    };
                }
            }
        }
    }

    #[test]
    fn each_phase_settles_soon_and_keeps_its_mean() {
        let asked = [10, 40, 50, 25, 15];
        let (steps, phases) = schedule(&asked, 15);
        let contention = Arc::new(Contention::new(steps, 60));
        simulate(&contention, 75);
        let facts = contention.facts(&window(75), &phases, 75 * SECOND);
        let row = &facts.rows[0];
        assert_eq!(row.phases.iter().map(|found| found.asked as u32).collect::<Vec<_>>(), asked);
        for found in &row.phases {
            assert!((found.actual - found.asked).abs() < 0.03 * found.asked, "{found:?}");
            assert!(found.settling_s.is_some_and(|settling| settling < 5.0), "{found:?}");
        }
        assert_eq!(row.per_second.len(), 75);
        assert!((row.per_second[25] - 40.0).abs() < 4.0, "{}", row.per_second[25]);
    }

    #[test]
    fn several_rows_have_each_their_own() {
        let contention = Arc::new(Contention::new(vec![(0, vec![10, 25, 5])], 60));
        simulate(&contention, 20);
        let facts = contention.facts(&window(20), &[0], 20 * SECOND);
        for (row, asked) in facts.rows.iter().zip([10.0, 25.0, 5.0]) {
            assert!((row.phases[0].actual - asked).abs() < 0.03 * asked, "{row:?}");
        }
    }

    #[test]
    fn a_phase_that_rises_is_held_against_what_it_asks_for_at_each_moment() {
        let steps = (0..40).map(|number| (number * SECOND / 2, vec![10 + number as u32])).collect();
        let contention = Arc::new(Contention::new(steps, 60));
        simulate(&contention, 20);
        let found = contention.facts(&window(20), &[0], 20 * SECOND).rows[0].phases[0];
        assert!((found.asked - 29.5).abs() < 0.01, "{found:?}");
        assert!((found.actual - found.asked_then).abs() < 0.05 * found.asked_then, "{found:?}");
    }

    #[test]
    fn what_can_not_be_reached_is_told_as_it_is() {
        let contention = Arc::new(Contention::new(vec![(0, vec![40])], 60));
        // Nobody comes as far as the row.
        let contender = contender(&contention, 0);
        for now in (0..10 * SECOND).step_by(MS as usize) {
            contender.join(now);
            contender.leave(now);
        }
        let found = contention.facts(&window(10), &[0], 10 * SECOND).rows[0].phases[0];
        assert_eq!((found.actual, found.settling_s), (0.0, None));
    }

    #[test]
    fn with_nothing_asked_for_nobody_goes_for_the_row() {
        let (steps, _) = schedule(&[0, 5], 1);
        let contention = Contention::new(steps, 8);
        assert!((0..SECOND).step_by(MS as usize).all(|now| contention.join(now, 0, 0.0).is_none()));
        assert_eq!(contention.join(SECOND, 0, 0.0), Some(0), "the second phase");
    }

    #[test]
    fn turns_come_in_order_and_the_next_has_its_when_one_ends() {
        let contention = Arc::new(Contention::new(vec![(0, vec![3])], 3));
        assert!(contention.take_turn(0, 0, || true), "nobody is before it");
        assert!(contention.take_turn(0, 0, || true), "it has the turn still");
        assert!(!contention.take_turn(1, 0, || true), "the run is over before its turn");
        contention.end_turn(1, 0);
        let (tell, told) = std::sync::mpsc::channel();
        let waiting = Arc::clone(&contention);
        let thread = std::thread::spawn(move || {
            let turn = waiting.take_turn(2, 0, || false);
            assert!(tell.send(turn).is_ok());
        });
        while contention.rows[0].queue.lock().waiting.len() < 2 {
            std::thread::yield_now();
        }
        assert!(told.try_recv().is_err(), "it waits");
        contention.end_turn(0, 0);
        assert_eq!(told.recv(), Ok(true));
        assert!(thread.join().is_ok());
        assert_eq!(contention.rows[0].queue.lock().total, 3);
    }
}
