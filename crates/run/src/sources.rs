//! Sources of samples beside a run or a load: the database, this machine, other machines and exporters.

use lydite_database::{Configuration, Replicas, StatementUse, Target, TargetError};
use lydite_families::TargetSpec;
use lydite_faults::sockets::Address;
use lydite_observe::{Observed, Server, Source, SourceSpec, host};
use lydite_plan::Plan;
use lydite_plan::observe::Observe;
use lydite_report::observed::Observed as ObservedResult;
use lydite_report::statements::StatementResult;
use std::sync::Arc;

/// A database whose sources are sought.
#[derive(Clone, Copy)]
pub struct Sought<'a> {
    /// Sources of the plan.
    pub observe: &'a Observe,
    /// The database's URL.
    pub spec: &'a TargetSpec,
    /// Addresses of the database and its replicas.
    pub addresses: &'a [Address],
    /// The database.
    pub target: &'a Arc<dyn Target>,
    /// Replicas of the database, if it has any.
    pub replicas: Option<&'a Replicas>,
}

impl<'a> Sought<'a> {
    /// Returns the sources of a plan for the load of its database.
    pub(crate) fn of_plan(plan: &'a Plan, target: &'a Arc<dyn Target>) -> Self {
        let (observe, spec) = (&plan.observe, &plan.target);
        Self { observe, spec, addresses: &plan.controls.faults.addresses, target, replicas: None }
    }
}

/// The sources of a run or a load.
pub(crate) struct Sources {
    pub(crate) sources: Vec<Source>,
    pub(crate) configuration: Configuration,
    /// The database's servers on this machine.
    pub(crate) servers: Vec<Server>,
    /// True if these are all of the database's servers.
    pub(crate) all_known: bool,
    /// Failures of observation, each with its object.
    pub(crate) problems: Vec<String>,
}

/// Values and statements of sources, as documents have them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    pub(crate) observed: Vec<ObservedResult>,
    pub(crate) statements: Vec<StatementResult>,
    /// Failures of observation, each with its object.
    pub(crate) problems: Vec<String>,
}

impl Sources {
    /// Prepares the sources of a plan. Asks the database for its configuration.
    pub(crate) fn find(of: &Sought<'_>) -> Self {
        let (servers, mut problems) = servers_here(of);
        let all_known = problems.is_empty() && of.spec.fingerprint().is_none();
        let mut processes = servers.clone();
        if of.spec.path().is_some() || of.spec.is_temporary() {
            // An embedded database works in this process.
            processes.insert(0, Server::own());
        }
        let sources = of.observe.sources.iter().flat_map(|spec| match spec {
            SourceSpec::Database => servers_of(of.target, of.replicas),
            SourceSpec::Host(_) => vec![Source {
                name: spec.name(),
                open: Box::new({
                    let processes = processes.clone();
                    move || host::observer(processes.clone()).map(Some).map_err(TargetError::database)
                }),
            }],
            SourceSpec::Remote(remote) => {
                let remote = remote.clone();
                let open = move || remote.observer().map(Some).map_err(TargetError::database);
                vec![Source { name: spec.name(), open: Box::new(open) }]
            }
            SourceSpec::Exporter(exporter) => {
                let exporter = exporter.clone();
                vec![Source { name: spec.name(), open: Box::new(move || Ok(Some(exporter.observer()))) }]
            }
        });
        let sources = sources.collect();
        if !of.observe.sources.iter().any(|source| matches!(source, SourceSpec::Host(_))) {
            // Nobody asked for the processes.
            problems.clear();
        }
        let configuration = of.target.capabilities().configuration().unwrap_or_else(|error| Configuration {
            problem: Some(error.message),
            ..Configuration::default()
        });
        problems
            .extend(configuration.problem.iter().map(|why| format!("the server's changed settings: {why}")));
        Self { sources, configuration, servers, all_known, problems }
    }
}

