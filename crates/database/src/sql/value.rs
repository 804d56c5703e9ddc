//! Parameters and result rows of statements.

use crate::sql::sql_error::SqlError;
use lydite_tpcc::text::Text;
use lydite_tpcc::{Cents, Rate, Timestamp};
use std::ops::Range;

/// A parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A whole number of any width.
    Int(i64),
    /// A whole number or null.
    OptionalInt(Option<i64>),
    /// An amount of money.
    Money(Cents),
    /// A text.
    Text(&'a str),
    /// A text or null.
    OptionalText(Option<&'a str>),
    /// A point in time.
    Time(Timestamp),
    /// An array of whole numbers (array binding).
    Ints(&'a [i32]),
    /// An array of amounts (array binding).
    Monies(&'a [Cents]),
}

/// A field of a result row.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// SQL's null.
    Null,
    /// A whole number. An amount in its smallest unit if the database has no exact decimals.
    Int(i64),
    /// An exact decimal in ten-thousandths.
    Decimal(i64),
    /// An exact decimal in hundredths that is too large for ten-thousandths.
    Large(i64),
    /// A text, as a range of the rows' text buffer.
    Text(Range<usize>),
    /// Microseconds since 1970.
    Time(i64),
    /// True or false.
    Bool(bool),
    /// An array, as a range of the rows' element buffer.
    Array(Range<usize>),
}

/// Returns a field in words, for messages. `text` is the buffer of texts.
fn in_words(field: Option<&Field>, text: &str) -> String {
    match field {
        None => "missing".into(),
        Some(Field::Null) => "NULL".into(),
        Some(Field::Int(value)) => value.to_string(),
        Some(Field::Decimal(value)) => format!("{value} ten-thousandths"),
        Some(Field::Large(value)) => Cents(*value).to_string(),
        Some(Field::Text(range)) => format!("{:?}", text.get(range.clone()).unwrap_or_default()),
        Some(Field::Time(_)) => "a time".into(),
        Some(Field::Bool(value)) => value.to_string(),
        Some(Field::Array(_)) => "an array".into(),
    }
}

impl Field {
    /// Makes an exact decimal. `None` if it is too large.
    pub fn of_ten_thousandths(value: i128) -> Option<Self> {
        match i64::try_from(value) {
            Ok(value) => Some(Self::Decimal(value)),
            Err(_) if value % 100 == 0 => i64::try_from(value / 100).ok().map(Self::Large),
            Err(_) => None,
        }
    }

    /// Reads an exact decimal. `None` if the text is not a number, has more than four decimals, or is too large.
    pub fn of_decimal(text: &str) -> Option<Self> {
        parse_decimal(text).and_then(Self::of_ten_thousandths)
    }
}

/// Rows that a statement returned. The session reuses them for later statements, so that reading allocates nothing once
/// they have grown. The methods that read a field return [`SqlError::Decode`] if the field has another type.
#[derive(Debug, Default)]
pub struct Rows {
    width: usize,
    fields: Vec<Field>,
    elements: Vec<Field>,
    text: String,
    affected: u64,
}

impl Rows {
    /// Empties the rows for a result of `width` columns.
    pub fn reset(&mut self, width: usize) {
        self.width = width;
        self.fields.clear();
        self.elements.clear();
        self.text.clear();
        self.affected = 0;
    }

    /// Adds the next field, row by row.
    pub fn push(&mut self, field: Field) {
        self.fields.push(field);
    }

    /// Stores a text and returns its field.
    pub fn text_field(&mut self, text: &str) -> Field {
        let start = self.text.len();
        self.text.push_str(text);
        Field::Text(start..self.text.len())
    }

    /// Stores the elements of an array and returns its field.
    pub fn array_field(&mut self, elements: impl Iterator<Item = Field>) -> Field {
        let start = self.elements.len();
        self.elements.extend(elements);
        Field::Array(start..self.elements.len())
    }

    /// Returns the number of rows that the statement changed.
    pub fn affected(&self) -> u64 {
        self.affected
    }

    /// Sets the number of rows that the statement changed.
    pub fn set_affected(&mut self, affected: u64) {
        self.affected = affected;
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.fields.len().checked_div(self.width).unwrap_or(0)
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a field; `None` outside of the rows.
    pub fn field(&self, row: usize, column: usize) -> Option<&Field> {
        if column >= self.width {
            return None;
        }
        self.fields.get(row * self.width + column)
    }

    fn wrong(&self, row: usize, column: usize, wanted: &str) -> SqlError {
        SqlError::Decode(format!(
            "column {column} of row {row} is {}, not {wanted}: was the schema changed by hand?",
            in_words(self.field(row, column), &self.text)
        ))
    }

    /// True if the field is null.
    pub fn is_null(&self, row: usize, column: usize) -> bool {
        matches!(self.field(row, column), Some(Field::Null))
    }

    /// Reads a whole number.
    pub fn int<T: TryFrom<i64>>(&self, row: usize, column: usize) -> Result<T, SqlError> {
        let value = match self.field(row, column) {
            Some(Field::Int(value)) => Some(*value),
            Some(Field::Decimal(value)) if value % 10_000 == 0 => Some(value / 10_000),
            Some(Field::Large(value)) if value % 100 == 0 => Some(value / 100),
            _ => None,
        };
        value
            .and_then(|value| T::try_from(value).ok())
            .ok_or_else(|| self.wrong(row, column, "a whole number"))
    }

    /// Reads a whole number or null.
    pub fn optional_int<T: TryFrom<i64>>(&self, row: usize, column: usize) -> Result<Option<T>, SqlError> {
        if self.is_null(row, column) { Ok(None) } else { self.int(row, column).map(Some) }
    }

    /// Reads an amount of money.
    pub fn money(&self, row: usize, column: usize) -> Result<Cents, SqlError> {
        self.field(row, column).and_then(money).ok_or_else(|| self.wrong(row, column, "an amount"))
    }

    /// Reads a tax or discount.
    pub fn rate(&self, row: usize, column: usize) -> Result<Rate, SqlError> {
        match self.field(row, column) {
            Some(Field::Int(value) | Field::Decimal(value)) => i32::try_from(*value).ok().map(Rate),
            _ => None,
        }
        .ok_or_else(|| self.wrong(row, column, "a rate"))
    }

    /// Reads a text.
    pub fn text(&self, row: usize, column: usize) -> Result<&str, SqlError> {
        match self.field(row, column) {
            Some(Field::Text(range)) => Ok(&self.text[range.clone()]),
            _ => Err(self.wrong(row, column, "a text")),
        }
    }

    /// Reads a text as wide as its column.
    pub fn fixed<const N: usize>(&self, row: usize, column: usize) -> Result<Text<N>, SqlError> {
        Text::from(self.text(row, column)?)
            .map_err(|_| self.wrong(row, column, "a text that fits its column"))
    }

    /// Reads a point in time.
    pub fn time(&self, row: usize, column: usize) -> Result<Timestamp, SqlError> {
        match self.field(row, column) {
            Some(Field::Time(value)) => Some(Timestamp(*value)),
            Some(Field::Text(range)) => parse_time(&self.text[range.clone()]),
            _ => None,
        }
        .ok_or_else(|| self.wrong(row, column, "a point in time"))
    }

    /// Reads a point in time or null.
    pub fn optional_time(&self, row: usize, column: usize) -> Result<Option<Timestamp>, SqlError> {
        if self.is_null(row, column) { Ok(None) } else { self.time(row, column).map(Some) }
    }

    /// Reads an array: an array of the database, or a text with `|` between the elements.
    pub fn array(&self, row: usize, column: usize) -> Result<Elements<'_>, SqlError> {
        match self.field(row, column) {
            Some(Field::Array(range)) => {
                Ok(Elements::Array { fields: &self.elements[range.clone()], text: &self.text })
            }
            Some(Field::Text(range)) => Ok(Elements::List(&self.text[range.clone()])),
            _ => Err(self.wrong(row, column, "an array")),
        }
    }
}

/// Reads a time in UTC such as `2026-11-21 03:45:00.123`, for databases without a type for times.
fn parse_time(text: &str) -> Option<Timestamp> {
    let time: jiff::civil::DateTime = text.parse().ok()?;
    let zoned = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(Timestamp(zoned.timestamp().as_microsecond()))
}

/// Returns a time as text, in the form that databases read.
pub fn time_text(time: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(time.0)
        .map(|time| time.strftime("%Y-%m-%d %H:%M:%S%.3f").to_string())
        .unwrap_or_default()
}

fn money(field: &Field) -> Option<Cents> {
    match field {
        Field::Int(value) | Field::Large(value) => Some(Cents(*value)),
        Field::Decimal(value) if value % 100 == 0 => Some(Cents(value / 100)),
        _ => None,
    }
}

/// The elements of an array field. The methods that read an element return [`SqlError::Decode`] if it has another type.
#[derive(Clone, Copy, Debug)]
pub enum Elements<'a> {
    /// An array of the database.
    Array {
        /// Elements of the array.
        fields: &'a [Field],
        /// Buffer with the texts among the elements.
        text: &'a str,
    },
    /// A text with `|` between the elements. Each may have blanks around it, and `-` stands for null.
    List(&'a str),
}

impl<'a> Elements<'a> {
    fn wrong(&self, index: usize, wanted: &str) -> SqlError {
        SqlError::Decode(match self {
            Self::Array { fields, text } => {
                format!("element {index} of an array is {}, not {wanted}", in_words(fields.get(index), text))
            }
            Self::List(_) => {
                format!("element {index} of a list is {:?}, not {wanted}", self.item(index).unwrap_or(""))
            }
        })
    }

    /// Returns an element of an array.
    fn field(&self, index: usize) -> Option<&'a Field> {
        match self {
            Self::Array { fields, .. } => fields.get(index),
            Self::List(_) => None,
        }
    }

    /// Returns an element of a list.
    fn item(&self, index: usize) -> Option<&'a str> {
        match self {
            Self::Array { .. } => None,
            Self::List(list) => list.split('|').nth(index).map(str::trim),
        }
    }

    /// Returns the number of elements.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Array { fields, .. } => fields.len(),
            Self::List("") => 0,
            Self::List(list) => list.split('|').count(),
        }
    }

    /// Reads a whole number.
    pub fn int<T: TryFrom<i64>>(&self, index: usize) -> Result<T, SqlError> {
        match (self.field(index), self.item(index)) {
            (Some(Field::Int(value)), _) => T::try_from(*value).ok(),
            (None, Some(item)) => item.parse::<i64>().ok().and_then(|value| T::try_from(value).ok()),
            _ => None,
        }
        .ok_or_else(|| self.wrong(index, "a whole number"))
    }

    /// Reads an amount of money.
    pub fn money(&self, index: usize) -> Result<Cents, SqlError> {
        match (self.field(index), self.item(index)) {
            (Some(field), _) => money(field),
            (None, Some(item)) => Field::of_decimal(item).as_ref().and_then(money),
            (None, None) => None,
        }
        .ok_or_else(|| self.wrong(index, "an amount"))
    }

    /// Reads true or false.
    pub fn bool(&self, index: usize) -> Result<bool, SqlError> {
        match (self.field(index), self.item(index)) {
            (Some(Field::Bool(value)), _) => Ok(*value),
            (None, Some("1")) => Ok(true),
            (None, Some("0")) => Ok(false),
            _ => Err(self.wrong(index, "true or false")),
        }
    }

    /// Reads a text as wide as its column.
    pub fn fixed<const N: usize>(&self, index: usize) -> Result<Text<N>, SqlError> {
        let text: Option<&'a str> = match (self, self.field(index)) {
            (Self::Array { text, .. }, Some(Field::Text(range))) => Some(&text[range.clone()]),
            (Self::List(_), _) => self.item(index),
            _ => None,
        };
        text.and_then(|text| Text::from(text).ok())
            .ok_or_else(|| self.wrong(index, "a text that fits its column"))
    }

    /// Reads a point in time or null.
    pub fn optional_time(&self, index: usize) -> Result<Option<Timestamp>, SqlError> {
        match (self.field(index), self.item(index)) {
            (Some(Field::Null), _) | (None, Some("-")) => Ok(None),
            (Some(Field::Time(value)), _) => Ok(Some(Timestamp(*value))),
            (None, Some(item)) if let Some(time) = parse_time(item) => Ok(Some(time)),
            _ => Err(self.wrong(index, "a point in time")),
        }
    }
}

