//! What a database under test must offer.

use crate::balances::Balances;
use crate::error::{TargetError, TxError};
use crate::micro::MicroTarget;
use crate::replication::{Positions, Replication};
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

/// What only some databases can do, each as an object. A target around a target names every field, so that it can't
/// forget one.
#[derive(Clone, Copy, Default)]
pub struct Capabilities<'a> {
    /// Its nodes, where it may have several.
    pub nodes: Option<&'a dyn Nodes>,
    /// Replication, where it has a primary and replicas.
    pub replication: Option<&'a dyn Replicated>,
    /// The transactions of the function tests.
    pub balances: Option<&'a dyn BalanceTarget>,
    /// The microbenchmark.
    pub micro: Option<&'a dyn MicroTarget>,
    /// The functions of a key-value store, one by one.
    pub store: Option<&'a dyn StoreTest>,
    /// Work that goes on when nobody waits for it any more.
    pub work: Option<&'a dyn StoppableWork>,
    /// A server that may freeze or vanish.
    pub server: Option<&'a dyn Server>,
}

impl<'a> Capabilities<'a> {
    /// The microbenchmark.
    ///
    /// # Errors
    /// The target does not play it.
    pub fn micro(self) -> Result<&'a dyn MicroTarget, TargetError> {
        self.micro.ok_or_else(|| {
            TargetError::usage("this target does not play the microbenchmark: leave out --workload micro")
        })
    }

    /// Replication.
    ///
    /// # Errors
    /// Such a database has none.
    pub fn replication(self) -> Result<&'a dyn Replicated, TargetError> {
        self.replication.ok_or_else(|| TargetError::usage("such a database has no replicas"))
    }

    /// The transactions of the function tests.
    ///
    /// # Errors
    /// The target does not play them.
    pub fn balances(self) -> Result<&'a dyn BalanceTarget, TargetError> {
        self.balances.ok_or_else(|| {
            TargetError::usage(
                "this target plays TPC-C's five transactions and no others, and the function tests need two of their own",
            )
        })
    }

    /// The functions of a key-value store.
    ///
    /// # Errors
    /// The target is no such store.
    pub fn store(self) -> Result<&'a dyn StoreTest, TargetError> {
        self.store.ok_or_else(|| TargetError::usage("this target is no key-value store"))
    }

    /// Where the warehouses from 1 to `warehouses` are; none on one node, or where the database does not tell.
    ///
    /// # Errors
    /// As [`Nodes::placement`].
    pub fn placement(self, warehouses: u32) -> Result<Option<Placement>, TargetError> {
        self.nodes.map_or(Ok(None), |nodes| nodes.placement(warehouses))
    }

    /// Bytes on each node; none where that is not known.
    ///
    /// # Errors
    /// As [`Nodes::sizes`].
    pub fn node_sizes(self) -> Result<Option<Vec<NodeSize>>, TargetError> {
        self.nodes.map_or(Ok(None), Nodes::sizes)
    }

    /// Has the database give up work that it would go on with; see [`StoppableWork::stop_work`].
    pub fn stop_work(self) {
        if let Some(work) = self.work {
            work.stop_work();
        }
    }

    /// True if the server answers a new connection, or there is no server to ask.
    #[must_use]
    pub fn answers(self) -> bool {
        self.server.is_none_or(Server::answers)
    }
}

/// The nodes of a database that may have several.
pub trait Nodes: Send + Sync {
    /// Returns where the rows of the warehouses from 1 to `warehouses` are now; none if the database does not tell, or is
    /// on one node.
    ///
    /// # Errors
    /// As [`Target::describe`]; also when it has no place for one of them.
    fn placement(&self, warehouses: u32) -> Result<Option<Placement>, TargetError>;

    /// Returns how much data each node holds now, by a connection of its own; none if that is not known. The nodes have
    /// the names that [`Nodes::placement`] gives them; a database on one node, which has no placement, has that of its
    /// server.
    ///
    /// # Errors
    /// As [`Target::describe`].
    fn sizes(&self) -> Result<Option<Vec<NodeSize>>, TargetError> {
        Ok(None)
    }
}

/// A server of a primary and its replicas.
pub trait Replicated: Send + Sync {
    /// Returns the part that this server plays.
    ///
    /// # Errors
    /// As [`Target::describe`].
    fn replication(&self) -> Result<Replication, TargetError>;

    /// Opens a connection that tells how far the data of its server have come; none if they do not tell.
    ///
    /// # Errors
    /// As [`Target::describe`].
    fn positions(&self) -> Result<Option<Box<dyn Positions>>, TargetError>;

    /// Opens a session for transactions that only read, on a server that may take no others. Nothing is made or renewed
    /// there.
    ///
    /// # Errors
    /// As [`Target::connect`].
    fn connect_to_read(&self) -> Result<Box<dyn Session>, TargetError>;
}

/// A target that plays the transactions of the function tests.
pub trait BalanceTarget: Send + Sync {
    /// Opens a session for them, on what TPC-C's load has made. Where the database lets it be said, a statement that waits
    /// longer than `longest_wait` for a lock ends.
    ///
    /// # Errors
    /// As [`Target::connect`]; also when this database turns out to play TPC-C's own transactions only.
    fn connect_balances(&self, longest_wait: Duration) -> Result<Box<dyn Session<Balances>>, TargetError>;

    /// Returns how long a session waits for a lock before the database looks for a deadlock; none if it does not tell.
    ///
    /// # Errors
    /// As [`Target::describe`].
    fn deadlock_timeout(&self) -> Result<Option<Duration>, TargetError> {
        Ok(None)
    }

    /// Returns the engines that have WAREHOUSE and DISTRICT, in this order, if these are two: then transactions over both
    /// tables are transactions over both engines. None if all is in one, or that is not known.
    ///
    /// # Errors
    /// As [`Target::describe`].
    fn engines(&self) -> Result<Option<[String; 2]>, TargetError> {
        Ok(None)
    }
}

/// A key-value store whose functions can be tried one by one.
pub trait StoreTest: Send + Sync {
    /// Tries them on a database that is empty, and leaves it empty. The answer is a list of what was tried; none for a
    /// driver that turns out to be no store.
    ///
    /// # Errors
    /// A function is wrong, or as [`Target::describe`].
    fn try_functions(&self) -> Result<Option<String>, TargetError>;
}

/// A database that would go on with a statement though nobody waits for it any more.
pub trait StoppableWork: Send + Sync {
    /// Has the database give up the checks, keys and indexes that other threads are waiting for, and begins no more of
    /// them.
    fn stop_work(&self);
}

/// A server that may freeze or vanish.
pub trait Server: Send + Sync {
    /// True if the server answers a new connection, be it with an error. Waits for no other request of this target.
    fn answers(&self) -> bool;
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
