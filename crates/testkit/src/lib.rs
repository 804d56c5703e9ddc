//! Real servers for Lydite's tests: started on loopback on a free port, with their data in a temporary directory,
//! and ended with the test, also when it fails or is killed. [`queue`] is a simulated one.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "only tests use it, and a test may panic")]

mod by_client;
pub mod certificates;
mod directory;
pub mod etcd;
pub mod galera;
pub mod ignite;
pub mod mariadb;
pub mod nats;
pub mod pgbouncer;
mod ports;
pub mod postgres;
mod prepared;
mod process;
pub mod queue;
pub mod redis;
pub mod seekdb;
pub mod spider;
pub mod tidb;

pub use directory::Directory;
pub use ports::free_port;
pub(crate) use ports::{free_ports, is_open};
