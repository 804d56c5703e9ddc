//! A run from the first connection to the last count.

use crate::clock::{Clock, Nanos, SECOND, Window, nanos};
use crate::collector::Collector;
use crate::control::RunControl;
use crate::direct::Rotation;
use crate::fate::Fate;
use crate::finished::{Ended, Finished, Part, seconds_between};
use crate::histogram::merge;
use crate::measurement::{ClientCost, KindMeasurement, Measurement, Outage, OutageCause, Status};
use crate::open::Open;
use crate::os::{self, Usage};
use crate::placement_watch::PlacementWatch;
use crate::plan::{MicroMode, MicroPlan, Mode, RunPlan, RunSettings};
use crate::request_source::RequestSource;
use crate::rte::{Rte, RteSettings};
use crate::run_error::RunError;
use crate::settling::{Settled, Settling};
use crate::share::Share;
use crate::silence::Silence;
use crate::snapshot::{KindSnapshot, Phase, Snapshot};
use crate::stages::Stages;
use crate::starting::{StartSignal, connect_all, spawn_all};
use crate::success_log::{self, LogWriter, Taken};
use crate::totals::Totals;
use crate::worker::Shared;
use crate::workload::{Connect, Facts, Runnable};
use lydite_database::{Micro, Target, Tpcc};
use lydite_tpcc::InputPlan;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Longest sleep of the run's own thread, so that it notices a stop.
const NAP: Duration = Duration::from_millis(20);
/// Time between two looks for finished sessions.
const DRAIN_NAP: Duration = Duration::from_millis(2);

/// Receivers of the progress of a run.
struct Watching<'a, W: Runnable> {
    second: &'a mut dyn FnMut(&Snapshot),
    /// Receiver of the counts, if a coordinator merges them with those of other processes.
    part: Option<&'a mut dyn FnMut(Part<W>)>,
}

/// Runs TPC-C as `plan` says and measures it. Blocks until the run is over and calls `observer` once a second on this
/// thread. All sessions connect before the first transaction.
///
/// After the end (and [`RunPlan::drain`]) sessions that still wait for the database are left behind. Their threads end
/// when the database answers, or with the process.
///
/// # Errors
/// The run could not begin. Later events are part of the measurement.
///
/// # Panics
/// Panics if the counts of the run contradict each other, which no database can cause.
pub fn run(
    target: &Arc<dyn Target>,
    plan: &RunPlan,
    control: &RunControl,
    observer: &mut dyn FnMut(&Snapshot),
) -> Result<Measurement, RunError> {
    let connecting = Arc::clone(target);
    run_through(target, Arc::new(move || connecting.connect()), plan, control, observer)
}

/// Runs TPC-C as [`run`] does, over the sessions that `connect` opens: those of a primary and its replicas, for
/// example.
///
/// # Errors
/// See [`run`].
///
/// # Panics
/// See [`run`].
pub fn run_through(
    target: &Arc<dyn Target>,
    connect: Arc<Connect<Tpcc>>,
    plan: &RunPlan,
    control: &RunControl,
    observer: &mut dyn FnMut(&Snapshot),
) -> Result<Measurement, RunError> {
    let stages = Arc::new(Stages::new(plan.stages()));
    let source = source(target, plan, &stages)?;
    let watch = PlacementWatch::new(target, plan, &stages)
        .map_err(|error| RunError::Threads { sessions: plan.sessions(), error })?;
    let watching = Watching { second: observer, part: None };
    let mut measured =
        run_workload(connect, source, &stages, plan.settings(), control, watching)?.measurement();
    if let Some(watch) = watch {
        let (placement, moves, warnings) = watch.seen(measured.window.start);
        (measured.placement, measured.moves) = (placement, moves);
        measured.warnings.extend(warnings);
    }
    Ok(measured)
}

/// Plays a share of a run, as [`run`] does a whole one, and passes its counts to `report` once a second and at the end.
/// A coordinator merges them with those of the other shares. The placement stays the plan's.
///
/// # Errors
/// See [`run`].
pub fn run_share(
    target: &Arc<dyn Target>,
    plan: &RunPlan,
    control: &RunControl,
    report: &mut dyn FnMut(Part),
) -> Result<(), RunError> {
    let connecting = Arc::clone(target);
    let stages = Arc::new(Stages::new(plan.stages()));
    let source = source(target, plan, &stages)?;
    let watching = Watching { second: &mut |_| {}, part: Some(&mut *report) };
    let connect = Arc::new(move || connecting.connect());
    let finished = run_workload(connect, source, &stages, plan.settings(), control, watching)?;
    report(finished.into_part());
    Ok(())
}

