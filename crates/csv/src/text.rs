//! Rows as lines of CSV.
//!
//! Columns are in the order of the schema, with commas between them. A text has quotes only if it is empty or has a comma,
//! a quote or the end of a line in it. A null is an empty field without quotes. Points in time are in UTC, with six
//! digits after the second.

use lydite_tpcc::rows::{ColumnSink, Row};
use lydite_tpcc::{Cents, Rate, Timestamp};

/// Writer of rows into a buffer.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) buffer: Vec<u8>,
    /// True if the line has a field.
    begun: bool,
    /// Last point in time and its text. All rows of a load have the same.
    epoch: (Timestamp, String),
}

impl Lines {
    /// Adds a row.
    pub(crate) fn row<R: Row>(&mut self, row: &R) {
        self.begun = false;
        row.emit(self);
        self.buffer.push(b'\n');
    }

    fn field(&mut self) -> &mut Vec<u8> {
        if self.begun {
            self.buffer.push(b',');
        }
        self.begun = true;
        &mut self.buffer
    }

    fn decimal(&mut self, value: i64, digits: usize) {
        let out = self.field();
        if value < 0 {
            out.push(b'-');
        }
        let (value, unit) = (value.unsigned_abs(), 10_u64.pow(digits as u32));
        put(value / unit, 1, out);
        out.push(b'.');
        put(value % unit, digits, out);
    }
}

/// Returns a point in time as the files have it.
pub(crate) fn time_text(time: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(time.0)
        .map(|time| time.strftime("%Y-%m-%d %H:%M:%S%.6f").to_string())
        .unwrap_or_default()
}

/// Writes a number with at least `width` digits.
fn put(mut value: u64, width: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while value > 0 {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
    }
    out.extend_from_slice(&digits[at.min(digits.len() - width)..]);
}

impl ColumnSink for Lines {
    fn int(&mut self, value: i64) {
        let out = self.field();
        if value < 0 {
            out.push(b'-');
        }
        put(value.unsigned_abs(), 1, out);
    }

    fn money(&mut self, value: Cents) {
        self.decimal(value.0, 2);
    }

    fn rate(&mut self, value: Rate) {
        self.decimal(value.0.into(), 4);
    }

    fn text(&mut self, value: &str) {
        let out = self.field();
        if !value.is_empty() && !value.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
            out.extend_from_slice(value.as_bytes());
            return;
        }
        out.push(b'"');
        for byte in value.bytes() {
            if byte == b'"' {
                out.push(b'"');
            }
            out.push(byte);
        }
        out.push(b'"');
    }

    fn time(&mut self, value: Timestamp) {
        if self.epoch.1.is_empty() || self.epoch.0 != value {
            self.epoch = (value, time_text(value));
        }
        let text = std::mem::take(&mut self.epoch.1);
        self.field().extend_from_slice(text.as_bytes());
        self.epoch.1 = text;
    }

    fn null(&mut self) {
        self.field();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_the_book_says() {
        let mut lines = Lines::default();
        lines.int(-7);
        lines.int(0);
        lines.money(Cents(-1_000));
        lines.money(Cents(5));
        lines.rate(Rate(2_000));
        lines.text("plain");
        lines.text("a,\"b\"");
        lines.text("");
        lines.null();
        lines.time(Timestamp(1_700_000_000_000_001));
        let text = String::from_utf8(lines.buffer).expect("text");
        assert_eq!(text, "-7,0,-10.00,0.05,0.2000,plain,\"a,\"\"b\"\"\",\"\",,2023-11-14 22:13:20.000001");
    }
}
