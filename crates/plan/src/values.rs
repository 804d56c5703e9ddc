//! Readers of the values in plans and on command lines. Their errors say what a value must be.

use crate::problem::Problem;
use lydite_families::duration;
use lydite_tpcc::Mix;
use lydite_tpcc::deck::MixError;
use std::str::FromStr;
use std::time::Duration;

/// The most sessions: each is a thread and a connection of this machine.
pub(crate) const MAX_SESSIONS: u32 = 20_000;
/// The longest time in a plan: far beyond any run, and far below an overflow in arithmetic on times.
const MAX_TIME: Duration = Duration::from_secs(100 * 24 * 3600);
/// The most requests per second: more than one machine can make.
pub(crate) const MAX_RATE: f64 = 1e7;

/// Reads a whole number from `low` to `high`.
///
/// # Errors
/// The text is no number, or not within the bounds.
pub fn whole(text: &str, low: u32, high: u32) -> Result<u32, Problem> {
    match text.parse::<u32>() {
        Ok(value) if (low..=high).contains(&value) => Ok(value),
        _ => Err(format!("must be a whole number from {low} to {high}").into()),
    }
}

/// Reads a share in percent.
///
/// # Errors
/// The text is no number from 0 to 100.
pub(crate) fn percent(text: &str) -> Result<f64, Problem> {
    let percent: f64 = number(text, "must be a number of percent")?;
    if (0.0..=100.0).contains(&percent) { Ok(percent) } else { Err("must be from 0 to 100".into()) }
}

/// Parses a value.
///
/// # Errors
/// `problem`, if the text does not parse.
pub fn number<T: FromStr>(text: &str, problem: &str) -> Result<T, Problem> {
    text.parse().map_err(|_| problem.into())
}

/// Reads a time such as `30s`, `500ms`, `1h 30m`; a bare number is seconds.
///
/// # Errors
/// The text is no time, or one of more than 100 days.
pub fn time(text: &str) -> Result<Duration, Problem> {
    duration(text)
        .filter(|time| *time <= MAX_TIME)
        .ok_or_else(|| "must be a time such as 30s, 500ms or 2h 30m, at most 100 days".into())
}

/// Reads a time above zero.
///
/// # Errors
/// The text is none.
pub fn longer_than_nothing(text: &str) -> Result<Duration, Problem> {
    match time(text)? {
        Duration::ZERO => Err("must be more than zero, for example 30m".into()),
        time => Ok(time),
    }
}

/// Reads the value of a flag that is no key of a plan, and reports its problem; none without a good value.
pub fn flag<T, E: std::fmt::Display>(
    errors: &mut Vec<String>,
    name: &str,
    given: Option<&str>,
    read: impl FnOnce(&str) -> Result<T, E>,
) -> Option<T> {
    let text = given?;
    read(text.trim()).map_err(|problem| errors.push(format!("{name}: {text:?} {problem}"))).ok()
}

/// Reads the rate of a step in transactions per second, which may be zero.
///
/// # Errors
/// The text is no number from 0 to [`MAX_RATE`].
pub(crate) fn step_rate(text: &str) -> Result<f64, Problem> {
    let rate: f64 =
        number(text, "must be a number of transactions per second, as 100, or a curve, as ramp(100,200)")?;
    if (0.0..=MAX_RATE).contains(&rate) {
        Ok(rate)
    } else {
        Err(format!("must be from 0 to {MAX_RATE}").into())
    }
}

/// Reads a mix. If the shares follow curves, their rounded sum may miss 100; the greatest share takes the difference.
///
/// # Errors
/// The text is no mix, or its shares do not sum to 100.
pub(crate) fn read_mix(text: &str) -> Result<Mix, MixError> {
    let exact = Mix::from_str(text);
    // Each share comes with the text before it: nothing, or its name and `=`.
    let share = |part: &str| -> Option<(String, f64)> {
        let (name, share) = part.split_at(part.rfind('=').map_or(0, |at| at + 1));
        Some((name.to_owned(), share.trim().parse().ok()?))
    };
    let shares: Option<Vec<(String, f64)>> = text.split(',').map(share).collect();
    let (Err(_), Some(mut shares)) = (&exact, shares) else { return exact };
    if (100.0 - shares.iter().map(|(_, share)| share).sum::<f64>()).abs() > 0.01 {
        return exact;
    }
    let thousandths = |share: f64| (share * 1e3).round() / 1e3;
    shares.iter_mut().for_each(|(_, share)| *share = thousandths(*share));
    let missing = 100.0 - shares.iter().map(|(_, share)| share).sum::<f64>();
    if let Some((_, greatest)) = shares.iter_mut().max_by(|(_, one), (_, other)| one.total_cmp(other)) {
        *greatest = thousandths(*greatest + missing);
    }
    let text: Vec<String> = shares.iter().map(|(name, share)| format!("{name}{share}")).collect();
    Mix::from_str(&text.join(","))
}

/// Returns `part / whole`, or 0 if `whole` is 0: JSON has no NaN.
#[must_use]
pub fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
