//! Key-value drivers: the driver is a store, and Lydite's own text of the transactions runs on it.
//!
//! Round trips are the cost. So writes wait in [`DriverTx`] until the commit, or until a read that they may affect; and
//! the first request of a transaction also begins it.

use super::channel::CallError;
use super::messages::{Clear, Entries, Get, Got, Nothing, Purpose, Reason, RefusalKind, Scan, Write, Writes};
use super::pool::{Driver, Lease};
use lydite_database::kv::store_test::hex;
use lydite_database::kv::{Access, Direction, Each, KeyRange, KvTable, Store, StoreError, StoreTx};
use lydite_database::{AbortReason, Committed, Description};
use std::sync::Arc;

/// Entries in the first request of a scan, since most scans of the transactions want one or fifteen; and most entries
/// of a later request.
const ENTRIES_FIRST: u32 = 16;
const ENTRIES_MOST: u32 = 2_048;
/// Most bytes of writes that wait for the commit.
const WAITING_MOST: usize = 4 << 20;

/// A driver as a store. See the module.
pub(super) struct DriverStore(Arc<Driver>);

impl Store for DriverStore {
    type Config = Arc<Driver>;
    type Tx<'a> = DriverTx;
    type Pending = ();

    fn place(config: &Arc<Driver>) -> String {
        config.config.place.clone()
    }

    fn describe(config: &Arc<Driver>) -> Result<Description, StoreError> {
        let unavailable = |detail| StoreError::Unavailable { committed: Committed::No, detail };
        Ok(config.describe(config.hello().map_err(unavailable)?))
    }

    fn is_there(_config: &Arc<Driver>) -> bool {
        true
    }

    fn open(config: &Arc<Driver>) -> Result<Self, StoreError> {
        Ok(Self(Arc::clone(config)))
    }

    fn begin(&self, access: Access) -> Result<DriverTx, StoreError> {
        let lease =
            self.0.lease().map_err(|detail| StoreError::Unavailable { committed: Committed::No, detail })?;
        Ok(DriverTx { lease, access, begun: false, over: false, writes: Vec::new(), waiting: 0 })
    }

    fn clear(&self, table: KvTable) -> Result<(), StoreError> {
        let mut tx = self.begin(Access::Load)?;
        match tx.lease.call::<Nothing>("clear", &Clear { table: table.name() }) {
            Ok(Nothing {}) => Ok(()),
            Err(error) if error.is_unsupported() => {
                drop(tx);
                lydite_database::kv::clear_in_batches(self, table)
            }
            Err(error) => Err(tx.failed(error)),
        }
    }

    fn settle(&self, stage: &(dyn Fn(&str) + Sync)) -> Result<(), StoreError> {
        let mut tx = self.begin(Access::Load)?;
        match tx.lease.call_watched::<Nothing>("finish", &Nothing {}, &|doing, _| stage(doing)) {
            Ok(Nothing {}) => Ok(()),
            Err(error) if error.is_unsupported() => Ok(()),
            Err(error) => Err(tx.failed(error)),
        }
    }
}

/// A transaction. See the module.
pub(super) struct DriverTx {
    lease: Lease,
    access: Access,
    /// True once the driver knows of the transaction.
    begun: bool,
    /// True once the driver has ended it, by an error or the commit.
    over: bool,
    /// Writes that have not been sent.
    writes: Vec<Write<'static>>,
    /// Bytes of these writes.
    waiting: usize,
}

impl DriverTx {
    /// Converts the error of a request. The driver has rolled the transaction back, or is lost.
    fn failed(&mut self, error: CallError) -> StoreError {
        self.over = true;
        let words = self.lease.driver().words(&error);
        match error {
            CallError::Lost(detail) => StoreError::Unavailable { committed: Committed::No, detail },
            CallError::Malformed(detail) => {
                // The state of the transaction in the driver is unknown.
                self.lease.spoiled = true;
                StoreError::Failed(detail)
            }
            CallError::Refused(refusal) => match refusal.kind {
                RefusalKind::Aborted => {
                    StoreError::Retry { reason: abort_reason(refusal.reason), detail: refusal.words() }
                }
                // Only a commit can have taken effect, and this was none.
                RefusalKind::Unavailable => {
                    StoreError::Unavailable { committed: Committed::No, detail: words }
                }
                RefusalKind::RolledBack | RefusalKind::Unsupported | RefusalKind::Fatal => {
                    StoreError::Failed(words)
                }
            },
        }
    }

    /// Returns the purpose of the transaction for its first request, else `None`.
    fn begin(&mut self) -> Option<Purpose> {
        if std::mem::replace(&mut self.begun, true) {
            return None;
        }
        Some(match self.access {
            Access::Read => Purpose::Read,
            Access::Write => Purpose::Write,
            Access::Load => Purpose::Load,
        })
    }

