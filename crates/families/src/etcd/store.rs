//! The store, and the reads and writes of a transaction.

use super::client::{Bytes, Client, Compare, Done, Found, Operation, Range, Txn};
use super::config::Config;
use super::load_lock;
use lydite_database::kv::buffer::{Bounds, Buffered, Entry, Remote, Writes};
use lydite_database::kv::{Access, Direction, KvTable, LoadLock, Store, StoreError};
use lydite_database::{AbortReason, Committed, Description};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Writes of a load per request, below etcd's default limit (128).
const LOADED_AT_ONCE: usize = 120;
/// Entries that one request deletes. etcd gives up a request after seven seconds and does nothing else meanwhile.
const CLEARED_AT_ONCE: i64 = 10_000;

/// An etcd server as a store. See the module.
pub(crate) struct EtcdStore {
    pub(super) client: Client,
    prefix: String,
}

impl EtcdStore {
    /// Returns the name of an entry.
    pub(super) fn name(&self, table: KvTable, key: &[u8]) -> Bytes {
        Bytes([self.prefix.as_bytes(), b"/", table.name().as_bytes(), b"/", key].concat())
    }

    /// Returns the first name after all names of a table: `0` comes after `/`.
    fn behind(&self, table: KvTable) -> Bytes {
        Bytes([self.prefix.as_bytes(), b"/", table.name().as_bytes(), b"0"].concat())
    }

    /// Returns the name of the key that a load holds.
    pub(super) fn lock_name(&self) -> Bytes {
        Bytes(format!("{}#load", self.prefix).into_bytes())
    }

    pub(super) fn range(&self, range: &Range) -> Result<Found, StoreError> {
        self.client.ask("/v3/kv/range", range, Committed::No)
    }

    fn txn(&self, txn: &Txn) -> Result<Done, StoreError> {
        self.client.ask("/v3/kv/txn", txn, Committed::Unknown)
    }
}

/// The answer to `/v3/maintenance/status`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    version: String,
    #[serde(rename = "dbSize")]
    db_size: String,
}

impl Store for EtcdStore {
    type Config = Config;
    type Tx<'a> = Buffered<EtcdTx<'a>>;
    type Pending = ();

    fn place(config: &Config) -> String {
        config.place.clone()
    }

    fn answers(config: &Config) -> bool {
        let status = Client::new(&config.server).ask::<Status>(
            "/v3/maintenance/status",
            &BTreeMap::<String, String>::new(),
            Committed::No,
        );
        !matches!(status, Err(StoreError::Unavailable { .. }))
    }

    fn describe(config: &Config) -> Result<Description, StoreError> {
        let store = Self::open(config)?;
        let empty = BTreeMap::<String, String>::new();
        let status: Status = store.client.ask("/v3/maintenance/status", &empty, Committed::No)?;
        let settings = BTreeMap::from([
            ("prefix".to_string(), config.prefix.clone()),
            ("db size, bytes".to_string(), status.db_size),
        ]);
        Ok(Description {
            kind: "etcd".into(),
            version: format!("etcd {}", status.version),
            url: config.url.clone(),
            settings,
            isolation: "snapshot: reads at one revision, writes only if their keys have not changed since"
                .into(),
            embedded: false,
            isolation_is_level_3: true,
            // etcd syncs every change to its log before it answers. No setting that can be read disables that.
            durable: true,
            in_memory: None,
            unread: Vec::new(),
        })
    }

    fn is_there(_config: &Config) -> bool {
        // Opening creates nothing.
        true
    }

    fn lock(config: &Config) -> Result<Box<dyn LoadLock>, StoreError> {
        let store = Self::open(config)?;
        let key = store.lock_name();
        Ok(Box::new(load_lock::take(store.client, key)?))
    }

    fn open(config: &Config) -> Result<Self, StoreError> {
        let store = Self { client: Client::new(&config.server), prefix: config.prefix.clone() };
        store.range(&Range { key: store.lock_name(), ..Range::default() })?;
        Ok(store)
    }

    fn begin(&self, access: Access) -> Result<Buffered<EtcdTx<'_>>, StoreError> {
        Ok(Buffered::new(EtcdTx { store: self, access, revision: 0, seen: BTreeMap::new() }))
    }

    fn clear(&self, table: KvTable) -> Result<(), StoreError> {
        let mut key = self.name(table, &[]);
        loop {
            let behind = Some(self.behind(table));
            let limit = CLEARED_AT_ONCE;
            let range = Range {
                key: key.clone(),
                range_end: behind.clone(),
                limit,
                keys_only: true,
                ..Range::default()
            };
            let mut found = self.range(&range)?.kvs;
            let is_full = found.len() as i64 == limit;
            // If the page is full, its last key is not deleted but begins the next page.
            let next = if is_full { found.pop().map(|last| last.key) } else { None };
            let range_end = next.clone().or(behind);
            let delete =
                Txn { compare: Vec::new(), success: vec![Operation::RequestDeleteRange { key, range_end }] };
            self.txn(&delete)?;
            match next {
                Some(next) => key = next,
                None => return Ok(()),
            }
        }
    }
}

