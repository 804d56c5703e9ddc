//! The level and the width of the intervals, by simulation. `docs/src/result.md` has the measured rates.

use super::{NoInterval, Statistic, mean, ratio_interval};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use std::fmt::Write as _;

/// Pairs of series for each rate.
const PAIRS: usize = 250;

/// False alarms that 5 % give among [`PAIRS`] with a chance of 1 in 500 at most: 12.5 on average, with a
/// standard deviation of 3.4.
const MOST_ALARMS: usize = 12 + 11;

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Returns an autoregression of first order with variance 1.
    fn dependent(&mut self, seconds: usize, coefficient: f64) -> Vec<f64> {
        let mut value = self.normal();
        let fresh = (1.0 - coefficient * coefficient).sqrt();
        let mut all = Vec::with_capacity(seconds);
        for _ in 0..seconds {
            all.push(value);
            value = coefficient * value + fresh * self.normal();
        }
        all
    }
}

/// A kind of seconds: made of dice, their number and their coefficient.
type Seconds = fn(&mut Dice, usize, f64) -> Vec<f64>;

/// Throughput that varies by a tenth.
fn throughput(dice: &mut Dice, seconds: usize, coefficient: f64) -> Vec<f64> {
    dice.dependent(seconds, coefficient).iter().map(|z| 1000.0 * (1.0 + 0.1 * z)).collect()
}

/// Percentiles of latency: long tails.
fn latency(dice: &mut Dice, seconds: usize, coefficient: f64) -> Vec<f64> {
    dice.dependent(seconds, coefficient).iter().map(|z| 5.0 * (0.8 * z).exp()).collect()
}

/// Throughput with stalls: one second in 33 does nearly nothing.
fn stalls(dice: &mut Dice, seconds: usize, coefficient: f64) -> Vec<f64> {
    let mut all = throughput(dice, seconds, coefficient);
    all.iter_mut().for_each(|second| *second *= if dice.unit() < 0.03 { 0.1 } else { 1.0 });
    all
}

/// A slow dependence under the noise of single seconds.
fn noisy(dice: &mut Dice, seconds: usize, coefficient: f64) -> Vec<f64> {
    let slow = throughput(dice, seconds, coefficient);
    slow.into_iter().map(|second| second + 100.0 * dice.normal()).collect()
}

/// Outcomes of [`PAIRS`] of series alike.
#[derive(Debug, Default)]
struct Rate {
    /// Intervals without the true ratio, 1.
    alarms: usize,
    refused: usize,
    /// Sum of the widths.
    width: f64,
}

impl Rate {
    fn of(kind: Seconds, seconds: [usize; 2], coefficient: f64, statistic: Statistic) -> Self {
        let mut dice =
            Dice(Xoshiro256PlusPlus::seed_from_u64(seconds[0] as u64 + (coefficient * 1e6) as u64));
        let mut rate = Self::default();
        for _ in 0..PAIRS {
            let [a, b] = seconds.map(|seconds| kind(&mut dice, seconds, coefficient));
            match ratio_interval(&a, &b, statistic) {
                Ok((low, high)) => {
                    rate.alarms += usize::from(low > 1.0 || high < 1.0);
                    rate.width += high - low;
                }
                Err(_) => rate.refused += 1,
            }
        }
        rate
    }

    fn mean_width(&self) -> f64 {
        self.width / (PAIRS - self.refused) as f64
    }
}

/// The series that a rate is measured for.
const LENGTHS: [usize; 5] = [20, 30, 60, 120, 600];
/// Lengths at which other kinds of seconds are measured, to save time.
const FEW_LENGTHS: [usize; 2] = [30, 120];
const COEFFICIENTS: [f64; 5] = [0.0, 0.3, 0.5, 0.7, 0.9];

/// Asserts the level for all lengths and coefficients up to `highest`. Returns a table of it.
fn holds_its_level(kind: Seconds, statistic: Statistic, lengths: &[usize], highest: f64) -> String {
    let mut table = String::new();
    for seconds in lengths.iter().copied() {
        let _ = write!(table, "{seconds:4} s");
        for coefficient in COEFFICIENTS.into_iter().filter(|coefficient| *coefficient <= highest) {
            let rate = Rate::of(kind, [seconds, seconds], coefficient, statistic);
            let percent = |count: usize| 100.0 * count as f64 / PAIRS as f64;
            let _ = write!(table, " | {:4.1} % {:5.1} %", percent(rate.alarms), percent(rate.refused));
            assert!(rate.alarms <= MOST_ALARMS, "{seconds} s, coefficient {coefficient}: {rate:?}");
        }
        table.push('\n');
    }
    table
}

#[test]
fn intervals_of_means_hold_their_level_on_dependent_seconds() {
    println!("{}", holds_its_level(throughput, Statistic::Mean, &LENGTHS, 0.9));
}

#[test]
fn intervals_of_medians_hold_their_level_on_dependent_seconds() {
    println!("{}", holds_its_level(latency, Statistic::Median, &LENGTHS, 0.9));
}

#[test]
fn long_tails_and_stalls_and_noise_cost_no_level() {
    println!("{}", holds_its_level(latency, Statistic::Mean, &FEW_LENGTHS, 0.9));
    println!("{}", holds_its_level(stalls, Statistic::Mean, &FEW_LENGTHS, 0.9));
    // A slow dependence below equal noise does not show in the seconds of half a minute.
    println!("{}", holds_its_level(noisy, Statistic::Mean, &FEW_LENGTHS, 0.7));
}

