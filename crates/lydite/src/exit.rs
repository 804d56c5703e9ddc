//! Exit codes, and errors on their way to the user: one line each.

use lydite_target::{TargetError, TargetErrorKind};
use std::process::ExitCode;

/// Why a command did not end well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The database failed a check; it was told already. Exit code 1.
    CheckFailed,
    /// Bad usage or plan. Exit code 2.
    Usage(Vec<String>),
    /// The target was unreachable, refused, or was lost. Exit code 3.
    Target(String),
    /// The user interrupted. Exit code 130.
    Interrupted(String),
}

impl Failure {
    /// A single error of usage.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(vec![message.into()])
    }

    /// The errors in one line.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::CheckFailed => "a check failed".into(),
            Self::Usage(messages) => messages.join("; "),
            Self::Target(message) => message.clone(),
            Self::Interrupted(message) => message.clone(),
        }
    }

    /// Prints the errors and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::CheckFailed => ExitCode::from(1),
            Self::Usage(messages) => {
                for message in messages {
                    eprintln!("lydite: {message}");
                }
                ExitCode::from(2)
            }
            Self::Target(message) => {
                eprintln!("lydite: {message}");
                ExitCode::from(3)
            }
            Self::Interrupted(message) => {
                eprintln!("lydite: {message}");
                ExitCode::from(130)
            }
        }
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        match error.kind {
            TargetErrorKind::Usage => Self::usage(error.message),
            TargetErrorKind::Unreachable | TargetErrorKind::Database => Self::Target(error.message),
        }
    }
}
