//! An etcd server of one's own.

use crate::free_port;
use crate::process::{PATIENCE, clean_up_at_exit, send, spawn_for_life};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A running server. Dropping it ends it and deletes its data.
pub struct Server {
    directory: TempDir,
    port: u16,
    /// Where other members would speak to it.
    peers: u16,
    process: Mutex<Option<Child>>,
    options: Vec<String>,
}

impl Server {
    /// Starts an empty server with these options beside the usual ones; it takes as many operations in a transaction as the five
    /// need, and does not wait for its disk.
    #[must_use]
    pub fn start(options: &[&str]) -> Self {
        let directory =
            tempfile::Builder::new().prefix("lydite-etcd-").tempdir().expect("a temporary directory");
        clean_up_at_exit(directory.path(), "pid");
        let server = Self {
            directory,
            port: free_port(),
            peers: free_port(),
            process: Mutex::new(None),
            options: options.iter().map(|option| (*option).to_string()).collect(),
        };
        server.restart();
        server
    }

    /// Starts the server again after [`Server::kill`].
    pub fn restart(&self) {
        let mut process = self.process.lock().expect("the server's lock");
        assert!(process.is_none(), "the server is running");
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
        let log =
            fs::OpenOptions::new().create(true).append(true).open(path.join("log")).expect("a log file");
        command
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log file"))
            .stderr(log);
        let child = spawn_for_life(command, libc::SIGKILL);
        fs::write(path.join("pid"), child.id().to_string()).expect("a file");
        *process = Some(child);
        drop(process);
        let begin = Instant::now();
        while !self.answers() {
            let ended = self.process.lock().expect("the server's lock").as_mut().map(Child::try_wait);
            assert!(matches!(ended, Some(Ok(None))), "the server ended: {}", self.log());
            assert!(begin.elapsed() < PATIENCE, "the server did not start: {}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let mut answer = String::new();
        let request = b"GET /health HTTP/1.0\r\n\r\n";
        stream.write_all(request).is_ok()
            && stream.read_to_string(&mut answer).is_ok()
            && answer.contains("\"health\":\"true\"")
    }

    /// What the server has written to its log.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// Kills the server at once, as `kill -9` or a crash would.
    pub fn kill(&self) {
        let Some(mut child) = self.process.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        send(child.id(), libc::SIGKILL);
        let _reaped = child.wait();
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("etcd://127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The data are thrown away.
        self.kill();
        if thread::panicking() {
            eprintln!("the log of etcd on port {}:\n{}", self.port, self.log());
        }
    }
}
