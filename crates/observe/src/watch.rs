//! Samples sources at each second of a window. Each source has a thread, which nobody waits for: a source that hangs
//! holds up neither the run nor its end.

use crate::samples::{MOST, Samples, Series};
use lydite_database::{Observer, StatementUse, TargetError, TargetErrorKind};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// An observer, or `None` if the source has nothing to report.
pub type Opened = Result<Option<Box<dyn Observer>>, TargetError>;

/// A source of samples.
pub struct Source {
    /// Name in results.
    pub name: String,
    /// Opens an observer. Called again after an observer has failed.
    pub open: Box<dyn FnMut() -> Opened + Send>,
}

/// Threads that sample sources. Dropping it ends them.
#[derive(Debug)]
pub struct Watch {
    sources: Vec<Watched>,
    /// Disconnected once all threads have ended.
    ended: Receiver<()>,
}

/// A source that is sampled.
#[derive(Debug)]
struct Watched {
    name: String,
    notes: Arc<Mutex<Notes>>,
    /// Dropping it ends the thread.
    stop: Sender<()>,
}

/// The findings of a thread.
#[derive(Debug, Default)]
struct Notes {
    samples: Samples,
    statements: Vec<StatementUse>,
    /// The first problem.
    problem: Option<String>,
    /// The database's error when it was asked for the statements.
    uncounted: Option<String>,
}

/// The samples of a source.
#[derive(Debug)]
pub struct Observed {
    /// Name of the source.
    pub name: String,
    /// The first problem that it had.
    pub problem: Option<String>,
    /// The statements on which the source spent the most time in the window; none if its observer was opened anew in
    /// between.
    pub statements: Vec<StatementUse>,
    /// Error of a database that rejects the query of its statements.
    pub uncounted: Option<String>,
    samples: Samples,
}

impl Observed {
    /// Returns the values of the first `seconds` seconds.
    #[must_use]
    pub fn series(&self, seconds: usize) -> Vec<Series> {
        self.samples.series(seconds)
    }

    /// True if the source had more names than are kept.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.samples.is_cut()
    }

    /// True if the source never reported anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }
}

impl Watch {
    /// Begins to sample the sources in a window, which may lie ahead.
    ///
    /// # Errors
    /// The system provides no thread.
    pub fn start(sources: Vec<Source>, start: Instant, length: Duration) -> io::Result<Self> {
        let (end, ended) = channel();
        let ticks = Ticks { start, length };
        let begin = |mut source: Source| {
            let (stop, stopped) = channel();
            let notes = Arc::new(Mutex::new(Notes::default()));
            let watched = Watched { name: source.name.clone(), notes: Arc::clone(&notes), stop };
            let end = end.clone();
            let work = move || {
                watch(&mut source, ticks, &stopped, &notes);
                // A database that is closed with its last owner must be closed before the program ends.
                drop(source);
                drop(end);
            };
            thread::Builder::new().name("observe".into()).spawn(work)?;
            Ok(watched)
        };
        Ok(Self { sources: sources.into_iter().map(begin).collect::<io::Result<_>>()?, ended })
    }

    /// Returns the values of the last complete second of all sources, as series of one value.
    #[must_use]
    pub fn latest(&self) -> Vec<Series> {
        self.sources.iter().flat_map(|source| lock(&source.notes).samples.latest()).collect()
    }

    /// Ends the sampling, waits at most `patience` for samples on their way, and returns all.
    #[must_use]
    pub fn finish(self, patience: Duration) -> Vec<Observed> {
        let (mut all, mut stops) = (Vec::new(), Vec::new());
        for Watched { name, notes, stop } in self.sources {
            all.push((name, notes));
            stops.push(stop);
        }
        drop(stops);
        // Nothing is ever sent.
        let _ended = self.ended.recv_timeout(patience);
        let taken = all.into_iter().map(|(name, notes)| {
            let Notes { samples, statements, problem, uncounted } = std::mem::take(&mut *lock(&notes));
            let cut = || samples.is_cut().then(|| format!("it had more than {MOST} series: name some"));
            let problem = problem.or_else(cut);
            Observed { name, problem, statements, uncounted, samples }
        });
        taken.collect()
    }
}

