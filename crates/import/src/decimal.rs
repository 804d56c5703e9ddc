//! Numbers of configuration files: shares, times and rates, without the noise of binary fractions.

use std::fmt;

/// A number to a thousandth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Milli(pub(crate) u64);

impl Milli {
    /// Reads a number from 0 to `most`.
    pub(crate) fn parse(text: &str, most: f64) -> Option<Self> {
        let number: f64 = text.trim().parse().ok()?;
        (0.0..=most).contains(&number).then(|| Self((number * 1e3).round() as u64))
    }

    /// Reads numbers from 0 to `most` with commas between them.
    pub(crate) fn list(text: &str, most: f64) -> Option<Vec<Self>> {
        text.split(',').map(|number| Self::parse(number, most)).collect()
    }
}

impl fmt::Display for Milli {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:03}", self.0 / 1_000, self.0 % 1_000);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// The whole of shares.
pub(crate) const WHOLE: Milli = Milli(100_000);

/// Returns the sum of shares, in thousandths.
pub(crate) fn total(shares: &[Milli]) -> u64 {
    shares.iter().map(|share| share.0).sum()
}

/// Scales shares to a sum of 100; none if all are zero.
pub(crate) fn to_hundred(shares: &[Milli]) -> Option<Vec<Milli>> {
    let sum = total(shares);
    if sum == 0 {
        return None;
    }
    let scaled = |share: &Milli| (u128::from(share.0) * u128::from(WHOLE.0) / u128::from(sum)) as u64;
    let mut scaled: Vec<Milli> = shares.iter().map(|share| Milli(scaled(share))).collect();
    let missing = WHOLE.0 - total(&scaled);
    // The greatest share takes what rounding leaves.
    if let Some(greatest) = scaled.iter_mut().max() {
        greatest.0 += missing;
    }
    Some(scaled)
}

/// Returns a time as plans write it.
pub(crate) fn time(milliseconds: u64) -> String {
    match milliseconds {
        0 => "0s".to_owned(),
        ms if ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1_000 == 0 => format!("{}s", ms / 1_000),
        ms => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_any_sum_become_percentages_that_sum_to_100() {
        let text = |shares: &[u64]| {
            let shares: Vec<Milli> = shares.iter().map(|share| Milli(share * 1_000)).collect();
            to_hundred(&shares)
                .map(|shares| shares.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
        };
        assert_eq!(text(&[45, 43, 4, 4, 4]).as_deref(), Some("45,43,4,4,4"));
        assert_eq!(text(&[10, 10, 1, 1, 1]).as_deref(), Some("43.478,43.481,4.347,4.347,4.347"));
        assert_eq!(text(&[0, 0]), None);
    }

    #[test]
    fn times_are_written_in_the_largest_whole_unit() {
        let of = [0, 1, 1_500, 30_000, 90_000, 300_000].map(time);
        assert_eq!(of, ["0s", "1ms", "1500ms", "30s", "90s", "5m"]);
    }
}
