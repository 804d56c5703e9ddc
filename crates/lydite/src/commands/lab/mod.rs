//! `lydite lab`: starts, lists and ends throwaway servers and clusters on this machine. They listen on the loopback
//! only.
//!
//! A lab is a directory with a note (`lab.json`) that lists its servers. The note is written before the first server
//! starts, so that `lydite lab down` finds every server whatever happens. The servers keep running when the program
//! ends.
//!
//! Every account of the machine reaches the loopback, so each lab has its own random password. The URL of the lab and
//! the note contain it; the note is in a directory that others can't enter. Child programs get the password through the
//! environment or through private files, never on their command line.

mod clock;
mod directories;
mod disk;
mod down;
mod fleet;
mod gemel;
mod kind;
mod list;
mod mariadb;
mod moves;
mod note;
mod ports;
mod postgres;
mod privacy;
mod process;
mod programs;
mod restart;
mod servers;
mod target;
mod up;

use crate::cli::{LabArgs, LabCommand};
use lydite_console::exit::{Failure, Outcome};
pub(crate) use fleet::running as running_fleet;
use kind::{Kind, Servers};
use note::Lab;
pub(crate) use target::{LabTarget, Labs};

/// Runs `lydite lab`.
pub(crate) fn command(args: LabArgs) -> Outcome {
    match args.command {
        LabCommand::Up { kind, shards, agents, clock, sync, disk, dir } => {
            up::up(&kind, &up::Options { shards, agents, clock, sync, disk, sweep: None }, dir)
        }
        LabCommand::Down { kind, dir } => down::down(&kind, dir),
        LabCommand::Restart { place, dir } => restart::restart(&place, dir),
        LabCommand::Move { place, warehouses, dir } => moves::move_to(&place, &warehouses, dir),
        LabCommand::List => list::list(),
    }
}

/// Returns the servers of a lab that runs without `--dir`, for faults.
///
/// # Errors
/// There is no such kind of lab, or it does not run.
pub(crate) fn servers(name: &str) -> Result<Vec<lydite_faults::Server>, String> {
    let line = |failure: Failure| failure.line();
    let kind = Kind::named(name).map_err(line)?;
    if kind.servers == Servers::Fleet {
        return Err("the lab fleet has no database: name the lab of the database".to_owned());
    }
    let lab = Lab::read(&directories::root().join(name)).map_err(line)?;
    let lab = lab.ok_or_else(|| format!("lab {name} does not run: start it with lydite lab up {name}"))?;
    let disk = lab.disk.map(|disk| disk.mount);
    let first = lab.servers.first().filter(|_| kind.servers == Servers::Galera);
    let ports: Vec<u16> = lab.servers.iter().map(|server| server.port).collect();
    let galera = first.map(|first| lydite_faults::Galera { new_data: mariadb::new_data(first), ports });
    let of = |server: note::Server| lydite_faults::Server {
        port: server.port,
        // For PostgreSQL the stop that does not wait for sessions to end.
        stop_signal: if kind.servers.are_postgres() { libc::SIGINT } else { libc::SIGTERM },
        data: server.data(),
        disk: disk.clone(),
        galera: galera.clone(),
    };
    Ok(lab.servers.into_iter().map(of).collect())
}

/// Returns the name of the lab with a server on one of these ports, for faults; `None` if there is none among the labs that
/// run without `--dir`.
///
/// # Errors
/// The note of a lab can't be read.
pub(crate) fn at(ports: &[u16]) -> Result<Option<&'static str>, String> {
    for kind in kind::KINDS.iter().filter(|kind| kind.servers != Servers::Fleet) {
        let lab = Lab::read(&directories::root().join(kind.name)).map_err(|failure| failure.line())?;
        if lab.is_some_and(|lab| lab.servers.iter().any(|server| ports.contains(&server.port))) {
            return Ok(Some(kind.name));
        }
    }
    Ok(None)
}
