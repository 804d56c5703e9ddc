//! Comparisons of results with the first of them: ratios, their intervals, and reasons against comparing.

mod differences;
mod observed;
mod text;
mod warnings;

use std::path::PathBuf;

use serde::Serialize;

use crate::figures::{number as figure, type_name};
use crate::interval::{NoInterval, SECONDS_NEEDED, Statistic, median, ratio_interval};
use crate::model::RunResult;
use crate::names::{file_names, letter};
use crate::numbers::latency::{OF_LATENCY, OfLatency};
use crate::numbers::{Compared, Group, Number, When};

pub use crate::numbers::Better;
pub use differences::differing_settings;
pub(crate) use differences::{differences, differing, host_in_words, target_in_words};
pub use observed::ObservedMeans;
pub(crate) use observed::{observed_columns, observed_rows};
pub(crate) use text::{all_warnings, method_of_all, metric_names, row};
pub use text::{render_comparison, render_comparisons};
pub use warnings::Warning;
pub(crate) use warnings::of_runs;

/// One metric of both results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metric {
    /// Name with its unit.
    pub name: String,
    /// Value of the first result.
    pub a: f64,
    /// Value of the second result.
    pub b: f64,
    /// `b / a`; `None` if `a` is zero.
    pub ratio: Option<f64>,
    /// 95 % interval of the ratio within the two runs, for metrics whose values are known second by second. It does not
    /// cover the variation from run to run.
    pub interval: Option<(f64, f64)>,
    /// Reason why a metric that is known second by second has no interval.
    pub no_interval: Option<String>,
    /// The better direction.
    pub better: Better,
    /// True for a percentile of too few transactions: in A, in B.
    pub few: [bool; 2],
}

impl Metric {
    fn new(name: String, (a, b): (f64, f64), better: Better) -> Self {
        let ratio = (a > 0.0 && b.is_finite()).then(|| b / a);
        Self { name, a, b, ratio, interval: None, no_interval: None, better, few: [false; 2] }
    }

    /// Returns the metric with an interval of its ratio, or the reason for none.
    fn with_interval(self, found: Result<(f64, f64), NoInterval>, other: &str) -> Self {
        let no_interval = found.err().map(|no_interval| reason(no_interval, other));
        Self { interval: found.ok(), no_interval, ..self }
    }
}

/// Two results side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The difference of the throughput as a sentence. It is no verdict: of each there is one run.
    pub sentence: String,
    /// All metrics, throughput first.
    pub metrics: Vec<Metric>,
    /// Means of the values that both observed.
    pub observed: Vec<ObservedMeans>,
    /// Warnings about either result.
    pub warnings: Vec<Warning>,
    /// Differences between the two that may make them incomparable.
    pub differences: Vec<String>,
    /// Whole measured seconds of both.
    seconds: (usize, usize),
    /// Metrics without an interval, with the reasons.
    pub notes: Vec<String>,
    /// Method of the intervals, and the variation that they do not cover.
    pub method: String,
}

/// Compares `b` with `a`: every ratio is `b / a`.
#[must_use]
pub fn compare(a: &RunResult, b: &RunResult) -> Comparison {
    let other = letter(1);
    compare_as([("A", a), (&other, b)], &other)
}

/// Compares each other result with the first, by their letters: A with B, A with C, and so on. Warnings name their files.
#[must_use]
pub fn compare_all(results: &[RunResult], files: &[PathBuf]) -> Vec<Comparison> {
    let names = file_names(results.len(), files);
    let mut all = results.iter().zip(&names).zip(0..);
    let Some(((first, name), _)) = all.next() else { return Vec::new() };
    all.map(|((other, of_other), place)| compare_as([(name, first), (of_other, other)], &letter(place)))
        .collect()
}

/// Compares two results with the names of their files. `other` is the letter of the second.
fn compare_as([(of_a, a), (of_b, b)]: [(&str, &RunResult); 2], other: &str) -> Comparison {
    if a.workload() != b.workload() {
        return other_workload(a, b, other);
    }
    let metrics = metrics(a, b, other);
    let sentence = match (other_size(a, b, other), sentence(&metrics, a, b, other)) {
        (Some(words), sentence) => format!("{words} {sentence}"),
        (None, sentence) => sentence,
    };
    let seconds = (a.whole_seconds(), b.whole_seconds());
    let method = method(seconds.0, &[(other.to_owned(), seconds.1)]);
    let runs = [(of_a, a), (of_b, b)];
    let warnings =
        warnings::merged(of_runs(runs).into_iter().chain(runs.into_iter().filter_map(not_completed)));
    let differences = differences(a, b);
    // The method says it of runs that are too short.
    let notes =
        if seconds.0.min(seconds.1) < SECONDS_NEEDED { vec![] } else { without_intervals(&metrics, other) };
    let observed = observed::means(a, b);
    Comparison { sentence, metrics, observed, warnings, differences, seconds, notes, method }
}

