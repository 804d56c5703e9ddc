//! The directory of an experiment: its manifest, and a result for each run. The results alone decide what is done.

use crate::experiment::Experiment;
use crate::variant::{Known, letter};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_decide::Side;
use lydite_report::{ResultError, RunResult};
use lydite_sweep::directory::{self, Kind, OutDirectory, RESULTS, cannot, read_manifest};
use lydite_sweep::{Ending, Noted, Notes, Origin, template_of};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The directories of this command.
const KIND: Kind = Kind { noun: "comparison of lydite ab", manifest: "experiment.json" };
/// The document and the page.
pub(crate) const DOCUMENT: &str = "ab.json";
pub(crate) const PAGE: &str = "report.html";

/// The experiment whose results the directory holds, and the endings of its runs.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    /// Version of Lydite that wrote the manifest last.
    lydite: String,
    /// Digest of the program: an experiment never mixes runs of two builds.
    program: String,
    identity: Identity,
    /// Templates that runs begin with. They are noted before they are made, and until they are deleted.
    #[serde(default)]
    templates: Vec<Noted>,
    /// Endings by the names of the runs.
    #[serde(default)]
    runs: BTreeMap<String, Ending>,
}

/// Everything in which two calls must agree to be the same experiment.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Identity {
    a: Known,
    b: Known,
    metric: String,
    most_pairs: usize,
    most_time_s: Option<f64>,
    order_seed: u64,
    reload: [Origin; 2],
}

impl Identity {
    fn of(experiment: &Experiment) -> Self {
        let looking = &experiment.looking;
        Self {
            a: experiment.side(Side::A).known.clone(),
            b: experiment.side(Side::B).known.clone(),
            metric: looking.metric.name().to_owned(),
            most_pairs: looking.looks.most(),
            most_time_s: looking.most_time.map(|time| time.as_secs_f64()),
            order_seed: looking.order_seed,
            reload: experiment.reload,
        }
    }

    /// Returns the differences of another one.
    fn differences(&self, now: &Self) -> Vec<String> {
        let mut all = Vec::new();
        for (side, known, now) in [("A", &self.a, &now.a), ("B", &self.b, &now.b)] {
            let keys: BTreeSet<&String> = known.plan.keys().chain(now.plan.keys()).collect();
            for key in keys {
                let [before, now] = [known, now].map(|of| of.plan.get(key).map_or("unset", String::as_str));
                if before != now {
                    all.push(format!("{key} of {side} is {before}, now {now}"));
                }
            }
            if known.server != now.server {
                all.push(format!("the server's settings of {side} are other ones"));
            }
            if (&known.before, &known.digest) != (&now.before, &now.digest) {
                all.push(format!(
                    "the command before runs of {side}, or a table of its plan, is another one"
                ));
            }
        }
        let mut changed = |what: &str, before: String, now: String| {
            if before != now {
                all.push(format!("its {what} is {before}, now {now}"));
            }
        };
        let time = |of: &Self| of.most_time_s.map_or_else(|| "none".to_owned(), |time| format!("{time} s"));
        changed("metric", self.metric.clone(), now.metric.clone());
        changed("most pairs", self.most_pairs.to_string(), now.most_pairs.to_string());
        changed("most time", time(self), time(now));
        changed("seed of the order", self.order_seed.to_string(), now.order_seed.to_string());
        let reload = |of: &Self| of.reload.map(Origin::words).join(" and ");
        changed("database", reload(self), reload(now));
        all
    }
}

/// The directory, locked for this process while the value lives.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) files: OutDirectory,
    manifest: Manifest,
}

impl Store {
    /// Creates the directory, or opens it if it holds results of this experiment.
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

    /// Returns the name of the template of a side, if it has one.
    pub(crate) fn template(&self, side: Side) -> Option<String> {
        template_of(&self.manifest.templates, side as usize)
    }

    /// Returns the digest of the program.
    pub(crate) fn program(&self) -> &str {
        &self.manifest.program
    }

    /// Returns the path of a run's result, relative to the directory.
    pub(crate) fn file(side: Side, number: u32) -> String {
        format!("{RESULTS}/{}.json", name(side, number))
    }