/// Makes the source of the requests.
fn source(
    target: &Arc<dyn Target>,
    plan: &RunPlan,
    stages: &Arc<Stages<InputPlan>>,
) -> Result<Arc<dyn RequestSource<Tpcc>>, RunError> {
    let share = plan.share;
    Ok(match &plan.mode {
        Mode::Direct { terminals } => {
            let affinity = target.capabilities().endpoints.filter(|_| plan.affinity).cloned();
            Arc::new(Rotation::new(Arc::clone(stages), *terminals, affinity, share))
        }
        Mode::Rte { terminals, wait_factor, display_delay, lines, delivery_log, .. } => {
            let settings = RteSettings {
                terminals: *terminals,
                wait_factor: *wait_factor,
                display_delay: nanos(*display_delay),
                lines: *lines,
            };
            let rte = Rte::new(Arc::clone(stages), settings, delivery_log.as_deref(), share);
            Arc::new(rte.map_err(|error| RunError::DeliveryLog {
                path: delivery_log.clone().unwrap_or_default(),
                error,
            })?)
        }
        Mode::Open { rate, arrival, .. } => {
            Arc::new(Open::new(stages, plan.seed, &plan.rates(*rate), *arrival, share))
        }
    })
}

/// Runs the microbenchmark, as [`run`] does TPC-C.
///
/// # Errors
/// See [`run`].
///
/// # Panics
/// See [`run`].
pub fn run_micro(
    target: &Arc<dyn Target>,
    plan: &MicroPlan,
    control: &RunControl,
    observer: &mut dyn FnMut(&Snapshot),
) -> Result<Measurement<Micro>, RunError> {
    let stages = Arc::new(Stages::steady(plan.inputs));
    let source: Arc<dyn RequestSource<Micro>> = match plan.mode {
        MicroMode::Direct { terminals } => {
            Arc::new(Rotation::new(Arc::clone(&stages), terminals, None, Share::WHOLE))
        }
        MicroMode::Open { rate, arrival, .. } => {
            Arc::new(Open::new(&stages, plan.inputs.seed, &[(0, rate)], arrival, Share::WHOLE))
        }
    };
    let (target, meta) = (Arc::clone(target), plan.meta.clone());
    let connect = Arc::new(move || target.capabilities().micro()?.connect_micro(&meta));
    let watching = Watching { second: observer, part: None };
    run_workload(connect, source, &stages, plan.settings(), control, watching).map(Finished::measurement)
}

/// Runs any workload and measures it.
fn run_workload<W: Runnable>(
    connect: Arc<Connect<W>>,
    source: Arc<dyn RequestSource<W>>,
    stages: &Arc<Stages<W::Inputs>>,
    settings: RunSettings,
    control: &RunControl,
    mut watching: Watching<'_, W>,
) -> Result<Finished<W>, RunError> {
    let no_log = |error| {
        let path = settings.success_log.clone().unwrap_or_default();
        RunError::SuccessLog { path, error }
    };
    // The lines of a share go with its reports.
    let log = settings.success_log.as_deref().filter(|_| watching.part.is_none());
    let log = log.map(success_log::create).transpose().map_err(no_log)?;
    let sessions = connect_all(&*connect, settings.sessions, control)?;
    let start = Arc::new(StartSignal::new(control.begun_place()));
    let scheduler = spawn_all(&connect, &source, sessions, &start).inspect_err(|_| start.give(None))?;
    let warmup = settings.steady.map_or(settings.warmup, |limit| limit.max(settings.warmup));
    let window = Window::new(warmup, settings.duration, settings.counting);
    // All that takes time comes before the start, which other processes may share.
    let mut shared = Shared::new(window, &settings, stages);
    let begins = control.await_order();
    let (driver, usage) = (os::descendants_cpu(), os::usage());
    let Some(begins) = begins else {
        start.give(None);
        return Err(RunError::Interrupted);
    };
    // The clocks of all processes agree, also if one of them hears of the start too late.
    shared.clock = Clock::begun_at(begins);
    let shared = Arc::new(shared);
    let log = log
        .map(|file| {
            let shared = Arc::clone(&shared);
            LogWriter::start(file, move |taken| shared.take_log(taken))
        })
        .transpose()
        .inspect_err(|_| start.give(None))
        .map_err(no_log)?;
    start.give(Some(Arc::clone(&shared)));
    if !control.await_start(begins) {
        shared.window.cut(0);
        return Err(RunError::Interrupted);
    }
    if settings.steady.is_none() {
        control.begins(shared.clock.instant(shared.window.start()));
    }
    let mut run = Run {
        settings,
        shared,
        source,
        log,
        collector: None,
        silence: Silence::default(),
        usage,
        driver,
        steady: None,
        status: Status::Complete,
    };
    run.observe(control, &mut watching);
    let usage_end = os::usage();
    let driver_end = os::descendants_cpu();
    let lost = run.connection_loss();
    run.drain(watching.second);
    if let Some(scheduler) = scheduler
        && scheduler.join().is_err()
    {
        run.shared.failures.end_run("the scheduler's thread panicked; this is an error in Lydite".into());
    }
    Ok(run.finish(usage_end, driver_end, lost))
}

