//! Labs of MariaDB servers: one, a Galera cluster, and one over shards by the engine Spider.

use super::{Server, Servers, finish, free_ports, in_parallel, unprivileged};
use crate::Outcome;
use crate::exit::Failure;
use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The database of a lab.
const DATABASE: &str = "tpcc";
/// Settings of all servers.
const SETTINGS: [&str; 5] = [
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--max-connections=300",
    "--innodb-buffer-pool-size=256M",
    "--innodb-log-file-size=96M",
];
/// How long a server may take to start or to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Where a server's process is noted, below its directory. Its own note comes too late for one that is still starting.
const PROCESS: &str = "process";
/// Where distributions put Galera's library.
const GALERA: [&str; 3] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib64/galera/libgalera_smm.so",
];

/// The server's programs, and the user that runs them.
pub(super) struct Programs {
    server: PathBuf,
    install: PathBuf,
    client: PathBuf,
    /// Whether the engine MyRocks can be loaded.
    rocksdb: bool,
    /// Galera's library, for its clusters.
    galera: Option<PathBuf>,
    /// User and group: MariaDB refuses to run as root.
    user: Option<(u32, u32)>,
}

/// A program on the path or, as servers may be, where only root looks.
fn program(name: &str, package: &str) -> Result<PathBuf, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/bin".into()])
        .map(|directory| directory.join(name))
        .find(|program| program.exists())
        .ok_or_else(|| {
            Failure::usage(format!("{name} is not found: install it (Debian: apt-get install {package})"))
        })
}

impl Programs {
    /// Looks for what a kind of lab needs.
    pub(super) fn find(kind: Servers) -> Result<Self, Failure> {
        let server = program("mariadbd", "mariadb-server-core mariadb-client")?;
        let install = program("mariadb-install-db", "mariadb-server-core mariadb-client")?;
        let client = program("mariadb", "mariadb-client")?;
        let plugins = plugin_directory(&server)?;
        if kind == Servers::Spider && !plugins.join("ha_spider.so").exists() {
            return Err(Failure::usage(format!(
                "{}: MariaDB's plugin ha_spider.so is not there: install it (Debian: apt-get install \
                 mariadb-plugin-spider)",
                plugins.display()
            )));
        }
        let mut galera = None;
        if kind == Servers::Galera {
            program("rsync", "rsync")?;
            galera = GALERA.iter().map(PathBuf::from).find(|path| path.exists());
            if galera.is_none() {
                return Err(Failure::usage(format!(
                    "{}: Galera's library is not there: install it (Debian: apt-get install galera-4)",
                    GALERA[0]
                )));
            }
        }
        let rocksdb = kind == Servers::Mariadb && plugins.join("ha_rocksdb.so").exists();
        Ok(Self { server, install, client, rocksdb, galera, user: unprivileged("mysql", "MariaDB")? })
    }

    /// A command that runs as the servers' user, without any input.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command.current_dir("/").stdin(Stdio::null());
        command
    }

    /// Runs SQL on a server and gives the answer's rows.
    fn sql(&self, server: &Server, sql: &str) -> Result<String, String> {
        let mut client = self.command(&self.client);
        client.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--user=root"]);
        client.args([
            &format!("--port={}", server.port),
            "--connect-timeout=5",
            "--batch",
            "--skip-column-names",
            "-e",
            sql,
        ]);
        let output = client.output().map_err(|error| format!("mariadb: {error}"))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(format!("mariadb: {}", words.lines().last().unwrap_or("it failed without a word")));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
    }
}

/// Where the server looks for its plugins.
fn plugin_directory(server: &Path) -> Result<PathBuf, Failure> {
    let failed = |why: &str| Failure::usage(format!("{}: {why}", server.display()));
    let output = Command::new(server)
        .args(["--no-defaults", "--verbose", "--help"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(&error.to_string()))?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("plugin-dir ").map(|path| PathBuf::from(path.trim())))
        .ok_or_else(|| failed("it does not tell its plugin-dir: is it MariaDB's server?"))
}

