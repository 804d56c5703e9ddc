//! The live frame of a run, laid out into the available rows and columns.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Sparkline, SparklineBar, Widget};

use super::history::History;
use super::screen::Frame;
use super::snapshot::{Phase, RunSnapshot, Times};
use super::{human, observed, pieces, table};
use crate::figures::{count, number_within};

/// One second of a run, with its history.
pub(super) struct RunFrame<'a> {
    pub(super) title: &'a str,
    pub(super) times: Times,
    pub(super) now: &'a RunSnapshot<'a>,
    pub(super) history: &'a History,
}

/// Rows of each part of the frame.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rows {
    title: u16,
    gauge: u16,
    blank_after_gauge: u16,
    headline: u16,
    blank_after_headline: u16,
    sparkline: u16,
    blank_after_sparkline: u16,
    table: u16,
    blank_after_table: u16,
    totals: u16,
    message: u16,
}

impl Rows {
    /// Deals `available` rows out, the most important parts first.
    fn deal(available: u16, types: u16, totals: u16, gauge: u16, message: u16) -> Self {
        let mut rows = Self::default();
        let mut left = available;
        let mut give = |part: &mut u16, rows: u16| {
            let given = rows.min(left);
            *part += given;
            left -= given;
        };
        give(&mut rows.headline, 1);
        give(&mut rows.title, 1);
        give(&mut rows.message, message);
        give(&mut rows.totals, 1);
        // A header without rows is useless.
        if types > 0 {
            give(&mut rows.table, 1 + types);
        }
        if rows.table == 1 {
            rows.table = 0;
            left += 1;
        }
        let mut give = |part: &mut u16, rows: u16| {
            let given = rows.min(left);
            *part += given;
            left -= given;
        };
        give(&mut rows.gauge, gauge);
        give(&mut rows.totals, totals.saturating_sub(1));
        give(&mut rows.sparkline, 1);
        give(&mut rows.blank_after_sparkline, 1);
        give(&mut rows.blank_after_gauge, 1);
        give(&mut rows.blank_after_table, 1);
        give(&mut rows.sparkline, 2);
        give(&mut rows.blank_after_headline, 1);
        rows
    }

    fn sum(&self) -> u16 {
        let Self { title, gauge, headline, sparkline, table, totals, message, .. } = self;
        let blanks = self.blank_after_gauge
            + self.blank_after_headline
            + self.blank_after_sparkline
            + self.blank_after_table;
        title + gauge + headline + sparkline + table + totals + message + blanks
    }
}

impl RunFrame<'_> {
    fn deal(&self, available: u16, width: u16) -> Rows {
        let types = u16::try_from(self.now.per_type.len()).unwrap_or(u16::MAX - 1);
        let totals = pieces::flow(self.totals(), width).len() as u16;
        let gauge = u16::from(!self.times.window.is_zero());
        let message = u16::from(self.now.message.is_some());
        Rows::deal(available, types, totals, gauge, message)
    }

    fn clock(&self) -> Line<'static> {
        let colour = match self.now.phase {
            Phase::Connecting | Phase::Warmup => Color::Yellow,
            Phase::Measuring => Color::Green,
            Phase::Draining | Phase::Checking => Color::Blue,
        };
        let (elapsed, length) = self.times.of(self.now.phase, self.now.elapsed);
        let elapsed = human::duration(elapsed);
        let time = match length {
            Some(length) => format!(" {elapsed} / {}", human::duration(length)),
            None => format!(" {elapsed}"),
        };
        Line::from(vec![self.now.phase.name().fg(colour), Span::raw(time)])
    }

    fn headline(&self) -> Vec<Vec<Span<'static>>> {
        let count = |n: f64| number_within(n, 19);
        let peak = self.history.peak();
        // As wide as the peak, so that nothing moves sideways when the number dips.
        let width = count(peak).chars().count();
        let headline = |rate: f64, unit: &'static str| {
            vec![format!("{:>width$}", count(rate)).bold().fg(Color::Cyan), unit.bold()]
        };
        let mut items = match self.now.nopm {
            Some(nopm) => vec![
                headline(nopm, " NOPM"),
                vec![format!("{:>5}", count(self.now.tps)).bold(), Span::raw(" tx/s")],
            ],
            None => vec![headline(self.now.tps, " tx/s")],
        };
        if let Some(mean) = self.history.mean() {
            items.push(vec![format!("mean {:>width$}", count(mean)).dim()]);
        }
        if peak > 0.0 {
            items.push(vec![format!("peak {}", count(peak)).dim()]);
        }
        items
    }

    fn totals(&self) -> Vec<Vec<Span<'static>>> {
        let now = self.now;
        let alarm = Style::new().fg(Color::Red).bold();
        let style = |bad: bool| if bad { alarm } else { Style::new() };
        let item = |name: &'static str, value: String, bad: bool| {
            vec![name.dim(), Span::raw(" "), Span::styled(value, style(bad))]
        };
        let sessions = format!("{}/{}", now.sessions_connected, now.sessions_total);
        let mut items = vec![
            item("aborts", count(now.aborts), false),
            item("errors", count(now.errors), now.errors > 0),
            item("unknown", count(now.unknown), now.unknown > 0),
            // While sessions connect, missing ones are no alarm.
            item(
                "sessions",
                sessions,
                now.phase == Phase::Measuring && now.sessions_connected < now.sessions_total,
            ),
        ];
        if let Some(waiting) = now.queue_length {
            items.push(item("queue", count(waiting), false));
        }
        items
    }

    /// Draws the newest seconds, from zero up to the highest of them; those of the warm-up are dim.
    fn sparkline(&self, area: Rect, buf: &mut Buffer) {
        /// Value of a full bar; small, because ratatui multiplies in `u64`.
        const FULL: f64 = 1000.0;
        let shown = self.history.last(usize::from(area.width));
        let peak = shown.clone().map(|s| s.rate).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let bars: Vec<SparklineBar> = shown
            .map(|sample| {
                let style = if sample.measured { Style::new().fg(Color::Cyan) } else { Style::new().dim() };
                SparklineBar::from((sample.rate / peak * FULL) as u64).style(Some(style))
            })
            .collect();
        Sparkline::default().data(bars).max(FULL as u64).render(area, buf);
    }
}

