//! Labs of a Gemel server: this program serves a database from a process of its own.

use super::note::Server;
use super::privacy::make_directory;
use super::process;
use crate::commands::driver::PASSWORD;
use crate::exit::{Failure, Outcome};
use lydite_database::target_url::encoded;
use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum time for a server to start: it may recover first.
const PATIENCE: Duration = Duration::from_secs(120);

/// The program of the servers.
pub(super) struct Programs {
    lydite: PathBuf,
}

impl Programs {
    /// Finds this program.
    pub(super) fn find() -> Result<Self, Failure> {
        let own = std::env::current_exe();
        own.map(|lydite| Self { lydite })
            .map_err(|error| Failure::usage(format!("lydite's own program: {error}")))
    }
}

/// Returns the URL of the server.
pub(super) fn url(servers: &[Server], password: &str) -> String {
    let port = servers.first().map_or(0, |server| server.port);
    format!("gemel-server://:{password}@127.0.0.1:{port}")
}

/// Returns the URL of the database that a server opens.
fn database(server: &Server) -> String {
    format!("gemel:{}", encoded(&server.data()))
}

/// Makes and starts a server.
pub(super) fn start_one(programs: &Programs, server: &Server, password: &str) -> Result<(), String> {
    make_directory(&server.path, None)?;
    start(programs, server, password)
}

/// Returns the address that a server listens on.
fn address(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port)
}

/// Starts a server on the data that it has, unless it runs.
pub(super) fn start_again(programs: &Programs, server: &Server, password: &str) -> Result<(), String> {
    if process::is_running(server, &[&database(server), &address(server)], PATIENCE)? {
        return Ok(());
    }
    start(programs, server, password)
}

fn start(programs: &Programs, server: &Server, password: &str) -> Result<(), String> {
    let log = server.path.join("log");
    let file = OpenOptions::new().create(true).append(true).open(&log);
    let file = file.map_err(|error| format!("{}: {error}", log.display()))?;
    let mut start = Command::new(&programs.lydite);
    start.args(["driver", "serve", &database(server), "--listen", &address(server)]);
    // Others see the command line.
    start.env(PASSWORD, password).current_dir("/").stdin(Stdio::null());
    // The server outlives this process, and a Ctrl-C in the terminal must not reach it.
    start.stdout(Stdio::null()).stderr(Stdio::from(file)).process_group(0);
    let mut child = start.spawn().map_err(|error| format!("{}: {error}", programs.lydite.display()))?;
    let begun = Instant::now();
    while !server.answers() {
        let ended = child.try_wait().map_err(|error| format!("lydite driver serve: {error}"))?.is_some();
        if ended || begun.elapsed() > PATIENCE {
            let words = fs::read_to_string(&log).unwrap_or_default();
            let last = words.lines().last().unwrap_or("its log is empty");
            return Err(format!("the server for port {} did not start: {last}", server.port));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Kills a server if it runs.
pub(super) fn stop(server: &Server) -> Outcome {
    process::kill(server, &[&database(server), &address(server)])
}