/// The URL of a lab: the first server's, with the others behind it.
pub(super) fn url(kind: Servers, servers: &[Server]) -> String {
    let others: Vec<String> =
        servers.iter().skip(1).map(|server| format!("127.0.0.1:{}", server.port)).collect();
    let others = match kind {
        Servers::Galera => format!("?nodes={}", others.join(",")),
        Servers::Spider => format!("?shards={}", others.join(",")),
        _ => String::new(),
    };
    format!("mariadb://root@127.0.0.1:{}/{DATABASE}{others}", servers.first().map_or(0, |server| server.port))
}

/// Makes and starts the servers, and makes the database on them.
pub(super) fn start(programs: &Programs, directory: &Path, kind: Servers, servers: &[Server]) -> Outcome {
    let failed = |problem: String| Failure::Target(format!("{}: {problem}", directory.display()));
    in_parallel(directory, servers, |server| install(programs, server))?;
    let is_first = |server: &Server| servers.first().is_some_and(|first| first.port == server.port);
    if let Some(library) = &programs.galera {
        // One after the other: each copies what the ones before it have.
        for (server, settings) in servers.iter().zip(galera(library, servers.len())?) {
            start_one(programs, server, &settings).map_err(failed)?;
        }
    } else {
        in_parallel(directory, servers, |server| {
            let plugin = match (kind, is_first(server)) {
                (Servers::Spider, true) => Some("--plugin-load-add=ha_spider"),
                // Sessions that wait for each other on two shards are found by nobody.
                (Servers::Spider, false) => Some("--innodb-lock-wait-timeout=5"),
                _ => programs.rocksdb.then_some("--plugin-load-add=ha_rocksdb"),
            };
            start_one(programs, server, &plugin.map(str::to_string).into_iter().collect::<Vec<_>>())
        })?;
    }
    for server in servers.iter().filter(|server| kind == Servers::Spider || is_first(server)) {
        programs.sql(server, &format!("CREATE DATABASE {DATABASE}")).map_err(failed)?;
    }
    Ok(())
}

/// The settings of each node of a Galera cluster.
fn galera(library: &Path, nodes: usize) -> Result<Vec<Vec<String>>, Failure> {
    let ports = free_ports(3 * nodes)?;
    let ports: Vec<&[u16]> = ports.chunks(3).collect();
    let members: Vec<String> = ports.iter().map(|ports| format!("127.0.0.1:{}", ports[0])).collect();
    let of_node = |(node, ports): (usize, &&[u16])| {
        let (group, transfer, snapshot) = (ports[0], ports[1], ports[2]);
        let mut settings = vec![
            format!("--server-id={}", node + 1),
            "--binlog-format=ROW".into(),
            "--innodb-autoinc-lock-mode=2".into(),
            "--wsrep-on=ON".into(),
            format!("--wsrep-provider={}", library.display()),
            "--wsrep-cluster-name=lydite-lab".into(),
            format!("--wsrep-cluster-address=gcomm://{}", members.join(",")),
            format!("--wsrep-node-name=node-{}", node + 1),
            format!("--wsrep-node-address=127.0.0.1:{group}"),
            "--wsrep-sst-method=rsync".into(),
            format!("--wsrep-sst-receive-address=127.0.0.1:{snapshot}"),
            "--wsrep-slave-threads=2".into(),
            format!(
                "--wsrep-provider-options=base_port={group};gmcast.listen_addr=tcp://127.0.0.1:{group};\
                 ist.recv_addr=127.0.0.1:{transfer};ist.recv_bind=127.0.0.1:{transfer};gcache.size=128M"
            ),
        ];
        if node == 0 {
            settings.push("--wsrep-new-cluster".into());
        }
        settings
    };
    Ok(ports.iter().enumerate().map(of_node).collect())
}

