//! Times as users write them in plans and in the options of URLs.

use jiff::SignedDuration;
use lydite_database::target_url::ParsedUrl;
use std::time::Duration;

/// Reads a time such as `30s`, `500ms`, `1h 30m`; a bare number is seconds.
#[must_use]
pub fn duration(text: &str) -> Option<Duration> {
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => text.parse::<SignedDuration>().ok().and_then(|time| Duration::try_from(time).ok()),
    }
}

/// Reads a URL option that is a time between two bounds. `must` names them in the error: `a time from 1s to 24h`.
pub(crate) fn time_option(
    parsed: &ParsedUrl,
    name: &str,
    [shortest, longest]: [Duration; 2],
    must: &str,
    errors: &mut Vec<String>,
) -> Option<Duration> {
    let text = parsed.options.get(name)?;
    let time = duration(text).filter(|time| (shortest..=longest).contains(time));
    if time.is_none() {
        errors.push(format!("target option {name}={text:?}: must be {must}"));
    }
    time
}

/// Shortest and longest value of the URL option `timeout`.
const TIMEOUTS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3600)];

/// Reads the URL option `timeout`.
///
/// # Errors
/// The value is not a time in the permitted range. The error is one line.
pub(crate) fn timeout(text: &str) -> Result<Duration, String> {
    let [shortest, longest] = TIMEOUTS;
    duration(text).filter(|time| (shortest..=longest).contains(time)).ok_or_else(|| {
        format!("target option timeout={text:?}: must be a time from 1s to 1h, for example 90s or 2m")
    })
}
