//! Emulated users (clause 5.2): terminals with keying and think times, a scheduler, and a pool of sessions.
//!
//! A terminal is a slot in a table and an entry in a timer wheel. In the standard's cycle a terminal waits twice
//! between two requests: it thinks about the last answer, chooses the next transaction type, and keys it in. Both times
//! are known when the answer comes, so one timer serves for both. Lydite itself shows the menu, with a response time of
//! zero (clause 5.3.3). With lines to a tier between terminals and database the menu is a request of its own, so each
//! time has its own timer.
//!
//! The scheduler hands a request to the queue when it is due. The response time counts from the due time, however late
//! the scheduler was. A Delivery is answered as soon as it is queued, and its terminal continues at once.

mod answers;
mod delivery_log;
mod request_queue;
mod wheel;

use crate::clock::{Clock, Nanos, SECOND, Window};
use crate::fate::Fate;
use crate::histogram::{count, histogram};
use crate::os;
use crate::request_source::{RequestSource, Scheduling, SourceResults};
use crate::share::Share;
use crate::stages::{Cursor, Stages};
use crate::tpcc::{DeliveryFacts, KindWaits, TpccFacts};
use crate::worker::{Answer, Shared, Worker};
use answers::Answers;
use delivery_log::DeliveryLog;
use hdrhistogram::Histogram;
use lydite_database::Tpcc;
use lydite_tpcc::deck::CARDS;
use lydite_tpcc::limits::THINK_CUT_MEANS;
use lydite_tpcc::random::{Purpose, Stream};
use lydite_tpcc::transactions::Delivery;
use lydite_tpcc::{InputPlan, Outcome, StandardKind, StandardOutcome, Terminal};
use parking_lot::Mutex;
use request_queue::{Request, RequestQueue, Work};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::Duration;
use wheel::{TICK, Wheel};

/// Requests that are due within this time of one another are handed over together, which saves wake-ups.
const COALESCE: Nanos = 50_000;

/// Number of mean cycles before the run at which terminals begin, spread over one cycle and anywhere in their decks.
/// They are well mixed when the run begins.
const HISTORY_CYCLES: u64 = 4;

/// Settings of the terminals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RteSettings {
    pub(crate) terminals: u32,
    pub(crate) wait_factor: f64,
    /// Time after an answer at which the terminal has displayed it.
    pub(crate) display_delay: Nanos,
    /// True if the sessions go over lines of terminals.
    pub(crate) lines: bool,
}

/// State of a terminal between two requests, or while it waits for an answer.
#[derive(Debug)]
struct Slot {
    terminal: Terminal,
    /// Time of the last answer.
    answered: Nanos,
    /// Time at which the next transaction type was or will be chosen. With lines: at which its input screen was shown,
    /// once it is.
    chosen: Nanos,
    /// True if the terminal will choose from the menu next. Only with lines.
    at_menu: bool,
    /// Number of waiting times that were drawn.
    waits: u32,
    /// Type of the last transaction.
    last: Option<StandardKind>,
    /// Type of the next transaction.
    kind: StandardKind,
}

/// Terminals, scheduler and queue of a run.
pub(crate) struct Rte {
    stages: Arc<Stages<InputPlan>>,
    /// Inputs of the first stage. Its settings about terminals hold for all stages.
    first: InputPlan,
    settings: RteSettings,
    share: Share,
    /// Terminals of the share.
    slots: Vec<Mutex<Slot>>,
    queue: RequestQueue,
    /// Answered terminals and the due times of their next requests.
    answered: Mutex<Vec<(u32, Nanos)>>,
    /// Time at which the scheduler will look at `answered` by itself.
    wakes: AtomicU64,
    scheduler: OnceLock<Thread>,
    /// Due requests for which the queue had no room.
    overdue: AtomicU64,
    log: Option<DeliveryLog>,
    /// Times that only sessions measure.
    answers: Mutex<Answers>,
    /// Results of the scheduler, once it has ended.
    scheduler_facts: Mutex<Option<SchedulerFacts>>,
}

