//! The tables that a transaction makes (`DESIGN.md`, "A table and its rows").

use crate::error::{Error, Result};
use crate::ids::KeyspaceId;
use crate::keyspace::Keyspace;
use crate::log::may_wait;
use std::sync::Arc;

/// The end of new tables that do not stay.
pub(crate) trait Withdraw: Send + Sync {
    /// Takes new tables out of the catalog, so their names are free. `rows` are the keyspaces of their rows.
    fn withdraw(&self, rows: &[KeyspaceId]) -> Vec<Keyspace>;

    /// Frees the keyspaces of tables that were withdrawn.
    fn free(&self, keyspaces: &[Keyspace]);
}

/// The tables that a transaction has made. Dropping this drops them, unless the transaction has committed.
pub(crate) struct NewTables<M: Withdraw + ?Sized + 'static> {
    maker: Option<Arc<M>>,
    /// The keyspaces of their rows, in the order in which the tables were made.
    rows: Vec<KeyspaceId>,
    /// Keyspaces of tables that a rollback to a savepoint has withdrawn. They stay until the end: the commit may still
    /// validate what was read there.
    withdrawn: Vec<Keyspace>,
    /// True once the log may have the commit.
    is_decided: bool,
}

impl<M: Withdraw + ?Sized> Default for NewTables<M> {
    fn default() -> Self {
        Self { maker: None, rows: Vec::new(), withdrawn: Vec::new(), is_decided: false }
    }
}

impl<M: Withdraw + ?Sized> NewTables<M> {
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the keyspaces of the tables' rows.
    pub(crate) fn rows(&self) -> &[KeyspaceId] {
        &self.rows
    }

    /// Returns true if the transaction has made the table of this entry's keyspaces.
    pub(crate) fn have(&self, keyspaces: &[KeyspaceId]) -> bool {
        keyspaces.first().is_some_and(|rows| self.rows.contains(rows))
    }

    /// Adds a table that `maker` has made.
    pub(crate) fn add(&mut self, maker: impl FnOnce() -> Arc<M>, rows: KeyspaceId) {
        self.maker.get_or_insert_with(maker);
        self.rows.push(rows);
    }

    /// Returns the maker of the tables, if there is a table.
    pub(super) fn maker(&self) -> Option<Arc<M>> {
        self.maker.clone().filter(|_| !self.is_empty())
    }

    /// Notes if the log may have the commit.
    pub(crate) fn decide(&mut self, is_decided: bool) {
        self.is_decided = is_decided;
    }

    /// Withdraws all tables but the first ones.
    pub(crate) fn keep(&mut self, tables: usize) {
        if let Some(maker) = &self.maker
            && tables < self.rows.len()
        {
            self.withdrawn.extend(maker.withdraw(&self.rows.split_off(tables)));
        }
    }

    /// Returns an error if there is a table. `what` is what the caller wants to do with the transaction.
    pub(super) fn check_none(&self, what: &str) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "a transaction that has made a table can't {what}: commit it, or make the table before"
        )))
    }
}

impl<M: Withdraw + ?Sized> Drop for NewTables<M> {
    fn drop(&mut self) {
        let Some(maker) = self.maker.take() else { return };
        let rows = if self.is_decided { Vec::new() } else { std::mem::take(&mut self.rows) };
        let mut gone = std::mem::take(&mut self.withdrawn);
        if rows.is_empty() && gone.is_empty() {
            return;
        }
        let mut end = move || {
            gone.extend(maker.withdraw(&rows));
            maker.free(&gone);
        };
        if may_wait().is_ok() {
            return end();
        }
        // A ticket's callback must not wait for the manifest. If there is no thread, the next opening drops the tables.
        let _ = std::thread::Builder::new().name("gemel-rollback".to_owned()).spawn(end);
    }
}
