//! The fields of a line of CSV.

use crate::error::Unfit;
use std::borrow::Cow;

/// Most columns of a table.
const MOST: usize = 21;

/// The places of the fields of a line. It is reused from line to line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields {
    /// Begin and end of each field in the line, without quotes.
    ends: [(u32, u32); MOST],
    /// Fields in quotes, and those of them with doubled quotes within: a bit each.
    quoted: u32,
    doubled: u32,
    count: usize,
}

impl Fields {
    /// Splits a line without its end.
    ///
    /// # Errors
    /// A quote that has no end on the line, or text behind one.
    pub(crate) fn split(&mut self, line: &str) -> Result<(), Unfit> {
        (self.quoted, self.doubled, self.count) = (0, 0, 0);
        if line.len() > u32::MAX as usize {
            return Err(Unfit::from("is too long for a row"));
        }
        let bytes = line.as_bytes();
        if memchr::memchr(b'"', bytes).is_some() {
            return self.split_quoted(bytes);
        }
        let mut from = 0;
        for to in memchr::memchr_iter(b',', bytes) {
            self.push(from, to);
            from = to + 1;
        }
        self.push(from, bytes.len());
        Ok(())
    }

    fn push(&mut self, from: usize, to: usize) {
        if let Some(field) = self.ends.get_mut(self.count) {
            *field = (from as u32, to as u32);
        }
        self.count += 1;
    }

    /// Splits a line that has quotes.
    fn split_quoted(&mut self, bytes: &[u8]) -> Result<(), Unfit> {
        let mut at = 0;
        loop {
            let (from, to, next) = match bytes.get(at) {
                Some(b'"') => {
                    let end = self.end_of_quoted(bytes, at + 1)?;
                    (at + 1, end, end + 1)
                }
                _ => {
                    let length = bytes[at..].iter().position(|byte| *byte == b',');
                    let end = length.map_or(bytes.len(), |length| at + length);
                    (at, end, end)
                }
            };
            self.push(from, to);
            match bytes.get(next) {
                None => return Ok(()),
                Some(b',') => at = next + 1,
                Some(_) => return Err(Unfit::from("has text behind a quoted field")),
            }
        }
    }

    /// Returns the place of the quote that ends a field.
    fn end_of_quoted(&mut self, bytes: &[u8], from: usize) -> Result<usize, Unfit> {
        let bit = 1_u32.checked_shl(self.count as u32).unwrap_or(0);
        self.quoted |= bit;
        let mut at = from;
        loop {
            match (bytes.get(at), bytes.get(at + 1)) {
                (None, _) => return Err(Unfit::from("has a quoted field that does not end on its line")),
                (Some(b'"'), Some(b'"')) => {
                    self.doubled |= bit;
                    at += 2;
                }
                (Some(b'"'), _) => return Ok(at),
                _ => at += 1,
            }
        }
    }

    /// Returns the number of fields.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns a field of a line that was split, and whether it had quotes.
    pub(crate) fn get<'a>(&self, line: &'a str, field: usize) -> (Cow<'a, str>, bool) {
        let (from, to) = self.ends.get(field).copied().unwrap_or_default();
        let text = line.get(from as usize..to as usize).unwrap_or_default();
        let bit = 1_u32.checked_shl(field as u32).unwrap_or(0);
        let text = if self.doubled & bit != 0 { text.replace("\"\"", "\"").into() } else { text.into() };
        (text, self.quoted & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Vec<(String, bool)>, Unfit> {
        let mut fields = Fields::default();
        fields.split(line)?;
        Ok((0..fields.count()).map(|n| fields.get(line, n)).map(|(text, q)| (text.into_owned(), q)).collect())
    }

    #[test]
    fn a_line_has_one_field_more_than_commas_outside_of_quotes() {
        let field = |text: &str, quoted| (text.to_owned(), quoted);
        assert_eq!(of("a,,b").unwrap(), [field("a", false), field("", false), field("b", false)]);
        assert_eq!(
            of("\"\",\"x,\"\"y\"\"\",").unwrap(),
            [field("", true), field("x,\"y\"", true), field("", false)]
        );
        assert_eq!(of(&"1,".repeat(40)).unwrap().len(), 41);
    }

    #[test]
    fn quotes_that_do_not_end_or_have_text_behind_them_are_rejected() {
        assert!(of("\"open").unwrap_err().to_string().contains("does not end on its line"));
        assert!(of("\"a\"b,c").unwrap_err().to_string().contains("text behind"));
    }
}
