//! Comparisons of results with the first of them: ratios, their intervals, and reasons against comparing.

mod observed;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;

use crate::figures::{aligned, clean, number, type_name};
use crate::interval::{NoInterval, SECONDS_NEEDED, Statistic, median, ratio_interval};
use crate::metrics::faults::events;
use crate::model::{RunResult, Status};
use crate::names::letter;
use crate::numbers::latency::OF_LATENCY;
use crate::numbers::{Compared, Group, Number, When};

pub use crate::numbers::Better;
pub use observed::ObservedMeans;
pub(crate) use observed::{observed_columns, observed_rows};

/// Verdict on throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ThroughputVerdict {
    /// The interval lies above 1.
    Faster,
    /// The interval lies below 1.
    Slower,
    /// The interval contains 1.
    NoDifferenceShown,
    /// The ratio has no interval, or there is no ratio.
    NotJudged,
}

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
    /// 95 % interval of the ratio, for metrics whose values are known second by second.
    pub interval: Option<(f64, f64)>,
    /// Reason why a metric that is known second by second has no interval.
    pub no_interval: Option<String>,
    /// The better direction.
    pub better: Better,
}

impl Metric {
    fn new(name: String, (a, b): (f64, f64), better: Better) -> Self {
        let ratio = (a > 0.0 && b.is_finite()).then(|| b / a);
        Self { name, a, b, ratio, interval: None, no_interval: None, better }
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
    /// Verdict on throughput.
    pub verdict: ThroughputVerdict,
    /// The verdict as a sentence.
    pub sentence: String,
    /// All metrics, throughput first.
    pub metrics: Vec<Metric>,
    /// Means of the values that both observed.
    pub observed: Vec<ObservedMeans>,
    /// Warnings about either result.
    pub warnings: Vec<String>,
    /// Differences between the two that may make them incomparable.
    pub differences: Vec<String>,
    /// Whole measured seconds of both.
    seconds: (usize, usize),
    /// Reason why the throughput has no interval, if seconds of both were compared: its ratio may be chance.
    pub no_interval: Option<String>,
    /// Method of the intervals, and the variation that they do not cover.
    pub method: String,
}

/// Compares `b` with `a`: every ratio is `b / a`.
#[must_use]
pub fn compare(a: &RunResult, b: &RunResult) -> Comparison {
    compare_as(a, b, &letter(1))
}

/// Compares each other result with the first, by their letters: A with B, A with C, and so on.
#[must_use]
pub fn compare_all(results: &[RunResult]) -> Vec<Comparison> {
    let Some((first, others)) = results.split_first() else { return Vec::new() };
    others.iter().zip(1..).map(|(other, place)| compare_as(first, other, &letter(place))).collect()
}

/// Compares `b`, whose letter is `other`, with `a`.
fn compare_as(a: &RunResult, b: &RunResult, other: &str) -> Comparison {
    if a.workload() != b.workload() {
        return other_workload(a, b, other);
    }
    let metrics = metrics(a, b, other);
    let (verdict, sentence) = match (other_size(a, b, other), verdict(&metrics, a, b, other)) {
        (Some(words), (_, sentence)) => (ThroughputVerdict::NotJudged, format!("{words} {sentence}")),
        (None, judged) => judged,
    };
    let seconds = (a.whole_seconds(), b.whole_seconds());
    let method = method(seconds.0, &[(other.to_owned(), seconds.1)]);
    let (warnings, differences) = (warnings(a, b, other), differences(a, b));
    // The method says it of runs that are too short.
    let refused =
        if seconds.0.min(seconds.1) < SECONDS_NEEDED { vec![] } else { without_intervals(&metrics, other) };
    let warnings = warnings.into_iter().chain(refused).collect();
    let observed = observed::means(a, b);
    let no_interval = metrics.first().and_then(|metric| metric.no_interval.clone());
    Comparison { verdict, sentence, metrics, observed, warnings, differences, seconds, no_interval, method }
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
        "Intervals: 95 %, Student's with the long-run variance of the measured seconds, which allows for seconds that \
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
        verdict: ThroughputVerdict::NotJudged,
        sentence: format!(
            "A and {other} are of different workloads ({} and {}): there is nothing to compare.",
            a.workload(),
            b.workload()
        ),
        metrics: Vec::new(),
        observed: Vec::new(),
        warnings: Vec::new(),
        differences: Vec::new(),
        no_interval: None,
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
            let metric = |ms| Metric::new(format!("{name} {} ms", number.name), ms, Better::Lower);
            all.extend(values.map(metric));
        }
    }
    all.extend(median_seconds(a, b, other));
    all.extend(of_group(Group::Other));
    all
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

