//! What a database under test must offer.

use crate::capabilities::Capabilities;
use crate::error::TargetError;
use crate::load::Loader;
use crate::session::Session;
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{Districts, TransactionKind, WarehouseId, named_enum};
use std::collections::BTreeMap;
use std::fmt;

named_enum! {
    /// How the five transactions are sent to an SQL database; the names are those of the command line and of results.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub enum TxMode {
        /// One prepared statement and one round trip per step.
        #[default]
        Statements = "statements",
        /// Array binding and pipelining: all lines of an order in one statement.
        Batched = "batched",
        /// One call of a stored procedure per transaction.
        Procedures = "procedures",
    }
}

impl fmt::Display for TxMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A database under test. Cheap to make; connects when asked for something.
///
/// Every target has these methods. What only some databases can do is in their [`Capabilities`].
pub trait Target: Send + Sync {
    /// Connects and describes the database.
    ///
    /// # Errors
    /// The server is not there or does not let us in.
    fn describe(&self) -> Result<Description, TargetError>;

    /// Returns what the database holds now.
    ///
    /// # Errors
    /// As [`Target::describe`].
    fn state(&self) -> Result<DatabaseState, TargetError>;

    /// Answers whether the database can do what a plan demands, before anything is changed. The answer is notes for the
    /// user, one line each.
    ///
    /// # Errors
    /// It can't: the error says why and what to change. Or as [`Target::describe`].
    fn admit(&self, demand: &Demand) -> Result<Vec<String>, TargetError>;

    /// Makes the empty tables and stores `meta` with the state "loading". Keys and indexes that [`Target::finish_load`]
    /// adds faster afterwards are left out.
    ///
    /// # Errors
    /// A table is there already, or the database refuses.
    fn create_schema(&self, meta: &DatabaseMeta) -> Result<(), TargetError>;

    /// Keeps other loads of the same tables away until the returned value is dropped. Waits until a server has ended the
    /// work of loaders that are gone. Taken before [`Target::state`] is asked.
    ///
    /// # Errors
    /// Another load is running; or as [`Target::describe`].
    fn begin_load(&self) -> Result<Box<dyn Send>, TargetError>;

    /// Opens a connection that loads. Several may work at the same time, each on warehouses of its own.
    ///
    /// # Errors
    /// As [`Target::describe`].
    fn loader(&self) -> Result<Box<dyn Loader>, TargetError>;

    /// After all rows: makes keys, indexes, foreign keys, procedures and statistics, then stores the state "ready".
    /// Uses at most `jobs` connections. Calls `stage` with the name of each step that begins. May be repeated after an
    /// interruption.
    ///
    /// # Errors
    /// The database refuses (a full disk, a missing privilege, rows that break a key).
    fn finish_load(&self, jobs: usize, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError>;

    /// Opens a session for transactions.
    ///
    /// # Errors
    /// As [`Target::describe`]; also when the database is not loaded.
    fn connect(&self) -> Result<Box<dyn Session>, TargetError>;

    /// Drops whatever has the name of one of the nine tables, of the microbenchmark's, or of Lydite's own, whoever made
    /// it.
    ///
    /// # Errors
    /// The database refuses.
    fn reset(&self) -> Result<(), TargetError>;

    /// Evaluates consistency conditions, all on one snapshot where the database can. Calls `done` with each finding as it
    /// comes.
    ///
    /// # Errors
    /// The database fails; a condition that does not hold is a finding, not an error.
    fn check(
        &self,
        conditions: &[Condition],
        done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError>;

    /// Returns a checksum of each table. It depends neither on the order of the rows nor on how the database stores them:
    /// equal rows in different databases give equal sums. Of points in time only their presence counts, since the
    /// database's clock sets them.
    ///
    /// # Errors
    /// The database fails.
    fn checksums(&self) -> Result<Vec<TableChecksum>, TargetError>;

    /// Returns what this target can do beyond the above.
    fn capabilities(&self) -> Capabilities<'_>;
}

/// A demand of a plan that a database may be unable to meet; see [`Target::admit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    /// To be loaded. The notes say what the database does not let be done in the usual way.
    Load,
    /// Districts spread over the warehouses in this way.
    Districts(Districts),
    /// Stock-Levels over several warehouses.
    FarStockLevels,
    /// These types of transactions.
    Transactions(Vec<TransactionKind>),
    /// This many sessions at the same time.
    Sessions(u32),
}

/// What a database holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseState {
    /// None of the tables.
    Empty,
    /// Some of the tables, but not made by Lydite.
    Foreign {
        /// Which.
        tables: Vec<String>,
    },
    /// A load that did not end.
    Loading {
        /// What it was to become.
        meta: DatabaseMeta,
        /// Whether ITEM is complete.
        items: bool,
        /// The warehouses that are complete.
        warehouses: Vec<WarehouseId>,
    },
    /// Loaded.
    Ready {
        /// With what.
        meta: DatabaseMeta,
    },
    /// The records of the microbenchmark.
    Micro {
        /// How many, or how many there were to be.
        meta: lydite_micro::Meta,
        /// Whether all are there; else their load did not end.
        ready: bool,
    },
    /// It holds nothing and pretends any scale (`null:`).
    AnyScale,
}

/// What a target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The family's name, as in the URL.
    pub kind: String,
    /// The server's own version.
    pub version: String,
    /// The URL, without the password.
    pub url: String,
    /// Settings that bear on the numbers, ours and the server's.
    pub settings: BTreeMap<String, String>,
    /// The isolation level of the transactions, in the database's words.
    pub isolation: String,
    /// Whether that level protects the five transactions as level 3 of clause 3.4.1 wants.
    pub isolation_is_level_3: bool,
    /// Whether it works inside this process, so that its cost is part of the client's.
    pub embedded: bool,
    /// Whether a committed transaction survives the loss of power (clause 3.5), by the server's settings.
    pub durable: bool,
    /// The kind of file system in memory (`tmpfs`, `ramfs`) that an embedded database's files lie on: then nothing
    /// survives the loss of power, whatever the settings say.
    pub in_memory: Option<&'static str>,
}

/// Whether a consistency condition holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionFinding {
    /// Which condition.
    pub condition: Condition,
    /// How many keys break it.
    pub offenders: u64,
    /// The first of them, as `w_id=3 d_id=4: …`.
    pub examples: Vec<String>,
    /// How long the evaluation took, in seconds.
    pub seconds: f64,
}

impl ConditionFinding {
    /// Whether it holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.offenders == 0
    }
}

/// See [`Target::checksums`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableChecksum {
    /// Which table.
    pub table: Table,
    /// How many rows.
    pub rows: u64,
    /// Sum of the rows' hashes, modulo 2^64.
    pub sum: u64,
}
