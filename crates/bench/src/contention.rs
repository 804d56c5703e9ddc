//! Contention control: the number of transactions that compete for a hot row at any moment (the Dike paper, section
//! 4.2.2).
//!
//! Before each transaction, a session joins a hot row if the row has room; it never waits for other sessions. The paper
//! draws at random instead. Counting the joined transactions controls every moment, not only the mean. Some joined
//! transactions are still on their way to the row, so a feedback lets as many more join as are missing there. The
//! number of transactions that have requested the row, averaged over time, is the contention intensity (CI).
//!
//! Some databases abort one of two writers instead of letting it wait, so no transaction waits in the database. For
//! them the client keeps the queue: an aborted transaction waits in it for its turn, and competes while it waits.
//!
//! [`ContentionMethod::Park`] is the control that the paper compares with, for figures: see `meeting.rs`.

use crate::clock::{Clock, Nanos, SECOND, Window};
use crate::gate::Gate;
use crate::measurement::{ContentionFacts, ContentionFound, RowFacts};
use crate::meeting::Meeting;
use lydite_tpcc::named_enum;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

named_enum! {
    /// Way of keeping the configured number of transactions at a hot row. The names are those of plans.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ContentionMethod {
        /// A session joins a row with room, and never waits for other sessions. A feedback corrects the number.
        #[default]
        Feedback = "feedback",
        /// Sessions are parked until as many have gathered, and then go together.
        Park = "park",
    }
}

/// Bits of [`CompetingTime::since`] that hold the row's number. The other bits hold nanoseconds, enough for 200 days.
const ROW_BITS: u32 = 10;
const ROW_MASK: u64 = (1 << ROW_BITS) - 1;
/// Time between two corrections of the feedback.
const TICK: Nanos = SECOND / 10;
/// Share of the missing transactions that each correction adds.
const GAIN: f64 = 0.3;
/// A phase has settled once every mean over this time is near the configured mean.
const SETTLED_OVER: Nanos = SECOND;
/// Largest distance that is near: a share of the configured mean, but at least this number of transactions.
const SETTLED_WITHIN: (f64, f64) = (0.1, 0.5);
/// Step whose multiples, taken modulo 1, spread evenly over the unit interval: the golden section.
const SPREAD: f64 = 0.618_033_988_749_894_9;

/// A hot row. Sessions write only to the atomics.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Row {
    /// Transactions that joined the row and have not ended.
    joined: AtomicU32,
    /// Number of transactions that may join: the configured number and the correction. The bits of an `f64`.
    limit: AtomicU64,
    queue: Mutex<TurnQueue>,
    /// True while the transaction that has the turn was aborted in it.
    overtaken: AtomicBool,
    feedback: Mutex<Feedback>,
    /// Sessions that gather, with [`ContentionMethod::Park`].
    meeting: Meeting,
}

/// State of a row's feedback.
#[derive(Debug, Default)]
struct Feedback {
    /// Number of transactions that may join in addition to the configured number.
    correction: f64,
    /// Time of the last correction, and the competing time until then.
    corrected: (Nanos, f64),
    /// Competing time of all transactions in nanoseconds, at each tick and at the start of each step.
    trace: Vec<(Nanos, f64)>,
}

/// Time for which a session's transactions competed. A cache line of its own, because the session writes to it.
#[derive(Debug)]
#[repr(align(64))]
struct CompetingTime {
    /// Time at which the current transaction requested a row, plus one nanosecond, above [`ROW_BITS`] bits with the
    /// row's number; 0 before the request.
    since: AtomicU64,
    /// Nanoseconds for which earlier transactions competed, by row.
    spent: Box<[AtomicU64]>,
}

/// Contention control of a run. See the module.
#[derive(Debug)]
pub(crate) struct Contention {
    method: ContentionMethod,
    sessions: u32,
    /// Start of each step and the configured number of competing transactions for each row. The first step starts at 0.
    steps: Vec<(Nanos, Vec<u32>)>,
    rows: Vec<Row>,
    competing: Vec<CompetingTime>,
    /// Time of the next correction.
    tick: AtomicU64,
    /// Step at the last correction.
    step: AtomicUsize,
}

/// Sessions with aborted transactions. The first one has the turn.
#[derive(Debug, Default)]
struct TurnQueue {
    waiting: VecDeque<(usize, Arc<Gate>)>,
    /// Transactions that were ever in the queue.
    total: u64,
}

