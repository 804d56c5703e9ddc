//! Samples of one source, and the values of seconds that follow from them.

use crate::exporter::MAX_SERIES;
use lydite_database::{Sample, SampleKind};
use std::collections::HashMap;

/// Digits behind the point of a value.
const PRECISION: f64 = 1e3;

/// Most names of a source over a window.
pub(crate) const MOST: usize = 2 * MAX_SERIES;

/// Samples of one source at the *ticks* of a window: the start of each second, and the end of the last one.
#[derive(Debug, Default)]
pub struct Samples {
    /// Time of the sample of each tick, in seconds since the start of the window.
    times: Vec<Option<f64>>,
    columns: Vec<Column>,
    by_name: HashMap<String, usize>,
    /// True if there were more names than [`MOST`].
    cut: bool,
}

/// A value over time.
#[derive(Debug)]
struct Column {
    name: String,
    unit: &'static str,
    kind: SampleKind,
    /// Value of each tick. Ticks at the end may be missing.
    values: Vec<Option<f64>>,
}

/// A value in each second of the window.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name, as the source calls it.
    pub name: String,
    /// Unit: of a counter, that of its growth in a second.
    pub unit: &'static str,
    /// A gauge at the start of each second, or the growth of a counter in it; `None` without a sample.
    pub values: Vec<Option<f64>>,
}

impl Samples {
    /// True if there were more than [`MOST`] names, so that some have no values.
    #[must_use]
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// True if there is no sample yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Adds the sample of a tick, taken at `time`, which should be at `due`. The sample that was taken nearest to `due`
    /// counts. Times are seconds since the start of the window.
    pub fn add(&mut self, tick: usize, due: f64, time: f64, samples: Vec<Sample>) {
        let at = grown(&mut self.times, tick);
        if at.is_some_and(|other| (other - due).abs() <= (time - due).abs()) {
            return;
        }
        *at = Some(time);
        for column in &mut self.columns {
            if let Some(value) = column.values.get_mut(tick) {
                *value = None;
            }
        }
        for Sample { name, unit, kind, value } in samples {
            // Labels of an exporter that change all the time would fill the memory.
            if self.columns.len() >= MOST && !self.by_name.contains_key(&name) {
                self.cut = true;
                continue;
            }
            let number = *self.by_name.entry(name).or_insert_with_key(|name| {
                self.columns.push(Column { name: name.clone(), unit, kind, values: Vec::new() });
                self.columns.len() - 1
            });
            *grown(&mut self.columns[number].values, tick) = Some(value);
        }
    }

    /// Returns the values of the first `seconds` seconds, of all names that have any.
    #[must_use]
    pub fn series(&self, seconds: usize) -> Vec<Series> {
        let series = self.columns.iter().map(|column| Series {
            name: column.name.clone(),
            unit: column.unit,
            values: (0..seconds)
                .map(|second| self.value(column, second).filter(|value| value.is_finite()))
                .collect(),
        });
        series.filter(|series| series.values.iter().any(Option::is_some)).collect()
    }

    /// Returns the values of the last second that has both ends, as series of one value.
    #[must_use]
    pub fn latest(&self) -> Vec<Series> {
        let Some(second) = self.times.len().checked_sub(2) else { return Vec::new() };
        let series = self.columns.iter().map(|column| Series {
            name: column.name.clone(),
            unit: column.unit,
            values: vec![self.value(column, second).filter(|value| value.is_finite())],
        });
        series.collect()
    }

    /// Returns the value of a second.
    fn value(&self, column: &Column, second: usize) -> Option<f64> {
        let at = |tick: usize| column.values.get(tick).copied().flatten();
        let value = match column.kind {
            SampleKind::Gauge => at(second)?,
            SampleKind::Counter => {
                let time = |tick: usize| self.times.get(tick).copied().flatten();
                let (growth, elapsed) = (at(second + 1)? - at(second)?, time(second + 1)? - time(second)?);
                // A counter that fell began again, so its growth is unknown.
                (growth >= 0.0 && elapsed > 0.0).then_some(growth / elapsed)?
            }
        };
        Some((value * PRECISION).round() / PRECISION)
    }
}

/// Returns the place of a number in a list, which grows as far as needed.
fn grown(list: &mut Vec<Option<f64>>, number: usize) -> &mut Option<f64> {
    if list.len() <= number {
        list.resize(number + 1, None);
    }
    &mut list[number]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(value: f64) -> Vec<Sample> {
        vec![Sample { name: "c".into(), unit: "/s", kind: SampleKind::Counter, value }]
    }

    fn gauge(value: f64) -> Vec<Sample> {
        vec![Sample { name: "g".into(), unit: "bytes", kind: SampleKind::Gauge, value }]
    }

    /// The only series of these samples: ticks, times and samples.
    fn only(seconds: usize, all: Vec<(usize, f64, Vec<Sample>)>) -> Vec<Option<f64>> {
        let mut samples = Samples::default();
        all.into_iter().for_each(|(tick, time, sample)| samples.add(tick, tick as f64, time, sample));
        let series = samples.series(seconds);
        assert_eq!(series.len(), 1, "{series:?}");
        series[0].values.clone()
    }

    #[test]
    fn counters_are_growth_over_the_real_time_between_two_samples() {
        let values = only(
            3,
            vec![
                (0, 0.0, counter(100.0)),
                (1, 1.25, counter(110.0)),
                (2, 2.0, counter(113.0)),
                (3, 3.0, counter(113.0)),
            ],
        );
        assert_eq!(values, [Some(8.0), Some(4.0), Some(0.0)]);
    }

    #[test]
    fn seconds_without_a_sample_at_one_of_their_ends_have_no_growth() {
        let values = only(
            4,
            vec![
                (0, 0.0, counter(0.0)),
                (1, 1.0, counter(5.0)),
                (3, 3.0, counter(7.0)),
                (4, 4.0, counter(8.0)),
            ],
        );
        assert_eq!(values, [Some(5.0), None, None, Some(1.0)]);
    }

    #[test]
    fn a_counter_that_begins_again_has_no_growth_in_that_second() {
        let values = only(
            3,
            vec![
                (0, 0.0, counter(7.0)),
                (1, 1.0, counter(9.0)),
                (2, 2.0, counter(1.0)),
                (3, 3.0, counter(4.0)),
            ],
        );
        assert_eq!(values, [Some(2.0), None, Some(3.0)]);
    }

    #[test]
    fn gauges_are_their_value_at_the_start_of_the_second() {
        let values = only(3, vec![(0, 0.0, gauge(3.0)), (2, 2.0, gauge(1.23456)), (3, 3.0, gauge(9.0))]);
        assert_eq!(values, [Some(3.0), None, Some(1.235)]);
    }

    #[test]
    fn of_two_samples_of_a_tick_the_nearer_one_counts() {
        let mut samples = Samples::default();
        samples.add(1, 1.0, 1.4, gauge(1.0));
        samples.add(1, 1.0, 1.1, gauge(2.0));
        samples.add(1, 1.0, 0.7, gauge(3.0));
        assert_eq!(samples.series(2)[0].values, [None, Some(2.0)]);
    }

    #[test]
    fn series_without_a_finite_value_are_left_out() {
        let mut samples = Samples::default();
        assert!(samples.is_empty());
        samples.add(0, 0.0, 0.0, gauge(f64::NAN));
        assert!(!samples.is_empty());
        assert_eq!(samples.series(1), []);
    }
}
