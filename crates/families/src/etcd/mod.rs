//! etcd, over the JSON form of its interface: a key-value store in which every change has a revision, and one request can
//! compare revisions and write.
//!
//! A transaction reads all at the revision of its first read. Its writes wait in the client, and go in one request that makes
//! them only if none of their keys was changed since: snapshot isolation, the first committer wins.

mod client;
mod config;
mod family;
mod load_lock;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use family::FAMILY;
