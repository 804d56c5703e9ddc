//! The terminals' side of the standard: lines of emulated terminals over TCP, and the tier that serves them.
//!
//! [`server::Was`] takes the lines, keeps one context for each terminal (clause 6.6.2), and plays what terminals enter
//! over a pool of database sessions. [`client::Lines`] are the lines of a run's terminals, with sessions that use them.
//! [`message`] is the protocol.

pub mod client;
mod field;
mod files;
mod frame;
pub mod message;
pub mod server;

pub use files::{NoFiles, make_room};
pub use frame::BadFrame;
