//! An etcd server for tests.

use crate::Directory;
use crate::free_ports;
use crate::process::{Running, clean_up_at_exit};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

/// File with the number of the server's process, below the fixture's directory.
const PID_FILE: &str = "pid";

/// A running server. Dropping it ends it and deletes its data.
pub struct Server {
    directory: Directory,
    port: u16,
    /// Port for other members.
    peers: u16,
    running: Running,
    options: Vec<String>,
}

impl Server {
    /// Starts an empty server with these options beside the usual ones. It accepts transactions as large as those of
    /// TPC-C, and does not wait for its disk.
    #[must_use]
    pub fn start(options: &[&str]) -> Self {
        let directory = Directory::for_server("etcd");
        clean_up_at_exit(directory.path(), PID_FILE);
        let [port, peers] = free_ports::<2>();
        let server = Self {
            running: Running::new("etcd", directory.path().join("log")),
            directory,
            port,
            peers,
            options: options.iter().map(|option| (*option).to_string()).collect(),
        };
        server.restart();
        server
    }

    /// Starts the server again after [`Server::kill`].
    pub fn restart(&self) {
        let path = self.directory.path();
        let mut command = Command::new("etcd");
        let (client, peer) =
            (format!("http://127.0.0.1:{}", self.port), format!("http://127.0.0.1:{}", self.peers));
        command.arg(format!("--data-dir={}", path.join("data").display()));
        command
            .arg(format!("--listen-client-urls={client}"))
            .arg(format!("--advertise-client-urls={client}"));
        command
            .arg(format!("--listen-peer-urls={peer}"))
            .arg(format!("--initial-advertise-peer-urls={peer}"));
        command.arg(format!("--initial-cluster=default={peer}")).args([
            "--max-txn-ops=1024",
            "--quota-backend-bytes=8000000000",
            "--unsafe-no-fsync",
        ]);
        command.args(&self.options);
        self.running.start(command, libc::SIGKILL, || self.answers());
        fs::write(path.join(PID_FILE), self.running.id().to_string()).expect("a file");
    }

    fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let mut answer = String::new();
        let request = b"GET /health HTTP/1.0\r\n\r\n";
        stream.write_all(request).is_ok()
            && stream.read_to_string(&mut answer).is_ok()
            && answer.contains("\"health\":\"true\"")
    }

    /// Returns the server's log.
    #[must_use]
    pub fn log(&self) -> String {
        self.running.log()
    }

    /// Kills the server at once, as `kill -9` or a crash would.
    pub fn kill(&self) {
        self.running.end(libc::SIGKILL);
    }

    /// Returns the server's URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("etcd://127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.abandon();
    }
}
