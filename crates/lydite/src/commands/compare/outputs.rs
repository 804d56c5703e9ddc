//! The documents that `lydite compare` writes, and their places.

use crate::cli::CompareArgs;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::write::write;
use lydite_plan::Problem;
use lydite_plan::destination::Destination;
use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The variable that names the file of a GitHub step's summary.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The place of a document.
pub(super) struct Place {
    /// The flag without its dashes.
    name: &'static str,
    to: Destination,
}

impl Place {
    /// Writes the document, and returns a line that says where it is.
    pub(super) fn write(&self, document: &dyn Fn() -> Result<String, Failure>) -> Result<String, Failure> {
        write(&self.to, document()?.as_bytes(), None)?;
        Ok(format!("{}: {}\n", self.name, self.to.shown()))
    }
}

/// The places of all documents.
pub(super) struct Places {
    pub(super) json: Option<Place>,
    pub(super) junit: Option<Place>,
    pub(super) badge: Option<Place>,
    pub(super) summary: Option<Place>,
    /// The summary of the GitHub step, which other commands of the step append to as well.
    step_summary: Option<PathBuf>,
}

impl Places {
    /// Reads the places and checks them: each can be written, is none of the results, and is no other place.
    pub(super) fn new(args: &CompareArgs, results: &[PathBuf], errors: &mut Vec<String>) -> Self {
        let place = |name: &'static str, path: &Option<PathBuf>| {
            path.as_ref().map(|path| Place { name, to: Destination::new(path) })
        };
        let step_summary = env::var_os(STEP_SUMMARY).filter(|path| args.github && !path.is_empty());
        let places = Self {
            json: place("json", &args.json),
            junit: place("junit", &args.junit),
            badge: place("badge", &args.badge),
            summary: place("summary", &args.summary),
            step_summary: step_summary.map(PathBuf::from),
        };
        let all: Vec<&Place> = places.all().collect();
        for (at, place) in all.iter().enumerate() {
            let checked = place.to.check().map_err(|problem| format!("{} {problem}", place.to.shown()));
            let apart = checked
                .map_err(Problem::from)
                .and_then(|()| place.to.apart_from(results))
                .and_then(|()| apart(place, all.get(..at).unwrap_or_default()));
            if let Err(problem) = apart {
                errors.push(format!("--{}: {problem}", place.name));
            }
        }
        if let Some(path) = &places.step_summary
            && let Err(problem) = Destination::Path(path.clone()).check()
        {
            errors.push(format!("--github: {STEP_SUMMARY} names {}, which {problem}", path.display()));
        }
        places
    }

    fn all(&self) -> impl Iterator<Item = &Place> {
        [&self.json, &self.junit, &self.badge, &self.summary].into_iter().flatten()
    }

    /// Returns true if a document goes to the standard output.
    pub(super) fn uses_stdout(&self) -> bool {
        self.all().any(|place| place.to.is_stdout())
    }

    /// Appends to the summary of the GitHub step, if there is one.
    pub(super) fn append_step_summary(&self, document: &dyn Fn() -> String) -> Outcome {
        let Some(path) = &self.step_summary else { return Ok(()) };
        append(path, &document())
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))
    }
}

/// Rejects the place of another document.
fn apart(place: &Place, others: &[&Place]) -> Result<(), Problem> {
    match others.iter().find(|other| other.to.is(&place.to)) {
        Some(other) => {
            Err(format!("{} is where --{} goes: name another file", place.to.shown(), other.name).into())
        }
        None => Ok(()),
    }
}

fn append(path: &Path, text: &str) -> std::io::Result<()> {
    OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes())
}
