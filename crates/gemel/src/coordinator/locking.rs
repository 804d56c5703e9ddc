//! Locks of keys beside commits that do not know of them (`DESIGN.md`, "Locking reads").
//!
//! A transaction that gets a lock notes it in the lock manager, and then looks if the key is locked in its engine, by a
//! commit that may not have seen the note. A commit locks its keys in the engines, and then looks at the lock manager.
//! So one of both finds the other: the commit gives up, or the transaction waits until the commit is done.

use super::{Coordinator, Failure, Part};
use crate::error::{Conflict, Result};
use crate::ids::{KeyspaceId, Owner};
use crate::key::Key;
use crate::lock_manager::{LockHolder, Settled};
use crate::order::clock::{Broken, Clock, Timestamp};
use crate::prepared::Entry;
use crate::transaction::Transaction;
use std::iter;

impl Coordinator {
    /// Looks at a key whose lock the transaction `owner` holds, for a snapshot of the key's engine.
    pub(crate) fn settled(
        &self,
        owner: Owner,
        engine: usize,
        (keyspace, key): (KeyspaceId, &Key),
        since: Timestamp,
    ) -> Result<Settled> {
        if self.prepared.first_protected(owner.number, iter::once((engine, keyspace, key))).is_some() {
            return Ok(Settled::No);
        }
        Ok(match self.engines[engine].find_conflict(owner, keyspace, key, since)? {
            None => Settled::Current,
            Some(Conflict::Locked) => Settled::No,
            Some(_) => Settled::Newer,
        })
    }

    /// Returns who keeps a key from being settled.
    #[cold]
    pub(crate) fn unsettled_by(&self, engine: usize, keyspace: KeyspaceId, key: &Key) -> LockHolder {
        let name = self.prepared.name_of_holder(engine, keyspace, key);
        name.map_or(LockHolder::Committing, LockHolder::Prepared)
    }

    /// Returns an error if a commit panicked: what it has locked in the engines stays locked.
    pub(crate) fn check_clocks(&self) -> Result<(), Broken> {
        self.clocks().try_for_each(Clock::check)
    }

    /// Returns an error if a commit that tries to lock its keys again would fail anyway. Then it may hold its locks no
    /// more, and others may have the keys for long.
    pub(super) fn may_still_commit(&self, transaction: &Transaction, parts: &[Part]) -> Result<()> {
        self.check_clocks()?;
        self.check_age(transaction.seat)?;
        self.check_changes(transaction, parts)
    }

    /// Returns a conflict if another transaction keeps a key that this commit has locked in its engine: a prepared one that
    /// has read it, or one that holds its lock.
    #[cold]
    pub(super) fn check_kept(&self, owner: u64, parts: &[Part]) -> Result<(), Failure> {
        let keys = || {
            parts
                .iter()
                .flat_map(|part| part.writes.iter().map(|write| (part.engine, write.keyspace, &write.key)))
        };
        let protected = self.prepared.first_protected(owner, keys());
        self.none_kept(protected.or_else(|| self.locks.first_held(owner, keys())))
    }

    /// Returns a conflict if another transaction holds the lock of a key that a transaction has read and is about to
    /// protect until its decision. Its reads are protected already.
    pub(super) fn check_reads_held(&self, entry: &Entry) -> Result<(), Failure> {
        let is_read = |engine, keyspace, key: &Key| entry.reads.contain(engine, keyspace, key);
        self.none_kept(self.locks.first_held_that(entry.owner.number, is_read))
    }

    /// Returns a conflict if another transaction holds the lock of a key in a table that a transaction drops.
    pub(super) fn check_leaving(&self, owner: Owner, transaction: &Transaction) -> Result<(), Failure> {
        if transaction.ddl.is_empty() {
            return Ok(());
        }
        let is_lost = |_, keyspace, _: &Key| transaction.ddl.loses(keyspace);
        self.none_kept(self.locks.first_held_that(owner.number, is_lost))
    }

    /// Returns a conflict for a key that another transaction keeps, if one was found.
    fn none_kept(&self, found: Option<(usize, KeyspaceId)>) -> Result<(), Failure> {
        match found {
            None => Ok(()),
            Some((engine, keyspace)) => Err(self.conflict(Conflict::Locked, engine, keyspace)),
        }
    }
}
