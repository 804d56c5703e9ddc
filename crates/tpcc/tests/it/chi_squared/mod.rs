//! Pearson's test of counts against a distribution.

/// Returns the excess of the statistic over chance, in standard deviations (Wilson and Hilferty's approximation).
/// Chance stays below 4, but for one case in 30 000. Neighbouring cells that expect fewer than ten are pooled.
pub(crate) fn excess_deviations(counts: &[u64], probabilities: &[f64]) -> f64 {
    assert_eq!(counts.len(), probabilities.len());
    let total: u64 = counts.iter().sum();
    let (mut statistic, mut cells) = (0.0, 0_u32);
    let (mut count, mut expected) = (0.0, 0.0);
    for (&cell, &probability) in counts.iter().zip(probabilities) {
        count += cell as f64;
        expected += total as f64 * probability;
        if expected >= 10.0 {
            statistic += (count - expected).powi(2) / expected;
            cells += 1;
            (count, expected) = (0.0, 0.0);
        }
    }
    // The last cells, if they do not fill a pool, are left out: they weigh next to nothing.
    let freedom = f64::from(cells - 1);
    let spread = 2.0 / (9.0 * freedom);
    ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// Returns equal probabilities for `cells` cells.
pub(crate) fn uniform(cells: usize) -> Vec<f64> {
    vec![1.0 / cells as f64; cells]
}
