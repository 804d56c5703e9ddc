//! `lydite lab`: real clusters to throw away, on this machine and on its loopback alone.
//!
//! A lab is a directory with a note of what runs in it, written before the first server starts, so that whatever
//! happens `lydite lab down` finds all of it. The servers go on when the program ends.

mod postgres;

use crate::Outcome;
use crate::cli::{LabArgs, LabCommand};
use crate::exit::Failure;
use crate::output::{complain, print};
use crate::targets::typed;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What a lab's directory calls its note.
const NOTE: &str = "lab.json";
/// Most shards of a lab: each is a server of its own.
const MOST_SHARDS: u16 = 32;

/// What runs in a lab.
#[derive(Debug, Deserialize, Serialize)]
struct Lab {
    kind: String,
    /// The URL of the database, for `lydite run` and the like.
    url: String,
    servers: Vec<Server>,
}

/// A server of a lab.
#[derive(Debug, Deserialize, Serialize)]
struct Server {
    /// Its directory.
    path: PathBuf,
    /// Its port on 127.0.0.1.
    port: u16,
}

impl Server {
    /// Whether somebody listens on its port.
    fn listens(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port)).is_ok()
    }
}

/// A kind of lab.
struct Kind {
    name: &'static str,
    about: &'static str,
}

const KINDS: [Kind; 2] = [
    Kind { name: "pg", about: "a PostgreSQL server" },
    Kind {
        name: "pg-sharded",
        about: "PostgreSQL over a coordinator and --shards shards (3), by postgres_fdw",
    },
];

pub(crate) fn command(args: LabArgs) -> Outcome {
    match args.command {
        LabCommand::Up { kind, shards, dir } => up(&kind, shards, dir),
        LabCommand::Down { kind, dir } => down(&kind, dir),
        LabCommand::List => list(),
    }
}

/// Where labs are unless the user says otherwise. Not in the home directory: servers that refuse to run as root run as
/// users who cannot see into it.
fn root() -> PathBuf {
    // SAFETY: geteuid has no preconditions.
    std::env::temp_dir().join(format!("lydite-lab-{}", unsafe { libc::geteuid() }))
}

