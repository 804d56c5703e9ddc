//! Conditions of `--fail-if` judged on two groups: by the interval over runs, or by the numbers of single runs.

use lydite_decide::{ERROR, NoRatio, mean_of_runs};

use super::metrics::{Values, more_in_words, more_pairs, too_few};
use super::model::{Group, GroupGate, GroupProblem, Interval, Method, Outcome, Quantity, Run};
use super::turns::Turns;
use crate::gate::{FailIf, Limit, Operator};

/// Judges a condition on two groups.
///
/// # Errors
/// It can't be judged on several runs: one line for each file that lacks the number, or for the condition itself.
pub(super) fn judge(
    condition: &FailIf,
    (a, b): (&Group, &Group),
    turns: &Turns,
) -> Result<GroupGate, Vec<GroupProblem>> {
    if let ([one], [other]) = (a.runs.as_slice(), b.runs.as_slice()) {
        return Ok(of_single_runs(condition, (a, one), (b, other)));
    }
    let problem = |text: &str| vec![GroupProblem(format!("--fail-if: {:?} {text}", condition.text))];
    if condition.operator == Operator::Equal {
        return Err(problem("can't be judged by an interval over runs: use < or >"));
    }
    if let ([one, ..], [other, ..]) = (a.runs.as_slice(), b.runs.as_slice())
        && let Some(why) = condition.incomparable(&one.result, &other.result)
    {
        return Err(problem(&format!("can't be judged: {why}")));
    }
    let needs_a = !matches!(condition.limit, Limit::Value(_));
    let (of_a, of_b) = (values(condition, a), values(condition, b));
    let mut missing = of_a.as_ref().err().filter(|_| needs_a).cloned().unwrap_or_default();
    missing.extend(of_b.as_ref().err().cloned().unwrap_or_default());
    let (Ok(of_b), true) = (of_b, missing.is_empty()) else { return Err(missing) };
    let values = Values::new(of_a.unwrap_or_default(), of_b, turns);
    let judged = Judged { condition, a, b, values: &values, turns };
    match condition.limit {
        Limit::Percent(percent) => {
            if let Some(file) = zero(&values, a, b) {
                return Err(problem(&format!(
                    "can't be judged: {file} has 0 of it, from which there is no change in percent: write a difference, \
                     such as +5"
                )));
            }
            Ok(judged.by_ratio(percent))
        }
        Limit::Difference(limit) => Ok(judged.by_difference(limit)),
        Limit::Value(limit) => Ok(judged.by_value(limit)),
    }
}

/// Returns the values of a condition's number in the runs of a group, or a line for each file that lacks it.
fn values(condition: &FailIf, group: &Group) -> Result<Vec<f64>, Vec<GroupProblem>> {
    let value = |run: &Run| {
        let found = condition.metric().judged(&run.result);
        found.map_err(|why| {
            GroupProblem(format!(
                "--fail-if: {:?} can't be judged: in {} {}",
                condition.text, run.file, &*why
            ))
        })
    };
    let (found, missing): (Vec<_>, Vec<_>) = group.runs.iter().map(value).partition(Result::is_ok);
    if missing.is_empty() {
        Ok(found.into_iter().flatten().collect())
    } else {
        Err(missing.into_iter().filter_map(Result::err).collect())
    }
}

/// Returns the first file whose value is 0.
fn zero(values: &Values, a: &Group, b: &Group) -> Option<String> {
    let of = |values: &[f64], group: &Group| {
        let place = values.iter().position(|value| *value <= 0.0)?;
        group.runs.get(place).map(|run| run.file.clone())
    };
    of(&values.a, a).or_else(|| of(&values.b, b))
}

fn of_single_runs(condition: &FailIf, (a, one): (&Group, &Run), (b, other): (&Group, &Run)) -> GroupGate {
    let gate = condition.judge(&one.result, &other.result);
    GroupGate {
        text: condition.text.clone(),
        metric: condition.metric().name().to_owned(),
        other: b.letter.clone(),
        a: gate.a,
        b: gate.b,
        interval: None,
        method: Method::Single,
        outcome: if gate.failed { Outcome::Failed } else { Outcome::Passed },
        more_pairs: None,
        words: gate.words((&a.name(), &b.name())),
    }
}

/// A condition with the values that it is judged by.
struct Judged<'a> {
    condition: &'a FailIf,
    a: &'a Group,
    b: &'a Group,
    values: &'a Values,
    turns: &'a Turns,
}

/// An interval, its middle, and what further runs depend on.
struct Found {
    middle: f64,
    interval: Interval,
    /// Pairs to add for a decision.
    more: Option<usize>,
}

