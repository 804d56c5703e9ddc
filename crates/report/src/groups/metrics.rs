//! The numbers of two groups side by side: means over runs, their ratio with an interval over runs, the verdict.

use lydite_decide::{
    Difference, ERROR, MOST_NEEDED, NoRatio, Ratio, Side, difference_of_groups, difference_of_pairs,
    of_groups, of_pairs, pairs_needed,
};

use super::model::{Answer, Group, GroupMetric, Interval, Method, Quantity, Run};
use super::turns::Turns;
use crate::figures::{count, plural, type_name};
use crate::findings::{has_new_orders, shown_types};
use crate::metric::Metric;
use crate::model::RunResult;
use crate::numbers::latency::OF_LATENCY;
use crate::numbers::{Better, Group as NumberGroup, Number, When};
use crate::verdict::Verdict;

/// A number that groups are compared by.
struct Row {
    metric: Metric,
    title: String,
    better: Better,
}

/// Returns every number of two groups.
pub(super) fn metrics(a: &Group, b: &Group, turns: &Turns) -> Vec<GroupMetric> {
    rows(a, b).iter().map(|row| compared(row, a, b, turns)).collect()
}

/// Returns the rows of two groups: the throughput, the latencies by type, and the other numbers.
fn rows(a: &Group, b: &Group) -> Vec<Row> {
    let (Some(first_a), Some(first_b)) = (a.runs.first(), b.runs.first()) else { return Vec::new() };
    let results = [&first_a.result, &first_b.result];
    if results[0].workload() != results[1].workload() {
        return Vec::new();
    }
    let numbers = |group| Number::in_group(group).filter_map(move |number| of_number(number, results));
    let mut all: Vec<Row> = numbers(NumberGroup::Throughput).collect();
    let of_b: Vec<&str> = shown_types(results[1]).into_iter().map(|(key, _)| key).collect();
    for (key, _) in shown_types(results[0]).into_iter().filter(|(key, _)| of_b.contains(key)) {
        let latencies = OF_LATENCY.iter().filter(|latency| latency.is_compared);
        all.extend(latencies.filter_map(|latency| {
            Some(Row {
                metric: Metric::parse(&format!("{key}.{}", latency.name)).ok()?,
                title: format!("{} {} ms", type_name(key), latency.head),
                better: Better::Lower,
            })
        }));
    }
    all.extend(numbers(NumberGroup::Other));
    all
}

/// Returns the row of a number; none if these results are not compared by it.
fn of_number(number: &Number, results: [&RunResult; 2]) -> Option<Row> {
    let compared = number.compared.as_ref()?;
    let paced = results.iter().any(|result| result.is_paced());
    let is_for = match compared.when {
        When::Always => true,
        When::Known => results.iter().all(|result| (number.of)(result).is_some()),
        When::Paced => paced,
        When::Unpaced => !paced,
    };
    if !is_for || !results.iter().any(|result| (number.is_shown)(result)) {
        return None;
    }
    let metric = Metric::parse(number.name).ok()?;
    Some(Row { metric, title: compared.name.to_owned(), better: compared.better })
}

/// The values of two groups.
pub(super) struct Values {
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
    /// Pairs, if the runs were taken in turns.
    pairs: Option<Vec<(f64, f64)>>,
}

impl Values {
    /// Orders the values of two groups by how they are compared.
    pub(super) fn new(a: Vec<f64>, b: Vec<f64>, turns: &Turns) -> Self {
        let pair = |(of_a, of_b): &(usize, usize)| Some((*a.get(*of_a)?, *b.get(*of_b)?));
        let pairs = (turns.method == Method::Paired).then(|| turns.pairs.iter().filter_map(pair).collect());
        Self { a, b, pairs }
    }

    /// Returns the ratio with its interval over runs.
    pub(super) fn ratio(&self) -> Result<Ratio, NoRatio> {
        match &self.pairs {
            Some(pairs) => of_pairs(pairs, ERROR),
            None => of_groups(&self.a, &self.b, ERROR),
        }
    }

    /// Returns the difference with its interval over runs.
    pub(super) fn difference(&self) -> Result<Difference, NoRatio> {
        match &self.pairs {
            Some(pairs) => difference_of_pairs(pairs, ERROR),
            None => difference_of_groups(&self.a, &self.b, ERROR),
        }
    }

    /// Returns the means that belong to the ratio: of the logarithms, if all values have one.
    pub(super) fn means(&self) -> (f64, f64) {
        let has_logarithms = self.a.iter().chain(&self.b).all(|value| *value > 0.0);
        let mean = |values: &[f64]| {
            let count = values.len() as f64;
            if has_logarithms {
                (values.iter().map(|value| value.ln()).sum::<f64>() / count).exp()
            } else {
                values.iter().sum::<f64>() / count
            }
        };
        (mean(&self.a), mean(&self.b))
    }

