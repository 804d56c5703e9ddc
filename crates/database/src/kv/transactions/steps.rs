//! The steps that the transactions share over any key-value store.

use crate::error::RUN_CHECK;
use crate::kv::codec::{Key, KvRow, Malformed, behind};
use crate::kv::layout::HistoryNumber;
use crate::kv::store::{Direction, KeyRange, KvTable, StoreTx};
use crate::kv::store_error::StoreError;
use lydite_tpcc::{RolledBackOrder, Timestamp};
use std::fmt;
use std::ops::ControlFlow;

/// End of a transaction before its commit.
pub(crate) enum KvTxError {
    /// The store returned an error.
    Store(StoreError),
    /// The order has an unused item.
    UnusedItem(RolledBackOrder),
    /// A row that must exist is missing (clause 2.3.6). Has the message.
    Missing(String),
}

impl From<StoreError> for KvTxError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Malformed> for KvTxError {
    fn from(malformed: Malformed) -> Self {
        Self::Store(malformed.into())
    }
}

/// Result of a transaction.
pub(crate) type Played<R> = Result<R, KvTxError>;

/// Time of a transaction, and the number of the session's last payment.
pub(crate) struct Moment<'a> {
    pub(crate) now: Timestamp,
    pub(crate) number: &'a mut HistoryNumber,
}

impl Moment<'_> {
    /// Returns the number of the session's next payment. It is later than the last one, even if the clock steps back.
    pub(super) fn next_payment(&mut self) -> HistoryNumber {
        self.number.time = u64::try_from(self.now.0).unwrap_or(0).max(self.number.time + 1);
        *self.number
    }
}

/// Returns the error for a missing row: rows that the profile names must exist (clause 2.3.6).
pub(super) fn missing(what: fmt::Arguments<'_>) -> KvTxError {
    KvTxError::Missing(format!("{what} is missing: {RUN_CHECK}"))
}

/// Reads a row that must exist.
pub(super) fn get<R>(
    tx: &mut impl StoreTx,
    table: KvTable,
    key: &[u8],
    what: fmt::Arguments<'_>,
    found: impl FnOnce(&[u8]) -> Result<R, Malformed>,
) -> Result<R, KvTxError> {
    Ok(tx.read(table, key, found)?.ok_or_else(|| missing(what))??)
}

/// Changes a row that must exist, and keeps its length.
pub(super) fn change<R>(
    tx: &mut impl StoreTx,
    table: KvTable,
    key: &[u8],
    what: fmt::Arguments<'_>,
    change: impl FnOnce(&mut [u8]) -> Result<R, Malformed>,
) -> Result<R, KvTxError> {
    Ok(tx.modify_in_place(table, key, change)?.ok_or_else(|| missing(what))??)
}

/// Stores a new row; `value` is a buffer.
pub(super) fn insert<R: KvRow>(tx: &mut impl StoreTx, row: &R, value: &mut Vec<u8>) -> Result<(), KvTxError> {
    row.encode(value)?;
    Ok(tx.put(R::KV_TABLE, &row.key(), value)?)
}

/// Passes the entries whose keys begin with `prefix` to `each`, until it breaks.
pub(super) fn scan_prefix(
    tx: &mut impl StoreTx,
    table: KvTable,
    prefix: &Key,
    direction: Direction,
    mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let behind = behind(prefix);
    tx.scan(table, KeyRange { from: prefix, below: behind.as_deref() }, direction, &mut each)
}
