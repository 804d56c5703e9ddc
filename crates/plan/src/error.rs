//! Errors of plans.

use lydite_database::TargetError;
use std::fmt;

/// The reason why a plan is rejected.
#[derive(Debug)]
pub enum PlanError {
    /// Errors of the user, one line each.
    Usage(Vec<String>),
    /// An error of the database that the plan was checked against.
    Target(TargetError),
}

impl PlanError {
    /// Returns a single error of the user.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(vec![message.into()])
    }

    /// Returns all errors, one line each.
    #[must_use]
    pub fn lines(&self) -> Vec<&str> {
        match self {
            Self::Usage(messages) => messages.iter().map(String::as_str).collect(),
            Self::Target(error) => vec![&error.message],
        }
    }
}

impl From<TargetError> for PlanError {
    fn from(error: TargetError) -> Self {
        Self::Target(error)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("; "))
    }
}

impl std::error::Error for PlanError {}
