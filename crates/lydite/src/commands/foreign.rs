//! `lydite check --foreign`: checks a TPC-C database that another program loaded, and only reads it.

use super::findings::{failed, lines};
use crate::cli::CheckArgs;
use crate::signals::{watch, watched};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::{print, reserve_stdout};
use lydite_console::write::write;
use lydite_database::ConditionFinding;
use lydite_database::sql::foreign::{ForeignCheck, ForeignFindings, check};
use lydite_families::TargetSpec;
use lydite_plan::Problem;
use lydite_plan::destination::{Destination, apart};
use lydite_plan::values::whole;
use lydite_report::figures::plural;
use lydite_report::live::Style;
use lydite_report::model::{CheckResult, CheckedWhen};
use lydite_run::checks::results;
use lydite_tpcc::consistency::{CONDITION_COUNT, CONDITIONS};
use lydite_tpcc::limits::MAX_WAREHOUSES;
use lydite_verify::conditions::read_aside;
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The version of the JSON format.
const FORMAT: u32 = 1;

/// The JSON document.
#[derive(Serialize)]
struct Document<'a> {
    lydite: &'static str,
    format: u32,
    target: &'a str,
    /// One for each set of tables.
    databases: Vec<Database<'a>>,
}

/// A set of tables in the document.
#[derive(Serialize)]
struct Database<'a> {
    kit: Option<&'a str>,
    tables: &'a [String],
    warehouses: u32,
    size: &'static str,
    notes: &'a [String],
    checks: Vec<CheckResult>,
}

/// Runs the check.
pub(super) fn command(args: &CheckArgs, spec: &TargetSpec) -> Outcome {
    let (warehouses, json) = plan(args, spec).map_err(Failure::Usage)?;
    if json.as_ref().is_some_and(Destination::is_stdout) {
        reserve_stdout();
    }
    let style = Style::detect(args.quiet);
    let (spec, interrupt) = watched(spec.clone(), style)?;
    let interrupt = interrupt.map_or_else(|| watch(style), Ok)?;
    let target = spec.open()?;
    let (begun, population) = (Instant::now(), args.population);
    let heard: Arc<Mutex<Vec<ConditionFinding>>> = Arc::default();
    let hearing = Arc::clone(&heard);
    let found = read_aside(&target, &|| interrupt.asked(), move |target| {
        let mut session = target.capabilities().foreign()?.read_only()?;
        let plan = ForeignCheck { conditions: &CONDITIONS, warehouses, population };
        check(&mut session, &plan, &mut |finding| {
            hearing.lock().unwrap_or_else(PoisonError::into_inner).push(finding.clone());
        })
    })?;
    let Some(found) = found else {
        return interrupted(&heard.lock().unwrap_or_else(PoisonError::into_inner), args.quiet);
    };
    let seconds = begun.elapsed().as_secs_f64();
    let url = spec.without_password(&args.target);
    let mut failures = Vec::new();
    failures.extend(failed(found.iter().flat_map(|set| &set.findings)));
    failures.extend(print(&text(&found, &url, args.quiet, seconds)).err());
    if let Some(place) = &json {
        let document = Document {
            lydite: env!("CARGO_PKG_VERSION"),
            format: FORMAT,
            target: &url,
            databases: found.iter().map(database).collect(),
        };
        let written = serde_json::to_value(&document)
            .map_err(|error| Failure::usage(format!("the document can't be written as JSON: {error}")))
            .and_then(|document| write(place, format!("{document:#}\n").as_bytes(), Some(&interrupt)));
        failures.extend(written.err());
    }
    Failure::all(failures)
}

/// Reports the findings until an interrupt.
fn interrupted(heard: &[ConditionFinding], quiet: bool) -> Outcome {
    let mut failures = Vec::new();
    failures.extend(failed(heard));
    failures.extend(print(&lines(heard, quiet)).err());
    failures
        .push(Failure::Interrupted(format!("interrupted after {}", plural(heard.len() as u64, "condition"))));
    Failure::all(failures)
}

/// Reads the arguments.
///
/// # Errors
/// Everything that is wrong, one line each.
fn plan(args: &CheckArgs, spec: &TargetSpec) -> Result<(Option<u32>, Option<Destination>), Vec<String>> {
    let mut errors = Vec::new();
    let warehouses = match args.warehouses.as_deref().map(|text| whole(text, 1, MAX_WAREHOUSES)) {
        None => None,
        Some(Ok(count)) => Some(count),
        Some(Err(problem)) => {
            errors.push(format!("--warehouses: {problem}"));
            None
        }
    };
    let json = args.json.as_ref().map(Destination::new);
    if let Some(place) = &json
        && let Err(problem) = place
            .check()
            .map_err(|problem| Problem::from(format!("{} {problem}", place.shown())))
            .and_then(|()| apart(place, Some(spec), None))
    {
        errors.push(format!("--json: {problem}"));
    }
    if errors.is_empty() { Ok((warehouses, json)) } else { Err(errors) }
}

fn database(set: &ForeignFindings) -> Database<'_> {
    Database {
        kit: set.kit.map(|kit| kit.name),
        tables: &set.tables,
        warehouses: set.warehouses,
        size: set.size.name(),
        notes: &set.notes,
        checks: results(&set.findings, CheckedWhen::Check),
    }
}

/// Formats the findings about each set of tables.
fn text(found: &[ForeignFindings], url: &str, quiet: bool, seconds: f64) -> String {
    let mut text = String::new();
    for set in found {
        if !quiet {
            let kit = set
                .kit
                .map_or("by no program that Lydite knows".to_owned(), |kit| format!("as if by {}", kit.name));
            text += &format!("{url}: {}, made {kit}\n", set.size.warehouses_in_words(set.warehouses));
            text += &format!("tables: {}\n", set.tables.join(", "));
            text.extend(set.notes.iter().map(|note| format!("note: {note}\n")));
        }
        text += &lines(&set.findings, quiet);
        if !quiet {
            let (conditions, population) = set.findings.split_at(CONDITION_COUNT.min(set.findings.len()));
            text += &sum(conditions, "consistency conditions");
            if !population.is_empty() {
                text += &sum(population, "rules of the population");
            }
        }
    }
    if !quiet {
        text += &format!("{seconds:.1} s, nothing was written\n");
    }
    text
}

/// Returns the line with the number of findings that hold.
fn sum(findings: &[ConditionFinding], of: &str) -> String {
    let hold = findings.iter().filter(|finding| finding.holds()).count();
    format!("{hold} of {} {of} hold\n", findings.len())
}