/// Results of the scheduler.
#[derive(Debug)]
struct SchedulerFacts {
    lateness: Histogram<u64>,
    waits: [KindWaits; StandardKind::COUNT],
    /// See [`TpccFacts::think`].
    think: Histogram<u64>,
    delivery: DeliveryFacts,
    /// Requests that were due before the end but never queued.
    left: u64,
}

impl Rte {
    /// Makes the terminals of a share and their scheduler's state. `terminals` are those of the whole run.
    ///
    /// # Errors
    /// The delivery log can't be created.
    pub(crate) fn new(
        stages: Arc<Stages<InputPlan>>,
        settings: RteSettings,
        log: Option<&Path>,
        share: Share,
    ) -> io::Result<Self> {
        let terminals = settings.terminals;
        let log = log.map(DeliveryLog::create).transpose()?;
        let first = stages.current()[0].inputs.clone();
        let slots: Vec<_> = (0..share.count(terminals))
            .map(|place| {
                let mut terminal = first.terminal_of(share.nth(place), terminals);
                let kind = terminal.next_standard_kind(&first);
                let at_menu = settings.lines;
                Mutex::new(Slot { terminal, answered: 0, chosen: 0, at_menu, waits: 0, last: None, kind })
            })
            .collect();
        Ok(Self {
            queue: RequestQueue::new(2 * slots.len()),
            slots,
            settings,
            answers: Mutex::default(),
            share,
            answered: Mutex::default(),
            wakes: AtomicU64::new(0),
            scheduler: OnceLock::new(),
            overdue: AtomicU64::new(0),
            log,
            scheduler_facts: Mutex::default(),
            stages,
            first,
        })
    }

    /// Executes a Delivery whose terminal has continued.
    fn deliver(self: &Arc<Self>, worker: &mut Worker<Tpcc>, times: (Nanos, Nanos), delivery: Delivery) {
        let (rte, shared) = (Arc::clone(self), Arc::clone(&worker.shared));
        let log = move |answer: Answer<Tpcc>| rte.log(&shared.clock, times.0, &delivery, &answer);
        worker.play_then(times, delivery.into(), log);
    }

    /// Logs the result of a deferred delivery.
    fn log(&self, clock: &Clock, queued: Nanos, delivery: &Delivery, answer: &Answer<Tpcc>) {
        let Some(log) = &self.log else { return };
        let result = match answer.fate {
            Fate::Committed => "committed",
            Fate::RolledBack | Fate::Failed => "failed",
            Fate::Unknown => "unknown",
        };
        let delivered = match &answer.outcome {
            Some(Outcome::Standard(StandardOutcome::Delivery(outcome))) => outcome.delivered.as_slice(),
            _ => &[],
        };
        log.write(delivery, clock.wall(queued), clock.wall(answer.at), result, delivered);
    }

    /// Continues a terminal that was answered at `at`: its next request is due after its think and keying times.
    fn continue_terminal(&self, terminal: u32, at: Nanos) {
        let slot = &mut self.slots[terminal as usize].lock();
        let due = self.next_due(slot, terminal, at, None);
        let due = self.step(slot, due, at);
        self.put_back(terminal, due);
    }

    /// Lets a terminal key in, whose input screen came at `at`.
    fn show_input(&self, terminal: u32, at: Nanos) {
        let slot = &mut self.slots[terminal as usize].lock();
        (slot.at_menu, slot.chosen) = (false, at);
        self.put_back(terminal, at + self.keying(slot.kind));
    }

    /// Gives a terminal back to the scheduler until `due`.
    fn put_back(&self, terminal: u32, due: Nanos) {
        self.answered.lock().push((terminal, due));
        if due < self.wakes.load(Ordering::Relaxed)
            && let Some(scheduler) = self.scheduler.get()
        {
            scheduler.unpark();
        }
    }

    /// Draws the waiting times and the next type of a terminal and returns the due time. The type is chosen from
    /// `inputs`, or from those of the stage in which it is chosen.
    fn next_due(&self, slot: &mut Slot, terminal: u32, at: Nanos, inputs: Option<&InputPlan>) -> Nanos {
        let think = self.think(slot.kind, self.draw(slot, terminal));
        // Think times begin once the answer is displayed (clause 5.2.5.5).
        slot.answered = at + self.settings.display_delay;
        slot.chosen = slot.answered + think;
        slot.last = Some(slot.kind);
        slot.kind = match inputs {
            Some(inputs) => slot.terminal.next_standard_kind(inputs),
            None => slot.terminal.next_standard_kind(&Cursor::new(&self.stages).stage(slot.chosen).inputs),
        };
        slot.chosen + self.keying(slot.kind)
    }

