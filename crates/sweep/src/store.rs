//! The directory of a sweep: its manifest, its lock, a result for each run, and the renderings.
//!
//! The results are the source of truth: a run is done when its result exists and is complete. The manifest identifies
//! the experiment. It also records what a result can't contain: how long a run took, and why a run has no result.

use crate::around::LOGS;
use crate::child::Ending;
use crate::directory::{self, Kind, OutDirectory, RESULTS, cannot};
use crate::experiment::Experiment;
use crate::point::Point;
use lydite_console::exit::{Failure, Outcome};
use lydite_lab::Trial;
use lydite_report::RunResult;
use lydite_report::sweep::{Run, State};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The directories of sweeps.
const KIND: Kind = Kind { noun: "sweep", manifest: "manifest.json" };
const RENDERINGS: [&str; 3] = ["summary.json", "summary.csv", "report.html"];
/// Begin of the name of a figure's picture.
const PICTURE: &str = "figure-";
/// Maximum length of a label in a file name, in characters.
const NAME_LETTERS: usize = 60;

/// The experiment whose results the directory holds, and its runs.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Version of Lydite that wrote the manifest last.
    pub(crate) lydite: String,
    /// Digest of the program: a sweep never mixes runs of two builds.
    #[serde(default)]
    pub(crate) program: String,
    /// File name of the experiment.
    pub(crate) experiment: String,
    pub(crate) title: String,
    /// Digest of all points and of how they are run.
    pub(crate) digest: String,
    pub(crate) repetitions: u32,
    pub(crate) reload: String,
    pub(crate) pause_s: f64,
    /// Points by the digests of their plans.
    pub(crate) points: BTreeMap<String, KnownPoint>,
    /// Endings by the names of the runs.
    #[serde(default)]
    pub(crate) runs: BTreeMap<String, Ending>,
    /// Kinds of labs whose servers may have settings of a point. Whoever works in the directory next takes them back.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) changed_labs: BTreeSet<String>,
}

/// A point whose results the directory holds or will hold.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KnownPoint {
    pub(crate) label: String,
    /// Name of its files. It does not change with the label.
    pub(crate) name: String,
    /// Keys of its plan, without passwords.
    pub(crate) plan: BTreeMap<String, String>,
}

/// The directory, locked for this process while the value lives.
pub(crate) struct Directory {
    pub(crate) files: OutDirectory,
    pub(crate) manifest: Manifest,
}

impl Directory {
    /// Creates the directory, or opens it if it holds results of this experiment. `fresh` deletes these results first.
    pub(crate) fn open(path: &Path, experiment: &Experiment, fresh: bool) -> Result<Self, Failure> {
        // One that can't be read is rejected before anything is written.
        read_manifest(path)?;
        let files = OutDirectory::open(path, &KIND)?;
        // Read again: another sweep may have written while this one waited for the lock.
        let mut known = read_manifest(path)?;
        let changed_labs = known.as_mut().map(|known| std::mem::take(&mut known.changed_labs));
        if fresh && let Some(known) = known.take() {
            clear(path, &known)?;
        }
        if let Some(known) = &known {
            require_same_experiment(path, known, experiment)?;
        }
        let mut manifest = manifest(experiment, known);
        manifest.changed_labs = changed_labs.unwrap_or_default();
        let directory = Self { files, manifest };
        directory.save_manifest()?;
        Ok(directory)
    }

    /// Returns the path of a run's result.
    pub(crate) fn result(&self, point: &Point, repetition: u32) -> PathBuf {
        self.files.path().join(self.manifest.file(point, repetition))
    }

    /// Deletes the result and the ending of a run that is made again.
    pub(crate) fn forget(&mut self, point: &Point, repetition: u32) -> Result<(), Failure> {
        let name = self.manifest.run(point, repetition);
        self.manifest.runs.remove(&name);
        self.files.remove(&self.manifest.file(point, repetition))
    }

    /// Stores the ending of a run.
    pub(crate) fn remember(&mut self, point: &Point, repetition: u32, ending: Ending) -> Result<(), Failure> {
        let name = self.manifest.run(point, repetition);
        self.manifest.runs.insert(name, ending);
        self.save_manifest()
    }

