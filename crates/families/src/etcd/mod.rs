//! etcd, over the JSON form of its interface. It is a key-value store in which every change has a revision, and one
//! request can compare revisions and write.
//!
//! A transaction reads everything at the revision of its first read. Its writes wait in the client. One request sends
//! them, and etcd applies them only if none of their keys has changed since. This is snapshot isolation with
//! first-committer-wins.

mod client;
mod config;
mod family;
mod load_lock;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use family::FAMILY;
