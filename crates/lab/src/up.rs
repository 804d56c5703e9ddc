//! `lydite lab up`.

use crate::clock;
use crate::directories;
use crate::disk::Disk;
use crate::down::end;
use crate::fleet;
use crate::kind::{DEFAULT_MEMBERS, Kind, MAX_MEMBERS, Servers};
use crate::left;
use crate::note::{Lab, being_started, is_starting};
use crate::ports::free_ports;
use crate::postgres;
use crate::privacy::new_password;
use crate::server::Server;
use crate::servers::{Programs, url};
use crate::settings;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::{complain, print};
use lydite_console::shell::typed;
use lydite_report::figures::plural;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The options of a lab.
#[derive(Default)]
pub struct Options {
    /// Shards beside the coordinator.
    pub shards: Option<u16>,
    /// Agents of a fleet.
    pub agents: Option<u16>,
    /// True if faults can move the clocks of the servers.
    pub clock: bool,
    /// True if commits wait for a replica.
    pub sync: bool,
    /// Size of a file system of the lab's own.
    pub disk: Option<String>,
    /// Settings of the servers besides the lab's own, each as `NAME=VALUE`.
    pub settings: Vec<String>,
    /// Absolute directory of the sweep that starts the lab and ends it.
    pub sweep: Option<PathBuf>,
}

impl Options {
    /// Returns the number of shards or agents.
    fn members(&self) -> Option<u16> {
        self.shards.or(self.agents)
    }

    /// Rejects options that the lab has not.
    fn check(&self, kind: &Kind) -> Outcome {
        let name = kind.name;
        let refuse = |message: String| Err(Failure::usage(message));
        if self.shards.is_some() && !kind.servers.has_shards() {
            return refuse(format!("--shards is for pg-sharded and spider, not for {name}"));
        }
        if self.agents.is_some() && kind.servers != Servers::Fleet {
            return refuse(format!("--agents is for fleet, not for {name}"));
        }
        for (flag, given) in [("shards", self.shards), ("agents", self.agents)] {
            if let Some(given) = given.filter(|given| !(1..=MAX_MEMBERS).contains(given)) {
                return refuse(format!("--{flag} {given}: a lab has 1 to {MAX_MEMBERS}"));
            }
        }
        if self.clock && !kind.servers.are_postgres() {
            return refuse(format!("--clock is for pg, pg-sharded and pg-replicas, not for {name}"));
        }
        if self.sync && kind.servers != Servers::PostgresWithReplicas {
            return refuse(format!("--sync is for pg-replicas, not for {name}"));
        }
        if self.disk.is_some() && kind.servers == Servers::Fleet {
            return refuse(String::from("--disk is for databases, not for fleet"));
        }
        if !self.settings.is_empty() && kind.servers == Servers::Fleet {
            return refuse(String::from("--set is for databases, not for fleet"));
        }
        settings::check(&self.settings)
    }
}

/// Starts a lab and prints its URL. If the lab runs already, only prints the URL.
///
/// # Errors
/// The lab or its options are not known, it can't be started, or another one is there.
pub fn up(name: &str, options: &Options, dir: Option<PathBuf>, interrupt: &Interrupt) -> Outcome {
    let kind = Kind::named(name)?;
    let command = |verb: &str| match &dir {
        None => format!("lydite lab {verb} {name}"),
        Some(dir) => format!("lydite lab {verb} {name} --dir {}", typed(&dir.display().to_string())),
    };
    let (up_again, end_with) = (command("up"), command("down"));
    let start_again = command("restart");
    let directory = directories::directory(kind, dir)?;
    options.check(kind)?;
    match Lab::read(&directory)? {
        Some(lab) => show_running(kind, &lab, &directory, options, (&end_with, &start_again)),
        None => start_and_print(kind, &directory, options, (&up_again, &end_with), interrupt),
    }
}

/// Prints the URL of a lab that exists, if all its servers answer and it has the configured number of shards or agents. The
/// commands end the lab, and start servers of it again.
fn show_running(
    kind: &Kind,
    lab: &Lab,
    directory: &Path,
    options: &Options,
    (end_with, start_again): (&str, &str),
) -> Outcome {
    lab.require_kind(kind.name, directory)?;
    if options.members().is_some_and(|members| lab.servers.len() != kind.servers.count(members)) {
        let members = if kind.servers == Servers::Fleet { "agents" } else { "shards" };
        return Err(Failure::usage(format!(
            "{}: there is a lab of {} {members}: end it with: {end_with}, or name another directory with --dir",
            directory.display(),
            lab.servers.len().saturating_sub(1)
        )));
    }
    let without = |option: &str| {
        Failure::usage(format!(
            "{}: there is a lab without {option}: end it with: {end_with}, or name another directory with --dir",
            directory.display()
        ))
    };
    if options.clock && lab.servers.iter().any(|server| server.clock.is_none()) {
        return Err(without("--clock"));
    }
    if options.sync && lab.servers.iter().any(|server| !server.sync) {
        return Err(without("--sync"));
    }
    if let Some(size) = &options.disk
        && lab.disk != Some(Disk::plan(size, directory)?)
    {
        return Err(without(&format!("--disk {size}")));
    }
    if let Some(missing) = options
        .settings
        .iter()
        .find(|setting| lab.servers.iter().any(|server| !server.settings.contains(setting)))
    {
        return Err(without(&format!("--set {missing}")));
    }
    if !lab.has_password() {
        complain(&format!(
            "{}: this lab of an older version has no password, so that everybody on this machine can use it as an \
             administrator: end it with: {end_with}, and start it again",
            directory.display()
        ));
    }
    if let Some(sweep) = &lab.sweep {
        let problem = format!("the sweep in {} started this lab, and ends it at its end", sweep.display());
        complain(&format!("{}: {problem}", directory.display()));
    }
    if is_starting(directory) {
        return Err(being_started(directory));
    }
    match lab.servers.iter().find(|server| !server.answers()) {
        None => print(&format!("{}\n", lab.arguments())),
        Some(server) => Err(Failure::usage(format!(
            "{}: there is a lab, but its {} does not answer: start it again with: {start_again}, or end the lab with: \
             {end_with}",
            directory.display(),
            server.shown()
        ))),
    }
}

