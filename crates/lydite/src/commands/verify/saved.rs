//! `lydite verify --check-history`: judges a history from a file.

use super::judgement::{About, Judgement};
use super::{level, of_functions, of_isolation, place, read, reject};
use crate::cli::VerifyArgs;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::{print, reserve_stdout};
use lydite_plan::destination::Destination;
use lydite_verify::history::{History, Level};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Runs `lydite verify --check-history`.
pub(super) fn command(file: &Path, args: &VerifyArgs) -> Outcome {
    let mut errors = Vec::new();
    let why = "needs a target, and --check-history has none: leave it out";
    reject(&mut errors, &of_functions(args), why);
    reject(&mut errors, &of_isolation(args), why);
    let of_recording = [
        ("--duration", args.duration.is_some()),
        ("--sessions", args.sessions.is_some()),
        ("--limit", args.limit.is_some()),
        ("--seed", args.seed.is_some()),
    ];
    reject(&mut errors, &of_recording, why);
    let asked = read(&mut errors, ("level", args.level.as_deref()), None, level);
    let json = place(&mut errors, "json", args.json.as_deref(), None);
    if json.as_ref().is_some_and(|place| place.is(&Destination::new(file))) {
        errors.push(format!("--json: {} is the history: name another file", file.display()));
    }
    if !errors.is_empty() {
        return Err(Failure::Usage(errors));
    }
    if json.as_ref().is_some_and(Destination::is_stdout) {
        reserve_stdout();
    }
    if file.extension().is_some_and(|end| end == "edn") {
        return Err(Failure::usage(format!(
            "{}: is EDN, and --check-history reads JSON lines: record it with a --history whose name does not end in .edn",
            file.display()
        )));
    }
    let failed = |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", file.display()));
    let opened = File::open(file).map_err(|error| failed(&error))?;
    let history = History::from_json_lines(BufReader::new(opened)).map_err(|error| failed(&error))?;
    let judgement =
        Judgement::new(&history, asked.unwrap_or(Level::Serializable)).map_err(|error| failed(&error))?;
    let mut failures = vec![];
    failures.extend(judgement.failure());
    if !judgement.proves() {
        failures.push(Failure::Target("no transaction depended on another one: nothing was proved".into()));
    }
    if !args.quiet || judgement.is_refuted() {
        failures.extend(print(&judgement.text(None)).err());
    }
    if let Some(place) = &json {
        let about = About { status: "complete", ..About::default() };
        failures.extend(judgement.save(place, &about, None).err());
    }
    Failure::all(failures)
}
