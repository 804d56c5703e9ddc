//! Queries about a server that may fail without harm: the answer counts as empty, and the result warns.

use lydite_database::sql::sql_error::SqlError;

/// Reasons why parts of a server's description could not be read.
#[derive(Debug, Default)]
pub(crate) struct Unread(Vec<String>);

impl Unread {
    /// Returns the answer. If the server rejected the query about `what`, notes why, and returns an empty answer.
    ///
    /// # Errors
    /// The server was lost, or is shutting down.
    pub(crate) fn or_empty<T: Default>(
        &mut self,
        what: &str,
        answer: Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        match answer {
            Err(error @ (SqlError::Database { unavailable: false, .. } | SqlError::Decode(_))) => {
                self.0.push(format!("The server does not report {what}: {}", error.line()));
                Ok(T::default())
            }
            answer => answer,
        }
    }

    /// True if every query was answered.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the reasons of another server.
    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Returns the warnings, one line each.
    pub(crate) fn into_warnings(self) -> Vec<String> {
        self.0
    }
}
