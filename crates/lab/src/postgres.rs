//! Labs of PostgreSQL servers.

use crate::error::LabError;
use crate::find::find;
use crate::kind::Servers;
use crate::privacy::{make_directory, unprivileged, write_private};
use crate::process;
use crate::programs::{check_success, run_to_end};
use crate::server::Server;
use lydite_console::exit::{Failure, Outcome};
use lydite_faults::reason_in_log;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Settings of all servers, besides their ports. Without wal_keep_size, pg_basebackup sometimes fails while another
/// copy of the primary is made: the other copy's checkpoint removes the log that this one is about to stream.
const SETTINGS: &str = "-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300 \
                        -c shared_buffers=128MB -c max_wal_size=2GB -c wal_keep_size=256MB";
/// Setting of servers whose commits wait until a replica has them on its disk.
const SYNC: &str = " -c 'synchronous_standby_names=ANY 1 (*)'";
/// Maximum time for a server to start or to end, in seconds.
const PATIENCE_S: &str = "60";

/// The program that copies a running server.
const BACKUP: &str = "pg_basebackup";
/// The file that a replica has in its data, and a primary has not.
const OF_REPLICA: &str = "standby.signal";
/// Query of the bytes of the primary's log that a replica has received.
const RECEIVED: &str =
    "SELECT pg_wal_lsn_diff(greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()), '0/0')::bigint";

/// The server's programs, and the user that runs them.
pub(crate) struct Programs {
    directory: PathBuf,
    /// User and group: PostgreSQL refuses to run as root.
    pub(crate) user: Option<(u32, u32)>,
}

impl Programs {
    /// Finds the programs in `PG_BIN`, else those of Debian's newest version, else those on the path.
    pub(crate) fn find(kind: Servers) -> Result<Self, Failure> {
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
                "{}: {BACKUP} is missing, and replicas need it: install it (Debian: apt-get install \
                 postgresql)",
                directory.display()
            )));
        }
        Ok(Self { directory, user: unprivileged("postgres", "PostgreSQL")? })
    }

    /// Returns a command for one of the programs, which runs as the servers' user.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.directory.join(name));
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command.current_dir("/").stdin(Stdio::null());
        command
    }
}

/// Returns the directories of Debian's packages, the newest version first.
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

/// Returns the URL of a lab: the first server's, which is the coordinator of a sharded lab.
pub(crate) fn url(kind: Servers, servers: &[Server], password: &str) -> String {
    let shards: Vec<String> = servers
        .iter()
        .skip(1)
        .filter(|_| kind.has_shards())
        .map(|shard| format!("127.0.0.1:{}", shard.port))
        .collect();
    let shards = if shards.is_empty() { String::new() } else { format!("?shards={}", shards.join(",")) };
    format!("{}{shards}", servers.first().map_or_else(String::new, |server| url_of(server, password)))
}

/// Returns the URL of one server.
pub(crate) fn url_of(server: &Server, password: &str) -> String {
    format!("postgres://postgres:{password}@127.0.0.1:{}/postgres", server.port)
}

/// Creates and starts a server.
pub(crate) fn start_one(programs: &Programs, server: &Server, password: &str) -> Result<(), LabError> {
    make_directory(&server.path, programs.user)?;
    let data = server.data();
    let file = server.path.join("password");
    let of_file = |error| LabError::system(file.display(), error);
    write_private(&file, password, programs.user).map_err(of_file)?;
    let mut initdb = programs.command("initdb");
    initdb.args(["-U", "postgres", "-A", "scram-sha-256", "--no-sync", "-E", "UTF8", "--locale=C", "-D"]);
    initdb.arg(&data).arg("--pwfile").arg(&file);
    run_to_end(initdb, "initdb")?;
    fs::remove_file(&file).map_err(of_file)?;
    start(programs, server)
}

/// Creates a streaming replica of a primary, and starts it.
pub(crate) fn start_replica(
    programs: &Programs,
    primary: &Server,
    server: &Server,
    password: &str,
) -> Result<(), LabError> {
    make_directory(&server.path, programs.user)?;
    copy(programs, primary, server, password)
}

