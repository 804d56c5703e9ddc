//! Exit codes, and errors of commands: one line each.

use lydite_bench::RunError;
use lydite_database::{TargetError, TargetErrorKind};
use lydite_fleet::FleetError;
use lydite_plan::PlanError;
use std::fmt;

/// The end of a command.
pub type Outcome = Result<(), Failure>;

/// The failure of a command.
#[derive(Debug)]
pub enum Failure {
    /// The database failed a check. Exit code 1. The text names the checks; the lines before it have the details.
    CheckFailed(String),
    /// Bad usage or plan, or an output file that can't be written. Exit code 2.
    Usage(Vec<String>),
    /// The target was unreachable, reported an error, or was lost. Exit code 3.
    Target(String),
    /// A result did not meet a requirement of the user's, or something is left for the user to do. Exit code 4.
    Threshold(Vec<String>),
    /// The runs do not decide if a requirement of the user's is met. Exit code 5.
    Undecided(Vec<String>),
    /// The user interrupted. Exit code 130.
    Interrupted(String),
    /// Several of these. The exit code is the first in the order 1, 3, 2, 130, 4, 5.
    Several(Vec<Failure>),
}

/// Exit codes, the most important first. Nothing may hide that a database is wrong, and 4 means that nothing else went
/// wrong: the numbers are those of a whole run. 5 means that they are, and that there are too few of them.
const PRECEDENCE: [u8; 6] = [1, 3, 2, 130, 4, 5];

impl Failure {
    /// Creates a single error of usage.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(vec![message.into()])
    }

    /// Creates the failure of these checks. `what` are several of them: `ACID tests`.
    pub fn checks<'a>(what: &str, failed: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<&str> = Vec::new();
        for name in failed {
            // A condition may fail before and after a run.
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Self::CheckFailed(format!("failed {what}: {}", names.join(", ")))
    }

    /// Returns all failures as one outcome.
    pub fn all(mut failures: Vec<Failure>) -> Outcome {
        match failures.len() {
            0 => Ok(()),
            1 => Err(failures.remove(0)),
            _ => Err(Self::Several(failures)),
        }
    }

    /// Returns the errors, one line each.
    pub fn lines(&self) -> Vec<&str> {
        match self {
            Self::Usage(messages) | Self::Threshold(messages) | Self::Undecided(messages) => {
                messages.iter().map(String::as_str).collect()
            }
            Self::CheckFailed(message) | Self::Target(message) | Self::Interrupted(message) => vec![message],
            Self::Several(failures) => failures.iter().flat_map(Self::lines).collect(),
        }
    }

    /// Returns the errors in one line.
    pub fn line(&self) -> String {
        self.lines().join("; ")
    }

    /// Returns the exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::CheckFailed(_) => 1,
            Self::Usage(_) => 2,
            Self::Target(_) => 3,
            Self::Threshold(_) => 4,
            Self::Undecided(_) => 5,
            Self::Interrupted(_) => 130,
            Self::Several(failures) => {
                let has = |code: &u8| failures.iter().any(|failure| failure.code() == *code);
                PRECEDENCE.into_iter().find(has).unwrap_or(1)
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line())
    }
}

impl std::error::Error for Failure {}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        match error.kind {
            TargetErrorKind::Usage => Self::usage(error.message),
            TargetErrorKind::Interrupted => Self::Interrupted(error.message),
            TargetErrorKind::Unreachable | TargetErrorKind::Database => Self::Target(error.message),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Target(error) => error.into(),
            RunError::Interrupted => Self::Interrupted("interrupted before the first transaction".into()),
            other => Self::usage(other.to_string()),
        }
    }
}

impl From<FleetError> for Failure {
    fn from(error: FleetError) -> Self {
        match error {
            FleetError::Usage(line) => Self::usage(line),
            FleetError::Lost(line) => Self::Target(line),
            FleetError::Interrupted => Self::Interrupted(error.to_string()),
        }
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Usage(messages) => Self::Usage(messages),
            PlanError::Target(error) => error.into(),
        }
    }
}
