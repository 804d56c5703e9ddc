//! A Redis server for tests.

use crate::Directory;
use crate::free_port;
use crate::process::{Running, clean_up_at_exit};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A running server. Dropping it ends it and deletes its data.
pub struct Server {
    directory: Directory,
    port: u16,
    running: Running,
    settings: Vec<String>,
}

/// Finds the server's program. Debian's `redis-tools` has it too, under another name that changes its behaviour.
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
        let directory = Directory::new("redis");
        clean_up_at_exit(directory.path(), "pid");
        let server = Self {
            running: Running::new("Redis", directory.path().join("log")),
            directory,
            port: free_port(),
            settings: settings.iter().map(|setting| (*setting).to_string()).collect(),
        };
        server.restart();
        server
    }

    /// Starts the server again after [`Server::kill`].
    pub fn restart(&self) {
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
        self.running.start(command, libc::SIGKILL, || self.answers());
    }

    fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let mut answer = [0; 5];
        let answered = stream.write_all(b"PING\r\n").is_ok() && stream.read_exact(&mut answer).is_ok();
        // One with a password answers that it wants it.
        answered && matches!(&answer, b"+PONG" | b"-NOAU")
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

    /// Returns the URL of a database of this server, by its number.
    #[must_use]
    pub fn url(&self, number: u8) -> String {
        format!("redis://127.0.0.1:{}/{number}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.abandon();
    }
}
