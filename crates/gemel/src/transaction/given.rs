//! Keys and ranges that a caller has given, checked.

use crate::error::{Error, Result};
use crate::key::{Key, KeyRange, MAX_KEY_BYTES};
use std::ops::Bound;

/// Returns a key that a caller has given, or an error if it is empty or too long.
pub(super) fn checked_key(bytes: &[u8]) -> Result<Key> {
    if bytes.is_empty() {
        return Err(Error::Usage("a key must have at least one byte".into()));
    }
    checked_length(bytes)
}

/// Returns keys that a caller has given, or the error of the first one that is empty or too long.
pub(super) fn checked_keys<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> Result<Vec<Key>> {
    let keys = keys.into_iter();
    // Collecting results would not know the number of keys.
    let mut checked = Vec::with_capacity(keys.size_hint().0);
    for key in keys {
        checked.push(checked_key(key.as_ref())?);
    }
    Ok(checked)
}

/// Returns a key that a caller has given, or an error if it is too long.
pub(super) fn checked_length(bytes: &[u8]) -> Result<Key> {
    if bytes.len() > MAX_KEY_BYTES {
        return Err(Error::Capacity(format!(
            "a key of {} bytes is too long: use at most {MAX_KEY_BYTES}",
            bytes.len()
        )));
    }
    Ok(Key::new(bytes))
}

/// Returns a range that a caller has given, or an error if the key of a bound is too long.
pub(super) fn checked_range(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<KeyRange> {
    Ok(KeyRange { lower: checked_bound(lower)?, upper: checked_bound(upper)? })
}

fn checked_bound(bound: Bound<&[u8]>) -> Result<Bound<Key>> {
    Ok(match bound {
        Bound::Included(bytes) => Bound::Included(checked_length(bytes)?),
        Bound::Excluded(bytes) => Bound::Excluded(checked_length(bytes)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}
