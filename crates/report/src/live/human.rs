//! Numbers, sizes and durations as people read them: `1 234 567`, `12.3 MB/s`, `1m05s`.

use std::time::Duration;

/// What stands where a number is not known (yet).
pub(super) const UNKNOWN: &str = "–";

/// A whole number in groups of three: `1 234 567`.
pub(super) fn whole(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// A number with `decimals` places and grouped thousands; [`UNKNOWN`] when it is not finite.
pub(super) fn number(n: f64, decimals: usize) -> String {
    if !n.is_finite() {
        return UNKNOWN.to_owned();
    }
    // Beyond this, thousands of digits would say nothing, and grouping works on u64.
    if n.abs() >= 1e15 {
        return format!("{n:.2e}");
    }
    let text = format!("{:.decimals$}", n.max(0.0));
    let (integral, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let grouped = integral.parse().map_or_else(|_| integral.to_owned(), whole);
    if fraction.is_empty() { grouped } else { format!("{grouped}.{fraction}") }
}

/// As [`number`], but never wider than `width` columns: larger ones are shortened to `12.3M`, `4.5G` ….
pub(super) fn number_within(n: f64, decimals: usize, width: usize) -> String {
    let text = number(n, decimals);
    if !n.is_finite() || (n.abs() < 1e15 && text.chars().count() <= width) {
        return text;
    }
    let mut scaled = n;
    for suffix in ["k", "M", "G", "T", "P", "E"] {
        scaled /= 1000.0;
        if scaled.abs() < 999.95 {
            return format!("{scaled:.1}{suffix}");
        }
    }
    format!("{n:.0e}")
}

/// A size in decimal units: `999 B`, `12.3 MB`.
pub(super) fn bytes(n: f64) -> String {
    if !n.is_finite() {
        return UNKNOWN.to_owned();
    }
    if n < 999.5 {
        return format!("{:.0} B", n.max(0.0));
    }
    let mut scaled = n;
    let mut unit = "B";
    for next in ["kB", "MB", "GB", "TB", "PB", "EB"] {
        if scaled < 999.95 {
            break;
        }
        scaled /= 1000.0;
        unit = next;
    }
    format!("{scaled:.1} {unit}")
}

/// A duration to the second: `12s`, `1m05s`, `2h03m`, `4d05h`.
pub(super) fn duration(d: Duration) -> String {
    let s = d.as_secs();
    match s {
        0..60 => format!("{s}s"),
        60..3600 => format!("{}m{:02}s", s / 60, s % 60),
        3600..86_400 => format!("{}h{:02}m", s / 3600, s / 60 % 60),
        _ => format!("{}d{:02}h", s / 86_400, s / 3600 % 24),
    }
}

/// `done` of `total` in whole percent, rounded down so that 100 means all; 0 when `total` is.
pub(super) fn percent(done: u64, total: u64) -> u64 {
    (u128::from(done.min(total)) * 100).checked_div(u128::from(total)).unwrap_or(0) as u64
}

/// Text without control characters (each becomes a space): a line stays one line, and no escape sequence of
/// a server's message reaches the terminal.
pub(super) fn printable(text: &str) -> String {
    text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped_by_three_from_the_right() {
        let seen: Vec<_> = [0, 999, 1000, 45_210, 1_234_567].map(whole).into();
        assert_eq!(seen, ["0", "999", "1 000", "45 210", "1 234 567"]);
        assert_eq!(whole(u64::MAX), "18 446 744 073 709 551 615");
    }

    #[test]
    fn numbers_keep_their_places_and_show_a_dash_when_unknown() {
        assert_eq!(number(1674.26, 1), "1 674.3");
        assert_eq!(number(0.0, 0), "0");
        assert_eq!(number(-0.0, 1), "0.0");
        assert_eq!(number(f64::NAN, 1), "–");
        assert_eq!(number(1e300, 0), "1.00e300");
    }

    #[test]
    fn a_number_too_wide_for_its_column_is_shortened() {
        assert_eq!(number_within(45_210.0, 0, 7), "45 210");
        assert_eq!(number_within(1_234_567.0, 0, 7), "1.2M");
        assert_eq!(number_within(u64::MAX as f64, 0, 7), "18.4E");
        assert_eq!(number_within(1e300, 0, 7), "1e300");
    }

    #[test]
    fn sizes_use_decimal_units() {
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(999.0), "999 B");
        assert_eq!(bytes(12_345_678.0), "12.3 MB");
        assert_eq!(bytes(999_960.0), "1.0 MB");
        assert_eq!(bytes(f64::INFINITY), "–");
    }

    #[test]
    fn durations_show_two_units_at_most() {
        let seen: Vec<_> =
            [0, 59, 65, 3600 + 180, 86_400 * 4 + 3600 * 5].map(|s| duration(Duration::from_secs(s))).into();
        assert_eq!(seen, ["0s", "59s", "1m05s", "1h03m", "4d05h"]);
        duration(Duration::MAX);
    }

    #[test]
    fn hundred_percent_means_all_of_it() {
        assert_eq!(percent(9_999, 10_000), 99);
        assert_eq!(percent(10_001, 10_000), 100);
        assert_eq!(percent(5, 0), 0);
        assert_eq!(percent(u64::MAX, u64::MAX), 100);
    }

    #[test]
    fn control_characters_of_a_message_do_not_reach_the_terminal() {
        assert_eq!(printable("FATAL:\u{1b}[2J bad\nsecond line\n"), "FATAL: [2J bad second line");
    }
}
