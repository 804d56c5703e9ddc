//! The numbers of a latency: mean, percentiles and the greatest value.

use crate::figures::{P50, P90, P95, P99, P999, Percentile, number};
use crate::model::Latency;

/// A number of a latency.
#[derive(Debug)]
pub(crate) struct OfLatency {
    /// Name in requirements, gates and figures.
    pub(crate) name: &'static str,
    /// Name in tables.
    pub(crate) head: &'static str,
    /// Name in words.
    pub(crate) words: &'static str,
    /// Fewest transactions that give such a number. With fewer, a percentile is just the greatest value.
    pub(crate) least: u64,
    /// Returns the value.
    pub(crate) of: fn(&Latency) -> Option<f64>,
    /// The percentile that it is.
    pub(crate) percentile: Option<Percentile>,
    /// True if the terminal's table shows it; the page shows all.
    pub(crate) in_terminal: bool,
    /// True if comparisons and summaries show it.
    pub(crate) is_compared: bool,
    /// True if it has a column on the page of several results.
    pub(crate) has_column: bool,
}

impl OfLatency {
    /// A number that only the page of a result shows.
    const PLAIN: Self = Self {
        name: "",
        head: "",
        words: "",
        least: 1,
        of: |_| None,
        percentile: None,
        in_terminal: false,
        is_compared: false,
        has_column: false,
    };

    /// Returns the value as text, marked if it is a percentile of too few samples.
    pub(crate) fn text(&self, samples: u64, latency: &Latency) -> String {
        let value = (self.of)(latency);
        self.percentile.map_or_else(|| number(value), |percentile| percentile.text(samples, value))
    }

    /// Returns true if there are samples, but too few for the percentile that it is.
    pub(crate) fn is_thin(&self, samples: u64) -> bool {
        self.percentile.is_some_and(|percentile| percentile.is_thin(samples))
    }

    /// Returns the number with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        OF_LATENCY.iter().find(|number| number.name == name)
    }
}

impl PartialEq for OfLatency {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for OfLatency {}

/// The numbers, in the order of all views.
pub(crate) static OF_LATENCY: [OfLatency; 7] = [
    OfLatency { name: "mean", head: "mean", words: "Mean", of: |l| l.mean, ..OfLatency::PLAIN },
    OfLatency {
        name: "p50",
        head: "p50",
        words: "Median",
        least: 2,
        of: |l| l.p50,
        percentile: Some(P50),
        in_terminal: true,
        is_compared: true,
        has_column: true,
    },
    OfLatency {
        name: "p90",
        head: "p90",
        words: "90th percentile",
        least: 10,
        of: |l| l.p90,
        percentile: Some(P90),
        in_terminal: true,
        has_column: true,
        ..OfLatency::PLAIN
    },
    OfLatency {
        name: "p95",
        head: "p95",
        words: "95th percentile",
        least: 20,
        of: |l| l.p95,
        percentile: Some(P95),
        in_terminal: true,
        is_compared: true,
        ..OfLatency::PLAIN
    },
    OfLatency {
        name: "p99",
        head: "p99",
        words: "99th percentile",
        least: 100,
        of: |l| l.p99,
        percentile: Some(P99),
        in_terminal: true,
        is_compared: true,
        has_column: true,
    },
    OfLatency {
        name: "p999",
        head: "p99.9",
        words: "99.9th percentile",
        least: 1000,
        of: |l| l.p999,
        percentile: Some(P999),
        ..OfLatency::PLAIN
    },
    OfLatency {
        name: "max",
        head: "max",
        words: "Greatest",
        of: |l| l.max,
        in_terminal: true,
        ..OfLatency::PLAIN
    },
];
