//! Numbers for people: grouped digits, three significant digits, units.

use lydite_tpcc::TransactionKind;
use std::time::Duration;

/// Returns a count with grouped digits: `1,234,567`.
#[must_use]
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns a number with at least three significant digits, grouped: `12,346`, `45.6`, `7.89`, `0.123`; a dash if it is
/// unknown.
#[must_use]
pub fn number(value: impl Into<Option<f64>>) -> String {
    let Some(value) = value.into().filter(|value| value.is_finite()) else { return "–".to_owned() };
    let magnitude = value.abs();
    // Each bound is the least value that the coarser form rounds up. From 1e15 on, digits would say nothing.
    if magnitude >= 1e15 {
        return format!("{value:.2e}");
    }
    if magnitude >= 99.95 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", count(magnitude.round() as u64));
    }
    let decimals = match magnitude {
        m if m >= 9.995 => 1,
        m if m >= 0.9995 => 2,
        m if m >= 0.000_5 => 3,
        m if m > 0.0 => return format!("{value:.1e}"),
        _ => return "0".to_owned(),
    };
    format!("{value:.decimals$}")
}

/// Returns a number to nine decimals, for documents: what stands behind them in a sum, a difference or a product of
/// decimals is the noise of binary fractions, as in `0.0005430000000000001`.
#[must_use]
pub fn nine_decimals(value: f64) -> f64 {
    let scaled = (value * 1e9).round();
    // Beyond, each number has fewer decimals than that.
    if scaled.abs() < 2_f64.powi(53) { scaled / 1e9 } else { value }
}

/// Returns a time in milliseconds, as the shortest decimal that names its nanoseconds.
#[must_use]
pub fn milliseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// Returns new orders per minute for every rendering: as [`number`] does, but rounded down, because a throughput counts
/// without its fraction (clause 5.4.1).
#[must_use]
pub fn nopm(value: impl Into<Option<f64>>) -> String {
    number(value.into().map(nopm_down))
}

/// Returns new orders per minute rounded down to the digits that [`nopm`] shows.
pub(crate) fn nopm_down(value: f64) -> f64 {
    let scale = match value {
        v if v >= 100.0 => 1.0,
        v if v >= 10.0 => 10.0,
        _ => 100.0,
    };
    (value * scale).floor() / scale
}

/// Returns a number as [`number`] does, but shortens it to `12.3M`, `4.5G` … if it is wider than `width` columns.
#[must_use]
pub fn number_within(value: f64, width: usize) -> String {
    let text = number(value);
    if !value.is_finite() || (value.abs() < 1e15 && text.chars().count() <= width) {
        return text;
    }
    let mut scaled = value;
    for suffix in ["k", "M", "G", "T", "P", "E"] {
        scaled /= 1000.0;
        if scaled.abs() < 999.95 {
            return format!("{scaled:.1}{suffix}");
        }
    }
    format!("{value:.0e}")
}

/// A percentile: the number of samples in a thousand that lie above it.
#[derive(Clone, Copy, Debug)]
pub struct Percentile(u64);

/// The median.
pub const P50: Percentile = Percentile(500);
/// The 90th percentile.
pub const P90: Percentile = Percentile(100);
/// The 95th percentile.
pub const P95: Percentile = Percentile(50);
/// The 99th percentile.
pub const P99: Percentile = Percentile(10);
/// The 99.9th percentile.
pub const P999: Percentile = Percentile(1);

/// Fewest samples that must lie above a percentile; with fewer it is little more than the greatest value.
const ABOVE_MIN: u64 = 10;

/// Explanation of the mark of a percentile with too few samples.
pub const THIN_NOTE: &str = "~: fewer than 10 transactions lie above this percentile, so it says little";

impl Percentile {
    /// Returns the share of samples that may lie above it, as 0.01.
    #[must_use]
    pub fn share_above(self) -> f64 {
        self.0 as f64 / 1_000.0
    }

    /// Returns true if there are samples, but too few of them lie above it.
    #[must_use]
    pub fn is_thin(self, samples: u64) -> bool {
        samples > 0 && samples.saturating_mul(self.0) < ABOVE_MIN * 1_000
    }

    /// Returns its value in the form of [`number`], marked if it has too few samples: `~36.8`.
    #[must_use]
    pub fn text(self, samples: u64, value: Option<f64>) -> String {
        let mark = if value.is_some() && self.is_thin(samples) { "~" } else { "" };
        format!("{mark}{}", number(value))
    }
}

/// Returns a share in percent with two decimals, which the windows of the standard need.
#[must_use]
pub fn percent(value: f64) -> String {
    if value.is_finite() { format!("{value:.2}") } else { "–".to_owned() }
}

/// Returns a size in binary units: `16.0 GiB`.
#[must_use]
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if value < 1024 {
        return format!("{value} bytes");
    }
    let mut scaled = value as f64 / 1024.0;
    let mut unit = 0;
    while scaled >= 1023.95 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{scaled:.1} {}", UNITS[unit])
}

/// Returns a duration: `0.4 s`, `30 s`, `5 min`, `2 h 5 min`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 60.0 {
        let digits = number(seconds);
        let short =
            if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { &digits };
        return format!("{short} s");
    }
    let whole = seconds.round() as u64;
    let parts = [(whole / 3600, "h"), (whole / 60 % 60, "min"), (whole % 60, "s")];
    let words: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n} {unit}")).collect();
    words.join(" ")
}

