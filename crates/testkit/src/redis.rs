//! A Redis server of one's own.

use crate::free_port;
use crate::process::{PATIENCE, clean_up_at_exit, send, spawn_for_life};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A running server. Dropping it ends it and deletes its data.
pub struct Server {
    directory: TempDir,
    port: u16,
    process: Mutex<Option<Child>>,
    settings: Vec<String>,
}

/// The server's program. Debian's `redis-tools` has it too, under a name that makes it something else.
fn program(directory: &Path) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let find = |name: &str| {
        std::env::split_paths(&path).map(|entry| entry.join(name)).find(|program| program.exists())
    };
    find("redis-server").unwrap_or_else(|| {
        let other = find("redis-check-rdb").expect("Redis: run `make test`, which installs it");
        let link = directory.join("redis-server");
        if !link.exists() {
            symlink(other, &link).expect("a link");
        }
        link
    })
}

impl Server {
    /// Starts an empty server with these settings (`name=value`) beside the usual ones, which store nothing.
    #[must_use]
    pub fn start(settings: &[&str]) -> Self {
        let directory =
            tempfile::Builder::new().prefix("lydite-redis-").tempdir().expect("a temporary directory");
        clean_up_at_exit(directory.path(), "pid");
        let server = Self {
            directory,
            port: free_port(),
            process: Mutex::new(None),
            settings: settings.iter().map(|setting| (*setting).to_string()).collect(),
        };
        server.restart();
        server
    }

    /// Starts the server again after [`Server::kill`].
    pub fn restart(&self) {
        let mut process = self.process.lock().expect("the server's lock");
        assert!(process.is_none(), "the server is running");
        let path = self.directory.path();
        let mut command = Command::new(program(path));
        let port = format!("port={}", self.port);
        let (dir, pidfile) = (format!("dir={}", path.display()), format!("pidfile={}/pid", path.display()));
        let usual =
            [port.as_str(), &dir, &pidfile, "bind=127.0.0.1", "save=", "appendonly=no", "protected-mode=yes"];
        for setting in usual.into_iter().chain(self.settings.iter().map(String::as_str)) {
            let (name, value) = setting.split_once('=').expect("name=value");
            command.arg(format!("--{name}")).arg(value);
        }
        let log =
            fs::OpenOptions::new().create(true).append(true).open(path.join("log")).expect("a log file");
        command
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log file"))
            .stderr(log);
        *process = Some(spawn_for_life(command, libc::SIGKILL));
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
        let mut answer = [0; 5];
        stream.write_all(b"PING\r\n").is_ok() && stream.read_exact(&mut answer).is_ok() && &answer == b"+PONG"
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

    /// The URL of a database of this server, by its number.
    #[must_use]
    pub fn url(&self, number: u8) -> String {
        format!("redis://127.0.0.1:{}/{number}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The data are thrown away.
        self.kill();
        if thread::panicking() {
            eprintln!("the log of Redis on port {}:\n{}", self.port, self.log());
        }
    }
}
