//! The ordered index of rows in memory: a B+-tree whose readers take no locks.
//!
//! - `leaf`: an entry is written into a slot once and stays there as long as the leaf. One word says which entries are
//!   live and in what order. So a reader that reads the word has the state of the whole leaf.
//! - `inner`: an inner node never changes, except for the pointers to its children. Another number of children needs
//!   another node, which replaces the old one.
//! - `root`: the tree. Adding and removing entries lock one leaf. Only if a leaf is full or nearly empty are nodes
//!   replaced, by one thread at a time.
//! - `sync`: locks, atomics and reclamation, so a model checker's can replace them: see `model`.
//!
//! A reader misses nothing, for this reason: a leaf that leaves the tree is marked as replaced under its lock, before
//! another leaf can be found in its place, and is never written again. So a reader that is still on the leaf sees the
//! tree as it was when the read began, and a writer goes back to the root. A full leaf that only lets go of keys after its
//! last one is not replaced: it is never written again either, except to remove keys, and has none of theirs. The epoch
//! frees nodes.

mod inner;
mod leaf;
#[cfg(test)]
mod model;
mod root;
mod sync;
#[cfg(test)]
mod tests;

pub(crate) use root::Tree;
use std::sync::Arc;

// Sizes that allocators have: with one byte more, nodes would take a fifth more memory.
const _: () = assert!(size_of::<leaf::Leaf<Arc<u8>>>() == 512 && size_of::<inner::Inner<Arc<u8>>>() <= 2560);
