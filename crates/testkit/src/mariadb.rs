//! A MariaDB server of one's own.

use crate::free_port;
use crate::process::{
    PATIENCE, alive, children, clean_up_at_exit, send, spawn_for_life, state, unprivileged,
};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The user that it runs as when the tests run as root.
const USER: &str = "mysql";
/// Where the server notes its process, below the fixture's directory.
const PID_FILE: &str = "pid";
/// Settings that spare the time of stable storage, for tests that cut no power.
pub const FAST: [&str; 3] =
    ["innodb-flush-log-at-trx-commit=0", "innodb-doublewrite=0", "innodb-log-file-size=96M"];

/// A running server. Dropping it ends it and deletes its data.
pub struct Server {
    directory: TempDir,
    port: u16,
    process: Mutex<Option<Child>>,
    settings: Vec<String>,
}

/// A server shared by the tests of one binary; each makes databases of its own. It ends with the process.
pub fn shared() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(&FAST))
}

/// A program of the server's packages: on the path or, as `mariadbd` may be, where only root looks.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/bin".into()])
        .map(|directory| directory.join(name))
        .find(|program| program.exists())
        .unwrap_or_else(|| panic!("{name}, of MariaDB's server: run `make test`, which installs it"))
}

/// Has a command run as the server's user, without any input.
fn as_server(command: &mut Command) {
    if let Some((uid, gid)) = unprivileged(USER) {
        command.uid(uid).gid(gid);
    }
    command.current_dir("/").stdin(Stdio::null());
}

/// Runs a command to its end.
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

/// An empty directory that the server may write to.
fn directory() -> TempDir {
    let directory =
        tempfile::Builder::new().prefix("lydite-mariadb-").tempdir().expect("a temporary directory");
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

    /// A server with the engine MyRocks beside InnoDB; its package is the plugin's.
    #[must_use]
    pub fn with_rocksdb(settings: &[&str]) -> Self {
        Self::start(&[settings, &["plugin-load-add=ha_rocksdb"]].concat())
    }

    /// A server with its system tables, not started.
    pub(crate) fn prepare(settings: Vec<String>) -> Self {
        let directory = directory();
        let mut install = Command::new(program("mariadb-install-db"));
        install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        install.arg(format!("--datadir={}", directory.path().join("data").display()));
        // Of its own: those that are made at the same time have temporary tables of the same names.
        install.arg(format!("--tmpdir={}", directory.path().display()));
        as_server(&mut install);
        run(&mut install);
        Self { directory, port: free_port(), process: Mutex::new(None), settings }
    }

    /// A second server with a copy of this one's data, which is stopped meanwhile.
    #[must_use]
    pub fn copy(&self) -> Self {
        self.stop();
        let copied = directory();
        let mut copy = Command::new("cp");
        copy.args(["-R", "--reflink=auto"]).arg(self.data()).arg(copied.path());
        as_server(&mut copy);
        run(&mut copy);
        self.restart();
        let settings = self.settings.clone();
        let copy = Self { directory: copied, port: free_port(), process: Mutex::new(None), settings };
        copy.restart();
        copy
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
        let mut process = self.process.lock().expect("the server's lock");
        assert!(process.is_none(), "the server is running");
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
        let log =
            fs::OpenOptions::new().create(true).append(true).open(self.path("log")).expect("a log file");
        as_server(&mut command);
        command.stdout(log.try_clone().expect("a log file")).stderr(log);
        *process = Some(spawn_for_life(command, libc::SIGKILL));
        drop(process);
        self.wait_until_ready();
    }

    fn wait_until_ready(&self) {
        let begin = Instant::now();
        loop {
            // Else somebody else's server on the same port would pass for ours.
            let ended = self.process.lock().expect("the server's lock").as_mut().map(Child::try_wait);
            assert!(matches!(ended, Some(Ok(None))), "the server ended: {}", self.log());
            let ready = self.client("mariadb-admin").arg("ping").output().expect("mariadb-admin");
            if ready.status.success() {
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "the server did not start: {}", self.log());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// What the server has written to its log.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// A client program that connects to the server as root.
    fn client(&self, name: &str) -> Command {
        let mut command = Command::new(program(name));
        command.args(["--no-defaults", "--protocol=tcp", "-h", "127.0.0.1", "-u", "root"]);
        command.arg("--connect-timeout=5");
        command.arg(format!("--port={}", self.port)).stdin(Stdio::null());
        command
    }

    /// Kills the server at once, as `kill -9` or a crash would.
    pub fn kill(&self) {
        self.end(libc::SIGKILL);
    }

    /// Stops the server in order.
    pub fn stop(&self) {
        self.end(libc::SIGTERM);
    }

    /// Sends a signal to the server without waiting (SIGSTOP, SIGCONT).
    pub fn signal(&self, signal: i32) {
        let process = self.process.lock().expect("the server's lock");
        send(process.as_ref().expect("a running server").id(), signal);
    }

    /// Whether the server has been started, has not ended, and is not frozen.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process
            .as_ref()
            .is_some_and(|child| matches!(state(child.id()), Some(state) if !"ZTX".contains(state)))
    }

    fn end(&self, signal: i32) {
        let Some(mut child) = self.process.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        let family = children(child.id());
        send(child.id(), signal);
        let begin = Instant::now();
        // Waiting reaps it: a server that is only a zombie still holds its files' locks in the eyes of the next one.
        while child.try_wait().expect("the server's state").is_none() {
            if begin.elapsed() > PATIENCE {
                send(child.id(), libc::SIGKILL);
            }
            thread::sleep(Duration::from_millis(10));
        }
        while family.iter().any(|id| alive(*id)) && begin.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The server's Unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.path("socket")
    }

    /// The URL of a database of this server.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("mariadb://root@127.0.0.1:{}/{database}", self.port)
    }

    /// Makes a database and gives its URL.
    #[must_use]
    pub fn create_database(&self, name: &str) -> String {
        self.sql("mysql", &format!("CREATE DATABASE {name}"));
        self.url(name)
    }

    /// Runs SQL and gives the answer's rows, columns parted by tabs.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        run(&mut self.query(database, sql))
    }

    /// As [`Server::sql`], of a server that may not answer.
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
        // The data are thrown away.
        self.kill();
        if thread::panicking() {
            eprintln!("the log of MariaDB on port {}:\n{}", self.port, self.log());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_keeps_its_rows_over_a_crash_and_a_copy_has_them_too() {
        let server = Server::start(&[]);
        let _url = server.create_database("kept");
        server.sql("kept", "CREATE TABLE t (a int); INSERT INTO t VALUES (7)");
        server.kill();
        assert!(!server.is_running());
        server.restart();
        let copy = server.copy();
        for server in [&server, &copy] {
            assert_eq!(server.sql("kept", "SELECT a FROM t"), "7");
        }
        let directory = copy.directory.path().to_path_buf();
        drop(copy);
        assert!(!directory.exists());
    }
}
