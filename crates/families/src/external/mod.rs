//! `driver:COMMAND`: a database behind a program in any language. Lydite starts the program and uses its standard
//! streams. `docs/src/driver-protocol.md` describes the protocol.
//!
//! A driver takes one of two ways: it runs the five transactions itself ([`transactions`]), or it is a key-value store
//! on which Lydite's own text of the transactions runs ([`store`]).

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