impl Written {
    /// Returns what sources reported in the first `seconds` seconds.
    pub(crate) fn of(sources: &[Observed], seconds: usize) -> Self {
        let mut written = Self::default();
        for source in sources {
            written.observed.extend(source.series(seconds).into_iter().map(|series| ObservedResult {
                source: source.name.clone(),
                name: series.name,
                unit: series.unit.to_owned(),
                values: series.values,
            }));
            written.statements.extend(source.statements.iter().map(|of| statement(&source.name, of)));
        }
        let silent = sources.iter().filter(|source| source.is_empty() || source.is_cut());
        let silent =
            silent.filter_map(|source| Some(format!("{}: {}", source.name, source.problem.as_ref()?)));
        let uncounted = sources.iter().filter_map(|source| {
            Some(format!("the statements of {}: {}", source.name, source.uncounted.as_ref()?))
        });
        written.problems.extend(silent.chain(uncounted));
        written
    }
}

/// Returns the problem of something that can't be observed as a warning.
pub(crate) fn could_not(problem: &str) -> String {
    format!("Could not observe {problem}")
}

/// Returns the servers of a database and of its replicas as sources. The main server has the name of the source alone.
fn servers_of(target: &Arc<dyn Target>, replicas: Option<&Replicas>) -> Vec<Source> {
    let name = SourceSpec::Database.name();
    let mut sources = Vec::new();
    let followers = replicas.iter().flat_map(|replicas| replicas.servers()).map(|(_, replica)| replica);
    for target in std::iter::once(target).chain(followers) {
        for (number, server) in target.capabilities().observed_servers().into_iter().enumerate() {
            let main = sources.is_empty();
            let target = Arc::clone(target);
            sources.push(Source {
                name: if main { name.clone() } else { format!("{name}:{server}") },
                open: Box::new(move || target.capabilities().observer(number)),
            });
        }
    }
    sources
}

/// Returns a statement of a source as the result has it.
fn statement(source: &str, StatementUse { text, work }: &StatementUse) -> StatementResult {
    StatementResult {
        source: source.to_owned(),
        text: text.clone(),
        calls: work.calls,
        // Whole nanoseconds through a whole number: one rounding.
        mean_ms: (work.seconds * 1e9).round() / (work.calls as f64 * 1e6),
        rows: work.rows,
        blocks_read: work.blocks.map(|(read, _)| read),
        blocks_hit: work.blocks.map(|(_, hit)| hit),
    }
}

/// Returns the database's servers on this machine that the target's URL or the plan's sources name, and the problems of
/// those that can't be found.
fn servers_here(of: &Sought<'_>) -> (Vec<Server>, Vec<String>) {
    let addresses: &[Address] = if of.spec.has_server() { of.addresses } else { &[] };
    let mut here: Vec<(usize, &str, u16)> = (0..)
        .zip(addresses)
        .filter(|(_, address)| address.is_here())
        .map(|(number, Address { host, port })| (number, host.as_str(), *port))
        .collect();
    for source in &of.observe.sources {
        // The server that a driver talks to, for example: only the user knows it.
        if let SourceSpec::Host(Some(port)) = source
            && here.iter().all(|(.., known)| known != port)
        {
            here.push((addresses.len(), "localhost", *port));
        }
    }
    let mut problems = Vec::new();
    if of.spec.has_server() && of.spec.fingerprint().is_none() && addresses.is_empty() && here.is_empty() {
        problems.push(
            "the processes of the database: its URL names a Unix socket: use HOST:PORT, or --observe host/port:N"
                .to_owned(),
        );
    }
    let db = SourceSpec::Database.name();
    let mut found = Vec::new();
    for (number, host, port) in here {
        let name = if number == 0 { db.clone() } else { format!("{db}:{host}:{port}") };
        match Server::find(name, port) {
            Ok(server) => found.push(server),
            Err(problem) => problems.push(format!("the processes of {host}:{port}: {problem}")),
        }
    }
    (found, problems)
}
