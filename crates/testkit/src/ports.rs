//! Ports for servers: each belongs to one process until that ends, and no outgoing connection takes it.

use crate::process::own_user;
use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Candidates, below the range in which Linux chooses ports of outgoing connections (32768 to 60999 by default): a
/// server that is ended and started again must find its port free.
const CANDIDATES: std::ops::Range<u16> = 20_000..26_000;

/// Locks on the ports of this process. The kernel releases them when it ends.
static RESERVED: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// Returns a port that nobody listens on, and that no other caller gets while this process lives.
#[must_use]
pub fn free_port() -> u16 {
    let directory = locks();
    let mut reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    for port in CANDIDATES {
        let lock = File::create(directory.join(port.to_string())).expect("a lock file");
        if lock.try_lock().is_ok() {
            reserved.push(lock);
            if TcpListener::bind(("127.0.0.1", port)).is_ok() {
                return port;
            }
        }
    }
    panic!("no port of {CANDIDATES:?} is free");
}

/// Returns different ports, each like that of [`free_port`].
pub(crate) fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    [(); COUNT].map(|()| free_port())
}

/// True if somebody listens on a port.
pub(crate) fn is_open(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// Returns the directory of the locks. Each user has one, since another user can't open its files.
fn locks() -> PathBuf {
    let directory = std::env::temp_dir().join(format!("lydite-test-ports-{}", own_user()));
    fs::create_dir_all(&directory).expect("a directory for locks");
    directory
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_port_is_given_once_and_is_not_in_use() {
        // The next candidate, in use by a program that does not reserve.
        let next = free_port() + 1..;
        let taken = next.map(|port| TcpListener::bind(("127.0.0.1", port))).find_map(Result::ok).unwrap();
        let in_use = taken.local_addr().unwrap().port();
        let ports: BTreeSet<u16> = (0..4)
            .map(|_| std::thread::spawn(|| [free_port(), free_port(), free_port()]))
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        assert_eq!(ports.len(), 12);
        assert!(!ports.contains(&in_use));
    }
}
