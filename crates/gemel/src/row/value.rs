//! Values of columns, borrowed and owned, in one total order.

use super::column_type::ColumnType;
use std::cmp::Ordering;
use std::fmt;

/// Maximum number of characters or bytes of a value that a message shows.
const SHOWN: usize = 40;

/// A value that borrows its text or bytes.
///
/// Values are totally ordered: null first, then numbers by value, texts by their UTF-8 bytes, bytes lexicographically,
/// and floats by [`f64::total_cmp`] (so a NaN equals itself, and -0 is below 0). Encoded keys have the same order.
///
/// ```
/// use gemel::row::Value;
///
/// assert_eq!(Value::from(7_i32), Value::Int(7));
/// assert_eq!(Value::from(None::<&str>), Value::Null);
/// assert!(Value::Null < Value::Text("a") && Value::Text("a") < Value::Text("b"));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub enum Value<'a> {
    /// Null.
    #[default]
    Null,
    /// An integer, for integer columns of any width.
    Int(i64),
    /// A decimal number, in units of the column's last digit: 12.50 in a column of scale 2 is 1250.
    Decimal(i64),
    /// True or false.
    Bool(bool),
    /// A text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A time, in microseconds since 1970-01-01 00:00 UTC.
    Timestamp(i64),
    /// A floating-point number.
    Float(f64),
}

impl Value<'_> {
    /// Returns the name of the value's kind, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Int(_) => "integer",
            Self::Decimal(_) => "decimal",
            Self::Bool(_) => "boolean",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::Timestamp(_) => "timestamp",
            Self::Float(_) => "float",
        }
    }

    /// Returns a copy that owns its text or bytes.
    #[must_use]
    pub fn into_owned(self) -> OwnedValue {
        match self {
            Self::Null => OwnedValue::Null,
            Self::Int(n) => OwnedValue::Int(n),
            Self::Decimal(n) => OwnedValue::Decimal(n),
            Self::Bool(b) => OwnedValue::Bool(b),
            Self::Text(text) => OwnedValue::Text(text.to_owned()),
            Self::Bytes(bytes) => OwnedValue::Bytes(bytes.to_owned()),
            Self::Timestamp(us) => OwnedValue::Timestamp(us),
            Self::Float(x) => OwnedValue::Float(x),
        }
    }

    /// Returns the bits that a column of `kind` of fixed width stores, sign-extended, or none if the value does not
    /// fit.
    #[inline]
    pub(super) fn to_bits(self, kind: ColumnType) -> Option<i64> {
        match (kind, self) {
            (ColumnType::I16, Self::Int(n)) => i16::try_from(n).ok().map(i64::from),
            (ColumnType::I32, Self::Int(n)) => i32::try_from(n).ok().map(i64::from),
            (ColumnType::I64, Self::Int(n))
            | (ColumnType::Decimal { .. }, Self::Decimal(n))
            | (ColumnType::Timestamp, Self::Timestamp(n)) => Some(n),
            (ColumnType::Bool, Self::Bool(b)) => Some(i64::from(b)),
            (ColumnType::F64, Self::Float(x)) => Some(x.to_bits().cast_signed()),
            _ => None,
        }
    }

    /// Returns the bytes that a column of `kind` of variable width stores, or none if the value is of another kind.
    #[inline]
    pub(super) fn tail_bytes(&self, kind: ColumnType) -> Option<&[u8]> {
        match (kind, self) {
            (ColumnType::Text, Self::Text(text)) => Some(text.as_bytes()),
            (ColumnType::Bytes, Self::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the value for the bits of a column of `kind`, or none if no value has these bits.
    #[inline]
    pub(super) fn from_bits(kind: ColumnType, bits: i64) -> Option<Self> {
        match kind {
            ColumnType::I16 | ColumnType::I32 | ColumnType::I64 => Some(Self::Int(bits)),
            ColumnType::Decimal { .. } => Some(Self::Decimal(bits)),
            ColumnType::Timestamp => Some(Self::Timestamp(bits)),
            ColumnType::F64 => Some(Self::Float(f64::from_bits(bits.cast_unsigned()))),
            ColumnType::Bool => match bits {
                0 => Some(Self::Bool(false)),
                1 => Some(Self::Bool(true)),
                _ => None,
            },
            ColumnType::Text | ColumnType::Bytes => None,
        }
    }

    /// Returns the rank of the value's kind in the order of kinds.
    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Int(_) => 1,
            Self::Decimal(_) => 2,
            Self::Bool(_) => 3,
            Self::Text(_) => 4,
            Self::Bytes(_) => 5,
            Self::Timestamp(_) => 6,
            Self::Float(_) => 7,
        }
    }
}