fn directory(kind: &str, given: Option<PathBuf>) -> Result<PathBuf, Failure> {
    if !KINDS.iter().any(|known| known.name == kind) {
        let known: Vec<&str> = KINDS.iter().map(|known| known.name).collect();
        return Err(Failure::usage(format!("lab {kind:?} is not known: use one of {}", known.join(", "))));
    }
    let path = given.unwrap_or_else(|| root().join(kind));
    std::path::absolute(&path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// The note of the lab in a directory, if there is one.
fn note(directory: &Path) -> Result<Option<Lab>, Failure> {
    let path = directory.join(NOTE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::usage(format!("{}: {error}", path.display()))),
    };
    serde_json::from_str(&text).map(Some).map_err(|error| {
        Failure::usage(format!(
            "{}: {error}: this is no lab of this version; end its servers by hand",
            path.display()
        ))
    })
}

/// Ports that nobody listens on now, all different.
fn free_ports(count: usize) -> Result<Vec<u16>, Failure> {
    let listen = |_| TcpListener::bind(("127.0.0.1", 0));
    let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
    let listeners: Result<Vec<_>, _> = (0..count).map(listen).collect();
    listeners
        .and_then(|listeners| listeners.iter().map(port).collect())
        .map_err(|error| Failure::usage(format!("no free port on 127.0.0.1: {error}")))
}

fn up(kind: &str, shards: Option<u16>, dir: Option<PathBuf>) -> Outcome {
    let directory = directory(kind, dir)?;
    if shards.is_some() && kind != "pg-sharded" {
        return Err(Failure::usage(format!("--shards is for pg-sharded, not for {kind}")));
    }
    let shards = shards.unwrap_or(3);
    if !(1..=MOST_SHARDS).contains(&shards) {
        return Err(Failure::usage(format!("--shards {shards}: a lab has 1 to {MOST_SHARDS}")));
    }
    if let Some(lab) = note(&directory)? {
        return match lab.servers.iter().find(|server| !server.listens()) {
            None => print(&format!("{}\n", lab.url)),
            Some(server) => Err(Failure::usage(format!(
                "{}: there is a lab, but its server on port {} does not answer: end it with: lydite lab down {kind}",
                directory.display(),
                server.port
            ))),
        };
    }
    let begun = Instant::now();
    let programs = postgres::Programs::find()?;
    let servers = if kind == "pg" { 1 } else { usize::from(shards) + 1 };
    let servers = free_ports(servers)?
        .into_iter()
        .enumerate()
        .map(|(number, port)| Server { path: directory.join(format!("server-{number}")), port })
        .collect();
    let mut lab = Lab { kind: kind.into(), url: String::new(), servers };
    lab.url = postgres::url(&lab.servers);
    make(&directory, &lab)?;
    if let Err(failure) = postgres::start(&programs, &directory, &lab.servers) {
        // What has started ends again; if that fails, the note tells what there is.
        let ended = end(&directory, &lab);
        return Failure::all([Err(failure), ended].into_iter().filter_map(Result::err).collect());
    }
    complain(&format!(
        "{} servers run after {:.1} s, data in {}; try: lydite run {}; end them with: lydite lab down {kind}",
        lab.servers.len(),
        begun.elapsed().as_secs_f64(),
        directory.display(),
        typed(&lab.url),
    ));
    print(&format!("{}\n", lab.url))
}

/// Makes the directory, which must be new or empty, and writes the note.
fn make(directory: &Path, lab: &Lab) -> Outcome {
    let failed = |error: std::io::Error| {
        Failure::usage(format!("{}: {error}: name another directory with --dir", directory.display()))
    };
    fs::create_dir_all(directory).map_err(failed)?;
    if fs::read_dir(directory).map_err(failed)?.next().is_some() {
        return Err(Failure::usage(format!(
            "{}: the directory is not empty: name another one with --dir",
            directory.display()
        )));
    }
    let text = serde_json::to_string_pretty(lab).map_err(|error| failed(error.into()))?;
    fs::write(directory.join(NOTE), text).map_err(failed)
}

fn down(kind: &str, dir: Option<PathBuf>) -> Outcome {
    let directory = directory(kind, dir)?;
    match note(&directory)? {
        Some(lab) => end(&directory, &lab),
        None => Err(Failure::usage(format!(
            "{}: there is no lab: lydite lab list shows those that there are",
            directory.display()
        ))),
    }
}

/// Ends the servers of a lab and deletes its directory.
fn end(directory: &Path, lab: &Lab) -> Outcome {
    let programs = postgres::Programs::find()?;
    for server in &lab.servers {
        postgres::stop(&programs, server)?;
    }
    fs::remove_dir_all(directory).map_err(|error| {
        Failure::usage(format!(
            "{}: its servers have ended, but: {error}: delete it by hand",
            directory.display()
        ))
    })?;
    // Gone with the last lab; other labs keep it.
    let _others = fs::remove_dir(root());
    Ok(())
}

fn list() -> Outcome {
    let mut text = String::from("kinds\n");
    for kind in &KINDS {
        text += &format!("    {:11} {}\n", kind.name, kind.about);
    }
    text += "running\n";
    let mut none = true;
    for kind in &KINDS {
        if let Some(lab) = note(&root().join(kind.name))? {
            let silent = lab.servers.iter().filter(|server| !server.listens()).count();
            let state =
                if silent == 0 { String::new() } else { format!("  ({silent} servers do not answer)") };
            text += &format!("    {:11} {}{state}\n", lab.kind, lab.url);
            none = false;
        }
    }
    if none {
        text += "    none (but for those with a --dir of their own)\n";
    }
    print(&text)
}
