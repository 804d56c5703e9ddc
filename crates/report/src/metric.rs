//! Metrics: numbers of a result, named by a short name or by a path into the document. Figures of sweeps, requirements
//! of runs and gates of comparisons use the same names.

mod gates;
mod names;

pub use crate::numbers::nodes::BOXED;

use hdrhistogram::Histogram;
use names::{path, place, share_of, type_of};

use crate::document::Document;
use crate::figures::type_name;
use crate::hdr;
use crate::metrics::FiveNumbers;
use crate::model::{Latency, Observed, RunResult};
use crate::numbers::latency::OfLatency;
use crate::numbers::nodes::OfNode;
use crate::numbers::{Number, PartKind, Parts};
use crate::reasons::UnknownMetric;

/// A named number of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    name: String,
    quantity: Quantity,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Quantity {
    /// A number of the table, or one of its parts.
    Number {
        of: &'static Number,
        part: Option<String>,
    },
    /// A number of the latency of a type, or of all types.
    Latency {
        of: Option<String>,
        number: &'static OfLatency,
    },
    /// One of the five numbers over the nodes; a box of all five if `number` is none.
    Nodes {
        of: &'static OfNode,
        number: Option<usize>,
    },
    /// Mean over the window of an observed value: its source, a dot, and its name.
    Observed(String),
    Path(Vec<String>),
}

impl Metric {
    /// Reads a short name (a name of the tables in `numbers/`) or a path into the result, its names separated by
    /// dots.
    ///
    /// # Errors
    /// The name is neither. The text continues a sentence that begins with the name.
    pub fn parse(name: &str) -> Result<Self, UnknownMetric> {
        Ok(Self { name: name.to_owned(), quantity: Quantity::parse(name)? })
    }

    /// Returns the source of an observed value, a dot, and its name; `None` for other metrics.
    #[must_use]
    pub fn observed(&self) -> Option<&str> {
        match &self.quantity {
            Quantity::Observed(of) => Some(of),
            _ => None,
        }
    }

    /// Returns the name as it was written.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the abort reason, if it counts aborts of one reason only.
    #[must_use]
    pub fn abort_reason(&self) -> Option<&str> {
        self.part_of_kind(PartKind::Reason)
    }

    /// Returns the share of transactions that may lie above it, if it is a percentile of latency, with their type if it is
    /// one of a single type.
    pub(crate) fn share_above(&self) -> Option<(Option<&str>, f64)> {
        match &self.quantity {
            Quantity::Latency { of, number } => Some((of.as_deref(), number.percentile?.share_above())),
            _ => None,
        }
    }

    /// Returns true if it is all five numbers over the nodes, which a box plot shows.
    #[must_use]
    pub fn is_boxed(&self) -> bool {
        matches!(self.quantity, Quantity::Nodes { number: None, .. })
    }

    /// Returns the metrics to read from each run: this one, or the five numbers of a box.
    #[must_use]
    pub fn parts(&self) -> Vec<Self> {
        let Quantity::Nodes { of, number: None } = self.quantity else { return vec![self.clone()] };
        let part = |(number, name): (usize, &str)| Self {
            name: format!("{}.{name}", self.name),
            quantity: Quantity::Nodes { of, number: Some(number) },
        };
        FiveNumbers::NAMES.into_iter().enumerate().map(part).collect()
    }

    /// Returns the part of a number, if it has parts of this kind.
    fn part_of_kind(&self, kind: PartKind) -> Option<&str> {
        match &self.quantity {
            Quantity::Number { of: Number { parts: Some(parts), .. }, part } if parts.kind == kind => {
                part.as_deref()
            }
            _ => None,
        }
    }

    /// Returns its title.
    #[must_use]
    pub fn title(&self) -> String {
        match &self.quantity {
            Quantity::Number { of: Number { parts: Some(parts), .. }, part: Some(part) } => {
                (parts.title)(part)
            }
            Quantity::Number { of, .. } => of.title.to_owned(),
            Quantity::Latency { of, number } => {
                let of_type = of.as_deref().map_or(String::new(), |of| format!(", {}", type_name(of)));
                format!("{} latency{of_type}", number.words)
            }
            Quantity::Nodes { of, number } => {
                let of = of.title;
                let names = [", least", ", first quartile", ", median", ", third quartile", ", greatest"];
                format!("{of}{}", number.and_then(|number| names.get(number).copied()).unwrap_or_default())
            }
            Quantity::Observed(of) => format!("Mean of {of}"),
            Quantity::Path(_) => self.name.clone(),
        }
    }

