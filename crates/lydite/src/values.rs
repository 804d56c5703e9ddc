//! The values that users write, in plans and on command lines.

use lydite_families::duration;
use std::str::FromStr;
use std::time::Duration;

/// Sessions are threads and connections of this machine.
pub(crate) const MAX_SESSIONS: u32 = 20_000;
/// The longest time that a plan may name: far beyond any run, and far within any arithmetic on times.
const MAX_TIME: Duration = Duration::from_secs(100 * 24 * 3600);
/// The most requests per second: more than this machine can make.
pub(crate) const MAX_RATE: f64 = 1e7;

/// Reads a whole number within bounds.
pub(crate) fn whole(text: &str, low: u32, high: u32) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(value) if (low..=high).contains(&value) => Ok(value),
        _ => Err(format!("must be a whole number from {low} to {high}")),
    }
}

/// Reads a share in percent.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let percent: f64 = number(text, "must be a number of percent")?;
    if (0.0..=100.0).contains(&percent) { Ok(percent) } else { Err("must be from 0 to 100".into()) }
}

/// Reads anything that parses; `problem` says what it must be.
pub(crate) fn number<T: FromStr>(text: &str, problem: &str) -> Result<T, String> {
    text.parse().map_err(|_| problem.to_string())
}

/// Reads a time such as `30s`, `500ms`, `1h 30m`; a bare number is seconds.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    duration(text)
        .filter(|time| *time <= MAX_TIME)
        .ok_or_else(|| "must be a time such as 30s, 500ms or 2h 30m, at most 100 days".to_string())
}

/// Reads the rate of a step, which may be zero: then nothing is due.
pub(crate) fn step_rate(text: &str) -> Result<f64, String> {
    let rate: f64 = number(text, "must be a number of transactions per second")?;
    if (0.0..=MAX_RATE).contains(&rate) { Ok(rate) } else { Err(format!("must be from 0 to {MAX_RATE}")) }
}
