//! The microbenchmark on a database under test.

use crate::error::TargetError;
use crate::load::LoadProgress;
use crate::session::Session;
use crate::workload::Micro;
use lydite_micro::{Engines, Home, Meta, TableId, Totals};

/// A database under test that can hold the microbenchmark's tables. [`crate::Target`] describes it and its state.
pub trait MicroTarget: Send + Sync {
    /// Returns the engines that the tables are spread over.
    fn engines(&self) -> Engines {
        Engines::One
    }

    /// Makes the empty tables and stores `meta`, in the state "loading".
    ///
    /// # Errors
    /// A table is there already, or the database refuses.
    fn create_tables(&self, meta: &Meta) -> Result<(), TargetError>;

    /// Opens a connection that loads. Several may work at the same time, each on tables of its own.
    ///
    /// # Errors
    /// As [`crate::Target::describe`].
    fn table_loader(&self, meta: &Meta) -> Result<Box<dyn MicroLoader>, TargetError>;

    /// After all tables: makes keys, statistics, and whatever else the database needs before it is measured; then stores
    /// the state "ready". Calls `stage` with the name of each step that begins.
    ///
    /// # Errors
    /// The database refuses.
    fn finish_tables(
        &self,
        meta: &Meta,
        jobs: usize,
        stage: &(dyn Fn(&str) + Sync),
    ) -> Result<(), TargetError>;

    /// Opens a session for transactions.
    ///
    /// # Errors
    /// As [`crate::Target::describe`].
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
    /// The database refuses or is lost.
    fn load(&mut self, table: TableId, progress: &LoadProgress) -> Result<(), TargetError>;
}

/// What the name of every table begins with.
const PREFIX: &str = "lydite_micro_";

/// The name of a table, in databases whose tables are of one engine and in those of two: `lydite_micro_1`,
/// `lydite_micro_disk_1`.
pub fn table_name(engines: Engines, table: TableId) -> String {
    let number = table.number + 1;
    match (engines, table.home) {
        (Engines::One, _) => format!("{PREFIX}{number}"),
        (Engines::Two, Home::Memory) => format!("{PREFIX}memory_{number}"),
        (Engines::Two, Home::Disk) => format!("{PREFIX}disk_{number}"),
    }
}

/// Whether a name is one of [`table_name`], whatever the number.
pub fn is_table_name(name: &str) -> bool {
    let number = name
        .strip_prefix(PREFIX)
        .map(|rest| rest.strip_prefix("memory_").or_else(|| rest.strip_prefix("disk_")).unwrap_or(rest));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The message of a record that is not there.
pub fn missing(engines: Engines, access: &lydite_micro::Access) -> String {
    let table = table_name(engines, access.table);
    format!("record {} of {table} is missing: run lydite check, or load again with --fresh", access.record)
}