    /// Lets a terminal whose next request is due at `due` begin with its menu, if it has a line and chooses from `from`
    /// on. Returns the time of the next step.
    fn step(&self, slot: &mut Slot, due: Nanos, from: Nanos) -> Nanos {
        slot.at_menu = self.settings.lines && slot.chosen >= from;
        if slot.at_menu { slot.chosen } else { due }
    }

    /// Returns a random number in (0, 1] of the terminal. Each number has a seed of its own, so a terminal stores no
    /// stream.
    fn draw(&self, slot: &mut Slot, terminal: u32) -> f64 {
        let index = u64::from(self.share.nth(terminal)) << 32 | u64::from(slot.waits);
        slot.waits = slot.waits.wrapping_add(1);
        Stream::new(self.first.seed, Purpose::Pacing, index).unit_open_low()
    }

    /// Returns the keying time, a constant (clause 5.2.5.7).
    fn keying(&self, kind: StandardKind) -> Nanos {
        (kind.limits().keying_s * self.settings.wait_factor * SECOND as f64) as Nanos
    }

    /// Returns a think time (clause 5.2.5.4): negative exponential, cut at ten times the mean.
    fn think(&self, kind: StandardKind, uniform: f64) -> Nanos {
        let means = (-uniform.ln()).min(THINK_CUT_MEANS);
        (means * kind.limits().mean_think_s * self.settings.wait_factor * SECOND as f64) as Nanos
    }

    /// Returns the mean time between two requests of a terminal whose transactions take no time.
    fn mean_cycle(&self) -> Nanos {
        let shares = self.first.mix.percent();
        StandardKind::ALL
            .into_iter()
            .map(|kind| {
                let limits = kind.limits();
                shares[kind.index()] / 100.0 * (limits.keying_s + limits.mean_think_s)
            })
            .map(|seconds| (seconds * self.settings.wait_factor * SECOND as f64) as Nanos)
            .sum::<Nanos>()
            + self.settings.display_delay
    }
}

impl RequestSource<Tpcc> for Rte {
    fn work(self: Arc<Self>, worker: &mut Worker<Tpcc>) {
        let mut cursor = Cursor::new(&self.stages);
        let shared = Arc::clone(&worker.shared);
        while worker.ensure_connected() {
            let next = self.queue.pop(&shared.clock, &shared.window, || worker.hurry());
            let Some(request) = next else { return };
            let (due, picked) = (request.due, worker.now());
            let rte = Arc::clone(&self);
            let terminal = request.terminal;
            match request.work {
                Work::Menu(kind) => {
                    let Some(at) = worker.choose(terminal, kind) else { return };
                    self.answers.lock().menu(&worker.shared.window, due, at);
                    self.show_input(terminal, at);
                }
                Work::Interactive(StandardKind::Delivery) => {
                    let delivery =
                        self.slots[terminal as usize].lock().terminal.delivery(&cursor.stage(due).inputs);
                    worker.queue(terminal, delivery);
                    let at = worker.now();
                    self.answers.lock().queued(&worker.shared.window, due, at);
                    self.continue_terminal(terminal, at);
                    self.deliver(worker, (due, picked), delivery);
                }
                Work::Interactive(kind) => {
                    let mut slot = self.slots[terminal as usize].lock();
                    let inputs = &cursor.stage(due).inputs;
                    // The users choose the types. A New-Order may go for a hot row.
                    let orders = kind == StandardKind::NewOrder;
                    let transaction = match orders.then(|| worker.join_hot_row(picked)).flatten() {
                        Some(row) => slot.terminal.contending(inputs, row),
                        None => slot.terminal.input(inputs, kind),
                    };
                    drop(slot);
                    let resume = move |answer: Answer<Tpcc>| rte.continue_terminal(terminal, answer.at);
                    worker.sit_at(terminal);
                    worker.play_then((due, picked), transaction, resume);
                    worker.leave_hot_row(None);
                }
                Work::Deferred(delivery) => self.deliver(worker, (due, picked), delivery),
            }
        }
    }

