//! The pane of observed values beside the table: the newest sample of those that tell most.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Stylize;
use ratatui::text::Line;

use super::{human, pieces};
use crate::observed::with_unit;

/// Least width of a frame with a pane.
const FRAME_MIN: u16 = 90;

/// Width of the pane.
const WIDTH: u16 = 40;

/// Values that come first, by their names. The others follow in the order of the snapshot.
const FIRST: [&str; 8] = [
    "cpu.user",
    "cpu.system",
    "cpu.iowait",
    "disk.written_bytes",
    "pg_stat_wal.wal_bytes",
    "pg_stat_activity.wait.Lock",
    "Innodb_row_lock_waits",
    "memory.available",
];

/// The newest sample of an observed value.
#[derive(Debug, Clone, Copy)]
pub struct ObservedNow<'a> {
    /// Name.
    pub name: &'a str,
    /// Unit, as [`Observed`](crate::observed::Observed) has it.
    pub unit: &'a str,
    /// Value; none without a sample.
    pub value: Option<f64>,
}

/// Returns the area of the table and, in a wide frame, that of the pane beside it.
pub(super) fn beside(area: Rect) -> (Rect, Rect) {
    let width = if area.width < FRAME_MIN { 0 } else { WIDTH };
    let table = Rect { width: area.width - width, ..area };
    (table, Rect { x: table.right(), width, ..area })
}

/// Draws a header and as many values as fit.
pub(super) fn render(values: &[ObservedNow<'_>], area: Rect, buf: &mut Buffer) {
    if values.is_empty() || area.is_empty() {
        return;
    }
    let mut values = values.to_vec();
    values.sort_by_key(|of| FIRST.iter().position(|name| *name == of.name).unwrap_or(FIRST.len()));
    pieces::ends(Line::from("observed".dim()), Line::from("now".dim()), Rect { height: 1, ..area }, buf);
    for (of, y) in values.iter().zip(area.y + 1..area.bottom()) {
        let name = human::printable(of.name);
        let value = human::printable(&with_unit(of.value, of.unit));
        pieces::ends(Line::from(name), Line::from(value), Rect { y, height: 1, ..area }, buf);
    }
}
