//! The fields of a line as values of a table's columns.

use crate::error::Unfit;
use crate::fields::Fields;
use arrayvec::ArrayString;
use lydite_tpcc::schema::{Column, ColumnType, Table};
use lydite_tpcc::text::Text;
use lydite_tpcc::{Cents, Rate, Timestamp};
use std::borrow::Cow;

/// Order of the columns in a file: the field of each column of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order(pub(crate) Vec<usize>);

impl Order {
    /// Returns the order of the schema.
    pub(crate) fn of_schema(table: Table) -> Self {
        Self((0..table.schema().columns.len()).collect())
    }

    /// Returns the order of names; `None` if they are not the table's columns.
    pub(crate) fn of_names(table: Table, names: &[impl AsRef<str>]) -> Option<Self> {
        let columns = table.schema().columns;
        let place = |column: &Column| {
            names.iter().position(|name| name.as_ref().trim().eq_ignore_ascii_case(column.name))
        };
        let order: Option<Vec<usize>> = columns.iter().map(place).collect();
        order.filter(|order| order.len() == names.len()).map(Self)
    }
}

/// Last point in time that was read, and its text. All rows of a load have the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    text: String,
    time: Timestamp,
}

/// A line whose fields are read as values.
pub(crate) struct Cells<'a> {
    pub(crate) table: Table,
    pub(crate) line: &'a str,
    pub(crate) fields: &'a Fields,
    pub(crate) order: &'a Order,
    pub(crate) times: &'a mut Times,
}

impl<'a> Cells<'a> {
    /// Returns the error of a value that does not fit its column. A long value is cut.
    fn wrong(&self, column: usize, value: &str, what: &str) -> Unfit {
        let name = self.column(column).name;
        Unfit(match value.char_indices().nth(40) {
            Some((end, _)) => format!("{name}: \"{}…\" {what}", &value[..end]),
            None => format!("{name}: \"{value}\" {what}"),
        })
    }

    fn column(&self, column: usize) -> &'static Column {
        &self.table.schema().columns[column]
    }

    /// Returns the text of a field, and whether it had quotes.
    fn field(&self, column: usize) -> (Cow<'a, str>, bool) {
        self.fields.get(self.line, self.order.0[column])
    }

    /// Returns true if a column is null: an empty field or the word NULL, without quotes.
    pub(crate) fn is_null(&self, column: usize) -> bool {
        let (text, quoted) = self.field(column);
        !quoted && self.column(column).nullable && (text.is_empty() || text == "NULL")
    }

    /// Reads a whole number.
    pub(crate) fn int<T: TryFrom<i64>>(&self, column: usize) -> Result<T, Unfit> {
        let (text, _) = self.field(column);
        let below = match self.column(column).kind {
            ColumnType::Integer { below } => below,
            _ => u64::MAX,
        };
        let value = decimal(&text, 0).ok_or_else(|| self.wrong(column, &text, "is no whole number"))?;
        let fits = value.unsigned_abs() < below;
        let value = T::try_from(value).ok().filter(|_| fits);
        value.ok_or_else(|| self.wrong(column, &text, "does not fit its column"))
    }

    /// Reads an amount of money.
    pub(crate) fn money(&self, column: usize) -> Result<Cents, Unfit> {
        let (text, _) = self.field(column);
        let digits = match self.column(column).kind {
            ColumnType::Money { digits } => digits.into(),
            _ => 18,
        };
        let value = decimal(&text, 2).ok_or_else(|| self.wrong(column, &text, "is no amount of money"))?;
        if value.unsigned_abs() >= 10_u64.pow(digits) {
            return Err(self.wrong(column, &text, "does not fit its column"));
        }
        Ok(Cents(value))
    }

    /// Reads a tax or discount.
    pub(crate) fn rate(&self, column: usize) -> Result<Rate, Unfit> {
        let (text, _) = self.field(column);
        let value = decimal(&text, 4).and_then(|value| i32::try_from(value).ok());
        let value = value.ok_or_else(|| self.wrong(column, &text, "is no rate with four digits"))?;
        if value.unsigned_abs() >= 10_000 {
            return Err(self.wrong(column, &text, "does not fit its column"));
        }
        Ok(Rate(value))
    }

    /// Reads a text.
    pub(crate) fn text<const N: usize>(&self, column: usize) -> Result<Text<N>, Unfit> {
        let (text, quoted) = self.field(column);
        if text.is_empty() && !quoted {
            return Err(Unfit(format!("{} must not be null", self.column(column).name)));
        }
        ArrayString::from(&text).map_err(|_| {
            let length = text.len();
            self.wrong(column, &text, &format!("has {length} bytes, and its column takes {N}"))
        })
    }

    /// Reads a point in time.
    pub(crate) fn time(&mut self, column: usize) -> Result<Timestamp, Unfit> {
        let (text, _) = self.field(column);
        if text != self.times.text.as_str() {
            self.times.time = time(&text).ok_or_else(|| {
                self.wrong(
                    column,
                    &text,
                    "is no time: use YYYY-MM-DD HH:MM:SS with up to six digits behind, in UTC",
                )
            })?;
            self.times.text = text.into_owned();
        }
        Ok(self.times.time)
    }
}

