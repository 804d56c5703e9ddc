//! `lydite lab`: real clusters to throw away, on this machine and on its loopback alone.
//!
//! A lab is a directory with a note of what runs in it, written before the first server starts, so that whatever
//! happens `lydite lab down` finds all of it. The servers go on when the program ends.
//!
//! Any account of the machine reaches the loopback, so each lab has a password of its own: its URL has it, the note
//! keeps it in a directory that others cannot enter, and programs get it by their environment or by files.

mod mariadb;
mod postgres;

use crate::cli::{LabArgs, LabCommand};
use crate::exit::{Failure, Outcome};
use crate::interrupt::watch;
use crate::output::{complain, print};
use crate::shell::typed;
use lydite_report::live::Style;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// What a lab's directory calls its note.
const NOTE: &str = "lab.json";
/// Most shards of a lab: each is a server of its own.
const MOST_SHARDS: u16 = 32;

/// What runs in a lab.
#[derive(Debug, Deserialize, Serialize)]
struct Lab {
    kind: String,
    /// The URL of the database, with its password, for `lydite run` and the like.
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

    /// Returns the URL without its password, for messages.
    fn shown(&self) -> String {
        let password = self.url.split_once('@').and_then(|(user, _)| user.rsplit_once(':'));
        match password {
            Some((_, password)) if self.has_password() => {
                self.arguments().replace(&format!(":{password}@"), "@")
            }
            _ => self.arguments(),
        }
    }

    /// False if another version of Lydite made it, whose servers take everybody on this machine.
    fn has_password(&self) -> bool {
        self.url.split_once('@').is_some_and(|(user, _)| user.matches(':').count() > 1)
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

    fn url(&self, kind: Servers, servers: &[Server], password: &str) -> String {
        match self {
            Self::Postgres(_) => postgres::url(kind, servers, password),
            Self::Mariadb(_) => mariadb::url(kind, servers, password),
        }
    }

    /// User and group of the servers, if they are not this program's.
    fn user(&self) -> Option<(u32, u32)> {
        match self {
            Self::Postgres(programs) => programs.user,
            Self::Mariadb(programs) => programs.user,
        }
    }

    fn start(&self, directory: &Path, kind: Servers, servers: &[Server], password: &str) -> Outcome {
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
            Self::Mariadb(programs) => mariadb::start(programs, directory, kind, servers, password),
        }
    }
}

