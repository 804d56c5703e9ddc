//! Metrics in gates: values that can be judged, and values as users write and read them.

use super::names::SHARES;
use super::names::share_of;
use super::{Metric, Quantity, completed, failed, unknown};
use crate::figures::{nopm, number, type_name};
use crate::model::{RunResult, TransactionResult};

/// Units of times, with their lengths in seconds.
const TIMES: [(&str, f64); 5] = [("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("μs", 1e-6), ("s", 1.0)];

impl Metric {
    /// Returns its transaction type, if it has one.
    #[must_use]
    pub fn transaction_type(&self) -> Option<&str> {
        match &self.quantity {
            Quantity::Tps(of) | Quantity::Latency { of, .. } => of.as_deref(),
            Quantity::Path(parts) if parts.first().is_some_and(|first| first == "transactions") => {
                parts.get(1).map(String::as_str)
            }
            _ => None,
        }
    }

    /// Returns true if only results of TPC-C have it.
    #[must_use]
    pub fn is_of_tpcc(&self) -> bool {
        matches!(self.quantity, Quantity::Nopm | Quantity::Efficiency)
    }

    /// Returns true if it is meaningful only with the standard's keying and think times.
    #[must_use]
    pub fn is_of_emulated_users(&self) -> bool {
        self.quantity == Quantity::Efficiency
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
    pub fn judged(&self, result: &RunResult) -> Result<f64, String> {
        if self.is_of_tpcc() && !result.is_tpcc() {
            return Err(format!("the workload {} has no such number", result.workload()));
        }
        let share = match &self.quantity {
            Quantity::Latency { share, .. } => Some(*share),
            Quantity::Path(parts) if self.transaction_type().is_some() => {
                parts.last().and_then(|last| share_of(last).ok())
            }
            _ => None,
        };
        let of = match &self.quantity {
            Quantity::Nopm => Some("new_order"),
            _ => self.transaction_type(),
        };
        let count = of.map_or_else(
            || completed(result),
            |of| result.transactions.get(of).map_or(0, TransactionResult::completed),
        );
        let of_type = of.map_or_else(String::new, |of| format!(" of type {}", type_name(of)));
        let failures = matches!(self.quantity, Quantity::Failed | Quantity::Unknown | Quantity::FailedRate);
        let counted = if failures { count + failed(result) + unknown(result) } else { count };
        if counted == 0
            && (share.is_some() || !matches!(self.quantity, Quantity::Path(_) | Quantity::AbortRate(_)))
        {
            return Err(format!("no transaction{of_type} was completed in the window"));
        }
        if let Some((_, words, least)) = SHARES.iter().find(|(name, ..)| Some(*name) == share)
            && count < *least
        {
            let words = words.to_lowercase();
            return Err(format!(
                "the {words} needs at least {least} transactions{of_type}, but only {} completed",
                if count == 1 { "1 was".to_owned() } else { format!("{count} were") }
            ));
        }
        self.of(result).ok_or_else(|| match self.quantity {
            Quantity::Availability(_) if result.availability.is_empty() => {
                "no fault began in the run: add --fault".to_owned()
            }
            Quantity::Availability(_) => {
                let mut notes = result.availability.iter().map(|of| of.note.as_str());
                notes.find(|note| !note.is_empty()).unwrap_or("the result has no such number").to_owned()
            }
            _ => "the result has no such number".to_owned(),
        })
    }

    /// Reads a value in its unit: a number, with a unit of time if it is a time.
    ///
    /// # Errors
    /// The text is not such a value. The error continues a sentence that begins with the text.
    pub fn read(&self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let unit_at = text.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(0, |last| last + 1);
        let (digits, unit) = text.split_at(unit_at);
        let unit = unit.trim();
        // A unit of time, alone or per transaction.
        let own = self.unit().split('/').next().unwrap_or_default();
        let own_time = TIMES.iter().find(|(name, _)| *name == own).map(|(_, seconds)| seconds);
        let given_time = TIMES.iter().find(|(name, _)| *name == unit).map(|(_, seconds)| seconds);
        let wrong_unit = |expected: &str| Err(format!("must be {expected}"));
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
        number.map(|number| number * factor).ok_or_else(|| "must be a number".to_owned())
    }

    /// Returns a value with its unit, rounded; with all digits if rounding would make it look equal to `beside`.
    #[must_use]
    pub fn shown(&self, value: f64, beside: Option<f64>) -> String {
        let number = |value: f64| if self.name() == "nopm" { nopm(value) } else { number(value) };
        let mut text = number(value);
        if beside.is_some_and(|beside| beside != value && number(beside) == text) {
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
