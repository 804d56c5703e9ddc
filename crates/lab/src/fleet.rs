//! Labs of a fleet: a NATS server, and agents that wait at it for runs.

use crate::directories::{is_own, root};
use crate::error::LabError;
use crate::kind::{Kind, Servers};
use crate::note::{Lab, is_starting};
use crate::privacy::{make_directory, write_private};
use crate::process;
use crate::programs::{own, program};
use crate::server::{Server, agent_arguments};
use lydite_console::exit::{Failure, Outcome};
use lydite_fleet::JOIN;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Maximum time for a server or an agent to start.
const PATIENCE: Duration = Duration::from_secs(120);
/// User of the NATS server.
const USER: &str = "lydite";

/// The programs of a fleet.
pub(crate) struct Programs {
    nats: PathBuf,
    lydite: PathBuf,
}

impl Programs {
    /// Finds the NATS server and this program.
    pub(crate) fn find() -> Result<Self, Failure> {
        Ok(Self { lydite: own()?, nats: program("nats-server", "nats-server")? })
    }
}

/// Returns the URL of the NATS server, for `--join`.
pub(crate) fn url(servers: &[Server], password: &str) -> String {
    let port = servers.first().map_or(0, |server| server.port);
    format!("nats://{USER}:{password}@127.0.0.1:{port}")
}

/// Returns the names of the agents of a fleet at this port. They differ from those of all other labs that run.
pub(crate) fn names(port: u16) -> impl Iterator<Item = String> {
    (1..).map(move |number| format!("lab-{port}-{number}"))
}

/// Makes and starts a server or an agent. `join` is the URL of the NATS server.
pub(crate) fn start_one(
    programs: &Programs,
    server: &Server,
    join: &str,
    password: &str,
) -> Result<(), LabError> {
    make_directory(&server.path, None)?;
    if server.agent.is_none() {
        let text = format!(
            "listen: \"127.0.0.1:{}\"\nauthorization {{ user: \"{USER}\", password: \"{password}\" }}\n",
            server.port
        );
        let file = configuration(server);
        write_private(&file, &text, None).map_err(|error| LabError::system(file.display(), error))?;
    }
    start(programs, server, join)
}

/// Starts a server or an agent that was made before, unless it runs.
pub(crate) fn start_again(programs: &Programs, server: &Server, join: &str) -> Result<(), LabError> {
    if process::is_running(server, &arguments(server), PATIENCE)? {
        return Ok(());
    }
    start(programs, server, join)
}

fn start(programs: &Programs, server: &Server, join: &str) -> Result<(), LabError> {
    match &server.agent {
        None => {
            let mut command = Command::new(&programs.nats);
            command.arg("--config").arg(configuration(server));
            process::start(command, server, PATIENCE, |_| server.answers())
        }
        Some(name) => {
            let mut command = Command::new(&programs.lydite);
            command.args(["agent", "--name", name]);
            // Others see the command line.
            command.env(JOIN, join);
            process::start(command, server, PATIENCE, |said| said.contains("waits for runs"))
        }
    }
}

/// Returns the file with the configuration of the NATS server.
fn configuration(server: &Server) -> PathBuf {
    server.path.join("nats.conf")
}

/// Returns arguments of a process; no other process has all of them.
fn arguments(server: &Server) -> [String; 2] {
    match &server.agent {
        None => ["--config".to_owned(), configuration(server).display().to_string()],
        Some(name) => agent_arguments(name),
    }
}

/// Kills a server or an agent if it runs.
pub(crate) fn stop(server: &Server) -> Outcome {
    process::kill(server, &arguments(server))
}

/// A fleet that runs.
pub struct RunningFleet {
    /// URL of its NATS server.
    pub url: String,
    /// Number of agents that were started.
    pub agents: usize,
    /// Names of those that have ended.
    pub ended: Vec<String>,
}

/// Returns the fleet that this user has started without `--dir`; `None` if there is none.
///
/// # Errors
/// It is being started, or its NATS server does not answer.
pub fn running() -> Result<Option<RunningFleet>, Failure> {
    let kind = Kind::of(Servers::Fleet);
    let directory = root().join(kind.name);
    // Everybody can make a directory of this name. A plan with its password goes to a server of one's own only.
    if !is_own(&root()) {
        return Ok(None);
    }
    let Some(lab) = Lab::read(&directory)? else { return Ok(None) };
    let problem = if is_starting(&directory) {
        "is being started: wait until that is done"
    } else if lab.servers.first().is_none_or(|nats| !nats.answers()) {
        "has no NATS server that answers: start it again with: lydite lab restart fleet"
    } else {
        let agents = || lab.servers.iter().filter_map(|server| Some((server, server.agent.as_ref()?)));
        let ended = agents().filter(|(server, _)| !server.answers()).map(|(_, name)| name.clone()).collect();
        return Ok(Some(RunningFleet { agents: agents().count(), ended, url: lab.url }));
    };
    Err(Failure::usage(format!("--agents: the lab fleet {problem}, or name another NATS server with --join")))
}
