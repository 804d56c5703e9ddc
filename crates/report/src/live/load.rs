//! The view of a load: progress, speed, time to go.

use std::time::Duration;

use super::load_frame::LoadFrame;
pub use super::load_frame::LoadProgress;
use super::pace::Pace;
use super::screen::Screen;
use super::{Style, human};
use crate::figures::{bytes, count, duration, number, plural};

/// Shortest time between two live frames; frames in between are skipped, since nobody could read them.
const FRAME_INTERVAL: Duration = Duration::from_millis(100);
/// Time between two plain lines, unless the stage changes.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// The view of a load.
///
/// Dropping it leaves the last live frame on the terminal, so that after an error or a panic the user sees
/// the progress so far; [`LoadView::finish`] replaces it with one line.
pub struct LoadView {
    screen: Screen,
    course: Course,
    shown_at: Option<Duration>,
}

/// Known facts of the load besides its present state.
struct Course {
    title: String,
    total_rows: u64,
    total_units: u64,
    rows: Pace,
    bytes: Pace,
    units: Pace,
    /// Text of the stage without its digits, and its begin.
    stage: Option<(String, Duration)>,
}

impl LoadView {
    /// Returns a view of a load of `total_rows` rows in `total_units` units of work (warehouses). If `total_rows` is
    /// zero (unknown), progress is counted in units. The title names the data and the target in one line.
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

    /// Shows the state of the load. Call it at least once a second; it skips frames that nobody could read.
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

    /// Ends the view of an interrupted load with one line that stays: the units that are complete and need not be
    /// loaded again.
    pub fn interrupt(mut self, end: &LoadProgress<'_>) {
        self.screen.clear();
        self.screen.line(&format!(
            "Interrupted after {}: {} of {} {}, unfinished ones do not",
            duration(end.elapsed.as_secs_f64()),
            count(end.units_done),
            plural(end.total_units, "warehouse"),
            if end.total_units == 1 { "is complete and stays" } else { "are complete and stay" }
        ));
    }

    /// Ends the view with one line that stays: rows, bytes, time, and mean speed.
    pub fn finish(mut self, end: &LoadProgress<'_>) {
        self.screen.clear();
        let took = duration(end.elapsed.as_secs_f64());
        if end.rows == 0 {
            self.screen.line(&format!("All rows were loaded already; the rest was completed in {took}"));
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
    /// Adds the new state; returns true if it begins a new stage.
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
