//! `lydite lab`: real clusters to throw away, on this machine and on its loopback alone.
//!
//! A lab is a directory with a note of what runs in it, written before the first server starts, so that whatever
//! happens `lydite lab down` finds all of it. The servers go on when the program ends.

mod mariadb;
mod postgres;

use crate::Outcome;
use crate::cli::{LabArgs, LabCommand};
use crate::exit::Failure;
use crate::loading::watch;
use crate::output::{complain, print};
use crate::targets::typed;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
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
    /// The URLs of its replicas, for `--replicas`.
    #[serde(default)]
    replicas: Vec<String>,
    servers: Vec<Server>,
}

impl Lab {
    /// What `lydite run` is given: the URL, with the replicas behind it.
    fn arguments(&self) -> String {
        if self.replicas.is_empty() {
            self.url.clone()
        } else {
            format!("{} --replicas {}", self.url, self.replicas.join(","))
        }
    }
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
#[derive(Debug)]
struct Kind {
    name: &'static str,
    about: &'static str,
    /// What it is made of.
    servers: Servers,
}

/// What servers a lab has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Servers {
    Postgres,
    PostgresOverShards,
    PostgresWithReplicas,
    Mariadb,
    Galera,
    Spider,
}

impl Servers {
    fn has_shards(self) -> bool {
        matches!(self, Self::PostgresOverShards | Self::Spider)
    }

    fn count(self, shards: u16) -> usize {
        match self {
            Self::Postgres | Self::Mariadb => 1,
            Self::PostgresOverShards | Self::Spider => usize::from(shards) + 1,
            Self::Galera | Self::PostgresWithReplicas => 3,
        }
    }
}

const KINDS: [Kind; 6] = [
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
];

/// The programs of a lab's servers.
enum Programs {
    Postgres(postgres::Programs),
    Mariadb(mariadb::Programs),
}

impl Programs {
    fn find(servers: Servers) -> Result<Self, Failure> {
        match servers {
            Servers::Postgres | Servers::PostgresOverShards | Servers::PostgresWithReplicas => {
                postgres::Programs::find(servers).map(Self::Postgres)
            }
            Servers::Mariadb | Servers::Galera | Servers::Spider => {
                mariadb::Programs::find(servers).map(Self::Mariadb)
            }
        }
    }

    fn url(&self, kind: Servers, servers: &[Server]) -> String {
        match self {
            Self::Postgres(_) => postgres::url(kind, servers),
            Self::Mariadb(_) => mariadb::url(kind, servers),
        }
    }

    fn start(&self, directory: &Path, kind: Servers, servers: &[Server]) -> Outcome {
        match self {
            Self::Postgres(programs) if kind == Servers::PostgresWithReplicas => {
                let Some((primary, replicas)) = servers.split_first() else { return Ok(()) };
                in_parallel(directory, &servers[..1], |server| postgres::start_one(programs, server))?;
                in_parallel(directory, replicas, |server| postgres::start_replica(programs, primary, server))
            }
            Self::Postgres(programs) => {
                in_parallel(directory, servers, |server| postgres::start_one(programs, server))
            }
            Self::Mariadb(programs) => mariadb::start(programs, directory, kind, servers),
        }
    }

    fn stop(&self, server: &Server) -> Outcome {
        match self {
            Self::Postgres(programs) => postgres::stop(programs, server),
            Self::Mariadb(_) => mariadb::stop(server),
        }
    }
}

/// Makes and starts servers, side by side.
fn in_parallel(
    directory: &Path,
    servers: &[Server],
    start: impl Fn(&Server) -> Result<(), String> + Sync,
) -> Outcome {
    let start = &start;
    std::thread::scope(|scope| {
        let starting: Vec<_> = servers.iter().map(|server| scope.spawn(move || start(server))).collect();
        let failures = starting.into_iter().filter_map(|thread| match thread.join() {
            Ok(Ok(())) => None,
            Ok(Err(problem)) => Some(Failure::Target(format!("{}: {problem}", directory.display()))),
            Err(_) => Some(Failure::Target("a thread of Lydite's own panicked: please report this".into())),
        });
        Failure::all(failures.collect())
    })
}

/// The user and group that servers run as when root starts them, since they refuse to run as root.
fn unprivileged(name: &str, product: &str) -> Result<Option<(u32, u32)>, Failure> {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let user = users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [found, _, user, group, ..] = fields[..] else { return None };
        (found == name).then(|| Some((user.parse().ok()?, group.parse().ok()?)))?
    });
    user.map(Some).ok_or_else(|| {
        Failure::usage(format!(
            "{product} does not run as root, and there is no user {name}: run lydite as another user"
        ))
    })
}

/// Runs a command to its end, and tells its last words if it fails.
fn finish(mut command: Command, name: &str) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name}: {}", words.lines().last().unwrap_or("it failed without a word")))
}

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

/// The kind of lab of this name.
fn kind_of(name: &str) -> Result<&'static Kind, Failure> {
    KINDS.iter().find(|known| known.name == name).ok_or_else(|| {
        let known: Vec<&str> = KINDS.iter().map(|known| known.name).collect();
        Failure::usage(format!("lab {name:?} is not known: use one of {}", known.join(", ")))
    })
}

