//! `lydite plan`: the size and price of a configuration for a throughput, and the verdict on the data of a result.

use super::price_file::{self, PriceFile};
use super::result_file::load;
use crate::cli::PlanArgs;
use crate::signals::watched;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::{print, reserve_stdout};
use lydite_console::shell::typed;
use lydite_console::write::write;
use lydite_database::secret::shown;
use lydite_database::{DatabaseState, TargetError, TargetErrorKind, TxMode};
use lydite_families::TargetSpec;
use lydite_plan::Problem;
use lydite_plan::destination::Destination;
use lydite_plan::values::{number, time, whole};
use lydite_report::RunResult;
use lydite_report::figures;
use lydite_report::live::Style;
use lydite_report::model::CheckedWhen;
use lydite_run::readiness::unusable;
use lydite_tpcc::limits::{MAX_NOPM_PER_WAREHOUSE, MIN_NOPM_PER_WAREHOUSE};
use lydite_tpcc::sizing::{
    Bytes, FILL_PERCENT, Facts, KINDS, Prices, Sizing, SizingPlan, Space, SpacePlan, Verdict,
    bytes_per_warehouse_of, judge, price, size,
};
use lydite_tpcc::{Cents, Size};
use serde::Serialize;
use std::fs::Metadata;
use std::path::Path;

/// Bytes of a warehouse if nothing else is known: those of published results without compression.
const DEFAULT_BYTES: Bytes = Bytes(70_000_000);

/// The JSON document of a plan.
#[derive(Serialize)]
struct PlanDocument<'a> {
    lydite: &'static str,
    #[serde(flatten)]
    sizing: &'a Sizing,
    #[serde(skip_serializing_if = "Option::is_none")]
    prices: Option<&'a Prices>,
}

/// The JSON document of a verdict.
#[derive(Serialize)]
struct CheckDocument<'a> {
    lydite: &'static str,
    rules: &'a [Verdict],
}

/// Runs `lydite plan`.
pub(crate) fn command(args: &PlanArgs) -> Outcome {
    let json = args.json.as_ref().map(Destination::new);
    let asked = read(args, json.as_ref()).map_err(Failure::Usage)?;
    if json.as_ref().is_some_and(Destination::is_stdout) {
        reserve_stdout();
    }
    let from = args.from.as_ref().or(args.check.as_ref()).map(|path| load(path)).transpose()?;
    let bytes = match (&asked.bytes, &asked.target) {
        (Some(bytes), _) => Some(*bytes),
        (None, Some(target)) => Some(measured(target)?),
        (None, None) => from.as_ref().and_then(|result| bytes_of(result).or_else(|| usual_bytes_of(result))),
    };
    if args.check.is_some()
        && let Some(result) = &from
    {
        let space = bytes.map(|bytes| asked.space(bytes));
        return check(result, space, asked.disk, json.as_ref());
    }
    let sizing = size(&asked.sizing(from.as_ref(), bytes.unwrap_or(DEFAULT_BYTES)))
        .map_err(|errors| Failure::Usage(errors.iter().map(ToString::to_string).collect()))?;
    let prices = asked.prices.as_ref().map(|sheet| price(&sheet.currency, &sheet.parts, sizing.nopm));
    let document =
        PlanDocument { lydite: env!("CARGO_PKG_VERSION"), sizing: &sizing, prices: prices.as_ref() };
    finish(&document, &plan_text(&sizing, prices.as_ref()), json.as_ref(), Vec::new())
}

/// Prints the text and writes the document.
pub(super) fn finish(
    document: &impl Serialize,
    text: &str,
    json: Option<&Destination>,
    mut failures: Vec<Failure>,
) -> Outcome {
    failures.extend(print(text).err());
    if let Some(place) = json {
        let written = serde_json::to_value(document)
            .map_err(|error| Failure::usage(format!("the document can't be written as JSON: {error}")))
            .and_then(|document| write(place, format!("{document:#}\n").as_bytes(), None));
        failures.extend(written.err());
    }
    Failure::all(failures)
}

/// The flags as values.
#[derive(Default)]
struct Asked {
    nopm: Option<f64>,
    target: Option<TargetSpec>,
    bytes: Option<Bytes>,
    nopm_per_warehouse: Option<f64>,
    warehouses: Option<u32>,
    response_s: Option<f64>,
    terminals_per_process: Option<u32>,
    processes_per_host: Option<u32>,
    copies: Option<u32>,
    log_copies: Option<u32>,
    log_per_order: Option<Bytes>,
    disk: Option<Bytes>,
    prices: Option<PriceFile>,
}

