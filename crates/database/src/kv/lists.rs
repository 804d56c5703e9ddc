//! The workload of isolation checks over any key-value store. A key's value is the numbers of its list, or the one of
//! its register, eight bytes each. A range is the keys that begin with its own.

use crate::error::{AbortReason, TargetError, TxError};
use crate::kv::any::{AnyStore, AnyTx};
use crate::kv::store::{Access, Direction, KeyRange, KvTable, Pending, StoreTx};
use crate::kv::store_error::StoreError;
use crate::lists::{HeldListTransaction, HeldLists, ListKey, ListOp, ListTransaction, Lists, exist};
use crate::session::Session;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Table of the keys. No transaction of another workload reads it, and stores have no tables to spare.
const TABLE: KvTable = KvTable::Meta;

/// Prefix of the keys. The key of this name alone notes that a check is running.
const PREFIX: &[u8] = b"isolation ";
/// Least key behind all keys with the prefix.
const BEHIND: &[u8] = b"isolation!";
/// Keys that are dropped in one transaction.
const DROPPED_AT_ONCE: usize = 1_000;

/// True if a key of the table of notes belongs to an isolation check.
pub(super) fn is_ours(key: &[u8]) -> bool {
    key.starts_with(PREFIX)
}

/// Reads and writes of a transaction, by the keys of the workload.
pub trait Entries {
    /// Returns the value; empty if the key does not exist.
    ///
    /// # Errors
    /// See [`StoreTx::read`]; also below.
    fn get(&mut self, key: ListKey) -> Result<Vec<u8>, StoreError>;

    /// Appends to the value in one step. Makes the key if it does not exist.
    ///
    /// # Errors
    /// See above.
    fn append(&mut self, key: ListKey, more: &[u8]) -> Result<(), StoreError>;

    /// Writes the value without reading it.
    ///
    /// # Errors
    /// See above.
    fn put(&mut self, key: ListKey, value: &[u8]) -> Result<(), StoreError>;

    /// Writes the value of a row of a range; rows are in the order of their names.
    ///
    /// # Errors
    /// See above.
    fn insert(&mut self, range: ListKey, row: [u8; 8], value: &[u8]) -> Result<(), StoreError>;

    /// Returns the values of all rows of a range, one after the other, by one scan.
    ///
    /// # Errors
    /// See above.
    fn scan(&mut self, range: ListKey) -> Result<Vec<u8>, StoreError>;
}

/// Plays the operations of a transaction. Returns what the reads saw.
///
/// # Errors
/// The transaction failed, or rolls back as it should.
pub fn play(entries: &mut impl Entries, transaction: &ListTransaction) -> Result<Vec<Vec<u64>>, StoreError> {
    play_with_stops(entries, transaction, &|stop| {
        if stop > 0 {
            // An operation in this process takes less time than a thread's turn: others would hardly come in between.
            std::thread::yield_now();
        }
    })
}

/// Plays the operations, and calls `stop` before each of them and before the end.
fn play_with_stops(
    entries: &mut impl Entries,
    transaction: &ListTransaction,
    stop: &dyn Fn(usize),
) -> Result<Vec<Vec<u64>>, StoreError> {
    let mut reads = Vec::new();
    for (number, op) in transaction.ops.iter().enumerate() {
        stop(number);
        match *op {
            ListOp::ReadList(key) | ListOp::ReadRegister(key) => reads.push(numbers(&entries.get(key)?)?),
            ListOp::Append(key, value) => entries.append(key, &value.to_be_bytes())?,
            ListOp::Write(key, value) => entries.put(key, &value.to_be_bytes())?,
            ListOp::ReadRange(key) => reads.push(numbers(&entries.scan(key)?)?),
            ListOp::Insert(key, value) => entries.insert(key, value.to_be_bytes(), &value.to_be_bytes())?,
        }
    }
    stop(transaction.ops.len());
    if transaction.rolls_back {
        let detail = "rolled back, as the workload wants".into();
        return Err(StoreError::Retry { reason: AbortReason::Other, detail });
    }
    Ok(reads)
}

/// Reads the numbers of a value.
fn numbers(value: &[u8]) -> Result<Vec<u64>, StoreError> {
    match value.as_chunks() {
        (chunks, []) => Ok(chunks.iter().map(|bytes| u64::from_be_bytes(*bytes)).collect()),
        _ => Err(StoreError::Failed(format!("a list has {} bytes, which are no numbers", value.len()))),
    }
}

/// Entries of a store's transaction.
struct OfStore<'a, 'b>(&'a mut AnyTx<'b>);

