//! Texts of `lydite -V` and `lydite --version`: version, commit, date, features and target of this build, from `build.rs`.

use jiff::Timestamp;
use jiff::tz::TimeZone;

const COMMIT: &str = env!("LYDITE_BUILD_COMMIT");
const SECONDS: &str = env!("LYDITE_BUILD_SECONDS");
const FEATURES: &str = env!("LYDITE_BUILD_FEATURES");
const TARGET: &str = env!("LYDITE_BUILD_TARGET");

/// Returns the version with commit and date in one line.
pub(crate) fn short() -> String {
    let of_build: Vec<String> =
        [COMMIT.to_owned(), date(SECONDS)].into_iter().filter(|text| !text.is_empty()).collect();
    let version = env!("CARGO_PKG_VERSION");
    if of_build.is_empty() { version.to_owned() } else { format!("{version} ({})", of_build.join(" ")) }
}

/// Returns the version, and below it a line each for commit, date, features and target.
pub(crate) fn long() -> String {
    let known =
        |text: &str, otherwise: &str| if text.is_empty() { otherwise.to_owned() } else { text.to_owned() };
    format!(
        "{}\ncommit    {}\ndate      {}\nfeatures  {}\ntarget    {}",
        env!("CARGO_PKG_VERSION"),
        known(COMMIT, "unknown: built without git"),
        known(&date(SECONDS), "unknown: built without git"),
        known(&FEATURES.replace(',', ", "), "none"),
        known(TARGET, "unknown"),
    )
}

/// Returns the day (UTC) of so many seconds after 1970, empty if the text is no such number.
fn date(seconds: &str) -> String {
    let time = seconds.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map(|time| time.to_zoned(TimeZone::UTC).date().to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn the_date_of_a_commit_is_its_day_in_utc() {
        assert_eq!(date("0"), "1970-01-01");
        assert_eq!(date("1795391999"), "2026-11-22");
        assert_eq!(date("1795392000"), "2026-11-23");
        assert_eq!(date(""), "");
    }
}
