//! Texts of live views, besides the numbers of [`crate::figures`].

use crate::figures;
use std::time::Duration;

/// Placeholder of an unknown number.
pub(super) const UNKNOWN: &str = "–";

/// Returns a duration in whole seconds: `12 s`, `1 min 5 s`, `2 h 3 min`.
pub(super) fn duration(time: Duration) -> String {
    figures::duration(time.as_secs() as f64)
}

/// Returns `done` of `total` in whole percent, rounded down so that 100 means all; 0 if `total` is 0.
pub(super) fn percent(done: u64, total: u64) -> u64 {
    (u128::from(done.min(total)) * 100).checked_div(u128::from(total)).unwrap_or(0) as u64
}

/// Returns text with a space for each control character: a line stays one line, and no escape sequence of a server's
/// message reaches the terminal.
pub(super) fn printable(text: &str) -> String {
    text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_in_whole_seconds() {
        let seen: Vec<_> =
            [999, 59_900, 65_000, 7_380_000].map(|ms| duration(Duration::from_millis(ms))).into();
        assert_eq!(seen, ["0 s", "59 s", "1 min 5 s", "2 h 3 min"]);
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
