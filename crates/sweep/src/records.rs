//! The directory of an experiment: a manifest that says what the experiment is and which runs it has, and a result for each run.

use crate::child::Ending;
use crate::directory::{self, Kind, OutDirectory, RESULTS, cannot, read_manifest};
use crate::kept::{Noted, Notes, template_of};
use lydite_console::exit::{Failure, Outcome};
use lydite_report::{ResultError, RunResult};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Two calls are the same experiment if they agree in all of these.
pub trait Identity: Serialize + DeserializeOwned {
    /// Returns the differences of another one, a clause each.
    fn differences(&self, now: &Self) -> Vec<String>;
}

/// Kinds of experiments with their files.
#[derive(Debug)]
pub struct Files {
    /// Kind of the directory.
    pub kind: Kind,
    /// One word for the experiment, as `search`.
    pub word: &'static str,
    /// File names of the document and of the page.
    pub documents: [&'static str; 2],
    /// True for the name of a run, which its result has before `.json`.
    pub is_run: fn(&str) -> bool,
}

/// The manifest. `R` is the note of a run.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest<I, R> {
    /// Version of Lydite that wrote the manifest last.
    lydite: String,
    /// Digest of the program: an experiment never mixes runs of two builds.
    program: String,
    identity: I,
    /// Templates that runs begin with. They are noted before they are made, and until they are deleted.
    #[serde(default)]
    templates: Vec<Noted>,
    /// Notes of the runs by their names.
    #[serde(default = "BTreeMap::new")]
    runs: BTreeMap<String, R>,
}

/// The directory of an experiment, locked for this process while the value lives.
#[derive(Debug)]
pub struct Records<I, R> {
    /// The files.
    pub files: OutDirectory,
    kinds: &'static Files,
    manifest: Manifest<I, R>,
}

impl<I: Identity, R: AsRef<Ending> + Clone + Serialize + DeserializeOwned> Records<I, R> {
    /// Creates the directory, or opens it if it holds results of this experiment, or if these are to be deleted (`fresh`).
    /// `check` rejects templates that the experiment could not give back.
    ///
    /// # Errors
    /// It holds something else, another process works there, or it can't be written.
    pub fn open(
        path: &Path,
        kinds: &'static Files,
        identity: I,
        fresh: bool,
        check: impl FnOnce(&[Noted]) -> Outcome,
    ) -> Result<Self, Failure> {
        let read = || read_manifest::<Manifest<I, R>>(path, &kinds.kind);
        // One that can't be used is rejected before anything is written.
        require_same(path, kinds, read()?, &identity, fresh)?;
        let files = OutDirectory::open(path, &kinds.kind)?;
        // Read again: another process may have written while this one waited for the lock.
        let known = read()?;
        let templates = known.as_ref().map(|known| known.templates.clone()).unwrap_or_default();
        check(&templates)?;
        let is_known = known.is_some() && !fresh;
        let known = require_same(path, kinds, known, &identity, fresh)?;
        let is_replaced = is_known && known.is_none();
        let manifest = Manifest {
            lydite: env!("CARGO_PKG_VERSION").into(),
            program: directory::program(),
            identity,
            templates,
            runs: known.map(|known| known.runs).unwrap_or_default(),
        };
        let mut records = Self { files, kinds, manifest };
        if is_replaced {
            // What a run of the other experiment left when it was broken off is no part of this one.
            records.clear()?;
        } else {
            records.save()?;
        }
        Ok(records)
    }

    /// Returns the template of a subject by its place, if it has one.
    #[must_use]
    pub fn template(&self, of: usize) -> Option<String> {
        template_of(&self.manifest.templates, of)
    }

