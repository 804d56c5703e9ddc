//! A directory of runs: its lock, its results, and files that are replaced as a whole.

use lydite_console::exit::{Failure, Outcome};
use lydite_plan::destination::Destination;
use lydite_report::store::write_atomically;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::Xxh3Default;

/// Name of the directory with a result for each run.
pub const RESULTS: &str = "results";
const LOCK: &str = "lock";
/// Maximum time for an orphaned run of a killed experiment to end.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(20);

/// A kind of directories.
#[derive(Debug)]
pub struct Kind {
    /// Name of the experiment in messages, as `sweep`.
    pub noun: &'static str,
    /// File name of the manifest.
    pub manifest: &'static str,
}

impl Kind {
    fn article(&self) -> &'static str {
        if self.noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
    }
}

/// A directory of runs, locked for this process while the value lives.
#[derive(Debug)]
pub struct OutDirectory {
    path: PathBuf,
    lock: File,
}

impl OutDirectory {
    /// Creates the directory, or opens it if it has a manifest of this kind.
    ///
    /// # Errors
    /// It holds something else, another process works there, or it can't be written.
    pub fn open(path: &Path, kind: &Kind) -> Result<Self, Failure> {
        if !path.join(kind.manifest).exists() && !is_free(path, kind)? {
            return Err(Failure::usage(format!(
                "{}: is not empty, and holds no {}: name another directory with --out",
                path.display(),
                kind.noun
            )));
        }
        fs::create_dir_all(path.join(RESULTS)).map_err(|error| cannot(path, &error))?;
        Ok(Self { path: path.to_owned(), lock: take_lock(path, kind)? })
    }

    /// Returns the path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the lock, which runs inherit: it stays locked until the last of them has ended.
    #[must_use]
    pub fn lock(&self) -> &File {
        &self.lock
    }

    /// Replaces a file of the directory.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write(&self, name: &str, text: &str) -> Outcome {
        let path = self.path.join(name);
        write_atomically(&path, text.as_bytes()).map_err(|error| cannot(&path, &error))
    }

    /// Replaces a JSON document of the directory.
    ///
    /// # Errors
    /// See [`OutDirectory::write`].
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Outcome {
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| Failure::usage(format!("{name}: {error}")))?;
        self.write(name, &format!("{text}\n"))
    }

    /// Deletes a file of the directory, if it is there.
    ///
    /// # Errors
    /// It can't be deleted.
    pub fn remove(&self, name: &str) -> Outcome {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(cannot(&path, &error)),
            _ => Ok(()),
        }
    }
}

/// Reads the manifest of a directory; `None` without one.
///
/// # Errors
/// It can't be read.
pub fn read_manifest<M: DeserializeOwned>(directory: &Path, kind: &Kind) -> Result<Option<M>, Failure> {
    let path = directory.join(kind.manifest);
    match fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| {
            Failure::usage(format!("{}: {error}: name another directory with --out", path.display()))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // For example a file in the place of the directory.
        Err(error) => Err(cannot(&path, &error)),
    }
}

/// Rejects a place of a further document that is a file of the experiment's own: its next call could not read it. `flag` names
/// the place.
#[must_use]
pub fn own_file(directory: &Path, flag: &str, place: Option<&Destination>) -> Option<String> {
    let Some(Destination::Path(path)) = place else { return None };
    let inside =
        std::path::absolute(path).ok()?.strip_prefix(std::path::absolute(directory).ok()?).ok()?.to_owned();
    let is_own = inside.starts_with(RESULTS) || inside.components().count() <= 1;
    is_own.then(|| {
        format!("{flag}: {} is among the files of the experiment: choose another place", path.display())
    })
}

/// Returns a digest of the running program; an empty text if its file can't be read. Experiments never mix
/// runs of two builds.
#[must_use]
pub fn program() -> String {
    std::env::current_exe().and_then(digest).unwrap_or_default()
}

/// Returns the digest of a file. A program with debug information is too large to keep in memory for that.
fn digest(path: PathBuf) -> io::Result<String> {
    let mut digest = Xxh3Default::new();
    io::copy(&mut File::open(path)?, &mut digest)?;
    Ok(format!("{:016x}", digest.digest()))
}

/// Returns true if a directory does not exist, is empty, or holds only what is written first.
fn is_free(path: &Path, kind: &Kind) -> Result<bool, Failure> {
    match fs::read_dir(path) {
        Ok(entries) => {
            // An experiment that was killed early leaves its lock, an empty directory or a half-written manifest.
            let own = |entry: &fs::DirEntry| {
                let name = entry.file_name();
                name == LOCK && is_lock(&entry.path())
                    || name == RESULTS && is_empty(&entry.path())
                    || name.to_string_lossy().starts_with(&format!(".{}.", kind.manifest))
            };
            Ok(entries.flatten().all(|entry| own(&entry)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
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
fn take_lock(directory: &Path, kind: &Kind) -> Result<File, Failure> {
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
                // An orphaned run of a killed experiment ends by itself soon.
                if alive || begun.elapsed() > ORPHAN_PATIENCE {
                    let who = if alive {
                        format!("{} (process {holder})", kind.noun)
                    } else {
                        format!("run that {} {} left", kind.article(), kind.noun)
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

/// Returns the failure of a directory that can't be read or written.
#[must_use]
pub fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{}: {error}: mend that, or name another directory with --out", path.display()))
}
