//! Judgement of a run by the standard: pure functions over plain facts, rule by rule.

mod interval;

use crate::deck::Mix;
use crate::kind::{StandardKind, TransactionKind};
use crate::limits::{
    DEFERRED_DELIVERY_S, INPUT_WINDOWS, INPUT_WINDOWS_CLAUSE, ISOLATION_LEVEL, InputQuantity,
    MAX_NOPM_PER_WAREHOUSE, MAX_SKIPPED_DELIVERIES_PERCENT, MEAN_ABOVE_P90_TOLERANCE_S, MENU_P90_S,
    MIN_NOPM_PER_WAREHOUSE,
};
use crate::scale::{DataSkew, Size};
use crate::statistics::InputStatistics;
use serde::Serialize;

/// Position of a measured value relative to its valid window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowVerdict {
    /// Inside the window.
    Inside,
    /// Outside, and by more than chance explains.
    Outside,
    /// Not measured, or outside but within three standard errors of the prescribed value: a longer run may come out
    /// inside.
    TooFewSamples,
}

/// The verdict on one window of clause 5.5.1.5, or on one type's share of the mix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputVerdict {
    /// Name of the quantity, with its unit.
    pub title: String,
    /// Measured value; none without samples.
    pub value: Option<f64>,
    /// Least valid value.
    pub low: f64,
    /// Greatest valid value.
    pub high: f64,
    /// Number of inputs behind the value.
    pub samples: u64,
    /// Judgement of the value.
    pub verdict: WindowVerdict,
}

/// The valid window of a value.
struct Window {
    title: String,
    low: f64,
    prescribed: f64,
    high: f64,
    /// Standard deviation of one sample.
    deviation: f64,
}

impl Window {
    fn judge(self, sum: f64, samples: u64) -> InputVerdict {
        let value = (samples > 0).then(|| sum / samples as f64);
        let verdict = match value {
            None => WindowVerdict::TooFewSamples,
            Some(value) if (self.low..=self.high).contains(&value) => WindowVerdict::Inside,
            Some(value) => {
                let error = self.deviation / (samples as f64).sqrt();
                // More samples do not help if the prescribed value itself is outside.
                let meant_inside = (self.low..=self.high).contains(&self.prescribed);
                if meant_inside && (value - self.prescribed).abs() <= 3.0 * error {
                    WindowVerdict::TooFewSamples
                } else {
                    WindowVerdict::Outside
                }
            }
        };
        InputVerdict { title: self.title, value, low: self.low, high: self.high, samples, verdict }
    }
}

/// Judges the windows of clauses 5.5.1.5 and 9.2.2.5. With one active warehouse nothing can be remote, so the two
/// windows on remote inputs are left out.
#[must_use]
pub fn judge_inputs(statistics: &InputStatistics, active_warehouses: u32) -> Vec<InputVerdict> {
    let orders = statistics.count(StandardKind::NewOrder);
    let payments = statistics.count(StandardKind::Payment);
    let count = |quantity| match quantity {
        InputQuantity::Rollbacks => (100.0, statistics.rollbacks_asked, orders),
        InputQuantity::LinesPerOrder => (1.0, statistics.lines(), orders),
        InputQuantity::RemoteLines => (100.0, statistics.remote_lines, statistics.lines()),
        InputQuantity::RemotePayments => (100.0, statistics.remote_payments, payments),
        InputQuantity::PaymentsByName => (100.0, statistics.payments_by_name, payments),
        InputQuantity::OrderStatusByName => {
            (100.0, statistics.order_status_by_name, statistics.count(StandardKind::OrderStatus))
        }
    };
    let is_remote = |q| matches!(q, InputQuantity::RemoteLines | InputQuantity::RemotePayments);
    INPUT_WINDOWS
        .iter()
        .filter(|window| active_warehouses > 1 || !is_remote(window.quantity))
        .map(|window| {
            let (unit, part, samples) = count(window.quantity);
            Window {
                title: window.title.to_owned(),
                low: window.low,
                prescribed: window.prescribed,
                high: window.high,
                deviation: window.deviation,
            }
            .judge(unit * part as f64, samples)
        })
        .collect()
}

