//! A server of seekdb, OceanBase on a single node, from the Python wheel that holds one.

use crate::process::{Running, clean_up_at_exit, own_user};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// File with the number of the server's process, below the fixture's directory.
const PID_FILE: &str = "run/seekdb.pid";
/// Command that starts the server in its own network namespace, since it listens on all interfaces and has no password.
/// Tests reach it by its Unix socket. Without an interface with an address it does not start.
const SCRIPT: &str = "ip link set lo up && ip link add d0 type bridge && ip addr add 10.232.0.1/24 dev d0 && \
                      ip link set d0 up && exec \"$0\" \"$@\"";

/// A running server. Dropping it ends it and deletes its data.
pub struct Server {
    directory: TempDir,
    running: Running,
}

/// Finds the server's program: `LYDITE_SEEKDB`, or the one that `scripts/install-seekdb.sh` put into cargo's target
/// directory. None if `LYDITE_TEST_SEEKDB` is `off`.
fn program() -> Option<PathBuf> {
    if std::env::var("LYDITE_TEST_SEEKDB").is_ok_and(|switch| switch == "off") {
        return None;
    }
    if let Some(given) = std::env::var_os("LYDITE_SEEKDB") {
        return Some(PathBuf::from(given));
    }
    let this = std::env::current_exe().expect("this program's path");
    let found = this.ancestors().map(|directory| directory.join("test-deps/seekdb/pylibseekdb/seekdb"));
    Some(found.into_iter().find(|path| path.exists()).expect(
        "seekdb's server: run `make test`, which installs it, or set LYDITE_TEST_SEEKDB=off to leave its tests out",
    ))
}

impl Server {
    /// Starts a server; none, with a message, if `LYDITE_TEST_SEEKDB` is `off`.
    #[must_use]
    pub fn start() -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("LYDITE_TEST_SEEKDB is off: seekdb is not tested");
            return None;
        };
        let directory =
            tempfile::Builder::new().prefix("lydite-seekdb-").tempdir().expect("a temporary directory");
        clean_up_at_exit(directory.path(), PID_FILE);
        let running = Running::new("seekdb", directory.path().join("output"));
        let server = Self { directory, running };
        server.launch(&program);
        Some(server)
    }

    fn launch(&self, program: &Path) {
        let mut command = Command::new("unshare");
        command.args(if own_user() == 0 { &["--net"][..] } else { &["--net", "--map-root-user"][..] });
        command.args(["sh", "-c", SCRIPT]).arg(program);
        command.args(["--nodaemon", "-P", "2881", "--parameter", "memory_budget=1G", "--base-dir"]);
        command.arg(self.directory.path());
        command.env("LD_LIBRARY_PATH", program.parent().unwrap_or(Path::new("/")));
        command.env("TELEMETRY_ENABLED", "0");
        // The server listens before it has made its system tables, so a query decides.
        self.running.start(command, libc::SIGKILL, || self.answers());
    }

    fn answers(&self) -> bool {
        UnixStream::connect(self.socket()).is_ok() && self.try_sql("SELECT 1").is_ok()
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("run/sql.sock")
    }

    fn try_sql(&self, sql: &str) -> Result<String, String> {
        let output = Command::new("mariadb")
            .args(["--no-defaults", "-u", "root", "--batch", "--skip-column-names", "-e", sql])
            .arg(format!("--socket={}", self.socket().display()))
            .stdin(Stdio::null())
            .output()
            .expect("mariadb");
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// Runs SQL and returns the rows of the answer, with tabs between columns.
    pub fn sql(&self, sql: &str) -> String {
        self.try_sql(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Makes a database and returns its URL.
    #[must_use]
    pub fn create_database(&self, name: &str) -> String {
        self.sql(&format!("CREATE DATABASE {name}"));
        format!("oceanbase://root@localhost/{name}?socket={}", self.socket().display())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The program replaced the shell and unshare in their process.
        self.running.abandon();
    }
}
