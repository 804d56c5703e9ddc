//! Gates: conditions on the numbers of a result ([`Requirement`]), or on their change from another result ([`FailIf`]).
//! Both are read from one line of text and judged by the documents alone.

use std::fmt;

use crate::figures::{clean, number};
use crate::metric::Metric;
use crate::model::{RequirementResult, RunResult};
use crate::numbers::Better;
use crate::reasons::BadCondition;

/// A comparison of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
}

impl Operator {
    /// Longer signs come before their prefixes.
    const ALL: [(&'static str, Self); 5] = [
        ("<=", Self::AtMost),
        (">=", Self::AtLeast),
        ("==", Self::Equal),
        ("<", Self::Less),
        (">", Self::Greater),
    ];

    pub(crate) fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Less => value < limit,
            Self::AtMost => value <= limit,
            Self::Greater => value > limit,
            Self::AtLeast => value >= limit,
            Self::Equal => value == limit,
        }
    }

    /// Returns true if only values below `least` are on this side of the limit.
    fn is_below(self, limit: f64, least: f64) -> bool {
        match self {
            Self::Less => limit <= least,
            Self::AtMost => limit < least,
            Self::Greater | Self::AtLeast | Self::Equal => false,
        }
    }
}

/// Splits `METRIC OP VALUE`. `example` is such a text, for errors.
fn split<'a>(text: &'a str, example: &str) -> Result<(Metric, Operator, &'a str), BadCondition> {
    let unknown = || BadCondition(format!("has no comparison: use <, <=, >, >= or ==, as {example:?}"));
    let at = text.find(['<', '>', '=', '!']).ok_or_else(unknown)?;
    let (name, rest) = text.split_at(at);
    let known =
        Operator::ALL.iter().find_map(|(sign, operator)| Some((*operator, rest.strip_prefix(*sign)?)));
    let (operator, value) = known.ok_or_else(unknown)?;
    let name = name.trim();
    let metric = Metric::parse(name)
        .map_err(|problem| BadCondition(format!("has a metric {name:?} that {problem}")))?;
    if metric.is_boxed() {
        return Err(BadCondition(format!(
            "has a metric {name:?} that is five numbers: name one, as {name}.median"
        )));
    }
    Ok((metric, operator, value.trim()))
}

/// A latency that only a share of transactions may exceed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyLimit<'a> {
    /// Type of the transactions; `None` for all.
    pub of: Option<&'a str>,
    /// Share that may take longer, as 0.01.
    pub allowed: f64,
    /// The latency, in ms.
    pub limit_ms: f64,
}

/// A condition that a run must meet, such as `new_order.p99 < 50ms`.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    text: String,
    metric: Metric,
    operator: Operator,
    limit: f64,
}

impl Requirement {
    /// Reads `METRIC OP VALUE`.
    ///
    /// # Errors
    /// The text is no such condition. The error continues a sentence that begins with the text.
    pub fn parse(text: &str) -> Result<Self, BadCondition> {
        let (metric, operator, value) = split(text, "new_order.p99 < 50ms")?;
        let limit = metric.read(value).map_err(|problem| {
            let change = value.ends_with('%') && !metric.is_percent();
            let hint = if change { "; a change in percent is for `lydite compare --fail-if`" } else { "" };
            BadCondition(format!("has a value {value:?} that {problem}{hint}"))
        })?;
        Ok(Self { text: text.trim().to_owned(), metric, operator, limit })
    }

    /// Returns the text as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns its metric.
    #[must_use]
    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// Returns the reason why no growing load has a highest level for it; `None` if it may have one.
    #[must_use]
    pub fn not_searched(&self) -> Option<&'static str> {
        let is_lower = matches!(self.operator, Operator::Greater | Operator::AtLeast);
        match self.metric.good_side() {
            Some(Better::Lower) if is_lower => Some("holds only where it is bad: name an upper limit"),
            Some(Better::Lower) if self.operator.is_below(self.limit, 0.0) => Some("never holds"),
            // Nothing takes no time.
            Some(_) if self.limit == 0.0 && self.latency_limit().is_some() => Some("never holds"),
            // What a fault leaves of the throughput gets less with the load.
            Some(Better::Higher) if is_lower && self.metric.is_throughput() => {
                Some("fails at low levels, where nobody asks for more: name a latency, or --lowest")
            }
            Some(_) if self.operator == Operator::Equal && self.limit != 0.0 => {
                Some("holds at one level at most: use < or >")
            }
            _ => None,
        }
    }

    /// Returns the limit of latency that it is, if it is an upper limit of a percentile.
    #[must_use]
    pub fn latency_limit(&self) -> Option<LatencyLimit<'_>> {
        let (of, allowed) = self.metric.share_above()?;
        let upper = matches!(self.operator, Operator::Less | Operator::AtMost) && self.limit >= 0.0;
        upper.then_some(LatencyLimit { of, allowed, limit_ms: self.limit })
    }

    /// Judges a result. Without a value it is not met.
    #[must_use]
    pub fn judge(&self, result: &RunResult) -> RequirementResult {
        let judged = self.metric.judged(result);
        let (value, note) = match judged {
            Ok(value) => (Some(value), String::new()),
            Err(why) => (None, why.into()),
        };
        RequirementResult {
            text: self.text.clone(),
            metric: self.metric.name().to_owned(),
            value,
            unit: self.metric.unit().to_owned(),
            met: value.is_some_and(|value| self.operator.holds(value, self.limit)),
            note,
            over: None,
        }
    }
}

