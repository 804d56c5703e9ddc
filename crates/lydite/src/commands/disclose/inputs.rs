//! The inputs of a disclosure: read and compared before anything is written.

use super::super::price_file::{self, PriceFile};
use crate::cli::DiscloseArgs;
use lydite_plan::Problem;
use lydite_plan::destination::Destination;
use lydite_plan::values::whole;
use lydite_report::RunResult;
use lydite_report::compare::differing_settings;
use lydite_report::disclosure::AuditDocument;
use lydite_report::document_kind::DocumentKind;
use lydite_report::model::Status;
use lydite_report::sweep::{Environment, Sweep};
use lydite_tpcc::sizing::Bytes;
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Most copies of the data. A larger number is a mistake.
const MAX_COPIES: u32 = 100;

/// The inputs of a disclosure.
pub(super) struct Inputs {
    /// The results, the disclosed one first.
    pub(super) results: Vec<RunResult>,
    pub(super) sweeps: Vec<Sweep>,
    pub(super) audit: Option<AuditDocument>,
    pub(super) prices: Option<PriceFile>,
    pub(super) bytes_per_warehouse: Option<Bytes>,
    pub(super) copies: u32,
    pub(super) disk: Option<Bytes>,
    pub(super) json: Option<Destination>,
}

/// A document among the results.
enum Named {
    Result(Box<RunResult>),
    Sweep(Box<Sweep>),
}

