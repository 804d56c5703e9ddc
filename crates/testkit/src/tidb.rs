//! A server of TiDB with its embedded store, in one process. Its build takes minutes, so tests use it only if a variable
//! switches it on.

use crate::free_ports;
use crate::process::{Running, clean_up_at_exit};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// File with the number of the server's process, below the fixture's directory.
const PID_FILE: &str = "pid";

/// A running server. Dropping it ends it and deletes its data.
pub struct Server {
    directory: TempDir,
    running: Running,
    port: u16,
}

/// Finds the server's program: `LYDITE_TIDB`, or the one that `scripts/install-tidb.sh` put into cargo's target directory.
/// None unless `LYDITE_TEST_TIDB` is `on`.
fn program() -> Option<PathBuf> {
    if !std::env::var("LYDITE_TEST_TIDB").is_ok_and(|switch| switch == "on") {
        return None;
    }
    if let Some(given) = std::env::var_os("LYDITE_TIDB") {
        return Some(PathBuf::from(given));
    }
    let this = std::env::current_exe().expect("this program's path");
    let found = this.ancestors().map(|directory| directory.join("test-deps/tidb/tidb-server"));
    Some(
        found
            .into_iter()
            .find(|path| path.exists())
            .expect("TiDB's server: run `make test`, which builds it"),
    )
}

impl Server {
    /// Starts a server; none, with a message, unless `LYDITE_TEST_TIDB` is `on`.
    #[must_use]
    pub fn start() -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("LYDITE_TEST_TIDB is not on: TiDB is not tested");
            return None;
        };
        let directory =
            tempfile::Builder::new().prefix("lydite-tidb-").tempdir().expect("a temporary directory");
        clean_up_at_exit(directory.path(), PID_FILE);
        let running = Running::new("TiDB", directory.path().join("output"));
        let [port, status] = free_ports();
        let server = Self { directory, running, port };
        server.launch(&program, status);
        Some(server)
    }

    fn launch(&self, program: &Path, status: u16) {
        let below = |name: &str| self.directory.path().join(name);
        let mut command = Command::new(program);
        command.args([
            "-store",
            "unistore",
            "-host",
            "127.0.0.1",
            "-status-host",
            "127.0.0.1",
            "-socket",
            "",
        ]);
        command.arg("-P").arg(self.port.to_string()).arg("-status").arg(status.to_string());
        command.arg("-path").arg(below("data")).arg("-log-file").arg(below("log"));
        command.arg("-log-slow-query").arg(below("slow"));
        self.running.start(command, libc::SIGKILL, || self.try_sql("SELECT 1").is_ok());
        fs::write(below(PID_FILE), self.running.id().to_string()).expect("a file");
    }

    fn try_sql(&self, sql: &str) -> Result<String, String> {
        let output = Command::new("mariadb")
            .args(["--no-defaults", "--protocol=tcp", "-h127.0.0.1", "-uroot", "-NBe", sql])
            .arg(format!("--port={}", self.port))
            .stdin(Stdio::null())
            .output()
            .expect("mariadb");
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// Makes a database and returns its URL.
    #[must_use]
    pub fn create_database(&self, name: &str) -> String {
        self.try_sql(&format!("CREATE DATABASE {name}")).unwrap_or_else(|error| panic!("{name}: {error}"));
        format!("tidb://root@127.0.0.1:{}/{name}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.abandon();
    }
}
