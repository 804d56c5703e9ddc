//! A NATS server for tests.

use crate::Directory;
use crate::process::{Running, clean_up_at_exit};
use crate::{free_port, is_open};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A running server. Dropping it ends it.
pub struct Server {
    port: u16,
    running: Running,
    _directory: Directory,
}

/// Finds the server's program.
///
/// # Panics
/// Panics if it is not installed.
#[must_use]
pub fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed =
        std::env::split_paths(&path).map(|entry| entry.join("nats-server")).find(|program| program.exists());
    let this = std::env::current_exe().expect("this program's path");
    let built = || {
        this.ancestors()
            .map(|directory| directory.join("test-deps/bin/nats-server"))
            .find(|path| path.exists())
    };
    installed.or_else(built).expect("nats-server: run `make test`, which builds it")
}

impl Server {
    /// Starts a server with these arguments beside the usual ones.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Self {
        let directory = Directory::new("nats");
        clean_up_at_exit(directory.path(), "pid");
        let port = free_port();
        let mut command = Command::new(program());
        let pid = |directory: &Path| directory.join("pid").display().to_string();
        command.args(["--addr", "127.0.0.1", "--port", &port.to_string(), "--pid", &pid(directory.path())]);
        command.args(arguments);
        let running = Running::new("NATS", directory.path().join("log"));
        running.start(command, libc::SIGKILL, || is_open(port));
        Self { port, running, _directory: directory }
    }

    /// Kills the server at once, as `kill -9` or a crash would.
    pub fn kill(&self) {
        self.running.end(libc::SIGKILL);
    }

    /// Returns the server's URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Returns the server's URL with a login: `USER:PASSWORD` or a token.
    #[must_use]
    pub fn url_with(&self, login: &str) -> String {
        format!("nats://{login}@127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.abandon();
    }
}
