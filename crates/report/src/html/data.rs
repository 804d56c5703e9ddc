//! Data of the charts: histograms decoded into curves and bins, long series thinned.

use hdrhistogram::Histogram;
use serde::Serialize;

use super::chart::rounded;
use super::metrics::MetricsData;
use super::observed::ObservedData;
use crate::controls::contention::{Competing, Contention, HotRow, OfRow};
use crate::figures::{nopm_down, type_name};
use crate::hdr::{self, NS_PER_MS};
use crate::metrics::Event;
use crate::model::{RunResult, Series};
use crate::observed::checkpoints;

/// Most points of a series; more are thinned, since no screen shows them and the page of an 8-hour run should stay
/// small.
const POINTS_MAX: usize = 1500;

/// Fewest transactions of a point, as long as [`POINTS_ENOUGH`] points remain: with fewer it shows chance.
const TRANSACTIONS_PER_POINT: u64 = 25;
const POINTS_ENOUGH: usize = 60;

/// Bins of a frequency chart; TPC-C 5.6.1 wants at least 20.
const BINS: usize = 40;

/// Points of a percentile curve per decade of 1/(1-p), and the last decade (99.99 %).
const POINTS_PER_DECADE: i32 = 20;
const DECADES: i32 = 4;

/// Data of all charts of the page.
#[derive(Serialize)]
pub(super) struct PageData {
    pub(super) runs: Vec<RunData>,
    pub(super) metrics: MetricsData,
    /// Events of each run, from the user.
    pub(super) events: Vec<Event>,
}

/// Data of the charts of one run.
#[derive(Serialize)]
pub(super) struct RunData {
    name: String,
    nopm: f64,
    tps: f64,
    measured_s: f64,
    series: SeriesData,
    outages: Vec<[f64; 2]>,
    /// Seconds in which a checkpoint of the database began.
    checkpoints: Vec<i64>,
    /// Observed values, if the page is about this run alone.
    pub(super) observed: ObservedData,
    /// Hot rows of contention control; empty without it.
    pub(super) contention: Vec<ContentionData>,
    /// The phases of the plan, if there is more than one.
    phases: Vec<PhaseData>,
    pub(super) types: Vec<TypeData>,
}

/// A phase of the plan, in seconds from the window's start.
#[derive(Serialize)]
struct PhaseData {
    name: String,
    from_s: f64,
    to_s: f64,
}

/// Transactions that compete for one row: points of second and number.
#[derive(Serialize)]
pub(super) struct ContentionData {
    /// Name of the row, if there are several.
    name: Option<String>,
    /// Two points for each phase: its beginning and its end.
    asked: Vec<[f64; 2]>,
    /// One point for each span of seconds, at its middle.
    actual: Vec<[f64; 2]>,
}

/// Returns the competing transactions of a row.
fn competing(of: &OfRow<'_>) -> ContentionData {
    let points = |phase: &Competing| [[phase.from_s, phase.asked], [phase.to_s, phase.asked]];
    let asked = of.phases.iter().flat_map(points).collect();
    let seconds: Vec<f64> = of.per_second.iter().flatten().copied().collect();
    let step = seconds.len().div_ceil(POINTS_MAX).max(1);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let actual = (0..)
        .zip(seconds.chunks(step))
        .map(|(number, values)| [(f64::from(number) * step as f64) + values.len() as f64 / 2.0, mean(values)])
        .collect();
    ContentionData { name: of.row.and_then(HotRow::name), asked, actual }
}

/// Rates over time, warm-up first (negative seconds).
#[derive(Serialize, Default)]
struct SeriesData {
    /// Seconds per point.
    step_s: usize,
    second: Vec<i64>,
    /// Names of the transaction types, in the order of `types`.
    names: Vec<&'static str>,
    /// Completed per second, by type.
    types: Vec<Vec<f64>>,
    /// Latencies of the workload's first type.
    p50_ms: Vec<Option<f64>>,
    p99_ms: Vec<Option<f64>>,
    aborts: Vec<f64>,
    errors: Vec<f64>,
    unknown: Vec<f64>,
}

