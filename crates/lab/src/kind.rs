//! The kinds of labs.

use lydite_console::exit::Failure;
use lydite_database::secret::shown;

/// Maximum number of shards or agents of a lab: each is a process of its own.
pub(crate) const MAX_MEMBERS: u16 = 32;
/// Shards or agents of a lab without `--shards` and `--agents`.
pub(crate) const DEFAULT_MEMBERS: u16 = 3;

/// A kind of lab.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) servers: Servers,
}

/// The product and the topology of a lab's servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Servers {
    Postgres,
    PostgresOverShards,
    PostgresWithReplicas,
    Mariadb,
    Galera,
    Spider,
    Gemel,
    Fleet,
}

impl Servers {
    pub(crate) fn has_shards(self) -> bool {
        matches!(self, Self::PostgresOverShards | Self::Spider)
    }

    /// Returns true for PostgreSQL's servers.
    pub(crate) fn are_postgres(self) -> bool {
        matches!(self, Self::Postgres | Self::PostgresOverShards | Self::PostgresWithReplicas)
    }

    /// Returns the number of servers and agents. `members` is the number of shards or agents.
    pub(crate) fn count(self, members: u16) -> usize {
        match self {
            Self::Postgres | Self::Mariadb | Self::Gemel => 1,
            Self::PostgresOverShards | Self::Spider | Self::Fleet => usize::from(members) + 1,
            Self::Galera | Self::PostgresWithReplicas => 3,
        }
    }
}

pub(crate) const KINDS: [Kind; 8] = [
    Kind { name: "pg", about: "a PostgreSQL server", servers: Servers::Postgres },
    Kind {
        name: "pg-sharded",
        about: "PostgreSQL over a coordinator and --shards shards (3), by postgres_fdw",
        servers: Servers::PostgresOverShards,
    },
    Kind {
        name: "pg-replicas",
        about: "a PostgreSQL server and two streaming replicas, for --replicas",
        servers: Servers::PostgresWithReplicas,
    },
    Kind {
        name: "mariadb",
        about: "a MariaDB server; with MyRocks (?engine=rocksdb) if its plugin is installed",
        servers: Servers::Mariadb,
    },
    Kind {
        name: "galera",
        about: "a Galera cluster: three MariaDB servers, each with all rows",
        servers: Servers::Galera,
    },
    Kind {
        name: "spider",
        about: "MariaDB over a coordinator and --shards shards (3), by the engine Spider",
        servers: Servers::Spider,
    },
    Kind {
        name: "gemel",
        about: "Gemel in a process of its own, for faults: lydite driver serve",
        servers: Servers::Gemel,
    },
    Kind {
        name: "fleet",
        about: "a NATS server and --agents agents (3) that wait for runs: its URL is for --join",
        servers: Servers::Fleet,
    },
];

impl Kind {
    /// Returns the kind with these servers.
    pub(crate) fn of(servers: Servers) -> &'static Self {
        match KINDS.iter().find(|kind| kind.servers == servers) {
            Some(kind) => kind,
            None => unreachable!("each product and topology has a kind"),
        }
    }

    /// Finds a kind by its name.
    pub(crate) fn named(name: &str) -> Result<&'static Self, Failure> {
        KINDS.iter().find(|known| known.name == name).ok_or_else(|| {
            let known: Vec<&str> = KINDS.iter().map(|known| known.name).collect();
            Failure::usage(format!("lab {:?} is not known: use one of {}", shown(name), known.join(", ")))
        })
    }
}
