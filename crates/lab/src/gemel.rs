//! Labs of a Gemel server: this program serves a database from a process of its own.

use crate::error::LabError;
use crate::privacy::make_directory;
use crate::process;
use crate::programs::own;
use crate::server::Server;
use lydite_console::PASSWORD;
use lydite_console::exit::{Failure, Outcome};
use lydite_database::target_url::encoded;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Maximum time for a server to start: it may recover first.
const PATIENCE: Duration = Duration::from_secs(120);

/// The program of the servers.
pub(crate) struct Programs {
    lydite: PathBuf,
}

impl Programs {
    /// Finds this program.
    pub(crate) fn find() -> Result<Self, Failure> {
        Ok(Self { lydite: own()? })
    }
}

/// Returns the URL of the server.
pub(crate) fn url(servers: &[Server], password: &str) -> String {
    let port = servers.first().map_or(0, |server| server.port);
    format!("gemel-server://:{password}@127.0.0.1:{port}")
}

/// Returns the URL of the database that a server opens.
fn database(server: &Server) -> String {
    let options = if server.settings.is_empty() { "" } else { "?" };
    format!("gemel:{}{options}{}", encoded(&server.data()), server.settings.join("&"))
}

/// Makes and starts a server.
pub(crate) fn start_one(programs: &Programs, server: &Server, password: &str) -> Result<(), LabError> {
    make_directory(&server.path, None)?;
    start(programs, server, password)
}

/// Returns the address that a server listens on.
fn address(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port)
}

/// Starts a server on the data that it has, unless it runs.
pub(crate) fn start_again(programs: &Programs, server: &Server, password: &str) -> Result<(), LabError> {
    if process::is_running(server, &[database(server), address(server)], PATIENCE)? {
        return Ok(());
    }
    start(programs, server, password)
}

fn start(programs: &Programs, server: &Server, password: &str) -> Result<(), LabError> {
    let mut command = Command::new(&programs.lydite);
    command.args(["driver", "serve", &database(server), "--listen", &address(server)]);
    // Others see the command line.
    command.env(PASSWORD, password);
    process::start(command, server, PATIENCE, |_| server.answers())
}

/// Kills a server if it runs.
pub(crate) fn stop(server: &Server) -> Outcome {
    process::kill(server, &[database(server), address(server)])
}
