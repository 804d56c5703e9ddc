//! What a database under test must offer.

use crate::balances::Balances;
use crate::error::{TargetError, TxError};
use crate::replicas::{Positions, Replication};
use crate::workload::{Tpcc, Workload};
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::input::Contended;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::population::Population;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{Districts, Placement, TransactionKind, WarehouseId, named_enum};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

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
pub trait Target: Send + Sync {
    /// What it is: connects and asks.
    ///
    /// # Errors
    /// The server is not there or does not let us in.
    fn describe(&self) -> Result<Description, TargetError>;

    /// What it holds now.
    ///
    /// # Errors
    /// As [`Target::describe`].
    fn state(&self) -> Result<DatabaseState, TargetError>;

    /// Makes the empty tables, without whatever [`Target::finish_load`] can add faster afterwards, and stores `meta` with the state "loading".
    ///
    /// # Errors
    /// A table is there already, or the database refuses.
    fn create_schema(&self, meta: &DatabaseMeta) -> Result<(), TargetError>;

    /// Keeps other loads of the same tables away until what it returns is dropped, and all that was begun under it has
    /// ended: a server may go on with the work of a loader that is gone. Taken before [`Target::state`] is asked.
    ///
    /// # Errors
    /// Another load is running; or as [`Target::describe`].
    fn begin_load(&self) -> Result<Box<dyn Send>, TargetError> {
        Ok(Box::new(()))
    }

    /// What should be known of a load before it begins, one line each: what the database does not let be done in the usual
    /// way.
    ///
    /// # Errors
    /// As [`Target::describe`].
    fn load_notes(&self) -> Result<Vec<String>, TargetError> {
        Ok(Vec::new())
    }

    /// A connection that loads. Several may work at the same time, each on warehouses of its own.
    ///
    /// # Errors
    /// As [`Target::describe`].
    fn loader(&self) -> Result<Box<dyn Loader>, TargetError>;

