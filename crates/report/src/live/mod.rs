//! Live views in the terminal of a load and of a run.
//!
//! Two views, [`LoadView`] and [`RunView`], both synchronous and fed with plain numbers by their caller: they own no
//! thread, read no input and measure nothing. Both write to standard error only, so that standard output stays free for
//! results. Three [`Style`]s exist: a live frame that is repainted in place, one plain line per interval, or nothing.
//!
//! **Invariants.** The terminal stays in its ordinary mode and standard input is never read, so Ctrl-C keeps
//! delivering its signal. Between two frames the cursor is visible and stands below the frame, so any end
//! of the process leaves a usable terminal. A failing write turns the view quiet; it never reaches the
//! caller. Text (titles, messages of a server) is shown without its control characters.
//!
//! While a live frame stands, other output to the same terminal would be painted over: write it with
//! `note` of the view instead. A write can block as long as the terminal does (Ctrl-S), so call the views
//! from a thread that measures nothing.
//!
//! ```
//! use std::time::Duration;
//! use lydite_report::live::{LoadProgress, LoadView, Style};
//!
//! let style = Style::detect(true); // as with --quiet: prints nothing
//! let mut view = LoadView::new(style, "Loading 1 warehouse", 500_000, 1);
//! let mut progress = LoadProgress {
//!     rows: 120_000,
//!     bytes: 9_000_000,
//!     elapsed: Duration::from_secs(1),
//!     units_done: 0,
//!     total_units: 1,
//!     building: None,
//!     stage: "loading warehouses 0/1",
//! };
//! view.update(&progress);
//! progress.rows = 500_000;
//! progress.units_done = 1;
//! view.finish(&progress);
//! ```

mod history;
mod human;
mod load;
mod load_frame;
mod observed;
mod pace;
mod pieces;
mod run;
mod run_frame;
mod screen;
mod snapshot;
mod table;

#[cfg(test)]
mod tests;

use std::io::IsTerminal;

pub use load::{LoadProgress, LoadView};
pub use observed::ObservedNow;
pub use run::RunView;
pub use snapshot::{Phase, RunSnapshot, Times, TypeRow};

/// Style of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A frame of a few rows, repainted in place; earlier output scrolls up unchanged.
    Live,
    /// One line per interval, for logs and pipes.
    Plain,
    /// Nothing.
    Quiet,
}

/// Returns the columns of this process's terminal; none without a terminal or a known size.
#[must_use]
pub fn columns() -> Option<usize> {
    screen::terminal_size().map(|size| usize::from(size.width))
}

impl Style {
    /// Returns the style for standard error: [`Style::Live`] on a terminal of known size that can move its cursor
    /// (`TERM` is set and not `dumb`), otherwise [`Style::Plain`]. `quiet` (the user's `--quiet`) overrules both.
    pub fn detect(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let term = std::env::var("TERM").unwrap_or_default();
        Self::choose(quiet, terminal, &term, screen::terminal_size().is_some())
    }

    fn choose(quiet: bool, terminal: bool, term: &str, has_size: bool) -> Self {
        let capable = if cfg!(windows) { term != "dumb" } else { !matches!(term, "" | "dumb") };
        match (quiet, terminal && capable && has_size) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Live,
            (false, false) => Self::Plain,
        }
    }
}
