//! The reasons why a source can't be sampled.

use lydite_faults::FaultError;
use std::error::Error;
use std::fmt::{self, Display};

/// The reason why a source can't be sampled, in words for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObserveError {
    /// The text of a source is wrong: it must be written in another way.
    Wrong(String),
    /// The source does not answer, or answers something else than samples.
    Silent(String),
}

impl Display for ObserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(words) | Self::Silent(words) => f.write_str(words),
        }
    }
}

impl Error for ObserveError {}

/// The words alone, for errors of targets.
impl From<ObserveError> for String {
    fn from(error: ObserveError) -> Self {
        match error {
            ObserveError::Wrong(words) | ObserveError::Silent(words) => words,
        }
    }
}

/// A server that is not found.
impl From<FaultError> for ObserveError {
    fn from(error: FaultError) -> Self {
        Self::Silent(error.to_string())
    }
}