impl Contention {
    /// Makes the control of `sessions` sessions. `steps` has at least one step, the first from 0, each with the same
    /// number of rows or none.
    pub(crate) fn new(steps: Vec<(Nanos, Vec<u32>)>, sessions: u32, method: ContentionMethod) -> Self {
        let rows = steps.iter().map(|(_, asked)| asked.len()).max().unwrap_or_default();
        assert!(rows < 1 << ROW_BITS, "a row fits in its bits");
        let no_time = |_| CompetingTime {
            since: AtomicU64::new(0),
            spent: (0..rows).map(|_| AtomicU64::new(0)).collect(),
        };
        let contention = Self {
            method,
            sessions,
            steps,
            rows: (0..rows).map(|_| Row::default()).collect(),
            competing: (0..sessions).map(no_time).collect(),
            tick: AtomicU64::new(TICK),
            step: AtomicUsize::new(0),
        };
        for row in 0..rows {
            contention.set_limit(row, contention.configured(row, 0), 0.0);
        }
        contention
    }

    /// Returns the index of the step at `now`.
    fn step_at(&self, now: Nanos) -> usize {
        self.steps.partition_point(|&(from, _)| from <= now).saturating_sub(1)
    }

    /// Returns the configured number of competing transactions.
    fn configured(&self, row: usize, step: usize) -> u32 {
        self.steps[step].1.get(row).copied().unwrap_or_default()
    }

    fn set_limit(&self, row: usize, asked: u32, correction: f64) {
        // At zero no transaction may join, whatever was missing before.
        let limit = if asked == 0 { 0.0 } else { f64::from(asked) + correction };
        self.rows[row].limit.store(limit.to_bits(), Ordering::Relaxed);
    }