/// Reads all flags.
///
/// # Errors
/// Everything that is wrong, one line each.
fn read(args: &PlanArgs, json: Option<&Destination>) -> Result<Asked, Vec<String>> {
    let mut errors = Vec::new();
    macro_rules! value {
        ($flag:ident, $read:expr) => {
            match args.$flag.as_deref().map($read).transpose() {
                Ok(value) => value,
                Err(problem) => {
                    errors.push(format!("--{}: {problem}", stringify!($flag).replace('_', "-")));
                    None
                }
            }
        };
    }
    let count = |most: u32| move |text: &str| whole(text, 1, most);
    let positive = |text: &str| {
        let problem = "must be a number above zero";
        number(text, problem).and_then(|value: f64| if value > 0.0 { Ok(value) } else { Err(problem.into()) })
    };
    let of_kind = |kind: &str| {
        let known = KINDS.iter().find(|(name, _)| *name == kind);
        known.map(|(_, bytes)| Bytes(*bytes)).ok_or_else(|| {
            let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
            format!("{:?} is not known: use {}, or --bytes-per-warehouse", shown(kind), names.join(", "))
        })
    };
    let kind = value!(kind, of_kind);
    let mut asked = Asked {
        nopm: value!(nopm, positive),
        bytes: value!(bytes_per_warehouse, str::parse).or(kind),
        nopm_per_warehouse: value!(nopm_per_warehouse, positive),
        warehouses: value!(warehouses, count(u32::MAX)),
        response_s: value!(response, |text| time(text).map(|time| time.as_secs_f64())),
        terminals_per_process: value!(terminals_per_process, count(64_511)),
        processes_per_host: value!(processes_per_host, count(10_000)),
        copies: value!(copies, count(100)),
        log_copies: value!(log_copies, count(100)),
        log_per_order: value!(log_per_order, str::parse),
        disk: value!(disk, str::parse),
        ..Asked::default()
    };
    match args.target.as_deref().map(|url| TargetSpec::parse(url, TxMode::Statements)).transpose() {
        Ok(target) => asked.target = target,
        Err(problems) => errors.extend(problems),
    }
    match args.prices.as_deref().map(price_file::read).transpose() {
        Ok(prices) => asked.prices = prices,
        Err(problems) => errors.extend(problems),
    }
    let inputs: Vec<_> = [&args.from, &args.check, &args.prices].into_iter().flatten().cloned().collect();
    if let Some(place) = json
        && let Err(problem) = place
            .check()
            .map_err(|problem| Problem::from(format!("{} {problem}", place.shown())))
            .and_then(|()| place.apart_from(&inputs))
    {
        errors.push(format!("--json: {problem}"));
    }
    if args.disk.is_some() && args.check.is_none() {
        errors.push(
            "--disk: is for --check RESULT: leave it out; the plan says how large the disks must be".into(),
        );
    }
    if errors.is_empty() { Ok(asked) } else { Err(errors) }
}

impl Asked {
    fn space(&self, bytes_per_warehouse: Bytes) -> SpacePlan {
        let usual = SpacePlan::new(bytes_per_warehouse);
        SpacePlan {
            copies: self.copies.map_or(usual.copies, u64::from),
            log_copies: self.log_copies.map_or(usual.log_copies, u64::from),
            log_per_order: self.log_per_order.unwrap_or(usual.log_per_order),
            ..usual
        }
    }

    /// Returns the plan. Flags win over the result, and the result wins over the defaults.
    fn sizing(&self, from: Option<&RunResult>, bytes: Bytes) -> SizingPlan {
        let usual = SizingPlan::new(self.nopm.or(from.map(|result| result.nopm)).unwrap_or_default(), bytes);
        SizingPlan {
            warehouses: self.warehouses,
            nopm_per_warehouse: self
                .nopm_per_warehouse
                .or(from.and_then(scaled))
                .unwrap_or(usual.nopm_per_warehouse),
            response_s: self.response_s.or(from.and_then(response_s)).unwrap_or(usual.response_s),
            terminals_per_process: self.terminals_per_process.map_or(usual.terminals_per_process, u64::from),
            processes_per_host: self.processes_per_host.map_or(usual.processes_per_host, u64::from),
            space: self.space(bytes),
            ..usual
        }
    }
}

/// Returns the throughput of a warehouse in a result that is scaled as clause 4.1.3 demands; `None` for others.
fn scaled(result: &RunResult) -> Option<f64> {
    let each = result.nopm / result.plan.warehouses.filter(|&count| count > 0)? as f64;
    (MIN_NOPM_PER_WAREHOUSE..=MAX_NOPM_PER_WAREHOUSE).contains(&each).then_some(each)
}