fn name(key: ListKey) -> Vec<u8> {
    [PREFIX, &key.number.to_be_bytes()].concat()
}

impl Entries for OfStore<'_, '_> {
    fn get(&mut self, key: ListKey) -> Result<Vec<u8>, StoreError> {
        Ok(self.0.read(TABLE, &name(key), <[u8]>::to_vec)?.unwrap_or_default())
    }

    fn append(&mut self, key: ListKey, more: &[u8]) -> Result<(), StoreError> {
        let name = name(key);
        match self.0.modify(TABLE, &name, |value| value.extend_from_slice(more))? {
            Some(()) => Ok(()),
            None => self.0.put(TABLE, &name, more),
        }
    }

    fn put(&mut self, key: ListKey, value: &[u8]) -> Result<(), StoreError> {
        self.0.put(TABLE, &name(key), value)
    }

    fn insert(&mut self, range: ListKey, row: [u8; 8], value: &[u8]) -> Result<(), StoreError> {
        self.0.put(TABLE, &[&name(range)[..], &row].concat(), value)
    }

    fn scan(&mut self, range: ListKey) -> Result<Vec<u8>, StoreError> {
        let mut values = Vec::new();
        let name = name(range);
        // No value is so large that its row lies behind.
        let behind = [&name[..], &[u8::MAX; 8]].concat();
        let rows = KeyRange { from: &name, below: Some(&behind) };
        self.0.scan(TABLE, rows, Direction::Forward, &mut |_, value| {
            values.extend_from_slice(value);
            ControlFlow::Continue(())
        })?;
        Ok(values)
    }
}

/// Session for isolation checks on an open store.
pub(super) struct KvLists(pub(super) Arc<dyn AnyStore>);

impl KvLists {
    /// Begins a transaction, plays its operations by `play`, and commits.
    fn transact(
        &self,
        transaction: &ListTransaction,
        play: impl FnOnce(&mut OfStore<'_, '_>) -> Result<Vec<Vec<u64>>, StoreError>,
    ) -> Result<Vec<Vec<u64>>, TxError> {
        let access = if transaction.is_read_only() { Access::Read } else { Access::Write };
        let mut tx = self.0.begin_any(access).map_err(StoreError::in_transaction)?;
        let reads = play(&mut OfStore(&mut tx)).map_err(StoreError::in_transaction)?;
        let pending = tx.commit().map_err(StoreError::in_transaction)?;
        pending.wait().map_err(StoreError::in_wait)?;
        Ok(reads)
    }
}

impl Session<Lists> for KvLists {
    fn execute(&mut self, transaction: &ListTransaction) -> Result<Vec<Vec<u64>>, TxError> {
        self.transact(transaction, |entries| play(entries, transaction))
    }
}

impl Session<HeldLists> for KvLists {
    fn execute(&mut self, held: &HeldListTransaction) -> Result<Vec<Vec<u64>>, TxError> {
        let HeldListTransaction { transaction, stops } = held;
        self.transact(transaction, |entries| play_with_stops(entries, transaction, &|stop| stops.reach(stop)))
    }
}

/// Notes that a check is running. Rejects a store where one is.
pub(super) fn create(
    store: &dyn AnyStore,
    place: &str,
    failed: impl Fn(StoreError) -> TargetError,
) -> Result<(), TargetError> {
    let mut tx = store.begin_any(Access::Write).map_err(&failed)?;
    if !some_keys(&mut tx, 1).map_err(&failed)?.is_empty() {
        return Err(exist(place, "a key of an isolation check"));
    }
    tx.put(TABLE, PREFIX, &[]).and_then(|()| tx.commit()?.wait()).map_err(failed)
}

/// Removes all keys of a check.
pub(super) fn drop_all(store: &dyn AnyStore) -> Result<(), StoreError> {
    loop {
        let mut tx = store.begin_any(Access::Load)?;
        let keys = some_keys(&mut tx, DROPPED_AT_ONCE)?;
        keys.iter().try_for_each(|key| tx.delete(TABLE, key))?;
        tx.commit()?.wait()?;
        if keys.len() < DROPPED_AT_ONCE {
            return Ok(());
        }
    }
}

/// Returns the first keys of a check.
fn some_keys(tx: &mut AnyTx<'_>, count: usize) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    let range = KeyRange { from: PREFIX, below: Some(BEHIND) };
    tx.scan(TABLE, range, Direction::Forward, &mut |key, _| {
        keys.push(key.to_vec());
        if keys.len() < count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(keys)
}