/// The moments of a window at which sources are sampled.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    start: Instant,
    length: Duration,
}

impl Ticks {
    /// Number of the last tick: the end of the window.
    fn last(self) -> usize {
        self.length.as_secs_f64().ceil() as usize
    }

    /// Time of a tick since the start of the window.
    fn time(self, tick: usize) -> Duration {
        Duration::from_secs(tick as u64).min(self.length)
    }

    /// Returns the tick that is nearest to a time.
    fn nearest(self, time: Duration) -> usize {
        let before = (time.as_secs() as usize).min(self.last());
        let after = (before + 1).min(self.last());
        let distance = |tick: usize| self.time(tick).abs_diff(time);
        if distance(after) < distance(before) { after } else { before }
    }
}

/// Samples a source at each tick until `stopped` is disconnected. The last tick counts also if the run ends with it.
fn watch(source: &mut Source, ticks: Ticks, stopped: &Receiver<()>, notes: &Mutex<Notes>) {
    let mut observer = match (source.open)() {
        Ok(None) => return,
        Ok(observer) => observer,
        Err(error) => {
            note(notes, &error);
            None
        }
    };
    let (mut tick, mut counted) = (0, false);
    while tick <= ticks.last() {
        let due = ticks.start + ticks.time(tick);
        let left = due.saturating_duration_since(Instant::now());
        if stopped.recv_timeout(left) == Err(RecvTimeoutError::Disconnected) && Instant::now() < due {
            break;
        }
        let samples = sample(source, &mut observer);
        let taken = ticks.start.elapsed();
        match samples {
            Ok(Some(samples)) => {
                let nearest = ticks.nearest(taken);
                let due = ticks.time(nearest).as_secs_f64();
                lock(notes).samples.add(nearest, due, taken.as_secs_f64(), samples);
            }
            Ok(None) => return,
            Err(error) => {
                (observer, counted) = (None, false);
                note(notes, &error);
            }
        }
        if tick == 0
            && let Some(first) = &mut observer
        {
            // The first reading, which returns nothing. The next sample notes the loss of the connection.
            let first = first.statements();
            counted = first.is_ok();
            if let Err(TargetError { kind: TargetErrorKind::Database, message }) = first {
                lock(notes).uncounted = Some(message);
            }
        }
        tick += 1;
        // A slow sample may have passed several ticks.
        while tick <= ticks.last() && ticks.time(tick) <= taken {
            tick += 1;
        }
    }
    if counted && let Some(observer) = &mut observer {
        match observer.statements() {
            Ok(statements) => lock(notes).statements = statements,
            Err(error) => note(notes, &error),
        }
    }
}

/// Takes a sample, and opens an observer before if there is none; `None` if the source has nothing to report.
fn sample(
    source: &mut Source,
    observer: &mut Option<Box<dyn Observer>>,
) -> Result<Option<Vec<lydite_database::Sample>>, TargetError> {
    if observer.is_none() {
        *observer = (source.open)()?;
    }
    observer.as_mut().map(|observer| observer.sample()).transpose()
}

/// Notes the first problem.
fn note(notes: &Mutex<Notes>, error: &TargetError) {
    lock(notes).problem.get_or_insert_with(|| error.to_string());
}