#[test]
fn runs_of_unequal_lengths_hold_their_level() {
    for (seconds, coefficient) in [([20, 600], 0.5), ([60, 300], 0.7), ([600, 120], 0.9)] {
        for statistic in [Statistic::Mean, Statistic::Median] {
            let rate = Rate::of(throughput, seconds, coefficient, statistic);
            assert!(rate.alarms <= MOST_ALARMS, "{seconds:?}, {statistic:?}: {rate:?}");
        }
    }
}

#[test]
fn intervals_that_are_given_seldom_miss() {
    // Where most pairs get an interval, the level holds among those that got one.
    for (seconds, coefficient) in [(30, 0.0), (30, 0.3), (60, 0.5), (120, 0.7), (600, 0.9)] {
        let rate = Rate::of(throughput, [seconds, seconds], coefficient, Statistic::Mean);
        let given = PAIRS - rate.refused;
        assert!(given > PAIRS / 2 && rate.alarms * PAIRS <= MOST_ALARMS * given, "{seconds} s: {rate:?}");
    }
}

#[test]
fn independent_seconds_cost_little_width() {
    // The widths of intervals that would know the seconds to be independent and normal.
    let ideal = |seconds: usize| 2.0 * 1.96 * 0.1 * (2.0 / seconds as f64).sqrt();
    for (seconds, most_refused, widest) in
        [(30, 0.15, 1.7), (60, 0.03, 1.6), (120, 0.0, 1.5), (600, 0.0, 1.3)]
    {
        let rate = Rate::of(throughput, [seconds, seconds], 0.0, Statistic::Mean);
        let refused = rate.refused as f64 / PAIRS as f64;
        assert!(refused <= most_refused, "{seconds} s: {rate:?}");
        assert!(
            rate.mean_width() < widest * ideal(seconds),
            "{seconds} s: {}",
            rate.mean_width() / ideal(seconds)
        );
    }
}

#[test]
fn a_difference_beyond_chance_is_found() {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(1));
    let mut found = 0;
    for _ in 0..100 {
        let a = throughput(&mut dice, 60, 0.3);
        let b: Vec<f64> = throughput(&mut dice, 60, 0.3).iter().map(|second| 1.15 * second).collect();
        let means = ratio_interval(&a, &b, Statistic::Mean).is_ok_and(|(low, high)| low > 1.0 && high < 1.4);
        let medians =
            ratio_interval(&a, &b, Statistic::Median).is_ok_and(|(low, high)| low > 1.0 && high < 1.5);
        found += usize::from(means && medians);
    }
    assert!(found >= 80, "{found}");
}

#[test]
fn drifts_and_steps_get_no_interval_or_a_wide_one() {
    for seconds in [20, 60, 300, 600] {
        let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(2));
        let n = seconds as f64;
        // A warm-up within the window, a database that slows down, an outage of a quarter.
        let shapes: [fn(f64) -> f64; 3] = [
            |at| if at < 0.4 { 0.5 } else { 1.0 },
            |at| 1.0 - 0.5 * at,
            |at| if (0.3..0.55).contains(&at) { 0.0 } else { 1.0 },
        ];
        for shape in shapes {
            let steady = throughput(&mut dice, seconds, 0.0);
            let shaped: Vec<f64> = throughput(&mut dice, seconds, 0.0)
                .iter()
                .zip(0..)
                .map(|(s, i)| s * shape(f64::from(i) / n))
                .collect();
            // The mean of such seconds says little about the next run.
            let found = ratio_interval(&steady, &shaped, Statistic::Mean);
            assert!(
                found.is_err() || found.is_ok_and(|(low, high)| high / low > 1.5),
                "{seconds}: {found:?}, ratio {}",
                mean(&shaped) / mean(&steady)
            );
        }
    }
}

#[test]
fn series_without_an_interval_say_why() {
    let usual: Vec<f64> = throughput(&mut Dice(Xoshiro256PlusPlus::seed_from_u64(3)), 60, 0.0);
    let short = &usual[..19];
    let nothing = vec![0.0; 60];
    let drift: Vec<f64> = (1..=60).map(f64::from).collect();
    for statistic in [Statistic::Mean, Statistic::Median] {
        assert_eq!(ratio_interval(&usual, short, statistic), Err(NoInterval::TooShort));
        assert_eq!(ratio_interval(&usual, &nothing, statistic), Err(NoInterval::NotPositive));
        assert_eq!(ratio_interval(&nothing, &usual, statistic), Err(NoInterval::NotPositive));
        assert_eq!(ratio_interval(&usual, &drift, statistic), Err(NoInterval::TooDependent([false, true])));
        let constant = ratio_interval(&[1.0; 60], &[2.0; 20], statistic).expect("an interval");
        assert!((constant.0 - 2.0).abs() < 1e-9 && (constant.1 - 2.0).abs() < 1e-9, "{constant:?}");
        let one_bad = [&usual[..59], &[f64::NAN]].concat();
        assert!(ratio_interval(&usual, &one_bad, Statistic::Mean).is_err());
    }
}