    /// Returns the digest of the program.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.manifest.program
    }

    /// Returns the path of a run's result, relative to the directory.
    #[must_use]
    pub fn file(name: &str) -> String {
        format!("{RESULTS}/{name}.json")
    }

    /// Returns the path of a run's result.
    #[must_use]
    pub fn result(&self, name: &str) -> PathBuf {
        self.files.path().join(Self::file(name))
    }

    /// Returns the notes of the runs by their names.
    #[must_use]
    pub fn runs(&self) -> &BTreeMap<String, R> {
        &self.manifest.runs
    }

    /// Returns the names of the runs with a result, noted or not.
    ///
    /// # Errors
    /// The directory can't be read.
    pub fn results(&self) -> Result<Vec<String>, Failure> {
        results(self.files.path(), self.kinds)
    }

    /// Reads a run's result; `None` if it has none.
    ///
    /// # Errors
    /// The file is there and is no result.
    pub fn read(&self, name: &str) -> Result<Option<RunResult>, ResultError> {
        let path = self.result(name);
        if path.exists() { RunResult::load(path).map(Some) } else { Ok(None) }
    }

    /// Returns the time of all runs in seconds.
    #[must_use]
    pub fn took_s(&self) -> f64 {
        self.manifest.runs.values().map(|run| run.as_ref().took_s).sum()
    }

    /// Notes a run.
    ///
    /// # Errors
    /// The manifest can't be written.
    pub fn remember(&mut self, name: String, run: R) -> Outcome {
        self.manifest.runs.insert(name, run);
        self.save()
    }

    /// Deletes a run's note and its result.
    ///
    /// # Errors
    /// They can't be deleted.
    pub fn forget(&mut self, name: &str) -> Outcome {
        self.manifest.runs.remove(name);
        self.files.remove(&Self::file(name))?;
        self.save()
    }

    /// Deletes the files of the experiment that the directory holds, and no others.
    ///
    /// # Errors
    /// A file can't be deleted.
    pub fn clear(&mut self) -> Outcome {
        self.manifest.runs.clear();
        for name in self.results()? {
            self.files.remove(&Self::file(&name))?;
        }
        self.kinds.documents.iter().try_for_each(|name| self.files.remove(name))?;
        self.save()
    }

    fn save(&self) -> Outcome {
        self.files.write_json(self.kinds.kind.manifest, &self.manifest)
    }
}

impl<I: Identity, R: AsRef<Ending> + Clone + Serialize + DeserializeOwned> Notes for Records<I, R> {
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

/// Returns the names of the runs with a result in a directory.
fn results(directory: &Path, kinds: &Files) -> Result<Vec<String>, Failure> {
    let results = directory.join(RESULTS);
    let entries = fs::read_dir(&results).map_err(|error| cannot(&results, &error))?;
    let files = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let names = files.filter_map(|name| name.strip_suffix(".json").map(str::to_owned));
    Ok(names.filter(|name| (kinds.is_run)(name)).collect())
}

/// Rejects results of another experiment, unless they are deleted. `None` if nothing that the directory holds is kept.
fn require_same<I: Identity, R: AsRef<Ending>>(
    path: &Path,
    kinds: &Files,
    known: Option<Manifest<I, R>>,
    identity: &I,
    fresh: bool,
) -> Result<Option<Manifest<I, R>>, Failure> {
    let Some(known) = known.filter(|_| !fresh) else { return Ok(None) };
    let mut changes = known.identity.differences(identity);
    if known.program != directory::program() && !known.runs.is_empty() {
        changes.push("its runs were made by another build of Lydite".into());
    }
    if changes.is_empty() {
        return Ok(Some(known));
    }
    // Without a run that ended by itself, as after a server refused a setting or the user interrupted the first run, it
    // may become any experiment.
    let ended = known.runs.values().any(|run| !run.as_ref().is_broken_off());
    let is_noted = |name: &String| known.runs.contains_key(name);
    if !ended && results(path, kinds).is_ok_and(|all| all.iter().all(is_noted)) {
        return Ok(None);
    }
    Err(Failure::usage(format!(
        "{}: holds another {}: {}: name another directory with --out, or delete its results with --fresh",
        path.display(),
        kinds.word,
        changes.join("; ")
    )))
}
