//! A result with its name in the tables.

use jiff::Timestamp;
use lydite_report::RunResult;

/// Microseconds in a second.
const US_PER_S: f64 = 1e6;

/// A result that is exported.
#[derive(Debug)]
pub struct Run<'a> {
    /// Name that tells it from all other results of the export: the path of its file.
    pub name: String,
    /// The result.
    pub result: &'a RunResult,
    /// Start of the window, in microseconds since 1970; none if the result does not have it.
    start_us: Option<i64>,
}

/// The time that a row covers, in microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Begin.
    pub from_us: i64,
    /// End.
    pub to_us: i64,
}

impl<'a> Run<'a> {
    /// Names a result.
    #[must_use]
    pub fn new(name: String, result: &'a RunResult) -> Self {
        let start: Option<Timestamp> = result.window.start.parse().ok();
        Self { name, result, start_us: start.map(Timestamp::as_microsecond) }
    }

    /// Returns a time that is given in seconds from the start of the window; none without a start.
    pub(crate) fn span(&self, from_s: f64, to_s: f64) -> Option<Span> {
        let at = |s: f64| self.start_us.map(|start| start.saturating_add((s * US_PER_S).round() as i64));
        Some(Span { from_us: at(from_s)?, to_us: at(to_s)? })
    }

    /// Returns the time of the whole window.
    pub(crate) fn window(&self) -> Option<Span> {
        self.span(0.0, self.result.window.measured_s)
    }
}