/// Copies the data of a primary, and starts the replica on it.
fn copy(programs: &Programs, primary: &Server, server: &Server, password: &str) -> Result<(), LabError> {
    let data = server.data();
    let mut copy = programs.command(BACKUP);
    copy.args(["-h", "127.0.0.1", "-U", "postgres", "-X", "stream", "-c", "fast", "--no-sync", "-R", "-w"]);
    // The replica stores the password, to follow the primary.
    copy.env("PGPASSWORD", password);
    copy.args(["-p", &primary.port.to_string(), "-D"]).arg(&data);
    run_to_end(copy, BACKUP)?;
    start(programs, server)
}

fn start(programs: &Programs, server: &Server) -> Result<(), LabError> {
    let log = server.path.join("log");
    // Earlier starts have written to it, too.
    let before = fs::metadata(&log).map_or(0, |log| log.len() as usize);
    let mut start = programs.command("pg_ctl");
    start.args(["start", "-w", "-t", PATIENCE_S, "-D"]).arg(server.data()).arg("-l").arg(&log);
    let given: String = server.settings.iter().map(|setting| format!(" -c '{setting}'")).collect();
    let sync = if server.sync { SYNC } else { "" };
    start.arg("-o").arg(format!("-p {} {SETTINGS}{sync}{given}", server.port));
    if let Some(clock) = &server.clock {
        clock.make().map_err(|error| LabError::system("the file of its clock", error))?;
        start.envs(clock.environment());
    }
    // The server inherits these descriptors: a pipe would stay open as long as it lives.
    start.stdout(Stdio::null()).stderr(Stdio::null());
    // A Ctrl-C in the terminal must not reach it: it would end a server that is about to run.
    start.process_group(0);
    let status = start.status().map_err(|error| LabError::system("pg_ctl", error))?;
    if status.success() {
        return Ok(());
    }
    let log = fs::read(&log).unwrap_or_default();
    let log = String::from_utf8_lossy(log.get(before..).unwrap_or_default());
    let reason = reason_in_log(&log).unwrap_or("its log is empty");
    Err(LabError::Failed(format!("the server for port {} did not start: {reason}", server.port)))
}

/// Starts a server that has ended on the data that it has.
pub(crate) fn start_again(programs: &Programs, server: &Server) -> Result<(), LabError> {
    // Until then the new server takes the old one to be running.
    if let Some(ended) = postmaster(&server.data()) {
        process::wait_until_noticed(ended);
    }
    start(programs, server)
}

/// Starts a server of a lab with replicas that has ended: the primary, without `primary`, or a replica. A replica that has
/// no data any more, or has been a primary, becomes a new copy of the primary.
pub(crate) fn start_again_beside(
    programs: &Programs,
    primary: Option<&Server>,
    server: &Server,
    password: &str,
) -> Result<(), LabError> {
    match primary {
        Some(primary) if !server.data().join(OF_REPLICA).exists() => {
            copy_again(programs, primary, server, password)
        }
        None if !server.data().exists() => Err(LabError::Failed(format!(
            "the primary on port {} has lost its data: let a replica take its place with lydite lab promote",
            server.port
        ))),
        _ => start_again(programs, server),
    }
}

/// Makes a server that does not run a new replica of the primary.
pub(crate) fn copy_again(
    programs: &Programs,
    primary: &Server,
    server: &Server,
    password: &str,
) -> Result<(), LabError> {
    if find(&of_data(server)).is_some() {
        let data = server.data();
        let words = format!("a server runs in {}, on another port than {}", data.display(), server.port);
        return Err(LabError::Failed(words));
    }
    remove_data(server)?;
    copy(programs, primary, server, password)
}

/// Removes the data of a server that does not run.
pub(crate) fn remove_data(server: &Server) -> Result<(), LabError> {
    let data = server.data();
    match fs::remove_dir_all(&data) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(LabError::system(format!("remove {}", data.display()), error))
        }
        _ => Ok(()),
    }
}

/// Returns the bytes of the primary's log that a replica has received.
pub(crate) fn received(programs: &Programs, server: &Server, password: &str) -> Result<u64, LabError> {
    let mut query = programs.command("psql");
    query.env("PGPASSWORD", password).env("PGCONNECT_TIMEOUT", "10");
    query.args([
        "-XAt",
        "-h",
        "127.0.0.1",
        "-U",
        "postgres",
        "-d",
        "postgres",
        "-p",
        &server.port.to_string(),
    ]);
    let output = query.args(["-c", RECEIVED]).output().map_err(|error| LabError::system("psql", error))?;
    check_success(&output, "psql")?;
    let answer = String::from_utf8_lossy(&output.stdout);
    answer.trim().parse().map_err(|_| {
        let words = format!("the replica on port {} says that it has received {answer:?}", server.port);
        LabError::Failed(words)
    })
}

