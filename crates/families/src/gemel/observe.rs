//! Statistics of Gemel: the metrics of its state, under their own names.

use super::GemelTarget;
use ::gemel::{Database, Metric, MetricKind};
use lydite_database::{Observe, Observer, Sample, SampleKind, TargetError};

/// Beginning of metrics that stay the same while the database is open.
const CONSTANT: &str = "gemel_recovery_";

/// An open database.
struct GemelObserver(Database);

impl Observe for GemelTarget {
    fn observer(&self, _server: usize) -> Result<Option<Box<dyn Observer>>, TargetError> {
        Ok(Some(Box::new(GemelObserver(self.database()?))))
    }
}

impl Observer for GemelObserver {
    fn sample(&mut self) -> Result<Vec<Sample>, TargetError> {
        let metrics = self.0.state().metrics().into_iter();
        Ok(metrics.filter(|metric| !metric.name.starts_with(CONSTANT)).map(sample).collect())
    }
}

/// Returns a metric as a sample.
fn sample(metric: Metric) -> Sample {
    let Metric { name, kind, unit, label, value, .. } = metric;
    let name = match label {
        Some((label, of)) => format!("{name}{{{label}=\"{of}\"}}"),
        None => name.to_owned(),
    };
    let (kind, unit) = match (kind, unit) {
        (MetricKind::Counter, "bytes") => (SampleKind::Counter, "bytes/s"),
        (MetricKind::Counter, "seconds") => (SampleKind::Counter, "s/s"),
        (MetricKind::Counter, _) => (SampleKind::Counter, "/s"),
        (MetricKind::Gauge, "seconds") => (SampleKind::Gauge, "s"),
        (MetricKind::Gauge, unit) => (SampleKind::Gauge, unit),
    };
    Sample { name, unit, kind, value }
}