/// A run that has begun.
struct Run<W: Runnable> {
    settings: RunSettings,
    shared: Arc<Shared<W>>,
    source: Arc<dyn RequestSource<W>>,
    /// Writer of the success log.
    log: Option<LogWriter>,
    collector: Option<Collector>,
    silence: Silence,
    /// Resources used at the start of the window.
    usage: Usage,
    /// Processor time of this process's descendants at the start of the window.
    driver: Option<Duration>,
    /// True if the warm-up ended because the throughput was steady, false if by its limit; `None` if it has a length.
    steady: Option<bool>,
    status: Status,
}

impl<W: Runnable> Run<W> {
    /// Observes the run until the window ends or the run is stopped.
    fn observe(&mut self, control: &RunControl, watching: &mut Watching<'_, W>) {
        let shared = Arc::clone(&self.shared);
        let window = &shared.window;
        let (cuts, limits) = (&self.settings.cuts, &self.settings.limits);
        let mut collector = Collector::new(window, W::KINDS.len(), cuts, limits);
        if watching.part.is_some() {
            collector.keep_news();
        }
        let mut second = 1;
        let mut in_warmup = window.start() > 0;
        let mut settling = self.settings.steady.map(|_| Settling { least: self.settings.warmup });
        loop {
            let now = self.shared.clock.now();
            self.silence.look(&self.shared.in_flight, now);
            if in_warmup && now >= window.start() {
                in_warmup = false;
                self.driver = os::descendants_cpu();
                self.usage = os::usage();
            }
            if now >= window.end() {
                break;
            }
            if control.is_stopped() {
                self.status = Status::Interrupted;
            } else if let Some(why) = self.shared.failures.reason_to_end() {
                self.status = Status::Failing(why);
            }
            if self.status != Status::Complete {
                window.cut(now);
                break;
            }
            if now >= window.second_begins(second) {
                // A second is collected once the next one has begun; after a stall, several at once.
                second = window.second(now);
                let (recorders, lowest) = (&self.shared.recorders, self.shared.connections.take_lowest());
                match &mut watching.part {
                    None => collector.collect(recorders, second, lowest),
                    Some(report) => {
                        collector.close(second, lowest);
                        let totals = collector.collect_with_totals(recorders, lowest);
                        let news = collector.take_news(second);
                        let mut log = Taken::default();
                        shared.take_log(&mut log);
                        let client = self.cost(now, os::usage(), None);
                        report(Part { at: now, news, totals, log, client, ended: None });
                    }
                }
                // A thread that stalled since it read the clock decides in the next second.
                let decided = settling
                    .and_then(|settling| settling.decide(window, collector.series()))
                    .filter(|decided| decided.is_ahead_of(self.shared.clock.now()));
                if let Some(decided) = decided {
                    settling = None;
                    self.settle(decided, &mut collector, control);
                }
                let phase = if in_warmup { Phase::Warmup } else { Phase::Measuring };
                (watching.second)(&self.snapshot(&collector, phase));
                second += 1;
            }
            let next = window.second_begins(second).min(window.end());
            let left = Duration::from_nanos(next.saturating_sub(self.shared.clock.now()));
            std::thread::sleep(left.min(NAP));
        }
        self.collector = Some(collector);
    }

    /// Fixes and announces the start of the window.
    fn settle(&mut self, decided: Settled, collector: &mut Collector, control: &RunControl) {
        let window = &self.shared.window;
        self.steady = Some(decided != Settled::Limit);
        if let Settled::Steady(start) = decided {
            window.begin_at(start);
            collector.begins_earlier(window);
            self.settings.phases = vec![start];
        }
        control.begins(self.shared.clock.instant(window.start()));
    }

