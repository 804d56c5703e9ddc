//! Histograms of nanoseconds.

use hdrhistogram::Histogram;

/// Returns an empty histogram of nanoseconds with three significant digits. It grows with its values.
pub(crate) fn histogram() -> Histogram<u64> {
    match Histogram::new(3) {
        Ok(histogram) => histogram,
        Err(error) => unreachable!("three digits are valid: {error}"),
    }
}

/// Adds a value.
pub(crate) fn count(histogram: &mut Histogram<u64>, value: u64) {
    count_times(histogram, value, 1);
}

/// Adds a value `times` times. A value beyond the reach of the histogram counts as the greatest one.
pub(crate) fn count_times(histogram: &mut Histogram<u64>, value: u64, times: u64) {
    if histogram.record_n(value, times).is_err() {
        histogram.saturating_record_n(value, times);
    }
}

/// Adds all values of another histogram.
pub(crate) fn merge(into: &mut Histogram<u64>, from: &Histogram<u64>) {
    for value in from.iter_recorded() {
        count_times(into, value.value_iterated_to(), value.count_at_value());
    }
}
