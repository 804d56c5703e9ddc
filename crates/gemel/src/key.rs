//! Keys: byte strings in lexicographic order, without an allocation if they are short.

mod tail;

use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;
use tail::Tail;

/// Maximum length of a key in bytes.
pub const MAX_KEY_BYTES: usize = 2048;
/// Maximum length of a value in bytes.
pub const MAX_VALUE_BYTES: usize = 16 << 20;
/// Maximum length of the name of a table, an index with its table (`TABLE.INDEX`), a keyspace or a prepared transaction,
/// in bytes.
pub const MAX_NAME_BYTES: usize = 200;

const HEAD: usize = 16;
/// Maximum length of a short key in bytes. Most keys are short.
const SHORT: usize = 96;

/// A key. The first 16 bytes are stored as big-endian integers, so most comparisons compare integers.
///
/// A key takes 24 bytes: walking an index is as fast as its keys are compact.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The first 16 bytes, padded with zeros.
    head: [u64; 2],
    /// The bytes after the first 16. The length of a shorter key, which distinguishes padding from zeros that are part
    /// of the key.
    tail: Tail,
}

const _: () = assert!(size_of::<Key>() == 24 && size_of::<Option<Key>>() == 24);

impl Key {
    /// Makes a key from its bytes. There must be at most [`MAX_KEY_BYTES`]; callers check that.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut head = [0; HEAD];
        let cut = bytes.len().min(HEAD);
        head[..cut].copy_from_slice(&bytes[..cut]);
        let tail = if bytes.len() > HEAD { Tail::long(&bytes[HEAD..]) } else { Tail::short(bytes.len()) };
        let head = u128::from_be_bytes(head);
        let head = [(head >> 64) as u64, head as u64];
        Self { head, tail }
    }

    /// Returns the first 16 bytes as a number, padded with zeros. These numbers have the order of the keys, except that
    /// different keys may have equal numbers. Comparing numbers needs no branch, so a search that starts with them has
    /// no mispredicted branches.
    #[inline]
    pub(crate) fn head(&self) -> u128 {
        u128::from(self.head[0]) << 64 | u128::from(self.head[1])
    }

    /// Returns the length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.tail.get().map_or_else(|len| len, |tail| HEAD + tail.len())
    }

    /// Returns the bytes that the key takes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.tail.heap_bytes()
    }

    /// Passes the key's bytes to `f`.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        let head = self.head().to_be_bytes();
        match self.tail.get() {
            Err(len) => f(&head[..len]),
            // A small buffer for short keys: clearing a buffer for the longest key would cost more than the rest of a
            // scan's step.
            Ok(tail) if HEAD + tail.len() <= SHORT => Self::with_whole::<SHORT, R>(head, tail, f),
            Ok(tail) => Self::with_whole::<MAX_KEY_BYTES, R>(head, tail, f),
        }
    }

    fn with_whole<const ROOM: usize, R>(head: [u8; HEAD], tail: &[u8], f: impl FnOnce(&[u8]) -> R) -> R {
        let (mut whole, len) = ([0; ROOM], HEAD + tail.len());
        whole[..HEAD].copy_from_slice(&head);
        whole[HEAD..len].copy_from_slice(tail);
        f(&whole[..len])
    }

    /// Returns the key's bytes.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        self.with(<[u8]>::to_vec)
    }
}

impl Ord for Key {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match self.head.cmp(&other.head) {
            Ordering::Equal => match (self.tail.get(), other.tail.get()) {
                (Ok(tail), Ok(others)) => tail.cmp(others),
                // At least one key is only a head. As the heads are equal, the shorter key is a prefix of the longer
                // one, or they differ only in trailing zeros.
                _ => self.len().cmp(&other.len()),
            },
            order => order,
        }
    }
}

impl PartialOrd for Key {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with(|bytes| write!(f, "{}", bytes.escape_ascii()))
    }
}

/// A range of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) lower: Bound<Key>,
    pub(crate) upper: Bound<Key>,
}

impl KeyRange {
    /// All keys.
    pub(crate) const ALL: Self = Self { lower: Bound::Unbounded, upper: Bound::Unbounded };

    /// Returns true if the bounds leave no room for a key. Crossed bounds leave none.
    pub(crate) fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
            (
                Bound::Included(lower) | Bound::Excluded(lower),
                Bound::Included(upper) | Bound::Excluded(upper),
            ) => lower >= upper,
            _ => false,
        }
    }

    /// Returns true if `key` is in the range.
    pub(crate) fn contains(&self, key: &Key) -> bool {
        (match &self.lower {
            Bound::Included(lower) => key >= lower,
            Bound::Excluded(lower) => key > lower,
            Bound::Unbounded => true,
        }) && match &self.upper {
            Bound::Included(upper) => key <= upper,
            Bound::Excluded(upper) => key < upper,
            Bound::Unbounded => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_key_of_any_length_keeps_its_bytes() {
        for len in [0, 1, HEAD, HEAD + 1, SHORT, SHORT + 1, MAX_KEY_BYTES] {
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let key = Key::new(&bytes);
            assert_eq!((key.to_vec(), key.len()), (bytes.clone(), len));
            let copy = key.clone();
            drop(key);
            assert_eq!(copy, Key::new(&bytes));
        }
    }

    #[test]
    fn keys_that_differ_only_in_zeros_at_the_end_are_different() {
        let lengths = [0, 1, 7, HEAD - 1, HEAD, HEAD + 1, HEAD + 2];
        let keys = lengths.map(|len| Key::new(&vec![0; len]));
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert_eq!(keys.iter().collect::<std::collections::HashSet<_>>().len(), lengths.len());
    }

    proptest! {
        #[test]
        fn keys_have_the_order_of_their_bytes(
            a in proptest::collection::vec(0_u8..3, 0..20), b in proptest::collection::vec(0_u8..3, 0..20),
        ) {
            prop_assert_eq!(Key::new(&a).cmp(&Key::new(&b)), a.cmp(&b));
            prop_assert_eq!(Key::new(&a).to_vec(), a);
        }
    }
}