    /// Returns the path of a run's result.
    pub(crate) fn result(&self, side: Side, number: u32) -> PathBuf {
        self.files.path().join(Self::file(side, number))
    }

    /// Returns the numbers of the pairs with a result or an ending, in their order.
    ///
    /// # Errors
    /// The directory can't be read.
    pub(crate) fn numbers(&self) -> Result<BTreeSet<u32>, Failure> {
        let mut all = numbers(self.files.path())?;
        all.extend(self.manifest.runs.keys().filter_map(|name| number_of(name)));
        Ok(all)
    }

    /// Reads a run's result; `None` if it has none.
    ///
    /// # Errors
    /// The file is there and is no result.
    pub(crate) fn read(&self, side: Side, number: u32) -> Result<Option<RunResult>, ResultError> {
        let path = self.result(side, number);
        if path.exists() { RunResult::load(path).map(Some) } else { Ok(None) }
    }

    /// Returns the stored ending of a run.
    pub(crate) fn ending(&self, side: Side, number: u32) -> Option<&Ending> {
        self.manifest.runs.get(&name(side, number))
    }

    /// Returns the time of all runs in seconds.
    pub(crate) fn took_s(&self) -> f64 {
        self.manifest.runs.values().map(|ending| ending.took_s).sum()
    }

    /// Stores the ending of a run.
    pub(crate) fn remember(&mut self, side: Side, number: u32, ending: Ending) -> Outcome {
        self.manifest.runs.insert(name(side, number), ending);
        self.save()
    }

    /// Deletes the results and endings of a pair that is made again.
    pub(crate) fn forget(&mut self, number: u32) -> Outcome {
        for side in [Side::A, Side::B] {
            self.manifest.runs.remove(&name(side, number));
            self.files.remove(&Self::file(side, number))?;
        }
        Ok(())
    }

    /// Deletes the files of the experiment that the directory holds, and no others.
    ///
    /// # Errors
    /// A file can't be deleted.
    pub(crate) fn clear(&mut self) -> Outcome {
        self.manifest.runs.clear();
        let results = self.files.path().join(RESULTS);
        let entries = fs::read_dir(&results).map_err(|error| cannot(&results, &error))?;
        let is_run = |name: &str| name.strip_suffix(".json").and_then(number_of).is_some();
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

/// Returns the name of a run: `a.3`.
fn name(side: Side, number: u32) -> String {
    format!("{}.{number}", letter(side).to_ascii_lowercase())
}

/// Returns the numbers of the pairs with a result in a directory.
fn numbers(directory: &Path) -> Result<BTreeSet<u32>, Failure> {
    let results = directory.join(RESULTS);
    let entries = fs::read_dir(&results).map_err(|error| cannot(&results, &error))?;
    let files = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    Ok(files.filter_map(|name| number_of(name.strip_suffix(".json")?)).collect())
}

/// Returns the number in the name of a run; `None` if it is no such name.
fn number_of(name: &str) -> Option<u32> {
    let (side, number) = name.split_once('.')?;
    ["a", "b"].contains(&side).then(|| number.parse().ok())?
}

/// Rejects results of another experiment, unless they are deleted.
fn require_same(
    path: &Path,
    known: Option<Manifest>,
    experiment: &Experiment,
) -> Result<Option<Manifest>, Failure> {
    // Without a run, as after a server refused a setting, it may become any experiment.
    let has_runs =
        |known: &Manifest| !known.runs.is_empty() || !numbers(path).is_ok_and(|all| all.is_empty());
    let Some(known) = known.filter(|known| !experiment.fresh && has_runs(known)) else { return Ok(None) };
    let mut changes = known.identity.differences(&Identity::of(experiment));
    if known.program != directory::program() && !known.runs.is_empty() {
        changes.push("its runs were made by another build of Lydite".into());
    }
    if changes.is_empty() {
        return Ok(Some(known));
    }
    Err(Failure::usage(format!(
        "{}: holds another experiment: {}: name another directory with --out, or delete its results with --fresh",
        path.display(),
        changes.join("; ")
    )))
}
