//! The differences between SQL databases that only foreign tables meet.

/// Kind of a stored amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Decimal with two digits after the point.
    Decimal,
    /// Binary float of the currency's unit.
    Float,
    /// Whole number of the currency's unit.
    Whole,
    /// Whole number of cents.
    Cents,
}

/// The differences between SQL databases that only foreign tables meet, as data.
#[derive(Debug)]
pub struct Forms {
    /// Query for the columns of all tables and views where new tables would be made, as schema, table, column and type,
    /// in the order of the tables' columns.
    pub columns: &'static str,
    /// Character around names.
    pub quote: char,
    /// Words between the name of a common table expression and its query.
    pub as_words: &'static str,
    /// Expression for an amount as the dialect's tables store it, from a stored amount of this kind.
    pub amount: fn(&str, Amount) -> String,
    /// Literal of an amount of so many cents, as the dialect's tables store it.
    pub cents: fn(i64) -> String,
    /// Literal of a rate of so many ten-thousandths, as the dialect's tables store it.
    pub ten_thousandths: fn(u32) -> String,
    /// Expression that rounds a number to four digits after the point.
    pub rate: fn(&str) -> String,
}
