//! PgBouncer in front of a PostgreSQL server, for tests.

use crate::Directory;
use crate::postgres;
use crate::process::{Running, clean_up_at_exit, unprivileged};
use crate::{free_port, is_open};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// User of the pooler when the tests run as root, which it does not allow for itself.
const USER: &str = "postgres";
/// File with the number of its process, below the fixture's directory.
const PID_FILE: &str = "pid";

/// A running pooler. Dropping it ends it.
pub struct PgBouncer {
    directory: Directory,
    running: Running,
    port: u16,
}

impl PgBouncer {
    /// Starts a pooler before a server, in a pool mode: `session`, `transaction` or `statement`.
    #[must_use]
    pub fn before(server: &postgres::Server, mode: &str) -> Self {
        Self::with_settings(server, mode, &[])
    }

    /// Starts a pooler with more settings, as `name = value`.
    #[must_use]
    pub fn with_settings(server: &postgres::Server, mode: &str, settings: &[&str]) -> Self {
        let directory = Directory::new("pgbouncer");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
        clean_up_at_exit(directory.path(), PID_FILE);
        let port = free_port();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("users"), "\"postgres\" \"\"\n").expect("the users");
        fs::write(
            path("ini"),
            format!(
                "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
                 auth_type = trust\nauth_file = {}\npool_mode = {mode}\nunix_socket_dir =\nmax_client_conn = 200\n\
                 default_pool_size = 50\npidfile = {}\n{}\n",
                server.port(),
                path("users").display(),
                path(PID_FILE).display(),
                settings.join("\n")
            ),
        )
        .expect("the settings");
        let running = Running::new("PgBouncer", path("log"));
        let pooler = Self { directory, running, port };
        pooler.start();
        pooler
    }

    fn start(&self) {
        let mut command = Command::new(program());
        command.arg(self.directory.path().join("ini"));
        if let Some((uid, gid)) = unprivileged(USER) {
            chown(self.directory.path(), Some(uid), Some(gid)).expect("a change of owner");
            command.uid(uid).gid(gid);
        }
        self.running.start(command, libc::SIGKILL, || is_open(self.port));
    }

    /// Ends the pooler with all connections, and starts it anew.
    pub fn restart(&self) {
        self.running.end(libc::SIGKILL);
        // The new one would not start over the file of the old one.
        let _gone = fs::remove_file(self.directory.path().join(PID_FILE));
        self.start();
    }

    /// Returns the URL of a database of the server, through the pooler.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        self.running.abandon();
    }
}

/// Finds the program: on the path, or in the directory for root.
fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([Path::new("/usr/sbin").to_path_buf()])
        .map(|directory| directory.join("pgbouncer"))
        .find(|program| program.exists())
        .expect("pgbouncer: run `make test`, which installs it")
}