    /// Waits until all sessions have finished and all commits are answered, or until the time for that is over.
    fn drain(&mut self, observer: &mut dyn FnMut(&Snapshot)) {
        self.source.wake_all();
        let begun = self.shared.clock.now();
        let mut shown = 0;
        loop {
            let waited = Duration::from_nanos(self.shared.clock.now() - begun);
            let answered = || self.shared.in_flight.iter().all(|session| session.unanswered_commits() == 0);
            let finished = self.shared.active.load(Ordering::Acquire) == 0 && answered();
            if finished || waited >= self.settings.drain {
                return;
            }
            if waited.as_secs() > shown {
                shown = waited.as_secs();
                if let Some(collector) = &self.collector {
                    observer(&self.snapshot(collector, Phase::Draining));
                }
            }
            std::thread::sleep(DRAIN_NAP.min(self.settings.drain - waited));
        }
    }

    fn snapshot(&self, collector: &Collector, phase: Phase) -> Snapshot {
        let now = self.shared.clock.now();
        let totals = collector.totals();
        let of_kind = |kind: usize| KindSnapshot {
            last_second: collector.series().last().map_or(0, |second| second.completed[kind]),
            completed: totals.completed[kind],
            p50: collector.quantile(kind, 0.50),
            p95: collector.quantile(kind, 0.95),
            p99: collector.quantile(kind, 0.99),
        };
        let kinds = (0..W::KINDS.len()).map(of_kind).collect();
        Snapshot {
            elapsed: Duration::from_nanos(now),
            warmup: Duration::from_nanos(self.shared.window.start()),
            phase,
            in_phase: self.settings.phases.partition_point(|&begins| begins <= now).saturating_sub(1),
            kinds,
            aborts: totals.aborts,
            errors: totals.errors,
            unknown: totals.unknown,
            connected: self.shared.connections.connected(),
            queued: self.source.queued(now),
        }
    }

    /// Returns the reason why no session is connected, if none is.
    fn connection_loss(&self) -> Option<String> {
        let connections = &self.shared.connections;
        if connections.connected() > 0 {
            return None;
        }
        Some(connections.last_loss().unwrap_or_else(|| "no session is connected".to_owned()))
    }

    fn finish(self, usage_end: Usage, driver_end: Option<Duration>, lost: Option<String>) -> Finished<W> {
        let shared = &self.shared;
        let window = &shared.window;
        let (hung, last_answered, unanswered) = self.close();
        // A session may have counted a moment longer after the run was stopped. Then that is the end.
        let end = window.end().max(last_answered.saturating_add(u64::from(last_answered > 0)));
        let client = self.cost(end, usage_end, driver_end);
        let log_problem = self.log.and_then(LogWriter::finish);
        // Those of a share; a writer has taken all others.
        let mut log = Taken::default();
        shared.take_log(&mut log);
        let (cuts, limits) = (&self.settings.cuts, &self.settings.limits);
        let begin = || Collector::new(window, W::KINDS.len(), cuts, limits);
        let mut collector = self.collector.unwrap_or_else(begin);
        let seconds = window.second(end.saturating_sub(1)) + usize::from(end > 0);
        let lowest = shared.connections.take_lowest();
        collector.collect(&shared.recorders, seconds, lowest);
        collector.collect_rest(&shared.recorders, lowest);
        let mut total = Totals::new();
        shared.recorders.iter().for_each(|recorder| total.add(&recorder.lock()));
        let mut warnings = Vec::new();
        let waited = self.settings.drain.as_secs_f64();
        if unanswered > 0 {
            warnings.push(format!(
                "{unanswered} pipelined commits had no answer {waited} s after the end: their outcome is unknown, and \
                 no transaction type counts them"
            ));
        }
        if hung > 0 {
            warnings.push(format!(
                "{hung} of {} sessions had no answer {waited} s after the end: their transactions count as unknown",
                self.settings.sessions
            ));
        }
        if self.steady == Some(false) {
            warnings.push(format!(
                "the throughput was not steady after a warm-up of {} s, so the window begins without a steady state: \
                 allow more with --steady=TIME",
                window.start().div_ceil(SECOND)
            ));
        }
        let completed = total.kinds.iter().map(KindMeasurement::completed).sum();
        let finished = self.source.finish(window, end, completed);
        warnings.extend(finished.warnings);
        merge(&mut total.lateness, &finished.lateness);
        total.facts.merge(&finished.facts);
        let relative = |at: Nanos| seconds_between(window.start(), at);
        let outages = outages(shared.connections.outages(end), self.silence.outages(&total.kinds, end));
        let status = match self.status {
            Status::Complete => {
                shared.failures.verdict(&total.kinds).map_or(Status::Complete, Status::Failing)
            }
            status => status,
        };
        let contention = shared.contention.as_ref();
        let contention = contention.map(|contention| contention.facts(window, &self.settings.phases, end));
        let ended = Ended {
            status,
            lost: lost.or_else(|| {
                (hung > 0 && hung == self.settings.sessions).then(|| "no session had an answer".to_owned())
            }),
            end,
            errors: shared.errors.lock().counts(),
            outages: outages
                .into_iter()
                .map(|(from, to, cause)| Outage { cause, from_s: relative(from), to_s: relative(to) })
                .collect(),
            backlog: finished.backlog,
            open: finished.open,
            open_phases: finished.open_phases,
            warnings,
        };
        Finished {
            start: shared.clock.wall(window.start()),
            window_start: window.start(),
            steady: self.steady,
            collector,
            totals: total,
            client,
            ended,
            contention,
            log,
            log_problem,
        }
    }

