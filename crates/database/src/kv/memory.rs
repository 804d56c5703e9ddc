//! A store for tests: ordered maps in memory, one transaction at a time.

use crate::error::AbortReason;
use crate::facts::Description;
use crate::kv::load_lock::LoadLock;
use crate::kv::store::{Access, Direction, Each, KeyRange, KvTable, Store, StoreTx};
use crate::kv::store_error::StoreError;
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

type Tables = [BTreeMap<Vec<u8>, Vec<u8>>; KvTable::COUNT];

/// Contents of a store, which outlive an open store as a disk does.
#[derive(Clone, Default)]
pub struct MemoryConfig {
    tables: Arc<Mutex<Tables>>,
    /// Rejects every n-th commit that writes; 0 for none.
    pub refuse_every: Arc<AtomicU32>,
    /// True if loads have lost their right.
    pub lost: Arc<AtomicBool>,
}

struct Right(Arc<AtomicBool>);

impl LoadLock for Right {
    fn check(&self) -> Result<(), StoreError> {
        let lost = self.0.load(Ordering::Relaxed);
        if lost { Err(StoreError::Failed("the right to load is lost".into())) } else { Ok(()) }
    }
}

/// An open store. See [`Store`].
pub struct Memory {
    config: MemoryConfig,
    commits: AtomicU32,
}

/// A transaction. It holds the lock on all tables.
pub struct MemoryTx<'a> {
    store: &'a Memory,
    tables: MutexGuard<'a, Tables>,
    access: Access,
    /// Old values of all writes, in their order.
    undo: Vec<(KvTable, Vec<u8>, Option<Vec<u8>>)>,
}

impl Store for Memory {
    type Config = MemoryConfig;
    type Tx<'a> = MemoryTx<'a>;
    type Pending = ();

    fn place(_config: &MemoryConfig) -> String {
        "memory".into()
    }

    fn describe(_config: &MemoryConfig) -> Result<Description, StoreError> {
        Ok(Description {
            kind: "memory".into(),
            version: "0".into(),
            url: "memory:".into(),
            settings: BTreeMap::new(),
            isolation: "one transaction at a time".into(),
            embedded: true,
            isolation_is_level_3: true,
            durable: false,
            in_memory: None,
            unread: Vec::new(),
        })
    }

    fn is_there(config: &MemoryConfig) -> bool {
        config.tables.lock().iter().any(|table| !table.is_empty())
    }

    fn lock(config: &MemoryConfig) -> Result<Box<dyn LoadLock>, StoreError> {
        Ok(Box::new(Right(Arc::clone(&config.lost))))
    }

    fn open(config: &MemoryConfig) -> Result<Self, StoreError> {
        Ok(Self { config: config.clone(), commits: AtomicU32::new(0) })
    }

    fn begin(&self, access: Access) -> Result<MemoryTx<'_>, StoreError> {
        Ok(MemoryTx { store: self, tables: self.config.tables.lock(), access, undo: Vec::new() })
    }
}

impl MemoryTx<'_> {
    fn write(&mut self, table: KvTable, key: &[u8], value: Option<Vec<u8>>) {
        assert_ne!(self.access, Access::Read, "a write in a transaction that only reads");
        let entries = &mut self.tables[table.index()];
        let before = match value {
            Some(value) => entries.insert(key.to_vec(), value),
            None => entries.remove(key),
        };
        self.undo.push((table, key.to_vec(), before));
    }
}

impl StoreTx for MemoryTx<'_> {
    type Pending = ();

    fn read<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        Ok(self.tables[table.index()].get(key).map(|value| found(value)))
    }

    fn put(&mut self, table: KvTable, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.write(table, key, Some(value.to_vec()));
        Ok(())
    }

    fn delete(&mut self, table: KvTable, key: &[u8]) -> Result<(), StoreError> {
        self.write(table, key, None);
        Ok(())
    }

    fn scan(
        &mut self,
        table: KvTable,
        range: KeyRange<'_>,
        direction: Direction,
        each: &mut Each<'_>,
    ) -> Result<(), StoreError> {
        let below = range.below.map_or(Bound::Unbounded, Bound::Excluded);
        let mut entries = self.tables[table.index()].range::<[u8], _>((Bound::Included(range.from), below));
        let mut next = || match direction {
            Direction::Forward => entries.next(),
            Direction::Backward => entries.next_back(),
        };
        while let Some((key, value)) = next() {
            if each(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn commit(mut self) -> Result<(), StoreError> {
        let every = self.store.config.refuse_every.load(Ordering::Relaxed);
        if every > 0 && self.access == Access::Write && !self.undo.is_empty() {
            let commit = self.store.commits.fetch_add(1, Ordering::Relaxed);
            if commit % every == every - 1 {
                return Err(StoreError::Retry {
                    reason: AbortReason::Serialization,
                    detail: "refused by the test".into(),
                });
            }
        }
        self.undo.clear();
        Ok(())
    }
}

impl Drop for MemoryTx<'_> {
    fn drop(&mut self) {
        for (table, key, before) in self.undo.drain(..).rev() {
            let entries = &mut self.tables[table.index()];
            match before {
                Some(value) => entries.insert(key, value),
                None => entries.remove(&key),
            };
        }
    }
}
