//! Latency histograms as text: HdrHistogram V2 with deflate, in base64. The values are nanoseconds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};

use crate::model::Latency;
use crate::store::ResultError;

/// Nanoseconds in a millisecond.
pub(crate) const NS_PER_MS: f64 = 1e6;

/// Writes a histogram as text.
///
/// # Errors
/// If the histogram is too large to be serialised (its range exceeds what the format can hold).
pub fn encode(histogram: &Histogram<u64>) -> Result<String, ResultError> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|e| ResultError::Histogram(e.to_string()))?;
    Ok(STANDARD.encode(bytes))
}

/// Reads what [`encode`] wrote.
///
/// # Errors
/// If the text is damaged.
pub fn decode(text: &str) -> Result<Histogram<u64>, ResultError> {
    let bytes = STANDARD.decode(text).map_err(|e| ResultError::Histogram(e.to_string()))?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| ResultError::Histogram(e.to_string()))
}

impl Latency {
    /// Returns the summary of a histogram of nanoseconds; without numbers if it is empty.
    #[must_use]
    pub fn from_histogram(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let at = |quantile| Some(histogram.value_at_quantile(quantile) as f64 / NS_PER_MS);
        Self {
            mean: Some(histogram.mean() / NS_PER_MS),
            p50: at(0.50),
            p90: at(0.90),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: Some(histogram.max() as f64 / NS_PER_MS),
        }
    }
}
