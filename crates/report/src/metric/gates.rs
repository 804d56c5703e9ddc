//! Metrics in gates: values that can be judged, and values as users write and read them.

use super::{Metric, Quantity};
use crate::figures::{number, type_name};
use crate::model::{RunResult, TransactionResult};
use crate::numbers::latency::OfLatency;
use crate::numbers::{Better, Group, Needs, Number, Only, PartKind};
use crate::reasons::{BadValue, NotJudged};
use lydite_tpcc::{Mix, TransactionKind};

/// Units of times, with their lengths in seconds.
const TIMES: [(&str, f64); 5] = [("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("μs", 1e-6), ("s", 1.0)];

/// Parts of a result that only runs with faults have.
const OF_FAULTS: [&str; 3] = ["availability", "faults", "periodic_faults"];

/// Returns the number of the phase and the type in the path of a latency of a phase.
fn of_phase(parts: &[String]) -> Option<(usize, &str)> {
    let [phases, number, latency, of, ..] = parts else { return None };
    let is_latency = matches!(latency.as_str(), "latency_ms" | "queue_ms");
    let number = number.parse().ok().filter(|_| phases == "phases" && is_latency)?;
    Some((number, of))
}

impl Metric {
    /// Returns its row of the table of numbers, if it has one.
    fn number(&self) -> Option<&'static Number> {
        match self.quantity {
            Quantity::Number { of, .. } => Some(of),
            _ => None,
        }
    }

    /// Returns the better direction; `None` for a metric without one, as an observed value.
    #[must_use]
    pub fn better(&self) -> Option<Better> {
        match &self.quantity {
            // Parts of a throughput are throughputs, and aborts of one reason are aborts.
            Quantity::Number { of, .. } => Some(of.compared.as_ref()?.better),
            Quantity::Latency { .. } => Some(Better::Lower),
            Quantity::Nodes { .. } | Quantity::Observed(_) | Quantity::Path(_) => None,
        }
    }

    /// Returns the side that is good for a limit: that of [`Metric::better`], and less of what is bad.
    pub(crate) fn good_side(&self) -> Option<Better> {
        let counts_bad = self.number().is_some_and(|number| number.counts_bad);
        self.better().or(counts_bad.then_some(Better::Lower))
    }

    /// Returns its transaction type, if it has one.
    #[must_use]
    pub fn transaction_type(&self) -> Option<&str> {
        match &self.quantity {
            Quantity::Number { .. } => self.part_of_kind(PartKind::Type),
            Quantity::Latency { of, .. } => of.as_deref(),
            Quantity::Path(parts) if parts.first().is_some_and(|first| first == "transactions") => {
                parts.get(1).map(String::as_str)
            }
            Quantity::Path(parts) => Some(of_phase(parts)?.1),
            _ => None,
        }
    }

    /// Returns the completed transactions of a type: of the phase if the value is of one, else of the window.
    fn samples(&self, result: &RunResult, of: &str) -> u64 {
        match &self.quantity {
            Quantity::Path(parts) if let Some((number, _)) = of_phase(parts) => {
                result.phases.get(number).map_or(0, |phase| phase.completed(of))
            }
            _ => result.transactions.get(of).map_or(0, TransactionResult::completed),
        }
    }

    /// Returns true if only results of TPC-C have it.
    #[must_use]
    pub fn is_of_tpcc(&self) -> bool {
        self.number().is_some_and(Number::is_of_tpcc)
    }

    /// Returns true if it is meaningful only with the standard's keying and think times.
    #[must_use]
    pub fn is_of_emulated_users(&self) -> bool {
        self.number().is_some_and(|number| number.only == Only::EmulatedUsers)
    }

    /// Returns true if it counts completed transactions over time, so that a rate or think times bound it.
    #[must_use]
    pub fn is_throughput(&self) -> bool {
        self.number().is_some_and(|number| number.group == Group::Throughput)
    }

    /// Returns true if only results of runs with faults have it.
    #[must_use]
    pub fn is_of_faults(&self) -> bool {
        match &self.quantity {
            Quantity::Path(parts) => parts.first().is_some_and(|first| OF_FAULTS.contains(&first.as_str())),
            _ => self.number().is_some_and(|number| number.only == Only::Faults),
        }
    }

    /// Returns the requests that a run of this mix needs on average, so that it can be judged: those of a type are a
    /// share of all. 0 if any number will do.
    #[must_use]
    pub fn needed_requests(&self, mix: &Mix) -> f64 {
        let Some(OfLatency { least, .. }) = self.of_latency() else { return 0.0 };
        let kind = self.transaction_type().and_then(TransactionKind::from_name);
        // Other workloads have one type.
        let share = kind.map_or(1.0, |kind| mix.percent()[kind.index()] / 100.0);
        *least as f64 / share
    }

    /// Returns true if it is a share in percent.
    #[must_use]
    pub fn is_percent(&self) -> bool {
        self.unit().starts_with('%')
    }

    /// Returns its value in a result, if it can be judged.
    ///
    /// # Errors
    /// The reason why it can't, as a sentence without a full stop.
    pub fn judged(&self, result: &RunResult) -> Result<f64, NotJudged> {
        if self.is_of_tpcc() && !result.is_tpcc() {
            return Err(NotJudged(format!("the workload {} has no such number", result.workload())));
        }
        let percentile = self.of_latency();
        let needs = self.number().map(|number| number.needs);
        let of = match needs {
            Some(Needs::NewOrders) => Some("new_order"),
            _ => self.transaction_type(),
        };
        let count = of.map_or_else(|| result.completed(), |of| self.samples(result, of));
        let of_type = of.map_or_else(String::new, |of| format!(" of type {}", type_name(of)));
        let ended = if needs == Some(Needs::Ended) {
            count + result.total(|t| t.failed) + result.total(|t| t.unknown)
        } else {
            count
        };
        let needs_some = match self.quantity {
            Quantity::Path(_) => percentile.is_some(),
            _ => needs != Some(Needs::Nothing),
        };
        if ended == 0 && needs_some {
            return Err(NotJudged(format!("no transaction{of_type} was completed in the window")));
        }
        if let Some(OfLatency { words, least, .. }) = percentile
            && count < *least
        {
            let words = words.to_lowercase();
            return Err(NotJudged(format!(
                "the {words} needs at least {least} transactions{of_type}, but only {} completed",
                if count == 1 { "1 was".to_owned() } else { format!("{count} were") }
            )));
        }
        let of_faults = self.number().is_some_and(|number| number.only == Only::Faults);
        let mut notes = result.availability.iter().map(|of| of.note.as_str());
        self.of(result).ok_or_else(|| {
            let none = "the result has no such number";
            NotJudged(match (of_faults, result.availability.is_empty()) {
                (true, true) => "no fault began in the run: add --fault".to_owned(),
                (true, false) => notes.find(|note| !note.is_empty()).unwrap_or(none).to_owned(),
                (false, _) => none.to_owned(),
            })
        })
    }

    /// Returns the number of a latency that it is.
    fn of_latency(&self) -> Option<&'static OfLatency> {
        match &self.quantity {
            Quantity::Latency { number, .. } => Some(*number),
            Quantity::Path(parts) if self.transaction_type().is_some() => {
                parts.last().and_then(|last| OfLatency::named(last))
            }
            _ => None,
        }
    }

    /// Returns true if it is a percentile of too few transactions of a result.
    #[must_use]
    pub fn has_few_samples(&self, result: &RunResult) -> bool {
        let count = self.transaction_type().map_or_else(|| result.completed(), |of| self.samples(result, of));
        self.of_latency().is_some_and(|number| number.is_thin(count))
    }

    /// Reads a value in its unit: a number, with a unit of time if it is a time.
    ///
    /// # Errors
    /// The text is not such a value. The error continues a sentence that begins with the text.
    pub fn read(&self, text: &str) -> Result<f64, BadValue> {
        let text = text.trim();
        let unit_at = text.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(0, |last| last + 1);
        let (digits, unit) = text.split_at(unit_at);
        let unit = unit.trim();
        // A unit of time, alone or per transaction.
        let own = self.unit().split('/').next().unwrap_or_default();
        let own_time = TIMES.iter().find(|(name, _)| *name == own).map(|(_, seconds)| seconds);
        let given_time = TIMES.iter().find(|(name, _)| *name == unit).map(|(_, seconds)| seconds);
        let wrong_unit = |expected: &str| Err(BadValue(format!("must be {expected}")));
        let factor = match (own_time, given_time) {
            (Some(own), Some(given)) => given / own,
            (Some(_), None) => return wrong_unit("a time with its unit: ms, s or us, as 50ms"),
            (None, _) if unit.is_empty() => 1.0,
            (None, _) if unit == "%" && self.is_percent() => 1.0,
            (None, _) if self.is_percent() => return wrong_unit("a share in percent, as 95%"),
            (None, _) => return wrong_unit("a plain number, without a unit"),
        };
        // Text such as "inf" has no digits.
        let number = digits.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        number.map(|number| number * factor).ok_or_else(|| BadValue("must be a number".to_owned()))
    }

    /// Returns a value with its unit, rounded; with all digits if rounding would make it look equal to `beside`.
    #[must_use]
    pub fn shown(&self, value: f64, beside: Option<f64>) -> String {
        let text_of = self.number().map_or(number as fn(Option<f64>) -> String, |number| number.text);
        let mut text = text_of(Some(value));
        if beside.is_some_and(|beside| beside != value && text_of(Some(beside)) == text) {
            text = value.to_string();
        }
        match self.unit().split('/').next().unwrap_or_default() {
            unit if TIMES.iter().any(|(name, _)| *name == unit) => format!("{text} {unit}"),
            unit if unit.starts_with('%') => format!("{text} %"),
            "bytes" => format!("{text} bytes"),
            _ => text,
        }
    }
}
