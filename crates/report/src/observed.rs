//! Values that the run observed beside its transactions: statistics of the server, the machine, and exporters.

use crate::figures::{bytes, number};
use crate::model::RunResult;

pub use crate::model::{Extent, Observed};

/// Ends of the names of counters that grow when a checkpoint begins: of Gemel, of PostgreSQL to version 16, and of later
/// versions.
const CHECKPOINT_COUNTERS: [&str; 5] = [
    "checkpoints",
    "checkpoints_timed",
    "checkpoints_req",
    "checkpointer.num_timed",
    "checkpointer.num_requested",
];

/// Returns true for the name of a counter that grows when a checkpoint begins.
#[must_use]
pub fn counts_checkpoints(name: &str) -> bool {
    let name = name.split('{').next().unwrap_or_default();
    let name = name.strip_suffix("_total").unwrap_or(name);
    CHECKPOINT_COUNTERS.iter().any(|end| name.ends_with(end))
}

/// Returns the seconds of the window in which a checkpoint began; none if the run observed no counter of checkpoints.
#[must_use]
pub fn checkpoints(result: &RunResult) -> Option<Vec<i64>> {
    let counts = |of: &&Observed| of.unit == "/s" && counts_checkpoints(&of.name);
    let counters: Vec<&Observed> = result.observed.iter().filter(counts).collect();
    if counters.is_empty() {
        return None;
    }
    let grew =
        |index: usize| counters.iter().any(|of| of.values.get(index).is_some_and(|of| *of > Some(0.0)));
    let seconds = result.series.second.iter().enumerate();
    Some(seconds.filter(|(index, _)| grew(*index)).map(|(_, second)| *second).collect())
}

/// Returns an observed value in its unit: `1,234/s`, `5.6 MiB/s`, `7.89 %`; a dash without a value.
#[must_use]
pub fn with_unit(value: Option<f64>, unit: &str) -> String {
    let size = |value: f64| match value.abs() {
        few if few < 1024.0 => format!("{} bytes", number(value)),
        many => format!("{}{}", if value < 0.0 { "-" } else { "" }, bytes(many.round() as u64)),
    };
    match (value, unit) {
        (None, _) => number(None),
        (Some(value), "bytes") => size(value),
        (Some(value), "bytes/s") => format!("{}/s", size(value)),
        (Some(value), "percent") => format!("{} %", number(value)),
        (Some(value), unit) if unit.is_empty() || unit.starts_with('/') => format!("{}{unit}", number(value)),
        (Some(value), unit) => format!("{} {unit}", number(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Series;

    fn observed(name: &str, unit: &str, values: &[Option<f64>]) -> Observed {
        Observed { source: "db".into(), name: name.into(), unit: unit.into(), values: values.to_vec() }
    }

    #[test]
    fn seconds_without_a_sample_count_in_no_mean() {
        let extent = observed("x", "/s", &[Some(4.0), None, Some(-1.0), Some(9.0)]).extent().unwrap();
        assert_eq!((extent.mean, extent.lowest, extent.highest), (4.0, -1.0, 9.0));
        assert_eq!(observed("x", "/s", &[None, None]).extent(), None);
    }

    #[test]
    fn a_checkpoint_is_a_second_in_which_one_of_its_counters_grew() {
        let with = |all: Vec<Observed>| RunResult {
            series: Series { second: vec![0, 1, 2, 3], ..Series::default() },
            observed: all,
            ..RunResult::default()
        };
        let timed = observed("pg_stat_bgwriter.checkpoints_timed", "/s", &[Some(0.0), Some(1.0), None, None]);
        for (name, seconds) in [
            ("pg_stat_bgwriter.checkpoints_req", vec![1, 3]),
            ("pg_stat_checkpointer.num_requested", vec![1, 3]),
            ("gemel_checkpoints_total", vec![1, 3]),
            ("pg_stat_bgwriter_checkpoints_timed_total{server=\"a\"}", vec![1, 3]),
            ("pg_stat_bgwriter.checkpoint_write_time", vec![1]),
            ("pg_stat_checkpointer.buffers_written", vec![1]),
        ] {
            let other = observed(name, "/s", &[None, Some(0.0), Some(0.0), Some(0.5)]);
            assert_eq!(checkpoints(&with(vec![timed.clone(), other])), Some(seconds), "{name}");
        }
        let total = observed("pg_stat_bgwriter.checkpoints_req", "", &[Some(7.0); 4]);
        assert_eq!(checkpoints(&with(vec![total])), None, "no growth");
    }

    #[test]
    fn values_have_readable_units() {
        for (value, unit, text) in [
            (Some(1234.4), "/s", "1,234/s"),
            (Some(5.6 * 1024.0 * 1024.0), "bytes/s", "5.6 MiB/s"),
            (Some(-2048.0), "bytes", "-2.0 KiB"),
            (Some(0.25), "bytes/s", "0.250 bytes/s"),
            (Some(7.89), "percent", "7.89 %"),
            (Some(2.0), "cores", "2.00 cores"),
            (Some(3.0), "", "3.00"),
            (None, "/s", "–"),
        ] {
            assert_eq!(with_unit(value, unit), text);
        }
    }
}
