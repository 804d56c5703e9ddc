//! The command line. Values that a plan file can also hold stay text here, so that `lydite_plan` can report all errors
//! at once.

mod ab;
#[cfg(test)]
mod book;
#[cfg(test)]
mod deployments;
mod documents;
mod experiment;
mod export;
mod find;
mod leaving;
mod manuals;
mod plan_flags;
#[cfg(test)]
mod reference;
mod refusal;
mod tools;

use crate::version;
pub(crate) use ab::AbArgs;
use clap::{Args, Parser, Subcommand};
pub(crate) use documents::{CompareArgs, DiscloseArgs, Paired, PaperSize, ReportArgs, SweepArgs, Undecided};
pub(crate) use experiment::{ExperimentArgs, OWN};
pub(crate) use export::ExportArgs;
pub(crate) use find::FindArgs;
pub(crate) use leaving::{DropArgs, GrantArgs};
pub(crate) use manuals::{CompletionsArgs, ManArgs};
pub(crate) use plan_flags::PlanFlags;
pub(crate) use refusal::one_line;
use std::path::PathBuf;
pub(crate) use tools::{
    AgentArgs, DriverCommand, DriverNewArgs, DriverServeArgs, DriverTestArgs, FaultsArgs, FaultsCommand,
    FleetArgs, ImportArgs, LabArgs, LabCommand, LoginArgs, WasArgs,
};

/// Finds out how good a transactional database is: a TPC-C-derived benchmark that checks what it measures.
#[derive(Debug, Parser)]
#[command(version = version::short(), long_version = version::long(), max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a database; an empty one is loaded first
    #[command(args_override_self = true)]
    Run(Box<RunArgs>),
    /// Wait at a NATS server, and play shares of runs and loads with --agents
    Agent(AgentArgs),
    /// Load a database
    Load(LoadArgs),
    /// Serve the lines of emulated terminals: the tier between them and a loaded database
    Was(WasArgs),
    /// Check a loaded database: the twelve consistency conditions of the standard and eight of Lydite's own, or the
    /// microbenchmark's records
    Check(CheckArgs),
    /// Compute warehouses, terminals, processes, storage and price for a throughput, or judge the data of a result
    Plan(Box<PlanArgs>),
    /// Test that transactions see one snapshot over all nodes, that deadlocks over nodes are found, or that the isolation
    /// level holds; exit 1 if not
    Verify(VerifyArgs),
    /// Make the ACID tests of TPC-C (clause 3), step by step; exit 1 if one fails
    Audit(AuditArgs),
    /// The load of an audit's durability test, started by the audit
    #[command(hide = true)]
    AuditLoad(AuditLoadArgs),
    /// Samples of this machine for a run on another one, started by that over ssh
    #[command(hide = true)]
    ObserveHost {
        /// TCP port of the database's server
        #[arg(long)]
        port: Option<u16>,
    },
    /// Run a grid or a list of plans, each several times, and draw figures; the same command continues a killed sweep
    Sweep(SweepArgs),
    /// Compare two variants by runs in turns, until they are decided; the same command continues a killed experiment
    #[command(mut_args(experiment::hide_refused))]
    Ab(Box<AbArgs>),
    /// Find the highest rate, number of warehouses or of sessions that holds objectives
    #[command(mut_args(|arg| find::fitting(experiment::hide_refused(arg))))]
    Find(Box<FindArgs>),
    /// Make an HTML report from results
    Report(ReportArgs),
    /// Write an executive summary and a full disclosure report from results, an audit and prices
    Disclose(DiscloseArgs),
    /// Compare results, or groups of them, with the first; exit 4 if a change is worse than --fail-if allows, 5 if the runs
    /// can't decide it
    Compare(CompareArgs),
    /// Make plans of other programs' configuration files: BenchBase, HammerDB, BenchmarkSQL, go-tpc, sysbench-tpcc, py-tpcc,
    /// Dike; exit 4 if a setting is not understood, or if `lydite run` refuses a plan as it is
    Import(ImportArgs),
    /// Show what Lydite has made in a database, and with --yes drop exactly that; exit 4 while something of it is there
    Drop(DropArgs),
    /// Print the SQL for an account that suffices to load a database and to run on it; nothing is executed
    Grant(GrantArgs),
    /// Write results as tables for pandas, DuckDB, Prometheus, Grafana and others
    Export(ExportArgs),
    /// List the built-in databases with their URLs and options
    Targets,
    /// Start and end a throwaway server or cluster on this machine
    Lab(LabArgs),
    /// List and undo faults that runs injected and that are still active
    Faults(FaultsArgs),
    /// Make a driver for your own database, and test a driver or any other target
    #[command(subcommand)]
    Driver(DriverCommand),
    /// Print the completions of a shell: lydite completions bash > ~/.local/share/bash-completion/completions/lydite
    Completions(CompletionsArgs),
    /// Write the pages of the manual into a directory
    Man(ManArgs),
}

