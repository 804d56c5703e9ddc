//! Starting and stopping the servers of a lab, of either product.

use crate::error::LabError;
use crate::kind::Servers;
use crate::note::Lab;
use crate::programs::in_parallel;
use crate::server::Server;
use crate::{fleet, gemel, mariadb, postgres};
use lydite_console::exit::{Failure, Outcome};
use std::path::Path;

/// The programs of a lab's servers.
pub(crate) enum Programs {
    Postgres(postgres::Programs),
    Mariadb(mariadb::Programs),
    Gemel(gemel::Programs),
    Fleet(fleet::Programs),
}

impl Programs {
    /// Finds the installed programs of a product.
    pub(crate) fn find(servers: Servers) -> Result<Self, Failure> {
        match servers {
            Servers::Postgres | Servers::PostgresOverShards | Servers::PostgresWithReplicas => {
                postgres::Programs::find(servers).map(Self::Postgres)
            }
            Servers::Mariadb | Servers::Galera | Servers::Spider => {
                mariadb::Programs::find(servers).map(Self::Mariadb)
            }
            Servers::Gemel => gemel::Programs::find().map(Self::Gemel),
            Servers::Fleet => fleet::Programs::find().map(Self::Fleet),
        }
    }

    /// Returns the user and group of the servers, if they differ from this program's.
    pub(crate) fn user(&self) -> Option<(u32, u32)> {
        match self {
            Self::Postgres(programs) => programs.user,
            Self::Mariadb(programs) => programs.user,
            Self::Gemel(_) | Self::Fleet(_) => None,
        }
    }

    /// Creates and starts all servers.
    pub(crate) fn start(
        &self,
        directory: &Path,
        kind: Servers,
        servers: &[Server],
        password: &str,
    ) -> Outcome {
        match self {
            Self::Postgres(programs) if kind == Servers::PostgresWithReplicas => {
                let Some((primary, replicas)) = servers.split_first() else { return Ok(()) };
                in_parallel(directory, &servers[..1], |server| {
                    postgres::start_one(programs, server, password)
                })?;
                in_parallel(directory, replicas, |server| {
                    postgres::start_replica(programs, primary, server, password)
                })
            }
            Self::Postgres(programs) => {
                in_parallel(directory, servers, |server| postgres::start_one(programs, server, password))
            }
            Self::Mariadb(programs) => mariadb::start_all(programs, directory, kind, servers, password),
            Self::Gemel(programs) => {
                in_parallel(directory, servers, |server| gemel::start_one(programs, server, password))
            }
            Self::Fleet(programs) => {
                let join = fleet::url(servers, password);
                let (nats, agents) = servers.split_at(servers.len().min(1));
                [nats, agents].into_iter().try_for_each(|servers| {
                    in_parallel(directory, servers, |server| {
                        fleet::start_one(programs, server, &join, password)
                    })
                })
            }
        }
    }

    /// Returns the number of the server that must run before the others: a primary, a coordinator, NATS, or the node that
    /// begins a Galera cluster anew. `None` if a node of it runs, which the others join.
    ///
    /// # Errors
    /// A node can't say what it has.
    pub(crate) fn first(&self, kind: Servers, lab: &Lab) -> Result<Option<usize>, Failure> {
        match self {
            Self::Mariadb(programs) if kind == Servers::Galera => mariadb::leader(programs, &lab.servers)
                .map_err(|problem| Failure::Target(problem.to_string())),
            _ => Ok(Some(0)),
        }
    }