/// Lets a replica be a primary, on the port that it has.
pub(crate) fn promote(programs: &Programs, server: &Server) -> Result<(), LabError> {
    let mut promote = programs.command("pg_ctl");
    promote.args(["promote", "-w", "-t", PATIENCE_S, "-D"]).arg(server.data());
    run_to_end(promote, "pg_ctl")
}

/// Ends a server that runs on another port than its own, and starts it there.
pub(crate) fn move_to_its_port(programs: &Programs, server: &Server) -> Result<(), LabError> {
    let mut stop = programs.command("pg_ctl");
    stop.args(["stop", "-w", "-m", "fast", "-t", PATIENCE_S, "-D"]).arg(server.data());
    run_to_end(stop, "pg_ctl")?;
    start(programs, server)
}

/// Returns the process number in a server's file, which a killed server leaves behind.
fn postmaster(data: &Path) -> Option<i32> {
    let file = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    file.lines().next()?.parse().ok()
}

/// True if a server runs, but listens on another port than its own: it was promoted, and did not move yet.
pub(crate) fn runs_on_another_port(server: &Server) -> bool {
    let data = server.data();
    let file = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    // The process number, the directory, the start, and the port.
    let port = file.lines().nth(3).and_then(|line| line.trim().parse::<u16>().ok());
    // SAFETY: kill with signal 0 has no memory preconditions and sends nothing.
    let lives = postmaster(&data).is_some_and(|id| unsafe { libc::kill(id, 0) } == 0);
    lives && port.is_some_and(|port| port != server.port) && !data.join(OF_REPLICA).exists()
}

/// Resumes the processes of a server that somebody stopped with SIGSTOP: pg_ctl can't end a stopped server.
fn resume(data: &Path) {
    let Some(postmaster) = postmaster(data) else { return };
    let children = fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children"));
    let children = children.unwrap_or_default();
    for id in children.split_whitespace().filter_map(|id| id.parse().ok()).chain([postmaster]) {
        // SAFETY: kill has no memory preconditions. pg_ctl has just found that the server of this directory runs.
        unsafe {
            libc::kill(id, libc::SIGCONT);
        }
    }
}

/// Kills a server whose files can't be read, if it runs.
pub(crate) fn kill(server: &Server) -> Outcome {
    process::kill_all(server, &of_data(server))
}

/// Returns the arguments of the process of a server.
fn of_data(server: &Server) -> [String; 2] {
    ["-D".to_owned(), server.data().display().to_string()]
}

/// Ends a server if it runs, without care for its data.
pub(crate) fn stop(programs: &Programs, server: &Server) -> Outcome {
    end(programs, server, "immediate")
}

/// Ends a server if it runs, so that it starts again without a recovery.
pub(crate) fn shut_down(programs: &Programs, server: &Server) -> Outcome {
    end(programs, server, "fast")
}

/// Ends a server if it runs, in one of the modes of pg_ctl.
fn end(programs: &Programs, server: &Server, mode: &str) -> Outcome {
    let data = server.data();
    if !data.join("postmaster.pid").exists() {
        return Ok(());
    }
    // Until then pg_ctl takes a killed server to be running, and waits in vain for its end.
    if let Some(ended) = postmaster(&data) {
        process::wait_until_noticed(ended);
    }
    let mut status = programs.command("pg_ctl");
    status.arg("status").arg("-D").arg(&data).stdout(Stdio::null()).stderr(Stdio::null());
    // A killed server leaves the file behind.
    let runs = status.status().is_ok_and(|status| status.success());
    if !runs {
        return Ok(());
    }
    resume(&data);
    let mut stop = programs.command("pg_ctl");
    stop.args(["stop", "-w", "-m", mode, "-t", PATIENCE_S, "-D"]).arg(&data);
    run_to_end(stop, "pg_ctl").map_err(|problem| {
        Failure::Target(format!("the server on port {} did not end: {problem}", server.port))
    })
}