impl RequirementResult {
    /// Returns the measured value with its unit, or the reason why there is none; then how sure it is.
    #[must_use]
    pub fn measured(&self) -> String {
        let Some(over) = &self.over else { return self.measured_value() };
        let percent = |share: f64| number(100.0 * share);
        format!(
            "{}; {} % took longer, {} % may (95 % interval {} to {} %{})",
            self.measured_value(),
            percent(over.share),
            percent(over.allowed),
            percent(over.low),
            percent(over.high),
            if over.is_certain(self.met) { "" } else { ": too close to tell, measure longer" }
        )
    }

    /// Returns the measured value with its unit, or the reason why there is none.
    #[must_use]
    pub fn measured_value(&self) -> String {
        match (self.value, Requirement::parse(&self.text)) {
            (Some(value), Ok(known)) => known.metric.shown(value, Some(known.limit)),
            // A document of another version may have an unknown metric.
            (Some(value), Err(_)) => format!("{} {}", number(value), self.unit).trim_end().to_owned(),
            (None, _) => self.note.clone(),
        }
    }
}

/// Writes `TEXT: VALUE`, or the reason for a missing value; without control characters.
impl fmt::Display for RequirementResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&clean(&format!("{}: {}", self.text, self.measured())))
    }
}

/// A condition that fails a comparison: a change from the first result, such as `nopm < -5%`.
#[derive(Debug, Clone, PartialEq)]
pub struct FailIf {
    pub(crate) text: String,
    metric: Metric,
    pub(crate) operator: Operator,
    pub(crate) limit: Limit,
}

/// A limit of a change, or of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Limit {
    /// Limit of the change, in percent of the first result's value.
    Percent(f64),
    /// Limit of the difference from the first result's value.
    Difference(f64),
    /// Limit of the value itself.
    Value(f64),
}

impl FailIf {
    /// Reads `METRIC OP CHANGE`: a change with a sign in percent of the first result (`-5%`) or in the metric's unit
    /// (`+5ms`), or without a sign a limit of the value itself (`50ms`).
    ///
    /// # Errors
    /// The text is no such condition. The error continues a sentence that begins with the text.
    pub fn parse(text: &str) -> Result<Self, BadCondition> {
        let (metric, operator, value) = split(text, "nopm < -5%")?;
        let wrong = |problem: &str| BadCondition(format!("has a change {value:?} that {problem}"));
        let signed = value.starts_with(['+', '-']);
        let limit = match value.strip_suffix('%') {
            Some(_) if !signed => {
                let of_itself = if metric.is_percent() { ", or a value without %" } else { "" };
                return Err(wrong(&format!("has no sign: write -{value} or +{value}{of_itself}")));
            }
            Some(digits) => {
                let percent = digits.trim().parse::<f64>().ok().filter(|number| number.is_finite());
                Limit::Percent(percent.ok_or_else(|| wrong("must be a number with %"))?)
            }
            None => {
                let number = metric.read(value).map_err(|problem| wrong(&problem))?;
                if signed { Limit::Difference(number) } else { Limit::Value(number) }
            }
        };
        let found = Self { text: text.trim().to_owned(), metric, operator, limit };
        match found.senseless() {
            Some(why) => Err(BadCondition(why)),
            None => Ok(found),
        }
    }

    /// Returns the reason why it always or never fails, or fails what is as good as before.
    fn senseless(&self) -> Option<String> {
        let (operator, good) = (self.operator, self.metric.good_side());
        // `tps < +10%` demands a gain, and is one of the good ones.
        let (fails_good, other) = match operator {
            Operator::Less | Operator::AtMost => (good == Some(Better::Lower), ">"),
            Operator::Greater | Operator::AtLeast => (good == Some(Better::Higher), "<"),
            Operator::Equal => (false, "<"),
        };
        match self.limit {
            Limit::Percent(change) | Limit::Difference(change)
                if fails_good && operator.holds(0.0, change) =>
            {
                Some(format!("fails what is as good as before, and better: use {other}"))
            }
            Limit::Percent(change) if operator.is_below(change, -100.0) => {
                Some("never fails: nothing gets less by more than 100 %".to_owned())
            }
            Limit::Value(limit) if good.is_some() && operator.is_below(limit, 0.0) => {
                Some("never fails: it is never below 0".to_owned())
            }
            Limit::Value(_) if fails_good => Some(format!("fails what is good: use {other}")),
            _ => None,
        }
    }