    /// After all rows: keys, indexes, foreign keys, procedures, statistics; then stores the state "ready".
    /// `jobs` connections at most. `stage` is told what begins. May be repeated after an interruption.
    ///
    /// # Errors
    /// The database refuses (a full disk, a missing privilege, rows that break a key).
    fn finish_load(&self, jobs: usize, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError>;

    /// Refuses districts that the transactions of this target can't be played on.
    ///
    /// # Errors
    /// A warehouse has not ten of them, and that is what the target is made for; or as [`Target::describe`].
    fn check_districts(&self, _districts: &Districts) -> Result<(), TargetError> {
        Ok(())
    }

    /// Refuses Stock-Levels over several warehouses where they can't be played.
    ///
    /// # Errors
    /// They can't; or as [`Target::describe`].
    fn check_far_stock_levels(&self) -> Result<(), TargetError> {
        Ok(())
    }

    /// Refuses types of transactions that can't be played.
    ///
    /// # Errors
    /// One of them can't; or as [`Target::describe`].
    fn check_transactions(&self, _kinds: &[TransactionKind]) -> Result<(), TargetError> {
        Ok(())
    }

    /// Refuses more sessions than the database takes at the same time, as far as it tells beforehand.
    ///
    /// # Errors
    /// They are too many; or as [`Target::describe`].
    fn check_sessions(&self, _sessions: u32) -> Result<(), TargetError> {
        Ok(())
    }

    /// Where the rows of the warehouses from 1 to `warehouses` are now; none if the database does not tell, or is on one node.
    ///
    /// # Errors
    /// As [`Target::describe`]; also when it has no place for one of them.
    fn placement(&self, _warehouses: u32) -> Result<Option<Placement>, TargetError> {
        Ok(None)
    }

    /// How much data each of its nodes holds now, by a connection of its own; none if that is not known. The nodes have the
    /// names that [`Target::placement`] gives them; a database on one node, which has no placement, has that of its server.
    ///
    /// # Errors
    /// As [`Target::describe`].
    fn node_sizes(&self) -> Result<Option<Vec<NodeSize>>, TargetError> {
        Ok(None)
    }

    /// A new session for transactions.
    ///
    /// # Errors
    /// As [`Target::describe`]; also when the database is not loaded.
    fn connect(&self) -> Result<Box<dyn Session>, TargetError>;

    /// A new session for transactions that only read, on a server that may take no others. Nothing is made or renewed there.
    ///
    /// # Errors
    /// As [`Target::connect`].
    fn connect_to_read(&self) -> Result<Box<dyn Session>, TargetError> {
        self.connect()
    }

    /// What its server is to others with the same data.
    ///
    /// # Errors
    /// As [`Target::describe`]; also when there are no such others.
    fn replication(&self) -> Result<Replication, TargetError> {
        Err(TargetError::usage("such a database has no replicas"))
    }

    /// A connection that tells how far the data of its server have come; none if they do not tell.
    ///
    /// # Errors
    /// As [`Target::describe`].
    fn positions(&self) -> Result<Option<Box<dyn Positions>>, TargetError> {
        Ok(None)
    }

    /// How long a session waits for a lock before the database looks whether it waits in a ring; none if it does not tell.
    ///
    /// # Errors
    /// As [`Target::describe`].
    fn deadlock_timeout(&self) -> Result<Option<Duration>, TargetError> {
        Ok(None)
    }

    /// The engines that have WAREHOUSE and DISTRICT, in this order, if these are two: then transactions over both tables are
    /// transactions over both engines. None if all is in one, or that is not known.
    ///
    /// # Errors
    /// As [`Target::describe`].
    fn engines_of_balances(&self) -> Result<Option<[String; 2]>, TargetError> {
        Ok(None)
    }

    /// A new session for the function tests, on what TPC-C's load has made. Where the database lets it be said, a statement
    /// that waits longer than `longest_wait` for a lock ends.
    ///
    /// # Errors
    /// As [`Target::connect`]; also when the target has no transactions but TPC-C's own.
    fn connect_balances(&self, _longest_wait: Duration) -> Result<Box<dyn Session<Balances>>, TargetError> {
        Err(TargetError::usage(
            "this target plays TPC-C's five transactions and no others, and the function tests need two of their own",
        ))
    }

    /// Drops whatever has the name of one of the nine tables, of the microbenchmark's, or of Lydite's own, whoever made
    /// it.
    ///
    /// # Errors
    /// The database refuses.
    fn reset(&self) -> Result<(), TargetError>;

    /// Evaluates consistency conditions, all on one snapshot where the database can. `done` is told each finding
    /// as it comes.
    ///
    /// # Errors
    /// The database fails; a condition that does not hold is a finding, not an error.
    fn check(
        &self,
        conditions: &[Condition],
        done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError>;

    /// Of a key-value store: tries its functions one by one on a database that is empty, and leaves it empty. The answer is what
    /// was tried, or what is wrong with it; none for others.
    fn functions(&self) -> Option<Result<String, TargetError>> {
        None
    }

    /// Has the database give up the checks, keys and indexes that other threads are waiting for, and begins no more of them:
    /// it would go on with the statement at hand though nobody waits for it any more.
    fn stop_work(&self) {}

    /// True if the server answers a new connection, be it with an error. Always true without a server, and where all requests
    /// have timeouts of their own. Waits for no other request of this target.
    fn answers(&self) -> bool {
        true
    }

    /// A checksum of each table that does not depend on the order of the rows, nor on how the database stores
    /// them: equal rows in different databases give equal sums. Of points in time only whether they are there
    /// counts, since the database's clock sets them.
    ///
    /// # Errors
    /// The database fails.
    fn checksums(&self) -> Result<Vec<TableChecksum>, TargetError>;
}

/// One connection to the database under test, for the transactions of a workload.
pub trait Session<W: Workload = Tpcc>: Send {
    /// Runs one transaction to its end.
    ///
    /// # Errors
    /// See [`TxError`]. After [`TxError::Unavailable`] the session is of no more use; after any other it is
    /// ready for the next transaction, unless that says at once that the connection is lost.
    fn execute(&mut self, transaction: &W::Transaction) -> Result<W::Outcome, TxError>;

    /// Has `asked` called each time just before a New-Order asks for the row of this table that others may want to change as
    /// well: its first stock row, or its district. Whether the session can tell; one that can't sends all of the transaction
    /// together.
    fn watch(&mut self, _row: Contended, _asked: Arc<dyn Fn() + Send + Sync>) -> bool {
        false
    }

    /// The session's connection as one that tells how far the data of its server have come, if it does.
    fn positions(&mut self) -> Option<&mut dyn Positions> {
        None
    }

    /// Runs one transaction up to where the session can take the next: with pipelined commit that is before the
    /// commit is durable. Whoever sent it must not be told before it is.
    ///
    /// # Errors
    /// As [`Session::execute`].
    fn submit(&mut self, transaction: &W::Transaction) -> Result<Submitted<W>, TxError> {
        self.execute(transaction).map(Submitted::Done)
    }
}

/// What came of [`Session::submit`].
pub enum Submitted<W: Workload = Tpcc> {
    /// It is done.
    Done(W::Outcome),
    /// It is committed, and on its way to stable storage.
    Committing(W::Outcome, Box<dyn Commit>),
}

impl<W: Workload> fmt::Debug for Submitted<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(outcome) => f.debug_tuple("Done").field(outcome).finish(),
            Self::Committing(outcome, _) => {
                f.debug_tuple("Committing").field(outcome).finish_non_exhaustive()
            }
        }
    }
}