/// Data of the charts of one transaction type.
#[derive(Serialize)]
pub(super) struct TypeData {
    key: String,
    name: String,
    /// None if none of this type was completed.
    queue_mean_ms: Option<f64>,
    service_mean_ms: Option<f64>,
    /// Points `[1 / (1 - p), ms]`.
    curve: Vec<[f64; 2]>,
    /// Response times, from 0 to four times the 90th percentile (TPC-C 5.6.1).
    pub(super) frequency: Option<Frequency>,
    /// Think times, from 0 to four times their mean (TPC-C 5.6.3).
    pub(super) think: Option<Frequency>,
}

/// A frequency distribution of times.
#[derive(Serialize)]
pub(super) struct Frequency {
    pub(super) bin_ms: f64,
    /// Share of all times in each bin, in percent.
    pub(super) percent: Vec<f64>,
    pub(super) beyond_percent: f64,
    pub(super) mean_ms: f64,
    pub(super) p90_ms: f64,
    pub(super) max_ms: f64,
}

impl RunData {
    pub(super) fn new(result: &RunResult, name: &str) -> Self {
        let types = result.types_in_order().into_iter().map(|(key, t)| {
            let histogram = decoded(&t.hdr);
            let think = result.pacing.as_ref().and_then(|pacing| decoded(&pacing.get(key)?.think_hdr));
            TypeData {
                key: key.to_owned(),
                name: type_name(key).to_owned(),
                queue_mean_ms: t.queue_ms.mean.map(rounded),
                service_mean_ms: t.service_ms.mean.map(rounded),
                curve: histogram.as_ref().map(curve).unwrap_or_default(),
                frequency: histogram.as_ref().and_then(|h| frequency(h, h.value_at_quantile(0.9) as f64)),
                think: think.as_ref().and_then(|h| frequency(h, h.mean())),
            }
        });
        Self {
            name: name.to_owned(),
            nopm: nopm_down(result.nopm),
            tps: result.tps,
            measured_s: result.window.measured_s,
            series: series(result),
            contention: result
                .controls
                .contention
                .iter()
                .flat_map(Contention::each_row)
                .map(|row| competing(&row))
                .collect(),
            phases: (1..)
                .zip(&result.phases)
                // A single phase is the whole window and needs no mark.
                .filter(|_| result.phases.len() > 1)
                .map(|(number, phase)| PhaseData {
                    name: phase
                        .name
                        .as_ref()
                        .map_or_else(|| number.to_string(), |name| format!("{number} {name}")),
                    from_s: phase.from_s,
                    to_s: phase.to_s,
                })
                .collect(),
            outages: result.outages.iter().map(|o| [o.from_s, o.to_s]).collect(),
            checkpoints: checkpoints(result).unwrap_or_default(),
            observed: ObservedData::default(),
            types: types.collect(),
        }
    }

    /// Adds the observed values of its result.
    pub(super) fn with_observed(mut self, result: &RunResult) -> Self {
        self.observed = ObservedData::new(result, self.step_s());
        self
    }

    /// Returns the seconds per point of the series.
    pub(super) fn step_s(&self) -> usize {
        self.series.step_s
    }
}

fn curve(histogram: &Histogram<u64>) -> Vec<[f64; 2]> {
    let samples = histogram.len() as f64;
    let last = 10_f64.powi(DECADES);
    let curve = (0..=POINTS_PER_DECADE * DECADES)
        .map(|k| 10_f64.powf(f64::from(k) / f64::from(POINTS_PER_DECADE)))
        // Beyond one sample in `samples` the curve would only repeat the maximum.
        .take_while(|inverse| *inverse <= samples)
        .map(|inverse| {
            let value = histogram.value_at_quantile(1.0 - 1.0 / inverse) as f64 / NS_PER_MS;
            [rounded(inverse), rounded(value)]
        });
    // The greatest value is the last point: a stall may show in that one alone.
    let slowest = [rounded(samples.clamp(1.0, last)), rounded(histogram.max() as f64 / NS_PER_MS)];
    curve.chain((samples > 0.0).then_some(slowest)).collect()
}

/// Returns a histogram of a result; none if there is none. With a damaged one only its charts are missing.
fn decoded(hdr: &str) -> Option<Histogram<u64>> {
    let histogram = if hdr.is_empty() { None } else { hdr::decode(hdr).ok() };
    histogram.filter(|h| !h.is_empty())
}