/// Starts a new lab and prints its URL. The commands start the lab again, and end it.
fn start_and_print(
    kind: &Kind,
    directory: &Path,
    options: &Options,
    (up_again, end_with): (&str, &str),
    interrupt: &Interrupt,
) -> Outcome {
    let begun = Instant::now();
    let lab = start(kind, directory, options, interrupt)?;
    let members = options.members().unwrap_or(DEFAULT_MEMBERS);
    // Not the URL: messages never contain passwords.
    let arguments = match kind.servers {
        Servers::Fleet => format!("URL --agents {members} --join \"$({up_again})\""),
        _ if !lab.replicas.is_empty() => format!("$({up_again})"),
        // A shard needs at least one warehouse.
        servers if servers.has_shards() && members > 2 => format!("\"$({up_again})\" -w {members}"),
        _ => format!("\"$({up_again})\""),
    };
    complain(&format!(
        "{} after {:.1} s, data in {}; try: lydite run {arguments}; end with: {end_with}",
        match (kind.servers, lab.servers.len()) {
            (Servers::Fleet, _) => format!("NATS and {} run", plural(members.into(), "agent")),
            (_, 1) => "a server runs".to_string(),
            (_, count) => format!("{count} servers run"),
        },
        begun.elapsed().as_secs_f64(),
        directory.display(),
    ));
    print(&format!("{}\n", lab.arguments()))
}

/// Starts a new lab. If that fails or the user interrupts, no server of it is left.
pub(crate) fn start(
    kind: &Kind,
    directory: &Path,
    options: &Options,
    interrupt: &Interrupt,
) -> Result<Lab, Failure> {
    let programs = Programs::find(kind.servers)?;
    let password = new_password()?;
    let library = if options.clock { Some(clock::library()?) } else { None };
    let disk = options.disk.as_ref().map(|size| Disk::plan(size, directory)).transpose()?;
    let lab = new_lab(kind, directory, options, library.as_deref(), disk, &password)?;
    directories::make(directory, programs.user())?;
    // The directory of an earlier lab may have been removed by hand.
    left::end(directory);
    // Held until this function ends, so that others see that the lab is being started.
    let _starting = lab.write(directory).map_err(|error| directories::unusable(directory, &error))?;
    let made = lab.disk.as_ref().map_or(Ok(()), |disk| disk.make(programs.user()));
    let mut started = made
        .and_then(|()| programs.start(directory, kind.servers, &lab.servers, &password))
        .and_then(|()| lab.disk.as_ref().map_or(Ok(()), Disk::sync));
    if interrupt.asked() {
        started = Err(Failure::Interrupted("interrupted: the lab was ended again".into()));
    }
    if started.is_err() {
        // Ends the servers that did start. If that fails, the note still lists them.
        let ended = end(kind, directory, &lab);
        return Failure::all([started, ended].into_iter().filter_map(Result::err).collect()).map(|()| lab);
    }
    Ok(lab)
}

/// Returns a lab on free ports. Nothing of it exists yet. `library` moves its clocks.
fn new_lab(
    kind: &Kind,
    directory: &Path,
    options: &Options,
    library: Option<&Path>,
    disk: Option<Disk>,
    password: &str,
) -> Result<Lab, Failure> {
    let above = disk.as_ref().map_or(directory, |disk| disk.volume.mount.as_path());
    let count = kind.servers.count(options.members().unwrap_or(DEFAULT_MEMBERS));
    let server = |number: usize, port: u16, agent: Option<String>| Server {
        path: above.join(format!("{}-{number}", if agent.is_some() { "agent" } else { "server" })),
        port,
        agent,
        clock: library.map(|library| clock::clock(library, directory, number)),
        sync: options.sync,
        settings: options.settings.clone(),
        usual: None,
    };
    // Agents listen to no port.
    let listening = if kind.servers == Servers::Fleet { 1 } else { count };
    let ports = free_ports(listening)?;
    let agents = ports.first().into_iter().flat_map(|port| fleet::names(*port)).take(count - listening);
    let servers: Vec<Server> = ports
        .iter()
        .map(|port| (*port, None))
        .chain(agents.map(|name| (0, Some(name))))
        .enumerate()
        .map(|(number, (port, agent))| server(number, port, agent))
        .collect();
    let replicas = match kind.servers {
        Servers::PostgresWithReplicas => {
            servers.iter().skip(1).map(|server| postgres::url_of(server, password)).collect()
        }
        _ => Vec::new(),
    };
    Ok(Lab {
        kind: kind.name.into(),
        url: url(kind.servers, &servers, password),
        replicas,
        servers,
        disk,
        sweep: options.sweep.clone(),
    })
}
