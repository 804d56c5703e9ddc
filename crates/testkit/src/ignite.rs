//! A node of Apache Ignite 3, started by the script that comes with its driver. It is heavy, so tests use it only if a
//! variable switches it on.

use crate::Directory;
use crate::free_port;
use crate::process::{clean_up_at_exit, send, spawn_for_life};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longest start: the first one fetches the jars.
const PATIENCE: Duration = Duration::from_secs(900);
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/java/examples/ignite/server");

/// A running node. Dropping it ends it and deletes its data.
pub struct Server {
    directory: Directory,
    process: Child,
    port: u16,
}

impl Server {
    /// Starts a node; none, with a message, unless `LYDITE_TEST_IGNITE` is `on`.
    #[must_use]
    pub fn start() -> Option<Self> {
        if !std::env::var("LYDITE_TEST_IGNITE").is_ok_and(|switch| switch == "on") {
            eprintln!("LYDITE_TEST_IGNITE is not on: Apache Ignite is not tested");
            return None;
        }
        let directory = Directory::new("ignite");
        clean_up_at_exit(directory.path(), "pid");
        let port = free_port();
        let said = directory.path().join("said");
        let file = fs::File::create(&said).expect("a file");
        let mut command = Command::new(SCRIPT);
        command.arg(directory.path()).arg(port.to_string());
        command.stdin(Stdio::null()).stdout(file.try_clone().expect("a file")).stderr(file);
        let mut server = Self { process: spawn_for_life(command, libc::SIGKILL), directory, port };
        let begin = Instant::now();
        while !fs::read_to_string(&said).is_ok_and(|said| said.contains("ready: ")) {
            let ended = server.process.try_wait();
            assert!(matches!(ended, Ok(None)), "Apache Ignite ended: {}", server.words(&said));
            assert!(begin.elapsed() < PATIENCE, "Apache Ignite did not start: {}", server.words(&said));
            thread::sleep(Duration::from_millis(100));
        }
        Some(server)
    }

    fn words(&self, said: &Path) -> String {
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        read(said) + &read(&self.directory.path().join("log"))
    }

    /// Returns the value for the driver's `IGNITE_ADDRESSES`.
    #[must_use]
    pub fn addresses(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The node replaced the script in its process.
        send(self.process.id(), libc::SIGKILL);
        let _reaped = self.process.wait();
    }
}
