//! A value of a table.

use std::borrow::Cow;

/// A value of a table. Its variant is the [`Kind`](crate::Kind) of its column, or [`Cell::Null`].
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// No value: not measured, or not known.
    Null,
    /// Text.
    Text(Cow<'a, str>),
    /// A point in time, in microseconds since 1970 (UTC).
    Time(i64),
    /// A whole number.
    Whole(i64),
    /// Any number; finite.
    Real(f64),
    /// True or false.
    Truth(bool),
    /// A count that no format of 64 bits with a sign can hold. No table keeps it: it ends the export.
    TooLarge(u64),
}

impl Cell<'_> {
    /// Returns the value as plain text, which is empty for null: numbers with all their digits and never with separators
    /// of thousands, times as RFC 3339 in UTC with six decimals.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Null => Cow::Borrowed(""),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Time(at) => Cow::Owned(rfc3339(*at)),
            Self::Whole(number) => Cow::Owned(number.to_string()),
            // The shortest text that reads back as the same number; with an exponent if it would be long.
            Self::Real(number) => Cow::Owned(format!("{number:?}")),
            Self::Truth(truth) => Cow::Borrowed(if *truth { "true" } else { "false" }),
            Self::TooLarge(number) => Cow::Owned(number.to_string()),
        }
    }

    /// Returns the value as a number; none for null and for text.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(*number as f64),
            Self::Real(number) => Some(*number),
            Self::Truth(truth) => Some(f64::from(u8::from(*truth))),
            Self::Null | Self::Text(_) | Self::Time(_) | Self::TooLarge(_) => None,
        }
    }
}

/// Returns a point in time as text of fixed width, which sorts as the times do.
fn rfc3339(at: i64) -> String {
    match jiff::Timestamp::from_microsecond(at) {
        Ok(time) => format!("{time:.6}"),
        // Beyond the year 9999, which RFC 3339 can't write.
        Err(_) => String::new(),
    }
}

impl From<u64> for Cell<'_> {
    fn from(count: u64) -> Self {
        i64::try_from(count).map_or(Self::TooLarge(count), Self::Whole)
    }
}

impl From<u32> for Cell<'_> {
    fn from(count: u32) -> Self {
        Self::Whole(count.into())
    }
}

impl From<usize> for Cell<'_> {
    fn from(count: usize) -> Self {
        Self::from(count as u64)
    }
}

impl From<i64> for Cell<'_> {
    fn from(number: i64) -> Self {
        Self::Whole(number)
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::Real(number) } else { Self::Null }
    }
}

impl From<bool> for Cell<'_> {
    fn from(truth: bool) -> Self {
        Self::Truth(truth)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Cell<'a> {
    fn from(text: &'a String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
