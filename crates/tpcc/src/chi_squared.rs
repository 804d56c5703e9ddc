//! Pearson's test of counts against a distribution.

/// Returns the excess of the statistic over chance, in standard deviations (Wilson and Hilferty's approximation).
/// Chance stays below 4, but for one case in 30 000. Neighbouring cells that expect fewer than ten are pooled. `None` if
/// there are too few samples for two pools.
#[must_use]
pub fn excess_deviations(counts: &[u64], probabilities: &[f64]) -> Option<f64> {
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
    let freedom = f64::from(cells.checked_sub(1).filter(|&freedom| freedom > 0)?);
    let spread = 2.0 / (9.0 * freedom);
    Some(((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt())
}

/// Returns equal probabilities for `cells` cells.
#[must_use]
pub fn uniform(cells: usize) -> Vec<f64> {
    vec![1.0 / cells as f64; cells]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_chance_explains_are_told_from_those_that_it_does_not() {
        let fair = excess_deviations(&[98, 105, 97, 100], &uniform(4)).expect("four cells");
        assert!(fair < 1.0, "{fair}");
        let unfair = excess_deviations(&[150, 50, 100, 100], &uniform(4)).expect("four cells");
        assert!(unfair > 4.0, "{unfair}");
        assert_eq!(excess_deviations(&[5, 6], &uniform(2)), None, "eleven samples fill one pool");
    }
}