/// Reads a decimal as a whole number of its smallest unit, with this many digits after the point. Zeros may follow them.
fn decimal(text: &str, digits: usize) -> Option<i64> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let (fraction, zeros) = fraction.split_at_checked(digits).unwrap_or((fraction, ""));
    if (whole.is_empty() && fraction.is_empty()) || !zeros.bytes().all(|byte| byte == b'0') {
        return None;
    }
    let mut value: i64 = 0;
    let padding = std::iter::repeat_n(b'0', digits - fraction.len());
    for byte in whole.bytes().chain(fraction.bytes()).chain(padding) {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    Some(if negative { -value } else { value })
}

/// Reads `YYYY-MM-DD HH:MM:SS[.ffffff]` in UTC.
pub(crate) fn time(text: &str) -> Option<Timestamp> {
    let time: jiff::civil::DateTime = text.parse().ok()?;
    let fits = text.len() >= 19 && text.as_bytes().get(10).is_some_and(|byte| matches!(byte, b' ' | b'T'));
    let zoned = time.to_zoned(jiff::tz::TimeZone::UTC).ok().filter(|_| fits)?;
    Some(Timestamp(zoned.timestamp().as_microsecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_may_have_zeros_behind() {
        for (text, value) in
            [("12.34", 1_234), ("-10.00", -1_000), ("300000", 30_000_000), ("12.340000", 1_234), (".5", 50)]
        {
            assert_eq!(decimal(text, 2), Some(value), "{text}");
        }
        assert_eq!(decimal("0.123400", 4), Some(1_234));
        assert_eq!(decimal("0.00", 0), Some(0));
        for text in ["", "-", ".", "1.234", "1e5", "+1", "1,5", " 1", "99999999999999999999"] {
            assert_eq!(decimal(text, 2), None, "{text}");
        }
    }

    #[test]
    fn a_time_is_read_as_it_is_written() {
        assert_eq!(time("2023-11-14 22:13:20.000001"), Some(Timestamp(1_700_000_000_000_001)));
        assert_eq!(time("2023-11-14 22:13:20"), Some(Timestamp(1_700_000_000_000_000)));
        for text in ["", "2023-11-14", "22:13:20", "2023-13-14 22:13:20", "yesterday at noon exactly"] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn columns_are_found_by_their_names_in_any_order() {
        let order = Order::of_names(Table::NewOrder, &["NO_W_ID", "no_d_id", "no_o_id"]);
        assert_eq!(order, Some(Order(vec![2, 1, 0])));
        assert_eq!(Order::of_names(Table::NewOrder, &["no_w_id", "no_d_id"]), None);
        assert_eq!(Order::of_names(Table::NewOrder, &["no_w_id", "no_d_id", "no_o_id", "more"]), None);
    }
}
