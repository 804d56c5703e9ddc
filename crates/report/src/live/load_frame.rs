//! The live frame of a load, and the plain line with the same content.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::screen::Frame;
use super::{human, pieces};
use crate::figures::{bytes, count, number};

/// State of a load.
#[derive(Debug, Clone, Copy)]
pub struct LoadProgress<'a> {
    /// Rows in the database, including those of a resumed load.
    pub rows: u64,
    /// Bytes of the rows sent so far; zero if unknown.
    pub bytes: u64,
    /// Time since the load began.
    pub elapsed: Duration,
    /// Units of work (warehouses) that are complete.
    pub units_done: u64,
    /// Units of work in all.
    pub total_units: u64,
    /// Time since the database began to build keys and indexes, after the last row; none before.
    pub building: Option<Duration>,
    /// Stage of the load, such as `loading warehouses 3/20`, `building indexes`, `analyze`. Its digits may change with
    /// every update; other text begins a new stage.
    pub stage: &'a str,
}

/// A moment of a load.
pub(super) struct LoadFrame<'a> {
    pub(super) title: &'a str,
    /// Rows of the load; zero if unknown.
    pub(super) total_rows: u64,
    pub(super) now: &'a LoadProgress<'a>,
    /// Count of the bar: rows or units.
    pub(super) done: u64,
    pub(super) total: u64,
    pub(super) rows_per_s: Option<f64>,
    pub(super) bytes_per_s: Option<f64>,
    pub(super) time_to_go: Option<Duration>,
    /// Time since the stage began.
    pub(super) in_stage: Duration,
}

impl LoadFrame<'_> {
    /// Returns `building keys and indexes` and `for 5 s` for the work after all rows, whose end is unknown.
    fn building(&self) -> Option<(&'static str, String)> {
        let time = self.now.building?;
        Some(("building keys and indexes", format!("for {}", human::duration(time))))
    }

    fn rows_per_s(&self) -> String {
        number(self.rows_per_s)
    }

    fn time_to_go(&self) -> String {
        self.time_to_go.map_or_else(|| human::UNKNOWN.to_owned(), human::duration)
    }

    /// Returns `5 s loading warehouses 1/4  25 %  500,000 rows  100,000 rows/s  9.5 MiB/s  ETA 15 s`.
    pub(super) fn plain_line(&self) -> String {
        let elapsed = human::duration(self.now.elapsed);
        if let Some((building, time)) = self.building() {
            let rows = count(self.now.rows);
            // Some databases call their first stage by the same name.
            let stage = Some(self.now.stage).filter(|stage| *stage != building);
            let stage = stage.map_or(String::new(), |stage| format!(": {stage}"));
            return format!("{elapsed} {building} {time}{stage}  {rows} rows");
        }
        let mut line = format!("{elapsed} {}", self.now.stage);
        if self.total > 0 {
            line.push_str(&format!("  {} %", human::percent(self.done, self.total)));
        }
        line.push_str(&format!("  {} rows", count(self.now.rows)));
        line.push_str(&format!("  {} rows/s", self.rows_per_s()));
        if let Some(rate) = self.bytes_per_s {
            line.push_str(&format!("  {}/s", bytes(rate as u64)));
        }
        line.push_str(&format!("  ETA {}", self.time_to_go()));
        line
    }

    fn numbers(&self) -> Vec<Vec<Span<'static>>> {
        let of = match self.total_rows {
            _ if self.now.building.is_some() => " rows, all of them".to_owned(),
            0 => " rows".to_owned(),
            total => format!(" of {} rows", count(total)),
        };
        let mut items = vec![vec![count(self.now.rows).bold(), Span::raw(of)]];
        if self.now.building.is_none() {
            items.push(vec![self.rows_per_s().bold().fg(Color::Cyan), Span::raw(" rows/s")]);
            if let Some(rate) = self.bytes_per_s {
                items.push(vec![Span::raw(format!("{}/s", bytes(rate as u64)))]);
            }
        }
        items
    }
}

impl Widget for LoadFrame<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let inner = pieces::inset(area);
        let numbers = pieces::flow(self.numbers(), inner.width);
        let mut left = inner.height;
        let mut give = |rows: u16| {
            let given = rows.min(left);
            left -= given;
            given
        };
        // The most important rows first, in case there are too few.
        let gauge = give(u16::from(self.total > 0));
        let stage = give(1);
        let first_numbers = give(1);
        let title = give(1);
        let more_numbers = give(numbers.len() as u16 - 1);

        let mut y = inner.y;
        let mut next = |height: u16| {
            let part = Rect { y, height, ..inner };
            y += height;
            part
        };
        let elapsed = Line::from(human::duration(self.now.elapsed));
        pieces::ends(Line::from(self.title.bold()), elapsed, next(title), buf);
        let aside = if let Some((building, time)) = self.building() {
            // In place of the bar, since this work has no known share.
            pieces::ends(Line::from(building.bold()), Line::from(time), next(gauge), buf);
            Line::from(format!("for {}", human::duration(self.in_stage)))
        } else {
            let permille = u128::from(self.done.min(self.total)) * 1000 / u128::from(self.total.max(1));
            pieces::gauge(permille as u16, next(gauge), buf);
            Line::from(vec!["ETA ".dim(), Span::raw(self.time_to_go())])
        };
        let stage_text = Line::from(human::printable(self.now.stage).fg(Color::Green));
        pieces::ends(stage_text, aside, next(stage), buf);
        pieces::lines(&numbers, next(first_numbers + more_numbers), buf);
    }
}

impl Frame for LoadFrame<'_> {
    fn rows(&self, width: u16) -> u16 {
        let inner = pieces::inset(Rect::new(0, 0, width, 1));
        let numbers = pieces::flow(self.numbers(), inner.width).len() as u16;
        2 + u16::from(self.total > 0) + numbers
    }
}
