//! Lines and frames on the terminal of standard error.
//!
//! Frames are drawn into a ratatui [`Buffer`], but written by [`Screen`] itself. ratatui's own inline viewport
//! addresses cells absolutely, so it must ask the terminal where the cursor is and read the answer from
//! standard input, which hangs or fails as soon as that is a pipe, and would steal what the user types. Here
//! the cursor only moves relative to the frame above it, so nothing needs to be asked.
//!
//! A frame is one write, within a synchronised update if the terminal supports it, each row overwritten in
//! place and cut off after its last character. Hence no flicker, and no state left over between two writes.

use std::fmt::Write as _;
use std::io::Write;

use ratatui::buffer::{Buffer, Cell, CellWidth};
use ratatui::layout::{Rect, Size};
use ratatui::style::{Color, Modifier};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::{Style, human};

/// Greatest width of a frame: a table spread over 250 columns is hard to read.
pub(super) const WIDTH_MAX: u16 = 100;

/// A widget that can be drawn into any number of rows.
pub(super) trait Frame: Widget {
    /// Returns the rows that it needs at this width.
    fn rows(&self, width: u16) -> u16;
}

/// Returns columns and rows of the terminal; none without a terminal or a known size.
pub(super) fn terminal_size() -> Option<Size> {
    // Not `terminal::size`, which starts a `tput` process if the kernel does not know the size.
    let size = ratatui::crossterm::terminal::window_size().ok()?;
    (size.columns > 0 && size.rows > 0).then_some(Size::new(size.columns, size.rows))
}

/// The output, and the frame that stands on it.
pub(super) struct Screen {
    out: Box<dyn Write + Send>,
    size: Box<dyn FnMut() -> Option<Size> + Send>,
    style: Style,
    /// True if colours are written; `NO_COLOR` turns them off, bold and dim remain.
    colours: bool,
    /// Last known size of the terminal.
    last_size: Size,
    /// Width in columns of each row that stands on the terminal; the cursor is on the row below.
    standing: Vec<u16>,
    last_frame: Option<Buffer>,
}

impl Screen {
    /// A screen on standard error.
    pub(super) fn stderr(style: Style) -> Self {
        let colours = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        Self::new(style, Box::new(std::io::stderr()), Box::new(terminal_size), colours)
    }

    /// A screen on any writer, with the size that `size` returns.
    pub(super) fn new(
        style: Style,
        out: Box<dyn Write + Send>,
        size: Box<dyn FnMut() -> Option<Size> + Send>,
        colours: bool,
    ) -> Self {
        let last_size = Size::new(80, 24);
        Self { out, size, style, colours, last_size, standing: Vec::new(), last_frame: None }
    }

    /// Returns the current style: the given one, or [`Style::Quiet`] once a write has failed.
    pub(super) fn style(&self) -> Style {
        self.style
    }

    /// Writes a line that stays. A live frame moves below it.
    pub(super) fn line(&mut self, text: &str) {
        let text = human::printable(text);
        match self.style {
            Style::Quiet => {}
            Style::Plain => self.write(&format!("{text}\n")),
            Style::Live => {
                self.measure();
                let (mut bytes, _) = self.begin();
                // Over the rows of the frame, wrapping as it may; the frame then follows below.
                let _ = write!(bytes, "\x1b[?7h{text}");
                // As in `rows`: not behind a full last column.
                let width = Line::raw(&text).width();
                if width == 0 || !width.is_multiple_of(usize::from(self.last_size.width.max(1))) {
                    bytes.push_str("\x1b[K");
                }
                bytes.push_str("\r\n\x1b[?7l");
                if let Some(frame) = self.last_frame.take() {
                    self.rows(&frame, &mut bytes);
                    self.last_frame = Some(frame);
                }
                self.end(bytes);
            }
        }
    }

    /// Paints the frame in place of the one that stands. Does nothing unless the style is [`Style::Live`].
    pub(super) fn paint(&mut self, frame: impl Frame) {
        if self.style != Style::Live {
            return;
        }
        self.measure();
        let width = self.last_size.width.min(WIDTH_MAX);
        // The row below the frame belongs to the cursor.
        let height = frame.rows(width).min(self.last_size.height.saturating_sub(1)).max(1);
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        frame.render(buffer.area, &mut buffer);
        let (mut bytes, _) = self.begin();
        self.rows(&buffer, &mut bytes);
        self.last_frame = Some(buffer);
        self.end(bytes);
    }

    /// Erases the live frame.
    pub(super) fn clear(&mut self) {
        self.last_frame = None;
        if self.style == Style::Live && !self.standing.is_empty() {
            self.measure();
            let (mut bytes, rows) = self.begin();
            // Row by row: erasing from the top of the screen downwards makes some terminals (tmux) keep the
            // erased text in their scrollback.
            for _ in 0..rows {
                bytes.push_str("\x1b[K\x1b[B");
            }
            let _ = write!(bytes, "\x1b[J\x1b[{rows}A");
            self.standing.clear();
            self.end(bytes);
        }
    }

    fn measure(&mut self) {
        if let Some(size) = (self.size)() {
            self.last_size = size;
        }
    }

