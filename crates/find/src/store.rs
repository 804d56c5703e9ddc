//! The directory of a search: its manifest, and a result for each run. Both decide what is done.

use crate::experiment::Experiment;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_report::{ResultError, RunResult};
use lydite_sweep::directory::{self, Kind, OutDirectory, RESULTS, cannot, read_manifest};
use lydite_sweep::{Ending, Noted, Notes, Origin, template_of};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// The directories of this command.
const KIND: Kind = Kind { noun: "search of lydite find", manifest: "search.json" };
/// The document and the page.
pub(crate) const DOCUMENT: &str = "find.json";
pub(crate) const PAGE: &str = "report.html";

/// The search whose results the directory holds, and its runs.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    /// Version of Lydite that wrote the manifest last.
    lydite: String,
    /// Digest of the program: a search never mixes runs of two builds.
    program: String,
    identity: Identity,
    /// Templates that runs begin with. They are noted before they are made, and until they are deleted.
    #[serde(default)]
    templates: Vec<Noted>,
    /// The runs by their numbers.
    #[serde(default)]
    runs: BTreeMap<u32, Run>,
}

/// A run with its level.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) level: f64,
    pub(crate) ending: Ending,
}

/// Everything in which two calls must agree to be the same search. The range is none of it: what a level showed holds in
/// any range.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Identity {
    plan: BTreeMap<String, String>,
    tables: String,
    reload: Origin,
}

impl Identity {
    fn of(experiment: &Experiment) -> Self {
        Self {
            plan: shown(experiment),
            tables: format!("{:016x}", xxh3_64(experiment.subject.tables.as_bytes())),
            reload: experiment.origin,
        }
    }

    /// Returns the differences of another one.
    fn differences(&self, now: &Self) -> Vec<String> {
        let mut all = Vec::new();
        let keys: BTreeSet<&String> = self.plan.keys().chain(now.plan.keys()).collect();
        for key in keys {
            let [before, now] = [self, now].map(|of| of.plan.get(key).map_or("unset", String::as_str));
            if before != now {
                let key = if key == "require" { "slo" } else { key };
                all.push(format!("{key} is {before}, now {now}"));
            }
        }
        if self.tables != now.tables {
            all.push("a table of its plan is another one".to_owned());
        }
        if self.reload != now.reload {
            all.push(format!("its database is {}, now {}", self.reload.words(), now.reload.words()));
        }
        all
    }
}

/// Returns the keys of the plan without passwords and without the level.
pub(crate) fn shown(experiment: &Experiment) -> BTreeMap<String, String> {
    let mut plan = experiment.subject.shown.clone();
    plan.remove(experiment.quantity.key);
    plan
}

/// The directory, locked for this process while the value lives.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) files: OutDirectory,
    manifest: Manifest,
}

impl Store {
    /// Creates the directory, or opens it if it holds results of this search.
    ///
    /// # Errors
    /// It holds something else, another process works there, or it can't be written.
    pub(crate) fn open(experiment: &Experiment, interrupt: &Interrupt) -> Result<Self, Failure> {
        let path = &experiment.out;
        let read = || read_manifest::<Manifest>(path, &KIND);
        // One that can't be used is rejected before anything is written.
        require_same(path, read()?, experiment)?;
        let files = OutDirectory::open(path, &KIND)?;
        // Read again: another process may have written while this one waited for the lock.
        let known = read()?;
        let templates = known.as_ref().map(|known| known.templates.clone()).unwrap_or_default();
        experiment.kept(interrupt).check(&templates)?;
        let runs = require_same(path, known, experiment)?.map(|known| known.runs).unwrap_or_default();
        let manifest = Manifest {
            lydite: env!("CARGO_PKG_VERSION").into(),
            program: directory::program(),
            identity: Identity::of(experiment),
            templates,
            runs,
        };
        let store = Self { files, manifest };
        store.save()?;
        Ok(store)
    }

    /// Returns the name of the template, if runs have one.
    pub(crate) fn template(&self) -> Option<String> {
        template_of(&self.manifest.templates, 0)
    }

    /// Returns the digest of the program.
    pub(crate) fn program(&self) -> &str {
        &self.manifest.program
    }

    /// Returns the path of a run's result, relative to the directory.
    pub(crate) fn file(number: u32) -> String {
        format!("{RESULTS}/{number}.json")
    }

    /// Returns the path of a run's result.
    pub(crate) fn result(&self, number: u32) -> PathBuf {
        self.files.path().join(Self::file(number))
    }

    /// Returns the runs with their numbers.
    pub(crate) fn runs(&self) -> &BTreeMap<u32, Run> {
        &self.manifest.runs
    }

    /// Reads a run's result; `None` if it has none.
    ///
    /// # Errors
    /// The file is there and is no result.
    pub(crate) fn read(&self, number: u32) -> Result<Option<RunResult>, ResultError> {
        let path = self.result(number);
        if path.exists() { RunResult::load(path).map(Some) } else { Ok(None) }
    }

    /// Returns the time of all runs in seconds.
    pub(crate) fn took_s(&self) -> f64 {
        self.manifest.runs.values().map(|run| run.ending.took_s).sum()
    }

    /// Stores a run that has ended.
    pub(crate) fn remember(&mut self, number: u32, run: Run) -> Outcome {
        self.manifest.runs.insert(number, run);
        self.save()
    }

    /// Deletes a run that does not count, with its result.
    pub(crate) fn forget(&mut self, number: u32) -> Outcome {
        self.manifest.runs.remove(&number);
        self.files.remove(&Self::file(number))?;
        self.save()
    }

    /// Deletes the files of the search that the directory holds, and no others.
    ///
    /// # Errors
    /// A file can't be deleted.
    pub(crate) fn clear(&mut self) -> Outcome {
        self.manifest.runs.clear();
        let results = self.files.path().join(RESULTS);
        let entries = fs::read_dir(&results).map_err(|error| cannot(&results, &error))?;
        for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
            if is_run(&name) {
                self.files.remove(&format!("{RESULTS}/{name}"))?;
            }
        }
        [DOCUMENT, PAGE].iter().try_for_each(|name| self.files.remove(name))?;
        self.save()
    }

    fn save(&self) -> Outcome {
        self.files.write_json(KIND.manifest, &self.manifest)
    }
}

impl Notes for Store {
    fn templates(&self) -> &[Noted] {
        &self.manifest.templates
    }

    fn note_templates(&mut self, templates: Vec<Noted>) -> Outcome {
        if self.manifest.templates != templates {
            self.manifest.templates = templates;
            self.save()?;
        }
        Ok(())
    }
}

/// True for the name of a run's result.
fn is_run(name: &str) -> bool {
    name.strip_suffix(".json").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Rejects results of another search, unless they are deleted.
fn require_same(
    path: &Path,
    known: Option<Manifest>,
    experiment: &Experiment,
) -> Result<Option<Manifest>, Failure> {
    // Without a run it may become any search.
    let has_runs = |known: &Manifest| !known.runs.is_empty();
    let Some(known) = known.filter(|known| !experiment.fresh && has_runs(known)) else { return Ok(None) };
    let mut changes = known.identity.differences(&Identity::of(experiment));
    if known.program != directory::program() {
        changes.push("its runs were made by another build of Lydite".into());
    }
    if changes.is_empty() {
        return Ok(Some(known));
    }
    Err(Failure::usage(format!(
        "{}: holds another search: {}: name another directory with --out, or delete its results with --fresh",
        path.display(),
        changes.join("; ")
    )))
}
