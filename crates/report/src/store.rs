//! Reading and writing result files.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::model::{FORMAT, RunResult};

/// Why a result could not be read or written. Each prints as one line.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    /// The file could not be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is JSON of another shape, or no JSON at all.
    #[error("{path} is not a Lydite result: {why}", path = path.display())]
    NotAResult {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The document is of a version that this program does not know.
    #[error(
        "{path} has result format {found}, this program reads format {FORMAT}; use the version of lydite that \
         wrote it ({writer})",
        path = path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The version of the program that wrote it, as far as it says.
        writer: String,
    },
    /// The file could not be written.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A histogram is damaged.
    #[error("the latency histogram (hdr) cannot be decoded: {0}")]
    Histogram(String),
}

impl RunResult {
    /// Reads a result file.
    ///
    /// # Errors
    /// If the file cannot be read, is no result, or has another [`FORMAT`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ResultError> {
        let path = path.as_ref();
        let text =
            fs::read_to_string(path).map_err(|source| ResultError::Read { path: path.to_owned(), source })?;
        Self::from_json(&text, path)
    }

    /// Reads a result from its JSON text; `path` only names it in errors.
    ///
    /// # Errors
    /// If the text is no result or has another [`FORMAT`].
    pub fn from_json(text: &str, path: &Path) -> Result<Self, ResultError> {
        let not_a_result = |why: String| ResultError::NotAResult { path: path.to_owned(), why };
        let json: serde_json::Value = serde_json::from_str(text).map_err(|e| not_a_result(e.to_string()))?;
        // The format first: a document of another format would fail somewhere deep and say something useless.
        let found = json
            .get("format")
            .and_then(serde_json::Value::as_u64)
            .ok_or_else(|| not_a_result("it has no number \"format\"".to_owned()))?;
        if found != u64::from(FORMAT) {
            let writer =
                json.get("lydite").and_then(serde_json::Value::as_str).unwrap_or("unknown").to_owned();
            return Err(ResultError::Format { path: path.to_owned(), found, writer });
        }
        // From the text again, so that an error can name line and column.
        serde_json::from_str(text).map_err(|e| not_a_result(e.to_string()))
    }

    /// Writes the result as JSON, all or nothing: a reader sees the old file or the new one.
    ///
    /// # Errors
    /// If the directory does not take the file.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), ResultError> {
        let path = path.as_ref();
        let write_error = |source| ResultError::Write { path: path.to_owned(), source };
        let mut text = serde_json::to_string(self).map_err(|e| write_error(io::Error::other(e)))?;
        text.push('\n');
        write_atomically(path, text.as_bytes()).map_err(write_error)
    }
}

/// Writes a file through a temporary one in the same directory (a rename across file systems is not atomic).
///
/// # Errors
/// What the system says; the temporary file is gone then.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::other("this is not the name of a file"))?;
    let mut temporary_name = std::ffi::OsString::from(".");
    temporary_name.push(name);
    temporary_name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(temporary_name);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| fs::rename(&temporary, path));
    if renamed.is_err() {
        // Best effort: the first error is the one worth telling.
        let _ = fs::remove_file(&temporary);
    }
    renamed
}