    /// The start of a repaint: no cursor, no wrapping (the terminal may have shrunk since it was measured), and up
    /// to the first standing row. Also returns the number of rows up.
    fn begin(&self) -> (String, u32) {
        let mut bytes = String::from("\x1b[?2026h\x1b[?25l\x1b[?7l\r");
        // A terminal that has become narrower has wrapped the rows that no longer fit.
        let columns = self.last_size.width.max(1);
        let up: u32 = self.standing.iter().map(|&width| u32::from(width.div_ceil(columns).max(1))).sum();
        if up > 0 {
            let _ = write!(bytes, "\x1b[{up}A");
        }
        (bytes, up)
    }

    /// The rows of a frame, each cut off after its last visible character, and nothing below them.
    fn rows(&mut self, frame: &Buffer, bytes: &mut String) {
        self.standing.clear();
        for row in frame.content.chunks(usize::from(frame.area.width.max(1))) {
            let end = row.iter().rposition(|cell| !is_blank(cell)).map_or(0, |last| last + 1);
            let mut plain = true;
            let mut previous: Option<&Cell> = None;
            let mut x = 0;
            while x < end {
                let cell = &row[x];
                if previous.is_none_or(|p| (p.fg, p.bg, p.modifier) != (cell.fg, cell.bg, cell.modifier)) {
                    plain = self.select(cell, plain, bytes);
                }
                bytes.push_str(cell.symbol());
                previous = Some(cell);
                // The cell behind a double-width character is covered by it.
                x += usize::from(cell.cell_width().max(1));
            }
            if !plain {
                bytes.push_str("\x1b[m");
            }
            // With the last column written the cursor still stands on it, and this would erase it.
            if x < usize::from(self.last_size.width) {
                bytes.push_str("\x1b[K");
            }
            bytes.push_str("\r\n");
            self.standing.push(x as u16);
        }
        bytes.push_str("\x1b[J");
    }

    /// Selects the style of a cell; returns true if that is the terminal's default.
    fn select(&self, cell: &Cell, was_plain: bool, bytes: &mut String) -> bool {
        let mut codes = String::new();
        for (modifier, code) in [
            (Modifier::BOLD, ";1"),
            (Modifier::DIM, ";2"),
            (Modifier::UNDERLINED, ";4"),
            (Modifier::REVERSED, ";7"),
        ] {
            if cell.modifier.contains(modifier) {
                codes.push_str(code);
            }
        }
        if self.colours {
            codes.push_str(foreground(cell.fg));
        }
        if !(codes.is_empty() && was_plain) {
            let _ = write!(bytes, "\x1b[0{codes}m");
        }
        codes.is_empty()
    }

    /// Ends a repaint: switches everything on again that [`Screen::begin`] switched off.
    fn end(&mut self, mut bytes: String) {
        bytes.push_str("\x1b[?7h\x1b[?25h\x1b[?2026l");
        self.write(&bytes);
    }

    /// Writes once. A lost terminal must not end a benchmark: after a failed write nothing is shown any more.
    fn write(&mut self, text: &str) {
        if self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).is_err() {
            self.style = Style::Quiet;
        }
    }
}

impl Drop for Screen {
    /// Restores cursor and wrapping, in case a write was cut short; the last frame stays.
    fn drop(&mut self) {
        if self.style == Style::Live && self.last_frame.is_some() {
            self.write("\x1b[?7h\x1b[?25h\x1b[?2026l");
        }
    }
}

fn is_blank(cell: &Cell) -> bool {
    // A foreground colour does not show on a space, but an underline or a background does.
    cell.symbol() == " " && !cell.modifier.intersects(Modifier::UNDERLINED | Modifier::REVERSED)
}

