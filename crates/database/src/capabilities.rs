//! What only some databases under test can do.

use crate::balances::Balances;
use crate::error::TargetError;
use crate::micro::MicroTarget;
use crate::replication::{Positions, Replication};
use crate::session::Session;
use lydite_tpcc::Placement;
use std::time::Duration;

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
    /// As [`crate::Target::describe`]; also when it has no place for one of them.
    fn placement(&self, warehouses: u32) -> Result<Option<Placement>, TargetError>;

    /// Returns how much data each node holds now, by a connection of its own; none if that is not known. The nodes have
    /// the names that [`Nodes::placement`] gives them; a database on one node, which has no placement, has that of its
    /// server.
    ///
    /// # Errors
    /// As [`crate::Target::describe`].
    fn sizes(&self) -> Result<Option<Vec<NodeSize>>, TargetError> {
        Ok(None)
    }
}

/// A server of a primary and its replicas.
pub trait Replicated: Send + Sync {
    /// Returns the part that this server plays.
    ///
    /// # Errors
    /// As [`crate::Target::describe`].
    fn replication(&self) -> Result<Replication, TargetError>;

    /// Opens a connection that tells how far the data of its server have come; none if they do not tell.
    ///
    /// # Errors
    /// As [`crate::Target::describe`].
    fn positions(&self) -> Result<Option<Box<dyn Positions>>, TargetError>;

    /// Opens a session for transactions that only read, on a server that may take no others. Nothing is made or renewed
    /// there.
    ///
    /// # Errors
    /// As [`crate::Target::connect`].
    fn connect_to_read(&self) -> Result<Box<dyn Session>, TargetError>;
}

/// A target that plays the transactions of the function tests.
pub trait BalanceTarget: Send + Sync {
    /// Opens a session for them, on what TPC-C's load has made. Where the database lets it be said, a statement that waits
    /// longer than `longest_wait` for a lock ends.
    ///
    /// # Errors
    /// As [`crate::Target::connect`]; also when this database turns out to play TPC-C's own transactions only.
    fn connect_balances(&self, longest_wait: Duration) -> Result<Box<dyn Session<Balances>>, TargetError>;

    /// Returns how long a session waits for a lock before the database looks for a deadlock; none if it does not tell.
    ///
    /// # Errors
    /// As [`crate::Target::describe`].
    fn deadlock_timeout(&self) -> Result<Option<Duration>, TargetError> {
        Ok(None)
    }

    /// Returns the engines that have WAREHOUSE and DISTRICT, in this order, if these are two: then transactions over both
    /// tables are transactions over both engines. None if all is in one, or that is not known.
    ///
    /// # Errors
    /// As [`crate::Target::describe`].
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
    /// A function is wrong, or as [`crate::Target::describe`].
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

/// The data of one node; see [`Nodes::sizes`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSize {
    /// The node.
    pub node: String,
    /// Bytes of the tables and their indexes there, by the database's own count.
    pub bytes: u64,
}