/// Returns the mean service time of all transactions of a result, in seconds.
fn response_s(result: &RunResult) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for of in result.transactions.values() {
        let completed = (of.committed + of.rolled_back) as f64;
        sum += of.service_ms.mean.unwrap_or(0.0) * completed;
        count += completed;
    }
    (count > 0.0 && sum > 0.0).then(|| sum / count / 1_000.0)
}

/// Returns the size of a warehouse at the begin of a run; `None` if the result does not say.
pub(super) fn bytes_of(result: &RunResult) -> Option<Bytes> {
    let bytes = result.nodes.as_ref()?.bytes.as_ref()?;
    let first: u64 = bytes.of.iter().filter_map(|node| node.first()).sum();
    let warehouses = u32::try_from(result.plan.warehouses?).ok()?;
    (first > 0 && is_standard(result)).then(|| bytes_per_warehouse_of(Bytes(first), warehouses))
}

/// Returns the usual size of a warehouse in a database of this kind; `None` if it is not known.
pub(super) fn usual_bytes_of(result: &RunResult) -> Option<Bytes> {
    KINDS.iter().find(|(kind, _)| *kind == result.target.kind).map(|(_, bytes)| Bytes(*bytes))
}

/// True if the warehouses of a result have the standard's rows.
fn is_standard(result: &RunResult) -> bool {
    !result.has_small_warehouses() && result.plan.data_skew.is_none()
}

/// Measures the size of a warehouse in a loaded database.
fn measured(spec: &TargetSpec) -> Result<Bytes, Failure> {
    let (spec, _interrupt) = watched(spec.clone(), Style::detect(false))?;
    let target = spec.open()?;
    let url = target.describe()?.url;
    let meta =
        match target.state()? {
            DatabaseState::Ready { meta } => meta,
            state => {
                return Err(unusable(&state, &url).unwrap_or_else(|| Failure::usage(format!(
                "{url} is not loaded: load some warehouses first with `lydite load {} --warehouses 2`",
                typed(&url)
            ))));
            }
        };
    if meta.size != Size::Standard || meta.districts.skew().is_some() {
        return Err(Failure::usage(format!(
            "{url} has other rows than the standard's: load it without --size and data_skew"
        )));
    }
    let nodes = target.capabilities().node_sizes().map_err(|error| match error.kind {
        TargetErrorKind::Database => {
            TargetError::database(format!("{}: give the size with --bytes-per-warehouse", error.message))
        }
        _ => error,
    })?;
    let bytes = match (nodes, spec.path()) {
        (Some(nodes), _) => nodes.iter().map(|node| node.bytes).sum(),
        (None, Some(path)) => bytes_in(path).map_err(|error| {
            Failure::usage(format!("{}: {error}: give the size with --bytes-per-warehouse", path.display()))
        })?,
        (None, None) => 0,
    };
    if bytes == 0 {
        return Err(Failure::usage(format!(
            "{url} does not report the size of its data: give it with --bytes-per-warehouse"
        )));
    }
    Ok(bytes_per_warehouse_of(Bytes(bytes), meta.warehouses))
}

/// Returns the bytes of a file, or of all files in a directory.
fn bytes_in(path: &Path) -> std::io::Result<u64> {
    // Links to other places are followed at the top only, so nothing is counted twice.
    bytes_below(path, &path.metadata()?)
}

fn bytes_below(path: &Path, about: &Metadata) -> std::io::Result<u64> {
    if !about.is_dir() {
        return Ok(about.len());
    }
    let mut sum = 0;
    for entry in path.read_dir()? {
        let entry = entry?.path();
        sum += bytes_below(&entry, &entry.symlink_metadata()?)?;
    }
    Ok(sum)
}

/// Returns the facts that the rules of scaling judge.
pub(super) fn facts(result: &RunResult, warehouses: u32, space: Option<Space>, disk: Option<Bytes>) -> Facts {
    let rte = result.plan.mode.as_deref() == Some("rte") && result.plan.wait_factor.is_none_or(|f| f >= 1.0);
    Facts {
        nopm: result.nopm,
        warehouses,
        standard_rows: is_standard(result),
        terminals: result.plan.terminals.filter(|_| rte),
        checks_hold: match result.checks.iter().all(|check| check.ok) {
            true => result.evaluated_conditions(CheckedWhen::After).then_some(true),
            false => Some(false),
        },
        space,
        disk,
    }
}

