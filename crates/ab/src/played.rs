//! The part of a result that the experiment keeps in memory.

use lydite_report::RunResult;
use lydite_report::figures::P99;
use lydite_report::findings::findings;
use lydite_report::metric::Metric;
use lydite_report::model::Status;
use lydite_report::noise::is_noise;
use std::collections::BTreeMap;

/// Numbers of a latency that are compared.
const LATENCIES: [&str; 3] = ["p50", "p99", "mean"];

/// A run with a result.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    /// Value of the metric that decides.
    pub(crate) value: Option<f64>,
    /// True if the run reached its planned end.
    pub(crate) is_complete: bool,
    /// Checks that do not hold.
    pub(crate) checks_failed: u32,
    /// True if others used the machine.
    pub(crate) is_busy: bool,
    /// Start of the window, in an order that is that of time.
    pub(crate) start: String,
    /// Findings, without those about the machine.
    pub(crate) findings: Vec<String>,
    /// Settings that the database reported.
    pub(crate) settings: BTreeMap<String, String>,
    /// Other numbers.
    pub(crate) numbers: Vec<Measure>,
}

/// A number of a run beside the metric.
#[derive(Clone, Debug)]
pub(crate) struct Measure {
    /// Group: `latency`, `observed` or `statement`.
    pub(crate) group: &'static str,
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) value: f64,
}

impl Played {
    /// Takes what is needed from a result.
    pub(crate) fn of(result: &RunResult, metric: &Metric) -> Self {
        let mut settings = result.target.settings.clone();
        settings.extend(result.target.changed_settings.clone());
        Self {
            value: metric.of(result),
            is_complete: result.status == Status::Complete,
            checks_failed: result.checks.iter().filter(|check| !check.ok).count() as u32,
            is_busy: result.warnings.iter().any(|warning| is_noise(warning)),
            start: result.window.start.clone(),
            findings: findings(result).into_iter().map(|of| of.text).filter(|text| !is_noise(text)).collect(),
            settings,
            numbers: latencies(result).chain(observed(result)).chain(statements(result)).collect(),
        }
    }

    /// Returns true if the run may count.
    pub(crate) fn is_good(&self) -> bool {
        self.is_complete && self.checks_failed == 0 && self.value.is_some_and(|value| value > 0.0)
    }
}

fn latencies(result: &RunResult) -> impl Iterator<Item = Measure> + '_ {
    let types = result.types_in_order().into_iter();
    types.flat_map(move |(key, of)| {
        // A percentile of too few samples is just the greatest value.
        let numbers =
            LATENCIES.into_iter().filter(move |name| *name != "p99" || !P99.is_thin(of.completed()));
        numbers.filter_map(move |name| {
            let metric = Metric::parse(&format!("{key}.{name}")).ok()?;
            let unit = metric.unit().to_owned();
            Some(Measure { group: "latency", name: metric.title(), unit, value: metric.of(result)? })
        })
    })
}

fn observed(result: &RunResult) -> impl Iterator<Item = Measure> + '_ {
    result.observed.iter().filter_map(|of| {
        let name = format!("{} {}", of.source, of.name);
        Some(Measure { group: "observed", name, unit: of.unit.clone(), value: of.extent()?.mean })
    })
}

/// Returns the time of each statement on the server, as a share of each transaction.
fn statements(result: &RunResult) -> impl Iterator<Item = Measure> + '_ {
    let completed = result.completed() as f64;
    result.statements.iter().filter(move |_| completed > 0.0).map(move |of| Measure {
        group: "statement",
        name: of.text.split_whitespace().collect::<Vec<_>>().join(" "),
        unit: "ms/transaction".to_owned(),
        value: of.total_s() * 1e3 / completed,
    })
}
