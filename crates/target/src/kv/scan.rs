//! Scans that decode rows, for checks and checksums.

use crate::kv::codec::KvRow;
use crate::kv::store::{Direction, KeyRange, StoreError, StoreTx};
use std::ops::ControlFlow;

/// Hands over all rows of a range, by key.
pub(crate) fn rows_of<R: KvRow>(
    tx: &mut impl StoreTx,
    range: KeyRange<'_>,
    mut each: impl FnMut(&R),
) -> Result<(), StoreError> {
    let mut decoded = Ok(());
    tx.scan(R::KV_TABLE, range, Direction::Forward, |key, value| match R::decode(key, value) {
        Ok(row) => {
            each(&row);
            ControlFlow::Continue(())
        }
        Err(malformed) => {
            decoded = Err(malformed);
            ControlFlow::Break(())
        }
    })?;
    Ok(decoded?)
}