/// Judges the mix in percent: the shares of the four types that have a minimum (clause 5.2.3), and those of types that
/// the standard does not have. `mix` is the configured mix.
#[must_use]
pub fn judge_mix(statistics: &InputStatistics, mix: &Mix) -> Vec<InputVerdict> {
    let prescribed = mix.percent();
    TransactionKind::ALL
        .into_iter()
        .filter_map(|kind| {
            let prescribed = prescribed[kind.index()];
            let (low, high) = match kind {
                TransactionKind::Standard(kind) => (kind.limits().min_mix_percent?, 100.0),
                TransactionKind::Dike(_) if prescribed > 0.0 || statistics.count(kind) > 0 => (0.0, 0.0),
                TransactionKind::Dike(_) => return None,
            };
            let window = Window {
                title: format!("{} in the mix, %", kind.name()),
                low,
                prescribed,
                high,
                deviation: (prescribed * (100.0 - prescribed)).sqrt(),
            };
            Some(window.judge(100.0 * statistics.count(kind) as f64, statistics.total()))
        })
        .collect()
}

/// Measured response times of one type, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResponseTimes {
    /// 90th percentile.
    pub p90_s: f64,
    /// Mean.
    pub mean_s: f64,
}

/// Measured waiting times of the terminals, for one type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredWaits {
    /// Least keying time in seconds.
    pub keying_min_s: f64,
    /// Mean think time in seconds.
    pub think_mean_s: f64,
    /// Number of think times.
    pub samples: u64,
}

/// The isolation level of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// Name of the level in the database.
    pub name: String,
    /// True if the level gives these programs level 3 of clause 3.4.1; none if that is unknown.
    pub level_3: Option<bool>,
}

/// Knowledge about the isolation and durability that a driver declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// Nobody tested them.
    Untested,
    /// The driver passed the kit, which tests them as far as it can.
    Tested,
}

/// Facts of a run. An unknown fact is none, and the rules that need it stay open.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFacts {
    /// Skew of the districts over the warehouses; none if each has ten.
    pub data_skew: Option<DataSkew>,
    /// Rows of ITEM and of each district.
    pub size: Size,
    /// Factor on the keying and think times of clause 5.2.5.7; none if terminals do not wait.
    pub wait_factor: Option<f64>,
    /// Terminals for each configured warehouse.
    pub terminals_per_warehouse: f64,
    /// True if each terminal keeps its warehouse for the whole run.
    pub fixed_warehouses: bool,
    /// Verdicts of [`judge_mix`].
    pub mix: Vec<InputVerdict>,
    /// Verdicts of [`judge_inputs`].
    pub inputs: Vec<InputVerdict>,
    /// Response times that the terminal sees, in the order of [`StandardKind::ALL`]. For Delivery: of its
    /// interactive part, or of the whole transaction if nothing is deferred.
    pub response: [Option<ResponseTimes>; StandardKind::COUNT],
    /// 90th percentile, in seconds, of the time from the choice of a transaction until its input screen; none if
    /// terminals have no lines.
    pub menu_p90_s: Option<f64>,
    /// 90th percentile, in seconds, of the time from queuing a Delivery until all its districts are done.
    pub deferred_delivery_p90_s: Option<f64>,
    /// Deliveries that are done.
    pub deliveries: u64,
    /// Deliveries that skipped at least one district because it had no undelivered order.
    pub skipped_deliveries: u64,
    /// Measured waiting times, in the order of [`StandardKind::ALL`].
    pub waits: [Option<MeasuredWaits>; StandardKind::COUNT],
    /// Length of the measurement interval in minutes.
    pub measured_minutes: f64,
    /// New-Orders completed in each whole second of the interval.
    pub new_orders: Vec<u64>,
    /// Starts of the checkpoints in the interval, in seconds since its start; none if they were not observed.
    pub checkpoints_s: Option<Vec<f64>>,
    /// New orders per minute for each configured warehouse.
    pub nopm_per_warehouse: f64,
    /// True if a commit survives a loss of power.
    pub durable_commits: Option<bool>,
    /// True if the database's files are on a file system in memory.
    pub storage_in_memory: bool,
    /// Isolation level of the run.
    pub isolation: Option<Isolation>,
    /// Knowledge about the two facts above if a driver declares them; none if Lydite itself knows them.
    pub declared: Option<Declared>,
    /// True if transactions that only read ran on replicas, which may show the past.
    pub reads_replicas: bool,
    /// Numbers of the violated consistency conditions; none if they were not checked.
    pub conditions_violated: Option<Vec<u8>>,
}