/// Reads a decimal number in ten-thousandths. Returns `None` if the text is not a number, has more than four decimals,
/// or has more digits than any type.
fn parse_decimal(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value: i128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        let digit = digit.is_ascii_digit().then(|| i128::from(digit - b'0'))?;
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    for _ in fraction.len()..4 {
        value = value.checked_mul(10)?;
    }
    for _ in 4..fraction.len() {
        if value % 10 != 0 {
            return None;
        }
        value /= 10;
    }
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_exactly_or_not_at_all() {
        for (text, value) in [("0", 0), ("-1.5", -15_000), (".05", 500), ("300000.00", 3_000_000_000)] {
            assert_eq!(parse_decimal(text), Some(value), "{text}");
        }
        assert_eq!(parse_decimal("1.230000"), Some(12_300), "zeros behind the fourth decimal");
        for text in ["", "-", ".", "1.23456", "1e3", "99999999999999999999"] {
            assert_eq!(Field::of_decimal(text), None, "{text}");
        }
        let mut rows = Rows::default();
        rows.reset(1);
        for text in ["9999999999999999.99", "-9999999999999999.99", "9999999999999999.9900"] {
            rows.push(Field::of_decimal(text).expect("eighteen digits"));
        }
        let largest = Cents(999_999_999_999_999_999);
        assert_eq!([0, 1, 2].map(|row| rows.money(row, 0)), [Ok(largest), Ok(-largest), Ok(largest)]);
    }

    #[test]
    fn a_list_is_read_like_an_array() {
        let list = Elements::List("  7 | 12.34 |-| word ");
        assert_eq!(list.len(), 4);
        assert_eq!(list.int::<i32>(0), Ok(7));
        assert_eq!(list.money(1), Ok(Cents(1234)));
        assert_eq!(list.optional_time(2), Ok(None));
        assert_eq!(list.fixed::<8>(3).map(|text| text.to_string()), Ok("word".to_string()));
        assert!(list.int::<i32>(1).is_err() && list.int::<i32>(9).is_err());
        assert_eq!(Elements::List("").len(), 0);
    }
}
