//! Catalog changes under running transactions (`DESIGN.md`, "Catalog").
//!
//! A change that takes access away from a keyspace's handles closes their gate, then counts itself, then waits for the
//! commits that have not seen the count: those that hold locks in the keyspace, or those that have drawn a timestamp. A
//! commit locks its keys and draws, then compares the count with the one at its begin. So either the commit sees the
//! change and gives up, or the change waits for it. Commits only read the count, which rarely changes: they share no
//! write.
//!
//! A change that makes new handles also has a place in the order of each engine, as a commit over all of them has: its
//! stamp. So each transaction has the change in all its snapshots, or in none.

use super::stamping::{Stamping, count};
use super::{Appear, CommitStamps, Coordinator, Failure, Outcome, Part, is_to_twin};
use crate::error::{Error, Result};
use crate::files::fail_point;
use crate::ids::KeyspaceId;
use crate::keyspace::{CatalogView, Gate, Keyspace, Standing};
use crate::order::clock::Timestamp;
use crate::transaction::Transaction;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// The count of a change. It is odd while a change has closed gates and is not published: see [`Coordinator::changes`].
const CHANGE: u64 = 2;

impl Coordinator {
    /// Returns the number of catalog changes so far, twice. It is odd while a change is counted and not published yet.
    #[inline]
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Returns the number of catalog changes that each later snapshot has, twice.
    #[inline]
    pub(crate) fn changes_published(&self) -> u64 {
        self.changes() & !1
    }

    /// Counts a change that makes no new handles, and whose gates are closed already. Commits that lock a key after it give
    /// up.
    pub(super) fn count_change(&self) {
        count(&self.changes, &self.locks, CHANGE);
    }

