//! Errors of CSV files. Each problem names its file, and its line if it has one.

use lydite_tpcc::scale::TooSteep;
use std::fmt;
use std::path::{Path, PathBuf};

/// Most problems that a check reports.
pub(crate) const PROBLEMS_MAX: usize = 20;

/// The fault of a line, a value or a name: the rest of a sentence that begins with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unfit(pub(crate) String);

impl From<&str> for Unfit {
    fn from(words: &str) -> Self {
        Self(words.to_owned())
    }
}

impl From<String> for Unfit {
    fn from(words: String) -> Self {
        Self(words)
    }
}

impl From<TooSteep> for Unfit {
    fn from(error: TooSteep) -> Self {
        Self(error.to_string())
    }
}

impl From<Unfit> for String {
    fn from(Unfit(words): Unfit) -> Self {
        words
    }
}

/// A problem of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Name of the file.
    pub file: String,
    /// Line, from 1; `None` if the file as a whole is wrong.
    pub line: Option<u64>,
    /// Fault: the rest of a sentence that begins with the file and the line.
    pub what: String,
}

impl Problem {
    pub(crate) fn of_file(file: impl Into<String>, what: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, what: what.into() }
    }

    pub(crate) fn at(file: impl Into<String>, line: u64, what: impl Into<String>) -> Self {
        Self { file: file.into(), line: Some(line), what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{} line {line}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}

/// Failure to write or to check CSV files.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// The directory holds something else than what is wanted.
    #[error("{place}: {what}")]
    Refused {
        /// The directory, or its manifest.
        place: String,
        /// The reason, and what to do.
        what: String,
    },
    /// Files are wrong.
    #[error("{}", problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; "))]
    Bad {
        /// All problems that were found, at most 20 of them.
        problems: Vec<Problem>,
    },
    /// The system fails.
    #[error("{doing} {}: {source}", path.display())]
    System {
        /// Operation that failed, for example `can't read`.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
}

impl CsvError {
    pub(crate) fn refused(place: &Path, what: impl Into<String>) -> Self {
        Self::Refused { place: place.display().to_string(), what: what.into() }
    }

    pub(crate) fn system(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::System { doing, path, source }
    }
}