    /// Returns the stored ending of a run.
    pub(crate) fn ending(&self, point: &Point, repetition: u32) -> Option<&Ending> {
        self.manifest.runs.get(&self.manifest.run(point, repetition))
    }

    /// Notes that the servers of a kind of lab get settings of a point, before they do.
    pub(crate) fn note_changed(&mut self, lab: &str) -> Result<(), Failure> {
        if !self.manifest.changed_labs.insert(lab.to_owned()) {
            return Ok(());
        }
        self.save_manifest()
    }

    /// Gives the servers of all labs that are noted their usual settings, also those that a killed sweep changed.
    pub(crate) fn take_back(&mut self) -> Outcome {
        if self.manifest.changed_labs.is_empty() {
            return Ok(());
        }
        let back = |name: &String| Trial::named(name)?.end_of_others();
        Failure::all(self.manifest.changed_labs.iter().map(back).filter_map(Result::err).collect())?;
        self.manifest.changed_labs.clear();
        self.save_manifest()
    }

    fn save_manifest(&self) -> Result<(), Failure> {
        self.files.write_json(KIND.manifest, &self.manifest)
    }
}

impl Manifest {
    /// Returns the name of a run.
    fn run(&self, point: &Point, repetition: u32) -> String {
        let known = self.points.get(&point.digest);
        let name = known.map_or_else(|| file_name(&point.label, &point.digest), |known| known.name.clone());
        format!("{name}.{repetition}")
    }

    /// Returns true if a run of a point was made, in the directory at `path`.
    fn has_runs(&self, path: &Path, point: &KnownPoint) -> bool {
        (1..=self.repetitions).any(|repetition| {
            let name = format!("{}.{repetition}", point.name);
            // The result of a run that was killed has no ending.
            self.runs.contains_key(&name) || path.join(RESULTS).join(format!("{name}.json")).exists()
        })
    }

    /// Returns the path of its result, relative to the directory.
    fn file(&self, point: &Point, repetition: u32) -> String {
        format!("{RESULTS}/{}.json", self.run(point, repetition))
    }
}

/// Reads the state of a run from the directory, with its result if there is one.
pub(crate) fn read_run(
    directory: &Path,
    manifest: &Manifest,
    experiment: &Experiment,
    point: &Point,
    repetition: u32,
) -> (Run, Option<RunResult>) {
    let file = manifest.file(point, repetition);
    let path = directory.join(&file);
    let ending = manifest.runs.get(&manifest.run(point, repetition));
    let said = ending.map_or("", |ending| ending.said.as_str());
    match RunResult::load(&path) {
        Ok(result) => {
            let mut run = Run::of(repetition, &file, &result, &experiment.metrics)
                .with_seconds(&result, &experiment.by_second);
            if run.state != State::Complete || run.checks_failed > 0 {
                run.note = said.to_owned();
            }
            (run, Some(result))
        }
        Err(error) if path.exists() => {
            (Run::without_result(repetition, &file, State::Failed, &error.to_string()), None)
        }
        Err(_) if ending.is_some() => (Run::without_result(repetition, &file, State::Failed, said), None),
        Err(_) => (Run::without_result(repetition, &file, State::Missing, ""), None),
    }
}

/// Reads the manifest of a directory. Returns `None` if there is no manifest.
pub(crate) fn read_manifest(directory: &Path) -> Result<Option<Manifest>, Failure> {
    directory::read_manifest(directory, &KIND)
}