/// Judges by NOPM, or by all transactions where the workload has no New-Orders.
fn verdict(metrics: &[Metric], a: &RunResult, b: &RunResult, other: &str) -> (ThroughputVerdict, String) {
    let has_new_orders = a.nopm > 0.0 && b.nopm > 0.0;
    let number = Number::named(if has_new_orders { "nopm" } else { "tps" });
    let name = number.and_then(|number| number.compared.as_ref()).map_or("", |compared| compared.name);
    let metric = metrics.iter().find(|m| m.name == name);
    match metric.and_then(|m| Some((m.ratio?, m.interval))) {
        None => (ThroughputVerdict::NotJudged, "A has no throughput to compare with.".to_owned()),
        Some((ratio, None)) => {
            let why = metric.and_then(|m| m.no_interval.as_deref()).unwrap_or("there is too little data");
            let sentence =
                format!("{other} has {ratio:.2}x the throughput of A, but no confidence interval: {why}.");
            (ThroughputVerdict::NotJudged, sentence)
        }
        Some((ratio, Some((low, high)))) if low > 1.0 || high < 1.0 => (
            if low > 1.0 { ThroughputVerdict::Faster } else { ThroughputVerdict::Slower },
            format!("{other} is {ratio:.2}x as fast as A ({name}, 95 % CI {low:.2} to {high:.2})."),
        ),
        Some((ratio, Some((low, high)))) => (
            ThroughputVerdict::NoDifferenceShown,
            format!(
                "This data shows no difference in {name} ({other} is {ratio:.2}x as fast as A, 95 % CI {low:.2} to \
                 {high:.2})."
            ),
        ),
    }
}

/// Returns warnings about either result that matter to the ratios.
fn warnings(a: &RunResult, b: &RunResult, other: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (name, r) in [("A", a), (other, b)] {
        if r.status == Status::Partial {
            all.push(format!(
                "{name} is partial: the run ended early, or failed, or was not checked to the end."
            ));
        }
        let failed = r.checks.iter().filter(|c| !c.ok).count();
        if failed > 0 {
            all.push(format!(
                "{name} failed {failed} of {} checks: its speed is worth nothing.",
                r.checks.len()
            ));
        }
        let mut faults: Vec<String> = events(r).into_iter().map(|(_, fault)| fault.name).collect();
        // The occurrences of a fault that repeats have one name.
        faults.dedup();
        if !faults.is_empty() {
            all.push(format!(
                "In {name} Lydite injected faults ({}), and its numbers include them.",
                faults.join(", ")
            ));
        }
        if !r.outages.is_empty() {
            all.push(format!("{name} had outages, which its throughput includes."));
        }
        if r.client.bottleneck.is_some() {
            all.push(format!("In {name} the client was the limit; the ratio compares clients."));
        }
    }
    for (name, r) in [("A", a), (other, b)] {
        let types = r.types_in_order().into_iter();
        let none: Vec<&str> =
            types.filter(|(_, t)| t.completed() == 0).map(|(key, _)| type_name(key)).collect();
        if !none.is_empty() {
            all.push(format!("{name} completed no {}: its latency is not compared.", none.join(", no ")));
        }
    }
    all
}