    fn scheduler(self: Arc<Self>) -> Option<Scheduling<Tpcc>> {
        let scheduler = Scheduler::new(Arc::clone(&self));
        Some(Box::new(move |shared| *self.scheduler_facts.lock() = Some(scheduler.work(shared))))
    }

    fn queued(&self, _now: Nanos) -> u64 {
        self.queue.len() as u64 + self.overdue.load(Ordering::Relaxed)
    }

    fn wake_all(&self) {
        self.queue.wake_all();
    }

    fn finish(&self, _window: &Window, _end: Nanos, _completed: u64) -> SourceResults<Tpcc> {
        let mut finished = SourceResults {
            backlog: self.queue.len() as u64,
            // A failure to write the log is a warning.
            warnings: self.log.as_ref().and_then(DeliveryLog::finish).into_iter().collect(),
            ..SourceResults::default()
        };
        if let Some(SchedulerFacts { lateness, waits, think, delivery, left }) =
            self.scheduler_facts.lock().take()
        {
            finished.backlog += left;
            finished.lateness = lateness;
            let Answers { menu, delivery: mut by_sessions } = std::mem::take(&mut *self.answers.lock());
            by_sessions.merge(&delivery);
            finished.facts = TpccFacts {
                delivery: by_sessions,
                waits: Some(waits),
                think: Some(think),
                menu: self.settings.lines.then_some(menu),
                ..TpccFacts::default()
            };
        }
        finished
    }
}

/// Sleeps until `at`, or until another thread wakes this one.
fn park_until(clock: &Clock, at: Nanos) {
    let left = at.saturating_sub(clock.now());
    if left > 0 {
        std::thread::park_timeout(Duration::from_nanos(left));
    }
}

/// The scheduler hands over requests when they are due.
struct Scheduler {
    rte: Arc<Rte>,
    wheel: Wheel,
    /// Terminals whose requests are due in the current tick or overdue, the earliest first.
    ready: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// Terminals to put back into the wheel.
    answered: Vec<(u32, Nanos)>,
    batch: Vec<Request>,
    cursor: Cursor<InputPlan>,
    facts: SchedulerFacts,
}

impl Scheduler {
    /// Makes a scheduler in the steady state, as if the terminals had worked for some time. Then as many requests are
    /// due in the first second as in any other, and of the same types.
    fn new(rte: Arc<Rte>) -> Self {
        let facts = SchedulerFacts {
            lateness: histogram(),
            waits: Default::default(),
            think: histogram(),
            delivery: DeliveryFacts::new(),
            left: 0,
        };
        let mut scheduler = Self {
            wheel: Wheel::new(rte.slots.len() as u32),
            ready: BinaryHeap::new(),
            answered: Vec::new(),
            batch: Vec::new(),
            cursor: Cursor::new(&rte.stages),
            facts,
            rte: Arc::clone(&rte),
        };
        let cycle = rte.mean_cycle();
        let history = HISTORY_CYCLES * cycle;
        for (terminal, slot) in (0..).zip(&rte.slots) {
            let mut slot = slot.lock();
            let dealt = (rte.draw(&mut slot, terminal) * CARDS as f64) as usize;
            for _ in 0..dealt {
                slot.kind = slot.terminal.next_standard_kind(&rte.first);
            }
            let mut due = (rte.draw(&mut slot, terminal) * cycle as f64) as Nanos;
            while due < history {
                // The time before the run has the settings of the first stage.
                due = rte.next_due(&mut slot, terminal, due, Some(&rte.first));
            }
            slot.last = None;
            // A terminal that had chosen before the run is keying in now.
            let due = rte.step(&mut slot, due, history);
            scheduler.insert(terminal, due - history);
        }
        scheduler
    }