/// Reads all inputs.
///
/// # Errors
/// Everything that is wrong, one line each.
pub(super) fn read(args: &DiscloseArgs) -> Result<Inputs, Vec<String>> {
    let mut errors = Vec::new();
    let mut results: Vec<(&Path, RunResult)> = Vec::new();
    let mut sweeps: Vec<(&Path, Sweep)> = Vec::new();
    for path in &args.results {
        match named(path) {
            Ok(Named::Result(result)) => results.push((path, *result)),
            Ok(Named::Sweep(sweep)) => sweeps.push((path, *sweep)),
            Err(problem) => errors.push(problem),
        }
    }
    if results.is_empty() && errors.is_empty() {
        errors.push("no result of a run is named: name one beside the sweeps".to_owned());
    }
    for (path, result) in &results {
        errors.extend(unfit(path, result));
    }
    if let Some(((first, disclosed), others)) = results.split_first() {
        errors.extend(others.iter().filter_map(|(path, other)| differs(disclosed, other, first, path)));
        errors.extend(repeated(&results));
        errors.extend(sweeps.iter().filter_map(|(path, sweep)| is_elsewhere(disclosed, sweep, first, path)));
    }
    let audit = given(args.audit.as_deref().map(|path| audit(path, results.first())), &mut errors);
    let prices = match args.prices.as_deref().map(price_file::read).transpose() {
        Ok(prices) => prices,
        Err(problems) => {
            errors.extend(problems);
            None
        }
    };
    let size = |flag: &str, text: &Option<String>| {
        text.as_deref().map(|text| text.parse::<Bytes>().map_err(|problem| format!("--{flag}: {problem}")))
    };
    let bytes_per_warehouse = given(size("bytes-per-warehouse", &args.bytes_per_warehouse), &mut errors);
    let disk = given(size("disk", &args.disk), &mut errors);
    let copies = args
        .copies
        .as_deref()
        .map(|text| whole(text, 1, MAX_COPIES).map_err(|problem| format!("--copies: {problem}")));
    let copies = given(copies, &mut errors).unwrap_or(1);
    errors.extend(taken(&args.output));
    let json = args.json.as_ref().map(Destination::new);
    if let Some(place) = &json {
        let inputs: Vec<PathBuf> =
            args.results.iter().chain(&args.audit).chain(&args.prices).cloned().collect();
        let shown = |problem| Problem::from(format!("{} {problem}", place.shown()));
        let checked = place.check().map_err(shown);
        errors.extend(
            checked
                .and_then(|()| place.apart_from(&inputs))
                .err()
                .map(|problem| format!("--json: {problem}")),
        );
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let results = results.into_iter().map(|(_, result)| result).collect();
    let sweeps = sweeps.into_iter().map(|(_, sweep)| sweep).collect();
    Ok(Inputs { results, sweeps, audit, prices, bytes_per_warehouse, copies, disk, json })
}

/// Takes the value out of a flag that may be missing or wrong.
fn given<T>(read: Option<Result<T, String>>, errors: &mut Vec<String>) -> Option<T> {
    read.and_then(|read| read.map_err(|problem| errors.push(problem)).ok())
}

/// Reads a result or a sweep.
fn named(path: &Path) -> Result<Named, String> {
    let result = match fs::read_to_string(path) {
        Ok(text) => {
            let json = serde_json::from_str::<Value>(&text).ok();
            match json.as_ref().and_then(DocumentKind::of) {
                Some(DocumentKind::Sweep) => {
                    return Sweep::from_json(&text, path).map(|sweep| Named::Sweep(Box::new(sweep)));
                }
                Some(DocumentKind::Audit) => {
                    return Err(format!("{} is an audit: name it with --audit", path.display()));
                }
                _ => RunResult::from_json(&text, path),
            }
        }
        // It says why, as for every other command.
        Err(_) => RunResult::load(path),
    };
    result.map(|result| Named::Result(Box::new(result))).map_err(|error| error.to_string())
}

/// Returns the reason why a result can't be disclosed.
fn unfit(path: &Path, result: &RunResult) -> Option<String> {
    let place = path.display();
    if !result.is_tpcc() {
        let workload = result.workload();
        return Some(format!(
            "{place} is a result of the workload {workload}: only those of tpcc can be disclosed"
        ));
    }
    if result.status != Status::Complete {
        return Some(format!(
            "{place} is the partial result of a run that did not reach its end: run it again"
        ));
    }
    (result.nopm <= 0.0 || result.warehouses().is_none())
        .then(|| format!("{place} has no new orders: use the result of a run that completed some"))
}

/// Returns the difference of a result from the disclosed one that makes it no repetition.
fn differs(one: &RunResult, other: &RunResult, first: &Path, path: &Path) -> Option<String> {
    let (first, place) = (first.display(), path.display());
    let (target, of) = (&one.target, &other.target);
    if (&target.kind, &target.version, &target.url) != (&of.kind, &of.version, &of.url) {
        return Some(format!(
            "{place} is of another database ({} {} at {}) than {first} ({} {} at {}): disclose it alone",
            of.kind, of.version, of.url, target.kind, target.version, target.url
        ));
    }
    if one.plan != other.plan {
        return Some(format!(
            "{place} has another plan than {first}: disclose it alone, or run the same plan again"
        ));
    }
    let settings = differing_settings(one, other);
    (!settings.is_empty()).then(|| {
        format!(
            "{place} is of a database with other settings than {first} ({}): disclose it alone, or run the same plan \
             again",
            settings.join(", ")
        )
    })
}

/// Returns the reasons why results are no repetitions: two of them are of one run.
fn repeated(results: &[(&Path, RunResult)]) -> Vec<String> {
    let mut problems = Vec::new();
    for (at, (path, other)) in results.iter().enumerate() {
        let start = &other.window.start;
        let same = |one: &RunResult| one.window.start == *start && one.host == other.host;
        if let Some((first, _)) = results[..at].iter().find(|(_, one)| !start.is_empty() && same(one)) {
            problems.push(format!(
                "{} and {} are the same run, which began at {start}: name a second one",
                first.display(),
                path.display()
            ));
        }
    }
    problems
}

/// Returns the difference of a sweep's databases from the disclosed one. A sweep keeps their kinds and versions.
fn is_elsewhere(one: &RunResult, sweep: &Sweep, first: &Path, path: &Path) -> Option<String> {
    let ours = Environment::target(one);
    let other = sweep.environment.targets.iter().find(|target| **target != ours)?;
    let (first, place) = (first.display(), path.display());
    Some(format!("{place} is of another database ({other}) than {first} ({ours}): leave it out"))
}

/// Reads the audit of the same database.
fn audit(path: &Path, disclosed: Option<&(&Path, RunResult)>) -> Result<AuditDocument, String> {
    let place = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("--audit: cannot read {place}: {error}"))?;
    let document = AuditDocument::from_json(&text, path).map_err(|problem| format!("--audit: {problem}"))?;
    let Some((first, result)) = disclosed else { return Ok(document) };
    let (audited, target) = (&document.audit.target, &result.target);
    let isolation = result.plan.isolation.as_ref().is_none_or(|isolation| *isolation == audited.isolation);
    if (&audited.kind, &audited.version, &audited.url) != (&target.kind, &target.version, &target.url)
        || !isolation
    {
        return Err(format!(
            "--audit: {place} is of another database ({} {} at {}, isolation {}) than {} ({} {} at {}, isolation {}): audit \
             that one",
            audited.kind,
            audited.version,
            audited.url,
            audited.isolation,
            first.display(),
            target.kind,
            target.version,
            target.url,
            result.plan.isolation.as_deref().unwrap_or("unknown")
        ));
    }
    let settings = document.differing_settings(result);
    if !settings.is_empty() {
        return Err(format!(
            "--audit: {place} is of a database with other settings than {} ({}): audit it with the same",
            first.display(),
            settings.join(", ")
        ));
    }
    Ok(document)
}

/// Returns the reason why a directory can't take the documents: nothing is ever overwritten.
fn taken(directory: &Path) -> Option<String> {
    let place = directory.display();
    let problem = match fs::read_dir(directory) {
        Ok(mut entries) => entries.next().map(|_| "is not empty".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => Some(format!("can't be used: {error}")),
    };
    problem.map(|problem| format!("--output: {place} {problem}: name a new directory"))
}