impl Ord for Value<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b))
            | (Self::Decimal(a), Self::Decimal(b))
            | (Self::Timestamp(a), Self::Timestamp(b)) => a.cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => a.total_cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Value<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Value<'_> {}

/// Shows a value in one line of a message: a long text is cut, bytes are escaped, a decimal is in units of its last
/// digit.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Int(n) | Self::Decimal(n) => n.fmt(f),
            Self::Timestamp(us) => write!(f, "{us} us"),
            Self::Bool(b) => b.fmt(f),
            Self::Float(x) => x.fmt(f),
            Self::Text(text) => {
                let end = text.char_indices().nth(SHOWN).map_or(text.len(), |(at, _)| at);
                write!(f, "'{}{}'", text[..end].escape_debug(), if end < text.len() { "…" } else { "" })
            }
            Self::Bytes(bytes) => {
                let end = bytes.len().min(SHOWN);
                write!(f, "'{}{}'", bytes[..end].escape_ascii(), if end < bytes.len() { "…" } else { "" })
            }
        }
    }
}

macro_rules! value_from {
    ($($from:ty => $to:ident),+ $(,)?) => { $(
        impl From<$from> for Value<'_> {
            fn from(from: $from) -> Self {
                Self::$to(from.into())
            }
        }
    )+ };
}

value_from!(i8 => Int, i16 => Int, i32 => Int, i64 => Int, u8 => Int, u16 => Int, u32 => Int, bool => Bool, f64 => Float);

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<'a> From<&'a OwnedValue> for Value<'a> {
    fn from(value: &'a OwnedValue) -> Self {
        value.as_value()
    }
}

/// Converts none to null.
impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A value that owns its text or bytes. It compares like a [`Value`].
#[derive(Clone, Debug, Default)]
pub enum OwnedValue {
    /// Same as [`Value::Null`].
    #[default]
    Null,
    /// Same as [`Value::Int`].
    Int(i64),
    /// Same as [`Value::Decimal`].
    Decimal(i64),
    /// Same as [`Value::Bool`].
    Bool(bool),
    /// Same as [`Value::Text`].
    Text(String),
    /// Same as [`Value::Bytes`].
    Bytes(Vec<u8>),
    /// Same as [`Value::Timestamp`].
    Timestamp(i64),
    /// Same as [`Value::Float`].
    Float(f64),
}

impl OwnedValue {
    /// Returns the same value, borrowed.
    #[must_use]
    pub fn as_value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Int(n) => Value::Int(*n),
            Self::Decimal(n) => Value::Decimal(*n),
            Self::Bool(b) => Value::Bool(*b),
            Self::Text(text) => Value::Text(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
            Self::Timestamp(us) => Value::Timestamp(*us),
            Self::Float(x) => Value::Float(*x),
        }
    }
}

impl From<Value<'_>> for OwnedValue {
    fn from(value: Value<'_>) -> Self {
        value.into_owned()
    }
}

impl Ord for OwnedValue {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_value().cmp(&other.as_value())
    }
}

impl PartialOrd for OwnedValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OwnedValue {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for OwnedValue {}

impl fmt::Display for OwnedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_value().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_shows_a_value_in_one_short_line() {
        assert_eq!(Value::Text("a\nb").to_string(), "'a\\nb'");
        assert_eq!(Value::Text(&"ä".repeat(50)).to_string(), format!("'{}…'", "ä".repeat(40)));
        assert_eq!(Value::Bytes(&[0, 65]).to_string(), "'\\x00A'");
        assert_eq!(Value::Null.to_string(), "null");
    }

    #[test]
    fn floats_have_a_total_order() {
        let mut values = [f64::NAN, 0.0, -0.0, f64::NEG_INFINITY, 1.5, -1.5].map(Value::Float);
        values.sort();
        assert_eq!(values, [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1.5, f64::NAN].map(Value::Float));
        assert_eq!(Value::Float(f64::NAN), Value::Float(f64::NAN));
    }
}