/// Returns the distribution from 0 to four times `quarter`, in nanoseconds.
fn frequency(histogram: &Histogram<u64>, quarter: f64) -> Option<Frequency> {
    let bin = 4.0 * quarter / NS_PER_MS / BINS as f64;
    if bin <= 0.0 {
        return None;
    }
    let mut counts = vec![0_u64; BINS];
    let mut beyond = 0;
    for value in histogram.iter_recorded() {
        let at = (value.value_iterated_to() as f64 / NS_PER_MS / bin) as usize;
        *counts.get_mut(at).unwrap_or(&mut beyond) += value.count_at_value();
    }
    let percent = |n: u64| rounded(n as f64 * 100.0 / histogram.len() as f64);
    Some(Frequency {
        bin_ms: rounded(bin),
        percent: counts.into_iter().map(percent).collect(),
        beyond_percent: percent(beyond),
        // Not rounded: the chart prints them, and the table must show the same numbers.
        mean_ms: histogram.mean() / NS_PER_MS,
        p90_ms: histogram.value_at_quantile(0.9) as f64 / NS_PER_MS,
        max_ms: histogram.max() as f64 / NS_PER_MS,
    })
}

/// A second of a series, with the second of its point and its length.
struct SecondOf<'a> {
    series: &'a Series,
    index: usize,
    offset: i64,
    length_s: f64,
}

/// Returns warm-up and window, second by second. A short second at the edge (the first, the last) joins the point of
/// its neighbour: alone it would show chance.
fn seconds(result: &RunResult) -> Vec<SecondOf<'_>> {
    let (warmup, window) = (&result.warmup_series, &result.series);
    let mut all = Vec::with_capacity(warmup.second.len() + window.second.len());
    for (series, length_s, first) in
        [(warmup, result.window.warmup_s, true), (window, result.window.measured_s, false)]
    {
        let count = series.second.len();
        let short = series.short_second_s(length_s);
        let (edge, neighbour) = if first { (0, 1) } else { (count.wrapping_sub(1), count.wrapping_sub(2)) };
        all.extend((0..count).map(|index| match short.filter(|_| index == edge) {
            Some(length_s) => {
                let offset = *series.second.get(neighbour).unwrap_or(&series.second[index]);
                SecondOf { series, index, offset, length_s }
            }
            None => SecondOf { series, index, offset: series.second[index], length_s: 1.0 },
        }));
    }
    all
}