    /// Returns the runs of the smaller group.
    pub(super) fn least(&self) -> usize {
        self.a.len().min(self.b.len())
    }
}

/// Returns the pairs to add to `made` so that an interval of this deviation would about exclude what is at `distance`.
pub(super) fn more_pairs(deviation: f64, distance: f64, made: usize) -> Option<usize> {
    // The interval of `made` pairs contains it, so at least one more is needed.
    pairs_needed(deviation, distance, ERROR, made).map(|needed| needed.saturating_sub(made).max(1))
}

fn compared(row: &Row, a: &Group, b: &Group, turns: &Turns) -> GroupMetric {
    let value = |run: &Run| row.metric.of(&run.result);
    let few = |group: &Group| group.results().any(|result| row.metric.has_few_samples(result));
    let (a_runs, b_runs): (Vec<_>, Vec<_>) =
        (a.runs.iter().map(value).collect(), b.runs.iter().map(value).collect());
    let found = GroupMetric {
        name: row.metric.name().to_owned(),
        title: row.title.clone(),
        other: b.letter.clone(),
        a: None,
        b: None,
        a_runs,
        b_runs,
        ratio: None,
        difference: None,
        interval: None,
        method: turns.method,
        better: row.better,
        verdict: Verdict::NotJudged,
        few_samples: [few(a), few(b)],
        note: String::new(),
    };
    let all = |values: &[Option<f64>]| values.iter().copied().collect::<Option<Vec<f64>>>();
    let (Some(of_a), Some(of_b)) = (all(&found.a_runs), all(&found.b_runs)) else {
        let runs = a.runs.iter().chain(&b.runs);
        let lacks = runs.filter(|run| value(run).is_none()).map(|run| run.file.as_str());
        let note = format!("missing in {}", lacks.collect::<Vec<_>>().join(", "));
        return GroupMetric { note, ..found };
    };
    with_interval(found, &Values::new(of_a, of_b, turns))
}

/// Returns the number with what follows from its values.
fn with_interval(found: GroupMetric, values: &Values) -> GroupMetric {
    let (a, b) = values.means();
    let found = GroupMetric {
        a: Some(a),
        b: Some(b),
        ratio: (a > 0.0 && b > 0.0).then(|| b / a),
        difference: Some(b - a),
        ..found
    };
    let (interval, note) = match values.ratio() {
        Ok(of) => (Some(interval(of.low, of.high, of.error, Quantity::Ratio)), String::new()),
        Err(NoRatio::TooFewRuns(_)) => (None, "one run".to_owned()),
        // A mean of values with a 0 among them is no ratio's.
        Err(NoRatio::NotPositive(_) | NoRatio::NotFinite(_)) => match values.difference() {
            Ok(of) => (Some(interval(of.low, of.high, of.error, Quantity::Difference)), String::new()),
            Err(NoRatio::TooFewRuns(_)) => (None, "one run".to_owned()),
            Err(other) => (None, other.to_string()),
        },
    };
    let of_difference = interval.is_some_and(|interval| interval.interval_of == Quantity::Difference);
    let verdict = interval.map_or(Verdict::NotJudged, |interval| verdict(&interval, found.better));
    GroupMetric { interval, note, verdict, ratio: found.ratio.filter(|_| !of_difference), ..found }
}

fn interval(low: f64, high: f64, error: f64, interval_of: Quantity) -> Interval {
    Interval { low, high, error, interval_of }
}

/// Returns the verdict of an interval of a ratio or of a difference.
fn verdict(interval: &Interval, better: Better) -> Verdict {
    let none = if interval.interval_of == Quantity::Ratio { 1.0 } else { 0.0 };
    Verdict::of((interval.low, interval.high), none, better)
}

/// Returns the answer about two groups by their throughput; by a latency if plans set the pace.
pub(super) fn answer(a: &Group, b: &Group, turns: &Turns, metrics: &[GroupMetric]) -> Answer {
    let found = metrics.iter().find(|metric| metric.name == decisive(a, b));
    let runs = [a.runs.len(), b.runs.len()];
    let incomparable = incomparable(a, b);
    let mut verdict = found.map_or(Verdict::NotJudged, |metric| metric.verdict);
    if incomparable.is_some() {
        verdict = Verdict::NotJudged;
    }
    let more = found.filter(|_| verdict == Verdict::Undecided).and_then(|metric| {
        let values = |runs: &[Option<f64>]| runs.iter().copied().collect::<Option<Vec<f64>>>();
        let values = Values::new(values(&metric.a_runs)?, values(&metric.b_runs)?, turns);
        let of = values.ratio().ok()?;
        more_pairs(of.deviation, of.ratio.ln(), values.least())
    });
    let sentence = incomparable.unwrap_or_else(|| sentence(a, b, turns, found, verdict, more));
    Answer {
        other: b.letter.clone(),
        metric: found.map_or_else(String::new, |metric| metric.name.clone()),
        verdict,
        ratio: found.and_then(|metric| metric.ratio),
        interval: found.and_then(|metric| metric.interval),
        method: turns.method,
        why: turns.sentence(),
        runs,
        more_pairs: more,
        sentence,
    }
}

