//! A server of TiDB with its embedded store, in one process. Its build takes minutes, so tests use it only if a variable
//! switches it on.

use crate::by_client::{Fixture, program};
use crate::free_ports;
use std::fs;
use std::process::Command;

/// File with the number of the server's process, below the fixture's directory.
const PID_FILE: &str = "pid";

/// A running server. Dropping it ends it and deletes its data.
pub struct Server {
    fixture: Fixture,
    port: u16,
}

impl Server {
    /// Starts a server; none, with a message, unless `LYDITE_TEST_TIDB` is `on`. `LYDITE_TIDB` may name its program; else
    /// it is the one that `scripts/install-tidb.sh` built.
    #[must_use]
    pub fn start() -> Option<Self> {
        if !std::env::var("LYDITE_TEST_TIDB").is_ok_and(|switch| switch == "on") {
            eprintln!("LYDITE_TEST_TIDB is not on: TiDB is not tested");
            return None;
        }
        let mut command = Command::new(program(
            "LYDITE_TIDB",
            "tidb/tidb-server",
            "run `make test`, which builds TiDB's server",
        ));
        let [port, status] = free_ports();
        let fixture = Fixture::new(("TiDB", "tidb"), PID_FILE, |_| {
            vec!["--protocol=tcp".into(), "--host=127.0.0.1".into(), format!("--port={port}")]
        });
        let below = |name: &str| fixture.directory.path().join(name);
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
        command.arg("-P").arg(port.to_string()).arg("-status").arg(status.to_string());
        command.arg("-path").arg(below("data")).arg("-log-file").arg(below("log"));
        command.arg("-log-slow-query").arg(below("slow"));
        fixture.running.start(command, libc::SIGKILL, || fixture.try_sql("SELECT 1").is_ok());
        fs::write(below(PID_FILE), fixture.running.id().to_string()).expect("a file");
        Some(Self { fixture, port })
    }

    /// Makes a database and returns its URL.
    #[must_use]
    pub fn create_database(&self, name: &str) -> String {
        self.fixture.sql(&format!("CREATE DATABASE {name}"));
        format!("tidb://root@127.0.0.1:{}/{name}", self.port)
    }
}
