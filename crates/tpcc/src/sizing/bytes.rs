//! Numbers of bytes, in decimal units: those in which disks are sold and results are published.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Units with their factors, the decimal ones by size first.
const UNITS: [(&str, u64); 10] = [
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("KIB", 1 << 10),
    ("MIB", 1 << 20),
    ("GIB", 1 << 30),
    ("TIB", 1 << 40),
];
/// Number of decimal units.
const DECIMAL: usize = 6;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Returns the nearest number of bytes.
    pub(super) fn near(bytes: f64) -> Self {
        Self(bytes.round() as u64)
    }

    /// Returns so many times these bytes.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

/// A text that is no size. The message continues a sentence that begins with the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytesError;

impl fmt::Display for BytesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be a size above zero, such as 70MB, 1.5TB or 64MiB")
    }
}

impl std::error::Error for BytesError {}

impl FromStr for Bytes {
    type Err = BytesError;

    /// Reads `70MB`, `1.5 TB`, `64MiB`; a bare number is bytes.
    fn from_str(text: &str) -> Result<Self, BytesError> {
        let text = text.trim();
        let digits =
            text.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit = unit.trim().to_ascii_uppercase();
        let unit = if unit.is_empty() { "B" } else { &unit };
        let factor = UNITS.iter().find(|(name, _)| *name == unit).ok_or(BytesError)?.1;
        let bytes = number.parse::<f64>().map_err(|_| BytesError)? * factor as f64;
        if bytes >= 1.0 && bytes < u64::MAX as f64 { Ok(Self::near(bytes)) } else { Err(BytesError) }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = (1..DECIMAL).rev().find(|&place| self.0 >= UNITS[place].1).unwrap_or(0);
        let (unit, factor) = UNITS[place];
        let scaled = self.0 as f64 / factor as f64;
        let decimals = if place == 0 || scaled >= 99.95 {
            0
        } else if scaled >= 9.995 {
            1
        } else {
            2
        };
        f.pad(&format!("{scaled:.decimals$} {unit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written_with_units() {
        assert_eq!("70MB".parse(), Ok(Bytes(70_000_000)));
        assert_eq!("1.5 tb".parse(), Ok(Bytes(1_500_000_000_000)));
        assert_eq!("64MiB".parse(), Ok(Bytes(64 << 20)));
        assert_eq!("12".parse(), Ok(Bytes(12)));
        for wrong in ["", "0", "MB", "1.2.3MB", "-4MB", "7 fish"] {
            assert!(wrong.parse::<Bytes>().is_err(), "{wrong:?}");
        }
        assert_eq!(Bytes(8_400_000_000_000).to_string(), "8.40 TB");
        assert_eq!(Bytes(68_622_000).to_string(), "68.6 MB");
        assert_eq!(Bytes(999).to_string(), "999 B");
        assert_eq!(Bytes(223_000_000).to_string(), "223 MB");
    }
}