fn lock(notes: &Mutex<Notes>) -> MutexGuard<'_, Notes> {
    notes.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_database::{Sample, SampleKind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Far longer than a thread takes to end on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(300);

    /// An observer that calls a function.
    struct Calls<F: FnMut() -> Result<f64, TargetError>>(F);

    impl<F: FnMut() -> Result<f64, TargetError> + Send> Observer for Calls<F> {
        fn sample(&mut self) -> Result<Vec<Sample>, TargetError> {
            (self.0)()
                .map(|value| vec![Sample { name: "g".into(), unit: "", kind: SampleKind::Gauge, value }])
        }
    }

    fn source(open: impl FnMut() -> Opened + Send + 'static) -> Source {
        Source { name: "test".into(), open: Box::new(open) }
    }

    #[test]
    fn ticks_are_the_seconds_and_the_end_of_a_window_and_late_samples_belong_to_the_nearest() {
        let ticks = Ticks { start: Instant::now(), length: Duration::from_millis(3_300) };
        assert_eq!(ticks.last(), 4);
        assert_eq!(ticks.time(3), Duration::from_secs(3));
        assert_eq!(ticks.time(4), Duration::from_millis(3_300));
        for (time, tick) in [(0, 0), (1_499, 1), (1_501, 2), (3_020, 3), (3_310, 4), (9_000, 4)] {
            assert_eq!(ticks.nearest(Duration::from_millis(time)), tick, "{time} ms");
        }
        let whole = Ticks { length: Duration::from_secs(2), ..ticks };
        assert_eq!((whole.last(), whole.nearest(Duration::from_millis(2_001))), (2, 2));
    }

    #[test]
    fn a_source_that_hangs_is_left_behind_with_what_it_reported_before() {
        let (go_on, waits) = channel::<()>();
        let waits = Arc::new(Mutex::new(waits));
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        let open = move || -> Opened {
            let (count, waits) = (Arc::clone(&count), Arc::clone(&waits));
            Ok(Some(Box::new(Calls(move || {
                if count.fetch_add(1, Ordering::SeqCst) == 1 {
                    let _hung = waits.lock().unwrap().recv();
                }
                Ok(1.0)
            }))))
        };
        let watch = Watch::start(vec![source(open)], Instant::now(), PATIENCE).unwrap();
        while calls.load(Ordering::SeqCst) < 2 {
            thread::sleep(Duration::from_millis(5));
        }
        let observed = watch.finish(Duration::from_millis(1));
        assert!(!observed[0].is_empty());
        drop(go_on);
    }

    #[test]
    fn a_failed_observer_is_opened_again_and_its_first_problem_is_kept() {
        let opened = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&opened);
        let open = move || -> Opened {
            match count.fetch_add(1, Ordering::SeqCst) {
                0 => Err(TargetError::unreachable("first")),
                1 => Ok(Some(Box::new(Calls(|| Err(TargetError::database("second")))))),
                _ => Ok(Some(Box::new(Calls(|| Ok(7.0))))),
            }
        };
        let watch = Watch::start(vec![source(open)], Instant::now(), PATIENCE).unwrap();
        while lock(&watch.sources[0].notes).samples.is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
        let observed = watch.finish(PATIENCE);
        assert_eq!(observed[0].problem.as_deref(), Some("first"));
        assert!(observed[0].series(300).iter().any(|series| series.values.contains(&Some(7.0))));
        assert_eq!(opened.load(Ordering::SeqCst), 3);
    }

    #[test]
    fn the_last_sample_is_taken_at_the_end_of_the_window_though_the_run_ends_there() {
        let length = Duration::from_millis(1);
        let open = || -> Opened { Ok(Some(Box::new(Calls(|| Ok(1.0))))) };
        let start = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
        let observed = Watch::start(vec![source(open)], start, length).unwrap().finish(PATIENCE);
        assert!(!observed[0].is_empty());
    }

    #[test]
    fn a_source_with_nothing_to_report_ends_at_once() {
        let watch = Watch::start(vec![source(|| Ok(None))], Instant::now(), PATIENCE).unwrap();
        let observed = watch.finish(PATIENCE);
        assert!(observed[0].is_empty() && observed[0].problem.is_none());
    }
}
