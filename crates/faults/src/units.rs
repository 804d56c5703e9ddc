//! Sizes as users write them.

/// Units of bytes; the longer ones first, since others end like them.
const UNITS: [(&str, u64); 6] =
    [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30), ("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];

/// Reads a number of bytes, with or without a unit.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = UNITS.iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, *bytes)));
    let (number, unit) = unit.unwrap_or((text, 1));
    number.trim_end().parse::<u64>().ok()?.checked_mul(unit)
}

/// Returns a size in words, in the units of 1000.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_whole_numbers_with_a_unit_of_1000_or_1024() {
        for (text, expected) in [
            ("1", Some(1)),
            ("200k", Some(200_000)),
            ("3 M", Some(3_000_000)),
            ("1G", Some(1_000_000_000)),
            ("2Ki", Some(2048)),
            ("1Mi", Some(1 << 20)),
            ("1Gi", Some(1 << 30)),
            ("", None),
            ("k", None),
            ("-1k", None),
            ("1.5k", None),
            ("1KB", None),
            ("99999999999999999999", None),
            ("99999999999999999G", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }
}