/// Returns the name of the number that decides.
fn decisive(a: &Group, b: &Group) -> String {
    let first = a.runs.first().map(|run| &run.result);
    if a.is_paced() || b.is_paced() {
        let of = first.and_then(|result| result.types_in_order().first().map(|(key, _)| (*key).to_owned()));
        return format!("{}.p99", of.unwrap_or_default());
    }
    if first.is_some_and(has_new_orders) { "nopm".to_owned() } else { "tps".to_owned() }
}

/// Returns the reason why the throughput of two groups says nothing: other workloads, or warehouses of other sizes.
fn incomparable(a: &Group, b: &Group) -> Option<String> {
    let (of_a, of_b) = (a.results().next()?, b.results().next()?);
    let (one, other) = (&a.letter, &b.letter);
    let (workloads, sizes) =
        ((of_a.workload(), of_b.workload()), (of_a.warehouse_size(), of_b.warehouse_size()));
    if workloads.0 != workloads.1 {
        return Some(format!(
            "{one} and {other} are of different workloads ({} and {}): there is nothing to compare.",
            workloads.0, workloads.1
        ));
    }
    (sizes.0 != sizes.1).then(|| {
        format!(
            "{one} has {} warehouses and {other} has {} ones, with other numbers of rows: their speeds are not \
             comparable.",
            sizes.0, sizes.1
        )
    })
}

fn sentence(
    a: &Group,
    b: &Group,
    turns: &Turns,
    found: Option<&GroupMetric>,
    verdict: Verdict,
    more: Option<usize>,
) -> String {
    let (one, other) = (&a.letter, &b.letter);
    let Some(metric) = found else { return format!("{one} has no throughput to compare with.") };
    let Some(ratio) = metric.ratio else {
        let note = if metric.note.is_empty() { "a run has 0 of it" } else { &metric.note };
        return format!("{other} and {one} have no ratio of {}: {note}.", metric.title);
    };
    let has = format!("{other} has {ratio:.3}x the {} of {one}", metric.title);
    let counts = match turns.method {
        Method::Paired => plural(a.runs.len() as u64, "pair"),
        _ => format!("{} and {}", plural(a.runs.len() as u64, "run"), b.runs.len()),
    };
    let Some(Interval { low, high, .. }) = metric.interval else {
        let each = match (a.runs.len(), b.runs.len()) {
            (1, 1) => "One run each".to_owned(),
            (of_a, of_b) => format!("{} of {one} and {of_b} of {other}", plural(of_a as u64, "run")),
        };
        return format!(
            "{each}: {has}. How much runs of one configuration differ is unknown, so this is no verdict."
        );
    };
    let range = format!("95 % interval over runs {low:.3} to {high:.3}, {counts}");
    match verdict {
        Verdict::Better => format!("{other} is better: {has} ({range})."),
        Verdict::Worse => format!("{other} is worse: {has} ({range})."),
        Verdict::Undecided | Verdict::NotJudged => {
            format!(
                "Cannot tell: {has} ({range}); {} a difference of this size.",
                more_in_words(more, turns.method, "show")
            )
        }
    }
}

/// Returns the words of further runs: `about 4 more pairs would show`.
pub(super) fn more_in_words(more: Option<usize>, method: Method, verb: &str) -> String {
    match more {
        None => format!("not even {} runs would {verb}", count(MOST_NEEDED as u64)),
        Some(more) if method == Method::Paired => {
            format!("about {} would {verb}", plural(more as u64, "more pair"))
        }
        Some(more) if method == Method::Student => {
            format!("about {} of the group would {verb}", plural(more as u64, "more run"))
        }
        Some(more) => format!("about {} of each would {verb}", plural(more as u64, "more run")),
    }
}

/// Returns the words of the side that has too few runs.
pub(super) fn too_few(side: Side, a: &Group, b: &Group) -> String {
    let of = if side == Side::A { a } else { b };
    format!("{} has a single run: an interval over runs needs at least 2 of each", of.letter)
}
