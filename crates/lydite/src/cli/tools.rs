//! Arguments of the commands around a database: drivers, labs, faults, agents, the WAS.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum DriverCommand {
    /// Make a directory with a working driver, for you to change into your own
    New(DriverNewArgs),
    /// Test a target: loading, each transaction, rollback, concurrency, the conditions; exit 1 if a step fails
    Test(DriverTestArgs),
    /// Serve a Gemel database to other processes until SIGTERM, as gemel-server://:PASSWORD@HOST:PORT
    Serve(DriverServeArgs),
}

/// The language of a new driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Python 3.9 or later
    Python,
    /// Go 1.19 or later
    Go,
}

impl From<Language> for lydite_driver_kit::Language {
    fn from(language: Language) -> Self {
        match language {
            Language::Python => Self::Python,
            Language::Go => Self::Go,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct DriverNewArgs {
    /// Directory to make; its last part is the driver's name
    pub(crate) name: PathBuf,
    /// Language; a specification names its own
    #[arg(long, required_unless_present = "spec")]
    pub(crate) lang: Option<Language>,
    /// Make a driver for a key-value store, on which Lydite plays the transactions
    #[arg(long)]
    pub(crate) kv: bool,
    /// Make the key-value driver that this specification of a store's calls describes (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) spec: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct DriverTestArgs {
    /// URL of an empty database (see `lydite targets`)
    #[arg(value_name = "URL")]
    pub(crate) target: String,
    /// Warehouses to load; with one nothing is remote [default: 1]
    #[arg(short, long, value_name = "N")]
    pub(crate) warehouses: Option<String>,
    /// First drop all tables, views and foreign tables with the names of Lydite's tables, whoever made them
    #[arg(long)]
    pub(crate) fresh: bool,
}

// A negative number is a value, which the command rejects.
#[derive(Debug, Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "The terminals are those of `lydite run URL --mode rte --was HOST:PORT`, on this machine or another. \
                  Ctrl-C ends the tier, which then prints its counts."
)]
pub(crate) struct WasArgs {
    /// URL of the loaded database (see `lydite targets`)
    #[arg(value_name = "URL")]
    pub(crate) target: String,
    /// Address and port for the terminals; port 0 takes a free one, which is printed
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: String,
    /// Sessions of the pool that plays what the terminals enter [default: 16]
    #[arg(long, value_name = "N")]
    pub(crate) sessions: Option<String>,
    /// statements, batched or procedures: how transactions are sent [default: statements]
    #[arg(long, value_name = "MODE")]
    pub(crate) tx: Option<String>,
    /// Write the counts as JSON at the end; - is the standard output
    #[arg(long, value_name = "PATH")]
    pub(crate) json: Option<PathBuf>,
    /// Print no counts
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DriverServeArgs {
    /// Database, as gemel:PATH with options; LYDITE_PASSWORD is the password that clients must give
    #[arg(value_name = "URL")]
    pub(crate) target: String,
    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: String,
}

#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Start a lab and print the URL of its database; pg-replicas adds --replicas and their URLs, fleet prints the URL
    /// for --join. If the lab runs already, only print
    Up {
        /// pg, pg-sharded, pg-replicas, mariadb, galera, spider, gemel or fleet: see `lydite lab list`
        kind: String,
        /// Shards beside the coordinator (pg-sharded, spider) [default: 3]
        #[arg(long, value_name = "N")]
        shards: Option<u16>,
        /// Agents that wait for runs (fleet) [default: 3]
        #[arg(long, value_name = "K")]
        agents: Option<u16>,
        /// Let faults move the servers' clocks (pg, pg-sharded, pg-replicas; needs libfaketime)
        #[arg(long)]
        clock: bool,
        /// Make commits wait until a replica has them on its disk (pg-replicas)
        #[arg(long)]
        sync: bool,
        /// Give the data a file system of its own of this size, as 4G, for the faults disk-full and power-cut (needs root)
        #[arg(long, value_name = "SIZE")]
        disk: Option<String>,
        /// Start the servers with this setting of theirs, as fsync=off or durability=none; may be repeated
        #[arg(long = "set", value_name = "NAME=VALUE")]
        settings: Vec<String>,
        /// Directory of its data, new or empty [default: below the directory for temporary files]
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Start the servers of a lab that have ended again, on their data, and print the URL of its database
    Restart {
        /// Kind of the lab; KIND/NODE for one of its servers, from 0
        #[arg(value_name = "KIND[/NODE]")]
        place: String,
        /// Directory that the lab was started with
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Kill a server of the lab pg-replicas, and remove its data: it is lost for ever
    Lose {
        /// Kind of the lab, and the server, from 0, the primary
        #[arg(value_name = "KIND/NODE")]
        place: String,
        /// Directory that the lab was started with
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Let the replica of the lab pg-replicas with the most rows take the place of a primary that is down; other servers
    /// that are down become new replicas
    Promote {
        /// Kind of the lab
        kind: String,
        /// Directory that the lab was started with
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Move warehouses to a shard of the lab pg-sharded, while others may use the database
    Move {
        /// Kind of the lab, and the shard to move to, from 1, as pg-sharded/1
        #[arg(value_name = "KIND/SHARD")]
        place: String,
        /// Numbers of the warehouses, as 4,7
        warehouses: String,
        /// Directory that the lab was started with
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// End a lab and delete its data
    Down {
        /// Kind of the lab
        kind: String,
        /// Its directory, if it was started with --dir
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// List the kinds of labs, and the labs that run
    List,
}

#[derive(Debug, Args)]
pub(crate) struct FaultsArgs {
    #[command(subcommand)]
    pub(crate) command: FaultsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FaultsCommand {
    /// List the active faults
    List {
        /// Only those on this place: lab:NAME[/NODE], pid:N, service:NAME, local or ssh://HOST
        #[arg(value_name = "WHERE")]
        place: Option<String>,
    },
    /// Undo the active faults, and end their guards
    Clear {
        /// Only those on this place: lab:NAME[/NODE], pid:N, service:NAME, local or ssh://HOST
        #[arg(value_name = "WHERE")]
        place: Option<String>,
        /// Forget those that can't be undone, once you have undone them yourself
        #[arg(long)]
        forget: bool,
    },
    /// Places and rehearsal of a fault, asked by another host
    #[command(hide = true)]
    Rehearse,
    /// The guard of a fault, started by a run
    #[command(hide = true)]
    Guard,
    /// Busy threads, started by a guard
    #[command(hide = true)]
    Burn {
        /// Their number
        threads: usize,
    },
    /// Memory that is kept, started by a guard
    #[command(hide = true)]
    Memory {
        /// Its bytes
        bytes: usize,
    },
    /// Threads that read from a disk, started by a guard
    #[command(hide = true)]
    Disk {
        /// Their number
        threads: usize,
        /// Directory on the disk
        directory: PathBuf,
        /// Write instead
        #[arg(long)]
        write: bool,
    },
    /// A helper that holds packets of the network, started by a guard
    #[command(hide = true)]
    Hold {
        /// Number of their NFQUEUE
        queue: u16,
        /// Their holding time, in JSON
        shape: String,
    },
}

/// Login at a NATS server, beside what its URL says.
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// File of credentials for NATS, as nsc writes it
    #[arg(long, value_name = "FILE")]
    pub(crate) creds: Option<PathBuf>,
    /// File with the seed of an NKey for NATS
    #[arg(long, value_name = "FILE", conflicts_with = "creds")]
    pub(crate) nkey: Option<PathBuf>,
    /// File of CA certificates for the NATS server [default: the system's]
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,
}

/// Agents that share the work of a command.
#[derive(Debug, Args)]
pub(crate) struct FleetArgs {
    /// Let this many agents share the work: each plays its terminals, or loads its warehouses
    #[arg(long, value_name = "N")]
    pub(crate) agents: Option<String>,
    /// NATS server at which the agents wait, as nats://HOST:4222; see `lydite agent` [default: with --agents the
    /// environment variable LYDITE_JOIN, else `lydite lab up fleet`]
    #[arg(long, value_name = "URL")]
    pub(crate) join: Option<String>,
    /// Longest wait for the agents [default: 30s]
    #[arg(long, value_name = "TIME")]
    pub(crate) agents_timeout: Option<String>,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// NATS server, as nats://HOST:4222 or tls://HOST:4222; USER:PASSWORD@ or TOKEN@ may stand before the host
    /// [default: the environment variable LYDITE_JOIN]
    #[arg(long, value_name = "URL")]
    pub(crate) join: Option<String>,
    /// Name of the agent, which no other one has [default: the host's, and the number of the process]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Configuration files of BenchBase, HammerDB, BenchmarkSQL, go-tpc, sysbench-tpcc, py-tpcc or Dike, recognized by
    /// their content; - is the standard input. Files that belong to one run are one plan
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// New file for the plan; several plans become PLAN-1.toml, PLAN-2.toml and so on. Files that exist are left alone; - is
    /// the standard output, which takes one plan [default: -]
    #[arg(short, long, value_name = "PLAN.toml")]
    pub(crate) output: Option<PathBuf>,
    /// Write all plans, settings and commands as one JSON document; an existing file is replaced, - is the standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
