//! `lydite verify`: the function tests on a loaded database, as a table.

use crate::cli::VerifyArgs;
use crate::exit::{Failure, Outcome};
use crate::interrupt::{Interrupt, watch, watched};
use crate::output::{complain, print, reserve_stdout};
use crate::run::function_tests::line;
use crate::run::readiness::unusable;
use crate::shell::typed;
use crate::write::write;
use lydite_database::{DatabaseState, Description, Target, TxMode};
use lydite_families::TargetSpec;
use lydite_plan::destination::{Destination, apart};
use lydite_plan::values::{number, time, whole};
use lydite_report::live::Style;
use lydite_tpcc::WarehouseId;
use lydite_verify::functions::{Finding, Functions, Group, TestVerdict, prepare};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// The version of the JSON format.
const FORMAT: u32 = 1;
/// Maximum number of writers, and of readers: more would find no more errors.
const SESSIONS_MAX: u32 = 1_000;
/// Minimum of `--limit`.
const LIMIT_MIN: Duration = Duration::from_secs(1);
/// Maximum of `--limit`.
const LIMIT_MAX: Duration = Duration::from_secs(3_600);

/// Runs `lydite verify`.
pub(crate) fn command(args: &VerifyArgs) -> Outcome {
    let (spec, functions, json) = plan(args).map_err(Failure::Usage)?;
    if json.as_ref().is_some_and(Destination::is_stdout) {
        reserve_stdout();
    }
    if !spec.stores() {
        return Err(Failure::usage(format!("{} stores nothing that could be tested", args.target)));
    }
    if spec.is_temporary() {
        return Err(Failure::usage(format!(
            "{} is a temporary database, and holds no warehouses: name the path of one that is loaded",
            args.target
        )));
    }
    let style = Style::detect(args.quiet);
    let (spec, interrupt) = watched(spec, style)?;
    let target: Arc<dyn Target> = spec.open()?;
    let description = target.describe()?;
    let warehouses = warehouses_of(&*target, &description.url)?;
    let prepared = prepare(&target, warehouses, functions)?;
    let document = Document { description: &description, group: prepared.group(), warehouses };
    let interrupt = interrupt.map_or_else(|| watch(style), Ok)?;
    // Written early: a file that can't be written must fail before the tests change any row.
    if let Some(place) = json.as_ref().filter(|place| place.is_replaced()) {
        document.save(place, &[], "partial", &interrupt)?;
    }
    if !args.quiet {
        print(&header(&description, prepared.group(), warehouses))?;
    }

    let (mut unprinted, mut interrupt_reported) = (Ok(()), false);
    let report = prepared.run(&|| interrupt.asked(), &mut |finding| {
        if !args.quiet || finding.verdict != TestVerdict::Passed {
            let shown = print(&line(finding));
            if unprinted.is_ok() {
                unprinted = shown;
            }
        }
        if interrupt.asked() && !std::mem::replace(&mut interrupt_reported, true) {
            complain(
                "interrupted: the balances are being restored; once more ends at once, and leaves them as they are",
            );
        }
    });

    let count = |verdict| report.findings.iter().filter(|finding| finding.verdict == verdict).count();
    let (failed, timeouts) = (count(TestVerdict::Failed), count(TestVerdict::Timeout));
    let mut failures = vec![];
    if failed + timeouts > 0 {
        failures.push(Failure::CheckFailed);
    }
    failures.extend(unprinted.err());
    if !args.quiet {
        let (passed, skipped) = (count(TestVerdict::Passed), count(TestVerdict::Skipped));
        let text = format!("{passed} passed, {failed} failed, {timeouts} by timeout, {skipped} skipped\n");
        failures.extend(print(&text).err());
    }
    let whole = !report.stopped && report.lost.is_none();
    let status = if whole { "complete" } else { "partial" };
    if let Some(place) = &json {
        failures.extend(document.save(place, &report.findings, status, &interrupt).err());
    }
    failures.extend(report.lost.map(Failure::from));
    if let Some(why) = report.unrestored {
        failures.push(Failure::Target(format!(
            "the balances could not be restored ({why}): condition 3.3.2.1 will not hold; load again with `lydite load \
             {} --warehouses {warehouses} --fresh`",
            typed(&description.url)
        )));
    }
    if report.stopped {
        failures.push(Failure::Interrupted("interrupted: not all tests were made".into()));
    }
    Failure::all(failures)
}