/// Returns the differences in plan, target and host.
fn differences(a: &RunResult, b: &RunResult) -> Vec<String> {
    let mut all = Vec::new();
    let plan_keys = differing_plan_keys(a, b);
    if !plan_keys.is_empty() {
        all.push(format!("The plans differ: {}.", plan_keys.join(", ")));
    }
    if a.is_paced() || b.is_paced() {
        all.push(
            "With think times or a given rate the throughput is bound by the plan; compare latencies instead."
                .to_owned(),
        );
    }
    let mut differ = |what: &str, of_a: &str, of_b: &str| {
        if of_a != of_b {
            all.push(format!("The {what} differ: {} and {}.", or_unknown(of_a), or_unknown(of_b)));
        }
    };
    differ("targets", &target_in_words(a), &target_in_words(b));
    differ("hosts", &host_in_words(a), &host_in_words(b));
    differ("kernels", &a.host.kernel, &b.host.kernel);
    differ("versions of lydite", &a.lydite, &b.lydite);
    let encryption = |r: &RunResult| r.target.encryption().unwrap_or_default();
    differ("connections", encryption(a), encryption(b));
    if a.target.kind == b.target.kind {
        let texts = differing_settings(a, b);
        if !texts.is_empty() {
            all.push(format!("Settings of the targets differ: {}.", texts.join(", ")));
        }
    }
    all
}

/// Returns the plan keys in which the two differ, with both values. The target is compared on its own.
fn differing_plan_keys(a: &RunResult, b: &RunResult) -> Vec<String> {
    let keys = differing(&a.plan_flat(), &b.plan_flat()).into_iter();
    keys.filter(|(key, _)| key != "target").map(|(_, text)| text).collect()
}

/// Returns the server settings that differ between two results, each with both values. Those of both plans are left
/// out.
#[must_use]
pub fn differing_settings(a: &RunResult, b: &RunResult) -> Vec<String> {
    let in_both_plans = |key: &str| [a, b].iter().all(|r| r.plan_flat().contains_key(key));
    let settings = differing(&a.target.settings, &b.target.settings).into_iter();
    let settings = settings.filter(|(key, _)| !in_both_plans(key));
    // Changed settings may be among the others.
    let listed = |key: &str| [a, b].iter().any(|r| r.target.settings.contains_key(key));
    let changed = differing(&a.target.changed_settings, &b.target.changed_settings).into_iter();
    let changed = changed.filter(|(key, _)| !listed(key));
    settings.chain(changed).map(|(_, text)| text).collect()
}

/// Returns the keys whose values differ, each with a text that has both values.
pub(crate) fn differing(
    of_a: &BTreeMap<String, String>,
    of_b: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    let keys: BTreeSet<&String> = of_a.keys().chain(of_b.keys()).collect();
    keys.into_iter()
        .filter(|key| of_a.get(*key) != of_b.get(*key))
        .map(|key| {
            let [a, b] = [of_a, of_b].map(|of| of.get(key).map_or("unset", String::as_str));
            (key.clone(), format!("{key} ({a} / {b})"))
        })
        .collect()
}

fn target_in_words(r: &RunResult) -> String {
    format!("{} {}", r.target.kind, r.target.version).trim().to_owned()
}

fn host_in_words(r: &RunResult) -> String {
    let h = &r.host;
    if h.hostname.is_empty() {
        String::new()
    } else {
        format!("{} ({}, {} cores)", h.hostname, h.cpu, h.cores)
    }
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "unknown" } else { text }
}

/// Renders a comparison for a terminal: the sentence, the metrics, the warnings, the method.
#[must_use]
pub fn render_comparison(comparison: &Comparison) -> String {
    render_comparisons(std::slice::from_ref(comparison))
}

