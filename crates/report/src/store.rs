//! Reading and writing result files.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::document_kind::DocumentKind;
use crate::model::{FORMAT, RunResult};

/// The form of a result, the end of errors about files of another form.
const FORM: &str = "a result is JSON that begins with {\"lydite\":…, as `lydite run URL --json FILE` writes it: name such a file";

/// Errors of reading and writing results. Each prints as one line.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    /// The file could not be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is JSON of another shape, or not JSON.
    #[error("{path} is not a Lydite result: {why}", path = path.display())]
    NotAResult {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The document has a format that this program does not know.
    #[error(
        "{path} has result format {found}, this program reads format {FORMAT}; use the version of lydite that \
         wrote it ({writer})",
        path = path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// Format.
        found: u64,
        /// The version of the program that wrote it, or `unknown`.
        writer: String,
    },
    /// The file could not be written.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A histogram is damaged.
    #[error("the latency histogram (hdr) cannot be decoded: {0}")]
    Histogram(String),
}

/// Versions of a document and of the program that wrote it, of any JSON type.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Written {
    format: serde_json::Value,
    lydite: serde_json::Value,
}

impl RunResult {
    /// Reads a result file.
    ///
    /// # Errors
    /// If the file cannot be read, is no result, or has another [`FORMAT`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ResultError> {
        let path = path.as_ref();
        let not_a_result =
            |why: &str| ResultError::NotAResult { path: path.to_owned(), why: format!("{why}; {FORM}") };
        let bytes = fs::read(path).map_err(|source| match source.kind() {
            ErrorKind::IsADirectory => not_a_result("it is a directory"),
            _ => ResultError::Read { path: path.to_owned(), source },
        })?;
        let text = String::from_utf8(bytes).map_err(|_| not_a_result("it is not text"))?;
        Self::from_json(&text, path)
    }

    /// Reads a result from its JSON text; `path` only names it in errors.
    ///
    /// # Errors
    /// If the text is no result or has another [`FORMAT`].
    pub fn from_json(text: &str, path: &Path) -> Result<Self, ResultError> {
        let not_a_result = |why: String| ResultError::NotAResult { path: path.to_owned(), why };
        if text.trim().is_empty() {
            return Err(not_a_result(format!("it is empty; {FORM}")));
        }
        let json: serde_json::Value = serde_json::from_str(text).map_err(|error| {
            not_a_result(match text.trim_start().chars().next() {
                // Most likely a document that ends too early.
                Some('{') => format!("its JSON is broken: {error}; {FORM}"),
                Some('<') => format!("it is XML or HTML; {FORM}"),
                _ => format!("it is not JSON; {FORM}"),
            })
        })?;
        // All parts of a result but its format may be absent, so other documents would load as results without numbers.
        let kind = DocumentKind::of(&json);
        if let Some(why) = kind.and_then(DocumentKind::no_result) {
            return Err(not_a_result(why.to_owned()));
        }
        // The format before the parts: a document of another format would fail at some field, with a useless error.
        let written = match json.is_object() {
            true => Written::deserialize(&json).unwrap_or_default(),
            // A list would be read as the fields in their order.
            false => Written::default(),
        };
        let found = written.format.as_u64().ok_or_else(|| {
            let of = if written.lydite.is_null() { "JSON of another program" } else { "no result of a run" };
            not_a_result(format!("it is {of}, without a number \"format\"; {FORM}"))
        })?;
        if found != u64::from(FORMAT) {
            let writer = written.lydite.as_str().unwrap_or("unknown").to_owned();
            return Err(ResultError::Format { path: path.to_owned(), found, writer });
        }
        if kind.is_none() {
            let why = "it has no transactions: name the file of `lydite run URL --json FILE`";
            return Err(not_a_result(why.to_owned()));
        }
        // From the text again, so that an error can name line and column.
        serde_json::from_str(text).map_err(|e| not_a_result(e.to_string()))
    }

    /// Returns the JSON text of a result file.
    ///
    /// # Errors
    /// If a number has no form in JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string(self)?;
        text.push('\n');
        Ok(text)
    }

    /// Writes the result as JSON, all or nothing: a reader sees the old file or the new one.
    ///
    /// # Errors
    /// Those of [`write_atomically`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), ResultError> {
        let path = path.as_ref();
        let write_error = |source| ResultError::Write { path: path.to_owned(), source };
        let text = self.to_json().map_err(|error| write_error(error.into()))?;
        write_atomically(path, text.as_bytes()).map_err(write_error)
    }
}

/// Most symbolic links followed one after the other; Linux follows as many.
const LINKS_MAX: u32 = 40;
/// Most names tried for a temporary file; an earlier process with the same id may have left some behind.
const NAMES_MAX: u32 = 100;

/// Follows symbolic links, also to a file that does not exist.
///
/// # Errors
/// The links lead in a circle.
pub fn without_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        // An error of the file itself is reported by the caller that opens it.
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Writes a file through a temporary one in the same directory (a rename across file systems is not atomic). A symbolic
/// link stays, and its target is written. The new file keeps the permissions of the one that it replaces.
///
/// # Errors
/// The system's error, or the path names something other than a regular file. The temporary file is removed.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = &without_links(path)?;
    let replaced = match fs::symlink_metadata(path) {
        // A rename does not need the right to write the file, so opening it checks that.
        Ok(there) if there.is_file() => Some(OpenOptions::new().write(true).open(path)?.metadata()?),
        Ok(_) => return Err(io::Error::other("not a regular file, so it is not replaced")),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let (temporary, mut file) = create_beside(path, replaced.is_some())?;
    let written = file
        .write_all(bytes)
        .and_then(|()| replaced.map_or(Ok(()), |replaced| take_over(&file, &replaced)))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // Best effort: the first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Creates a temporary file for `path`; a private one if it will get the permissions of another file.
fn create_beside(path: &Path, private: bool) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or_else(|| io::Error::other("this is not the name of a file"))?;
    let mut options = OpenOptions::new();
    // Never an existing file, which may be a link to another place.
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut number = 0;
    loop {
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{number}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        match options.open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < NAMES_MAX => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Gives a file the permissions of the one that it replaces, and its owner and group as far as the system allows.
fn take_over(file: &File, replaced: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid()) {
            let _as_far_as_allowed = fchown(file, Some(replaced.uid()), Some(replaced.gid()))
                .or_else(|_| fchown(file, None, Some(replaced.gid())));
        }
        file.set_permissions(fs::Permissions::from_mode(replaced.mode() & 0o777))
    }
    #[cfg(not(unix))]
    file.set_permissions(replaced.permissions())
}