/// Returns a warning about the types of transactions that a run never completed.
fn not_completed((file, result): (&str, &RunResult)) -> Option<Warning> {
    let types = result.types_in_order().into_iter();
    let none: Vec<&str> = types.filter(|(_, t)| t.completed() == 0).map(|(key, _)| type_name(key)).collect();
    let text = format!("It completed no {}: its latency is not compared.", none.join(", no "));
    (!none.is_empty()).then(|| Warning { files: vec![file.to_owned()], text })
}

/// Returns a warning about the metrics whose seconds depend on each other too much for an interval, for each reason.
fn without_intervals(metrics: &[Metric], other: &str) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for metric in metrics {
        let Some(reason) = metric.no_interval.as_deref() else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(&metric.name),
            None => reasons.push((reason, vec![&metric.name])),
        }
    }
    let sentence = |(reason, names): (&str, Vec<&str>)| {
        format!("No interval of {} for {other}: {reason}.", names.join(", "))
    };
    reasons.into_iter().map(sentence).collect()
}

/// Returns the reason why a ratio has no interval in words. `other` is the letter of the second result.
fn reason(no_interval: NoInterval, other: &str) -> String {
    match no_interval {
        NoInterval::TooShort => format!("it needs at least {SECONDS_NEEDED} measured seconds of each run"),
        NoInterval::NotPositive => "one of the runs has none of it in most seconds".to_owned(),
        NoInterval::TooDependent(of) => {
            let names = ["A", other].into_iter().zip(of).filter(|(_, is)| *is).map(|(name, _)| name);
            format!(
                "the seconds of {} depend on each other too much: measure longer, after a longer warm-up, or compare \
                 several runs",
                names.collect::<Vec<_>>().join(" and ")
            )
        }
    }
}

/// Returns the method of the intervals. `seconds` are those of A; `others` has the letters and seconds of the others.
fn method(seconds: usize, others: &[(String, usize)]) -> String {
    let in_words = |of: &dyn Fn(usize) -> String| {
        let others = others.iter().map(|(letter, seconds)| format!("{} ({letter})", of(*seconds)));
        let all: Vec<String> = std::iter::once(format!("{} (A)", of(seconds))).chain(others).collect();
        match all.split_last() {
            Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
            _ => all.join(""),
        }
    };
    let intervals = |other: &usize| seconds.min(*other) >= SECONDS_NEEDED;
    if !others.iter().any(|(_, seconds)| intervals(seconds)) {
        return format!(
            "No intervals: they need at least {SECONDS_NEEDED} measured seconds of each run, but there are {}.",
            in_words(&|seconds| seconds.to_string())
        );
    }
    let without: Vec<&str> =
        others.iter().filter(|(_, seconds)| !intervals(seconds)).map(|(letter, _)| letter.as_str()).collect();
    let without = if without.is_empty() {
        String::new()
    } else {
        let letters = without.join(", ");
        format!(" None for {letters}: they need at least {SECONDS_NEEDED} measured seconds.")
    };
    let these = if others.len() > 1 { "these runs" } else { "these two runs" };
    format!(
        "Intervals within the runs: 95 %, Student's with the long-run variance of the measured seconds, which allows for seconds that \
         depend on their neighbours. They cover the variation within {these}, not that from run to run: repeat the \
         runs to learn it.{without}"
    )
}

/// Returns a warning about warehouses of different sizes.
fn other_size(a: &RunResult, b: &RunResult, other: &str) -> Option<String> {
    let (of_a, of_other) = (a.warehouse_size(), b.warehouse_size());
    (of_a != of_other).then(|| {
        format!(
            "A has {of_a} warehouses and {other} has {of_other} ones, with other numbers of rows: their speeds are not \
             comparable."
        )
    })
}

/// Returns the comparison of results with different workloads, which has no metrics.
fn other_workload(a: &RunResult, b: &RunResult, other: &str) -> Comparison {
    Comparison {
        sentence: format!(
            "A and {other} are of different workloads ({} and {}): there is nothing to compare.",
            a.workload(),
            b.workload()
        ),
        metrics: Vec::new(),
        observed: Vec::new(),
        warnings: Vec::new(),
        differences: Vec::new(),
        notes: Vec::new(),
        seconds: (a.whole_seconds(), b.whole_seconds()),
        method: "Compare two results of the same workload.".to_owned(),
    }
}

