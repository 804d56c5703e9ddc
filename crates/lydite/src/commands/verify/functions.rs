//! `lydite verify` without `--isolation`: the function tests on a loaded database, as a table.

use super::judgement::JsonTarget;
use super::{FORMAT, duration, of_isolation, place, read, reject, whole_seconds};
use crate::cli::VerifyArgs;
use crate::signals::{watch, watched};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::{complain, print, reserve_stdout};
use lydite_console::shell::typed;
use lydite_console::write::write;
use lydite_database::secret::shown;
use lydite_database::{DatabaseState, Description, Target, TxMode};
use lydite_families::TargetSpec;
use lydite_plan::data::load_flags;
use lydite_plan::destination::Destination;
use lydite_plan::values::{number, whole};
use lydite_report::live::Style;
use lydite_run::alone::begin_test;
use lydite_run::function_test_line;
use lydite_run::readiness::unusable;
use lydite_run::spread::{few_sessions, usual_sessions};
use lydite_tpcc::WarehouseId;
use lydite_tpcc::meta::{DatabaseMeta, POPULATION_VERSION};
use lydite_verify::functions::{Finding, Functions, Group, TestVerdict, prepare};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// Default number of writers, and of readers.
const SESSIONS: u32 = 4;
/// Maximum number of writers, and of readers: more would find no more errors.
const SESSIONS_MAX: u32 = 1_000;

/// Runs the function tests.
pub(super) fn command(name: &str, args: &VerifyArgs) -> Outcome {
    let (spec, functions, json) = plan(name, args).map_err(Failure::Usage)?;
    if json.as_ref().is_some_and(Destination::is_stdout) {
        reserve_stdout();
    }
    if !spec.stores() {
        return Err(Failure::usage(format!("{name} stores nothing that could be tested")));
    }
    if spec.is_temporary() {
        return Err(Failure::usage(format!(
            "{name} is a temporary database, and holds no warehouses: name the path of one that is loaded"
        )));
    }
    let style = Style::detect(args.quiet);
    let (spec, interrupt) = watched(spec, style)?;
    let target: Arc<dyn Target> = spec.open()?;
    let description = target.describe()?;
    let meta = loaded(&*target, &description.url)?;
    let warehouses = meta.warehouses;
    let _alone = begin_test(&*target, &meta)?;
    let prepared = prepare(&target, warehouses, functions)?;
    let mut warnings = prepared.unknown().to_vec();
    // Writers and readers are sessions.
    let spread = target.capabilities().endpoints;
    warnings
        .extend(spread.and_then(|endpoints| few_sessions(endpoints, 2 * functions.sessions, "--sessions")));
    warnings.iter().for_each(|warning| complain(warning));
    let document =
        Document { description: &description, group: prepared.group(), warehouses, warnings: &warnings };
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
            let shown = print(&function_test_line(finding));
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
        let failed = report
            .findings
            .iter()
            .filter(|finding| matches!(finding.verdict, TestVerdict::Failed | TestVerdict::Timeout));
        failures.push(Failure::checks("function tests", failed.map(|finding| finding.test)));
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
             {} {} --fresh`",
            typed(&description.url),
            load_flags(&meta)
        )));
    }
    if report.stopped {
        failures.push(Failure::Interrupted("interrupted: not all tests have run".into()));
    }
    Failure::all(failures)
}

/// Reads all arguments.
///
/// # Errors
/// Everything that is wrong, one line each.
fn plan(
    target: &str,
    args: &VerifyArgs,
) -> Result<(TargetSpec, Functions, Option<Destination>), Vec<String>> {
    let mut errors = Vec::new();
    let why = "belongs to --isolation: add that, or leave it out";
    reject(&mut errors, &of_isolation(args), why);
    reject(&mut errors, &[("--level", args.level.is_some())], why);
    let all = args.all.is_some() || !(args.global_deadlock || args.global_snapshot);
    let errors_of = &mut errors;
    let mut functions = Functions {
        snapshot: all || args.global_snapshot,
        deadlock: all || args.global_deadlock,
        random_order: all || args.global_deadlock,
        duration: read(errors_of, ("duration", args.duration.as_deref()), Duration::from_secs(10), duration),
        sessions: read(errors_of, ("sessions", args.sessions.as_deref()), SESSIONS, |text| {
            whole(text, 1, SESSIONS_MAX)
        }),
        updates: read(errors_of, ("updates", args.updates.as_deref()), None, |text| {
            whole(text, 2, u32::MAX).map(Some)
        }),
        limit: read(errors_of, ("limit", args.limit.as_deref()), Duration::from_secs(10), whole_seconds),
        seed: read(errors_of, ("seed", args.seed.as_deref()), 1, |text| {
            number(text, "must be a whole number from 0")
        }),
    };
    if let Some(mode) = args.tx.as_deref().filter(|mode| *mode != TxMode::Statements.name()) {
        errors.push(if TxMode::ALL.iter().any(|known| known.name() == mode) {
            format!("--tx {mode}: the function tests are sent as statements only: leave it out")
        } else {
            format!("--tx {:?} is not known: the function tests are sent as statements", shown(mode))
        });
    }
    let spec = TargetSpec::parse(target, TxMode::Statements).map_err(|more| errors.extend(more)).ok();
    if let (None, Some(spec)) = (&args.sessions, &spec) {
        functions.sessions = usual_sessions(SESSIONS, spec.endpoints());
    }
    let json = place(&mut errors, "json", args.json.as_deref(), spec.as_ref());
    match spec {
        Some(spec) if errors.is_empty() => Ok((spec, functions, json)),
        _ => Err(errors),
    }
}

/// Returns the description of the database, which holds at least two warehouses.
fn loaded(target: &dyn Target, url: &str) -> Result<DatabaseMeta, Failure> {
    let load = |flags: &str| format!("`lydite load {} {flags}`", typed(url));
    match target.state()? {
        DatabaseState::Ready { meta } if meta.warehouses >= 2 => Ok(meta),
        DatabaseState::Ready { meta } => Err(Failure::usage(format!(
            "{url} has one warehouse, and these tests need at least two: load again with {}",
            load(&format!(
                "{} --fresh",
                load_flags(&DatabaseMeta { warehouses: 2, population: POPULATION_VERSION, ..meta })
            ))
        ))),
        DatabaseState::AnyScale => Err(Failure::usage(format!("{url} stores nothing that could be tested"))),
        state => Err(unusable(&state, url).unwrap_or_else(|| {
            Failure::usage(format!(
                "{url} is empty: load it first, for example with {}",
                load("--warehouses 2")
            ))
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
    warnings: &'a [String],
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
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'a [String],
    tests: &'a [Finding],
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
        let document = JsonDocument {
            lydite: env!("CARGO_PKG_VERSION"),
            format: FORMAT,
            status,
            target: JsonTarget::of(self.description),
            warehouses: self.warehouses,
            group: &self.group.warehouses,
            nodes: self.group.nodes,
            engines: &self.group.engines,
            warnings: self.warnings,
            tests: findings,
        };
        let document = serde_json::to_value(&document)
            .map_err(|error| Failure::usage(format!("the document can't be written as JSON: {error}")))?;
        write(place, format!("{document:#}\n").as_bytes(), Some(interrupt))
    }
}