/// Rejects a directory with results of another experiment. More points or repetitions, other titles and figures, and
/// changes of points without a run are allowed.
pub(crate) fn require_same_experiment(
    path: &Path,
    known: &Manifest,
    experiment: &Experiment,
) -> Result<(), Failure> {
    let now: BTreeSet<&str> = experiment.points.iter().map(|point| point.digest.as_str()).collect();
    let gone: Vec<&KnownPoint> = known
        .points
        .iter()
        .filter(|(digest, point)| !now.contains(digest.as_str()) && known.has_runs(path, point))
        .map(|(_, point)| point)
        .collect();
    let new = manifest(experiment, None);
    let mut changes = Vec::new();
    if let Some(first) = gone.first() {
        let others = match gone.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        changes.push(format!(
            "it has results of point {:?}{others}, whose plan the experiment does not have",
            first.label
        ));
    }
    if known.reload != new.reload {
        changes.push(format!("its reload is {:?}, now {:?}", known.reload, new.reload));
    }
    if (known.pause_s - new.pause_s).abs() > f64::EPSILON {
        changes.push(format!("its pause is {} s, now {} s", known.pause_s, new.pause_s));
    }
    if known.repetitions > new.repetitions {
        changes.push(format!("it has {} repetitions, now {}", known.repetitions, new.repetitions));
    }
    if known.program != new.program && !known.runs.is_empty() {
        changes.push("its runs were made by another build of Lydite".into());
    }
    if changes.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{}: holds another sweep than {}: {}: name another directory with --out, or delete its results with --fresh",
        path.display(),
        experiment.file,
        changes.join("; ")
    )))
}

/// Returns the manifest of an experiment, with the file names and endings of the known manifest.
fn manifest(experiment: &Experiment, known: Option<Manifest>) -> Manifest {
    let (known, runs) = known.map(|known| (known.points, known.runs)).unwrap_or_default();
    let points = experiment.points.iter().map(|point| {
        let name = known.get(&point.digest).map(|known| known.name.clone());
        let known = KnownPoint {
            label: point.label.clone(),
            name: name.unwrap_or_else(|| file_name(&point.label, &point.digest)),
            plan: point.shown.clone(),
        };
        (point.digest.clone(), known)
    });
    Manifest {
        lydite: env!("CARGO_PKG_VERSION").into(),
        program: directory::program(),
        experiment: experiment.name.clone(),
        title: experiment.title.clone(),
        digest: experiment.digest(),
        repetitions: experiment.repetitions,
        reload: experiment.reload.name().into(),
        pause_s: experiment.pause.as_secs_f64(),
        points: points.collect(),
        runs,
        changed_labs: BTreeSet::new(),
    }
}

/// Returns a readable file name that is unique to a point.
fn file_name(label: &str, digest: &str) -> String {
    let mut name = String::new();
    for letter in label.chars().take(NAME_LETTERS) {
        let letter = if letter.is_ascii_alphanumeric() || "._=".contains(letter) { letter } else { '-' };
        if letter != '-' || !name.ends_with('-') {
            name.push(letter);
        }
    }
    format!("{}-{}", name.trim_matches('-'), digest.get(..8).unwrap_or(digest))
}

/// Returns the name of the picture of a figure, counted from 1.
pub(crate) fn picture_name(number: usize) -> String {
    format!("{PICTURE}{number}.svg")
}

/// Deletes the files of the manifest's sweep, and no others. The next manifest replaces this one.
fn clear(directory: &Path, known: &Manifest) -> Result<(), Failure> {
    let results = directory.join(RESULTS);
    let entries = fs::read_dir(&results).map_err(|error| cannot(&results, &error))?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_run = |name: &str| {
        let run = name.strip_suffix(".json").and_then(|name| name.rsplit_once('.'));
        run.is_some_and(|(point, number)| {
            is_number(number) && known.points.values().any(|known| known.name == point)
        })
    };
    let ours = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_run));
    let ours = ours.map(|entry| entry.path());
    let renderings = RENDERINGS.iter().chain(&LOGS).map(|name| directory.join(name));
    let is_picture = |name: &str| {
        name.strip_prefix(PICTURE).and_then(|name| name.strip_suffix(".svg")).is_some_and(is_number)
    };
    let beside = fs::read_dir(directory).map_err(|error| cannot(directory, &error))?.flatten();
    let pictures = beside.filter(|entry| entry.file_name().to_str().is_some_and(is_picture));
    let pictures = pictures.map(|entry| entry.path());
    for path in ours.chain(renderings).chain(pictures) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(cannot(&path, &error)),
            _ => {}
        }
    }
    Ok(())
}
