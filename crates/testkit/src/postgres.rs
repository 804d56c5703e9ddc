//! A PostgreSQL server for tests.

use crate::Directory;
use crate::prepared::{self, Filled};
use crate::process::{Running, clean_up_at_exit, unprivileged};
use crate::{free_port, is_open};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// User of the server when the tests run as root, which PostgreSQL does not allow for itself.
const USER: &str = "postgres";
/// File with the number of the server's process, below the fixture's directory.
const PID_FILE: &str = "data/postmaster.pid";

/// Settings that do not wait for stable storage, for tests that cut no power.
pub const FAST: [&str; 2] = ["fsync=off", "max_wal_size=4GB"];

/// A running server. Dropping it ends it and deletes its data.
pub struct Server {
    directory: Option<Directory>,
    data: PathBuf,
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

/// Returns the server's program and version as a file name.
fn version() -> String {
    let output = Command::new(programs().join("postgres")).arg("--version").output().expect("postgres");
    String::from_utf8_lossy(&output.stdout).trim().replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

/// Returns a directory that the server may write to, and that is deleted with this process.
fn directory() -> Directory {
    let directory = Directory::for_server("pg");
    give(directory.path());
    clean_up_at_exit(directory.path(), PID_FILE);
    directory
}

/// Gives a directory to the server's user.
fn give(directory: &Path) {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).expect("permissions");
    if let Some((uid, gid)) = unprivileged(USER) {
        chown(directory, Some(uid), Some(gid)).expect("a change of owner");
    }
}

/// Returns the directory of the newest installed server's programs, or `PG_BIN`.
fn programs() -> PathBuf {
    if let Some(given) = std::env::var_os("PG_BIN") {
        return PathBuf::from(given);
    }
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, path)| path.join("postgres").exists())
        .collect();
    found.sort();
    found.pop().expect("PostgreSQL's server programs: run `make test`, or set PG_BIN").1
}

/// Runs a command to its end as the server's user.
fn run(command: &mut Command) {
    if let Some((uid, gid)) = unprivileged(USER) {
        command.uid(uid).gid(gid);
    }
    command.current_dir("/").stdin(Stdio::null());
    let output = command.output().expect("a program that starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Makes a new cluster.
fn initdb(data: &Path) {
    run(Command::new(programs().join("initdb"))
        .args(["-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C", "-D"])
        .arg(data));
}

impl Server {
    /// Starts a server with these settings (`name=value`) beside the usual ones.
    #[must_use]
    pub fn start(settings: &[&str]) -> Self {
        let directory = directory();
        let mut server = Self::start_in(directory.path(), settings);
        server.directory = Some(directory);
        server
    }

    /// Starts a server with these settings and the databases that `fill` makes. They are made once per process for each
    /// `name`, on a server that need not survive a crash, and copied.
    #[must_use]
    pub fn start_filled(name: &str, settings: &[&str], fill: impl FnOnce(&Self)) -> Self {
        static FILLED: Filled = Filled::new();
        let filled = FILLED.get(name, || {
            let server = Self::start(&FAST);
            fill(&server);
            server.stop();
            let data = server.data.clone();
            // This process deletes the directory at its exit.
            std::mem::forget(server);
            data
        });
        let directory = directory();
        let data = directory.path().join("data");
        prepared::copy(&filled, &data);
        let mut server = Self::start_on(data, settings);
        server.directory = Some(directory);
        server
    }

    /// Starts a server whose data live below `directory`, which must be empty.
    #[must_use]
    pub fn start_in(directory: &Path, settings: &[&str]) -> Self {
        give(directory);
        let data = directory.join("data");
        prepared::copy_new(&version(), &data, initdb);
        Self::start_on(data, settings)
    }

    /// Starts a server with a system identifier of its own. All other servers are copies of one and share its
    /// identifier.
    #[must_use]
    pub fn start_stranger(settings: &[&str]) -> Self {
        let directory = directory();
        let data = directory.path().join("data");
        initdb(&data);
        let mut server = Self::start_on(data, settings);
        server.directory = Some(directory);
        server
    }

    /// Starts a streaming replica of this server, with these settings beside the usual ones.
    #[must_use]
    pub fn replica(&self, settings: &[&str]) -> Self {
        let directory = directory();
        let data = directory.path().join("data");
        run(Command::new(programs().join("pg_basebackup"))
            .args(["-h", "127.0.0.1", "-U", "postgres", "-X", "stream", "-c", "fast", "--no-sync", "-R"])
            .args(["-p", &self.port.to_string(), "-D"])
            .arg(&data));
        let mut server = Self::start_on(data, settings);
        server.directory = Some(directory);
        server
    }

    fn start_on(data: PathBuf, settings: &[&str]) -> Self {
        let server = Self {
            directory: None,
            running: Running::new("PostgreSQL", data.with_file_name("log")),
            data,
            port: free_port(),
            settings: settings.iter().map(|setting| (*setting).to_string()).collect(),
        };
        server.restart();
        server
    }

    /// Starts the server again after [`Server::kill`].
    pub fn restart(&self) {
        let mut command = Command::new(programs().join("postgres"));
        command.arg("-D").arg(&self.data).arg("-p").arg(self.port.to_string());
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "max_connections=200",
            "shared_buffers=256MB",
        ]
        .into_iter()
        .chain(self.settings.iter().map(String::as_str))
        {
            command.arg("-c").arg(setting);
        }
        if let Some((uid, gid)) = unprivileged(USER) {
            command.uid(uid).gid(gid);
        }
        // SIGQUIT ends the server at once, without a checkpoint.
        self.running.start(command, libc::SIGQUIT, || {
            // The client costs more than a look at the port.
            if !is_open(self.port) {
                return false;
            }
            let mut ready = Command::new(programs().join("pg_isready"));
            ready.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
            ready.status().expect("pg_isready").success()
        });
    }

    /// Kills the server and all its processes at once, as `kill -9` or a crash would.
    pub fn kill(&self) {
        self.running.end(libc::SIGKILL);
    }

    /// Stops the server in order and cuts open connections.
    pub fn stop(&self) {
        self.running.end(libc::SIGINT);
    }

    /// Sends a signal to the server and each of its processes without waiting (SIGSTOP, SIGCONT).
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

    /// Returns the user and group of the server's process.
    #[must_use]
    pub fn owner(&self) -> (u32, u32) {
        let data = fs::metadata(&self.data).expect("the server's data");
        (data.uid(), data.gid())
    }

    /// Returns the URL of a database of this server.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Makes a database and returns its URL.
    #[must_use]
    pub fn create_database(&self, name: &str) -> String {
        self.psql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(name)
    }

    /// Runs SQL and returns the rows of the answer, with `|` between columns.
    pub fn psql(&self, database: &str, sql: &str) -> String {
        query(&self.url(database), sql)
    }
}

/// Runs SQL on the server of a URL and returns the rows of the answer, with `|` between columns.
pub fn query(url: &str, sql: &str) -> String {
    let output = Command::new(programs().join("psql"))
        .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql])
        .output()
        .expect("psql");
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.abandon();
    }
}
