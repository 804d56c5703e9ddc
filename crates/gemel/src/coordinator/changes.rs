//! Catalog changes under running transactions (`DESIGN.md`, "Catalog").
//!
//! A change that takes access away from a keyspace's handles closes their gate, then counts itself, then waits for the
//! commits that hold locks in the keyspace. A commit locks its keys, then compares the count with the one at its begin.
//! So either the commit sees the change and gives up, or the change sees the commit's locks and waits. Commits only
//! read the count, which rarely changes: they share no write.

use super::{Coordinator, Part};
use crate::engine::KeyspaceId;
use crate::error::{Error, Result};
use crate::keyspace::{Gate, Keyspace, Standing};
use crate::transaction::Transaction;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

impl Coordinator {
    /// Returns the number of catalog changes so far.
    #[inline]
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Counts a change whose gates are closed already. Commits that lock a key after it give up.
    fn count_change(&self) -> u64 {
        let change = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
        // Pairs with the fence in `check_changes`.
        fence(Ordering::SeqCst);
        change
    }

    /// Sets the standing of keyspaces, and counts the change.
    pub(crate) fn change(&self, ids: &[KeyspaceId], standing: Standing) {
        let keyspaces = self.keyspaces.write();
        for keyspace in keyspaces.iter().filter(|keyspace| ids.contains(&keyspace.id)) {
            keyspace.gate.set(standing);
        }
        self.count_change();
    }

    /// Closes keyspaces for good, in favour of `instead`, which need a transaction that begins after this.
    pub(crate) fn replace(&self, ids: &[KeyspaceId], standing: Standing, instead: &[Keyspace]) {
        let mut keyspaces = self.keyspaces.write();
        keyspaces.retain(|keyspace| {
            let stays = !ids.contains(&keyspace.id);
            if !stays {
                keyspace.gate.set(standing);
            }
            stays
        });
        // The number is counted last. A transaction that begins with it finds all gates closed.
        let born = self.changes.load(Ordering::SeqCst) + 1;
        keyspaces.extend(
            instead
                .iter()
                .map(|keyspace| Keyspace { gate: Arc::new(Gate::born_at(born)), ..keyspace.clone() }),
        );
        self.count_change();
    }

    /// Returns the handle of a keyspace that is open.
    pub(crate) fn handle(&self, id: KeyspaceId) -> Option<Keyspace> {
        self.keyspaces.read().iter().find(|keyspace| keyspace.id == id).cloned()
    }

    /// Fails if a table that the transaction used has been closed since it began. The transaction holds its locks.
    #[inline]
    pub(super) fn check_changes(&self, transaction: &Transaction, parts: &[Part]) -> Result<()> {
        fence(Ordering::SeqCst);
        if self.changes() == transaction.changes { Ok(()) } else { self.check_each(transaction, parts) }
    }

    #[cold]
    fn check_each(&self, transaction: &Transaction, parts: &[Part]) -> Result<()> {
        let keyspaces = self.keyspaces.read();
        let find = |id: KeyspaceId| {
            keyspaces.iter().find(|keyspace| keyspace.id == id).ok_or_else(|| {
                Error::Usage(
                    "a table that the transaction used was dropped or truncated before the commit: \
                     begin a new transaction, and get the table again"
                        .into(),
                )
            })
        };
        let mut last = None;
        // The writes of a keyspace come one after the other.
        for write in parts.iter().flat_map(|part| &part.writes) {
            if last.replace(write.keyspace) == Some(write.keyspace) {
                continue;
            }
            let keyspace = find(write.keyspace)?;
            keyspace.check_write()?;
            if keyspace.gate.born > transaction.changes {
                return Err(Error::Usage(format!(
                    "the table of {:?} was given an index before the commit: \
                     begin a new transaction, and get the table again",
                    keyspace.name()
                )));
            }
        }
        for seen in &transaction.seen {
            if last.replace(seen.keyspace()) != Some(seen.keyspace()) {
                find(seen.keyspace())?;
            }
        }
        Ok(())
    }
}
