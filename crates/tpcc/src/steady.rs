//! Steady state: the trend of a throughput, and the movement of its running mean (clause 5.5.1).

/// Least number of seconds whose trend can be told.
pub const TREND_SECONDS: usize = 10;
/// Most pieces into which the seconds are divided. The seconds of a run depend on their neighbours (checkpoints,
/// compactions); the means of longer pieces depend on each other less.
const PIECES: usize = 24;
/// Standard errors on each side of a drift: the interval holds the true one with 95 % from ten pieces on.
const STANDARD_ERRORS: f64 = 2.3;

/// The trend of a throughput: a straight line through its pieces, by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Growth from the first moment to the last one, in percent of the mean; negative if it falls.
    pub drift_percent: f64,
    /// Half of the drift's interval of 95 %, in the same unit.
    pub margin_percent: f64,
}

impl Trend {
    /// Returns the trend of counts by second; none for fewer than [`TREND_SECONDS`] or if nothing was counted.
    #[must_use]
    pub fn of(seconds: &[u64]) -> Option<Self> {
        if seconds.len() < TREND_SECONDS {
            return None;
        }
        let pieces = seconds.len().min(PIECES);
        let begins = |piece: usize| piece * seconds.len() / pieces;
        let mean_of = |piece: usize| {
            let of = &seconds[begins(piece)..begins(piece + 1)];
            of.iter().sum::<u64>() as f64 / of.len() as f64
        };
        let values: Vec<f64> = (0..pieces).map(mean_of).collect();
        let count = pieces as f64;
        let mean = values.iter().sum::<f64>() / count;
        if mean == 0.0 {
            return None;
        }
        let middle = (count - 1.0) / 2.0;
        let offset = |piece: usize| piece as f64 - middle;
        let squares: f64 = (0..pieces).map(|piece| offset(piece).powi(2)).sum();
        let slope =
            values.iter().enumerate().map(|(at, value)| offset(at) * (value - mean)).sum::<f64>() / squares;
        let residual = |(at, value): (usize, &f64)| (value - mean - slope * offset(at)).powi(2);
        let variance = values.iter().enumerate().map(residual).sum::<f64>() / (count - 2.0);
        let percent = 100.0 * count / mean;
        Some(Self {
            drift_percent: slope * percent,
            margin_percent: STANDARD_ERRORS * (variance / squares).sqrt() * percent,
        })
    }

    /// Returns true if the drift is at most `limit_percent`, false if it is more, and none if the interval holds both.
    #[must_use]
    pub fn within(&self, limit_percent: f64) -> Option<bool> {
        let drift = self.drift_percent.abs();
        if drift + self.margin_percent <= limit_percent {
            return Some(true);
        }
        (drift - self.margin_percent > limit_percent).then_some(false)
    }
}

/// Distance of a throughput's running mean, since the first second, from the mean of all seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunningMean {
    /// Greatest distance over the second half, in percent.
    pub off_percent: f64,
    /// Three standard errors of the distance in the middle: chance explains as much.
    pub chance_percent: f64,
}

impl RunningMean {
    /// Returns the running mean of counts by second; none for fewer than [`TREND_SECONDS`] or if nothing was counted.
    #[must_use]
    pub fn of(seconds: &[u64]) -> Option<Self> {
        let count = seconds.len() as f64;
        let mean = seconds.iter().sum::<u64>() as f64 / count;
        if seconds.len() < TREND_SECONDS || mean == 0.0 {
            return None;
        }
        let mut sum = 0;
        let running = seconds.iter().enumerate().map(|(at, second)| {
            sum += second;
            sum as f64 / (at + 1) as f64
        });
        let off = running.skip(seconds.len() / 2).map(|running| (running / mean - 1.0).abs());
        let variance =
            seconds.iter().map(|&second| (second as f64 - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Some(Self {
            off_percent: 100.0 * off.fold(0.0, f64::max),
            // The mean of the first half differs from that of all by a variance of s²/(n/2) - s²/n.
            chance_percent: 300.0 * (variance / count).sqrt() / mean,
        })
    }

    /// Returns true if it moves at most so far, false if it moves farther than chance explains, and none otherwise.
    #[must_use]
    pub fn within(&self, limit_percent: f64) -> Option<bool> {
        if self.off_percent <= limit_percent {
            return Some(true);
        }
        (self.off_percent > limit_percent + self.chance_percent).then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_own_drift_and_no_margin() {
        let rising: Vec<u64> = (0..240).map(|second| 1_000 + second).collect();
        let trend = Trend::of(&rising).expect("enough seconds");
        // 240 of a mean of 1 119.5.
        assert!((trend.drift_percent - 21.44).abs() < 0.01, "{trend:?}");
        assert!(trend.margin_percent < 1e-6, "{trend:?}");
        assert_eq!(trend.within(2.0), Some(false));
        assert_eq!(trend.within(25.0), Some(true));
    }

    #[test]
    fn noise_without_a_trend_is_steady_once_there_is_enough_of_it() {
        // A period of 7 s, so no piece has the same part of it as the next one.
        let noisy =
            |seconds: u64| (0..seconds).map(|second| 900 + 100 * (second * 3 % 7) / 3).collect::<Vec<_>>();
        let short = Trend::of(&noisy(12)).expect("enough seconds");
        assert_eq!(short.within(2.0), None, "{short:?}");
        let long = Trend::of(&noisy(24 * 70)).expect("enough seconds");
        assert_eq!(long.within(2.0), Some(true), "{long:?}");
    }

    #[test]
    fn nothing_has_no_trend() {
        assert_eq!(Trend::of(&[5; TREND_SECONDS - 1]), None);
        assert_eq!(Trend::of(&[0; 60]), None);
        assert_eq!(RunningMean::of(&[5; TREND_SECONDS - 1]), None);
        assert_eq!(RunningMean::of(&[0; 60]), None);
    }

    #[test]
    fn the_running_mean_is_judged_over_the_second_half() {
        let steady = RunningMean::of(&[10; 10]).expect("a count");
        assert_eq!((steady.off_percent, steady.chance_percent), (0.0, 0.0));
        // The mean is 15. In the middle the running mean is 10, after 6 of 10 seconds 11.7, at the end 15.
        let halves = RunningMean::of(&[10, 10, 10, 10, 10, 20, 20, 20, 20, 20]).expect("a count");
        assert!((halves.off_percent - 100.0 / 3.0 * 2.0 / 3.0).abs() < 0.1, "{halves:?}");
        assert_eq!(halves.within(2.0), None, "ten seconds prove nothing: {halves:?}");
        let long: Vec<u64> = (0..2_000).map(|second| 10 * (1 + second / 1_000)).collect();
        assert_eq!(RunningMean::of(&long).and_then(|long| long.within(2.0)), Some(false));
    }
}
