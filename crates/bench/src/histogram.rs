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

/// A histogram on its way to another process: the format V2 of HdrHistogram.
pub(crate) mod wire {
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
    use serde::de::Error as _;
    use serde::ser::Error as _;

    pub(crate) fn serialize<S: serde::Serializer>(
        histogram: &Histogram<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(histogram, &mut bytes)
            .map_err(|error| S::Error::custom(error.to_string()))?;
        serializer.serialize_bytes(&bytes)
    }

    pub(crate) fn deserialize<'de, D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Histogram<u64>, D::Error> {
        let bytes: Vec<u8> = serde_bytes::deserialize(deserializer)?;
        let mut histogram: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| D::Error::custom(error.to_string()))?;
        histogram.auto(true);
        Ok(histogram)
    }

    /// The same for a histogram that may be missing.
    pub(crate) mod option {
        use hdrhistogram::Histogram;
        use serde::{Deserialize, Serialize};

        #[derive(Deserialize, Serialize)]
        struct Wired(#[serde(with = "super")] Histogram<u64>);

        pub(crate) fn serialize<S: serde::Serializer>(
            histogram: &Option<Histogram<u64>>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            histogram.clone().map(Wired).serialize(serializer)
        }

        pub(crate) fn deserialize<'de, D: serde::Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Histogram<u64>>, D::Error> {
            Ok(Option::<Wired>::deserialize(deserializer)?.map(|Wired(histogram)| histogram))
        }
    }
}
