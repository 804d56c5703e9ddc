//! The servers of labs as places of faults.

use crate::directories::root;
use crate::error::LabError;
use crate::kind::{KINDS, Kind, Servers};
use crate::note::Lab;
use crate::{galera, mariadb, server};
use lydite_faults::{Cluster, Disk, Mover, Server};

/// Returns the servers of a lab that runs without `--dir`, for faults.
///
/// # Errors
/// There is no such kind of lab, or it does not run.
pub(super) fn servers(name: &str) -> Result<Vec<Server>, LabError> {
    let kind = Kind::named(name)?;
    if kind.servers == Servers::Fleet {
        let problem = "the lab fleet has no database: name the lab of the database";
        return Err(LabError::Place(problem.to_owned()));
    }
    let lab = Lab::read(&root().join(name))?.ok_or_else(|| {
        LabError::Place(format!("lab {name} does not run: start it with lydite lab up {name}"))
    })?;
    let first = lab.servers.first().filter(|_| kind.servers == Servers::Galera);
    let ports: Vec<u16> = lab.servers.iter().map(|server| server.port).collect();
    let disk = lab.disk.map(|disk| Disk { volume: disk.volume, ports: ports.clone() });
    let cluster =
        first.map(|first| Cluster { new_data: mariadb::new_data(first), ports, rejoin: galera::rejoin() });
    // The first server is the coordinator.
    let mover = |number: usize| {
        (kind.servers == Servers::PostgresOverShards && number > 0).then(|| Mover {
            command: ["lab", "move"].map(str::to_owned).to_vec(),
            place: format!("{name}/{number}"),
        })
    };
    let of = |(number, server): (usize, server::Server)| Server {
        port: server.port,
        // For PostgreSQL the stop that does not wait for sessions to end.
        stop_signal: if kind.servers.are_postgres() { libc::SIGINT } else { libc::SIGTERM },
        data: server.data(),
        disk: disk.clone(),
        cluster: cluster.clone(),
        mover: mover(number),
    };
    Ok(lab.servers.into_iter().enumerate().map(of).collect())
}

/// Returns the name of the lab with a server on one of these ports, for faults; `None` if there is none among the labs that
/// run without `--dir`.
///
/// # Errors
/// The note of a lab can't be read.
pub(super) fn at(ports: &[u16]) -> Result<Option<&'static str>, LabError> {
    for kind in KINDS.iter().filter(|kind| kind.servers != Servers::Fleet) {
        let lab = Lab::read(&root().join(kind.name))?;
        if lab.is_some_and(|lab| lab.servers.iter().any(|server| ports.contains(&server.port))) {
            return Ok(Some(kind.name));
        }
    }
    Ok(None)
}
