//! Labs of PostgreSQL servers.

use super::{Server, Servers, finish, make_directory, write_private};
use crate::exit::{Failure, Outcome};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Settings of all servers, beside their ports. Without wal_keep_size a copy of a primary fails now and then while another
/// one is made: the other's checkpoint removes the log that it is about to stream.
const SETTINGS: &str = "-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300 \
                        -c shared_buffers=128MB -c max_wal_size=2GB -c wal_keep_size=256MB";
/// How long a server may take to start or to end, in seconds.
const PATIENCE: &str = "60";

/// What copies a running server.
const BACKUP: &str = "pg_basebackup";

/// The server's programs, and the user that runs them.
pub(super) struct Programs {
    directory: PathBuf,
    /// User and group: PostgreSQL refuses to run as root.
    pub(super) user: Option<(u32, u32)>,
}

impl Programs {
    /// Those in `PG_BIN`, else of Debian's newest version, else on the path.
    pub(super) fn find(kind: Servers) -> Result<Self, Failure> {
        let complete =
            |path: &PathBuf| ["initdb", "pg_ctl", "postgres"].iter().all(|name| path.join(name).exists());
        let directory = match std::env::var_os("PG_BIN") {
            Some(given) => {
                let given = PathBuf::from(given);
                if !complete(&given) {
                    return Err(Failure::usage(format!(
                        "PG_BIN={}: initdb, pg_ctl and postgres are not there: name the directory that has them",
                        given.display()
                    )));
                }
                given
            }
            None => debian().into_iter().chain(on_path()).find(complete).ok_or_else(|| {
                Failure::usage(
                    "PostgreSQL's server programs are not found: install them (Debian: apt-get install postgresql), \
                     or name their directory in PG_BIN",
                )
            })?,
        };
        if kind == Servers::PostgresWithReplicas && !directory.join(BACKUP).exists() {
            return Err(Failure::usage(format!(
                "{}: {BACKUP} is not there, with which replicas are made: install it (Debian: apt-get install \
                 postgresql)",
                directory.display()
            )));
        }
        Ok(Self { directory, user: super::unprivileged("postgres", "PostgreSQL")? })
    }

    /// A command of one of the programs.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.directory.join(name));
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command.current_dir("/").stdin(Stdio::null());
        command
    }
}

/// Directories of Debian's packages, the newest version first.
fn debian() -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

fn on_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect()
}

/// The URL of a lab: the first server's, which is the coordinator if there are others.
pub(super) fn url(kind: Servers, servers: &[Server], password: &str) -> String {
    let shards: Vec<String> = servers
        .iter()
        .skip(1)
        .filter(|_| kind.has_shards())
        .map(|shard| format!("127.0.0.1:{}", shard.port))
        .collect();
    let shards = if shards.is_empty() { String::new() } else { format!("?shards={}", shards.join(",")) };
    format!("{}{shards}", servers.first().map_or_else(String::new, |server| url_of(server, password)))
}

/// The URL of one server.
pub(super) fn url_of(server: &Server, password: &str) -> String {
    format!("postgres://postgres:{password}@127.0.0.1:{}/postgres", server.port)
}

/// Makes and starts a server.
pub(super) fn start_one(programs: &Programs, server: &Server, password: &str) -> Result<(), String> {
    make_directory(&server.path, programs.user)?;
    let data = server.path.join("data");
    let file = server.path.join("password");
    let of_file = |error| format!("{}: {error}", file.display());
    write_private(&file, password, programs.user).map_err(of_file)?;
    let mut initdb = programs.command("initdb");
    initdb.args(["-U", "postgres", "-A", "scram-sha-256", "--no-sync", "-E", "UTF8", "--locale=C", "-D"]);
    initdb.arg(&data).arg("--pwfile").arg(&file);
    finish(initdb, "initdb")?;
    fs::remove_file(&file).map_err(of_file)?;
    start(programs, server, &data)
}

/// Makes a copy of a primary that follows it, and starts it.
pub(super) fn start_replica(
    programs: &Programs,
    primary: &Server,
    server: &Server,
    password: &str,
) -> Result<(), String> {
    make_directory(&server.path, programs.user)?;
    let data = server.path.join("data");
    let mut copy = programs.command(BACKUP);
    copy.args(["-h", "127.0.0.1", "-U", "postgres", "-X", "stream", "-c", "fast", "--no-sync", "-R", "-w"]);
    // The copy keeps it, to follow the primary.
    copy.env("PGPASSWORD", password);
    copy.args(["-p", &primary.port.to_string(), "-D"]).arg(&data);
    finish(copy, BACKUP)?;
    start(programs, server, &data)
}

fn start(programs: &Programs, server: &Server, data: &Path) -> Result<(), String> {
    let mut start = programs.command("pg_ctl");
    start.args(["start", "-w", "-t", PATIENCE, "-D"]).arg(data).arg("-l").arg(server.path.join("log"));
    start.arg("-o").arg(format!("-p {} {SETTINGS}", server.port));
    // The server keeps what it inherits: a pipe would stay open as long as it lives.
    start.stdout(Stdio::null()).stderr(Stdio::null());
    let status = start.status().map_err(|error| format!("pg_ctl: {error}"))?;
    if status.success() {
        return Ok(());
    }
    let log = fs::read_to_string(server.path.join("log")).unwrap_or_default();
    let last = log.lines().last().unwrap_or("its log is empty");
    Err(format!("the server for port {} did not start: {last}", server.port))
}

/// Lets the processes of a server go on if somebody has stopped them (SIGSTOP): such a server can't be ended.
fn thaw(data: &Path) {
    let file = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    let Some(postmaster) = file.lines().next().and_then(|line| line.parse::<i32>().ok()) else { return };
    let children = fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children"));
    let children = children.unwrap_or_default();
    for id in children.split_whitespace().filter_map(|id| id.parse().ok()).chain([postmaster]) {
        // SAFETY: kill has no memory preconditions. pg_ctl has just found that the server of this directory runs.
        unsafe {
            libc::kill(id, libc::SIGCONT);
        }
    }
}

/// Ends a server if it runs.
pub(super) fn stop(programs: &Programs, server: &Server) -> Outcome {
    let data = server.path.join("data");
    if !data.join("postmaster.pid").exists() {
        return Ok(());
    }
    let mut status = programs.command("pg_ctl");
    status.arg("status").arg("-D").arg(&data).stdout(Stdio::null()).stderr(Stdio::null());
    // What was killed left the file behind.
    let runs = status.status().is_ok_and(|status| status.success());
    if !runs {
        return Ok(());
    }
    thaw(&data);
    let mut stop = programs.command("pg_ctl");
    stop.args(["stop", "-w", "-m", "immediate", "-t", PATIENCE, "-D"]).arg(&data);
    finish(stop, "pg_ctl").map_err(|problem| {
        Failure::Target(format!("the server on port {} did not end: {problem}", server.port))
    })
}
