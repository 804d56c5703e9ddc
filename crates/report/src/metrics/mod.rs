//! The metrics of the Dike paper (4.4) as numbers: scalability, availability, schedulability. They are pure functions
//! of throughputs and sizes; the modules below read these from results and render the metrics.

mod availability;
pub mod faults;
mod of_results;
mod periodic;
pub(crate) mod text;

pub use crate::model::Settling;
pub use availability::{
    Aftermath, Availability, Between, Event, EventRejected, Stable, availability, availability_each,
};
pub use of_results::{Asked, ByNodes, Metrics, MetricsError, OfEvents, OfNodes};
pub use text::render_metrics;

use serde::Serialize;

use crate::interval::mean;

/// Least, quartiles and greatest of some numbers. A quartile between two of them is interpolated linearly (definition 7
/// of Hyndman and Fan, the default of R, NumPy and spreadsheets).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FiveNumbers {
    /// Least.
    pub min: f64,
    /// First quartile.
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub q3: f64,
    /// Greatest.
    pub max: f64,
}

impl FiveNumbers {
    /// Short names of the numbers, from the least to the greatest.
    pub const NAMES: [&str; 5] = ["min", "q1", "median", "q3", "max"];

    /// Returns the summary of these numbers; none without numbers, or if one of them is not finite.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let at = |share: f64| {
            let place = share * (sorted.len() - 1) as f64;
            let below = sorted.get(place as usize).copied().unwrap_or(max);
            let above = sorted.get(place as usize + 1).copied().unwrap_or(max);
            // Clamped, so that equal neighbours give exactly their value.
            (below + (above - below) * place.fract()).clamp(min, max)
        };
        Some(Self { min, q1: at(0.25), median: at(0.5), q3: at(0.75), max })
    }

    /// Returns the five numbers, from the least to the greatest.
    #[must_use]
    pub fn numbers(&self) -> [f64; 5] {
        [self.min, self.q1, self.median, self.q3, self.max]
    }
}

/// The runs with one number of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Size {
    /// Number of nodes.
    pub nodes: u32,
    /// Number of runs.
    pub runs: usize,
    /// Median of their transactions per second.
    pub tps: f64,
    /// `tps` divided by the number of nodes.
    pub tps_per_node: f64,
    /// Scalability from the least number of nodes to this one; none for the least itself, or if that completed nothing.
    pub from_least: Option<f64>,
    /// Scalability from the next smaller number of nodes to this one.
    pub from_previous: Option<f64>,
}

/// Returns Scalability(N1→N2) = 1 − |TPS2/N2 − TPS1/N1| / (TPS1/N1) (Dike 4.4, equation 3) by number of nodes, the
/// least first. Each run is given by its number of nodes (at least 1) and its transactions per second.
#[must_use]
pub fn scalability(runs: &[(u32, f64)]) -> Vec<Size> {
    let mut nodes: Vec<u32> = runs.iter().map(|(nodes, _)| *nodes).filter(|nodes| *nodes > 0).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let mut sizes: Vec<Size> = Vec::with_capacity(nodes.len());
    for nodes in nodes {
        let all: Vec<f64> = runs.iter().filter(|(of, _)| *of == nodes).map(|(_, tps)| *tps).collect();
        let Some(FiveNumbers { median: tps, .. }) = FiveNumbers::of(&all) else { continue };
        let tps_per_node = tps / f64::from(nodes);
        let from = |base: &Size| {
            let change = (tps_per_node - base.tps_per_node).abs() / base.tps_per_node;
            change.is_finite().then_some(1.0 - change)
        };
        let (from_least, from_previous) = (sizes.first().and_then(from), sizes.last().and_then(from));
        sizes.push(Size { nodes, runs: all.len(), tps, tps_per_node, from_least, from_previous });
    }
    sizes
}

/// Returns the mean; none without numbers.
pub(crate) fn mean_of(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| mean(values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quartiles_between_two_numbers_are_interpolated() {
        let five = FiveNumbers::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(five.numbers(), [1.0, 1.75, 2.5, 3.25, 4.0]);
        assert_eq!(FiveNumbers::of(&[7.0]).unwrap().numbers(), [7.0; 5]);
        assert_eq!(FiveNumbers::of(&[]), None);
        assert_eq!(FiveNumbers::of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn scalability_compares_the_median_of_each_size_with_the_least_and_the_one_before() {
        let runs = [(9, 810.0), (3, 300.0), (3, 330.0), (3, 240.0), (6, 480.0)];
        let sizes = scalability(&runs);
        let found: Vec<_> = sizes.iter().map(|size| (size.nodes, size.runs, size.tps_per_node)).collect();
        assert_eq!(found, [(3, 3, 100.0), (6, 1, 80.0), (9, 1, 90.0)]);
        assert_eq!((sizes[0].from_least, sizes[0].from_previous), (None, None));
        assert!((sizes[1].from_least.unwrap() - 0.8).abs() < 1e-12);
        assert!((sizes[2].from_least.unwrap() - 0.9).abs() < 1e-12);
        assert!((sizes[2].from_previous.unwrap() - 0.875).abs() < 1e-12);
        assert_eq!(scalability(&[(1, 0.0), (2, 10.0)])[1].from_least, None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn five_numbers_of_a_constant_are_that_constant(value in -1e12_f64..1e12, count in 1_usize..50) {
            prop_assert_eq!(FiveNumbers::of(&vec![value; count]).unwrap().numbers(), [value; 5]);
        }

        #[test]
        fn five_numbers_are_in_order_whatever_the_order_of_the_values(
            mut values in prop::collection::vec(-1e9_f64..1e9, 1..60),
        ) {
            let five = FiveNumbers::of(&values).unwrap();
            prop_assert!(five.numbers().is_sorted());
            values.reverse();
            prop_assert_eq!(FiveNumbers::of(&values), Some(five));
            prop_assert!(values.contains(&five.min) && values.contains(&five.max));
        }

        #[test]
        fn the_same_throughput_per_node_scales_perfectly(each in 1.0_f64..1e6, least in 1_u32..50, more in 1_u32..50) {
            let all = least + more;
            let sizes = scalability(&[(least, each * f64::from(least)), (all, each * f64::from(all))]);
            prop_assert!((sizes[1].from_least.unwrap() - 1.0).abs() < 1e-9);
        }
    }
}