/// Ends servers, one after the other.
fn stop(kind: Servers, servers: &[Server]) -> Outcome {
    match kind {
        Servers::Postgres | Servers::PostgresOverShards | Servers::PostgresWithReplicas => {
            let programs = postgres::Programs::find(kind)?;
            servers.iter().try_for_each(|server| postgres::stop(&programs, server))
        }
        // By a signal: a lab can be ended after its programs were removed.
        Servers::Mariadb | Servers::Galera | Servers::Spider => servers.iter().try_for_each(mariadb::stop),
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
    if own_user() != 0 {
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

/// A new password of 128 bits from the system's source of random numbers, fit for URLs and SQL as it stands.
fn new_password() -> Result<String, Failure> {
    const SOURCE: &str = "/dev/urandom";
    let mut bytes = [0_u8; 16];
    fs::File::open(SOURCE)
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| Failure::usage(format!("{SOURCE}: {error}: a lab needs a random password")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Makes the directory of a server, which its user alone can enter.
fn make_directory(path: &Path, user: Option<(u32, u32)>) -> Result<(), String> {
    let failed = |doing: &str, error: io::Error| format!("{doing} {}: {error}", path.display());
    fs::DirBuilder::new().mode(0o700).create(path).map_err(|error| failed("make", error))?;
    user.map_or(Ok(()), |(user, group)| {
        chown(path, Some(user), Some(group)).map_err(|error| failed("give away", error))
    })
}

/// Writes a new file that its user alone can read.
fn write_private(path: &Path, text: &str, user: Option<(u32, u32)>) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    user.map_or(Ok(()), |(user, group)| chown(path, Some(user), Some(group)))
}

/// Runs a command to its end, and tells its last words if it fails.
fn finish(mut command: Command, name: &str) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    judge(&output, name)
}

/// Reports the first error of a command that failed, else its last line.
fn judge(output: &Output, name: &str) -> Result<(), String> {
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    // PostgreSQL's programs say at last what they remove, after what went wrong.
    let error = words.lines().find(|line| line.contains("error:")).or_else(|| words.lines().last());
    Err(format!("{name}: {}", error.unwrap_or("it failed without a word")))
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
    std::env::temp_dir().join(format!("lydite-lab-{}", own_user()))
}

/// The user that this process runs as.
fn own_user() -> u32 {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() }
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

/// Ports for servers, below the range from which Linux takes those of outgoing connections (32768 to 60999 by default).
const PORTS: Range<u16> = 26_000..32_000;

/// Ports that nobody listens on now and that this process was not given before, all different.
fn free_ports(count: usize) -> Result<Vec<u16>, Failure> {
    /// Candidates that this process has looked at.
    static SEEN: AtomicU32 = AtomicU32::new(0);
    let span = u32::from(PORTS.end - PORTS.start);
    // Labs that are started at once have neighbouring process numbers: each looks first at a hundred ports of its own.
    let first = std::process::id() % span * 101;
    let candidates = (0..span)
        .map(|_| PORTS.start + ((first + SEEN.fetch_add(1, Ordering::Relaxed)) % span) as u16)
        .filter(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok());
    let ports: Vec<u16> = candidates.take(count).collect();
    if ports.len() < count {
        return Err(Failure::usage(format!(
            "fewer than {count} of the ports {} to {} on 127.0.0.1 are free: end a lab or a server",
            PORTS.start,
            PORTS.end - 1
        )));
    }
    Ok(ports)
}

fn up(name: &str, shards: Option<u16>, dir: Option<PathBuf>) -> Outcome {
    let kind = kind_of(name)?;
    let again = |command: &str| match &dir {
        None => format!("lydite lab {command} {name}"),
        Some(dir) => format!("lydite lab {command} {name} --dir {}", typed(&dir.display().to_string())),
    };
    let (up_again, end_with) = (again("up"), again("down"));
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
        if !lab.has_password() {
            complain(&format!(
                "{}: this lab of an older version has no password, so that everybody on this machine can use it as an \
                 administrator: end it with: {end_with}, and start it again",
                directory.display()
            ));
        }
        if is_starting(&directory) {
            return Err(Failure::usage(format!(
                "{}: this lab is being started: wait until that is done",
                directory.display()
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
    let password = new_password()?;
    lab.url = programs.url(kind.servers, &lab.servers, &password);
    if kind.servers == Servers::PostgresWithReplicas {
        lab.replicas = lab.servers[1..].iter().map(|server| postgres::url_of(server, &password)).collect();
    }
    // Held until this program ends, so that others see that the lab is being started.
    let _starting = make(&directory, &lab, programs.user())?;
    let interrupt = watch(Style::Plain)?;
    let mut started = programs.start(&directory, kind.servers, &lab.servers, &password);
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
        // Not the URL: messages have no passwords.
        if lab.replicas.is_empty() { format!("\"$({up_again})\"") } else { format!("$({up_again})") },
        // A shard has one warehouse at least.
        if kind.servers.has_shards() && shards > 2 { format!(" -w {shards}") } else { String::new() },
    ));
    print(&format!("{}\n", lab.arguments()))
}

/// Makes the directory of all labs. Everybody can write beside it, so one that somebody else has made is refused.
fn own_root(mode: u32) -> io::Result<()> {
    let root = root();
    match fs::DirBuilder::new().mode(mode).create(&root) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let there = fs::symlink_metadata(&root)?;
            if there.is_dir() && there.uid() == own_user() {
                fs::set_permissions(&root, fs::Permissions::from_mode(mode))
            } else {
                Err(io::Error::other(format!("{} belongs to somebody else", root.display())))
            }
        }
        Err(error) => Err(error),
    }
}

/// Makes the directory, which must be new or empty, and writes the note, which is returned locked.
fn make(directory: &Path, lab: &Lab, user: Option<(u32, u32)>) -> Result<fs::File, Failure> {
    let failed = |error: io::Error| {
        Failure::usage(format!("{}: {error}: name another directory with --dir", directory.display()))
    };
    // A server of another user has to reach its directory; that of the lab lets in its group alone.
    let (above, mode) = if user.is_some() { (0o711, 0o710) } else { (0o700, 0o700) };
    if directory.starts_with(root()) {
        own_root(above).map_err(failed)?;
    }
    fs::DirBuilder::new().recursive(true).mode(above).create(directory).map_err(failed)?;
    if fs::read_dir(directory).map_err(failed)?.next().is_some() {
        return Err(Failure::usage(format!(
            "{}: the directory is not empty: name another one with --dir",
            directory.display()
        )));
    }
    chown(directory, Some(own_user()), user.map(|(_, group)| group)).map_err(failed)?;
    fs::set_permissions(directory, fs::Permissions::from_mode(mode)).map_err(failed)?;
    let text = serde_json::to_string_pretty(lab).map_err(|error| failed(error.into()))?;
    // Locked before it has its name, so that nobody sees it without the lock.
    let (new, path) = (directory.join(format!("{NOTE}.new")), directory.join(NOTE));
    write_private(&new, &text, None).map_err(failed)?;
    let file = fs::File::open(&new).map_err(failed)?;
    file.lock().map_err(failed)?;
    fs::rename(&new, &path).map_err(failed)?;
    Ok(file)
}

/// True while the program that starts the lab in a directory is at it.
fn is_starting(directory: &Path) -> bool {
    let Ok(note) = fs::File::open(directory.join(NOTE)) else { return false };
    matches!(note.try_lock_shared(), Err(fs::TryLockError::WouldBlock))
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
    stop(kind.servers, &lab.servers)?;
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
        let directory = root().join(kind.name);
        if let Some(lab) = note(&directory)? {
            let starting = is_starting(&directory);
            let silent = lab.servers.iter().filter(|server| !server.listens()).count();
            let state = match silent {
                _ if starting => "  (starting)".into(),
                0 => String::new(),
                1 => "  (1 server does not answer)".into(),
                silent => format!("  ({silent} servers do not answer)"),
            };
            text += &format!("    {:11} {}{state}\n", lab.kind, lab.shown());
            none = false;
        }
    }
    if none {
        text += "    none (but for those with a --dir of their own)\n";
    } else {
        text += "lydite lab up KIND prints the URL of one that runs with its password\n";
    }
    print(&text)
}
