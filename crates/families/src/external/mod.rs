//! `driver:COMMAND`: a database behind a program in any language. Lydite starts the program and uses its standard
//! streams. `docs/src/driver-protocol.md` describes the protocol.
//!
//! [`serve`] is the other side: it serves a store of this process to others, and a [`Reach::Server`] reaches it.
//!
//! A driver takes one of two ways: it runs the five transactions itself ([`transactions`]), or it is a key-value store
//! on which Lydite's own text of the transactions runs ([`store`]).

mod channel;
mod config;
mod family;
mod leaving;
mod load_lock;
mod messages;
mod pool;
mod process;
mod sdk;
mod secrets;
mod serve;
mod spawner;
mod store;
mod target;
mod transactions;

#[cfg(test)]
mod tests;

pub(crate) use config::{Address, Config, Reach};
pub(crate) use family::FAMILY;
pub(crate) use messages::{Guarantee, Hello, PROTOCOL, Way};
pub use sdk::{GO_SDK, PYTHON_RUNS, PYTHON_SDK, SdkFile};
pub(crate) use serve::serve;
