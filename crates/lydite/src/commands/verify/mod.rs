//! `lydite verify`: function tests on a loaded database, isolation checks on any, and checks of recorded histories.

mod functions;
mod isolation;
mod judgement;
mod saved;

use crate::cli::VerifyArgs;
use lydite_console::exit::{Failure, Outcome};
use lydite_database::secret::shown;
use lydite_families::TargetSpec;
use lydite_plan::Problem;
use lydite_plan::destination::{Destination, apart};
use lydite_plan::values::time;
use lydite_verify::history::Level;
use std::path::Path;
use std::time::Duration;

/// The version of the JSON format.
const FORMAT: u32 = 1;
/// Minimum of `--limit`.
const LIMIT_MIN: Duration = Duration::from_secs(1);
/// Maximum of `--limit`.
const LIMIT_MAX: Duration = Duration::from_secs(3_600);

/// Runs `lydite verify`.
pub(crate) fn command(args: &VerifyArgs) -> Outcome {
    match (&args.target, &args.check_history) {
        (_, Some(file)) => saved::command(file, args),
        (Some(target), None) if args.isolation => isolation::command(target, args),
        (Some(target), None) => functions::command(target, args),
        // The command line requires one of them.
        (None, None) => Err(Failure::usage("name a target, or a history with --check-history")),
    }
}

/// Reads the value of a flag. Without one, or with a wrong one, returns the default.
fn read<T>(
    errors: &mut Vec<String>,
    (flag, given): (&str, Option<&str>),
    default: T,
    read: impl Fn(&str) -> Result<T, Problem>,
) -> T {
    match given.map(read).transpose() {
        Ok(value) => value.unwrap_or(default),
        Err(problem) => {
            errors.push(format!("--{flag}: {problem}"));
            default
        }
    }
}

/// Rejects flags that belong to another kind of verification. Each has its name, and true if it was given.
fn reject(errors: &mut Vec<String>, flags: &[(&str, bool)], why: &str) {
    errors.extend(flags.iter().filter(|(_, given)| *given).map(|(flag, _)| format!("{flag} {why}")));
}

/// The flags of isolation checks alone.
fn of_isolation(args: &VerifyArgs) -> [(&'static str, bool); 5] {
    [
        ("--fault", !args.fault.is_empty()),
        ("--workload", args.workload.is_some()),
        ("--transactions", args.transactions.is_some()),
        ("--history", args.history.is_some()),
        ("--fresh", args.fresh),
    ]
}

/// The flags of the function tests alone.
fn of_functions(args: &VerifyArgs) -> [(&'static str, bool); 5] {
    [
        ("all", args.all.is_some()),
        ("--global-snapshot", args.global_snapshot),
        ("--global-deadlock", args.global_deadlock),
        ("--updates", args.updates.is_some()),
        ("--tx", args.tx.is_some()),
    ]
}

/// Reads a limit in whole seconds.
fn whole_seconds(text: &str) -> Result<Duration, Problem> {
    match time(text)? {
        limit if limit.subsec_nanos() == 0 && (LIMIT_MIN..=LIMIT_MAX).contains(&limit) => Ok(limit),
        _ => Err("must be whole seconds, from 1s to 1h".into()),
    }
}

/// Reads a duration.
fn duration(text: &str) -> Result<Duration, Problem> {
    match time(text)? {
        Duration::ZERO => Err("must be longer than 0".into()),
        duration => Ok(duration),
    }
}

/// Reads a level.
fn level(text: &str) -> Result<Option<Level>, Problem> {
    Level::from_name(text).map(Some).ok_or_else(|| {
        let known: Vec<&str> = Level::ALL.iter().map(|level| level.name()).collect();
        format!("{:?} is not known: use {}", shown(text), known.join(", ")).into()
    })
}

/// Returns the place of a document, checked.
fn place(
    errors: &mut Vec<String>,
    flag: &str,
    given: Option<&Path>,
    spec: Option<&TargetSpec>,
) -> Option<Destination> {
    let place = Destination::new(given?);
    if let Err(problem) = place.check().and_then(|()| apart(&place, spec, None)) {
        errors.push(format!("--{flag}: {} {problem}", place.shown()));
    }
    Some(place)
}