/// Returns the metrics of both results: the throughput, the latencies by type, and the other numbers.
fn metrics(a: &RunResult, b: &RunResult, other: &str) -> Vec<Metric> {
    let of_group = |group| Number::in_group(group).filter_map(|number| of_number(number, a, b, other));
    let mut all: Vec<Metric> = of_group(Group::Throughput).collect();
    for (key, of_a) in a.types_in_order() {
        let Some(of_b) = b.transactions.get(key) else { continue };
        let name = type_name(key);
        for number in OF_LATENCY.iter().filter(|number| number.is_compared) {
            // A type that one of them never completed has nothing to compare; `warnings` says so.
            let values = (number.of)(&of_a.latency_ms).zip((number.of)(&of_b.latency_ms));
            let metric = |ms| Metric {
                few: [of_a, of_b].map(|of| number.is_thin(of.completed())),
                ..Metric::new(latency_name(name, number), ms, Better::Lower)
            };
            all.extend(values.map(metric));
        }
    }
    all.extend(median_seconds(a, b, other));
    all.extend(of_group(Group::Other));
    all
}

/// Returns the name of a latency of a type with its unit.
fn latency_name(of: &str, number: &OfLatency) -> String {
    format!("{of} {} ms", number.name)
}

/// Returns the line of a number of both results; none if they are not compared by it.
fn of_number(number: &Number, a: &RunResult, b: &RunResult, other: &str) -> Option<Metric> {
    let Compared { name, better, when, seconds } = number.compared.as_ref()?;
    let paced = a.is_paced() || b.is_paced();
    let is_for = match when {
        When::Always => true,
        When::Known => (number.of)(a).is_some() && (number.of)(b).is_some(),
        When::Paced => paced,
        When::Unpaced => !paced,
    };
    if !is_for || number.is_of_tpcc() && !a.is_tpcc() {
        return None;
    }
    let metric = Metric::new((*name).to_owned(), (number.value(a), number.value(b)), *better);
    // A short last second is no sample of a second.
    let whole = |r: &RunResult, of: fn(&RunResult) -> Vec<u64>| -> Vec<f64> {
        of(r).into_iter().take(r.whole_seconds()).map(|n| n as f64).collect()
    };
    let Some(seconds) = seconds.filter(|_| metric.ratio.is_some()) else { return Some(metric) };
    let found = ratio_interval(&whole(a, seconds), &whole(b, seconds), Statistic::Mean);
    Some(metric.with_interval(found, other))
}

/// Returns the latencies of the first type in the median second. The percentile of the whole window does not follow from
/// the seconds' percentiles. So the interval belongs to a metric of its own.
fn median_seconds(a: &RunResult, b: &RunResult, other: &str) -> Vec<Metric> {
    let of = |(label, which): (&str, usize)| {
        let known = |r: &RunResult| -> Vec<f64> {
            r.series.first_type_ms()[which].iter().take(r.whole_seconds()).flatten().copied().collect()
        };
        let (mut seconds_a, mut seconds_b) = (known(a), known(b));
        if seconds_a.is_empty() || seconds_b.is_empty() {
            return None;
        }
        let found = ratio_interval(&seconds_a, &seconds_b, Statistic::Median);
        let name = format!("{} {label} ms, median second", a.first_type());
        let metric = Metric::new(name, (median(&mut seconds_a), median(&mut seconds_b)), Better::Lower);
        Some(metric.with_interval(found, other))
    };
    [("p50", 0), ("p99", 1)].into_iter().filter_map(of).collect()
}

/// Returns the difference in NOPM as a sentence, or in all transactions where the workload has no New-Orders.
fn sentence(metrics: &[Metric], a: &RunResult, b: &RunResult, other: &str) -> String {
    let has_new_orders = a.nopm > 0.0 && b.nopm > 0.0;
    let number = Number::named(if has_new_orders { "nopm" } else { "tps" });
    let name = number.and_then(|number| number.compared.as_ref()).map_or("", |compared| compared.name);
    match metrics.iter().find(|metric| metric.name == name).and_then(|metric| metric.ratio) {
        None => "A has no throughput to compare with.".to_owned(),
        Some(ratio) => format!(
            "One run each: {other} has {}x the {name} of A ({:+.1} %). How much runs of one configuration differ \
             is unknown, so this is no verdict.",
            if (0.1..10.0).contains(&ratio) { format!("{ratio:.2}") } else { figure(ratio) },
            100.0 * (ratio - 1.0)
        ),
    }
}
