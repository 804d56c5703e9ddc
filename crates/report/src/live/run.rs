//! The view of a run: headline, progress, latencies per type, history.

use std::time::Duration;

use super::history::{History, Sample};
use super::run_frame::RunFrame;
use super::screen::Screen;
use super::snapshot::{Phase, RunSnapshot, Times};
use super::{Style, human};
use crate::figures::{count, number};

/// The view of a run.
///
/// Dropping it leaves the last live frame on the terminal, so that after an error or a panic the user sees
/// the last state; [`RunView::finish`] takes the frame away.
pub struct RunView {
    screen: Screen,
    title: String,
    times: Times,
    /// Time of the last snapshot.
    seen_at: Duration,
    history: History,
    plain: Plain,
}

/// State of plain lines.
#[derive(Debug, Default)]
struct Plain {
    phase: Option<Phase>,
    message: String,
    /// Time of the last line.
    line_at: Duration,
    /// Integrals over the time since the last line.
    nopm_seconds: f64,
    transactions: f64,
}

impl RunView {
    /// Returns a view of a run with these times. The title names the workload and the target in one line.
    pub fn new(style: Style, title: &str, times: Times) -> Self {
        Self::on(Screen::stderr(style), title, times)
    }

    pub(super) fn on(mut screen: Screen, title: &str, times: Times) -> Self {
        let title = human::printable(title);
        if screen.style() == Style::Plain {
            screen.line(&title);
        }
        let (history, plain) = (History::default(), Plain::default());
        Self { screen, title, times, seen_at: Duration::ZERO, history, plain }
    }

    /// Shows the state of the run. Call it once a second, at the interval over which the rates were taken.
    pub fn update(&mut self, now: &RunSnapshot<'_>) {
        let interval = now.elapsed.saturating_sub(self.seen_at);
        // The rates of an interval that ends with the warm-up are the warm-up's.
        let measured = now.elapsed.saturating_sub(self.times.warmup);
        let of_warmup =
            now.phase == Phase::Measuring && !self.times.warmup.is_zero() && measured < interval / 2;
        match self.screen.style() {
            Style::Quiet => {}
            Style::Plain if of_warmup => {
                self.update_plain(&RunSnapshot { phase: Phase::Warmup, ..*now }, interval)
            }
            Style::Plain => self.update_plain(now, interval),
            Style::Live => self.update_live(now, of_warmup),
        }
        self.seen_at = now.elapsed;
    }

    /// Notes the length of the warm-up, which a steady throughput ends early.
    pub fn warms_up(&mut self, warmup: Duration) {
        self.times.warmup = warmup;
    }

    /// Writes a line that stays; a live frame moves below it.
    pub fn note(&mut self, text: &str) {
        self.screen.line(text);
    }

    /// Ends the view and erases the live frame, since the result follows.
    pub fn finish(mut self) {
        self.screen.clear();
    }

    fn update_live(&mut self, now: &RunSnapshot<'_>, of_warmup: bool) {
        // Connecting and checking run no transactions: their zeros are no history.
        if matches!(now.phase, Phase::Warmup | Phase::Measuring | Phase::Draining) {
            let measured = now.phase == Phase::Measuring && !of_warmup;
            self.history.push(Sample { at: now.elapsed, rate: now.nopm.unwrap_or(now.tps), measured });
        }
        self.screen.paint(RunFrame { title: &self.title, times: self.times, now, history: &self.history });
    }

    fn update_plain(&mut self, now: &RunSnapshot<'_>, interval: Duration) {
        let (clock, _) = self.times.of(now.phase, now.elapsed);
        let plain = &mut self.plain;
        let phase_changed = plain.phase != Some(now.phase);
        // A line covers one phase: nothing of the warm-up counts as measured.
        if phase_changed {
            (plain.nopm_seconds, plain.transactions) = (0.0, 0.0);
            plain.line_at = self.seen_at;
        }
        let interval_s = interval.as_secs_f64();
        plain.nopm_seconds += finite(now.nopm.unwrap_or(0.0)) * interval_s;
        plain.transactions += finite(now.tps) * interval_s;

        let message = human::printable(now.message.unwrap_or_default());
        if message != plain.message {
            if !message.is_empty() {
                self.screen.line(&format!("{} {message}", human::duration(clock)));
            }
            self.plain.message = message;
        }

        let plain = &mut self.plain;
        let since_line = now.elapsed.saturating_sub(plain.line_at);
        // A little early is on time: the caller's second need not be exact.
        if phase_changed || since_line + Duration::from_millis(200) >= line_interval(self.times) {
            let (nopm, tps) = match since_line.as_secs_f64() {
                0.0 => (finite(now.nopm.unwrap_or(0.0)), finite(now.tps)),
                s => (plain.nopm_seconds / s, plain.transactions / s),
            };
            let line = plain_line(now, clock, nopm, tps);
            (plain.nopm_seconds, plain.transactions) = (0.0, 0.0);
            plain.line_at = now.elapsed;
            plain.phase = Some(now.phase);
            self.screen.line(&line);
        }
    }
}

/// Returns the time between two plain lines: about sixty lines for any run of up to ten minutes.
fn line_interval(times: Times) -> Duration {
    Duration::from_secs(match (times.warmup + times.window).as_secs() {
        _ if times.window.is_zero() => 5,
        0..30 => 1,
        30..300 => 5,
        _ => 10,
    })
}

fn plain_line(now: &RunSnapshot<'_>, clock: Duration, nopm: f64, tps: f64) -> String {
    let clock = human::duration(clock);
    let phase = now.phase.name();
    let (nopm, tps) = (number(nopm), number(tps));
    let nopm = if now.nopm.is_some() { format!("  {nopm} NOPM") } else { String::new() };
    let mut line = format!("{clock} {phase}{nopm}  {tps} tx/s");
    if now.sessions_connected < now.sessions_total {
        line.push_str(&format!("  sessions {}/{}", now.sessions_connected, now.sessions_total));
    }
    if let Some(waiting) = now.queue_length {
        line.push_str(&format!("  queue {}", count(waiting)));
    }
    // The numbers before cover the time since the last line.
    line.push_str("  | so far:");
    if let Some(row) = now.per_type.first()
        && row.p50_ms.is_some()
    {
        let [p50, p95, p99] = [row.p50_ms, row.p95_ms, row.p99_ms].map(number);
        line.push_str(&format!(" {} p50 {p50} p95 {p95} p99 {p99} ms ", row.name));
    }
    line.push_str(&format!(" aborts {}  errors {}", count(now.aborts), count(now.errors)));
    if now.unknown > 0 {
        line.push_str(&format!("  unknown {}", count(now.unknown)));
    }
    line
}

fn finite(n: f64) -> f64 {
    if n.is_finite() { n } else { 0.0 }
}
