//! The ordered index of the memory engine: a B+-tree whose readers take no locks.
//!
//! - `leaf`: an entry is written into a slot once and stays there as long as the leaf; which entries count, and in what
//!   order, is one word, so a reader has all of a leaf by reading it.
//! - `inner`: an inner node never changes but for the pointers to its children. Another number of children is another
//!   node, put into the place of the old one.
//! - `root`: the tree. Adding and removing lock one leaf. Only when a leaf is full, or nearly empty, nodes are
//!   replaced, by one thread at a time.
//! - `sync`: locks, atomics and reclamation, so that a model checker can take their place: see `model`.
//!
//! Why a reader finds what is there: a leaf that is out of the tree is marked so under its lock, before another can be
//! found in its place, and is never written again. So whoever still is at it reads what the tree held when he began, and who
//! wants to write goes back to the root. Nodes are freed by the epoch.

mod inner;
mod leaf;
#[cfg(test)]
mod model;
mod root;
mod sync;
#[cfg(test)]
mod tests;

pub(super) use root::Tree;
