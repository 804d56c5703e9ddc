//! A PostgreSQL server of one's own.

use crate::free_port;
use crate::process::{
    PATIENCE, alive, children, clean_up_at_exit, send, spawn_for_life, state, unprivileged,
};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The user that it runs as when the tests run as root: PostgreSQL refuses that.
const USER: &str = "postgres";
/// Where the server notes its process, below the fixture's directory.
const PID_FILE: &str = "data/postmaster.pid";

/// A running server. Dropping it ends it and deletes its data.
pub struct Server {
    directory: Option<TempDir>,
    data: PathBuf,
    port: u16,
    process: Mutex<Option<Child>>,
    settings: Vec<String>,
}

/// A server shared by the tests of one binary; each makes databases of its own. It ends with the process.
pub fn shared() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(&["fsync=off", "max_wal_size=4GB"]))
}

/// The newest installed server's programs, or those in `PG_BIN`.
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

impl Server {
    /// Starts a server with these settings (`name=value`) beside the usual ones.
    #[must_use]
    pub fn start(settings: &[&str]) -> Self {
        let directory =
            tempfile::Builder::new().prefix("lydite-pg-").tempdir().expect("a temporary directory");
        let path = directory.path().to_path_buf();
        clean_up_at_exit(&path, PID_FILE);
        let mut server = Self::start_in(&path, settings);
        server.directory = Some(directory);
        server
    }

    /// Starts a server whose data live below `directory`, which must be empty.
    #[must_use]
    pub fn start_in(directory: &Path, settings: &[&str]) -> Self {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).expect("permissions");
        if let Some((uid, gid)) = unprivileged(USER) {
            chown(directory, Some(uid), Some(gid)).expect("a change of owner");
        }
        let data = directory.join("data");
        run(Command::new(programs().join("initdb"))
            .args(["-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C", "-D"])
            .arg(&data));
        let server = Self {
            directory: None,
            data,
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
        let mut command = Command::new(programs().join("postgres"));
        command.arg("-D").arg(&self.data).arg("-p").arg(self.port.to_string());
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.data.with_file_name("log"))
            .expect("a log file");
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
        command
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log file"))
            .stderr(log);
        if let Some((uid, gid)) = unprivileged(USER) {
            command.uid(uid).gid(gid);
        }
        // SIGQUIT: at once, without a checkpoint.
        *process = Some(spawn_for_life(command, libc::SIGQUIT));
        drop(process);
        self.wait_until_ready();
    }

    fn wait_until_ready(&self) {
        let begin = Instant::now();
        loop {
            // Else somebody else's server on the same port would pass for ours.
            let ended = self.process.lock().expect("the server's lock").as_mut().map(Child::try_wait);
            assert!(
                matches!(ended, Some(Ok(None))),
                "the server ended: {}",
                fs::read_to_string(self.data.with_file_name("log")).unwrap_or_default()
            );
            let ready = Command::new(programs().join("pg_isready"))
                .args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()])
                .status()
                .expect("pg_isready");
            if ready.success() {
                return;
            }
            assert!(
                begin.elapsed() < PATIENCE,
                "the server did not start: {}",
                fs::read_to_string(self.data.with_file_name("log")).unwrap_or_default()
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Kills the server and all its processes at once, as `kill -9` or a crash would.
    pub fn kill(&self) {
        self.end(libc::SIGKILL);
    }

    /// Stops the server in order, with open connections cut.
    pub fn stop(&self) {
        self.end(libc::SIGINT);
    }

    /// Sends a signal to the server and each of its processes without waiting (SIGSTOP, SIGCONT).
    pub fn signal(&self, signal: i32) {
        let process = self.process.lock().expect("the server's lock");
        let parent = process.as_ref().expect("a running server").id();
        for id in children(parent).into_iter().chain([parent]) {
            send(id, signal);
        }
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
        let Some(mut child) = self.process.lock().expect("the server's lock").take() else { return };
        let family = children(child.id());
        send(child.id(), signal);
        if signal == libc::SIGKILL {
            for id in &family {
                send(*id, libc::SIGKILL);
            }
        }
        let begin = Instant::now();
        while child.try_wait().expect("the server's state").is_none() {
            if begin.elapsed() > PATIENCE {
                send(child.id(), libc::SIGKILL);
            }
            thread::sleep(Duration::from_millis(10));
        }
        // The next server finds the old one's shared memory in use until the last of its processes is gone.
        while family.iter().any(|id| alive(*id)) && begin.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// User and group that the server runs as.
    #[must_use]
    pub fn owner(&self) -> (u32, u32) {
        let data = fs::metadata(&self.data).expect("the server's data");
        (data.uid(), data.gid())
    }

    /// The URL of a database of this server.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Makes a database and gives its URL.
    #[must_use]
    pub fn create_database(&self, name: &str) -> String {
        self.psql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(name)
    }

    /// Runs SQL and gives the answer's rows, columns parted by `|`.
    pub fn psql(&self, database: &str, sql: &str) -> String {
        let output = Command::new(programs().join("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "postgres"])
            .args(["-p", &self.port.to_string(), "-d", database, "-c", sql])
            .output()
            .expect("psql");
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The data are thrown away.
        self.kill();
    }
}
