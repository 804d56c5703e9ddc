//! Pearson's test for tests that have samples enough.

pub(crate) use lydite_tpcc::chi_squared::uniform;

/// See [`lydite_tpcc::chi_squared::excess_deviations`].
pub(crate) fn excess_deviations(counts: &[u64], probabilities: &[f64]) -> f64 {
    assert_eq!(counts.len(), probabilities.len());
    lydite_tpcc::chi_squared::excess_deviations(counts, probabilities).expect("samples enough")
}