/// The judgement on one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Compliance {
    /// The rule in a few words.
    pub rule: &'static str,
    /// Clause of the standard.
    pub clause: &'static str,
    /// True if the run keeps the rule; none if that is unknown.
    pub met: Option<bool>,
    /// Finding behind the judgement.
    pub note: String,
}

/// Judges a run by each rule, the most interesting ones first. A run that meets all rules is still no TPC-C result, and
/// the last rules say so.
#[must_use]
pub fn judge(facts: &RunFacts) -> Vec<Compliance> {
    vec![
        population(facts),
        cardinalities(facts),
        waits(facts),
        interval::waits(facts),
        throughput(facts),
        interval::length(facts),
        interval::steady(facts),
        interval::running_mean(facts),
        interval::checkpoints(facts),
        interval::sustained(facts),
        terminals(facts),
        fixed_warehouses(facts),
        verdicts("transaction mix", "5.2.3", &facts.mix),
        verdicts("input data", INPUT_WINDOWS_CLAUSE, &facts.inputs),
        response_times(facts),
        means(facts),
        deferred_delivery(facts),
        skipped_deliveries(facts),
        conditions(facts),
        isolation(facts),
        durability(facts),
        screens(facts),
        rule("audit", "9.1.1", Some(false), "no auditor: this is not a TPC-C result"),
    ]
}

/// The rules that the database keeps or breaks. The others are about the plan and this driver.
pub const DATABASE_RULES: [&str; 7] = [
    "response times, 90th percentile",
    "mean response below the 90th percentile",
    "deferred deliveries",
    "skipped deliveries",
    "consistency conditions",
    "isolation",
    "durability",
];

fn rule(rule: &'static str, clause: &'static str, met: Option<bool>, note: impl Into<String>) -> Compliance {
    Compliance { rule, clause, met, note: note.into() }
}

fn population(facts: &RunFacts) -> Compliance {
    let note = match &facts.data_skew {
        None => "ten districts for each warehouse".to_owned(),
        Some(skew) => {
            format!("districts are spread over the warehouses by {skew}, the standard has ten for each")
        }
    };
    rule("districts per warehouse", "4.3.3.1", Some(facts.data_skew.is_none()), note)
}

fn cardinalities(facts: &RunFacts) -> Compliance {
    let standard = facts.size == Size::Standard;
    let note = if standard {
        "the standard's".to_owned()
    } else {
        format!(
            "size {}: {} items, {} customers and {} orders for each district",
            facts.size.name(),
            facts.size.items(),
            facts.size.customers(),
            facts.size.orders()
        )
    };
    rule("rows of the tables", "4.3.3.1", Some(standard), note)
}

fn waits(facts: &RunFacts) -> Compliance {
    let (met, note) = match facts.wait_factor {
        None => (false, "terminals do not wait".to_owned()),
        Some(factor) if factor < 1.0 => (false, format!("{factor} of the standard's times")),
        Some(1.0) => (true, "the standard's times".to_owned()),
        Some(factor) => (true, format!("{factor} times the standard's")),
    };
    rule("keying and think times", "5.2.5.7", Some(met), note)
}

fn throughput(facts: &RunFacts) -> Compliance {
    let (low, high) = (MIN_NOPM_PER_WAREHOUSE, MAX_NOPM_PER_WAREHOUSE);
    let nopm = facts.nopm_per_warehouse;
    let note = format!("{nopm:.2} new orders per minute and warehouse, {low} to {high} wanted");
    rule("throughput per warehouse", "4.1.3", Some((low..=high).contains(&nopm)), note)
}

