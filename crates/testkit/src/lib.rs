//! Real servers for Lydite's tests: started on loopback on a free port, with their data in a temporary directory,
//! and ended with the test, also when it fails or is killed.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "only tests use it, and a test may panic")]

pub mod etcd;
pub mod galera;
pub mod ignite;
pub mod mariadb;
pub mod postgres;
mod prepared;
mod process;
pub mod redis;
pub mod seekdb;
pub mod spider;

use std::net::TcpListener;

/// Ports that nobody listens on now, all different.
pub(crate) fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    let listeners = [(); COUNT].map(|()| TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port"));
    listeners.map(|listener| listener.local_addr().expect("its number").port())
}

/// A port that nobody listens on now.
#[must_use]
pub fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port").local_addr().expect("its number").port()
}
