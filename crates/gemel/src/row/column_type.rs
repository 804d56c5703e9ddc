//! Types of columns.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Maximum scale of a decimal: more digits after the point do not fit 64 bits.
pub const MAX_SCALE: u8 = 18;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnType {
    /// An integer of 16 bits.
    I16,
    /// An integer of 32 bits.
    I32,
    /// An integer of 64 bits.
    I64,
    /// A decimal number: a 64-bit count of units of its last digit.
    Decimal {
        /// Digits after the point, at most [`MAX_SCALE`].
        scale: u8,
    },
    /// True or false.
    Bool,
    /// A text of any length.
    Text,
    /// Bytes of any length.
    Bytes,
    /// Microseconds since 1970-01-01 00:00 UTC, 64 bits.
    Timestamp,
    /// A floating-point number of 64 bits.
    F64,
}

impl ColumnType {
    /// Returns the bytes that each value takes in a row, or none if the width varies.
    #[must_use]
    pub fn width(self) -> Option<usize> {
        match self {
            Self::Bool => Some(1),
            Self::I16 => Some(2),
            Self::I32 => Some(4),
            Self::I64 | Self::Decimal { .. } | Self::Timestamp | Self::F64 => Some(8),
            Self::Text | Self::Bytes => None,
        }
    }

    /// Returns the number of zeros that each value of this type gets behind its digits in a column of another type, if
    /// that type has all these values: a wider integer, or a decimal with room for the largest integer.
    pub(super) fn zeros_in(self, wider: Self) -> Option<u8> {
        let largest = match self {
            Self::I16 => i64::from(i16::MIN),
            Self::I32 => i64::from(i32::MIN),
            Self::I64 => i64::MIN,
            _ => return None,
        };
        match (self, wider) {
            (Self::I16, Self::I16 | Self::I32 | Self::I64)
            | (Self::I32, Self::I32 | Self::I64)
            | (Self::I64, Self::I64) => Some(0),
            (_, Self::Decimal { scale }) => shifted(largest, scale).map(|_| scale),
            _ => None,
        }
    }
}

/// Returns a number with zeros behind its digits, or none if it does not fit 64 bits.
pub(super) fn shifted(number: i64, zeros: u8) -> Option<i64> {
    10_i64.checked_pow(u32::from(zeros)).and_then(|power| number.checked_mul(power))
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::I16 => f.write_str("a 16-bit integer"),
            Self::I32 => f.write_str("a 32-bit integer"),
            Self::I64 => f.write_str("a 64-bit integer"),
            Self::Decimal { scale } => write!(f, "a decimal of scale {scale}"),
            Self::Bool => f.write_str("a boolean"),
            Self::Text => f.write_str("a text"),
            Self::Bytes => f.write_str("bytes"),
            Self::Timestamp => f.write_str("a timestamp"),
            Self::F64 => f.write_str("a float"),
        }
    }
}