/// Reads all arguments.
///
/// # Errors
/// Everything that is wrong, one line each.
fn plan(args: &VerifyArgs) -> Result<(TargetSpec, Functions, Option<Destination>), Vec<String>> {
    let mut errors = Vec::new();
    macro_rules! read {
        ($flag:ident, $default:expr, $read:expr) => {{
            let given = args.$flag.as_deref();
            match given.map_or(Ok($default), $read) {
                Ok(value) => value,
                Err(problem) => {
                    errors.push(format!("--{}: {problem}", stringify!($flag)));
                    $default
                }
            }
        }};
    }
    let seconds = |text: &str| match time(text)? {
        limit if limit.subsec_nanos() == 0 && (LIMIT_MIN..=LIMIT_MAX).contains(&limit) => Ok(limit),
        _ => Err("must be whole seconds, from 1s to 1h".to_string()),
    };
    let positive = |text: &str| match time(text)? {
        Duration::ZERO => Err("must be longer than 0".to_string()),
        duration => Ok(duration),
    };
    let all = args.all.is_some() || !(args.global_deadlock || args.global_snapshot);
    let functions = Functions {
        snapshot: all || args.global_snapshot,
        deadlock: all || args.global_deadlock,
        random_order: all || args.global_deadlock,
        duration: read!(duration, Duration::from_secs(10), positive),
        sessions: read!(sessions, 4, |text| whole(text, 1, SESSIONS_MAX)),
        updates: read!(updates, None, |text| whole(text, 2, u32::MAX).map(Some)),
        limit: read!(limit, Duration::from_secs(10), seconds),
        seed: read!(seed, 1, |text| number(text, "must be a whole number from 0")),
    };
    if let Some(mode) = args.tx.as_deref().filter(|mode| *mode != TxMode::Statements.name()) {
        errors.push(if TxMode::ALL.iter().any(|known| known.name() == mode) {
            format!("--tx {mode}: the function tests are sent as statements only: leave it out")
        } else {
            format!("--tx {mode:?} is not known: the function tests are sent as statements")
        });
    }
    let spec = TargetSpec::parse(&args.target, TxMode::Statements).map_err(|more| errors.extend(more)).ok();
    let json = args.json.as_ref().map(Destination::new);
    if let Some(place) = &json
        && let Err(problem) = place.check().and_then(|()| apart(place, spec.as_ref(), None))
    {
        errors.push(format!("--json: {} {problem}", place.shown()));
    }
    match spec {
        Some(spec) if errors.is_empty() => Ok((spec, functions, json)),
        _ => Err(errors),
    }
}

/// Returns the number of warehouses that the database holds, at least two.
fn warehouses_of(target: &dyn Target, url: &str) -> Result<u32, Failure> {
    let load = |first: &str| format!("`lydite load {} --warehouses 2{first}`", typed(url));
    match target.state()? {
        DatabaseState::Ready { meta } if meta.warehouses >= 2 => Ok(meta.warehouses),
        DatabaseState::Ready { .. } => Err(Failure::usage(format!(
            "{url} has one warehouse, and these tests need at least two: load again with {}",
            load(" --fresh")
        ))),
        DatabaseState::AnyScale => Err(Failure::usage(format!("{url} stores nothing that could be tested"))),
        state => Err(unusable(&state, url).unwrap_or_else(|| {
            Failure::usage(format!("{url} is empty: load it first, for example with {}", load("")))
        })),
    }
}

/// Formats the line about the database and the group of warehouses.
fn header(description: &Description, group: &Group, warehouses: u32) -> String {
    let ids: Vec<String> = group.warehouses.iter().map(|id| id.0.to_string()).collect();
    let nodes = group.nodes.map_or_else(String::new, |nodes| format!(" on {nodes} nodes"));
    let engines = group.engines.as_ref().map_or_else(String::new, |[warehouse, district]| {
        format!(", with their first districts: WAREHOUSE in {warehouse}, DISTRICT in {district}")
    });
    format!(
        "{}: {} {}, isolation {}, warehouses {} of {warehouses}{nodes}{engines}\n",
        description.url,
        description.kind,
        description.version,
        description.isolation,
        ids.join(", ")
    )
}

/// Everything but the findings that the JSON document contains.
struct Document<'a> {
    description: &'a Description,
    group: &'a Group,
    warehouses: u32,
}

/// The JSON document.
#[derive(Serialize)]
struct JsonDocument<'a> {
    lydite: &'static str,
    format: u32,
    status: &'a str,
    target: JsonTarget<'a>,
    warehouses: u32,
    group: &'a [WarehouseId],
    nodes: Option<u32>,
    engines: &'a Option<[String; 2]>,
    tests: &'a [Finding],
}

/// The database under test in the document.
#[derive(Serialize)]
struct JsonTarget<'a> {
    kind: &'a str,
    version: &'a str,
    url: &'a str,
    isolation: &'a str,
}

impl Document<'_> {
    /// Writes the document.
    fn save(
        &self,
        place: &Destination,
        findings: &[Finding],
        status: &str,
        interrupt: &Interrupt,
    ) -> Outcome {
        let Description { kind, version, url, isolation, .. } = self.description;
        let document = JsonDocument {
            lydite: env!("CARGO_PKG_VERSION"),
            format: FORMAT,
            status,
            target: JsonTarget { kind, version, url, isolation },
            warehouses: self.warehouses,
            group: &self.group.warehouses,
            nodes: self.group.nodes,
            engines: &self.group.engines,
            tests: findings,
        };
        let document = serde_json::to_value(&document)
            .map_err(|error| Failure::usage(format!("the document can't be written as JSON: {error}")))?;
        write(place, format!("{document:#}\n").as_bytes(), Some(interrupt))
    }
}
