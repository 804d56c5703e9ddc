//! The view of a load: how far, how fast, how long yet.

use std::time::Duration;

use super::load_frame::LoadFrame;
use super::pace::Pace;
use super::screen::Screen;
use super::{Style, human};
use crate::figures::{bytes, count, duration, number, plural};

/// Live frames closer together than this are skipped; nobody could read them.
const FRAME_INTERVAL: Duration = Duration::from_millis(100);
/// Time between two plain lines, unless the stage changes.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// How a load stands.
#[derive(Debug, Clone, Copy)]
pub struct LoadProgress<'a> {
    /// Rows in the database, those found there included (a resumed load).
    pub rows: u64,
    /// Bytes of the rows sent so far, zero if not known.
    pub bytes: u64,
    /// Since the load began.
    pub elapsed: Duration,
    /// Units of work (warehouses) that are complete.
    pub units_done: u64,
    /// Units of work altogether.
    pub total_units: u64,
    /// For how long the database has been building keys and indexes, all rows being in; none while rows are loaded.
    pub building: Option<Duration>,
    /// What is going on, like `loading warehouses 3/20`, `building indexes`, `analyze`. The digits in it may
    /// change with every update; other text begins a new stage.
    pub stage: &'a str,
}

/// What the user watches while data is loaded.
///
/// Dropping it leaves the last live frame on the terminal, so that after an error or a panic the user sees
/// how far it came; [`LoadView::finish`] replaces it with one line.
pub struct LoadView {
    screen: Screen,
    course: Course,
    shown_at: Option<Duration>,
}

/// What is known of the load beyond its present state.
struct Course {
    title: String,
    total_rows: u64,
    total_units: u64,
    rows: Pace,
    bytes: Pace,
    units: Pace,
    /// The stage's text without its digits, and when it began.
    stage: Option<(String, Duration)>,
}

impl LoadView {
    /// A view of a load of `total_rows` rows in `total_units` units of work (warehouses). Where the rows are
    /// not known beforehand (zero), units tell the progress. The title says what is loaded where, in one
    /// line.
    pub fn new(style: Style, title: &str, total_rows: u64, total_units: u64) -> Self {
        Self::on(Screen::stderr(style), title, total_rows, total_units)
    }

    pub(super) fn on(mut screen: Screen, title: &str, total_rows: u64, total_units: u64) -> Self {
        let title = human::printable(title);
        if screen.style() == Style::Plain {
            screen.line(&title);
        }
        let course = Course {
            title,
            total_rows,
            total_units,
            rows: Pace::default(),
            bytes: Pace::default(),
            units: Pace::default(),
            stage: None,
        };
        Self { screen, course, shown_at: None }
    }

    /// Shows the state of the load. Call it as often as convenient, at least once a second: it shows no more
    /// than can be read.
    pub fn update(&mut self, now: &LoadProgress<'_>) {
        if self.screen.style() == Style::Quiet {
            return;
        }
        let new_stage = self.course.note(now);
        let interval = if self.screen.style() == Style::Live { FRAME_INTERVAL } else { LINE_INTERVAL };
        let due = self.shown_at.is_none_or(|at| now.elapsed.saturating_sub(at) >= interval);
        if !(new_stage || due) {
            return;
        }
        self.shown_at = Some(now.elapsed);
        let frame = self.course.frame(now);
        if self.screen.style() == Style::Live {
            self.screen.paint(frame);
        } else {
            let line = frame.plain_line();
            self.screen.line(&line);
        }
    }

    /// Writes a line that stays; a live frame moves below it.
    pub fn note(&mut self, text: &str) {
        self.screen.line(text);
    }

    /// Ends the view of a load that was interrupted with one line that stays: what is complete and will not have to
    /// be loaded again.
    pub fn interrupt(mut self, end: &LoadProgress<'_>) {
        self.screen.clear();
        self.screen.line(&format!(
            "Interrupted after {}: {} of {} {}, what was unfinished does not",
            duration(end.elapsed.as_secs_f64()),
            count(end.units_done),
            plural(end.total_units, "warehouse"),
            if end.total_units == 1 { "is complete and stays" } else { "are complete and stay" }
        ));
    }

    /// Ends the view with one line that stays: what was loaded, in what time, how fast on the whole.
    pub fn finish(mut self, end: &LoadProgress<'_>) {
        self.screen.clear();
        let took = duration(end.elapsed.as_secs_f64());
        if end.rows == 0 {
            self.screen.line(&format!("All rows were there; what else was missing was made in {took}"));
            return;
        }
        let per_s = |count: u64| count as f64 / end.elapsed.as_secs_f64();
        let mut line = format!("Loaded {} rows", count(end.rows));
        if end.bytes > 0 {
            line.push_str(&format!(", {}", bytes(end.bytes)));
        }
        line.push_str(&format!(", in {took} ({} rows/s", number(per_s(end.rows))));
        if end.bytes > 0 {
            line.push_str(&format!(", {}/s", bytes(per_s(end.bytes) as u64)));
        }
        line.push(')');
        self.screen.line(&line);
    }
}

impl Course {
    /// Takes the new state in, and says whether it begins a new stage.
    fn note(&mut self, now: &LoadProgress<'_>) -> bool {
        if now.total_units > 0 {
            self.total_units = now.total_units;
        }
        self.rows.note(now.elapsed, now.rows);
        self.bytes.note(now.elapsed, now.bytes);
        self.units.note(now.elapsed, now.units_done);

        let name: String = now.stage.chars().filter(|c| !c.is_ascii_digit()).collect();
        let new_stage = self.stage.as_ref().is_none_or(|(known, _)| *known != name);
        if new_stage {
            self.stage = Some((name, now.elapsed));
        }
        new_stage
    }

    fn frame<'a>(&'a self, now: &'a LoadProgress<'a>) -> LoadFrame<'a> {
        let (done, total, pace) = if self.total_rows > 0 {
            (now.rows, self.total_rows, &self.rows)
        } else {
            (now.units_done, self.total_units, &self.units)
        };
        let stage_began = self.stage.as_ref().map_or(now.elapsed, |(_, at)| *at);
        LoadFrame {
            title: &self.title,
            total_rows: self.total_rows,
            now,
            done,
            total,
            rows_per_s: self.rows.per_s(),
            bytes_per_s: self.bytes.per_s().filter(|_| now.bytes > 0),
            time_to_go: pace.time_to_go(total),
            in_stage: now.elapsed.saturating_sub(stage_began),
        }
    }
}