    /// Draws the stamps of a change, as those of a commit over all engines.
    pub(super) fn stamp_change(&self) -> Stamping<'_> {
        let one = self.stamping.lock();
        let (mut at, mut closes_at, mut parts) = (Timestamp::ZERO, Timestamp::ZERO, Vec::new());
        // After a panic of a commit nothing is published any more. Nobody commits then either.
        if self.check_clocks().is_ok() {
            let part = |engine| Part { engine, writes: Vec::new(), stamp: None };
            parts = (0..self.engines.len()).map(part).collect();
            // Under the latch no pair is rejected.
            let is_ordered = self.stamp_as(CommitStamps::Latched, &mut parts).is_ok();
            at = parts[0].stamp.unwrap_or_default();
            if is_ordered {
                closes_at = self.closes_at(at);
            }
        }
        Stamping {
            engines: &self.engines,
            changes: &self.changes,
            locks: &self.locks,
            at,
            closes_at,
            parts,
            is_counted: false,
            _one: one,
        }
    }

    /// Sets the standing of keyspaces, and counts the change.
    pub(crate) fn change(&self, ids: &[KeyspaceId], standing: Standing) {
        let keyspaces = self.keyspaces.write();
        for keyspace in keyspaces.iter().filter(|keyspace| ids.contains(&keyspace.id)) {
            keyspace.gate.set(standing);
        }
        self.count_change();
    }

    /// Returns the newest handles of all keyspaces, by number.
    pub(crate) fn handles(&self) -> BTreeMap<KeyspaceId, Keyspace> {
        self.keyspaces.read().iter().map(|keyspace| (keyspace.id, keyspace.clone())).collect()
    }

    /// Lets transactions use new keyspaces.
    pub(crate) fn register<'k>(&self, new: impl IntoIterator<Item = &'k Keyspace>) -> Stamping<'_> {
        let mut stamping = self.stamp_change();
        self.keyspaces.write().extend(new.into_iter().cloned());
        // It takes nothing away from anybody, so commits need not know of it.
        stamping.publish();
        stamping
    }

    /// Commits a transaction that changes the catalog: `leaving` are keyspaces that it drops.
    ///
    /// From before its validation until its end nobody else commits a write of these, and no serializable reader of
    /// theirs commits. Otherwise a row could come to a table that is dropped although the transaction has copied its
    /// rows, or a reader could commit that comes neither before the transaction nor after it.
    pub(crate) fn commit_change(
        &self,
        transaction: &mut Transaction,
        leaving: &[KeyspaceId],
        appear: Appear<'_>,
    ) -> Result<Outcome, Failure> {
        // The commit has the stamp. No other change has one in the meantime. After a panic everything stays closed.
        let _one = self.stamping.lock();
        self.set_standing(leaving, Standing::Leaving);
        // Odd until the end, so each commit looks at the keyspaces that it uses, also those of transactions that begin
        // in between.
        count(&self.changes, &self.locks, 1);
        fail_point("ddl.leaving");
        let outcome = self.commit(transaction, Some(appear));
        if outcome.is_err() {
            self.set_standing(leaving, Standing::Open);
        }
        self.changes.fetch_add(1, Ordering::SeqCst);
        outcome
    }

    /// Sets the standing of keyspaces.
    fn set_standing(&self, ids: &[KeyspaceId], standing: Standing) {
        for keyspace in self.keyspaces.write().iter().filter(|keyspace| ids.contains(&keyspace.id)) {
            keyspace.gate.set(standing);
        }
    }

    /// Closes the handles of keyspaces for good while the commit of a transaction is being published with the stamp
    /// `at`, and gives others other names.
    pub(crate) fn close_by_commit(
        &self,
        at: Timestamp,
        closing: &[(KeyspaceId, Standing)],
        names: &BTreeMap<KeyspaceId, String>,
    ) {
        let standing = |id| closing.iter().find(|(of, _)| *of == id).map(|(_, standing)| *standing);
        let mut keyspaces = self.keyspaces.write();
        close_some(&mut keyspaces, standing, at, self.closes_at(at));
        rename_some(&mut keyspaces, names);
        drop(keyspaces);
        // Nobody should wait for a key that is gone.
        self.locks.look_again();
    }

    /// Returns the first snapshot that must not use earlier handles any more after a change with the stamp `at`.
    pub(crate) fn closes_at(&self, at: Timestamp) -> Timestamp {
        // Without the registry nothing bounds a transaction's snapshots in the other engines: all may have the change.
        if self.options.csr { at } else { Timestamp::ZERO }
    }

    /// Closes the handles of keyspaces for good. Outdated, altered and tightened keyspaces get new handles; `added` are other
    /// keyspaces, which come instead of those that are dropped or truncated. All these need a transaction that begins
    /// after this. The caller drops what this returns when it holds no lock that others wait for: it publishes the change
    /// in the other engines.
    pub(crate) fn replace(&self, ids: &[KeyspaceId], standing: Standing, added: &[Keyspace]) -> Stamping<'_> {
        self.replace_each(&[(ids, standing)], added)
    }

    /// Does the same as [`Coordinator::replace`] for keyspaces that are closed in different ways.
    pub(crate) fn replace_each(
        &self,
        closing: &[(&[KeyspaceId], Standing)],
        added: &[Keyspace],
    ) -> Stamping<'_> {
        let mut stamping = self.stamp_change();
        fail_point("catalog.stamped");
        let mut keyspaces = self.keyspaces.write();
        let standing = |id| closing.iter().find(|(ids, _)| ids.contains(&id)).map(|(_, standing)| *standing);
        close_some(&mut keyspaces, standing, stamping.at, stamping.closes_at);
        keyspaces.extend(added.iter().map(|added| with(Gate::born_at(stamping.at), added)));
        stamping.count();
        // A commit that is about to be published may be waiting for this lock.
        drop(keyspaces);
        stamping.publish();
        stamping
    }

    /// Gives keyspaces other names. All handles go on, the earlier ones with the earlier names.
    pub(crate) fn rename(&self, names: &BTreeMap<KeyspaceId, String>) -> Stamping<'_> {
        let mut stamping = self.stamp_change();
        rename_some(&mut self.keyspaces.write(), names);
        stamping.publish();
        stamping
    }

    /// Lets transactions that begin after this read the keyspace of an index that was only written. The handles from
    /// before go on writing it.
    pub(crate) fn open_filled(&self, id: KeyspaceId) -> Stamping<'_> {
        let mut stamping = self.stamp_change();
        let born = stamping.at;
        for keyspace in self.keyspaces.write().iter_mut().filter(|keyspace| keyspace.id == id) {
            let gate = Arc::new(keyspace.gate.altered_at(born));
            let filled = Keyspace { gate, ..keyspace.clone() };
            keyspace.gate.close_for(Standing::Filled, born, filled.clone());
            *keyspace = filled;
        }
        // It takes nothing away from anybody, so commits need not know of it.
        stamping.publish();
        stamping
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
                    "a table or an index that the transaction used was dropped or truncated before the commit: \
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
            keyspace.check_write(CatalogView { number: transaction.seat.number, ..CatalogView::NEWEST })?;
            if !twins.are_followed(write.keyspace, parts) {
                return Err(moved(write.keyspace));
            }
            if keyspace.gate.writes_from > transaction.anchor {
                return Err(Error::Outdated(format!(
                    "the indexes of the table of {:?} changed before the commit: \
                     begin a new transaction, and get the table again",
                    keyspace.name()
                )));
            }
        }
        for seen in &transaction.seen {
            let id = seen.keyspace();
            if last.replace(id) == Some(id) {
                continue;
            }
            let keyspace = find(id)?;
            if keyspace.gate.standing() == Standing::Leaving && !transaction.ddl.loses(id) {
                return Err(keyspace.leaving());
            }
        }
        Ok(())
    }
}

/// Returns the handle of a keyspace with another gate.
fn with(gate: Gate, keyspace: &Keyspace) -> Keyspace {
    Keyspace { gate: Arc::new(gate), ..keyspace.clone() }
}

/// Gives some of the newest handles other names.
fn rename_some(keyspaces: &mut [Keyspace], names: &BTreeMap<KeyspaceId, String>) {
    for keyspace in keyspaces {
        if let Some(name) = names.get(&keyspace.id) {
            keyspace.name = name.as_str().into();
        }
    }
}

/// Closes the handles of keyspaces that `standing` knows, in the list of newest handles, by a change with the stamp
/// `born`. Those that stay open for others get newer handles.
fn close_some(
    keyspaces: &mut Vec<Keyspace>,
    standing: impl Fn(KeyspaceId) -> Option<Standing>,
    born: Timestamp,
    closes: Timestamp,
) {
    let old = keyspaces.extract_if(.., |keyspace| standing(keyspace.id).is_some()).collect::<Vec<_>>();
    for (old, standing) in old.iter().filter_map(|old| Some((old, standing(old.id)?))) {
        let gate = match standing {
            Standing::Outdated | Standing::Tightened => Gate::born_at(born),
            Standing::Altered => old.gate.altered_at(born),
            _ => {
                old.gate.close(standing, closes);
                continue;
            }
        };
        let newer = with(gate, old);
        old.gate.close_for(standing, closes, newer.clone());
        keyspaces.push(newer);
    }
}