// Negative numbers are values, not flags: the plan rejects them together with all other errors.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct RunArgs {
    /// Restore the database from this template before the run, or load the template first if it is new; for the runs of
    /// a sweep
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) template: Option<String>,
    /// URL of the database, or a connection string of JDBC, libpq, .NET or Go (see `lydite targets`) [default: gemel: in a temporary directory]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) plan: PlanFlags,
    /// Set any key of the plan, such as --set micro.disk_percent=30; repeat it for more
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Plan file (TOML) with the same keys as these flags, - for the standard input; flags win. `lydite import` makes one of
    /// another program's configuration
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Show nothing while it runs
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// List every rule of the standard at the end, met or not
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// First drop all tables, views and foreign tables with the names of Lydite's tables, whoever made them, and load
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Known only to be rejected: clap would suggest --fresh instead, which drops the loaded rows
    #[arg(long, hide = true)]
    pub(crate) resume: bool,
    /// Known only to be rejected with the reason
    #[arg(long, hide = true)]
    pub(crate) interleaved: bool,
    /// Do not check the consistency conditions before and after
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Only check the plan and show it with its defaults, as a plan file; no database is connected to
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct LoadArgs {
    /// URL of the database, or a connection string of JDBC, libpq, .NET or Go (see `lydite targets`); --csv alone needs none
    #[arg(required_unless_present = "csv")]
    pub(crate) target: Option<String>,
    /// Warehouses to load (tpcc)
    #[arg(short, long, value_name = "N")]
    pub(crate) warehouses: Option<String>,
    /// Spread the districts over the warehouses by Zipf, as zipf(1.5) [default: ten each] (tpcc)
    #[arg(long, value_name = "zipf(S)")]
    pub(crate) data_skew: Option<String>,
    /// Rows of each warehouse: standard, small (a tenth) or tiny (a hundredth), for trials
    /// [default: standard] (tpcc)
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<String>,
    /// tpcc, or micro: the microbenchmark's tables [default: tpcc]
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Option<String>,
    /// Set a key of the plan: data_skew, size, schema, after_load, micro.tables, micro.records, micro.record_bytes; repeat it for more
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// SQL statements that make the tables instead of Lydite's; {stock} and the like stand for their names (tpcc)
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<String>,
    /// SQL statements that follow the rows: indexes, statistics, options of storage (tpcc)
    #[arg(long, value_name = "FILE")]
    pub(crate) after_load: Option<String>,
    /// Connections that load; with --agents those of each agent [default: 2]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<String>,
    /// Seed of the rows [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<String>,
    /// Write the rows into this directory as CSV files with a manifest; the same command goes on with unfinished files.
    /// With a TARGET, then load them (tpcc)
    #[arg(long, value_name = "DIR", conflicts_with = "from")]
    pub(crate) csv: Option<PathBuf>,
    /// Load the rows of the CSV files in this directory, those of --csv or of another program, after a check of all of
    /// them (tpcc)
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    /// Continue an interrupted load
    #[arg(long)]
    pub(crate) resume: bool,
    /// First drop all tables, views and foreign tables with the names of Lydite's tables, whoever made them
    #[arg(long, conflicts_with = "resume")]
    pub(crate) fresh: bool,
    /// Known only to be rejected with the reason
    #[arg(long, hide = true)]
    pub(crate) interleaved: bool,
    /// Write the measures of the load as JSON; - is the standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<String>,
    /// Write the measures of the load as an HTML page; - is the standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<String>,
    /// Sample once a second for --json and --report: db, host, host/port:N, host=ssh://HOST or prometheus=URL, or off;
    /// repeat it for more [default: db]
    #[arg(long, value_name = "SOURCE")]
    pub(crate) observe: Vec<String>,
    /// Name of the load in its documents
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Show nothing while loading
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// URL of the database, or a connection string of JDBC, libpq, .NET or Go (see `lydite targets`)
    pub(crate) target: String,
    /// No effect any more: Lydite's own conditions, which it asked for, are always evaluated
    #[arg(long)]
    pub(crate) extra: bool,
    /// Also print a checksum of each table; equal rows give equal checksums in any database
    #[arg(long)]
    pub(crate) checksums: bool,
    /// Check tables that another program loaded, found by name; the session can only read
    #[arg(long, conflicts_with_all = ["extra", "checksums"])]
    pub(crate) foreign: bool,
    /// Warehouses that the other program loaded [default: those that are there]
    #[arg(short, long, value_name = "N", requires = "foreign")]
    pub(crate) warehouses: Option<String>,
    /// Also check the rules for the rows of a fresh load (clause 4.3.3.1)
    #[arg(long, requires = "foreign")]
    pub(crate) population: bool,
    /// Write the findings as JSON
    #[arg(long, value_name = "PATH", requires = "foreign")]
    pub(crate) json: Option<PathBuf>,
    /// Print failures only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
#[command(group(clap::ArgGroup::new("throughput").required(true).args(["nopm", "from", "check"])))]
#[command(group(clap::ArgGroup::new("size_of").args(["target", "kind", "bytes_per_warehouse"])))]
pub(crate) struct PlanArgs {
    /// Wanted new orders per minute
    #[arg(long, value_name = "N")]
    pub(crate) nopm: Option<String>,
    /// Take throughput, response time and size of a warehouse from a result
    #[arg(long, value_name = "RESULT.json")]
    pub(crate) from: Option<PathBuf>,
    /// Judge the data and the space of a result; exit 1 if it would not pass
    #[arg(long, value_name = "RESULT.json")]
    pub(crate) check: Option<PathBuf>,
    /// Measure the size of a warehouse on a database that Lydite loaded
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    /// Take the size of a warehouse of this kind of database
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Size of a warehouse after loading, keys and indexes included [default: 70MB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) bytes_per_warehouse: Option<String>,
    /// Throughput of each warehouse, from 9 to 12.86 [default: 12.5]
    #[arg(long, value_name = "N", conflicts_with_all = ["warehouses", "check"])]
    pub(crate) nopm_per_warehouse: Option<String>,
    /// Warehouses [default: computed]
    #[arg(short, long, value_name = "N", conflicts_with = "check")]
    pub(crate) warehouses: Option<String>,
    /// Mean response time of the database [default: 30ms]
    #[arg(long, value_name = "TIME", conflicts_with = "check")]
    pub(crate) response: Option<String>,
    /// Terminals of a process [default: 50000]
    #[arg(long, value_name = "N", conflicts_with = "check")]
    pub(crate) terminals_per_process: Option<String>,
    /// Processes of a host [default: 15]
    #[arg(long, value_name = "N", conflicts_with = "check")]
    pub(crate) processes_per_host: Option<String>,
    /// Copies of the data [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) copies: Option<String>,
    /// Copies of the log [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) log_copies: Option<String>,
    /// Log of a New-Order and its share of the other transactions [default: the written rows]
    #[arg(long, value_name = "SIZE")]
    pub(crate) log_per_order: Option<String>,
    /// Size of all disks
    #[arg(long, value_name = "SIZE", requires = "check")]
    pub(crate) disk: Option<String>,
    /// Price sheet (TOML)
    #[arg(long, value_name = "PRICES.toml", conflicts_with = "check")]
    pub(crate) prices: Option<PathBuf>,
    /// Write the plan as JSON; - is the standard output
    #[arg(long, value_name = "PATH")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct VerifyArgs {
    /// URL of a loaded database with at least two warehouses, or of any database for --isolation (see `lydite targets`);
    /// the tests use its isolation level
    #[arg(required_unless_present = "check_history", conflicts_with = "check_history")]
    pub(crate) target: Option<String>,
    /// All tests; the default
    #[arg(value_name = "all", value_parser = ["all"])]
    pub(crate) all: Option<String>,
    /// Let sessions wait for each other in a ring: the database must find and break each ring
    #[arg(long)]
    pub(crate) global_deadlock: bool,
    /// Let writers change a group of warehouses together: readers of the group must always see equal values
    #[arg(long)]
    pub(crate) global_snapshot: bool,
    /// Let sessions play small transactions on tables of their own, and find the strongest isolation level that what they
    /// saw does not refute
    #[arg(long, conflicts_with = "check_history")]
    pub(crate) isolation: bool,
    /// Level that must not be refuted: read-committed, snapshot-isolation, serializable or strict-serializable
    /// [default: the target's; of a saved history serializable]
    #[arg(long, value_name = "L")]
    pub(crate) level: Option<String>,
    /// Transactions of --isolation: list-append or register on tables of their own, or tpcc on a loaded database
    /// [default: list-append]
    #[arg(long, value_name = "KIND")]
    pub(crate) workload: Option<String>,
    /// Transactions after which --isolation ends before its duration [default: 100000]
    #[arg(long, value_name = "N")]
    pub(crate) transactions: Option<String>,
    /// Inject a fault meanwhile, as for `lydite run`: KIND[:ARGS]@FROM[..TO][,every=TIME]/WHERE; repeat it for more (--isolation)
    #[arg(long, value_name = "FAULT", action = clap::ArgAction::Append)]
    pub(crate) fault: Vec<String>,
    /// Write what the sessions of --isolation did and saw, as JSON lines; as EDN, which Elle reads, if it ends in .edn
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    /// First drop the tables that a killed --isolation left behind
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Judge the history in this file (JSON lines) instead of a target
    #[arg(long, value_name = "FILE")]
    pub(crate) check_history: Option<PathBuf>,
    /// Length of each random test [default: 10s; of --isolation 20s]
    #[arg(short, long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Writers, and as many readers; the deadlock test has a session for each of both [default: 4; sessions of
    /// --isolation: 8]
    #[arg(long, value_name = "N")]
    pub(crate) sessions: Option<String>,
    /// Warehouses that a transaction of the deadlock test updates [default: 3, or all if there are fewer]
    #[arg(long, value_name = "N")]
    pub(crate) updates: Option<String>,
    /// Longest wait for a lock before a ring counts as not found, in whole seconds [default: 10s; of
    /// --isolation 1s]
    #[arg(long, value_name = "TIME")]
    pub(crate) limit: Option<String>,
    /// Seed of the sessions' random choices [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<String>,
    /// How transactions are sent: only statements so far
    #[arg(long, value_name = "MODE")]
    pub(crate) tx: Option<String>,
    /// Write the findings as JSON; - is the standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Print failures only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct AuditArgs {
    /// URL of the database, or a connection string of JDBC, libpq, .NET or Go (see `lydite targets`); an empty one is loaded first. The tests use its isolation level
    pub(crate) target: String,
    /// Properties to test: data, atomicity, consistency, isolation, durability [default: all]
    #[arg(long, value_name = "NAME,NAME,…")]
    pub(crate) only: Option<String>,
    /// Short loads and waits; an empty database is loaded with small warehouses
    #[arg(long)]
    pub(crate) quick: bool,
    /// Length of the load before the conditions are checked again, and before the failure [default: 5m, the clause's; 5s
    /// with --quick]
    #[arg(short, long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Terminals of these loads, which enter their transactions without waits [default: two for each warehouse, from 8 to
    /// 64]
    #[arg(long, value_name = "N")]
    pub(crate) terminals: Option<String>,
    /// Shell command that makes the database fail, for the durability test; a lab needs none [default: all servers of
    /// the lab are killed; a database within this process dies with its load]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) kill: Option<String>,
    /// Shell command that starts the database again after --kill
    #[arg(long, value_name = "COMMAND")]
    pub(crate) restart: Option<String>,
    /// Replicas of the database, on which the conditions must hold too
    #[arg(long, value_name = "URL,URL,…")]
    pub(crate) replicas: Option<String>,
    /// Warehouses to load into an empty database [default: 3]
    #[arg(short, long, value_name = "N")]
    pub(crate) warehouses: Option<String>,
    /// Rows of each warehouse to load: standard, small (a tenth) or tiny (a hundredth) [default: standard;
    /// small with --quick]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<String>,
    /// Seed of the rows that are loaded, and of the choice of rows for the tests [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<String>,
    /// Write the findings as JSON; - is the standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the findings as an HTML page; - is the standard output
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Print failures only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditLoadArgs {
    /// Number of terminals
    #[arg(long)]
    pub(crate) terminals: u32,
    /// Seed of their inputs
    #[arg(long)]
    pub(crate) seed: u64,
    /// The success file
    #[arg(long)]
    pub(crate) file: Option<PathBuf>,
    /// Use it in every second turn of this length only, and print the New-Orders of each turn
    #[arg(long)]
    pub(crate) turns: Option<String>,
    /// Let a terminal that has lost its session take another one
    #[arg(long)]
    pub(crate) reconnect: bool,
}
