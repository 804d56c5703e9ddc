//! A MariaDB server for tests.

use crate::Directory;
use crate::prepared::{self, Filled};
use crate::process::{Running, clean_up_at_exit, unprivileged};
use crate::{free_port, is_open};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// User of the server when the tests run as root.
const USER: &str = "mysql";
/// File with the number of the server's process, below the fixture's directory.
const PID_FILE: &str = "pid";
/// Settings that do not wait for stable storage, for tests that cut no power.
pub const FAST: [&str; 3] =
    ["innodb-flush-log-at-trx-commit=0", "innodb-doublewrite=0", "innodb-log-file-size=96M"];

/// A running server. Dropping it ends it and deletes its data.
pub struct Server {
    directory: Directory,
    port: u16,
    running: Running,
    settings: Vec<String>,
}

/// Returns a server that the tests of one binary share. Each test makes its own databases. The server ends with the
/// process.
pub fn shared() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(&FAST))
}

/// Finds a program of the server's packages: on the path, or in the directories for root, where `mariadbd` may be.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/bin".into()])
        .map(|directory| directory.join(name))
        .find(|program| program.exists())
        .unwrap_or_else(|| panic!("{name}, of MariaDB's server: run `make test`, which installs it"))
}

/// Returns the server's program and version as a file name.
fn version() -> String {
    let output = Command::new(program("mariadbd")).arg("--version").output().expect("mariadbd");
    let version = String::from_utf8_lossy(&output.stdout);
    // The path of the program follows the version.
    let version = version.split("Ver").nth(1).unwrap_or_default().trim();
    format!("mariadbd_{version}").replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

/// Makes a command run as the server's user, without input.
fn as_server(command: &mut Command) {
    if let Some((uid, gid)) = unprivileged(USER) {
        command.uid(uid).gid(gid);
    }
    command.current_dir("/").stdin(Stdio::null());
}

/// Runs a command to its end and returns its output.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("a program that starts");
    assert!(
        output.status.success(),
        "{command:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

fn running_in(directory: &Directory) -> Running {
    Running::new("MariaDB", directory.path().join("log"))
}

/// Returns an empty directory that the server may write to.
fn directory() -> Directory {
    let directory = Directory::for_server("mariadb");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
    if let Some((uid, gid)) = unprivileged(USER) {
        chown(directory.path(), Some(uid), Some(gid)).expect("a change of owner");
    }
    clean_up_at_exit(directory.path(), PID_FILE);
    directory
}

impl Server {
    /// Starts a server with these settings (`name=value`, as on its command line without the dashes) beside the usual
    /// ones.
    #[must_use]
    pub fn start(settings: &[&str]) -> Self {
        let server = Self::prepare(settings.iter().map(|setting| (*setting).to_string()).collect());
        server.restart();
        server
    }

    /// Starts a server with the engine MyRocks beside InnoDB; its package is the plugin's.
    #[must_use]
    pub fn with_rocksdb(settings: &[&str]) -> Self {
        Self::start(&[settings, &["plugin-load-add=ha_rocksdb"]].concat())
    }

    /// Returns a server with its system tables that is not started.
    pub(crate) fn prepare(settings: Vec<String>) -> Self {
        let directory = directory();
        prepared::copy_new(&version(), &directory.path().join("data"), |data| {
            let mut install = Command::new(program("mariadb-install-db"));
            install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
            install.arg(format!("--datadir={}", data.display()));
            install.arg(format!("--tmpdir={}", directory.path().display()));
            as_server(&mut install);
            run(&mut install);
        });
        Self { running: running_in(&directory), directory, port: free_port(), settings }
    }

    /// Starts a server with these settings and the databases that `fill` makes. They are made once per process for each
    /// `name` and settings, on a server with the same settings, and copied.
    #[must_use]
    pub fn start_filled(name: &str, settings: &[&str], fill: impl FnOnce(&Self)) -> Self {
        static FILLED: Filled = Filled::new();
        let filled = FILLED.get(&format!("{name} {settings:?}"), || {
            let server = Self::start(&[&FAST[..], settings].concat());
            fill(&server);
            server.stop();
            let data = server.data();
            // This process deletes the directory at its exit.
            std::mem::forget(server);
            data
        });
        let directory = directory();
        prepared::copy(&filled, &directory.path().join("data"));
        let settings = settings.iter().map(|setting| (*setting).to_string()).collect();
        let server = Self { running: running_in(&directory), directory, port: free_port(), settings };
        server.restart();
        server
    }

    /// Starts a primary and a replica that follows it by GTIDs, both with these settings beside the usual ones.
    #[must_use]
    pub fn with_replica(settings: &[&str]) -> (Self, Self) {
        let primary = Self::start(&[settings, &["server-id=1", "log-bin=binlog"]].concat());
        let replica = Self::start(&[settings, &["server-id=2", "read-only=1"]].concat());
        replica.sql(
            "mysql",
            &format!(
                "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {}, MASTER_USER = 'root', \
                 MASTER_USE_GTID = slave_pos; START SLAVE",
                primary.port
            ),
        );
        (primary, replica)
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Starts the server again after [`Server::kill`] or [`Server::stop`].
    pub fn restart(&self) {
        self.launch(&[]);
    }

    /// Starts the server with settings for this time only.
    pub(crate) fn launch(&self, once: &[&str]) {
        let mut command = Command::new(program("mariadbd"));
        command.arg("--no-defaults");
        let option = |name: &str, path: &Path| format!("--{name}={}", path.display());
        command.args([
            option("datadir", &self.data()),
            option("socket", &self.path("socket")),
            option("pid-file", &self.path(PID_FILE)),
            option("tmpdir", &self.data()),
            format!("--port={}", self.port),
        ]);
        command.args([
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
            "--max-connections=200",
            "--innodb-buffer-pool-size=256M",
        ]);
        command.args(self.settings.iter().map(|setting| format!("--{setting}")));
        command.args(once.iter().map(|setting| format!("--{setting}")));
        as_server(&mut command);
        self.running.start(command, libc::SIGKILL, || {
            // The client costs more than a look at the port.
            is_open(self.port)
                && self.client("mariadb-admin").arg("ping").output().expect("mariadb-admin").status.success()
        });
    }

    /// Returns the server's log.
    #[must_use]
    pub fn log(&self) -> String {
        self.running.log()
    }

    /// Returns a client program that connects to the server as root.
    fn client(&self, name: &str) -> Command {
        let mut command = Command::new(program(name));
        command.args(["--no-defaults", "--protocol=tcp", "-h", "127.0.0.1", "-u", "root"]);
        command.arg("--connect-timeout=5");
        command.arg(format!("--port={}", self.port)).stdin(Stdio::null());
        command
    }

    /// Kills the server at once, as `kill -9` or a crash would.
    pub fn kill(&self) {
        self.running.end(libc::SIGKILL);
    }

    /// Stops the server in order.
    pub fn stop(&self) {
        self.running.end(libc::SIGTERM);
    }

    /// Sends a signal to the server without waiting (SIGSTOP, SIGCONT).
    pub fn signal(&self, signal: i32) {
        self.running.signal(signal);
    }

    /// True if the server was started, has not ended, and is not frozen.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.running.is_running()
    }

    /// Returns the port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the path of the server's Unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.path("socket")
    }

    /// Returns the URL of a database of this server.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("mariadb://root@127.0.0.1:{}/{database}", self.port)
    }

    /// Makes a database and returns its URL.
    #[must_use]
    pub fn create_database(&self, name: &str) -> String {
        self.sql("mysql", &format!("CREATE DATABASE {name}"));
        self.url(name)
    }

    /// Runs SQL and returns the rows of the answer, with tabs between columns.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        run(&mut self.query(database, sql))
    }

    /// Runs SQL like [`Server::sql`]; none if the server does not answer.
    pub(crate) fn try_sql(&self, database: &str, sql: &str) -> Option<String> {
        let output = self.query(database, sql).output().expect("the program mariadb");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    }

    fn query(&self, database: &str, sql: &str) -> Command {
        let mut query = self.client("mariadb");
        query.args(["--batch", "--skip-column-names", "-e", sql, database]);
        query
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.abandon();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_gets_the_commits_of_its_primary() {
        let (primary, replica) = Server::with_replica(&FAST);
        let _url = primary.create_database("followed");
        primary.sql("followed", "CREATE TABLE t (a int); INSERT INTO t VALUES (7)");
        let position = primary.sql("mysql", "SELECT @@gtid_binlog_pos");
        assert_eq!(replica.sql("mysql", &format!("SELECT MASTER_GTID_WAIT('{position}', 30)")), "0");
        assert_eq!(replica.sql("followed", "SELECT a FROM t"), "7");
    }

    #[test]
    fn a_server_has_the_filled_rows_survives_a_crash_and_deletes_its_data_at_the_end() {
        let fill = |server: &Server| {
            let _url = server.create_database("kept");
            server.sql("kept", "CREATE TABLE t (a int); INSERT INTO t VALUES (7)");
        };
        let server = Server::start_filled("kept", &[], fill);
        server.sql("kept", "INSERT INTO t VALUES (8)");
        server.kill();
        assert!(!server.is_running());
        server.restart();
        let other = Server::start_filled("kept", &[], |_| panic!("it is filled once"));
        assert_eq!(server.sql("kept", "SELECT sum(a) FROM t"), "15");
        assert_eq!(other.sql("kept", "SELECT sum(a) FROM t"), "7");
        let directory = other.directory.path().to_path_buf();
        drop(other);
        assert!(!directory.exists());
    }
}
