//! The reasons why a fault can't be read, begun or undone.

use std::error::Error;
use std::fmt::{self, Display};
use std::io;

/// The reason why a fault can't be read, begun or undone, in words for the user.
#[derive(Debug)]
pub enum FaultError {
    /// The user's text is wrong: it must be written in another way. The words continue the text.
    Wrong(String),
    /// The machine, its user or the place lacks what the fault needs: another place, another user or a package helps.
    Lacks(String),
    /// The system rejected a step.
    System {
        /// The step, or the file that it was about.
        step: String,
        /// The system's error.
        error: io::Error,
    },
    /// Something went otherwise than it should: the words say what is left, and what to do.
    Failed(String),
    /// A server was started again, and does not accept connections: it did not recover.
    Down(String),
}

impl FaultError {
    /// Returns the system's error in a step, or about a file.
    pub(crate) fn system(step: impl Display, error: io::Error) -> Self {
        Self::System { step: step.to_string(), error }
    }

    /// Returns several problems as one.
    pub(crate) fn joined(problems: &[Self]) -> Self {
        Self::Failed(problems.iter().map(Self::to_string).collect::<Vec<_>>().join("; "))
    }
}

impl Display for FaultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(words) | Self::Lacks(words) | Self::Failed(words) | Self::Down(words) => {
                f.write_str(words)
            }
            Self::System { step, error } => write!(f, "{step}: {error}"),
        }
    }
}

impl Error for FaultError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::System { error, .. } => Some(error),
            Self::Wrong(_) | Self::Lacks(_) | Self::Failed(_) | Self::Down(_) => None,
        }
    }
}

/// A problem as the only one of a list.
impl From<FaultError> for Vec<FaultError> {
    fn from(problem: FaultError) -> Self {
        vec![problem]
    }
}