/// A transaction. See the module.
pub(crate) struct EtcdTx<'a> {
    store: &'a EtcdStore,
    access: Access,
    /// Revision of its reads; 0 before the first read.
    revision: i64,
    /// Revisions of the keys that a writing transaction has read; 0 for missing keys.
    seen: BTreeMap<(KvTable, Vec<u8>), i64>,
}

impl EtcdTx<'_> {
    /// Reads at this transaction's revision, which the first read sets.
    fn fetch(&mut self, mut range: Range) -> Result<Found, StoreError> {
        range.revision = self.revision;
        // The member that gave the revision has its data.
        range.serializable = self.revision != 0;
        let found = self.store.range(&range)?;
        if self.revision == 0 {
            self.revision = found.header.revision;
        }
        Ok(found)
    }

    /// Records the revision of a key that was read, unless the transaction is read-only: a check reads every key and
    /// writes none.
    fn saw(&mut self, table: KvTable, key: &[u8], revision: i64) {
        if self.access == Access::Write {
            self.seen.insert((table, key.to_vec()), revision);
        }
    }
}

impl Remote for EtcdTx<'_> {
    fn value(&mut self, table: KvTable, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.fetch(Range { key: self.store.name(table, key), ..Range::default() })?;
        let entry = found.kvs.into_iter().next();
        self.saw(table, key, entry.as_ref().map_or(0, |entry| entry.mod_revision));
        Ok(entry.map(|entry| entry.value.0))
    }

    fn entries(
        &mut self,
        table: KvTable,
        (from, below): &Bounds,
        direction: Direction,
        count: usize,
    ) -> Result<(Vec<Entry>, Option<Vec<u8>>), StoreError> {
        // The name with a zero byte appended is the next name.
        let behind = |key: &[u8]| {
            let mut name = self.store.name(table, key);
            name.0.push(0);
            name
        };
        let key = match from {
            Bound::Included(key) => self.store.name(table, key),
            Bound::Excluded(key) => behind(key),
            Bound::Unbounded => self.store.name(table, &[]),
        };
        let range_end = Some(match below {
            Bound::Included(key) => behind(key),
            Bound::Excluded(key) => self.store.name(table, key),
            Bound::Unbounded => self.store.behind(table),
        });
        let sort_order = (direction == Direction::Backward).then_some("DESCEND");
        let limit = count as i64;
        let found = self.fetch(Range { key, range_end, limit, sort_order, ..Range::default() })?;
        let head = self.store.name(table, &[]).0;
        let mut entries = Vec::with_capacity(found.kvs.len());
        for entry in found.kvs {
            let Some(key) = entry.key.0.strip_prefix(&head[..]) else {
                let (table, key) = (table.name(), String::from_utf8_lossy(&entry.key.0));
                return Err(StoreError::Failed(format!(
                    "a range of {table} returned the key {key:?} of another table"
                )));
            };
            self.saw(table, key, entry.mod_revision);
            entries.push((key.to_vec(), entry.value.0));
        }
        let last = entries.last().filter(|_| entries.len() == count).map(|(key, _)| key.clone());
        Ok((entries, last))
    }

    fn commit(self, writes: &Writes) -> Result<(), StoreError> {
        // A read-only transaction has read one revision, so there is nothing to check.
        if writes.is_empty() {
            return Ok(());
        }
        let operation = |((table, key), value): (&(KvTable, Vec<u8>), &Option<Vec<u8>>)| {
            let key = self.store.name(*table, key);
            match value {
                Some(value) => Operation::RequestPut { key, value: Bytes(value.clone()), lease: None },
                None => Operation::RequestDeleteRange { key, range_end: None },
            }
        };
        if self.access == Access::Load {
            let mut writes = writes.iter().map(operation).peekable();
            while writes.peek().is_some() {
                let success = writes.by_ref().take(LOADED_AT_ONCE).collect();
                self.store.txn(&Txn { compare: Vec::new(), success })?;
            }
            return Ok(());
        }
        let compare = writes.keys().filter_map(|of| {
            let (result, revision) = match self.seen.get(of) {
                Some(revision) => ("EQUAL", *revision),
                // The key was not read. If nothing was read, there is no revision since which it could have changed.
                None if self.revision == 0 => return None,
                None => ("LESS", self.revision + 1),
            };
            let key = self.store.name(of.0, &of.1);
            Some(Compare { key, result, target: "MOD", mod_revision: revision.to_string() })
        });
        let txn = Txn { compare: compare.collect(), success: writes.iter().map(operation).collect() };
        if self.store.txn(&txn)?.succeeded {
            return Ok(());
        }
        Err(StoreError::Retry {
            reason: AbortReason::Serialization,
            detail: "a key that the transaction writes was changed since it began".into(),
        })
    }
}