/// Returns a time of a result (RFC 3339 in UTC) to the second, such as `2026-11-21 09:40:05 UTC`; other text unchanged.
#[must_use]
pub fn moment(text: &str) -> String {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let cut = || {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let (seconds, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let parts = |text: &str, between: char| text.split(between).filter(|part| is_digits(part)).count();
        let whole = parts(date, '-') == 3 && parts(seconds, ':') == 3 && is_digits(fraction);
        whole.then(|| format!("{date} {seconds} UTC"))
    };
    cut().unwrap_or_else(|| text.to_owned())
}

/// Display name of the microbenchmark's only transaction type, whose key is `micro`.
pub const MICRO_TITLE: &str = "Micro";

/// Returns the transaction type with this key of a result; none for workloads other than TPC-C.
#[must_use]
pub fn kind_of(key: &str) -> Option<TransactionKind> {
    TransactionKind::from_name(key)
}

/// Returns the name of a transaction type in the standard's spelling; other names unchanged.
#[must_use]
pub fn type_name(key: &str) -> &str {
    match kind_of(key) {
        Some(kind) => kind.title(),
        None if key == "micro" => MICRO_TITLE,
        None => key,
    }
}

/// Returns `1 word` or `n words`.
#[must_use]
pub fn plural(n: u64, word: &str) -> String {
    format!("{} {word}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Returns text without control characters, which could move the cursor of a terminal.
#[must_use]
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { ' ' } else { c }).filter(|c| !c.is_control()).collect()
}

/// Returns rows as aligned columns: the first `words` columns to the left, the others, which hold numbers, to the
/// right.
#[must_use]
pub(crate) fn aligned(rows: &[Vec<String>], words: usize) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let widest =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|text| text.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| widest(column).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (text, width)) in row.iter().zip(&widths).enumerate() {
            let gap = " ".repeat(width - text.chars().count());
            let between = if column == 0 { "" } else { "  " };
            let text = if column < words {
                format!("{between}{text}{gap}")
            } else {
                format!("{between}{gap}{text}")
            };
            line.push_str(&text);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well_at_every_magnitude() {
        let cases = [
            (0.0, "0"),
            (0.000_04, "4.0e-5"),
            (0.1234, "0.123"),
            (0.9996, "1.00"),
            (1.234, "1.23"),
            (9.996, "10.0"),
            (45.67, "45.7"),
            (99.96, "100"),
            (1_234_567.8, "1,234,568"),
            (-1234.0, "-1,234"),
            (1e300, "1.00e300"),
            (f64::NAN, "–"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(number(None), "–");
    }

    #[test]
    fn documents_have_the_shortest_decimals_that_say_a_number() {
        assert_eq!(nine_decimals(3.0 * 0.1).to_string(), "0.3");
        assert_eq!(nine_decimals(2.3 - 2.0).to_string(), "0.3");
        assert_eq!(nine_decimals(-1e-9).to_string(), "-0.000000001");
        assert_eq!(nine_decimals(1e300), 1e300);
        assert_eq!(milliseconds(Duration::from_nanos(543)).to_string(), "0.000543");
        assert_eq!(milliseconds(Duration::from_micros(1_500)).to_string(), "1.5");
    }

    #[test]
    fn a_number_too_wide_for_its_column_is_shortened() {
        assert_eq!(number_within(45_210.0, 7), "45,210");
        assert_eq!(number_within(2.1, 7), "2.10");
        assert_eq!(number_within(1_234_567.0, 7), "1.2M");
        assert_eq!(number_within(u64::MAX as f64, 7), "18.4E");
        assert_eq!(number_within(1e300, 7), "1e300");
        assert_eq!(number_within(f64::NAN, 7), "–");
    }

    #[test]
    fn a_percentile_with_fewer_than_ten_samples_above_it_is_marked() {
        for (percentile, enough) in [(P50, 20), (P90, 100), (P95, 200), (P99, 1_000), (P999, 10_000)] {
            assert_eq!(percentile.text(enough, Some(36.8)), "36.8");
            assert_eq!(percentile.text(enough - 1, Some(36.8)), "~36.8");
            assert_eq!(percentile.text(enough - 1, None), "–");
            assert!(!percentile.is_thin(0), "no samples, no times");
        }
    }

    #[test]
    fn moments_are_written_to_the_second() {
        assert_eq!(moment("2026-11-21T09:40:05.194337895Z"), "2026-11-21 09:40:05 UTC");
        assert_eq!(moment("2026-11-21T09:40:05Z"), "2026-11-21 09:40:05 UTC");
        for other in ["", "yesterday", "2026-11-21T09:40:05.19+01:00", "TZ"] {
            assert_eq!(moment(other), other);
        }
    }

    #[test]
    fn sizes_and_durations_have_fitting_units() {
        assert_eq!(bytes(512), "512 bytes");
        assert_eq!(bytes(16 * 1024 * 1024 * 1024), "16.0 GiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
        assert_eq!(duration(0.4), "0.4 s");
        assert_eq!(duration(30.0), "30 s");
        assert_eq!(duration(300.0), "5 min");
        assert_eq!(duration(7500.0), "2 h 5 min");
    }

    #[test]
    fn thousands_are_kept_apart() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1000), "1,000");
        assert_eq!(count(12_345_678), "12,345,678");
    }
}