/// Renders comparisons with the same first result, see [`compare_all`]: the sentences, a table with columns for each of
/// the others, the warnings, the method.
#[must_use]
pub fn render_comparisons(comparisons: &[Comparison]) -> String {
    let mut out = String::new();
    for comparison in comparisons {
        let _ = writeln!(out, "{}", comparison.sentence);
    }
    out.push('\n');
    let names = metric_names(comparisons);
    if !names.is_empty() {
        let mut head = vec![String::new(), "A".to_owned()];
        for place in 1..=comparisons.len() {
            head.extend([letter(place), format!("{}/A", letter(place)), "95 % CI".to_owned()]);
        }
        let rows = names.iter().map(|name| row(name, comparisons));
        out.push_str(&aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>(), 1));
    }
    observed::render(&mut out, comparisons);
    let warnings = all_warnings(comparisons);
    if !warnings.is_empty() {
        out.push('\n');
    }
    for warning in warnings {
        // Settings and versions come from a database: no control characters reach the terminal.
        let _ = writeln!(out, "! {}", clean(&warning));
    }
    out.push_str(if names.is_empty() { "" } else { "\n" });
    let _ = writeln!(out, "{}", method_of_all(comparisons));
    out
}

/// Returns the metrics of comparisons with the same first result, each once.
pub(crate) fn metric_names(comparisons: &[Comparison]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (place, metric) in comparisons.iter().flat_map(|comparison| comparison.metrics.iter().enumerate()) {
        if !names.contains(&metric.name) {
            // A metric that other comparisons lack keeps the place that it has in its own.
            names.insert(place.min(names.len()), metric.name.clone());
        }
    }
    names
}

/// Returns the cells of a metric in comparisons with the same first result: its name, A's value, and for each other
/// result the value, the ratio and the interval.
pub(crate) fn row(name: &str, comparisons: &[Comparison]) -> Vec<String> {
    let of = |comparison: &Comparison| comparison.metrics.iter().find(|metric| metric.name == name).cloned();
    let first = comparisons.iter().find_map(of).map(|metric| metric.a);
    let text = Number::compared_as(name).map_or(number as fn(Option<f64>) -> String, |number| number.text);
    let mut cells = vec![name.to_owned(), text(first)];
    for metric in comparisons.iter().map(of) {
        let ratio = metric.as_ref().and_then(|metric| metric.ratio);
        let interval = metric.as_ref().and_then(|metric| metric.interval);
        cells.push(text(metric.as_ref().map(|metric| metric.b)));
        cells.push(ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}")));
        let none =
            if metric.as_ref().is_some_and(|metric| metric.no_interval.is_some()) { "none" } else { "" };
        cells.push(interval.map_or(none.to_owned(), |(low, high)| format!("{low:.2} to {high:.2}")));
    }
    cells
}

/// Returns the warnings of comparisons with the same first result, each once, then the differences, with the letter of
/// the other result if there are several.
pub(crate) fn all_warnings(comparisons: &[Comparison]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for warning in comparisons.iter().flat_map(|comparison| &comparison.warnings) {
        if !all.contains(warning) {
            all.push(warning.clone());
        }
    }
    for (comparison, place) in comparisons.iter().zip(1..) {
        let other = if comparisons.len() > 1 { format!("A and {}: ", letter(place)) } else { String::new() };
        all.extend(comparison.differences.iter().map(|difference| format!("{other}{difference}")));
    }
    all
}

/// Returns the method of the intervals of comparisons with the same first result.
pub(crate) fn method_of_all(comparisons: &[Comparison]) -> String {
    let compared = comparisons.iter().zip(1..).filter(|(comparison, _)| !comparison.metrics.is_empty());
    let others: Vec<_> = compared.map(|(comparison, place)| (letter(place), comparison.seconds.1)).collect();
    match (comparisons, others.is_empty()) {
        ([], _) => String::new(),
        ([first, ..], true) => first.method.clone(),
        ([first, ..], false) => method(first.seconds.0, &others),
    }
}
