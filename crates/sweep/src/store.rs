//! The directory of a sweep: its manifest, its lock, a result for each run, and the renderings.
//!
//! The results are the source of truth: a run is done when its result exists and is complete. The manifest identifies
//! the experiment. It also records what a result can't contain: how long a run took, and why a run has no result.

use crate::experiment::Experiment;
use crate::grid::Point;
use lydite_console::exit::Failure;
use lydite_report::RunResult;
use lydite_report::store::write_atomically;
use lydite_report::sweep::{Run, State};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

const MANIFEST: &str = "manifest.json";
const LOCK: &str = "lock";
const RESULTS: &str = "results";
const RENDERINGS: [&str; 3] = ["summary.json", "summary.csv", "report.html"];
/// Begin of the name of a figure's picture.
const PICTURE: &str = "figure-";
/// Maximum time for an orphaned run of a killed sweep to end.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(20);
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

/// The ending of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ending {
    /// Time from its start to its end in seconds, loading and checks included.
    pub(crate) took_s: f64,
    /// Exit code; `None` if a signal ended the run.
    pub(crate) exit_code: Option<i32>,
    /// Its error messages in one line; empty after a success.
    #[serde(default)]
    pub(crate) said: String,
}

/// The directory, locked for this process while the value lives.
pub(crate) struct Directory {
    path: PathBuf,
    pub(crate) lock: File,
    pub(crate) manifest: Manifest,
}

impl Directory {
    /// Creates the directory, or opens it if it holds results of this experiment. `fresh` deletes these results first.
    pub(crate) fn open(path: &Path, experiment: &Experiment, fresh: bool) -> Result<Self, Failure> {
        let known = read_manifest(path)?;
        if known.is_none() && !is_free(path)? {
            return Err(Failure::usage(format!(
                "{}: is not empty, and holds no sweep: name another directory with --out",
                path.display()
            )));
        }
        fs::create_dir_all(path.join(RESULTS)).map_err(|error| cannot(path, &error))?;
        let lock = take_lock(path)?;
        // Read again: another sweep may have written while this one waited for the lock.
        let known = if fresh { None } else { read_manifest(path)? };
        if let Some(known) = &known {
            require_same_experiment(path, known, experiment)?;
        }
        if fresh && let Some(known) = read_manifest(path)? {
            clear(path, &known)?;
        }
        let manifest = manifest(experiment, known);
        let directory = Self { path: path.to_owned(), lock, manifest };
        directory.save_manifest()?;
        Ok(directory)
    }

    /// Returns the path of a run's result.
    pub(crate) fn result(&self, point: &Point, repetition: u32) -> PathBuf {
        self.path.join(self.manifest.file(point, repetition))
    }

    /// Deletes the result and the ending of a run that is made again.
    pub(crate) fn forget(&mut self, point: &Point, repetition: u32) -> Result<(), Failure> {
        let file = self.result(point, repetition);
        let name = self.manifest.run(point, repetition);
        self.manifest.runs.remove(&name);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(cannot(&file, &error)),
            _ => Ok(()),
        }
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

    /// Writes a file of the directory atomically.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.path.join(name);
        write_atomically(&path, text.as_bytes()).map_err(|error| cannot(&path, &error))?;
        Ok(path)
    }

    /// Writes a JSON document.
    pub(crate) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<PathBuf, Failure> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| Failure::usage(format!("{name}: {error}")))?;
        self.write(name, &format!("{text}\n"))
    }

    fn save_manifest(&self) -> Result<(), Failure> {
        self.write_json(MANIFEST, &self.manifest).map(|_| ())
    }
}

impl Manifest {
    /// Returns the name of a run.
    fn run(&self, point: &Point, repetition: u32) -> String {
        let known = self.points.get(&point.digest);
        let name = known.map_or_else(|| file_name(&point.label, &point.digest), |known| known.name.clone());
        format!("{name}.{repetition}")
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
    let path = directory.join(MANIFEST);
    match fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| {
            Failure::usage(format!("{}: {error}: name another directory with --out", path.display()))
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        // For example a file in the place of the directory.
        Err(error) => Err(cannot(&path, &error)),
    }
}

/// Rejects a directory with results of another experiment. More points or repetitions, and other titles and figures,
/// are allowed.
pub(crate) fn require_same_experiment(
    path: &Path,
    known: &Manifest,
    experiment: &Experiment,
) -> Result<(), Failure> {
    let now: BTreeSet<&str> = experiment.points.iter().map(|point| point.digest.as_str()).collect();
    let gone: Vec<&KnownPoint> = known
        .points
        .iter()
        .filter(|(digest, _)| !now.contains(digest.as_str()))
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

/// Returns a digest of the running program; an empty text if its file can't be read.
fn program() -> String {
    let content = std::env::current_exe().and_then(fs::read);
    content.map(|content| format!("{:016x}", xxh3_64(&content))).unwrap_or_default()
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
        program: program(),
        experiment: experiment.name.clone(),
        title: experiment.title.clone(),
        digest: experiment.digest(),
        repetitions: experiment.repetitions,
        reload: experiment.reload.name().into(),
        pause_s: experiment.pause.as_secs_f64(),
        points: points.collect(),
        runs,
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

/// Returns true if a directory does not exist, is empty, or holds only what a new sweep writes first.
fn is_free(path: &Path) -> Result<bool, Failure> {
    match fs::read_dir(path) {
        Ok(entries) => {
            // A sweep that was killed early leaves its lock, an empty directory or a half-written manifest.
            let own = |entry: &fs::DirEntry| {
                let name = entry.file_name();
                name == LOCK && is_lock(&entry.path())
                    || name == RESULTS && is_empty(&entry.path())
                    || name.to_string_lossy().starts_with(&format!(".{MANIFEST}."))
            };
            Ok(entries.flatten().all(|entry| own(&entry)))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(cannot(path, &error)),
    }
}

/// Returns true for a lock as [`take_lock`] writes it: a process number, or nothing yet.
fn is_lock(path: &Path) -> bool {
    let is_file = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    is_file && fs::read(path).is_ok_and(|text| text.trim_ascii().iter().all(u8::is_ascii_digit))
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// Locks the directory for this process and writes the process number into the lock.
fn take_lock(directory: &Path) -> Result<File, Failure> {
    let path = directory.join(LOCK);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|error| cannot(&path, &error))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(cannot(&path, &error)),
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The holder writes its number right after it locks; it may be missing for a moment.
                let _unknown = File::open(&path).and_then(|mut file| file.read_to_string(&mut holder));
                let holder = holder.trim();
                let alive = holder.parse::<u32>().is_ok_and(|id| Path::new(&format!("/proc/{id}")).exists());
                // An orphaned run of a killed sweep ends by itself soon.
                if alive || begun.elapsed() > ORPHAN_PATIENCE {
                    let who = if alive {
                        format!("sweep (process {holder})")
                    } else {
                        "run that a sweep left".into()
                    };
                    return Err(Failure::usage(format!(
                        "{}: another {who} is at work there: wait for its end, or name another directory with --out",
                        directory.display()
                    )));
                }
                thread::sleep(Duration::from_millis(100));
            }
        }
    }
    let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    written.map_err(|error| cannot(&path, &error))?;
    Ok(file)
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
    let renderings = RENDERINGS.iter().map(|name| directory.join(name));
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

/// Returns the failure of a directory that can't be read or written.
fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{}: {error}: mend that, or name another directory with --out", path.display()))
}
