//! Samples of what the kernel counts.

use lydite_database::{Sample, SampleKind};

/// Ticks of a second in times of processors, whatever the kernel's own timer.
pub(crate) const TICKS_PER_S: f64 = 100.0;

/// Returns a value that only grows.
pub(crate) fn counter(name: impl Into<String>, unit: &'static str, value: f64) -> Sample {
    Sample { name: name.into(), unit, kind: SampleKind::Counter, value }
}

/// Returns a value as it stands.
pub(crate) fn gauge(name: impl Into<String>, unit: &'static str, value: f64) -> Sample {
    Sample { name: name.into(), unit, kind: SampleKind::Gauge, value }
}