impl Judged<'_> {
    /// Judges by the change in percent of A.
    fn by_ratio(&self, percent: f64) -> GroupGate {
        let threshold = 1.0 + percent / 100.0;
        let found = self.values.ratio().map(|of| Found {
            middle: of.ratio,
            interval: Interval { low: of.low, high: of.high, error: of.error, interval_of: Quantity::Ratio },
            more: more_pairs(of.deviation, of.ratio.ln() - threshold.ln(), self.values.least()),
        });
        let (a, b) = self.values.means();
        let change = |ratio: f64| format!("{:+.2} %", 100.0 * (ratio - 1.0));
        self.gate(found, threshold, (Some(a), b), &change)
    }

    /// Judges by the difference from A.
    fn by_difference(&self, limit: f64) -> GroupGate {
        let found = self.values.difference().map(|of| Found {
            middle: of.difference,
            interval: Interval {
                low: of.low,
                high: of.high,
                error: of.error,
                interval_of: Quantity::Difference,
            },
            more: more_pairs(of.deviation, of.difference - limit, self.values.least()),
        });
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let change = |difference: f64| {
            let sign = if difference < 0.0 { "-" } else { "+" };
            format!("{sign}{}", self.condition.metric().shown(difference.abs(), None))
        };
        self.gate(found, limit, (Some(mean(&self.values.a)), mean(&self.values.b)), &change)
    }

    /// Judges by the mean of B's runs.
    fn by_value(&self, limit: f64) -> GroupGate {
        let found = mean_of_runs(&self.values.b, ERROR).map(|of| Found {
            middle: of.difference,
            interval: Interval { low: of.low, high: of.high, error: of.error, interval_of: Quantity::Mean },
            more: more_pairs(of.deviation, of.difference - limit, self.values.b.len()),
        });
        let mean = self.values.b.iter().sum::<f64>() / self.values.b.len() as f64;
        let shown = |value: f64| self.condition.metric().shown(value, Some(limit));
        self.gate(found, limit, (None, mean), &shown)
    }

    /// Returns the gate of an interval. `means` are those of A, if it counts, and of B; `shown` writes what the interval is
    /// of.
    fn gate(
        &self,
        found: Result<Found, NoRatio>,
        limit: f64,
        means: (Option<f64>, f64),
        shown: &dyn Fn(f64) -> String,
    ) -> GroupGate {
        let operator = self.condition.operator;
        let outcome = |of: &Interval| match (operator.holds(of.low, limit), operator.holds(of.high, limit)) {
            (true, true) => Outcome::Failed,
            (false, false) => Outcome::Passed,
            _ => Outcome::Undecided,
        };
        let value = |of: f64, group: &Group| {
            let few = group.results().any(|result| self.condition.metric().has_few_samples(result));
            let mark = if few { "~" } else { "" };
            format!("{mark}{} in {}", self.condition.metric().shown(of, None), group.name())
        };
        let values: Vec<String> =
            means.0.map(|of| value(of, self.a)).into_iter().chain([value(means.1, self.b)]).collect();
        let mut words = values.join(", ");
        let (outcome, interval, more) = match found {
            Ok(Found { middle, interval, more }) => {
                let outcome = outcome(&interval);
                let (low, high) = (shown(interval.low), shown(interval.high));
                let of = if interval.interval_of == Quantity::Mean { "mean " } else { "" };
                words = format!("{words} ({of}{}, 95 % interval over runs {low} to {high})", shown(middle));
                let more = more.filter(|_| outcome == Outcome::Undecided);
                if outcome == Outcome::Undecided {
                    words = format!("{words}: undecided, {}", more_in_words(more, self.method(), "decide"));
                }
                (outcome, Some(interval), more)
            }
            Err(NoRatio::TooFewRuns(side)) => {
                words = format!("{words}: undecided, {}", too_few(side, self.a, self.b));
                (Outcome::Undecided, None, None)
            }
            Err(other) => {
                words = format!("{words}: undecided, {other}");
                (Outcome::Undecided, None, None)
            }
        };
        GroupGate {
            text: self.condition.text.clone(),
            metric: self.condition.metric().name().to_owned(),
            other: self.b.letter.clone(),
            a: means.0,
            b: Some(means.1),
            interval,
            method: self.method(),
            outcome,
            more_pairs: more,
            words: crate::figures::clean(&words),
        }
    }

    /// Returns how the groups are compared; a limit of the value itself is about one group.
    fn method(&self) -> Method {
        match self.condition.limit {
            Limit::Value(_) if self.b.runs.len() > 1 => Method::Student,
            _ => self.turns.method,
        }
    }
}
