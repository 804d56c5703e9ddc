//! The view of a transaction: the keyspaces that it can use, and the snapshots at which it reads them.

use super::Transaction;
use crate::error::{Error, Result};
use crate::ids::MAX_ENGINES;
use crate::keyspace::{CatalogView, Keyspace};
use crate::options::Isolation;
use crate::order::active::Count;
use crate::order::clock::Timestamp;

impl Transaction {
    /// Returns the changes of the catalog that the transaction knows of.
    #[inline]
    pub(crate) fn catalog(&self) -> CatalogView {
        CatalogView {
            began: self.anchor,
            moves_on: self.isolation == Isolation::ReadCommitted,
            number: self.seat.number,
        }
    }

    /// Returns an error if the transaction can't use a keyspace.
    fn usable(&self, keyspace: &Keyspace) -> Result<()> {
        self.alive()?;
        if keyspace.owner != self.core.owner {
            return Err(Error::Usage(format!(
                "keyspace {:?} belongs to another database, or to an earlier opening of this one: get it from the \
                 database of the transaction",
                keyspace.name()
            )));
        }
        self.ddl.check(keyspace)
    }

    /// Returns the handle to read through: if the keyspace was moved before the transaction began, that of its new place.
    pub(super) fn readable<'k>(&self, keyspace: &'k Keyspace) -> Result<&'k Keyspace> {
        self.usable(keyspace)?;
        let keyspace = self.noted(keyspace.for_reads(self.catalog()))?;
        self.noted(keyspace.check_age(self.catalog())).map(|()| keyspace)
    }

    /// Does the same as [`Transaction::readable`], for reads and writes.
    pub(super) fn writable<'k>(&self, keyspace: &'k Keyspace) -> Result<&'k Keyspace> {
        self.usable(keyspace)?;
        if self.read_only {
            return Err(Error::Usage(format!(
                "the transaction is read-only and can't write to {:?}: begin one with Database::begin",
                keyspace.name()
            )));
        }
        let keyspace = self.noted(keyspace.for_writes(self.catalog()))?;
        self.noted(keyspace.check_age(self.catalog())).map(|()| keyspace)
    }

    /// Returns an error if a keyspace that was [`Transaction::writable`] can't be written any more, or only at another
    /// place.
    pub(super) fn still_writable(&self, keyspace: &Keyspace) -> Result<()> {
        self.alive()?;
        self.noted(keyspace.check_write(self.catalog()))
    }

    /// Returns the outcome of a read of a keyspace, or an error if the read may have missed rows or files, because the
    /// keyspace is being dropped or the snapshot has expired.
    #[inline]
    pub(super) fn confirmed<T>(&self, keyspace: &Keyspace, read: Result<T>) -> Result<T> {
        self.noted(
            keyspace.check_read(self.catalog()).and_then(|()| self.core.check_age(self.seat)).and(read),
        )
    }

    /// Returns the snapshot in an engine for the next access. The access is not of a locked key.
    pub(super) fn snapshot(&mut self, engine: usize) -> Result<Timestamp> {
        self.fixed = true;
        self.view(engine)
    }

    /// Returns the snapshot in an engine for the next access.
    pub(super) fn view(&mut self, engine: usize) -> Result<Timestamp> {
        let at = match self.isolation {
            Isolation::ReadCommitted => {
                // Writes and reads for an update that rest on an earlier snapshot are checked against all commits since.
                // The engines must not forget those commits, so the seat keeps its snapshot.
                let decided = !(self.views.is_empty()
                    && self.scanned.is_empty()
                    && self.walk.is_none()
                    && self.writes.is_empty()
                    && self.seen.is_empty());
                let anchor = if !decided {
                    self.core.refresh(self.seat)
                } else {
                    self.core.engines[0].clock().horizon()
                };
                self.noted(self.core.newest(engine, anchor))?
            }
            _ if engine == 0 => return Ok(self.anchor),
            _ => match self.others[engine] {
                Some(at) => return Ok(at),
                None => match self.noted(self.core.select(engine, self.anchor)) {
                    Ok(at) => at,
                    Err(error) => {
                        self.failed = Some(Count::Csr);
                        return Err(error);
                    }
                },
            },
        };
        if self.isolation != Isolation::ReadCommitted {
            self.others[engine] = Some(at);
            if let Some(trace) = &mut self.trace {
                trace.snapshots[engine] = Some(at);
            }
        }
        Ok(at)
    }

    /// Returns the snapshots in all engines, and none where none is selected yet.
    pub(super) fn snapshots(&self) -> [Option<Timestamp>; MAX_ENGINES] {
        let mut snapshots = self.others;
        snapshots[0] = Some(self.anchor);
        snapshots
    }

    /// Returns true if the snapshot must stay as it is. At read committed there is none that could.
    pub(crate) fn has_fixed_snapshot(&self) -> bool {
        self.fixed && self.isolation != Isolation::ReadCommitted
    }

    /// Returns the newest snapshot in an engine that the transaction can read at. It is a new one unless something else
    /// than keys that the transaction has locked rests on the old one: those have not changed in between.
    pub(super) fn newest_snapshot(&mut self, engine: usize) -> Result<Timestamp> {
        if !self.fixed && self.isolation != Isolation::ReadCommitted {
            if self.locks.is_empty() {
                // The transaction has done nothing so far. Read before the snapshot is taken, as at the begin.
                self.changes = self.core.changes_published();
            }
            self.anchor = self.core.refresh(self.seat);
            self.others = [None; MAX_ENGINES];
            let snapshots = self.snapshots();
            if let Some(trace) = &mut self.trace {
                trace.snapshots = snapshots;
            }
        }
        self.view(engine)
    }
}