/// Returns the code of a foreground colour. Frames use only the terminal's own palette, which fits light and dark
/// backgrounds.
fn foreground(colour: Color) -> &'static str {
    match colour {
        Color::Red => ";31",
        Color::Green => ";32",
        Color::Yellow => ";33",
        Color::Blue => ";34",
        Color::Magenta => ";35",
        Color::Cyan => ";36",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Rows of the given text, and no wish for more.
    struct Text(Vec<String>);

    impl Widget for Text {
        fn render(self, area: Rect, buf: &mut Buffer) {
            for (y, line) in self.0.iter().take(usize::from(area.height)).enumerate() {
                buf.set_string(0, y as u16, line, ratatui::style::Style::new());
            }
        }
    }

    impl Frame for Text {
        fn rows(&self, _width: u16) -> u16 {
            self.0.len() as u16
        }
    }

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Sink {
        fn take(&self) -> String {
            String::from_utf8(std::mem::take(&mut self.0.lock().unwrap())).unwrap()
        }
    }

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A pipe whose reader has gone.
    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn text(lines: &[&str]) -> Text {
        Text(lines.iter().map(|&l| l.to_owned()).collect())
    }

    fn screen(width: u16, height: u16) -> (Screen, Sink) {
        let sink = Sink::default();
        let size = Box::new(move || Some(Size::new(width, height)));
        (Screen::new(Style::Live, Box::new(sink.clone()), size, true), sink)
    }

    #[test]
    fn every_frame_leaves_the_cursor_visible_and_below_it() {
        let (mut screen, sink) = screen(20, 10);
        screen.paint(text(&["one", "two"]));
        let first = sink.take();
        assert!(first.ends_with("one\x1b[K\r\ntwo\x1b[K\r\n\x1b[J\x1b[?7h\x1b[?25h\x1b[?2026l"), "{first:?}");
        assert!(!first.contains("A\x1b"), "nothing stood before: {first:?}");
        screen.paint(text(&["three"]));
        assert!(sink.take().contains("\r\x1b[2Athree"));
    }

    #[test]
    fn a_full_row_is_not_erased_at_its_last_column() {
        let (mut screen, sink) = screen(3, 10);
        screen.paint(text(&["abc"]));
        assert!(sink.take().contains("abc\r\n"));
    }

    #[test]
    fn a_frame_never_exceeds_the_terminal_and_leaves_a_row_for_the_cursor() {
        for (height, rows) in [(4, 3), (2, 1), (1, 1)] {
            let (mut screen, sink) = screen(10, height);
            screen.paint(text(&["a", "b", "c", "d", "e"]));
            assert_eq!(sink.take().matches("\r\n").count(), rows, "height {height}");
        }
    }

    #[test]
    fn rows_that_a_narrower_terminal_wrapped_are_repainted_from_their_first_row() {
        let sink = Sink::default();
        let sizes = Arc::new(Mutex::new(Size::new(20, 10)));
        let current = sizes.clone();
        let size = Box::new(move || Some(*current.lock().unwrap()));
        let mut screen = Screen::new(Style::Live, Box::new(sink.clone()), size, true);
        screen.paint(text(&["12345678901234567890", "x"]));
        sink.take();
        *sizes.lock().unwrap() = Size::new(8, 10);
        screen.paint(text(&["y"]));
        assert!(sink.take().contains("\x1b[4A"), "3 rows for the first line, 1 for the second");
    }

    #[test]
    fn a_line_goes_above_the_frame() {
        let (mut screen, sink) = screen(20, 10);
        screen.paint(text(&["frame"]));
        sink.take();
        screen.line("note\n");
        let seen = sink.take();
        assert!(seen.contains("\x1b[1A\x1b[?7hnote\x1b[K\r\n\x1b[?7lframe"), "{seen:?}");
    }

    #[test]
    fn clearing_leaves_nothing_and_dropping_leaves_the_last_frame() {
        let (mut cleared, sink) = screen(20, 10);
        cleared.paint(text(&["frame"]));
        sink.take();
        cleared.clear();
        assert_eq!(
            sink.take(),
            "\x1b[?2026h\x1b[?25l\x1b[?7l\r\x1b[1A\x1b[K\x1b[B\x1b[J\x1b[1A\x1b[?7h\x1b[?25h\x1b[?2026l"
        );
        drop(cleared);
        assert_eq!(sink.take(), "");

        let (mut dropped, sink) = screen(20, 10);
        dropped.paint(text(&["frame"]));
        sink.take();
        drop(dropped);
        assert_eq!(sink.take(), "\x1b[?7h\x1b[?25h\x1b[?2026l");
    }

    #[test]
    fn a_panic_leaves_the_terminal_usable() {
        let (mut screen, sink) = screen(20, 10);
        let panicked = std::thread::spawn(move || {
            screen.paint(text(&["frame"]));
            panic!("of the caller");
        });
        assert!(panicked.join().is_err());
        let seen = sink.take();
        assert!(seen.rfind("\x1b[?25h") > seen.rfind("\x1b[?25l"));
    }

    #[test]
    fn a_closed_pipe_turns_the_view_quiet() {
        for style in [Style::Live, Style::Plain] {
            let mut screen = Screen::new(style, Box::new(Closed), Box::new(|| None), true);
            screen.line("lost");
            assert_eq!(screen.style(), Style::Quiet);
            screen.paint(text(&["lost too"]));
            screen.clear();
        }
    }

    #[test]
    fn without_colours_bold_remains() {
        struct Loud;
        impl Widget for Loud {
            fn render(self, _: Rect, buf: &mut Buffer) {
                let style = ratatui::style::Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
                buf.set_string(0, 0, "loud", style);
            }
        }
        impl Frame for Loud {
            fn rows(&self, _: u16) -> u16 {
                1
            }
        }
        for (colours, seen) in [(true, "\x1b[0;1;31mloud\x1b[m"), (false, "\x1b[0;1mloud\x1b[m")] {
            let sink = Sink::default();
            let size = Box::new(|| Some(Size::new(10, 5)));
            let mut screen = Screen::new(Style::Live, Box::new(sink.clone()), size, colours);
            screen.paint(Loud);
            let written = sink.take();
            assert!(written.contains(seen), "{written:?}");
        }
    }

    #[test]
    fn double_width_characters_take_two_columns() {
        let (mut screen, sink) = screen(10, 5);
        screen.paint(text(&["日本x"]));
        assert!(sink.take().contains("日本x\x1b[K"));
        assert_eq!(screen.standing, [5]);
    }
}