    /// Joins the first row with room and returns it; `None` if no row has room. The search begins at row `first` and
    /// goes around. `spread`, from 0 to 1, decides whether a fraction of a transaction counts as room. After a join,
    /// the caller calls [`Contention::leave`] when the transaction has ended.
    fn join(&self, now: Nanos, first: usize, spread: f64) -> Option<usize> {
        self.correct_if_due(now);
        let joins = |row: &Row| {
            let limit = f64::from_bits(row.limit.load(Ordering::Relaxed));
            let fits = |joined: u32| f64::from(joined) + spread < limit;
            // A read comes first, so that sessions that don't join leave the cache line alone.
            fits(row.joined.load(Ordering::Relaxed))
                && row
                    .joined
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |joined| {
                        fits(joined).then_some(joined + 1)
                    })
                    .is_ok()
        };
        self.around(first).find(|&row| joins(&self.rows[row]))
    }

    /// Returns all rows, beginning with `first`.
    fn around(&self, first: usize) -> impl Iterator<Item = usize> + use<> {
        let count = self.rows.len();
        (0..count).map(move |further| (first + further) % count)
    }

    /// Parks the session at the first row whose group is not full, until the group goes. Returns `None` if all are full
    /// or `over` returns true first. The search begins at row `first`.
    fn gather(&self, clock: &Clock, first: usize, over: impl Fn() -> bool) -> Option<usize> {
        self.correct_if_due(clock.now());
        let asked = |row| self.configured(row, self.step_at(clock.now()));
        self.around(first).find(|&row| self.rows[row].meeting.join(|| asked(row), &over))
    }

    /// Corrects the limits if a tick or a step has begun.
    fn correct_if_due(&self, now: Nanos) {
        if now >= self.tick.load(Ordering::Relaxed) || self.step_is_over(now) {
            self.correct(now);
        }
    }

    fn step_is_over(&self, now: Nanos) -> bool {
        let step = self.step.load(Ordering::Relaxed);
        self.steps.get(step + 1).is_some_and(|&(from, _)| from <= now)
    }

    /// Corrects the limits of all rows, once in each tick and once in each new step.
    fn correct(&self, now: Nanos) {
        let step = self.step_at(now);
        let moved = self.step.fetch_max(step, Ordering::Relaxed) < step;
        let tick = self.tick.load(Ordering::Relaxed);
        let ticks = now >= tick
            && self.tick.compare_exchange(tick, now + TICK, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !ticks && !moved {
            // Another session was first.
            return;
        }
        for (number, row) in self.rows.iter().enumerate() {
            let mut feedback = row.feedback.lock();
            // Under the lock, so that a late session can't set the limit of an earlier step.
            let asked = self.configured(number, self.step.load(Ordering::Relaxed));
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

    /// Returns the competing time of all transactions at a row until now, in nanoseconds.
    fn area(&self, row: usize, now: Nanos) -> f64 {
        let until_now = |time: &CompetingTime| {
            // The ended transactions come first: one that ends in between is missed, but never counted twice.
            let spent = time.spent[row].load(Ordering::Acquire);
            let since = time.since.load(Ordering::Acquire);
            let here = since > 0 && (since & ROW_MASK) as usize == row;
            spent + if here { (now + 1).saturating_sub(since >> ROW_BITS) } else { 0 }
        };
        self.competing.iter().map(until_now).sum::<u64>() as f64
    }

    /// Records that a session is about to request the row that it joined.
    fn row_requested(&self, session: usize, row: usize, now: Nanos) {
        self.competing[session].since.store((now + 1) << ROW_BITS | row as u64, Ordering::Release);
    }

    /// Records that a session's transaction no longer competes.
    fn leave_row(&self, session: usize, row: usize, now: Nanos) {
        let time = &self.competing[session];
        let since = time.since.swap(0, Ordering::AcqRel);
        if since > 0 {
            // A sum that is taken in between misses this transaction; the next sum has it.
            time.spent[row].fetch_add((now + 1).saturating_sub(since >> ROW_BITS), Ordering::Release);
        }
    }

    /// Records that a session's transaction that joined the row has ended.
    fn leave(&self, session: usize, row: usize, now: Nanos) {
        self.leave_row(session, row, now);
        match self.method {
            ContentionMethod::Feedback => {
                self.rows[row].joined.fetch_sub(1, Ordering::Relaxed);
            }
            ContentionMethod::Park => self.rows[row].meeting.leave(self.configured(row, self.step_at(now))),
        }
    }

    /// Waits in the queue of a row until it is the session's turn. Returns false if `over` returns true first. Returns
    /// at once if the session is in the queue already: its transaction was aborted in its turn, because one that came
    /// later was faster. Until it ends, those that come later must queue before their first attempt. Without that rule
    /// it would lose to one after the other, since it backs off and they do not.
    pub(crate) fn take_turn(&self, session: usize, row: usize, mut over: impl FnMut() -> bool) -> bool {
        let gate = {
            let mut queue = self.rows[row].queue.lock();
            if queue.waiting.iter().any(|(waiting, _)| *waiting == session) {
                self.rows[row].overtaken.store(true, Ordering::Relaxed);
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

    /// Removes a session whose transaction has ended from the queue of a row, and passes the turn on.
    fn end_turn(&self, session: usize, row: usize) {
        let mut queue = self.rows[row].queue.lock();
        self.rows[row].overtaken.store(false, Ordering::Relaxed);
        queue.waiting.retain(|(waiting, _)| *waiting != session);
        if let Some((_, next)) = queue.waiting.front() {
            next.open();
        }
    }

    /// Returns the results of a run that ended at `end`. `phases` has the start of each phase.
    pub(crate) fn facts(&self, window: &Window, phases: &[Nanos], end: Nanos) -> ContentionFacts {
        let rows = self.rows.iter().enumerate().map(|(number, row)| {
            let mut feedback = row.feedback.lock();
            let (time, before) = feedback.trace.last().copied().unwrap_or_default();
            if time < end {
                feedback.trace.push((end, self.area(number, end).max(before)));
            }
            let steps = self.steps.iter().map(|&(from, _)| from).chain([end]);
            let asked = (0..self.steps.len()).map(|step| f64::from(self.configured(number, step)));
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

/// Competing time until each of some rising times, in nanoseconds.
struct Trace<'a>(&'a [(Nanos, f64)]);

impl Trace<'_> {
    /// Returns the competing time until `at`, interpolated between two entries.
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
        // Backward from the end, as long as every mean is near.
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

/// A session's part in contention control.
#[derive(Debug)]
pub(crate) struct Contender {
    contention: Arc<Contention>,
    clock: Clock,
    session: usize,
    /// Number of the row that the current transaction joined, plus one; 0 for none.
    row: AtomicUsize,
    /// True once the current transaction has requested the row.
    requested: AtomicBool,
    /// True once the current transaction has been in the queue.
    queued: AtomicBool,
    /// Number of transactions so far, from which the next one's place in the unit interval follows.
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

    /// Joins a row for the next transaction and returns it. A session that is parked for it returns when its group
    /// goes, or without a row when `over` returns true.
    pub(crate) fn join(&self, now: Nanos, over: impl Fn() -> bool) -> Option<usize> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let row = match self.contention.method {
            ContentionMethod::Feedback => {
                self.contention.join(now, number as usize, (f64::from(number) * SPREAD).fract())
            }
            ContentionMethod::Park => self.contention.gather(&self.clock, number as usize, over),
        };
        self.row.store(row.map_or(0, |row| row + 1), Ordering::Relaxed);
        row
    }

    /// True if [`Contender::join`] may park the session.
    pub(crate) fn parks(&self) -> bool {
        self.contention.method == ContentionMethod::Park
    }

    /// Returns the row that the current transaction joined.
    fn row(&self) -> Option<usize> {
        self.row.load(Ordering::Relaxed).checked_sub(1)
    }

    /// True if the current transaction joined a row.
    pub(crate) fn has_joined(&self) -> bool {
        self.row().is_some()
    }

    /// Records that the current transaction is about to request its row, if it joined one. Later attempts change
    /// nothing.
    pub(crate) fn request_row(&self) {
        if let Some(row) = self.row()
            && !self.requested.swap(true, Ordering::Relaxed)
        {
            self.contention.row_requested(self.session, row, self.clock.now());
        }
    }

    /// Records that the current transaction lost its connection and no longer competes until it requests the row again.
    pub(crate) fn leave_row(&self, now: Nanos) {
        if let Some(row) = self.row() {
            self.requested.store(false, Ordering::Relaxed);
            self.contention.leave_row(self.session, row, now);
        }
    }

    /// True if the current transaction has been in the queue.
    pub(crate) fn has_queued(&self) -> bool {
        self.queued.load(Ordering::Relaxed)
    }

    /// True if the current transaction must queue before its first attempt.
    pub(crate) fn must_queue(&self) -> bool {
        let overtaken = |row: usize| self.contention.rows[row].overtaken.load(Ordering::Relaxed);
        self.row().is_some_and(overtaken) && !self.has_queued()
    }

    /// See [`Contention::take_turn`]. The current transaction competes while it waits.
    pub(crate) fn take_turn(&self, over: impl FnMut() -> bool) -> bool {
        self.request_row();
        self.queued.store(true, Ordering::Relaxed);
        self.row().is_none_or(|row| self.contention.take_turn(self.session, row, over))
    }

    /// Records that the current transaction has ended.
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

    /// Returns steps of `seconds` seconds with these numbers of transactions for one row, and the start of each phase.
    fn schedule(asked: &[u32], seconds: u64) -> (Vec<(Nanos, Vec<u32>)>, Vec<Nanos>) {
        let steps: Vec<(Nanos, Vec<u32>)> =
            (0..).zip(asked).map(|(number, &asked)| (number * seconds * SECOND, vec![asked])).collect();
        let phases = steps.iter().map(|(from, _)| *from).collect();
        (steps, phases)
    }

    fn contender(contention: &Arc<Contention>, session: usize) -> Contender {
        Contender::new(Arc::clone(contention), Clock::start(), session)
    }

    /// Runs sixty sessions in simulated time. A transaction that joined a row reaches it after 2 ms, and each row
    /// serves one in 1 ms. Other transactions take 3 ms.
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
                    *at = match contenders[number].join(now, || false) {
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
        let contention = Arc::new(Contention::new(steps, 60, ContentionMethod::Feedback));
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
    fn each_row_keeps_its_own_number_of_transactions() {
        let contention =
            Arc::new(Contention::new(vec![(0, vec![10, 25, 5])], 60, ContentionMethod::Feedback));
        simulate(&contention, 20);
        let facts = contention.facts(&window(20), &[0], 20 * SECOND);
        for (row, asked) in facts.rows.iter().zip([10.0, 25.0, 5.0]) {
            assert!((row.phases[0].actual - asked).abs() < 0.03 * asked, "{row:?}");
        }
    }

    #[test]
    fn a_rising_phase_is_compared_with_its_configuration_at_each_moment() {
        let steps = (0..40).map(|number| (number * SECOND / 2, vec![10 + number as u32])).collect();
        let contention = Arc::new(Contention::new(steps, 60, ContentionMethod::Feedback));
        simulate(&contention, 20);
        let found = contention.facts(&window(20), &[0], 20 * SECOND).rows[0].phases[0];
        assert!((found.asked - 29.5).abs() < 0.01, "{found:?}");
        assert!((found.actual - found.asked_then).abs() < 0.05 * found.asked_then, "{found:?}");
    }

    #[test]
    fn an_unreachable_intensity_is_reported_as_measured() {
        let contention = Arc::new(Contention::new(vec![(0, vec![40])], 60, ContentionMethod::Feedback));
        // No transaction reaches the row.
        let contender = contender(&contention, 0);
        for now in (0..10 * SECOND).step_by(MS as usize) {
            contender.join(now, || false);
            contender.leave(now);
        }
        let found = contention.facts(&window(10), &[0], 10 * SECOND).rows[0].phases[0];
        assert_eq!((found.actual, found.settling_s), (0.0, None));
    }

    #[test]
    fn no_transaction_joins_a_row_without_configured_contention() {
        let (steps, _) = schedule(&[0, 5], 1);
        let contention = Contention::new(steps, 8, ContentionMethod::Feedback);
        assert!((0..SECOND).step_by(MS as usize).all(|now| contention.join(now, 0, 0.0).is_none()));
        assert_eq!(contention.join(SECOND, 0, 0.0), Some(0), "the second phase");
    }

    #[test]
    fn turns_come_in_order_and_each_end_passes_the_turn_on() {
        let contention = Arc::new(Contention::new(vec![(0, vec![3])], 3, ContentionMethod::Feedback));
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