/// Makes a server's directory and its system tables.
fn install(programs: &Programs, server: &Server) -> Result<(), String> {
    let told = |doing: &str, error: std::io::Error| format!("{doing} {}: {error}", server.path.display());
    fs::create_dir(&server.path).map_err(|error| told("make", error))?;
    if let Some((user, group)) = programs.user {
        chown(&server.path, Some(user), Some(group)).map_err(|error| told("give away", error))?;
    }
    let mut install = programs.command(&programs.install);
    install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
    install.arg(format!("--datadir={}", server.path.join("data").display()));
    // Of its own: those that are made at the same time have temporary tables of the same names.
    install.arg(format!("--tmpdir={}", server.path.display()));
    finish(install, "mariadb-install-db")
}

fn start_one(programs: &Programs, server: &Server, settings: &[String]) -> Result<(), String> {
    let path = |name: &str| server.path.join(name).display().to_string();
    let mut start = programs.command(&programs.server);
    start.arg("--no-defaults").arg(format!("--datadir={}", path("data"))).args(SETTINGS).args(settings);
    start.args([
        format!("--port={}", server.port),
        format!("--socket={}", path("socket")),
        format!("--pid-file={}", path("pid")),
        format!("--log-error={}", path("log")),
        format!("--tmpdir={}", path("data")),
    ]);
    // It goes on when we end, and does not hear what the terminal says to us.
    start.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = start.spawn().map_err(|error| format!("mariadbd: {error}"))?;
    fs::write(server.path.join(PROCESS), child.id().to_string())
        .map_err(|error| format!("{}: {error}", path(PROCESS)))?;
    wait_until_ready(programs, server, &mut child)
}

fn wait_until_ready(programs: &Programs, server: &Server, child: &mut Child) -> Result<(), String> {
    // A node takes statements only when it has all that the others have.
    let (question, wanted) = if programs.galera.is_some() {
        (
            "SELECT variable_value FROM information_schema.global_status \
             WHERE variable_name = 'wsrep_local_state_comment'",
            "Synced",
        )
    } else {
        ("SELECT 1", "1")
    };
    let begun = Instant::now();
    loop {
        let ended = child.try_wait().map_err(|error| format!("mariadbd: {error}"))?.is_some();
        if !ended && programs.sql(server, question).as_deref() == Ok(wanted) {
            return Ok(());
        }
        if ended || begun.elapsed() > PATIENCE {
            let log = fs::read_to_string(server.path.join("log")).unwrap_or_default();
            let error = log.lines().rfind(|line| line.contains("[ERROR]")).or(log.lines().last());
            return Err(format!(
                "the server for port {} did not start: {}",
                server.port,
                error.unwrap_or("its log is empty")
            ));
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// The process of a server, if it runs.
fn process(server: &Server) -> Option<u32> {
    let id: u32 = fs::read_to_string(server.path.join(PROCESS)).ok()?.trim().parse().ok()?;
    // Its number may be another's by now. A zombie has no command line.
    let command = fs::read(format!("/proc/{id}/cmdline")).ok()?;
    let data = format!("--datadir={}", server.path.join("data").display());
    command.split(|&byte| byte == 0).any(|argument| argument == data.as_bytes()).then_some(id)
}

/// Ends a server if it runs. Its data are thrown away, so that need not be in order.
pub(super) fn stop(server: &Server) -> Outcome {
    let Some(id) = process(server) else { return Ok(()) };
    // SAFETY: kill has no memory preconditions; the process is the server of this directory.
    unsafe {
        libc::kill(id.cast_signed(), libc::SIGKILL);
    }
    let begun = Instant::now();
    while process(server) == Some(id) {
        if begun.elapsed() > PATIENCE {
            return Err(Failure::Target(format!(
                "the server on port {} (process {id}) did not end",
                server.port
            )));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