impl Widget for RunFrame<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let inner = pieces::inset(area);
        let rows = self.deal(inner.height, inner.width);
        let mut y = inner.y;
        let mut next = |height: u16| {
            let part = Rect { y, height, ..inner };
            y += height;
            part
        };
        pieces::ends(Line::from(self.title.bold()), self.clock(), next(rows.title), buf);
        let measured = self.now.elapsed.saturating_sub(self.times.warmup);
        let permille = per_thousand(measured, self.times.window);
        pieces::gauge(permille, next(rows.gauge), buf);
        next(rows.blank_after_gauge);
        pieces::lines(&pieces::flow(self.headline(), inner.width), next(rows.headline), buf);
        next(rows.blank_after_headline);
        self.sparkline(next(rows.sparkline), buf);
        next(rows.blank_after_sparkline);
        let mut table_area = next(rows.table);
        if !self.now.observed.is_empty() {
            let (left, right) = observed::beside(table_area);
            observed::render(self.now.observed, right, buf);
            table_area = left;
        }
        if !table_area.is_empty() {
            table::render(self.now.per_type, table_area, buf);
        }
        next(rows.blank_after_table);
        pieces::lines(&pieces::flow(self.totals(), inner.width), next(rows.totals), buf);
        if let Some(message) = self.now.message {
            let message = Line::from(human::printable(message).fg(Color::Yellow));
            pieces::ends(message, Line::default(), next(rows.message), buf);
        }
    }
}

impl Frame for RunFrame<'_> {
    fn rows(&self, width: u16) -> u16 {
        self.deal(u16::MAX, pieces::inset(Rect::new(0, 0, width, 1)).width).sum()
    }
}

fn per_thousand(elapsed: Duration, total: Duration) -> u16 {
    let (elapsed, total) = (elapsed.min(total).as_millis(), total.as_millis());
    (elapsed * 1000).checked_div(total).unwrap_or(0) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_shows_the_headline_and_more_rows_come_in_order_of_weight() {
        assert_eq!(Rows::deal(1, 5, 1, 1, 1), Rows { headline: 1, ..Rows::default() });
        assert_eq!(
            Rows::deal(4, 5, 1, 1, 1),
            Rows { headline: 1, title: 1, message: 1, totals: 1, ..Rows::default() }
        );
        let nine = Rows::deal(9, 5, 2, 1, 0);
        assert_eq!((nine.table, nine.gauge), (6, 0));
    }

    #[test]
    fn no_deal_exceeds_what_is_there_nor_leaves_a_lonely_table_header() {
        for available in 0..40 {
            for types in [0, 1, 5, 60] {
                let rows = Rows::deal(available, types, 2, 1, 1);
                assert!(rows.sum() <= available, "{available} rows: {rows:?}");
                assert_ne!(rows.table, 1);
            }
        }
    }
}