/// Judges a result.
fn check(
    result: &RunResult,
    space: Option<SpacePlan>,
    disk: Option<Bytes>,
    json: Option<&Destination>,
) -> Outcome {
    let warehouses =
        result.plan.warehouses.and_then(|count| u32::try_from(count).ok()).filter(|&count| count > 0);
    let Some(warehouses) = warehouses else {
        return Err(Failure::usage("--check: the result has no warehouses: use one of a run of TPC-C"));
    };
    let space = space.map(|space| space.space(warehouses, result.nopm));
    let rules = judge(&facts(result, warehouses, space, disk));
    let mut text = String::new();
    for Verdict { clause, rule, met, note } in &rules {
        let word = match met {
            Some(true) => "ok",
            Some(false) => "FAILED",
            None => "unknown",
        };
        text += &format!("{word:<8}{clause:<8}  {rule}: {note}\n");
    }
    let failed: Vec<&str> =
        rules.iter().filter(|rule| rule.met == Some(false)).map(|rule| rule.clause).collect();
    let failures = if failed.is_empty() { vec![] } else { vec![Failure::checks("rules, by clause", failed)] };
    finish(&CheckDocument { lydite: env!("CARGO_PKG_VERSION"), rules: &rules }, &text, json, failures)
}

/// Formats a plan as a table.
fn plan_text(sizing: &Sizing, prices: Option<&Prices>) -> String {
    let count = figures::count;
    let hosts = |of: &lydite_tpcc::sizing::Processes| {
        format!(
            "{} process{} on {}, {} terminals each",
            count(of.processes),
            if of.processes == 1 { "" } else { "es" },
            figures::plural(of.hosts, "host"),
            count(of.terminals_each)
        )
    };
    let space = &sizing.space;
    let copies = |copies: u64| if copies == 1 { String::new() } else { format!(", in {copies} copies") };
    let mut rows = vec![
        ("new orders per minute", figures::number(sizing.nopm), "wanted".to_owned()),
        (
            "warehouses",
            count(u64::from(sizing.warehouses)),
            format!("{:.2} new orders per minute each; 9 to 12.86 count (4.1.3)", sizing.nopm_per_warehouse),
        ),
        ("terminals", count(sizing.terminals), "ten per warehouse, each connected (4.2.1, 6.6.2)".to_owned()),
        (
            "slowest response",
            format!("{:.2} s", sizing.slowest_response_s),
            "mean of answer and menu together at which terminals still enter this much (5.2.5.7)".to_owned(),
        ),
        ("RTE", hosts(&sizing.rte), "emulated terminals (6.4)".to_owned()),
        ("WAS", hosts(&sizing.was), "terminal connections (2.3.5)".to_owned()),
        (
            "database sessions",
            count(sizing.sessions),
            format!(
                "{} transactions per second in flight on average",
                figures::number(sizing.transactions_per_s)
            ),
        ),
        ("a warehouse", sizing.bytes_per_warehouse.to_string(), "after loading".to_owned()),
        ("loaded data", sizing.bytes.to_string(), "one copy (4.3.3.1)".to_owned()),
        ("growth", space.daily_growth_bytes.to_string(), "a day of 8 hours, one copy (4.2.3)".to_owned()),
        (
            "60 days",
            space.sixty_day_bytes.to_string(),
            format!("data with 5 % room (4.2.3, 1.4.11){}", copies(space.copies)),
        ),
        ("log", space.log_bytes.to_string(), format!("8 hours (5.5.1.2){}", copies(space.log_copies))),
        ("disks", space.disk_bytes.to_string(), format!("60 days and log, filled by {FILL_PERCENT} %")),
    ];
    if let Some(prices) = prices {
        rows.push((
            "price",
            format!("{} {}", count(prices.total), prices.currency),
            "of the sheet (7)".to_owned(),
        ));
        rows.push((
            "price per NOPM",
            format!("{} {}", prices.per_nopm, prices.currency),
            "rounded up; no audited price/performance".to_owned(),
        ));
    }
    let width = rows.iter().map(|(_, value, _)| value.chars().count()).max().unwrap_or(0);
    let mut text: String =
        rows.iter().map(|(name, value, note)| format!("{name:<22}  {value:<width$}  {note}\n")).collect();
    if let Some(prices) = prices {
        text.push('\n');
        for part in &prices.parts {
            let sum = part.price_cents + part.maintenance_cents;
            text += &format!("{:>9} × {:<30} {sum:>18}", count(u64::from(part.count)), part.part);
            if part.maintenance_cents > Cents(0) {
                text += &format!("  with maintenance of {}", part.maintenance_cents);
            }
            text.push('\n');
        }
    }
    text
}
