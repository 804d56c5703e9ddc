//! A server of seekdb, OceanBase on a single node, from the Python wheel that holds one.

use crate::Directory;
use crate::by_client::{Fixture, program};
use crate::process::own_user;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

/// File with the number of the server's process, below the fixture's directory.
const PID_FILE: &str = "run/seekdb.pid";
/// Command that starts the server in its own network namespace, since it listens on all interfaces and has no password.
/// Tests reach it by its Unix socket. Without an interface with an address it does not start. The program replaces the
/// shell and `unshare` in their process.
const SCRIPT: &str = "ip link set lo up && ip link add d0 type bridge && ip addr add 10.232.0.1/24 dev d0 && \
                      ip link set d0 up && exec \"$0\" \"$@\"";

/// A running server. Dropping it ends it and deletes its data.
pub struct Server(Fixture);

fn socket(directory: &Directory) -> PathBuf {
    directory.path().join("run/sql.sock")
}

impl Server {
    /// Starts a server; none, with a message, if `LYDITE_TEST_SEEKDB` is `off`. `LYDITE_SEEKDB` may name its program;
    /// else it is the one that `scripts/install-seekdb.sh` installed.
    #[must_use]
    pub fn start() -> Option<Self> {
        if std::env::var("LYDITE_TEST_SEEKDB").is_ok_and(|switch| switch == "off") {
            eprintln!("LYDITE_TEST_SEEKDB is off: seekdb is not tested");
            return None;
        }
        let program = program(
            "LYDITE_SEEKDB",
            "seekdb/pylibseekdb/seekdb",
            "run `make test`, which installs seekdb's server, or set LYDITE_TEST_SEEKDB=off to leave its tests out",
        );
        let fixture = Fixture::new(("seekdb", "seekdb"), PID_FILE, |directory| {
            vec![format!("--socket={}", socket(directory).display())]
        });
        let mut command = Command::new("unshare");
        command.args(if own_user() == 0 { &["--net"][..] } else { &["--net", "--map-root-user"][..] });
        command.args(["sh", "-c", SCRIPT]).arg(&program);
        command.args(["--nodaemon", "-P", "2881", "--parameter", "memory_budget=1G", "--base-dir"]);
        command.arg(fixture.directory.path());
        command.env("LD_LIBRARY_PATH", program.parent().unwrap_or(Path::new("/")));
        command.env("TELEMETRY_ENABLED", "0");
        // The server listens before it has made its system tables, so a query decides.
        fixture.running.start(command, libc::SIGKILL, || {
            UnixStream::connect(socket(&fixture.directory)).is_ok() && fixture.try_sql("SELECT 1").is_ok()
        });
        Some(Self(fixture))
    }

    /// Runs SQL and returns the rows of the answer, with tabs between columns.
    pub fn sql(&self, sql: &str) -> String {
        self.0.sql(sql)
    }

    /// Makes a database and returns its URL.
    #[must_use]
    pub fn create_database(&self, name: &str) -> String {
        self.sql(&format!("CREATE DATABASE {name}"));
        format!("oceanbase://root@localhost/{name}?socket={}", socket(&self.0.directory).display())
    }
}
