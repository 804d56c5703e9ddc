//! The trait of a family's connection, over which the transactions run.

use crate::replication::Positions;
use crate::sql::prepared::Prepared;
use crate::sql::sql_error::SqlError;
use crate::sql::statement::Statement;
use crate::sql::value::{Rows, Value};

/// A step of a pipeline: a statement with its parameters.
pub type Step<'a, S = Statement> = (S, &'a [Value<'a>]);

/// A connection with prepared statements.
pub trait Connection<S: Prepared = Statement>: Send {
    /// Runs one prepared statement and waits for its rows.
    fn run(&mut self, statement: S, params: &[Value<'_>], rows: &mut Rows) -> Result<(), SqlError>;

    /// Runs statements one after another and stops at the first error. `rows` has an entry for each step. If the
    /// protocol allows, the statements are sent together and waited for once.
    fn pipeline(&mut self, steps: &[Step<'_, S>], rows: &mut [Rows]) -> Result<(), SqlError> {
        for ((statement, params), rows) in steps.iter().zip(rows) {
            self.run(*statement, params, rows)?;
        }
        Ok(())
    }

    /// See [`crate::Session::positions`].
    fn positions(&mut self) -> Option<&mut dyn Positions> {
        None
    }

    /// Rolls back a failed transaction, so that the connection can begin the next one.
    fn roll_back(&mut self) -> Result<(), SqlError>;
}
