//! Gates: conditions on the numbers of a result ([`Requirement`]), or on their change from another result ([`FailIf`]).
//! Both are read from one line of text and judged by the documents alone.

use std::fmt;

use crate::figures::{clean, number};
use crate::metric::Metric;
use crate::model::{RequirementResult, RunResult};
use crate::reasons::BadCondition;

/// A comparison of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
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

    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Less => value < limit,
            Self::AtMost => value <= limit,
            Self::Greater => value > limit,
            Self::AtLeast => value >= limit,
            Self::Equal => value == limit,
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

    /// Returns its metric.
    #[must_use]
    pub fn metric(&self) -> &Metric {
        &self.metric
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
            if over.is_certain() { "" } else { ": too close to tell, measure longer" }
        )
    }

    fn measured_value(&self) -> String {
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
    text: String,
    metric: Metric,
    operator: Operator,
    limit: Limit,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
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
        Ok(Self { text: text.trim().to_owned(), metric, operator, limit })
    }

    /// Returns its metric.
    #[must_use]
    pub fn metric(&self) -> &Metric {
        &self.metric
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
        if a.workload() != b.workload() {
            let words = format!("the workloads differ ({} and {})", a.workload(), b.workload());
            return gate(true, words);
        }
        let of_a = match of_a {
            Ok(value) => value,
            Err(why) => return gate(true, format!("in the first result {why}")),
        };
        let failed = match self.limit {
            Limit::Difference(limit) => self.operator.holds(of_b - of_a, limit),
            Limit::Value(limit) => self.operator.holds(of_b, limit),
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

/// Returns the change from one value to another, in percent of the first; none from zero to another value.
#[must_use]
pub fn change_percent(from: f64, to: f64) -> Option<f64> {
    if from == to {
        return Some(0.0);
    }
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
        let shown = |value: Option<f64>, beside| {
            value.map_or("–".to_owned(), |value| self.metric.shown(value, beside))
        };
        let mut text = format!(
            "{} in {}, {} in {}",
            shown(self.a, self.b),
            names.0,
            shown(self.b, self.limit.or(self.a)),
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
mod tests {
    use super::*;
    use crate::model::{Latency, TransactionResult};

    /// A result with this throughput, and New-Orders with this many milliseconds at the 99th percentile.
    fn result(tps: f64, new_orders: u64, p99: f64) -> RunResult {
        let new_order = TransactionResult {
            committed: new_orders,
            latency_ms: Latency { p50: Some(2.0), p99: Some(p99), ..Latency::default() },
            ..TransactionResult::default()
        };
        RunResult {
            tps,
            nopm: 60.0 * tps,
            efficiency_percent: 97.5,
            transactions: [("new_order".to_owned(), new_order)].into(),
            ..RunResult::default()
        }
    }

    /// Returns the verdict on a requirement and the text of the measured value.
    fn judged(text: &str, result: &RunResult) -> (bool, String) {
        let found =
            Requirement::parse(text).unwrap_or_else(|problem| panic!("{text} {problem}")).judge(result);
        assert_eq!(found.text, text.trim());
        (found.met, found.measured())
    }

    fn micro_plan() -> crate::plan::PlanInfo {
        crate::plan::PlanInfo { workload: Some("micro".to_owned()), ..Default::default() }
    }

    #[test]
    fn requirements_are_judged_in_the_units_of_their_metrics() {
        let result = result(1_000.0, 500, 49.25);
        for (text, met, measured) in [
            ("tps > 999.5", true, "1000"),
            ("tps > 900", true, "1,000"),
            ("tps>=1000", true, "1,000"),
            (" tps > 1000 ", false, "1,000"),
            ("tps < 10", false, "1,000"),
            ("tps == 1000", true, "1,000"),
            ("nopm <= 5e4", false, "60,000"),
            ("new_order.p99 < 50ms", true, "49.2 ms"),
            ("new_order.p99 < 49000us", false, "49.2 ms"),
            ("new_order.p99 < 49251 µs", true, "49.2 ms"),
            ("new_order.p99 > 0.05 s", false, "49.2 ms"),
            ("latency.new_order.p50 == 2ms", true, "2.00 ms"),
            ("transactions.new_order.latency_ms.p99 < 0.05s", true, "49.2 ms"),
            ("efficiency > 97%", true, "97.5 %"),
            ("efficiency > 98", false, "97.5 %"),
            ("failed == 0", true, "0"),
            ("failed_rate < 1%", true, "0 %"),
        ] {
            assert_eq!(judged(text, &result), (met, measured.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_value_close_to_its_limit_is_shown_with_all_its_digits() {
        let result = result(1_000.25, 500, 50.04);
        assert_eq!(judged("new_order.p99 < 50ms", &result), (false, "50.04 ms".to_owned()));
        assert_eq!(judged("tps > 1000", &result), (true, "1000.25".to_owned()));
    }

    #[test]
    fn a_requirement_with_too_few_samples_is_not_met_and_says_why() {
        let of = |count| result(1.0, count, 1.0);
        for (text, count, met, words) in [
            (
                "new_order.p99 < 50ms",
                0,
                false,
                "no transaction of type New-Order was completed in the window",
            ),
            (
                "new_order.p99 < 50ms",
                99,
                false,
                "the 99th percentile needs at least 100 transactions of type New-Order, but only 99 were completed",
            ),
            ("new_order.p99 < 50ms", 100, true, "1.00 ms"),
            (
                "new_order.p50 < 50ms",
                1,
                false,
                "the median needs at least 2 transactions of type New-Order, but only 1 was completed",
            ),
            (
                "transactions.new_order.latency_ms.p99 < 1s",
                5,
                false,
                "the 99th percentile needs at least 100 transactions of type New-Order, but only 5 were completed",
            ),
            ("payment.max < 1s", 100, false, "no transaction of type Payment was completed in the window"),
            ("tps < 10", 0, false, "no transaction was completed in the window"),
            ("tps < 10", 1, true, "1.00"),
            ("nopm > 0", 0, false, "no transaction of type New-Order was completed in the window"),
            ("failed == 0", 0, false, "no transaction was completed in the window"),
            ("abort_rate < 1%", 0, false, "the result has no such number"),
            ("load.seconds < 10s", 5, false, "the result has no such number"),
        ] {
            assert_eq!(judged(text, &of(count)), (met, words.to_owned()), "{text}, {count}");
        }
        let micro = RunResult { plan: micro_plan(), ..of(5) };
        assert_eq!(judged("nopm > 0", &micro), (false, "the workload micro has no such number".to_owned()));
    }

    #[test]
    fn a_wrong_requirement_gets_a_suggestion() {
        for (text, words) in [
            ("tps", "has no comparison: use <, <=, >, >= or =="),
            ("tps = 5", "has no comparison"),
            ("tps != 5", "has no comparison"),
            ("tsp > 5", "has a metric \"tsp\" that is not known: did you mean tps? use nopm, tps"),
            ("new_ordr.p99 < 5ms", "did you mean new_order.p99?"),
            ("neworder.p99 < 5ms", "did you mean new_order.p99?"),
            ("> 5", "has a metric \"\" that is not known: use"),
            ("new_order.p98 < 5ms", "is not known"),
            (
                "transactions.payment.service_ms.p98 < 5ms",
                "a result has no transactions.payment.service_ms.p98",
            ),
            ("transactions.payment.servic_ms.p99 < 5ms", "did you mean service_ms?"),
            ("nodes.ops > 5", "that is five numbers: name one, as nodes.ops.median"),
            (
                "new_order.p99 < 50",
                "has a value \"50\" that must be a time with its unit: ms, s or us, as 50ms",
            ),
            ("new_order.p99 < 50m", "must be a time with its unit"),
            ("new_order.p99 < fastms", "must be a time with its unit"),
            ("tps > 5/s", "has a value \"5/s\" that must be a plain number, without a unit"),
            ("tps > 5%", "a change in percent is for `lydite compare --fail-if`"),
            ("tps > many", "must be a plain number"),
            ("tps > ", "has a value \"\" that must be a number"),
            ("tps > inf", "must be"),
            ("tps > 1e999", "must be a number"),
            ("efficiency > 5ms", "must be a share in percent, as 95%"),
        ] {
            let problem = Requirement::parse(text).unwrap_err();
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }

    #[test]
    fn changes_are_judged_against_the_first_result() {
        let (a, b) = (result(1_000.0, 500, 40.0), result(950.0, 500, 45.0));
        for (text, failed, words) in [
            ("tps < -5%", false, "1,000 in A, 950 in B (-5.00 %)"),
            ("tps <= -5%", true, "1,000 in A, 950 in B (-5.00 %)"),
            ("tps < -4.9%", true, "1,000 in A, 950 in B (-5.00 %)"),
            ("nopm < -10%", false, "60,000 in A, 57,000 in B (-5.00 %)"),
            ("new_order.p99 > +10%", true, "40.0 ms in A, 45.0 ms in B (+12.50 %)"),
            ("new_order.p99 > +15%", false, "40.0 ms in A, 45.0 ms in B (+12.50 %)"),
            ("new_order.p99 > +5ms", false, "40.0 ms in A, 45.0 ms in B (+12.50 %)"),
            ("new_order.p99 > +4999us", true, "40.0 ms in A, 45.0 ms in B (+12.50 %)"),
            ("new_order.p99 > 44ms", true, "40.0 ms in A, 45.0 ms in B (+12.50 %)"),
            ("new_order.p99 > 45ms", false, "40.0 ms in A, 45.0 ms in B (+12.50 %)"),
            ("tps < -49", true, "1,000 in A, 950 in B (-5.00 %)"),
            ("tps < 950", false, "1,000 in A, 950 in B (-5.00 %)"),
            ("failed > +0", false, "0 in A, 0 in B (+0.00 %)"),
            ("failed_rate > +10%", false, "0 % in A, 0 % in B (+0.00 %)"),
        ] {
            let gate = FailIf::parse(text).unwrap_or_else(|problem| panic!("{text} {problem}")).judge(&a, &b);
            assert_eq!((gate.failed, gate.words(("A", "B"))), (failed, words.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_change_that_can_not_be_judged_fails() {
        let usual = result(1_000.0, 500, 40.0);
        let none = result(0.0, 0, 40.0);
        let mut failing = usual.clone();
        failing.transactions.get_mut("new_order").expect("New-Orders").failed = 5;
        let micro = RunResult { plan: micro_plan(), ..usual.clone() };
        for (text, a, b, words) in [
            ("tps < -5%", &usual, &none, "1,000 in A, – in B: no transaction was completed in the window"),
            (
                "tps < -5%",
                &none,
                &usual,
                "– in A, 1,000 in B: in the first result no transaction was completed",
            ),
            ("payment.p99 > +5%", &usual, &usual, "no transaction of type Payment was completed"),
            (
                "failed > +10%",
                &usual,
                &failing,
                "a change from 0 has no percentage: write a difference, such as +5",
            ),
            ("tps < -5%", &usual, &micro, "the workloads differ (tpcc and micro)"),
        ] {
            let gate = FailIf::parse(text).expect("a change").judge(a, b);
            assert!(gate.failed, "{text}");
            let found = gate.words(("A", "B"));
            assert!(found.contains(words), "{text}: {found}");
        }
        assert!(FailIf::parse("failed > +4").expect("a change").judge(&usual, &failing).failed);
        assert!(
            !FailIf::parse("tps < 5").expect("a limit").judge(&none, &usual).failed,
            "A bears on no limit"
        );
    }

    #[test]
    fn a_change_needs_its_sign() {
        for (text, words) in [
            ("nopm < 5%", "has a change \"5%\" that has no sign: write -5% or +5%"),
            ("abort_rate > 5%", "write -5% or +5%, or a value without %"),
            ("nopm < -x%", "must be a number with %"),
            ("nopm < -5ms", "must be a plain number"),
            ("new_order.p99 > +5", "must be a time with its unit"),
            ("nopn < -5%", "did you mean nopm?"),
        ] {
            let problem = FailIf::parse(text).unwrap_err();
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }
}
