//! Shows the progress of an experiment: a line for each run that has ended, and in a terminal a live line for the current
//! run.

use lydite_console::output::eprint;
use lydite_report::figures::{duration, number};
use lydite_report::live::{Style, columns};
use lydite_report::sweep::{Run, State};
use std::time::{Duration, Instant};

/// Interval between updates of the live line.
const REDRAW_INTERVAL: Duration = Duration::from_millis(500);

/// The progress of an experiment.
#[derive(Debug)]
pub struct View {
    style: Style,
    /// Number of all runs of the experiment.
    total: usize,
    /// Number of runs that have ended, those of earlier calls included.
    done: usize,
    /// Time that the runs of this call took beyond their plans, for loading and checks.
    beyond: Duration,
    /// Number of runs that this call has made.
    made: u32,
    /// Time of the last update of the live line.
    drawn: Option<Instant>,
    /// Outcome of the last run.
    last: String,
}

/// The current run.
#[derive(Debug)]
pub struct Current<'a> {
    /// Label of its plan.
    pub label: &'a str,
    /// Number of the run among those of the plan, from 1.
    pub repetition: u32,
    /// Number of runs of the plan.
    pub repetitions: u32,
    /// Planned time of the run.
    pub planned: Duration,
    /// Planned time of all runs after it, pauses included.
    pub rest: Duration,
    /// Number of runs after it.
    pub runs_left: u32,
}

impl View {
    /// Makes the view of an experiment of `total` runs, `done` of which earlier calls have made.
    #[must_use]
    pub fn new(style: Style, total: usize, done: usize) -> Self {
        Self { style, total, done, beyond: Duration::ZERO, made: 0, drawn: None, last: String::new() }
    }

    /// Prints one permanent line.
    pub fn note(&mut self, text: &str) {
        match self.style {
            Style::Quiet => {}
            Style::Plain => eprint(&format!("{text}\n")),
            Style::Live => {
                eprint(&format!("\r\x1b[K{text}\n"));
                self.drawn = None;
            }
        }
    }

    /// Updates the live line.
    pub fn update(&mut self, now: &Current<'_>, elapsed: Duration) {
        if self.style != Style::Live || self.drawn.is_some_and(|drawn| drawn.elapsed() < REDRAW_INTERVAL) {
            return;
        }
        self.drawn = Some(Instant::now());
        let each = self.beyond.checked_div(self.made).unwrap_or_default();
        let whole = now.planned + each;
        let left = whole.saturating_sub(elapsed) + now.rest + each * now.runs_left;
        let repetition = if now.repetitions > 1 {
            format!(", run {} of {}", now.repetition, now.repetitions)
        } else {
            String::new()
        };
        let last = if self.last.is_empty() { String::new() } else { format!(" · last {}", self.last) };
        let line = format!(
            "[{}/{}] {}{repetition} · {} of about {} · {} left{last}",
            self.done + 1,
            self.total,
            now.label,
            clock(elapsed),
            clock(whole.max(elapsed)),
            clock(left),
        );
        let room = columns().unwrap_or(80).saturating_sub(1);
        let line: String = line.chars().filter(|letter| !letter.is_control()).take(room).collect();
        eprint(&format!("\r\x1b[K{line}"));
    }

    /// Prints the outcome of a run.
    pub fn ended(&mut self, now: &Current<'_>, run: &Run, took: Duration) {
        self.done += 1;
        self.made += 1;
        self.beyond += took.saturating_sub(now.planned);
        let what = match (run.state, run.values.get("tps")) {
            (State::Complete, Some(tps)) => format!("{} transactions/s", number(*tps)),
            (state, _) => state.name().to_owned(),
        };
        let checks = if run.checks_failed > 0 {
            format!(", {} checks FAIL", run.checks_failed)
        } else {
            String::new()
        };
        let note = if run.note.is_empty() { String::new() } else { format!(": {}", run.note) };
        self.last = what.clone();
        let line = format!(
            "[{}/{}] {}, run {}: {what}{checks} ({}){note}",
            self.done,
            self.total,
            now.label,
            run.repetition,
            duration(took.as_secs_f64().round()),
        );
        self.note(&line);
    }

    /// Clears the live line.
    pub fn finish(&mut self) {
        if self.style == Style::Live && self.drawn.take().is_some() {
            eprint("\r\x1b[K");
        }
    }
}

/// Formats a time with seconds: `1:05`, `2:03:09`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}
