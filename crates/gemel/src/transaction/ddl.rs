//! The changes of the catalog that a transaction makes (`DESIGN.md`, "Changes of the catalog with rows").

use crate::error::{Error, Result};
use crate::ids::KeyspaceId;
use crate::keyspace::Keyspace;
use crate::log::may_wait;
use crate::manifest::CatalogChange;
use std::sync::Arc;

/// The end of changes that do not stay.
pub(crate) trait Withdraw: Send + Sync {
    /// Puts changes in the place of the transaction's later ones, and closes keyspaces that it has made since.
    fn withdraw(&self, change: &CatalogChange, made: &[Keyspace]);

    /// Frees keyspaces that the transaction has made. Those on disk need a manifest without them if `are_named`: one on
    /// disk may have them.
    fn free(&self, made: &[Keyspace], are_named: bool);
}

/// The changes of a transaction up to some moment.
#[derive(Clone)]
pub(crate) struct Changed {
    pub(crate) change: CatalogChange,
    /// Keyspaces of tables that the transaction has dropped or truncated. It can't use them any more.
    pub(crate) closed: Vec<KeyspaceId>,
}

/// The knowledge about the end of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It goes on, or was rolled back.
    Open,
    /// The log may have the commit.
    Unknown,
    Committed,
}

/// The changes of a transaction. Dropping this undoes them, unless the transaction has committed.
pub(crate) struct Ddl<M: Withdraw + ?Sized + 'static> {
    maker: Option<Arc<M>>,
    /// The state before the first change, and those after each one that no rollback to a savepoint has undone. Empty before
    /// the first change.
    states: Vec<Changed>,
    /// The keyspaces that the transaction has made, the mark's first. They stay until the end, also those that it has
    /// dropped again: the commit may still validate what was read there.
    made: Vec<Keyspace>,
    fate: Fate,
    /// True if the manifest on disk may have the changes.
    are_named: bool,
}

impl<M: Withdraw + ?Sized> Default for Ddl<M> {
    fn default() -> Self {
        Self { maker: None, states: Vec::new(), made: Vec::new(), fate: Fate::Open, are_named: false }
    }
}

impl<M: Withdraw + ?Sized> Ddl<M> {
    /// Returns true if the transaction changes nothing.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of changes.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.states.len().saturating_sub(1)
    }

    /// Returns the changes so far, if there is one, or was.
    pub(crate) fn now(&self) -> Option<&Changed> {
        self.states.last()
    }

    /// Returns the changes so far, if there is one.
    pub(crate) fn change(&self) -> Option<&CatalogChange> {
        self.now().filter(|_| !self.is_empty()).map(|now| &now.change)
    }

    /// Returns the mark, once there is one.
    pub(crate) fn mark(&self) -> Option<&Keyspace> {
        self.made.first()
    }

    /// Returns the keyspaces that the transaction has made, and that come with its commit.
    pub(crate) fn coming(&self) -> impl Iterator<Item = &Keyspace> {
        let comes = |id| self.change().is_some_and(|now| now.keyspaces.iter().any(|entry| entry.id == id));
        self.made.iter().filter(move |keyspace| comes(keyspace.id))
    }

    /// Returns true if writes to a keyspace have no effect: it does not outlive the commit. The mark outlives it.
    pub(crate) fn loses(&self, id: KeyspaceId) -> bool {
        self.change().is_some_and(|now| {
            let is_made = self.made.iter().skip(1).any(|keyspace| keyspace.id == id);
            now.lost.contains(&id) || (is_made && now.keyspaces.iter().all(|entry| entry.id != id))
        })
    }

    /// Returns an error if the transaction has dropped a keyspace, or truncated its table.
    #[inline]
    pub(super) fn check(&self, keyspace: &Keyspace) -> Result<()> {
        if self.is_empty() { Ok(()) } else { self.check_closed(keyspace) }
    }

    #[cold]
    fn check_closed(&self, keyspace: &Keyspace) -> Result<()> {
        if self.now().is_none_or(|now| !now.closed.contains(&keyspace.id)) {
            return Ok(());
        }
        Err(Error::Outdated(format!(
            "the transaction itself has dropped or truncated {:?}: get the table again",
            keyspace.name()
        )))
    }

    /// Notes a change that `maker` has made. `made` are the keyspaces that it has made for it.
    pub(crate) fn add(
        &mut self,
        maker: impl FnOnce() -> Arc<M>,
        now: Changed,
        made: impl IntoIterator<Item = Keyspace>,
    ) {
        self.maker.get_or_insert_with(maker);
        if self.states.is_empty() {
            self.states.push(Changed { change: CatalogChange::new(now.change.mark), closed: Vec::new() });
        }
        self.states.push(now);
        self.made.extend(made);
    }

    /// Returns the maker of the changes, if there is a change.
    pub(super) fn maker(&self) -> Option<Arc<M>> {
        self.maker.clone().filter(|_| !self.is_empty())
    }

    /// Notes what is known about the end.
    pub(crate) fn decide(&mut self, fate: Fate) {
        self.fate = fate;
    }

    /// Notes that a manifest with the changes is being written.
    pub(crate) fn name(&mut self) {
        self.are_named = true;
    }

    /// Undoes all changes but the first ones.
    pub(crate) fn keep(&mut self, changes: usize) {
        if changes >= self.len() {
            return;
        }
        self.states.truncate(changes + 1);
        let kept =
            |id| self.states.iter().any(|state| state.change.keyspaces.iter().any(|entry| entry.id == id));
        if let (Some(maker), Some(now)) = (&self.maker, self.states.last()) {
            let gone: Vec<Keyspace> =
                self.made.iter().skip(1).filter(|keyspace| !kept(keyspace.id)).cloned().collect();
            maker.withdraw(&now.change, &gone);
        }
    }

    /// Returns an error if there is a change. `what` is what the caller wants to do with the transaction.
    pub(super) fn check_none(&self, what: &str) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "a transaction that has changed the catalog can't {what}: commit it, or make the changes before"
        )))
    }
}

impl<M: Withdraw + ?Sized> Drop for Ddl<M> {
    fn drop(&mut self) {
        let Some(maker) = self.maker.take() else { return };
        let mut made = std::mem::take(&mut self.made);
        let (fate, are_named) = (self.fate, self.are_named);
        let Some(Changed { change, .. }) = self.states.pop().filter(|_| fate != Fate::Unknown) else {
            return;
        };
        if fate == Fate::Committed {
            made.retain(|keyspace| change.keyspaces.iter().all(|entry| entry.id != keyspace.id));
        }
        let end = move || {
            if fate == Fate::Open {
                maker.withdraw(&CatalogChange::new(change.mark), &made);
            }
            maker.free(&made, are_named);
        };
        if may_wait().is_ok() {
            return end();
        }
        // A ticket's callback must not wait for the manifest. If there is no thread, the next opening ends the changes.
        let _ = std::thread::Builder::new().name("gemel-rollback".to_owned()).spawn(end);
    }
}
