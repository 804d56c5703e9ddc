//! `driver:COMMAND`: a database behind a program in any language, which is started and spoken to over its standard
//! streams. The protocol is written down in `docs/src/driver-protocol.md`.
//!
//! A driver takes one of two ways: it plays the five transactions itself ([`transactions`]), or it is a key-value store
//! on which Lydite's own text of them runs ([`store`]).

mod channel;
mod config;
mod family;
mod load_lock;
mod messages;
mod pool;
mod process;
mod sdk;
mod secrets;
mod spawner;
mod store;
mod target;
mod transactions;

#[cfg(test)]
mod tests;

pub(crate) use family::FAMILY;
pub use sdk::{GO_SDK, PYTHON_SDK, SdkFile};