    /// Works until the run is over.
    fn work(mut self, shared: &Shared<Tpcc>) -> SchedulerFacts {
        os::precise_timers();
        // The only scheduler sets it, once.
        let _ = self.rte.scheduler.set(std::thread::current());
        let mut now = shared.clock.now();
        while !shared.window.over(now) {
            self.put_back();
            self.hand_over(shared, now);
            let wake = self.next_wake(now).min(shared.window.end());
            self.rte.wakes.store(wake, Ordering::Relaxed);
            park_until(&shared.clock, wake);
            now = shared.clock.now();
        }
        self.put_back();
        let end = shared.window.end();
        let Self { wheel, ready, .. } = &mut self;
        wheel.take(end, |due, terminal| ready.push(Reverse((due, terminal))));
        self.facts.left = self.ready.iter().filter(|Reverse((due, _))| *due < end).count() as u64;
        self.facts
    }

    fn insert(&mut self, terminal: u32, due: Nanos) {
        if !self.wheel.insert(terminal, due) {
            self.ready.push(Reverse((due, terminal)));
        }
    }

    /// Puts terminals that have been answered back into the wheel.
    fn put_back(&mut self) {
        let mut answered = std::mem::take(&mut self.answered);
        std::mem::swap(&mut answered, &mut *self.rte.answered.lock());
        for (terminal, due) in answered.drain(..) {
            self.insert(terminal, due);
        }
        self.answered = answered;
    }

    /// Hands over the requests that are due at `now`, as far as the queue has room.
    fn hand_over(&mut self, shared: &Shared<Tpcc>, now: Nanos) {
        let Self { wheel, ready, .. } = self;
        wheel.take(now, |due, terminal| ready.push(Reverse((due, terminal))));
        let mut room = self.rte.queue.room();
        while let Some(&Reverse((due, terminal))) = self.ready.peek()
            && due <= now
            && room > 0
        {
            self.ready.pop();
            room -= 1;
            self.request(shared, terminal, due, now);
        }
        let overdue =
            if room == 0 { self.ready.iter().filter(|Reverse((due, _))| *due <= now).count() } else { 0 };
        self.rte.overdue.store(overdue as u64, Ordering::Relaxed);
        if !self.batch.is_empty() {
            self.rte.queue.push(&mut self.batch);
        }
    }

    fn request(&mut self, shared: &Shared<Tpcc>, terminal: u32, due: Nanos, now: Nanos) {
        let rte = Arc::clone(&self.rte);
        let mut slot = rte.slots[terminal as usize].lock();
        let kind = slot.kind;
        let counts = shared.window.counts(due, now);
        if counts {
            count(&mut self.facts.lateness, now - due);
            // The think time ends where the choice begins, and the keying time begins where the input screen is shown.
            let (thought, keyed) =
                if rte.settings.lines { (slot.at_menu, !slot.at_menu) } else { (true, true) };
            if let Some(last) = slot.last.filter(|_| thought) {
                let think = Duration::from_nanos(slot.chosen - slot.answered);
                self.facts.waits[last.index()].think.record(think);
                if last == StandardKind::NewOrder {
                    count(&mut self.facts.think, slot.chosen - slot.answered);
                }
            }
            if slot.last.is_some() && keyed {
                let keying = Duration::from_nanos(now - slot.chosen);
                self.facts.waits[kind.index()].keying.record(keying);
            }
        }
        if kind != StandardKind::Delivery || rte.settings.lines {
            let work = if slot.at_menu { Work::Menu(kind) } else { Work::Interactive(kind) };
            drop(slot);
            self.batch.push(Request { terminal, work, due });
            return;
        }
        let delivery = slot.terminal.delivery(&self.cursor.stage(due).inputs);
        let next = rte.next_due(&mut slot, terminal, now, None);
        drop(slot);
        self.batch.push(Request { terminal, work: Work::Deferred(delivery), due });
        if counts {
            self.facts.delivery.queued += 1;
            count(&mut self.facts.delivery.interactive, now - due);
        }
        self.insert(terminal, next);
    }

    /// Returns the time of the next work: the next due request, or the next tick.
    fn next_wake(&self, now: Nanos) -> Nanos {
        let next_tick = (now / TICK + 1) * TICK;
        match self.ready.peek() {
            // Overdue requests wait for room, which every tick checks.
            Some(&Reverse((due, _))) if due > now => due.min(next_tick).max(now + COALESCE),
            _ => next_tick,
        }
    }
}