fn terminals(facts: &RunFacts) -> Compliance {
    let count = facts.terminals_per_warehouse;
    let wanted = f64::from(crate::input::TERMINALS_PER_WAREHOUSE);
    // The count is a quotient of whole numbers, so ten is exactly ten.
    rule("terminals per warehouse", "4.2.1", Some(count == wanted), format!("{count:.2}, {wanted} wanted"))
}

fn fixed_warehouses(facts: &RunFacts) -> Compliance {
    let note = if facts.fixed_warehouses {
        "each terminal keeps its warehouse"
    } else {
        "a terminal serves several warehouses"
    };
    rule("warehouse fixed per terminal", "2.4.1.1", Some(facts.fixed_warehouses), note)
}

/// Judges one rule over several windows: broken if one value is outside, open if one has too few samples.
fn verdicts(name: &'static str, clause: &'static str, verdicts: &[InputVerdict]) -> Compliance {
    if verdicts.is_empty() {
        return rule(name, clause, None, "not recorded");
    }
    let with = |verdict| verdicts.iter().filter(move |v| v.verdict == verdict).collect::<Vec<_>>();
    let (outside, few) = (with(WindowVerdict::Outside), with(WindowVerdict::TooFewSamples));
    let list = |verdicts: &[&InputVerdict]| {
        let each = verdicts.iter().map(|v| match v.value {
            Some(value) => format!("{} {value:.2} ({} to {})", v.title, v.low, v.high),
            None => format!("{} without a sample", v.title),
        });
        each.collect::<Vec<_>>().join("; ")
    };
    if !outside.is_empty() {
        rule(name, clause, Some(false), list(&outside))
    } else if !few.is_empty() {
        rule(name, clause, None, format!("too few samples: {}", list(&few)))
    } else {
        rule(name, clause, Some(true), format!("{} windows, all inside", verdicts.len()))
    }
}

fn response_times(facts: &RunFacts) -> Compliance {
    let slow: Vec<String> = measured(facts)
        .filter(|(kind, times)| times.p90_s >= kind.limits().p90_response_s)
        .map(|(kind, times)| {
            let limit = kind.limits().p90_response_s;
            format!("{} {:.3} s, below {limit} s wanted", kind.name(), times.p90_s)
        })
        .collect();
    responses(facts, "response times, 90th percentile", "5.2.5.7", &slow, "all below their limits")
}

fn means(facts: &RunFacts) -> Compliance {
    let skewed: Vec<String> = measured(facts)
        .filter(|(_, times)| times.mean_s - times.p90_s >= MEAN_ABOVE_P90_TOLERANCE_S)
        .map(|(kind, times)| {
            format!("{}: mean {:.3} s, 90th percentile {:.3} s", kind.name(), times.mean_s, times.p90_s)
        })
        .collect();
    responses(facts, "mean response below the 90th percentile", "5.2.5.6", &skewed, "for all types")
}

fn measured(facts: &RunFacts) -> impl Iterator<Item = (StandardKind, ResponseTimes)> {
    StandardKind::ALL.into_iter().zip(facts.response).filter_map(|(kind, times)| Some((kind, times?)))
}

fn responses(
    facts: &RunFacts,
    name: &'static str,
    clause: &'static str,
    offences: &[String],
    praise: &str,
) -> Compliance {
    if !offences.is_empty() {
        return rule(name, clause, Some(false), offences.join("; "));
    }
    let missing: Vec<&str> = StandardKind::ALL
        .into_iter()
        .filter(|kind| facts.response[kind.index()].is_none())
        .map(StandardKind::name)
        .collect();
    if missing.is_empty() {
        rule(name, clause, Some(true), praise)
    } else {
        rule(name, clause, None, format!("not measured: {}", missing.join(", ")))
    }
}

