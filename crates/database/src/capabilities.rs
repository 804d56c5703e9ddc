//! Abilities that only some databases under test have.

use crate::balances::Balances;
use crate::endpoints::Endpoints;
use crate::error::{TargetError, TargetErrorKind};
use crate::held::Held;
use crate::leaving::Leaving;
use crate::lists::ListTarget;
use crate::micro::MicroTarget;
use crate::observe::{Configuration, Observe, Observer};
use crate::replication::{Positions, Replication};
use crate::session::Session;
use crate::shapes::{TableShape, TableShapes};
use crate::sql::foreign::Foreign;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{Placement, WarehouseId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Abilities of some databases, each as an object. A target around another target names every field, so that it can't
/// forget one.
#[derive(Clone, Copy, Default)]
pub struct Capabilities<'a> {
    /// Nodes, if the database may have several.
    pub nodes: Option<&'a dyn Nodes>,
    /// Endpoints, if sessions may be spread over several servers.
    pub endpoints: Option<&'a Arc<Endpoints>>,
    /// Replication, if the database has a primary and replicas.
    pub replication: Option<&'a dyn Replicated>,
    /// The transactions of the function tests.
    pub balances: Option<&'a dyn BalanceTarget>,
    /// TPC-C's transactions that stop at points of their own.
    pub held: Option<&'a dyn HeldTarget>,
    /// The microbenchmark.
    pub micro: Option<&'a dyn MicroTarget>,
    /// The lists and registers of isolation checks.
    pub lists: Option<&'a dyn ListTarget>,
    /// The functions of a key-value store, one by one.
    pub store: Option<&'a dyn StoreTest>,
    /// Work that continues when nobody waits for it any more.
    pub work: Option<&'a dyn StoppableWork>,
    /// A server that may freeze or vanish.
    pub server: Option<&'a dyn Server>,
    /// A program that Lydite started, and may kill.
    pub program: Option<&'a dyn Program>,
    /// Statistics that the database reports about itself.
    pub observe: Option<&'a dyn Observe>,
    /// Tables that another program made.
    pub foreign: Option<&'a dyn Foreign>,
    /// Sizes and parts of the tables.
    pub shapes: Option<&'a dyn TableShapes>,
    /// The list of what Lydite has made, and its removal.
    pub leaving: Option<&'a dyn Leaving>,
}