/// A commit on its way to stable storage.
pub trait Commit: Send {
    /// Calls `done` when it is there, or when that is given up: at once, or later on a thread of the database, so it
    /// must be short.
    fn on_done(self: Box<Self>, done: Box<dyn FnOnce(Result<(), TxError>) + Send>);
}

/// One connection that loads rows.
pub trait Loader: Send {
    /// Loads all rows of a unit, whole or not at all.
    ///
    /// # Errors
    /// The database refuses or is lost; nothing of this unit is stored then.
    fn load(
        &mut self,
        unit: LoadUnit,
        population: &Population,
        progress: &LoadProgress,
    ) -> Result<(), TargetError>;
}

/// What is loaded whole or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadUnit {
    /// ITEM, which belongs to no warehouse.
    Items,
    /// All rows of one warehouse.
    Warehouse(WarehouseId),
}

impl LoadUnit {
    /// The tables whose rows it holds, referred ones before those that refer to them.
    #[must_use]
    pub fn tables(self) -> &'static [Table] {
        match self {
            Self::Items => &[Table::Item],
            Self::Warehouse(_) => &Table::OF_WAREHOUSE,
        }
    }

    /// The warehouse; 0, which is none, for ITEM.
    pub(crate) fn warehouse(self) -> WarehouseId {
        match self {
            Self::Items => WarehouseId(0),
            Self::Warehouse(id) => id,
        }
    }
}

impl fmt::Display for LoadUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Items => f.write_str("ITEM"),
            Self::Warehouse(id) => write!(f, "warehouse {id}"),
        }
    }
}

/// Counts what loaders have handed to the database. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct LoadProgress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    rows: AtomicU64,
    bytes: AtomicU64,
    stop: std::sync::atomic::AtomicBool,
}

impl LoadProgress {
    /// Adds rows and the bytes in which they were sent.
    pub fn add(&self, rows: u64, bytes: u64) {
        self.0.rows.fetch_add(rows, Ordering::Relaxed);
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Rows so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.0.rows.load(Ordering::Relaxed)
    }

    /// Bytes so far, in the form in which they were sent.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Asks the loaders to give up soon; what they have not finished is rolled back.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// Whether [`LoadProgress::stop`] was called.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }
}

/// See [`Target::node_sizes`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSize {
    /// The node.
    pub node: String,
    /// The bytes of the tables and their indexes there, by the database's own count.
    pub bytes: u64,
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