/// Thins warm-up and window to at most about [`POINTS_MAX`] points: rates become means, the median the median of the
/// seconds' medians, and the 99th percentile the worst second's, so that thinning hides no peak.
fn series(result: &RunResult) -> SeriesData {
    let joined = seconds(result);
    let transactions: u64 = result.warmup_series.total().iter().chain(&result.series.total()).sum();
    let step = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600]
        .into_iter()
        .find(|step| {
            let points = joined.len() / step;
            let full = transactions / points.max(1) as u64 >= TRANSACTIONS_PER_POINT;
            points <= POINTS_MAX && (full || points < POINTS_ENOUGH)
        })
        .unwrap_or(1200);
    let step_signed = step as i64;
    let names: Vec<&'static str> = result.series.types().iter().map(|(name, _)| *name).collect();
    let mut out =
        SeriesData { step_s: step, types: vec![Vec::new(); names.len()], names, ..Default::default() };
    // Points are aligned to the window's start, so that none mixes warm-up and window.
    let bucket = |second: &SecondOf<'_>| second.offset.div_euclid(step_signed);
    for seconds in joined.chunk_by(|a, b| bucket(a) == bucket(b)) {
        let length_s: f64 = seconds.iter().map(|second| second.length_s).sum();
        let rate = |of: &dyn Fn(&Series) -> &[u64]| {
            let sum: u64 = seconds.iter().filter_map(|second| of(second.series).get(second.index)).sum();
            rounded(sum as f64 / length_s)
        };
        out.second.push(seconds.first().map_or(0, |first| bucket(first) * step_signed));
        for (index, to) in out.types.iter_mut().enumerate() {
            to.push(rate(&|s| s.types().get(index).map_or(&[], |(_, of)| *of)));
        }
        out.aborts.push(rate(&|s| &s.aborts));
        out.errors.push(rate(&|s| &s.errors));
        out.unknown.push(rate(&|s| &s.unknown));
        let known = |which: usize| -> Vec<f64> {
            let of_second = |second: &SecondOf<'_>| {
                second.series.first_type_ms()[which].get(second.index).copied().flatten()
            };
            seconds.iter().filter_map(of_second).collect()
        };
        let mut medians = known(0);
        medians.sort_by(f64::total_cmp);
        out.p50_ms.push(medians.get(medians.len() / 2).copied().map(rounded));
        let worst = known(1).into_iter().reduce(f64::max);
        out.p99_ms.push(worst.map(rounded));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series_of(seconds: std::ops::Range<i64>) -> Series {
        let n = seconds.clone().count();
        Series {
            second: seconds.collect(),
            new_order: vec![50; n],
            new_order_p50_ms: vec![Some(2.0); n],
            new_order_p99_ms: (0..n).map(|i| if i == 7 { Some(90.0) } else { Some(5.0) }).collect(),
            ..Series::default()
        }
    }

    /// A result with these series, of whole seconds.
    fn result_of(warmup: Series, window: Series) -> RunResult {
        let mut result = RunResult::default();
        result.window.warmup_s = warmup.second.len() as f64;
        result.window.measured_s = window.second.len() as f64;
        (result.warmup_series, result.series) = (warmup, window);
        result
    }

    #[test]
    fn a_short_second_joins_its_neighbour_and_rates_are_by_the_time_that_was_measured() {
        let mut result = result_of(series_of(-2..0), series_of(0..4));
        (result.window.warmup_s, result.window.measured_s) = (1.5, 3.25);
        result.warmup_series.new_order = vec![25, 50];
        result.series.new_order = vec![50, 50, 50, 12];
        let thin = series(&result);
        assert_eq!(thin.second, [-1, 0, 1, 2]);
        assert_eq!(thin.types[0], [50.0, 50.0, 50.0, rounded(62.0 / 1.25)]);
        result.series = series_of(0..1);
        result.window.measured_s = 0.5;
        assert_eq!(series(&result).types[0], [50.0, 100.0]);
    }

    #[test]
    fn short_series_keep_every_second() {
        let thin = series(&result_of(series_of(-5..0), series_of(0..60)));
        assert_eq!((thin.step_s, thin.second.len()), (1, 65));
        assert_eq!(thin.second[0], -5);
    }

    #[test]
    fn thinning_keeps_rates_peaks_and_the_border_of_the_warm_up() {
        let thin = series(&result_of(series_of(-7..0), series_of(0..7200)));
        assert_eq!(thin.step_s, 5);
        assert_eq!(thin.second[..3], [-10, -5, 0]);
        assert!(thin.types[0].iter().all(|rate| *rate == 50.0));
        assert_eq!(thin.p99_ms[3], Some(90.0));
        assert_eq!(thin.p50_ms[3], Some(2.0));
    }

    #[test]
    fn slow_runs_are_thinned_until_a_point_holds_enough() {
        let mut slow = series_of(0..600);
        slow.new_order.fill(5);
        assert_eq!(series(&result_of(Series::default(), slow.clone())).step_s, 5);
        slow.new_order.fill(0);
        assert_eq!(series(&result_of(Series::default(), slow)).step_s, 20);
    }

    #[test]
    fn bins_hold_every_transaction_up_to_four_times_the_90th_percentile() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        for ms in 1..=1000_u64 {
            histogram.record(ms * 1_000_000).unwrap();
        }
        histogram.record(60_000_000_000).unwrap();
        let chart = frequency(&histogram, histogram.value_at_quantile(0.9) as f64).unwrap();
        assert!(chart.percent.len() >= 20);
        assert!((chart.bin_ms * chart.percent.len() as f64 / chart.p90_ms - 4.0).abs() < 0.01);
        let all: f64 = chart.percent.iter().sum::<f64>() + chart.beyond_percent;
        assert!((all - 100.0).abs() < 0.1, "{all}");
        assert!(chart.beyond_percent > 0.0);
    }

    #[test]
    fn a_curve_ends_where_its_samples_end() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        for ms in 1..=500_u64 {
            histogram.record(ms * 1_000_000).unwrap();
        }
        let points = curve(&histogram);
        assert!(points.last().unwrap()[0] <= 500.0);
        assert_eq!(
            points.last().unwrap()[1],
            rounded(histogram.max() as f64 / NS_PER_MS),
            "the slowest of all"
        );
        assert!(points.windows(2).all(|pair| pair[0][1] <= pair[1][1]));
    }

    #[test]
    fn rounding_keeps_four_digits() {
        assert_eq!(rounded(12_345.678), 12_350.0);
        assert_eq!(rounded(0.001_234_56), 0.001_235);
        assert_eq!(rounded(f64::NAN), 0.0);
    }
}