    /// Returns its metric.
    #[must_use]
    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// Returns the reason why a change between these results says nothing.
    pub(crate) fn incomparable(&self, a: &RunResult, b: &RunResult) -> Option<String> {
        let different = |what: &str, of_a: &str, of_b: &str| {
            (of_a != of_b).then(|| format!("the {what} differ ({of_a} and {of_b})"))
        };
        if matches!(self.limit, Limit::Value(_)) {
            return None;
        }
        different("workloads", a.workload(), b.workload())
            .or_else(|| different("sizes of the warehouses", a.warehouse_size(), b.warehouse_size()))
    }

    /// Judges the change of the metric from result `a` to `b`. A change that can't be judged fails.
    #[must_use]
    pub fn judge(&self, a: &RunResult, b: &RunResult) -> Gate {
        let (of_a, of_b) = (self.metric.judged(a), self.metric.judged(b));
        let values = (of_a.as_ref().ok().copied(), of_b.as_ref().ok().copied());
        let gate = |failed, note: String| Gate {
            text: self.text.clone(),
            metric: self.metric.clone(),
            a: values.0,
            b: values.1,
            few: [a, b].map(|result| self.metric.has_few_samples(result)),
            limit: if let Limit::Value(limit) = self.limit { Some(limit) } else { None },
            failed,
            note,
        };
        let of_b = match of_b {
            Ok(value) => value,
            Err(why) => return gate(true, why.into()),
        };
        if let Limit::Value(limit) = self.limit {
            return gate(self.operator.holds(of_b, limit), String::new());
        }
        if let Some(why) = self.incomparable(a, b) {
            return gate(true, why);
        }
        let of_a = match of_a {
            Ok(value) => value,
            Err(why) => return gate(true, format!("in the first result {why}")),
        };
        let failed = match self.limit {
            Limit::Difference(limit) => self.operator.holds(of_b - of_a, limit),
            Limit::Value(limit) => self.operator.holds(of_b, limit),
            // Without any change no percentage is missing.
            Limit::Percent(limit) if of_a == of_b => self.operator.holds(0.0, limit),
            Limit::Percent(limit) => match change_percent(of_a, of_b) {
                Some(change) => self.operator.holds(change, limit),
                None => {
                    let words = "a change from 0 has no percentage: write a difference, such as +5";
                    return gate(true, words.to_owned());
                }
            },
        };
        gate(failed, String::new())
    }
}

/// Returns the change from one value to another, in percent of the first; none from zero.
#[must_use]
pub fn change_percent(from: f64, to: f64) -> Option<f64> {
    (from != 0.0).then(|| 100.0 * (to - from) / from)
}

/// A [`FailIf`] judged on two results.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// The condition as it was written.
    pub text: String,
    metric: Metric,
    /// Value of the first result, if it can be judged.
    pub a: Option<f64>,
    /// Value of the other result, likewise.
    pub b: Option<f64>,
    /// True for a percentile of too few transactions: of the first result, of the other.
    few: [bool; 2],
    limit: Option<f64>,
    /// True if the comparison fails by it.
    pub failed: bool,
    /// Reason why it could not be judged; empty if it could.
    pub note: String,
}

impl Gate {
    /// Returns both values and the change, or the reason why it could not be judged. `names` are those of the results.
    #[must_use]
    pub fn words(&self, names: (&str, &str)) -> String {
        let shown = |value: Option<f64>, beside, few| {
            let mark = if few { "~" } else { "" };
            value.map_or("–".to_owned(), |value| format!("{mark}{}", self.metric.shown(value, beside)))
        };
        let mut text = format!(
            "{} in {}, {} in {}",
            shown(self.a, self.b, self.few[0]),
            names.0,
            shown(self.b, self.limit.or(self.a), self.few[1]),
            names.1
        );
        if !self.note.is_empty() {
            text = format!("{text}: {}", self.note);
        } else if let Some(change) = self.a.zip(self.b).and_then(|(a, b)| change_percent(a, b)) {
            text = format!("{text} ({})", signed_percent(change));
        }
        clean(&text)
    }
}

/// Returns a change with its sign: `+1.25 %`.
#[must_use]
pub fn signed_percent(change: f64) -> String {
    format!("{change:+.2} %")
}

#[cfg(test)]
mod tests;
