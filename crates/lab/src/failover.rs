//! `lydite lab lose` and `lydite lab promote`: a server of a lab with replicas is lost for ever, and a replica takes the
//! place of a primary that is down.
//!
//! The promoted replica moves to the primary's port, as a virtual IP address would move, so the URL of the lab stays the
//! same. The other servers that are down become new replicas of it.

use crate::directories::directory;
use crate::error::LabError;
use crate::kind::{Kind, Servers};
use crate::note::Lab;
use crate::postgres::{self, Programs};
use crate::programs::{in_parallel, own};
use crate::server::Server;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::{complain, print};
use lydite_console::shell::typed;
use lydite_database::secret::shown;
use lydite_faults::Commands;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait for another process that starts servers of the lab.
const PATIENCE: Duration = Duration::from_secs(120);
/// Longest time of a command of [`losses`].
const COMMAND_LIMIT: Duration = Duration::from_secs(240);

/// Commands that lose the last replica of a lab, and that lose its primary and promote another replica.
#[derive(Debug)]
pub struct PlannedLosses {
    /// The loss of the last replica. Its end starts all servers that are down.
    pub replica: Commands,
    /// The loss of the primary. Its end promotes a replica.
    pub primary: Commands,
}

/// Returns these commands for a lab that runs without `--dir`; `None` if it has no replicas that could be promoted.
///
/// # Errors
/// The path of this program is not known.
pub fn losses(name: &str) -> Result<Option<PlannedLosses>, LabError> {
    let kind = Kind::named(name)?;
    if kind.servers != Servers::PostgresWithReplicas {
        return Ok(None);
    }
    let program = own()?;
    let program = typed(&program.display().to_string()).into_owned();
    let last = kind.servers.count(0) - 1;
    let commands = |begin: String, end: String| Commands {
        begin: format!("{program} lab {begin}"),
        end: Some(format!("{program} lab {end}")),
        limit: COMMAND_LIMIT,
    };
    Ok(Some(PlannedLosses {
        replica: commands(format!("lose {name}/{last}"), format!("restart {name}")),
        primary: commands(format!("lose {name}/0"), format!("promote {name}")),
    }))
}

/// Kills a server of a lab with replicas, and removes its data. `place` is `KIND/NODE`; node 0 is the primary.
///
/// # Errors
/// There is no such lab or server, or no other server answers, so that nobody else would have the rows.
pub fn lose(place: &str, dir: Option<PathBuf>) -> Outcome {
    let (name, node) = place.split_once('/').unwrap_or((place, ""));
    let kind = with_replicas(name, "go on without a lost server")?;
    let directory = directory(kind, dir)?;
    let _alone = Lab::lock_within(&directory, PATIENCE)?;
    let lab = Lab::of(kind, &directory)?;
    let node = node.parse::<usize>().ok().filter(|node| *node < lab.servers.len()).ok_or_else(|| {
        let most = lab.servers.len().saturating_sub(1);
        Failure::usage(format!("{}: name one of the servers, {name}/0 to {name}/{most}", shown(place)))
    })?;
    let others =
        lab.servers.iter().enumerate().filter(|(number, server)| *number != node && server.answers());
    if others.count() == 0 {
        return Err(Failure::usage(format!(
            "{place}: no other server answers, so nobody else has the rows: start them first with: lydite lab restart {name}"
        )));
    }
    let server = &lab.servers[node];
    postgres::kill(server)?;
    postgres::remove_data(server).map_err(|problem| Failure::Target(problem.to_string()))?;
    print(&format!("{place}: the {} is killed, and its data is removed\n", server.shown()))
}

/// Promotes the replica that has received the most of the primary's log, in place of a primary that is down, and prints the
/// URL of the lab. All other servers that are down become new replicas.
///
/// # Errors
/// There is no such lab, its primary runs, no replica answers, or a server does not start.
pub fn promote(name: &str, dir: Option<PathBuf>) -> Outcome {
    let kind = with_replicas(name, "can be promoted")?;
    let directory = directory(kind, dir)?;
    let mut _alone = Lab::lock_within(&directory, PATIENCE)?;
    let mut lab = Lab::of(kind, &directory)?;
    let Some(primary) = lab.servers.first() else { return Ok(()) };
    if primary.answers() {
        return Err(Failure::usage(format!(
            "the primary on port {} runs: kill it before, for example with: lydite lab lose {name}/0",
            primary.port
        )));
    }
    let failed = |problem: LabError| Failure::Target(format!("{}: {problem}", directory.display()));
    let programs = Programs::find(kind.servers)?;
    let password = lab.password().unwrap_or_default().to_owned();
    // An earlier call that was broken off may have promoted a replica that did not move yet: another one may lack rows.
    if !postgres::runs_on_another_port(primary) {
        // Whatever is left of the primary must not write any more.
        postgres::kill(primary)?;
        let best = best_replica(&programs, &lab, &password, name, &directory)?;
        postgres::promote(&programs, &lab.servers[best]).map_err(failed)?;
        take_place(&mut lab.servers, best);
        // Held until this program ends, like the lock of the note that it replaces.
        let noted = lab.write(&directory);
        _alone = noted.map_err(|error| Failure::usage(format!("{}: {error}", directory.display())))?;
    }
    let Some((primary, others)) = lab.servers.split_first() else { return Ok(()) };
    postgres::move_to_its_port(&programs, primary).map_err(failed)?;
    complain(&format!("the replica in {} is the primary now", primary.path.display()));
    let down = others.iter().filter(|server| !server.answers());
    in_parallel(&directory, down, |server| postgres::copy_again(&programs, primary, server, &password))?;
    print(&format!("{}\n", lab.arguments()))
}

/// Returns the place of the replica that has received the most of the primary's log.
///
/// # Errors
/// No replica answers.
fn best_replica(
    programs: &Programs,
    lab: &Lab,
    password: &str,
    name: &str,
    directory: &Path,
) -> Result<usize, Failure> {
    let mut best: Option<(u64, usize)> = None;
    for (number, replica) in lab.servers.iter().enumerate().skip(1).filter(|(_, replica)| replica.answers()) {
        let received = postgres::received(programs, replica, password)
            .map_err(|problem| Failure::Target(format!("{}: {problem}", directory.display())))?;
        best = best.max(Some((received, number)));
    }
    best.map(|(_, number)| number)
        .ok_or_else(|| Failure::Target(format!("lab {name}: no replica answers, so none can be promoted")))
}

/// Lets a replica be the first server. The places keep their ports, so the URLs stay the same.
fn take_place(servers: &mut [Server], replica: usize) {
    let ports: Vec<u16> = servers.iter().map(|server| server.port).collect();
    servers.swap(0, replica);
    servers.iter_mut().zip(ports).for_each(|(server, port)| server.port = port);
}

/// Returns a kind of labs with replicas. `for_what` says what the command needs them for, after "replicas that".
fn with_replicas(name: &str, for_what: &str) -> Result<&'static Kind, Failure> {
    let kind = Kind::named(name)?;
    if kind.servers == Servers::PostgresWithReplicas {
        return Ok(kind);
    }
    let able = Kind::of(Servers::PostgresWithReplicas).name;
    Err(Failure::usage(format!("lab {name}: only the lab {able} has replicas that {for_what}")))
}