impl<'a> Capabilities<'a> {
    /// Returns the microbenchmark.
    ///
    /// # Errors
    /// The target does not support it.
    pub fn micro(self) -> Result<&'a dyn MicroTarget, TargetError> {
        self.micro.ok_or_else(|| {
            TargetError::usage("this target does not play the microbenchmark: leave out --workload micro")
        })
    }

    /// Returns the access to tables that another program made.
    ///
    /// # Errors
    /// The database has no SQL tables.
    pub fn foreign(self) -> Result<&'a dyn Foreign, TargetError> {
        self.foreign.ok_or_else(|| {
            TargetError::usage(
                "--foreign needs a database with SQL tables: PostgreSQL, MySQL, MariaDB, SQLite or one alike",
            )
        })
    }

    /// Returns the replication.
    ///
    /// # Errors
    /// The database has none.
    pub fn replication(self) -> Result<&'a dyn Replicated, TargetError> {
        self.replication.ok_or_else(|| TargetError::usage("such a database has no replicas"))
    }

    /// Returns the transactions of the function tests.
    ///
    /// # Errors
    /// The target does not support them.
    pub fn balances(self) -> Result<&'a dyn BalanceTarget, TargetError> {
        self.balances.ok_or_else(|| {
            TargetError::usage(
                "this target plays TPC-C's five transactions and no others, and the function tests need two of their own",
            )
        })
    }

    /// Returns the lists and registers of isolation checks.
    ///
    /// # Errors
    /// The target does not support them.
    pub fn lists(self) -> Result<&'a dyn ListTarget, TargetError> {
        self.lists.ok_or_else(|| {
            TargetError::usage("this target has no lists and registers for --isolation: leave it out")
        })
    }

    /// Returns the transactions that stop at points of their own.
    ///
    /// # Errors
    /// The target does not support them.
    pub fn held(self) -> Result<&'a dyn HeldTarget, TargetError> {
        self.held.ok_or_else(|| {
            TargetError::usage(
                "Lydite can't stop the transactions of this target before their commit: its driver plays them as a whole",
            )
        })
    }

    /// Returns the program that Lydite started.
    ///
    /// # Errors
    /// The target has none.
    pub fn program(self) -> Result<&'a dyn Program, TargetError> {
        self.program.ok_or_else(|| TargetError::usage("Lydite has started no program for this target"))
    }

    /// Returns the list of what Lydite has made, and its removal.
    ///
    /// # Errors
    /// The target stores nothing.
    pub fn leaving(self) -> Result<&'a dyn Leaving, TargetError> {
        self.leaving.ok_or_else(|| TargetError::usage("this target stores nothing that could be dropped"))
    }

    /// Returns the functions of a key-value store.
    ///
    /// # Errors
    /// The target is no such store.
    pub fn store(self) -> Result<&'a dyn StoreTest, TargetError> {
        self.store.ok_or_else(|| TargetError::usage("this target is no key-value store"))
    }

    /// Returns the nodes of the warehouses from 1 to `warehouses`. `None` on one node, or if the database does not
    /// report them.
    ///
    /// # Errors
    /// See [`Nodes::placement`].
    pub fn placement(self, warehouses: u32) -> Result<Option<Placement>, TargetError> {
        self.nodes.map_or(Ok(None), |nodes| nodes.placement(warehouses))
    }

    /// Returns the names of the endpoints as nodes; see [`Nodes::of_endpoints`].
    ///
    /// # Errors
    /// See [`Nodes::of_endpoints`].
    pub fn nodes_of_endpoints(self) -> Result<Vec<String>, TargetError> {
        self.nodes.map_or(Ok(Vec::new()), Nodes::of_endpoints)
    }

    /// Returns the bytes on each node; `None` if they are not known.
    ///
    /// # Errors
    /// See [`Nodes::sizes`].
    pub fn node_sizes(self) -> Result<Option<Vec<NodeSize>>, TargetError> {
        self.nodes.map_or(Ok(None), Nodes::sizes)
    }

    /// Returns sizes and parts of the tables; empty if they are not known.
    ///
    /// # Errors
    /// See [`TableShapes::shapes`].
    pub fn shapes(self) -> Result<Vec<TableShape>, TargetError> {
        self.shapes.map_or(Ok(Vec::new()), TableShapes::shapes)
    }

    /// Moves warehouses to a shard; see [`Nodes::move_warehouses`].
    ///
    /// # Errors
    /// See [`Nodes::move_warehouses`].
    pub fn move_warehouses(self, warehouses: &[WarehouseId], shard: usize) -> Result<Moved, TargetError> {
        self.nodes.ok_or_else(no_moves)?.move_warehouses(warehouses, shard)
    }

    /// Stops work that the database would continue; see [`StoppableWork::stop_work`].
    pub fn stop_work(self) {
        if let Some(work) = self.work {
            work.stop_work();
        }
    }

    /// Returns the servers that can be observed, the main one first; see [`Observe::servers`].
    pub fn observed_servers(self) -> Vec<String> {
        self.observe.map(Observe::servers).unwrap_or_default()
    }

    /// Opens an observer of a server; `None` if it has nothing to report.
    ///
    /// # Errors
    /// See [`Observe::observer`].
    pub fn observer(self, server: usize) -> Result<Option<Box<dyn Observer>>, TargetError> {
        self.observe.map_or(Ok(None), |observe| observe.observer(server))
    }

    /// Returns the configuration of the database, as far as it is known.
    ///
    /// # Errors
    /// See [`Observe::configuration`].
    pub fn configuration(self) -> Result<Configuration, TargetError> {
        self.observe.map_or_else(|| Ok(Configuration::default()), Observe::configuration)
    }

    /// True if the server answers a new connection, or there is no server to ask.
    #[must_use]
    pub fn answers(self) -> bool {
        self.server.is_none_or(Server::answers)
    }
}

/// Takes a query that the database rejects for an unknown answer, and adds a warning to `warnings`. It is for placement,
/// sizes and settings, which a command can do without: an account may lack the right to read a catalog, or a server the
/// catalog itself. `what` is the subject of the warning, such as `the nodes of the warehouses`.
///
/// # Errors
/// The database is not reachable, or the user ended the wait.
pub fn or_unknown<T: Default>(
    what: &str,
    answer: Result<T, TargetError>,
    warnings: &mut Vec<String>,
) -> Result<T, TargetError> {
    match answer {
        Err(TargetError { kind: TargetErrorKind::Database, message }) => {
            warnings.push(format!("Not known: {what}: {message}"));
            Ok(T::default())
        }
        answer => answer,
    }
}

/// The nodes of a database that may have several.
pub trait Nodes: Send + Sync {
    /// Returns the nodes that hold the rows of the warehouses from 1 to `warehouses` now. `None` if the database does
    /// not report them, or is on one node.
    ///
    /// # Errors
    /// See [`crate::Target::describe`]; also if the database has no place for one of the warehouses.
    fn placement(&self, warehouses: u32) -> Result<Option<Placement>, TargetError>;

    /// Returns the size of the data on each node now, over a connection of its own; `None` if it is not known. Nodes
    /// are named as by [`Nodes::placement`]. A database on one node, which has no placement, has the name of its
    /// server.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn sizes(&self) -> Result<Option<Vec<NodeSize>>, TargetError> {
        Ok(None)
    }

    /// Returns the names of the endpoints as nodes of [`Nodes::placement`], in their order; empty if not known.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn of_endpoints(&self) -> Result<Vec<String>, TargetError> {
        Ok(Vec::new())
    }

    /// Moves all rows of some warehouses to a shard, counted from 0, while others may use the database.
    ///
    /// # Errors
    /// See [`crate::Target::describe`]; also if there is no such warehouse or shard, or the database does not support
    /// moves.
    fn move_warehouses(&self, _warehouses: &[WarehouseId], _shard: usize) -> Result<Moved, TargetError> {
        Err(no_moves())
    }
}

