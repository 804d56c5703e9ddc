//! Round numbers along an axis that begins anywhere: 3 to 7 of them, so that a reader can tell the scale.

use super::plot::tick;

/// Fewest and most numbers along an axis.
const FEWEST: usize = 3;
const MOST: usize = 7;
/// Steps within a power of ten, the widest first. With at most two multiples of one, an axis has at most seven of the
/// next.
const STEPS: [f64; 3] = [5.0, 2.0, 1.0];
/// Numbers of each power of ten on a scale of ratios, the most first.
const OF_TEN: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];

/// Returns evenly spaced round numbers from `low` to `high` with their labels; none if there is nothing between them.
pub(super) fn even(low: f64, high: f64) -> Vec<(f64, String)> {
    let span = high - low;
    if !span.is_finite() || span <= 0.0 {
        return Vec::new();
    }
    // With a wider step at most two numbers lie on the axis.
    let widest = span.log10().floor() as i32;
    for power in (widest - 2..=widest).rev() {
        for times in STEPS {
            let step = times * 10_f64.powi(power);
            let first = (low / step).ceil();
            let all: Vec<f64> = (0..=MOST)
                .map(|n| (first + n as f64) * step)
                .take_while(|value| *value <= high + step * 1e-9)
                .collect();
            if all.len() >= FEWEST {
                return all.into_iter().map(|value| (value, label(value, step))).collect();
            }
        }
    }
    Vec::new()
}

/// Returns round numbers from `low` to `high`, both above 0, with their labels, for a scale of ratios.
pub(super) fn of_ratios(low: f64, high: f64) -> Vec<(f64, String)> {
    let tens = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
    let every = |stride: usize, of_ten: &[f64]| -> Vec<f64> {
        let all = tens.clone().filter(|power| (power.unsigned_abs() as usize).is_multiple_of(stride));
        let all = all.flat_map(|power| of_ten.iter().map(move |times| times * 10_f64.powi(power)));
        all.filter(|value| (low..=high).contains(value)).collect()
    };
    let fits = |all: &Vec<f64>| (FEWEST..=MOST).contains(&all.len());
    let dense = OF_TEN.into_iter().map(|of_ten| every(1, of_ten));
    // Scales of more than seven powers of ten have every second one, or fewer.
    let sparse = (1..=8).map(|doublings| every(1 << doublings, &[1.0]));
    match dense.chain(sparse).find(fits) {
        Some(all) => all.into_iter().map(|value| (value, label(value, value))).collect(),
        None => even(low, high),
    }
}

/// Returns the label of a value with the digits that distinguish it from its neighbours.
fn label(value: f64, step: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", tick(value.abs(), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the labels, and asserts that there are three to seven and that they are different.
    #[track_caller]
    fn labels(all: Vec<(f64, String)>) -> Vec<String> {
        let labels: Vec<String> = all.into_iter().map(|(_, label)| label).collect();
        assert!((FEWEST..=MOST).contains(&labels.len()), "{labels:?}");
        let mut different = labels.clone();
        different.dedup();
        assert_eq!(different, labels);
        labels
    }

    #[test]
    fn an_axis_has_three_to_seven_numbers_wherever_it_begins_and_ends() {
        for low in [0.0, 0.013, 0.97, 1.0, 7.3, 99.0, 12_345.0] {
            for span in [0.011, 0.1, 0.29, 0.3, 1.0, 1.49, 2.9, 5.0, 14.9, 99.0, 12_000.0] {
                labels(even(low, low + span));
            }
        }
        for low in [0.002, 0.9, 1.0, 1.1, 348.0, 1_000.0] {
            for ratio in [1.01, 1.3, 2.0, 4.9, 9.9, 11.0, 30.0, 101.0, 999.0, 5e4, 1e7, 1e9, 1e12] {
                labels(of_ratios(low, low * ratio));
            }
        }
    }

    #[test]
    fn labels_are_round_and_an_empty_axis_has_none() {
        assert_eq!(labels(even(0.93, 1.21)), ["1.0", "1.1", "1.2"]);
        assert_eq!(labels(even(-0.3, 0.9)), ["-0.2", "0", "0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(labels(of_ratios(348.0, 575.0)), ["350", "400", "450", "500", "550"]);
        assert_eq!(labels(of_ratios(0.004, 0.3)), ["0.005", "0.01", "0.02", "0.05", "0.1", "0.2"]);
        assert_eq!(labels(of_ratios(5.0, 2e6)), ["10", "100", "1,000", "10,000", "100,000", "1,000,000"]);
        assert!(even(1.0, 1.0).is_empty());
    }
}
