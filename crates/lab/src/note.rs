//! The note of a lab: its kind, its URL and its servers, as JSON in its directory.

use crate::directories::root;
use crate::disk::Disk;
use crate::kind::Kind;
use crate::privacy::write_private;
use crate::server::Server;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::shell::typed;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The file name of the note.
const NOTE: &str = "lab.json";
/// Time between two looks at a locked note.
const LOOK: Duration = Duration::from_millis(50);

/// A lab, as its note describes it.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Lab {
    pub(crate) kind: String,
    /// The URL of the database, or of a fleet's NATS server, with its password, for `lydite run` and the other commands.
    pub(crate) url: String,
    /// The URLs of its replicas, for `--replicas`.
    #[serde(default)]
    pub(crate) replicas: Vec<String>,
    pub(crate) servers: Vec<Server>,
    /// The file system of the servers, if it is their own.
    #[serde(default)]
    pub(crate) disk: Option<Disk>,
    /// The absolute directory of the sweep that started the lab and ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sweep: Option<PathBuf>,
}

impl Lab {
    /// Reads the note in a directory. Returns `None` if there is no note.
    pub(crate) fn read(directory: &Path) -> Result<Option<Self>, Failure> {
        let path = directory.join(NOTE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::usage(format!("{}: {error}", path.display()))),
        };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            Failure::usage(format!(
                "{}: {error}: this is no lab of this version; end its servers by hand",
                path.display()
            ))
        })
    }

    /// Reads the note of a lab of this kind.
    ///
    /// # Errors
    /// There is none, or the lab is of another kind.
    pub(crate) fn of(kind: &Kind, directory: &Path) -> Result<Self, Failure> {
        let lab = Self::read(directory)?.ok_or_else(|| {
            Failure::usage(format!(
                "{}: there is no lab: lydite lab list shows those below {}; for a lab that was started with --dir or with \
                 another TMPDIR, use the same again",
                directory.display(),
                root().display()
            ))
        })?;
        lab.require_kind(kind.name, directory)?;
        Ok(lab)
    }

    /// Locks the note of the lab in a directory, so that no other process starts servers of it. [`is_starting`] is true
    /// until the file is dropped.
    ///
    /// # Errors
    /// Another process starts servers of the lab.
    pub(crate) fn lock(directory: &Path) -> Result<fs::File, Failure> {
        let note = directory.join(NOTE);
        let locked = fs::File::open(&note).and_then(|file| Ok(file.try_lock().map(|()| file)?));
        locked.map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => being_started(directory),
            _ => Failure::usage(format!("{}: {error}", note.display())),
        })
    }

    /// Locks the note like [`Lab::lock`], and waits until another process has started its servers.
    ///
    /// # Errors
    /// There is no lab, or the other process takes too long.
    pub(crate) fn lock_within(directory: &Path, patience: Duration) -> Result<fs::File, Failure> {
        let begun = Instant::now();
        while is_starting(directory) && begun.elapsed() < patience {
            thread::sleep(LOOK);
        }
        Self::lock(directory)
    }

    /// Writes the note and returns it locked. [`is_starting`] is true until the file is dropped.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<fs::File> {
        let text = serde_json::to_string_pretty(self)?;
        // The file gets its name after its lock, so that nobody sees it unlocked.
        let (new, path) = (directory.join(format!("{NOTE}.new")), directory.join(NOTE));
        write_private(&new, &text, None)?;
        let file = fs::File::open(&new)?;
        file.lock()?;
        fs::rename(&new, &path)?;
        Ok(file)
    }

    /// Rejects a lab of another kind.
    pub(crate) fn require_kind(&self, name: &str, directory: &Path) -> Outcome {
        if self.kind == name {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{}: the lab there is {2}, not {1}: end it with: lydite lab down {2} --dir {3}, or name another directory \
             with --dir",
            directory.display(),
            name,
            self.kind,
            typed(&directory.display().to_string())
        )))
    }

    /// Returns the arguments for `lydite run`: the URL, then the replicas.
    pub(crate) fn arguments(&self) -> String {
        if self.replicas.is_empty() {
            self.url.clone()
        } else {
            format!("{} --replicas {}", self.url, self.replicas.join(","))
        }
    }

    /// Returns the same arguments without the password, for messages.
    pub(crate) fn arguments_without_password(&self) -> String {
        match self.password() {
            Some(password) => {
                // A URL without a user has nothing before the password.
                self.arguments().replace(&format!(":{password}@"), "@").replace("//@", "//")
            }
            None => self.arguments(),
        }
    }

    /// Returns the password of its servers; `None` if an older version of Lydite made the lab.
    pub(crate) fn password(&self) -> Option<&str> {
        let (user, _) = self.url.split_once('@').filter(|_| self.has_password())?;
        user.rsplit_once(':').map(|(_, password)| password)
    }

    /// Returns false if an older version of Lydite made the lab: its servers accept everybody on this machine.
    pub(crate) fn has_password(&self) -> bool {
        self.url.split_once('@').is_some_and(|(user, _)| user.matches(':').count() > 1)
    }
}

/// Returns the failure of a command on a lab whose servers another process starts.
pub(crate) fn being_started(directory: &Path) -> Failure {
    Failure::usage(format!("{}: this lab is being started: wait until that is done", directory.display()))
}

/// Returns true while another process starts servers of the lab in this directory.
pub(crate) fn is_starting(directory: &Path) -> bool {
    let Ok(note) = fs::File::open(directory.join(NOTE)) else { return false };
    matches!(note.try_lock_shared(), Err(fs::TryLockError::WouldBlock))
}