/// A move of warehouses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Number of the warehouses that moved; the others were there.
    pub warehouses: usize,
    /// Time until the move had locked the tables.
    pub waited: Duration,
    /// Time from the locks to the end of the commit. Transactions of others wait meanwhile.
    pub copied: Duration,
}

fn no_moves() -> TargetError {
    TargetError::usage("Lydite moves warehouses only between shards of PostgreSQL (postgres://…?shards=…)")
}

/// A server of a database with a primary and replicas.
pub trait Replicated: Send + Sync {
    /// Returns the role of this server.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn replication(&self) -> Result<Replication, TargetError>;

    /// Opens a connection that reports the position of its server's data; `None` if the servers do not report it.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn positions(&self) -> Result<Option<Box<dyn Positions>>, TargetError>;

    /// Opens a session for read-only transactions, on a server that may accept no others. Creates and renews nothing
    /// there.
    ///
    /// # Errors
    /// See [`crate::Target::connect`].
    fn connect_to_read(&self) -> Result<Box<dyn Session>, TargetError>;
}

/// Engine of each of the nine tables: a storage engine, or the server of a foreign table.
pub type TableEngines = BTreeMap<Table, String>;

/// Returns the engines if they are known for all nine tables.
#[must_use]
pub fn engines_of_all(engines: impl IntoIterator<Item = (String, String)>) -> Option<TableEngines> {
    let known: BTreeMap<String, String> = engines.into_iter().collect();
    Table::ALL.into_iter().map(|table| Some((table, known.get(table.name())?.clone()))).collect()
}

/// A target that supports the transactions of the function tests.
pub trait BalanceTarget: Send + Sync {
    /// Opens a session for them, on the tables that TPC-C's load has made. If the database has such a setting, a
    /// statement ends when it waits longer than `longest_wait` for a lock.
    ///
    /// # Errors
    /// See [`crate::Target::connect`]; also if this database turns out to support TPC-C's own transactions only.
    fn connect_balances(&self, longest_wait: Duration) -> Result<Box<dyn Session<Balances>>, TargetError>;

    /// Returns the time for which a session waits for a lock before the database looks for a deadlock; `None` if the
    /// database does not report it.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn deadlock_timeout(&self) -> Result<Option<Duration>, TargetError> {
        Ok(None)
    }

    /// Returns the engine of each of the nine tables; `None` if the database does not report it.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn table_engines(&self) -> Result<Option<TableEngines>, TargetError> {
        Ok(None)
    }

    /// Returns the engines of WAREHOUSE and DISTRICT, in this order, if they differ: then transactions over both tables
    /// are cross-engine. `None` if all tables are in one engine, or if that is not known.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn engines(&self) -> Result<Option<[String; 2]>, TargetError> {
        let engines = self.table_engines()?;
        Ok(engines.and_then(|mut engines| {
            let both = [engines.remove(&Table::Warehouse)?, engines.remove(&Table::District)?];
            (both[0] != both[1]).then_some(both)
        }))
    }
}

/// A target whose transactions can stop at points of their own, for the ACID tests.
pub trait HeldTarget: Send + Sync {
    /// Opens a session for them. It sends statement by statement, whatever the mode of the URL.
    ///
    /// # Errors
    /// See [`crate::Target::connect`]; also if this database turns out to play its transactions as a whole.
    fn connect_held(&self) -> Result<Box<dyn Session<Held>>, TargetError>;

    /// Returns the number of sessions that wait for a lock now, by the database's own view of locks; `None` if it has no
    /// such view.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn lock_waits(&self) -> Result<Option<u64>, TargetError> {
        Ok(None)
    }
}

/// A key-value store whose functions can be tested one by one.
pub trait StoreTest: Send + Sync {
    /// Tests the functions on an empty database and leaves it empty. Returns a list of the tested functions; `None` for
    /// a driver that turns out to be no store.
    ///
    /// # Errors
    /// A function is wrong; see also [`crate::Target::describe`].
    fn try_functions(&self) -> Result<Option<String>, TargetError>;
}

/// A program that Lydite started for the target. Later requests start it again.
pub trait Program: Send + Sync {
    /// Kills all processes of the program at once, with those that they started, so that none can write what it still
    /// holds. Returns their number when they have ended.
    ///
    /// # Errors
    /// A process has not ended.
    fn kill(&self) -> Result<usize, TargetError>;
}

/// A database that would continue a statement though nobody waits for it any more.
pub trait StoppableWork: Send + Sync {
    /// Stops the checks, keys and indexes that other threads wait for, and begins no more of them.
    fn stop_work(&self);
}

/// A server that may freeze or vanish.
pub trait Server: Send + Sync {
    /// True if the server answers a new connection, even with an error. Does not wait for other requests of this
    /// target.
    fn answers(&self) -> bool;
}

/// Size of the data on one node; see [`Nodes::sizes`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSize {
    /// Name of the node.
    pub node: String,
    /// Bytes of the tables and their indexes on the node, as the database reports them.
    pub bytes: u64,
}