    /// Returns the cost of this process in the window until `at`. `usage` and `driver` are the resources used until then.
    fn cost(&self, at: Nanos, usage: Usage, driver: Option<Duration>) -> ClientCost {
        let in_window = at > self.shared.window.start();
        ClientCost {
            cpu: if in_window { usage.cpu.saturating_sub(self.usage.cpu) } else { Duration::ZERO },
            driver_cpu: driver
                .filter(|_| in_window)
                .map(|end| end.saturating_sub(self.driver.unwrap_or_default()))
                // `cargo run` replaces itself by this program, so its compilers count as this program's children.
                .filter(|cpu| !cpu.is_zero()),
            peak_rss_bytes: usage.peak_rss_bytes,
        }
    }

    /// Closes the recorders and counts unanswered transactions. Returns the number of sessions that still wait, the
    /// time of the last answer that counts, and the number of commits in flight that no session waits for.
    fn close(&self) -> (u32, Nanos, u64) {
        let window = &self.shared.window;
        let mut hung = 0;
        let mut unanswered = 0;
        let mut last_answered = 0;
        let recorders = &self.shared.recorders;
        for (number, recorder) in recorders.iter().enumerate() {
            // A session removes its transaction from those in flight only under this lock.
            let mut recorder = recorder.lock();
            let sessions = self.shared.in_flight.iter().enumerate();
            for (session, in_flight) in sessions.skip(number).step_by(recorders.len()) {
                unanswered += in_flight.unanswered_commits();
                recorder.whole.unanswered += in_flight.unanswered_commits();
                let Some((due, kind, fate)) = in_flight.transaction() else { continue };
                hung += 1;
                recorder.whole.unknown[kind] += u64::from(fate == Fate::Unknown);
                if let Some(log) = recorder.log.as_mut().filter(|_| fate != Fate::Unknown) {
                    log.forget_last(session);
                }
                // The missing answer counts as if it were known at the last moment of the window.
                if window.counts(due, due.max(window.end().saturating_sub(1))) {
                    recorder.record_unanswered(window, kind, (due, fate));
                }
            }
            recorder.closed = true;
            if let Some(log) = &mut recorder.log {
                log.close();
            }
            last_answered = last_answered.max(recorder.last_answered);
        }
        (hung, last_answered, unanswered)
    }
}

/// Returns all outages, ordered by time. A silence and the loss of connections after it are one outage.
fn outages(lost: Vec<(Nanos, Nanos)>, silent: Vec<(Nanos, Nanos)>) -> Vec<(Nanos, Nanos, OutageCause)> {
    let with = |cause| move |(from, to)| (from, to, cause);
    let mut all: Vec<_> = lost.into_iter().map(with(OutageCause::Lost)).collect();
    all.extend(silent.into_iter().map(with(OutageCause::Silent)));
    all.sort_unstable_by_key(|&(from, _, _)| from);
    all.dedup_by(|next, before| {
        let same = next.0 <= before.1 && next.2 != before.2;
        if same {
            (before.1, before.2) = (before.1.max(next.1), OutageCause::Lost);
        }
        same
    });
    all
}
