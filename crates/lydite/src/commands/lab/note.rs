//! The note of a lab: its kind, its URL and its servers, as JSON in its directory.

use super::clock::Clock;
use super::directories::root;
use super::disk::Disk;
use super::fleet;
use super::kind::Kind;
use super::privacy::write_private;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::shell::typed;
use lydite_faults::sockets::accepts;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The file name of the note.
const NOTE: &str = "lab.json";

/// A lab, as its note describes it.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Lab {
    pub(super) kind: String,
    /// The URL of the database, or of a fleet's NATS server, with its password, for `lydite run` and the other commands.
    pub(super) url: String,
    /// The URLs of its replicas, for `--replicas`.
    #[serde(default)]
    pub(super) replicas: Vec<String>,
    pub(super) servers: Vec<Server>,
    /// The file system of the servers, if it is their own.
    #[serde(default)]
    pub(super) disk: Option<Disk>,
    /// The absolute directory of the sweep that started the lab and ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sweep: Option<PathBuf>,
}

/// A server of a lab.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Server {
    /// Directory of its data, log and configuration.
    pub(super) path: PathBuf,
    /// Port on 127.0.0.1; 0 for an agent.
    pub(super) port: u16,
    /// Name of the agent of a fleet, if it is one.
    #[serde(default)]
    pub(super) agent: Option<String>,
    /// Clock of the server, if faults can move it.
    #[serde(default)]
    pub(super) clock: Option<Clock>,
    /// True if commits wait for a replica, once the server is a primary.
    #[serde(default)]
    pub(super) sync: bool,
}

impl Server {
    /// Returns the directory of its data.
    pub(super) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// Returns true if a process listens on the port, or if the agent runs.
    pub(super) fn answers(&self) -> bool {
        match &self.agent {
            None => accepts(self.port),
            Some(_) => fleet::runs(self),
        }
    }

    /// Returns a name of the server for messages.
    pub(super) fn shown(&self) -> String {
        match &self.agent {
            None => format!("server on port {}", self.port),
            Some(name) => format!("agent {name}"),
        }
    }
}

impl Lab {
    /// Reads the note in a directory. Returns `None` if there is no note.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, Failure> {
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
    pub(super) fn of(kind: &Kind, directory: &Path) -> Result<Self, Failure> {
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
    pub(super) fn lock(directory: &Path) -> Result<fs::File, Failure> {
        let note = directory.join(NOTE);
        let locked = fs::File::open(&note).and_then(|file| Ok(file.try_lock().map(|()| file)?));
        locked.map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => being_started(directory),
            _ => Failure::usage(format!("{}: {error}", note.display())),
        })
    }

    /// Writes the note and returns it locked. [`is_starting`] is true until the file is dropped.
    pub(super) fn write(&self, directory: &Path) -> io::Result<fs::File> {
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
    pub(super) fn require_kind(&self, name: &str, directory: &Path) -> Outcome {
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
    pub(super) fn arguments(&self) -> String {
        if self.replicas.is_empty() {
            self.url.clone()
        } else {
            format!("{} --replicas {}", self.url, self.replicas.join(","))
        }
    }

    /// Returns the same arguments without the password, for messages.
    pub(super) fn arguments_without_password(&self) -> String {
        match self.password() {
            Some(password) => {
                // A URL without a user has nothing before the password.
                self.arguments().replace(&format!(":{password}@"), "@").replace("//@", "//")
            }
            None => self.arguments(),
        }
    }

    /// Returns the password of its servers; `None` if an older version of Lydite made the lab.
    pub(super) fn password(&self) -> Option<&str> {
        let (user, _) = self.url.split_once('@').filter(|_| self.has_password())?;
        user.rsplit_once(':').map(|(_, password)| password)
    }

    /// Returns false if an older version of Lydite made the lab: its servers accept everybody on this machine.
    pub(super) fn has_password(&self) -> bool {
        self.url.split_once('@').is_some_and(|(user, _)| user.matches(':').count() > 1)
    }
}

/// Returns the failure of a command on a lab whose servers another process starts.
pub(super) fn being_started(directory: &Path) -> Failure {
    Failure::usage(format!("{}: this lab is being started: wait until that is done", directory.display()))
}

/// Returns true while another process starts servers of the lab in this directory.
pub(super) fn is_starting(directory: &Path) -> bool {
    let Ok(note) = fs::File::open(directory.join(NOTE)) else { return false };
    matches!(note.try_lock_shared(), Err(fs::TryLockError::WouldBlock))
}
