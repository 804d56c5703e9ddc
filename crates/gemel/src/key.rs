//! Keys: byte strings in their lexicographic order, short ones without an allocation.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;

/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 2048;
/// The longest value, in bytes.
pub const MAX_VALUE_BYTES: usize = 16 << 20;

const HEAD: usize = 16;
/// Most keys are at most this long.
const SHORT: usize = 96;

/// A key. The first 16 bytes stand in integers, big end first, so most comparisons are of integers.
///
/// It takes 32 bytes: an index is walked as fast as its keys are compact.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// The first 16 bytes, zeros behind a shorter key.
    head: [u64; 2],
    /// What follows the first 16 bytes. In two boxes since a box of a slice alone takes twice the room.
    tail: Option<Box<Box<[u8]>>>,
    /// Length of the whole key, which tells the zeros behind a short key from its own.
    len: u32,
}

const _: () = assert!(size_of::<Key>() == 32);

impl Key {
    /// From its bytes, of which there must be at most [`MAX_KEY_BYTES`]; callers check that.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut head = [0; HEAD];
        let cut = bytes.len().min(HEAD);
        head[..cut].copy_from_slice(&bytes[..cut]);
        let tail = (bytes.len() > HEAD).then(|| Box::new(bytes[HEAD..].into()));
        let head = u128::from_be_bytes(head);
        let head = [(head >> 64) as u64, head as u64];
        Self { head, len: bytes.len() as u32, tail }
    }

    /// Its first 16 bytes as a number, zeros behind a shorter key: ordered as the keys are, but for equal ones. To compare
    /// numbers takes no branch, so what searches by them first does not guess wrong.
    #[inline]
    pub(crate) fn head(&self) -> u128 {
        u128::from(self.head[0]) << 64 | u128::from(self.head[1])
    }

    /// Length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Bytes that it takes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.tail.as_ref().map_or(0, |tail| tail.len() + size_of::<Box<[u8]>>())
    }

    /// Hands its bytes to `f`.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        let head = self.head().to_be_bytes();
        match &self.tail {
            None => f(&head[..self.len()]),
            // Clearing room for the longest key would cost more than the rest of a scan's step.
            Some(tail) if self.len() <= SHORT => self.with_whole::<SHORT, R>(head, tail, f),
            Some(tail) => self.with_whole::<MAX_KEY_BYTES, R>(head, tail, f),
        }
    }

    fn with_whole<const ROOM: usize, R>(
        &self,
        head: [u8; HEAD],
        tail: &[u8],
        f: impl FnOnce(&[u8]) -> R,
    ) -> R {
        let mut whole = [0; ROOM];
        whole[..HEAD].copy_from_slice(&head);
        whole[HEAD..self.len()].copy_from_slice(tail);
        f(&whole[..self.len()])
    }

    /// Its bytes.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        self.with(<[u8]>::to_vec)
    }
}

impl Ord for Key {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match self.head.cmp(&other.head) {
            Ordering::Equal => match (&self.tail, &other.tail) {
                (Some(tail), Some(others)) => tail.cmp(others),
                // One ends within the head: the shorter one is a prefix of the other, but for zeros.
                _ => self.len.cmp(&other.len),
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
    /// Its bounds as keys, if it has both.
    fn bounds(&self) -> Option<(&Key, &Key)> {
        match (&self.lower, &self.upper) {
            (
                Bound::Included(lower) | Bound::Excluded(lower),
                Bound::Included(upper) | Bound::Excluded(upper),
            ) => Some((lower, upper)),
            _ => None,
        }
    }

    /// Whether the lower bound lies above the upper one. `a..a` is empty, not crossed.
    pub(crate) fn is_crossed(&self) -> bool {
        self.bounds().is_some_and(|(lower, upper)| lower > upper)
    }

    /// Whether no key can lie in it, since its bounds cross or leave out the one key between them.
    pub(crate) fn is_empty(&self) -> bool {
        let both = matches!((&self.lower, &self.upper), (Bound::Included(_), Bound::Included(_)));
        self.bounds().is_some_and(|(lower, upper)| lower > upper || (lower == upper && !both))
    }

    /// Whether `key` lies in it.
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
    fn keys_of_every_length_come_back_as_they_were() {
        for len in [0, 1, HEAD, HEAD + 1, SHORT, SHORT + 1, MAX_KEY_BYTES] {
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            assert_eq!(Key::new(&bytes).to_vec(), bytes);
        }
    }

    proptest! {
        #[test]
        fn keys_are_ordered_as_their_bytes(
            a in proptest::collection::vec(0_u8..3, 0..20), b in proptest::collection::vec(0_u8..3, 0..20),
        ) {
            prop_assert_eq!(Key::new(&a).cmp(&Key::new(&b)), a.cmp(&b));
            prop_assert_eq!(Key::new(&a).to_vec(), a);
        }
    }
}