    /// Starts the servers of a lab that have ended again, on the data that they have; only the one with this number if
    /// there is one. Returns the names of those that it started.
    ///
    /// # Errors
    /// A server does not start.
    pub(crate) fn start_down(
        &self,
        kind: Servers,
        directory: &Path,
        lab: &Lab,
        node: Option<usize>,
    ) -> Result<Vec<String>, Failure> {
        let first = self.first(kind, lab)?;
        let is_down = |(number, server): &(usize, &Server)| {
            node.is_none_or(|node| node == *number) && !server.answers()
        };
        let (first, others): (Vec<_>, Vec<_>) =
            lab.servers.iter().enumerate().filter(is_down).partition(|(number, _)| Some(*number) == first);
        let started = first.iter().chain(&others).map(|(_, server)| server.shown()).collect();
        for (servers, is_first) in [(first, true), (others, false)] {
            in_parallel(directory, servers.into_iter().map(|(_, server)| server), |server| {
                self.start_again(kind, is_first, server, lab)
            })?;
        }
        Ok(started)
    }

    /// Starts a server of a lab on the data that it has, unless it runs and may still recover.
    pub(crate) fn start_again(
        &self,
        kind: Servers,
        is_first: bool,
        server: &Server,
        lab: &Lab,
    ) -> Result<(), LabError> {
        let password = lab.password().unwrap_or_default();
        match self {
            Self::Postgres(programs) if kind == Servers::PostgresWithReplicas => {
                let primary = lab.servers.first().filter(|_| !is_first);
                postgres::start_again_beside(programs, primary, server, password)
            }
            Self::Postgres(programs) => postgres::start_again(programs, server),
            Self::Mariadb(programs) => mariadb::start_again(programs, kind, is_first, server, password),
            Self::Gemel(programs) => gemel::start_again(programs, server, password),
            Self::Fleet(programs) => fleet::start_again(programs, server, &lab.url),
        }
    }
}

/// Returns the URL of a lab, with its password.
pub(crate) fn url(kind: Servers, servers: &[Server], password: &str) -> String {
    match kind {
        Servers::Postgres | Servers::PostgresOverShards | Servers::PostgresWithReplicas => {
            postgres::url(kind, servers, password)
        }
        Servers::Mariadb | Servers::Galera | Servers::Spider => mariadb::url(kind, servers, password),
        Servers::Gemel => gemel::url(servers, password),
        Servers::Fleet => fleet::url(servers, password),
    }
}

/// Kills servers whose files can't be read. Those that are already stopped are skipped.
pub(crate) fn kill(kind: Servers, servers: &[Server]) -> Outcome {
    match kind {
        Servers::Postgres | Servers::PostgresOverShards | Servers::PostgresWithReplicas => {
            servers.iter().try_for_each(postgres::kill)
        }
        // A signal stops the others anyway.
        Servers::Mariadb | Servers::Galera | Servers::Spider | Servers::Gemel | Servers::Fleet => {
            stop(kind, servers)
        }
    }
}

/// Ends servers so that they start again without a recovery, one after the other. Servers that are already stopped are
/// skipped.
pub(crate) fn shut_down(kind: Servers, servers: &[Server]) -> Outcome {
    match kind {
        Servers::Postgres | Servers::PostgresOverShards | Servers::PostgresWithReplicas => {
            let programs = postgres::Programs::find(kind)?;
            servers.iter().try_for_each(|server| postgres::shut_down(&programs, server))
        }
        Servers::Mariadb | Servers::Galera | Servers::Spider => {
            servers.iter().try_for_each(mariadb::shut_down)
        }
        // These write nothing when they end.
        Servers::Gemel | Servers::Fleet => stop(kind, servers),
    }
}

/// Stops servers one after the other. Servers that are already stopped are skipped.
pub(crate) fn stop(kind: Servers, servers: &[Server]) -> Outcome {
    match kind {
        Servers::Postgres | Servers::PostgresOverShards | Servers::PostgresWithReplicas => {
            let programs = postgres::Programs::find(kind)?;
            servers.iter().try_for_each(|server| postgres::stop(&programs, server))
        }
        // A signal stops them, so that this works after their programs were uninstalled.
        Servers::Mariadb | Servers::Galera | Servers::Spider => servers.iter().try_for_each(mariadb::stop),
        Servers::Gemel => servers.iter().try_for_each(gemel::stop),
        Servers::Fleet => servers.iter().try_for_each(fleet::stop),
    }
}