fn deferred_delivery(facts: &RunFacts) -> Compliance {
    let (met, note) = match facts.deferred_delivery_p90_s {
        None => (None, "not measured".to_owned()),
        Some(p90) => (
            Some(p90 <= DEFERRED_DELIVERY_S),
            format!("90th percentile {p90:.3} s, at most {DEFERRED_DELIVERY_S} s wanted"),
        ),
    };
    rule("deferred deliveries", "2.7.2.2", met, note)
}

fn screens(facts: &RunFacts) -> Compliance {
    let (met, note) = match facts.menu_p90_s {
        None => (Some(false), "the driver makes requests, not screens".to_owned()),
        Some(p90) if p90 >= MENU_P90_S => {
            (Some(false), format!("menu: 90th percentile {p90:.3} s, below {MENU_P90_S} s wanted"))
        }
        Some(p90) => {
            let note = format!(
                "fields and menu cross a line for each terminal, menu in {p90:.3} s (90th percentile)"
            );
            (None, format!("{note}; the layout is not judged"))
        }
    };
    rule("screens and menu", "2.2", met, note)
}

fn skipped_deliveries(facts: &RunFacts) -> Compliance {
    const NAME: &str = "skipped deliveries";
    const CLAUSE: &str = "2.7.4.2";
    if facts.deliveries == 0 {
        return rule(NAME, CLAUSE, None, "no deliveries");
    }
    let allowed = (facts.deliveries as f64 * MAX_SKIPPED_DELIVERIES_PERCENT / 100.0).max(1.0);
    let note = format!(
        "{} of {} deliveries, at most {MAX_SKIPPED_DELIVERIES_PERCENT} % or one wanted",
        facts.skipped_deliveries, facts.deliveries
    );
    rule(NAME, CLAUSE, Some(facts.skipped_deliveries as f64 <= allowed), note)
}

fn conditions(facts: &RunFacts) -> Compliance {
    let (met, note) = match &facts.conditions_violated {
        None => (None, "not checked".to_owned()),
        Some(violated) if violated.is_empty() => (Some(true), "all twelve hold".to_owned()),
        Some(violated) => {
            let numbers: Vec<String> = violated.iter().map(u8::to_string).collect();
            (Some(false), format!("violated: {}", numbers.join(", ")))
        }
    };
    rule("consistency conditions", "3.3.2", met, note)
}

fn isolation(facts: &RunFacts) -> Compliance {
    let (met, note) = match &facts.isolation {
        None => (None, "not known".to_owned()),
        Some(Isolation { name, .. }) if facts.reads_replicas => (
            Some(false),
            format!(
                "{name} on the primary, but Order-Status and Stock-Level read replicas, which may show the past"
            ),
        ),
        Some(Isolation { name, level_3 }) => {
            let gives = match level_3 {
                Some(true) => "gives",
                Some(false) => "does not give",
                None => "is not known to give",
            };
            let note = format!("{name} {gives} level {ISOLATION_LEVEL} to these programs");
            match facts.declared.filter(|_| *level_3 == Some(true)) {
                None => (*level_3, note),
                Some(Declared::Tested) => {
                    (*level_3, format!("{note}; declared by the driver, tested by the kit"))
                }
                Some(Declared::Untested) => {
                    (None, format!("{name} is declared by the driver, not tested: run lydite driver test"))
                }
            }
        }
    };
    rule("isolation", "3.4.1", met, note)
}

fn durability(facts: &RunFacts) -> Compliance {
    let note = match facts.durable_commits {
        _ if facts.storage_in_memory => "the database's files are in memory, and lost with power",
        None => "not known",
        Some(true) => match facts.declared {
            None => "commits wait for durable storage; a run tests no failures, lydite audit does",
            Some(Declared::Untested) => {
                "that commits are durable is declared by the driver, not tested: run lydite driver test"
            }
            Some(Declared::Tested) => {
                "that commits are durable is declared by the driver; in the kit they survived the end of its process, \
                 and a loss of power was not tested"
            }
        },
        Some(false) => "a commit may be lost with power",
    };
    // Settings alone can break the rule. Only the tests of clause 3.5.4 can show that it is kept.
    let met = (facts.durable_commits == Some(false) || facts.storage_in_memory).then_some(false);
    rule("durability", "3.5", met, note)
}
