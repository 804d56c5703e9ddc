//! Catalog changes under running transactions (`DESIGN.md`, "Catalog").
//!
//! A change that takes access away from a keyspace's handles closes their gate, then counts itself, then waits for the
//! commits that have not seen the count: those that hold locks in the keyspace, or those that have drawn a timestamp. A
//! commit locks its keys and draws, then compares the count with the one at its begin. So either the commit sees the
//! change and gives up, or the change waits for it. Commits only read the count, which rarely changes: they share no
//! write.

use super::{Coordinator, Part, is_to_twin};
use crate::error::{Error, Result};
use crate::files::fail_point;
use crate::ids::KeyspaceId;
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
    pub(super) fn count_change(&self) -> u64 {
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
        // The number is counted last. A transaction that begins with it finds all gates closed.
        let born = self.changes.load(Ordering::SeqCst) + 1;
        let instead = instead
            .iter()
            .map(|keyspace| Keyspace { gate: Arc::new(Gate::born_at(born)), ..keyspace.clone() });
        let instead: Vec<Keyspace> = instead.collect();
        keyspaces.retain(|keyspace| {
            let stays = !ids.contains(&keyspace.id);
            match (standing, instead.iter().find(|newer| newer.id == keyspace.id)) {
                _ if stays => {}
                (Standing::Outdated, Some(newer)) => keyspace.gate.set_outdated(newer.clone()),
                _ => keyspace.gate.set(standing),
            }
            stays
        });
        keyspaces.extend(instead);
        self.count_change();
    }

    /// Waits until every commit that has not seen the changes so far is in each later snapshot.
    pub(crate) fn settle(&self) -> Result<()> {
        // Such a commit had drawn its timestamps when it compared the number of changes. The other engines go first: a
        // commit over both publishes in the anchor first, so later snapshots are bounded by no older one.
        for clock in self.engines.iter().rev().map(|engine| engine.clock()) {
            let drawn = clock.drawn();
            if clock.horizon() < drawn {
                fail_point("catalog.settling");
            }
            clock.wait_for(drawn)?;
        }
        Ok(())
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
        fail_point("commit.changed");
        let keyspaces = self.keyspaces.read();
        let twins = self.moves.twins();
        let moved = |id: KeyspaceId| {
            let known = keyspaces.iter().find(|keyspace| keyspace.id == id).map(Keyspace::name);
            Error::Moved(known.or_else(|| twins.name_of_gone(id)).unwrap_or_default().into())
        };
        let find = |id: KeyspaceId| {
            keyspaces.iter().find(|keyspace| keyspace.id == id).ok_or_else(|| {
                if twins.name_of_gone(id).is_some() {
                    return moved(id);
                }
                Error::Outdated(
                    "a table that the transaction used was dropped or truncated before the commit: \
                     begin a new transaction, and get the table again"
                        .into(),
                )
            })
        };
        let mut last = None;
        // Writes of one keyspace often come one after the other.
        for write in parts.iter().flat_map(|part| &part.writes) {
            if last.replace(write.keyspace) == Some(write.keyspace) {
                continue;
            }
            if is_to_twin(write) {
                // The twin may be gone, or may be in the place of its original.
                if twins.has(write.keyspace) {
                    continue;
                }
                return Err(moved(write.keyspace));
            }
            let keyspace = find(write.keyspace)?;
            keyspace.check_write()?;
            if !twins.are_followed(write.keyspace, parts) {
                return Err(moved(write.keyspace));
            }
            if keyspace.gate.born > transaction.changes {
                return Err(Error::Outdated(format!(
                    "the table of {:?} was given an index or other columns before the commit: \
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
