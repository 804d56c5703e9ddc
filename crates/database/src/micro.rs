//! The microbenchmark on a database under test.

use crate::error::{RUN_CHECK, TargetError};
use crate::load::LoadProgress;
use crate::session::Session;
use crate::workload::Micro;
use lydite_micro::{Engines, Home, Meta, TableId, Totals};

/// A database under test that can hold the microbenchmark's tables. [`crate::Target`] describes the database and its
/// state.
pub trait MicroTarget: Send + Sync {
    /// Returns the engines that the tables are spread over.
    fn engines(&self) -> Engines {
        Engines::One
    }

    /// Creates the empty tables and stores `meta`, in the state "loading".
    ///
    /// # Errors
    /// A table exists already, or the database rejects the tables.
    fn create_tables(&self, meta: &Meta) -> Result<(), TargetError>;

    /// Opens a connection that loads. Several may work at the same time, each on tables of its own.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn table_loader(&self, meta: &Meta) -> Result<Box<dyn MicroLoader>, TargetError>;

    /// Finishes a load after all rows: builds keys, gathers statistics and does whatever else the database needs before
    /// it is measured, then stores the state "ready". Calls `stage` with the name of each step that begins.
    ///
    /// # Errors
    /// The database rejects a step.
    fn finish_tables(
        &self,
        meta: &Meta,
        jobs: usize,
        stage: &(dyn Fn(&str) + Sync),
    ) -> Result<(), TargetError>;

    /// Opens a session for transactions.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn connect_micro(&self, meta: &Meta) -> Result<Box<dyn Session<Micro>>, TargetError>;

    /// Returns the totals of a table. Called while nobody changes it.
    ///
    /// # Errors
    /// The database fails.
    fn totals(&self, meta: &Meta, table: TableId) -> Result<Totals, TargetError>;
}

/// One connection that loads tables.
pub trait MicroLoader: Send {
    /// Loads all records of a table.
    ///
    /// # Errors
    /// The database rejects the records or is lost.
    fn load(&mut self, table: TableId, progress: &LoadProgress) -> Result<(), TargetError>;
}

/// Prefix of the name of every table.
const PREFIX: &str = "lydite_micro_";

/// Returns the name of a table: `lydite_micro_1` in databases of one engine, `lydite_micro_disk_1` in those of two.
pub fn table_name(engines: Engines, table: TableId) -> String {
    let number = table.number + 1;
    match (engines, table.home) {
        (Engines::One, _) => format!("{PREFIX}{number}"),
        (Engines::Two, Home::Memory) => format!("{PREFIX}memory_{number}"),
        (Engines::Two, Home::Disk) => format!("{PREFIX}disk_{number}"),
    }
}

/// True if a name has the form of [`table_name`], with any number.
pub fn is_table_name(name: &str) -> bool {
    let number = name
        .strip_prefix(PREFIX)
        .map(|rest| rest.strip_prefix("memory_").or_else(|| rest.strip_prefix("disk_")).unwrap_or(rest));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the message for a record that is there another number of times than once.
pub fn wrong_rows(engines: Engines, access: &lydite_micro::Access, found: &str) -> String {
    let table = table_name(engines, access.table);
    format!("record {} of {table} {found} instead of 1: {RUN_CHECK}", access.record)
}

/// Returns the message for a missing record.
pub fn missing(engines: Engines, access: &lydite_micro::Access) -> String {
    let table = table_name(engines, access.table);
    format!("record {} of {table} is missing: run lydite check, or load again with --fresh", access.record)
}
