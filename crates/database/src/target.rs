//! The trait that every database under test has.

use crate::capabilities::Capabilities;
use crate::error::TargetError;
use crate::facts::{ConditionFinding, DatabaseState, Description, LedgerCounts, TableChecksum};
use crate::load::Loader;
use crate::reread::{FoundRows, HalfCounts, RowKeys};
use crate::session::Session;
use crate::written::Written;
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::{Districts, OrderId, TransactionKind, named_enum};
use std::fmt;
use std::ops::RangeInclusive;

named_enum! {
    /// Mode of sending the five transactions to an SQL database. The names are those of the command line and of
    /// results.
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

/// Number that stands for the records of the microbenchmark in [`Target::begin_run`]: warehouses begin with 1.
pub const MICRO_RECORDS: RangeInclusive<u32> = 0..=0;

/// Returns the error of [`Target::begin_run`] if another run has some of the warehouses, or the records. `other` names
/// it.
#[must_use]
pub fn run_at_work(place: &str, warehouses: &RangeInclusive<u32>, other: &str) -> TargetError {
    TargetError::usage(if *warehouses == MICRO_RECORDS {
        format!("{place}: another run of the microbenchmark is at work ({other}): wait for its end")
    } else {
        format!(
            "{place}: another run changes these warehouses ({other}): wait for its end, or choose others with \
             --set active_warehouses=FIRST-LAST"
        )
    })
}

/// A database under test. Cheap to make; it connects when it gets a request.
///
/// Every target has these methods. Their [`Capabilities`] have the methods that only some databases support.
pub trait Target: Send + Sync {
    /// Connects and describes the database.
    ///
    /// # Errors
    /// The server is away or rejects the connection.
    fn describe(&self) -> Result<Description, TargetError>;

    /// Returns the contents of the database.
    ///
    /// # Errors
    /// See [`Target::describe`].
    fn state(&self) -> Result<DatabaseState, TargetError>;

    /// Checks, before anything is changed, that the database can meet a demand of the plan. Returns notes for the user,
    /// one line each.
    ///
    /// # Errors
    /// The database can't meet it: the error says why and what to change. See also [`Target::describe`].
    fn admit(&self, demand: &Demand) -> Result<Vec<String>, TargetError>;

    /// Creates the empty tables and stores `meta` with the state "loading". Leaves out the keys and indexes that
    /// [`Target::finish_load`] builds faster afterwards. After an error none of them is left; if it can't take them back,
    /// [`Target::state`] says [`DatabaseState::Partial`].
    ///
    /// # Errors
    /// A table exists already, or the database rejects the tables.
    fn create_schema(&self, meta: &DatabaseMeta) -> Result<(), TargetError>;

    /// Keeps other loads of the same tables away until the returned value is dropped. Waits until the server has ended
    /// the work of dead loaders. Called before [`Target::state`].
    ///
    /// # Errors
    /// Another load is running; see also [`Target::describe`].
    fn begin_load(&self) -> Result<Box<dyn Send>, TargetError>;

    /// Keeps other runs on these warehouses away until the returned value is dropped. [`MICRO_RECORDS`] stands for the
    /// records of the microbenchmark. The default does nothing, for databases that have no such locks, or that only one
    /// process can open.
    ///
    /// # Errors
    /// Another run changes some of the warehouses; see also [`Target::describe`].
    fn begin_run(&self, _warehouses: &RangeInclusive<u32>) -> Result<Box<dyn Send>, TargetError> {
        Ok(Box::new(()))
    }

    /// Opens a connection that loads. Several may work at the same time, each on warehouses of its own.
    ///
    /// # Errors
    /// See [`Target::describe`].
    fn loader(&self) -> Result<Box<dyn Loader>, TargetError>;

    /// Finishes a load after all rows: makes keys, indexes, foreign keys, procedures and statistics, then stores the
    /// state "ready". Uses at most `jobs` connections. Calls `stage` with the name of each step that begins. May be
    /// repeated after an interruption.
    ///
    /// # Errors
    /// The database rejects a step (a full disk, a missing privilege, rows that break a key).
    fn finish_load(&self, jobs: usize, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError>;

    /// Notes in the database's description that these transactions are played from now on, if they are among
    /// [`lydite_tpcc::meta::Played::NOTED`]: Lydite's own conditions compare less after them. Notes that are there stay.
    ///
    /// # Errors
    /// The database fails, or is not loaded.
    fn note_played(&self, kinds: &[TransactionKind]) -> Result<(), TargetError>;

    /// Opens a session for transactions.
    ///
    /// # Errors
    /// See [`Target::describe`]; also if the database is not loaded.
    fn connect(&self) -> Result<Box<dyn Session>, TargetError>;

    /// Drops every object with a name of one of the nine tables, of the microbenchmark's tables, or of Lydite's own,
    /// whoever made it.
    ///
    /// # Errors
    /// The database rejects the drop.
    fn reset(&self) -> Result<(), TargetError>;

    /// Evaluates consistency conditions, all on one snapshot if the database supports that. Calls `done` with each
    /// finding as it comes.
    ///
    /// # Errors
    /// The database fails. A condition that does not hold is a finding, not an error.
    fn check(
        &self,
        conditions: &[Condition],
        done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError>;

    /// Splits conditions into parts. A check that may be stopped evaluates one part after the other by [`Target::check`],
    /// each in a pass of its own over the rows.
    fn passes(&self, conditions: &[Condition]) -> Vec<Vec<Condition>> {
        vec![conditions.to_vec()]
    }

    /// Returns a checksum of each table. It depends neither on the order of the rows nor on their storage: equal rows
    /// in different databases give equal sums. For points in time only their presence counts, since the database's
    /// clock sets them.
    ///
    /// # Errors
    /// The database fails.
    fn checksums(&self) -> Result<Vec<TableChecksum>, TargetError>;

    /// Counts, in these warehouses, the rows and order numbers that New-Orders, Payments and Deliveries change by one
    /// each: all on one snapshot if the database supports that.
    ///
    /// # Errors
    /// The database fails.
    fn counts(&self, warehouses: &RangeInclusive<u32>) -> Result<LedgerCounts, TargetError>;

    /// Reads the rows that New-Orders and Payments wrote in these warehouses: orders from the number `orders_from` on,
    /// none without one, and all payments; all on one snapshot if the database supports that.
    ///
    /// # Errors
    /// The database fails.
    fn written(
        &self,
        warehouses: &RangeInclusive<u32>,
        orders_from: Option<OrderId>,
    ) -> Result<Written, TargetError>;

    /// Reads the rows of these keys, all on one snapshot if the database supports that.
    ///
    /// # Errors
    /// The database fails.
    fn reread(&self, keys: &RowKeys) -> Result<FoundRows, TargetError>;

    /// Counts, in these warehouses, both sides of the transactions that may span servers, all on one snapshot if the
    /// database supports that. Each district was loaded with `loaded_orders` orders.
    ///
    /// # Errors
    /// The database fails.
    fn halves(
        &self,
        warehouses: &RangeInclusive<u32>,
        loaded_orders: OrderId,
    ) -> Result<HalfCounts, TargetError>;

    /// Returns the further abilities of this target.
    fn capabilities(&self) -> Capabilities<'_>;
}

/// A demand of a plan that a database may be unable to meet; see [`Target::admit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    /// A load. The notes name steps that the database can't do in the usual way.
    Load,
    /// The end of an interrupted load.
    Resume,
    /// This spread of districts over the warehouses.
    Districts(Districts),
    /// Stock-Levels over several warehouses.
    FarStockLevels,
    /// These types of transactions.
    Transactions(Vec<TransactionKind>),
    /// This number of sessions at the same time.
    Sessions(u32),
    /// Transactions that write, at the configured isolation level.
    Writes,
    /// Transactions that compete for one row.
    Contention,
}