    /// Returns its unit; empty if it has none or the unit is unknown.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match &self.quantity {
            Quantity::Number { of, .. } => of.unit,
            Quantity::Latency { .. } => "ms",
            Quantity::Nodes { of, .. } => of.unit,
            Quantity::Observed(_) => "",
            Quantity::Path(parts) => {
                // A name ends with its unit; a percentile's unit is in the name before it, or before its type.
                let named = |part: &String| {
                    [
                        ("_ms", "ms"),
                        ("_us", "µs"),
                        ("_per_s", "per second"),
                        ("_s", "s"),
                        ("seconds", "s"),
                        ("_bytes", "bytes"),
                        ("_percent", "%"),
                    ]
                    .into_iter()
                    .find(|(end, _)| part.ends_with(end))
                    .map(|(_, unit)| unit)
                };
                parts.iter().rev().take(3).find_map(named).unwrap_or("")
            }
        }
    }

    /// Returns true if a result may have it second by second: throughput, and paths.
    #[must_use]
    pub fn has_seconds(&self) -> bool {
        match &self.quantity {
            Quantity::Number { of, .. } => of.by_second.is_some(),
            Quantity::Path(_) => true,
            _ => false,
        }
    }

    /// Returns true if a result may have it as a list by place: numbers of all nodes, and paths.
    #[must_use]
    pub fn has_places(&self) -> bool {
        self.is_boxed() || matches!(self.quantity, Quantity::Path(_))
    }

    /// Returns its values in the seconds of a result's window, or by place; none if the result has no such list.
    #[must_use]
    pub fn list_of(&self, result: &RunResult) -> Option<Vec<Option<f64>>> {
        match &self.quantity {
            Quantity::Nodes { of, number: None } => Some(of.of_each(result)?.into_iter().map(Some).collect()),
            Quantity::Number { of, part } => (of.by_second?)(result, part.as_deref()),
            Quantity::Path(parts) => Document::of(result)?.numbers(parts),
            _ => None,
        }
    }

    /// Returns its value in a result; none if the result does not have it.
    #[must_use]
    pub fn of(&self, result: &RunResult) -> Option<f64> {
        let value = match &self.quantity {
            Quantity::Number { of, part: None } => (of.of)(result),
            Quantity::Number { of, part: Some(part) } => (of.parts.as_ref()?.of)(result, part),
            Quantity::Latency { of: Some(of), number } => {
                (number.of)(&result.transactions.get(of)?.latency_ms)
            }
            Quantity::Latency { of: None, number } => (number.of)(&latency_of_all(result)?),
            // A box is not one number; the median stands for it.
            Quantity::Nodes { of, number } => of.spread(result)?.numbers().get(number.unwrap_or(2)).copied(),
            Quantity::Observed(of) => {
                let named = |it: &&Observed| {
                    of.strip_prefix(&it.source).and_then(|rest| rest.strip_prefix('.')) == Some(&it.name)
                };
                result.observed.iter().find(named)?.extent().map(|extent| extent.mean)
            }
            Quantity::Path(parts) => Document::of(result)?.number(parts),
        };
        value.filter(|value| value.is_finite())
    }
}

impl Quantity {
    fn parse(name: &str) -> Result<Self, UnknownMetric> {
        let parts: Vec<&str> = name.split('.').collect();
        match parts.as_slice() {
            [name] if let Some(of) = Number::named(name) => Ok(Self::Number { of, part: None }),
            [name, part] if let Some((of, parts)) = with_parts(name) => {
                let part = if parts.kind == PartKind::Type { type_of(part)? } else { (*part).to_owned() };
                Ok(Self::Number { of, part: Some(part) })
            }
            ["latency", share] => Ok(Self::Latency { of: None, number: share_of(share)? }),
            ["latency", of, share] => Ok(Self::Latency { of: Some(type_of(of)?), number: share_of(share)? }),
            ["nodes", of, number @ ..]
                if number.len() <= 1
                    && let Some(of) = OfNode::named(&format!("nodes.{of}")) =>
            {
                Ok(Self::Nodes { of, number: number.first().map(|name| place(name)).transpose()? })
            }
            // `observed.0.values` is a path.
            ["observed", source, .., _]
                if source.parse::<usize>().is_err() && parts.iter().all(|part| !part.is_empty()) =>
            {
                Ok(Self::Observed(parts[1..].join(".")))
            }
            // `delivery.p99` is a latency, but `delivery.queued` is a path into the report of deferred Deliveries.
            [of, share] if let (Ok(of), Ok(number)) = (type_of(of), share_of(share)) => {
                Ok(Self::Latency { of: Some(of), number })
            }
            _ => Ok(Self::Path(path(&parts)?)),
        }
    }
}

/// Returns the number with this name, if it has parts.
fn with_parts(name: &str) -> Option<(&'static Number, &'static Parts)> {
    let of = Number::named(name)?;
    Some((of, of.parts.as_ref()?))
}

/// Returns the latency of all types together, from their histograms: percentiles can't be combined.
fn latency_of_all(result: &RunResult) -> Option<Latency> {
    let mut all: Option<Histogram<u64>> = None;
    for done in result.transactions.values().filter(|t| t.completed() > 0) {
        let mut histogram = hdr::decode(&done.hdr).ok()?;
        match &mut all {
            None => {
                // Another type may have greater values.
                histogram.auto(true);
                all = Some(histogram);
            }
            Some(all) => all.add(&histogram).ok()?,
        }
    }
    all.map(|all| Latency::from_histogram(&all))
}