    fn write(&mut self, table: KvTable, key: &[u8], value: Option<Vec<u8>>) -> Result<(), StoreError> {
        self.waiting += key.len() + value.as_ref().map_or(0, Vec::len);
        self.writes.push(Write(table.name(), key.to_vec(), value));
        if self.waiting >= WAITING_MOST { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let (writes, begin) = (std::mem::take(&mut self.writes), self.begin());
        self.waiting = 0;
        match self.lease.call::<Nothing>("write", &Writes { begin, writes: &writes }) {
            Ok(Nothing {}) => Ok(()),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Returns the value that this transaction sees.
    fn get(&mut self, table: KvTable, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let name = table.name();
        // A load reads nothing, and other transactions write little before they read, so this search is short.
        if let Some(Write(_, _, value)) =
            self.writes.iter().rev().find(|write| write.1 == key && write.0 == name)
        {
            return Ok(value.clone());
        }
        let begin = self.begin();
        match self.lease.call::<Got>("get", &Get { begin, table: name, key }) {
            Ok(Got { value }) => Ok(value.map(serde_bytes::ByteBuf::into_vec)),
            Err(error) => Err(self.failed(error)),
        }
    }
}

/// Converts an abort reason of the protocol.
pub(super) fn abort_reason(reason: Option<Reason>) -> AbortReason {
    match reason {
        Some(Reason::Serialization) => AbortReason::Serialization,
        Some(Reason::Deadlock) => AbortReason::Deadlock,
        Some(Reason::LockTimeout) => AbortReason::LockTimeout,
        Some(Reason::Other) | None => AbortReason::Other,
    }
}

impl StoreTx for DriverTx {
    type Pending = ();

    fn read<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        Ok(self.get(table, key)?.map(|value| found(&value)))
    }

    fn put(&mut self, table: KvTable, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.write(table, key, Some(value.to_vec()))
    }

    fn delete(&mut self, table: KvTable, key: &[u8]) -> Result<(), StoreError> {
        self.write(table, key, None)
    }

    fn scan(
        &mut self,
        table: KvTable,
        range: KeyRange<'_>,
        direction: Direction,
        each: &mut Each<'_>,
    ) -> Result<(), StoreError> {
        if self.writes.iter().any(|write| write.0 == table.name()) {
            self.flush()?;
        }
        let (mut from, mut below) = (range.from.to_vec(), range.below.map(<[u8]>::to_vec));
        let backward = direction == Direction::Backward;
        let mut limit = ENTRIES_FIRST;
        loop {
            let begin = self.begin();
            let request =
                Scan { begin, table: table.name(), from: &from, below: below.as_deref(), backward, limit };
            let answer = self.lease.call::<Entries>("scan", &request);
            let Entries { entries } = answer.map_err(|error| self.failed(error))?;
            if entries.len() > limit as usize {
                let place = &self.lease.driver().config.place;
                let (table, count) = (table.name(), entries.len());
                let detail =
                    format!("{place}: a scan of {table} gave {count} entries, and the limit was {limit}");
                return Err(self.failed(CallError::Malformed(detail)));
            }
            let mut last: Option<&[u8]> = None;
            for (key, value) in &entries {
                let ordered =
                    last.is_none_or(|last| if backward { key[..] < *last } else { key[..] > *last });
                let within = key[..] >= *from && below.as_deref().is_none_or(|below| key[..] < *below);
                if !ordered || !within {
                    let what = if ordered { "outside of the range" } else { "not in the order of keys" };
                    let place = &self.lease.driver().config.place;
                    let (table, key) = (table.name(), hex(key));
                    let detail = format!("{place}: a scan of {table} gave the key {key}, {what}");
                    return Err(self.failed(CallError::Malformed(detail)));
                }
                if each(key, value).is_break() {
                    return Ok(());
                }
                last = Some(key);
            }
            let Some(last) = last.filter(|_| entries.len() >= limit as usize) else { return Ok(()) };
            if backward {
                below = Some(last.to_vec());
            } else {
                // The key with a zero byte appended is the next key.
                from = last.to_vec();
                from.push(0);
            }
            limit = (limit * 4).min(ENTRIES_MOST);
        }
    }

    fn commit(mut self) -> Result<(), StoreError> {
        self.over = true;
        if self.writes.is_empty() && !self.begun {
            return Ok(());
        }
        let (writes, begin) = (std::mem::take(&mut self.writes), self.begin());
        match self.lease.call::<Nothing>("commit", &Writes { begin, writes: &writes }) {
            Ok(Nothing {}) => Ok(()),
            // The commit was sent, and its outcome is unknown.
            Err(CallError::Lost(detail)) => {
                Err(StoreError::Unavailable { committed: Committed::Unknown, detail })
            }
            Err(CallError::Malformed(detail)) => {
                self.lease.spoiled = true;
                Err(StoreError::Unavailable { committed: Committed::Unknown, detail })
            }
            Err(CallError::Refused(refusal)) if refusal.kind == RefusalKind::Unavailable => {
                let detail = self.lease.driver().words(&CallError::Refused(refusal.clone()));
                Err(StoreError::Unavailable { committed: refusal.committed(), detail })
            }
            Err(error) => Err(self.failed(error)),
        }
    }
}

impl Drop for DriverTx {
    fn drop(&mut self) {
        if self.begun && !self.over && !self.lease.is_broken() {
            // The next transaction must not get a connection whose transaction could not be rolled back.
            self.lease.spoiled = self.lease.call::<Nothing>("abort", &Nothing {}).is_err();
        }
    }
}
