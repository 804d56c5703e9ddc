//! Notes of active faults on disk, so that somebody finds and undoes them whatever happened to their guards.
//!
//! A note is a file in a directory that only its user can enter. It is written before the fault begins and removed once
//! the fault is undone.

use crate::error::FaultError;
use crate::fault::Fault;
use crate::kinds;
use crate::process::{ProcessId, boot};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Ending of the notes' names.
const ENDING: &str = "json";
/// Longest wait until a killed guard has ended.
const PATIENCE: Duration = Duration::from_secs(5);

/// The note of an active fault.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    /// The fault.
    pub fault: Fault,
    /// Everything that its end needs.
    pub state: Value,
    /// The process that undoes it.
    pub guard: ProcessId,
    /// Name of the machine's start when it was written.
    boot: String,
}

/// A note with its file.
#[derive(Clone, Debug)]
pub struct Left {
    /// The note.
    pub note: Note,
    path: PathBuf,
}

/// Name of the directory of notes.
const NAME: &str = "lydite-faults";

/// Returns the directory where this process writes notes.
#[must_use]
pub fn directory() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute()) {
        Some(runtime) => runtime.join(NAME),
        None => temporary(),
    }
}

/// Returns all directories with notes of this user: those of its sessions, and that of processes outside of a session,
/// such as `sudo` and `cron`.
#[must_use]
pub fn directories() -> Vec<PathBuf> {
    // SAFETY: geteuid has no preconditions.
    let session = PathBuf::from(format!("/run/user/{}", unsafe { libc::geteuid() })).join(NAME);
    let mut all = vec![directory()];
    for other in [session, temporary()] {
        if !all.contains(&other) && owned(&other).is_ok() {
            all.push(other);
        }
    }
    all
}

/// Returns the directory of notes of processes outside of a session.
fn temporary() -> PathBuf {
    // SAFETY: geteuid has no preconditions.
    std::env::temp_dir().join(format!("{NAME}-{}", unsafe { libc::geteuid() }))
}

/// Makes the directory of notes. One that belongs to somebody else is rejected.
///
/// # Errors
/// The directory can't be made, or others can enter it.
pub fn prepare(directory: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    owned(directory)
}

/// Rejects a directory that others can enter, or that belongs to somebody else.
fn owned(directory: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(directory)?;
    // SAFETY: geteuid has no preconditions.
    let own = unsafe { libc::geteuid() };
    if !found.is_dir() || found.uid() != own || found.mode() & 0o077 != 0 {
        return Err(io::Error::other("it must be a directory of this user with mode 0700: remove it"));
    }
    Ok(())
}

impl Note {
    /// Creates the note of a fault that this process guards.
    ///
    /// # Errors
    /// `/proc` can't be read.
    pub(crate) fn new(fault: Fault, state: Value) -> io::Result<Self> {
        Ok(Self { fault, state, guard: ProcessId::own()?, boot: boot() })
    }

    /// Writes the note, or replaces it as a whole.
    ///
    /// # Errors
    /// The disk rejects it.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<Left> {
        // With the time of its start: a number that was given again must not replace the note of a fault that is left.
        let name = format!("{}-{}", self.guard.pid, self.guard.started);
        let path = directory.join(format!("{name}.{ENDING}"));
        let new = directory.join(format!("{name}.new"));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        Ok(Left { note: self.clone(), path })
    }
}

impl Left {
    /// Undoes the fault and removes its note. Returns further proof of the fault.
    ///
    /// # Errors
    /// Something is not as before; the note stays.
    pub fn undo(&self) -> Result<String, FaultError> {
        let Note { fault, state, boot: then, .. } = &self.note;
        let kind = kinds::named(&fault.spec.kind).ok_or_else(|| {
            let kind = &fault.spec.kind;
            FaultError::Failed(format!("{kind}: this version of lydite does not know the kind"))
        })?;
        let proof = if *then == boot() || kind.outlives_boot() {
            kind.end(state)?
        } else {
            // The machine has started anew since: no process, group or helper of the fault is left.
            String::new()
        };
        self.forget()?;
        Ok(proof)
    }

    /// Ends the guard, so that nobody else undoes the fault at the same time, then undoes it.
    ///
    /// # Errors
    /// The guard can't be ended, or something is not as before.
    pub fn take_over(&self) -> Result<String, FaultError> {
        let guard = self.note.guard;
        if self.note.boot == boot() {
            let sent = guard.signal(libc::SIGKILL);
            sent.map_err(|error| FaultError::system(format!("end the guard {}", guard.pid), error))?;
            if !crate::process::wait_while(&[guard], PATIENCE, ProcessId::lives).is_empty() {
                return Err(FaultError::Failed(format!("the guard {} does not end", guard.pid)));
            }
        }
        // The guard may have noted more since.
        match read(&self.path) {
            Ok(left) => left.undo(),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(FaultError::system(self.path.display(), error)),
        }
    }

    /// Removes the note of a fault that needs no undoing any more.
    ///
    /// # Errors
    /// The disk rejects it.
    pub fn forget(&self) -> Result<(), FaultError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(FaultError::system(self.path.display(), error))
            }
            _ => Ok(()),
        }
    }
}

/// Returns all notes of a directory, and a line for each that can't be read.
///
/// # Errors
/// The directory can't be read, or others can write to it: what their notes say would be done in this user's name. If
/// there is no directory, there are no notes.
pub fn all(directory: &Path) -> io::Result<(Vec<Left>, Vec<String>)> {
    match owned(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
        owned => owned?,
    }
    let entries = fs::read_dir(directory)?;
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|ending| ending != ENDING) {
            continue;
        }
        match read(&path) {
            Ok(left) => found.push(left),
            // Its guard has undone the fault meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => problems.push(format!("{}: {error}: remove it by hand", path.display())),
        }
    }
    found.sort_by_key(|left| left.note.guard);
    Ok((found, problems))
}

fn read(path: &Path) -> io::Result<Left> {
    let note = serde_json::from_slice(&fs::read(path)?)?;
    Ok(Left { note, path: path.to_owned() })
}
