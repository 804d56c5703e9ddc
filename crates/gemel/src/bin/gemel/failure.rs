//! The failures of a command, and their exit codes.

use gemel::Error;
use std::io;

/// Exit codes, as listed in the help.
pub(crate) const GOOD: u8 = 0;
pub(crate) const DAMAGED: u8 = 1;
const USAGE: u8 = 2;
const OTHER: u8 = 3;

/// The reason why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong.
    Usage(String),
    /// The database has failed or rejects the work.
    Database(Error),
    /// The file of a dump is damaged.
    Damaged(String),
    /// Another reason, in one line.
    Other(String),
    /// A failure, and what more there is to say about it.
    With(Box<Failure>, String),
    /// The output can't be written.
    Output(io::Error),
}

/// The result of a step of a command.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// Adds to the message.
    pub(crate) fn and(self, more: &str) -> Self {
        Self::With(Box::new(self), more.to_owned())
    }

    /// Returns the exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => USAGE,
            Self::Database(Error::Corruption { .. }) | Self::Damaged(_) => DAMAGED,
            // The reader has seen enough.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => GOOD,
            Self::Database(_) | Self::Other(_) | Self::Output(_) => OTHER,
            Self::With(failure, _) => failure.code(),
        }
    }

    /// Returns the line for the error output, if there is something to say.
    pub(crate) fn message(&self) -> Option<String> {
        match self {
            Self::Usage(why) | Self::Damaged(why) | Self::Other(why) => Some(why.clone()),
            Self::Database(error) => Some(error.to_string()),
            Self::With(failure, more) => failure.message().map(|message| format!("{message}; {more}")),
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => None,
            Self::Output(error) => Some(format!("can't write the output: {error}")),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
