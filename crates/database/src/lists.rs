//! The workload of isolation checks: small transactions on lists that grow by appends, on registers, and on ranges of
//! rows. Every value is written once, so a read shows whose writes it saw.

use crate::error::TargetError;
use crate::session::Session;
use crate::workload::{Kind, Workload};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The workload of isolation checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {}

/// A key of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListKey {
    /// Place that holds the key: an index into [`ListTarget::places`], or 0.
    pub place: u32,
    /// Number of the key.
    pub number: u32,
}

/// An operation on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListOp {
    /// Reads the whole list.
    ReadList(ListKey),
    /// Appends to the list, in one step of the database.
    Append(ListKey, u64),
    /// Reads the register.
    ReadRegister(ListKey),
    /// Writes the register without reading it.
    Write(ListKey, u64),
    /// Inserts a row with the value into the range.
    Insert(ListKey, u64),
    /// Reads the values of all rows in the range by one condition on their keys, in any order.
    ReadRange(ListKey),
}

/// A transaction: operations in their order, one statement or request each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListTransaction {
    /// Operations.
    pub ops: Vec<ListOp>,
    /// True if the transaction ends by a rollback. It is then answered as aborted.
    pub rolls_back: bool,
}

impl ListTransaction {
    /// True if the transaction writes nothing.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        let reads =
            |op: &ListOp| matches!(op, ListOp::ReadList(_) | ListOp::ReadRegister(_) | ListOp::ReadRange(_));
        self.ops.iter().all(reads)
    }
}

impl Workload for Lists {
    type Transaction = ListTransaction;
    /// Values that each read returned, in the order of the reads. A register has at most one.
    type Outcome = Vec<Vec<u64>>;

    const KINDS: &'static [Kind] = &[Kind { name: "lists", title: "Lists" }];

    fn kind(_transaction: &ListTransaction) -> usize {
        0
    }
}

/// The same workload with transactions that stop before each operation and before their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldLists {}

/// A transaction with the function that is called at its stops.
#[derive(Clone, Debug)]
pub struct HeldListTransaction {
    /// The transaction.
    pub transaction: ListTransaction,
    /// The function that is called at its stops.
    pub stops: Stops,
}

/// A function that is called before each operation, with its number from 0, and before the end, with the number of
/// operations. It may block: then the transaction stays open.
#[derive(Clone)]
pub struct Stops(Arc<dyn Fn(usize) + Send + Sync>);

impl Stops {
    /// Makes stops from a function.
    pub fn new(at: impl Fn(usize) + Send + Sync + 'static) -> Self {
        Self(Arc::new(at))
    }

    /// Comes to a stop.
    pub(crate) fn reach(&self, stop: usize) {
        (self.0)(stop);
    }
}

impl fmt::Debug for Stops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stops")
    }
}

impl Workload for HeldLists {
    type Transaction = HeldListTransaction;
    type Outcome = Vec<Vec<u64>>;

    const KINDS: &'static [Kind] = Lists::KINDS;

    fn kind(_transaction: &HeldListTransaction) -> usize {
        0
    }
}

/// A database under test that can hold the keys, in tables of their own.
pub trait ListTarget: Send + Sync {
    /// Returns the names of the engines or nodes that the keys are spread over; empty if the database has one place.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn places(&self) -> Result<Vec<String>, TargetError> {
        Ok(Vec::new())
    }

    /// False if the described isolation is about single keys only: then no ranges are read.
    fn isolates_ranges(&self) -> bool {
        true
    }

    /// Creates the empty tables. After an error none of them is left.
    ///
    /// # Errors
    /// A table exists already, or the database rejects the tables.
    fn create_lists(&self) -> Result<(), TargetError>;

    /// Adds keys with empty lists to each place, before any transaction uses them. Does nothing if the database needs
    /// no such rows.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn add_keys(&self, _numbers: Range<u32>) -> Result<(), TargetError> {
        Ok(())
    }

    /// Opens a session. If the database has such a setting, a statement ends when it waits longer than `longest_wait`
    /// for a lock.
    ///
    /// # Errors
    /// See [`crate::Target::connect`].
    fn connect_lists(&self, longest_wait: Duration) -> Result<Box<dyn Session<Lists>>, TargetError>;

    /// Opens a session whose transactions stop.
    ///
    /// # Errors
    /// The target can't stop its transactions; see also [`crate::Target::connect`].
    fn connect_held_lists(&self) -> Result<Box<dyn Session<HeldLists>>, TargetError> {
        Err(TargetError::usage("Lydite can't stop the transactions of this target between their operations"))
    }

    /// Drops the tables, as far as they exist.
    ///
    /// # Errors
    /// See [`crate::Target::reset`].
    fn drop_lists(&self) -> Result<(), TargetError>;
}

/// Prefix of the name of every table.
const PREFIX: &str = "lydite_isolation_";

/// Returns the name of the table of a place: `lydite_isolation_1` of the first.
#[must_use]
pub fn table_name(place: usize) -> String {
    format!("{PREFIX}{}", place + 1)
}

/// True if a name has the form of [`table_name`], with any number.
#[must_use]
pub fn is_table_name(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Rejects a database that holds tables of an isolation check, or whatever has their names.
///
/// # Errors
/// There are some.
pub fn check_none<'a>(place: &str, names: impl IntoIterator<Item = &'a str>) -> Result<(), TargetError> {
    // A server may list them in the order of its files.
    let there: BTreeSet<&str> = names.into_iter().filter(|name| is_table_name(name)).collect();
    if there.is_empty() { Ok(()) } else { Err(exist(place, &Vec::from_iter(there).join(", "))) }
}

/// Returns the error of a database that holds what an isolation check would create.
#[must_use]
pub fn exist(place: &str, what: &str) -> TargetError {
    TargetError::usage(format!(
        "{place}: there is {what} already: another isolation check is running, or one was killed; if nobody needs that, \
         --fresh drops it"
    ))
}