fn directory(kind: &Kind, given: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let path = given.unwrap_or_else(|| root().join(kind.name));
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

fn up(name: &str, shards: Option<u16>, dir: Option<PathBuf>) -> Outcome {
    let kind = kind_of(name)?;
    let end_with = dir.as_ref().map_or_else(
        || format!("lydite lab down {name}"),
        |dir| format!("lydite lab down {name} --dir {}", typed(&dir.display().to_string())),
    );
    let directory = directory(kind, dir)?;
    if shards.is_some() && !kind.servers.has_shards() {
        return Err(Failure::usage(format!("--shards is for pg-sharded and spider, not for {name}")));
    }
    let asked = shards;
    let shards = shards.unwrap_or(3);
    if !(1..=MOST_SHARDS).contains(&shards) {
        return Err(Failure::usage(format!("--shards {shards}: a lab has 1 to {MOST_SHARDS}")));
    }
    if let Some(lab) = note(&directory)? {
        is_of(name, &lab, &directory)?;
        if asked.is_some() && lab.servers.len() != kind.servers.count(shards) {
            return Err(Failure::usage(format!(
                "{}: there is a lab of {} shards: end it with: {end_with}, or name another directory with --dir",
                directory.display(),
                lab.servers.len().saturating_sub(1)
            )));
        }
        return match lab.servers.iter().find(|server| !server.listens()) {
            None => print(&format!("{}\n", lab.arguments())),
            Some(server) => Err(Failure::usage(format!(
                "{}: there is a lab, but its server on port {} does not answer: end it with: {end_with}",
                directory.display(),
                server.port
            ))),
        };
    }
    let begun = Instant::now();
    let programs = Programs::find(kind.servers)?;
    let servers = free_ports(kind.servers.count(shards))?
        .into_iter()
        .enumerate()
        .map(|(number, port)| Server { path: directory.join(format!("server-{number}")), port })
        .collect();
    let mut lab = Lab { kind: name.into(), url: String::new(), replicas: Vec::new(), servers };
    lab.url = programs.url(kind.servers, &lab.servers);
    if kind.servers == Servers::PostgresWithReplicas {
        lab.replicas = lab.servers[1..].iter().map(postgres::url_of).collect();
    }
    make(&directory, &lab)?;
    let interrupt = watch()?;
    let mut started = programs.start(&directory, kind.servers, &lab.servers);
    if interrupt.asked() {
        started = Err(Failure::Interrupted("interrupted: the lab was ended again".into()));
    }
    if started.is_err() {
        // What has started ends again; if that fails, the note tells what there is.
        let ended = end(kind, &directory, &lab);
        return Failure::all([started, ended].into_iter().filter_map(Result::err).collect());
    }
    complain(&format!(
        "{} after {:.1} s, data in {}; try: lydite run {}{}; end with: {end_with}",
        match lab.servers.len() {
            1 => "a server runs".to_string(),
            count => format!("{count} servers run"),
        },
        begun.elapsed().as_secs_f64(),
        directory.display(),
        if lab.replicas.is_empty() { typed(&lab.url) } else { lab.arguments().into() },
        // A shard has one warehouse at least.
        if kind.servers.has_shards() && shards > 2 { format!(" -w {shards}") } else { String::new() },
    ));
    print(&format!("{}\n", lab.arguments()))
}

/// Makes the directory of all labs. Everybody can write beside it, so one that somebody else has made is refused.
fn own_root() -> std::io::Result<()> {
    let root = root();
    match fs::DirBuilder::new().mode(0o711).create(&root) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let there = fs::symlink_metadata(&root)?;
            // SAFETY: geteuid has no preconditions.
            if there.is_dir() && there.uid() == unsafe { libc::geteuid() } {
                Ok(())
            } else {
                Err(std::io::Error::other(format!("{} belongs to somebody else", root.display())))
            }
        }
        Err(error) => Err(error),
    }
}

/// Makes the directory, which must be new or empty, and writes the note.
fn make(directory: &Path, lab: &Lab) -> Outcome {
    let failed = |error: std::io::Error| {
        Failure::usage(format!("{}: {error}: name another directory with --dir", directory.display()))
    };
    if directory.starts_with(root()) {
        own_root().map_err(failed)?;
    }
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

/// Refuses a lab of another kind.
fn is_of(name: &str, lab: &Lab, directory: &Path) -> Outcome {
    if lab.kind == name {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{}: the lab there is {2}, not {1}: end it with: lydite lab down {2} --dir {3}, or name another directory with --dir",
        directory.display(),
        name,
        lab.kind,
        typed(&directory.display().to_string())
    )))
}

fn down(name: &str, dir: Option<PathBuf>) -> Outcome {
    let kind = kind_of(name)?;
    let directory = directory(kind, dir)?;
    match note(&directory)? {
        Some(lab) => {
            is_of(name, &lab, &directory)?;
            end(kind, &directory, &lab)
        }
        None => Err(Failure::usage(format!(
            "{}: there is no lab: lydite lab list shows those below {}; of another TMPDIR, or with a --dir of its own, one is \
             ended from there",
            directory.display(),
            root().display()
        ))),
    }
}

/// Ends the servers of a lab and deletes its directory.
fn end(kind: &Kind, directory: &Path, lab: &Lab) -> Outcome {
    let programs = Programs::find(kind.servers)?;
    for server in &lab.servers {
        programs.stop(server)?;
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
            let state = match silent {
                0 => String::new(),
                1 => "  (1 server does not answer)".into(),
                silent => format!("  ({silent} servers do not answer)"),
            };
            text += &format!("    {:11} {}{state}\n", lab.kind, lab.arguments());
            none = false;
        }
    }
    if none {
        text += "    none (but for those with a --dir of their own)\n";
    }
    print(&text)
}
