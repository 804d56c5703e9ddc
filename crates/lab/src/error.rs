//! The reasons why a lab, or a place in one, can't be used.

use lydite_console::exit::Failure;
use lydite_faults::FaultError;
use std::error::Error;
use std::fmt::{self, Display};
use std::io;

/// The reason why a lab, or a place in one, can't be used, in words for the user.
#[derive(Debug)]
pub enum LabError {
    /// The user names a lab or a place that is not there, or not of the database.
    Place(String),
    /// The system rejected a step.
    System {
        /// The step, or the file or program that it was about.
        step: String,
        /// The system's error.
        error: io::Error,
    },
    /// A program or a server failed: the words are its own, or say what it did.
    Failed(String),
}

impl LabError {
    /// Returns the system's error in a step, or about a file or a program.
    pub(crate) fn system(step: impl Display, error: io::Error) -> Self {
        Self::System { step: step.to_string(), error }
    }
}

impl Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(words) | Self::Failed(words) => f.write_str(words),
            Self::System { step, error } => write!(f, "{step}: {error}"),
        }
    }
}

impl Error for LabError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::System { error, .. } => Some(error),
            Self::Place(_) | Self::Failed(_) => None,
        }
    }
}

/// A lab whose name or note can't be read.
impl From<Failure> for LabError {
    fn from(failure: Failure) -> Self {
        Self::Place(failure.line())
    }
}

/// A node of a cluster that does not report its commits.
impl From<FaultError> for LabError {
    fn from(error: FaultError) -> Self {
        Self::Failed(error.to_string())
    }
}
