//! The pieces that both live frames are made of: a line with two ends, items that wrap, a gauge.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{LineGauge, Widget};

/// Blank columns between two items of a line.
const GAP: usize = 3;

/// Returns the frame's area without the blank column at its left, which sets it off from the shell's output.
pub(super) fn inset(area: Rect) -> Rect {
    let margin = u16::from(area.width > 1);
    Rect { x: area.x + margin, width: area.width - margin, ..area }
}

/// Lays items out side by side, on as many lines as the width needs.
pub(super) fn flow(items: Vec<Vec<Span<'static>>>, width: u16) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = Vec::new();
    let mut used = 0;
    for item in items {
        let wide: usize = item.iter().map(Span::width).sum();
        match lines.last_mut() {
            Some(line) if used + GAP + wide <= usize::from(width) => {
                line.push_span(Span::raw(" ".repeat(GAP)));
                line.spans.extend(item);
                used += GAP + wide;
            }
            _ => {
                lines.push(Line::from(item));
                used = wide;
            }
        }
    }
    lines
}

/// Draws as many of the lines as the area has rows.
pub(super) fn lines(lines: &[Line<'_>], area: Rect, buf: &mut Buffer) {
    for (line, y) in lines.iter().zip(area.y..area.bottom()) {
        buf.set_line(area.x, y, line, area.width);
    }
}

/// Draws a text at the left and one at the right; the left one is cut off with `…` where they would meet.
pub(super) fn ends(left: Line<'_>, right: Line<'_>, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let right_width = (right.width() as u16).min(area.width);
    let room = match right_width {
        0 => area.width,
        taken => area.width.saturating_sub(taken + 1),
    };
    let (end, _) = buf.set_line(area.x, area.y, &left, room);
    if left.width() > usize::from(room) && end > area.x {
        buf.set_string(end - 1, area.y, "…", Style::new());
    }
    buf.set_line(area.right() - right_width, area.y, &right, right_width);
}

/// Draws a bar that is `permille` thousandths full, with the percentage in front.
pub(super) fn gauge(permille: u16, area: Rect, buf: &mut Buffer) {
    LineGauge::default()
        .ratio(f64::from(permille.min(1000)) / 1000.0)
        .label(format!("{:>3} %", permille / 10))
        .filled_symbol("━")
        .unfilled_symbol("─")
        .filled_style(Style::new().fg(Color::Cyan))
        .unfilled_style(Style::new().dim())
        .render(area, buf);
}
