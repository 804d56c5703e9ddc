//! Labs of MariaDB servers: a single server, a Galera cluster, and shards behind the engine Spider.

use crate::error::LabError;
use crate::find::find;
use crate::galera::{self, NEW_CLUSTER};
use crate::kind::Servers;
use crate::ports::free_ports;
use crate::privacy::{make_directory, unprivileged, write_private};
use crate::process;
use crate::programs::{check_success, in_parallel, program, run_to_end};
use crate::server::Server;
use lydite_console::exit::{Failure, Outcome};
use lydite_faults::cluster::Position;
use lydite_faults::reason_in_log;
use std::fs;
use std::io::{self, Write};
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
/// Maximum time for a server to start or to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum time for an answer of a server: one that joins a cluster may leave a statement without any.
const SILENCE: Duration = Duration::from_secs(20);
/// A server's log, in its directory. MariaDB appends `.err` to names without an ending.
const LOG: &str = "log.err";
/// The paths of Galera's library in several distributions.
const GALERA: [&str; 3] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib64/galera/libgalera_smm.so",
];

/// The server's programs, and the user that runs them.
pub(crate) struct Programs {
    server: PathBuf,
    install: PathBuf,
    client: PathBuf,
    /// True if the plugin of the engine MyRocks is installed.
    rocksdb: bool,
    /// Set for a Galera cluster only.
    galera: Option<Galera>,
    /// User and group: MariaDB refuses to run as root.
    pub(crate) user: Option<(u32, u32)>,
}

/// Files that a Galera cluster needs besides the servers' programs.
struct Galera {
    library: PathBuf,
    openssl: PathBuf,
}

impl Programs {
    /// Finds the programs and plugins that a kind of lab needs.
    pub(crate) fn find(kind: Servers) -> Result<Self, Failure> {
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
            let openssl = program("openssl", "openssl")?;
            let library = GALERA.iter().map(PathBuf::from).find(|path| path.exists()).ok_or_else(|| {
                Failure::usage(format!(
                    "{}: Galera's library is not there: install it (Debian: apt-get install galera-4)",
                    GALERA[0]
                ))
            })?;
            galera = Some(Galera { library, openssl });
        }
        let rocksdb = kind == Servers::Mariadb && plugins.join("ha_rocksdb.so").exists();
        Ok(Self { server, install, client, rocksdb, galera, user: unprivileged("mysql", "MariaDB")? })
    }

    /// Returns a command that runs as the servers' user, without any input.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command.current_dir("/").stdin(Stdio::null());
        command
    }

    /// Runs SQL on a server and returns the rows as text, tab-separated.
    fn sql(&self, server: &Server, password: &str, sql: &str) -> Result<String, LabError> {
        let mut client = self.command(&self.client);
        client.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--user=root"]);
        client.env("MYSQL_PWD", password);
        client.args([
            &format!("--port={}", server.port),
            "--connect-timeout=5",
            "--batch",
            "--skip-column-names",
            "-e",
            sql,
        ]);
        let system = |error| LabError::system("mariadb", error);
        let mut running = client.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(system)?;
        // The program itself waits without end for an answer. A few rows wait in the pipe.
        let begun = Instant::now();
        while running.try_wait().map_err(system)?.is_none() {
            if begun.elapsed() > SILENCE {
                running.kill().and_then(|()| running.wait()).map_err(system)?;
                return Err(LabError::Failed(format!(
                    "mariadb: no answer from port {} within {} s",
                    server.port,
                    SILENCE.as_secs()
                )));
            }
            thread::sleep(Duration::from_millis(5));
        }
        let output = running.wait_with_output().map_err(system)?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let last = stderr.lines().last().unwrap_or("it printed no error");
            return Err(LabError::Failed(format!("mariadb: {last}")));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
    }
}

/// Returns the directory where the server looks for its plugins.
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
        .ok_or_else(|| failed("it does not report its plugin-dir: is it MariaDB's server?"))
}

/// Returns the URL of a lab: the first server's, with the other servers as an option.
pub(crate) fn url(kind: Servers, servers: &[Server], password: &str) -> String {
    let others: Vec<String> =
        servers.iter().skip(1).map(|server| format!("127.0.0.1:{}", server.port)).collect();
    let others = match kind {
        Servers::Galera => format!("?nodes={}", others.join(",")),
        Servers::Spider => format!("?shards={}", others.join(",")),
        _ => String::new(),
    };
    let port = servers.first().map_or(0, |server| server.port);
    format!("mariadb://root:{password}@127.0.0.1:{port}/{DATABASE}{others}")
}

/// Starts a server on the data that it has, unless it runs.
pub(crate) fn start_again(
    programs: &Programs,
    kind: Servers,
    is_first: bool,
    server: &Server,
    password: &str,
) -> Result<(), LabError> {
    if process::is_running(server, &[datadir(server)], PATIENCE)? {
        return Ok(());
    }
    start(programs, kind, is_first, server, password)
}

/// Starts a server on new or old data. The first node of Galera begins the cluster.
fn start(
    programs: &Programs,
    kind: Servers,
    is_first: bool,
    server: &Server,
    password: &str,
) -> Result<(), LabError> {
    let plugin = match (kind, is_first) {
        (Servers::Spider, true) => Some("--plugin-load-add=ha_spider"),
        // Nothing detects a deadlock over two shards, so a short timeout must end it.
        (Servers::Spider, false) => Some("--innodb-lock-wait-timeout=5"),
        _ => programs.rocksdb.then_some("--plugin-load-add=ha_rocksdb"),
    };
    let mut more: Vec<String> = plugin.map(str::to_owned).into_iter().collect();
    if kind == Servers::Galera {
        more.push(galera::rejoin().argument(&position(programs, server)?));
        more.extend(is_first.then(|| NEW_CLUSTER.to_owned()));
    }
    start_one(programs, server, password, &more)
}

/// Creates and starts the servers, and creates the database on them.
pub(crate) fn start_all(
    programs: &Programs,
    directory: &Path,
    kind: Servers,
    servers: &[Server],
    password: &str,
) -> Outcome {
    let failed = |problem: LabError| Failure::Target(format!("{}: {problem}", directory.display()));
    in_parallel(directory, servers, |server| install(programs, server, password))?;
    let is_first = |server: &Server| servers.first().is_some_and(|first| first.port == server.port);
    if let Some(galera) = &programs.galera {
        let Some(first) = servers.first() else { return Ok(()) };
        let certificate = Certificate::make(programs, galera, first).map_err(failed)?;
        let mut copy = programs.command(Path::new("cp"));
        copy.arg("-a").arg(first.data()).arg(new_data(first));
        run_to_end(copy, "cp").map_err(failed)?;
        // One after the other: each node copies the data of a node that runs already.
        for (server, settings) in servers.iter().zip(galera_settings(galera, servers, &certificate)?) {
            let path = option_file(server);
            append(&path, &settings).map_err(|error| failed(LabError::system(path.display(), error)))?;
            let more: Vec<String> = is_first(server).then(|| NEW_CLUSTER.into()).into_iter().collect();
            start_one(programs, server, password, &more).map_err(failed)?;
        }
    } else {
        in_parallel(directory, servers, |server| start(programs, kind, is_first(server), server, password))?;
    }
    for server in servers.iter().filter(|server| kind == Servers::Spider || is_first(server)) {
        programs.sql(server, password, &format!("CREATE DATABASE {DATABASE}")).map_err(failed)?;
    }
    Ok(())
}

/// The certificate that the nodes of a Galera cluster authenticate each other with. A cluster has no passwords: without
/// a certificate everybody who reaches the ports could join it.
struct Certificate {
    key: PathBuf,
    certificate: PathBuf,
}

impl Certificate {
    /// Creates the certificate in the directory of a server, which only its user can enter.
    fn make(programs: &Programs, galera: &Galera, server: &Server) -> Result<Self, LabError> {
        let made =
            Self { key: server.path.join("key.pem"), certificate: server.path.join("certificate.pem") };
        let mut openssl = programs.command(&galera.openssl);
        openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650"]);
        openssl
            .args(["-subj", "/CN=lydite-lab", "-keyout"])
            .arg(&made.key)
            .arg("-out")
            .arg(&made.certificate);
        run_to_end(openssl, "openssl")?;
        Ok(made)
    }
}

/// Returns the lines for the option file of each node of a Galera cluster.
fn galera_settings(
    galera: &Galera,
    servers: &[Server],
    certificate: &Certificate,
) -> Result<Vec<String>, Failure> {
    let nodes = servers.len();
    let ports = free_ports(2 * nodes)?;
    let ports: Vec<&[u16]> = ports.chunks(2).collect();
    let members: Vec<String> = ports.iter().map(|ports| format!("127.0.0.1:{}", ports[0])).collect();
    let members = members.join(",");
    let library = galera.library.display();
    let (key, certificate) = (certificate.key.display(), certificate.certificate.display());
    let of_node = |(node, (server, ports)): (usize, (&Server, &&[u16]))| {
        let (group, transfer) = (ports[0], ports[1]);
        let number = node + 1;
        // mysqldump uses the servers' own ports and passwords. The other methods open unprotected ports.
        format!(
            "server-id = {number}\n\
             binlog-format = ROW\n\
             innodb-autoinc-lock-mode = 2\n\
             wsrep-on = ON\n\
             wsrep-provider = \"{library}\"\n\
             wsrep-cluster-name = lydite-lab\n\
             wsrep-cluster-address = gcomm://{members}\n\
             wsrep-node-name = node-{number}\n\
             wsrep-node-address = 127.0.0.1:{group}\n\
             wsrep-sst-method = mysqldump\n\
             wsrep-sst-receive-address = 127.0.0.1:{}\n\
             wsrep-slave-threads = 2\n\
             wsrep-provider-options = \"base_port={group};gmcast.listen_addr=ssl://127.0.0.1:{group};\
             ist.recv_addr=ssl://127.0.0.1:{transfer};ist.recv_bind=ssl://127.0.0.1:{transfer};gcache.size=128M;\
             socket.ssl_key={key};socket.ssl_cert={certificate};socket.ssl_ca={certificate}\"\n",
            server.port
        )
    };
    Ok(servers.iter().zip(&ports).enumerate().map(of_node).collect())
}

/// Appends text to a file.
fn append(path: &Path, text: &str) -> io::Result<()> {
    fs::OpenOptions::new().append(true).open(path)?.write_all(text.as_bytes())
}

/// Lets a node of Galera begin its cluster anew, and returns its number; `None` if a node runs.
pub(crate) fn leader(programs: &Programs, servers: &[Server]) -> Result<Option<usize>, LabError> {
    if servers.iter().any(|server| server.answers() || find(&[datadir(server)]).is_some()) {
        return Ok(None);
    }
    let positions: Vec<Position> =
        servers.iter().map(|server| position(programs, server)).collect::<Result<_, _>>()?;
    let data: Vec<PathBuf> = servers.iter().map(Server::data).collect();
    let nodes: Vec<_> = data.iter().map(PathBuf::as_path).zip(&positions).collect();
    galera::rejoin()
        .begin_anew(&nodes)
        .map_err(|error| LabError::system("the cluster can't begin anew", error))
}

/// Returns the position of a node of Galera that is down.
fn position(programs: &Programs, server: &Server) -> Result<Position, LabError> {
    Ok(galera::rejoin().position_of(server_command(programs, server, &[]), &server.path.join(LOG))?)
}

/// Creates a server's directory and its system tables, and sets the password of its administrators.
fn install(programs: &Programs, server: &Server, password: &str) -> Result<(), LabError> {
    make_directory(&server.path, programs.user)?;
    let data = datadir(server);
    let mut install = programs.command(&programs.install);
    install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", &data]);
    // Installations that run in parallel use the same names for temporary tables.
    install.arg(format!("--tmpdir={}", server.path.display()));
    run_to_end(install, "mariadb-install-db")?;
    let options = format!("[mysqld]\nwsrep_sst_auth = root:{password}\n");
    write_private(&option_file(server), &options, programs.user)
        .map_err(|error| LabError::system(option_file(server).display(), error))?;
    // Set before the server listens, and through its input, which nobody else can read.
    let mut bootstrap = programs.command(&programs.server);
    bootstrap.args(["--no-defaults", "--bootstrap", "--skip-networking", &data]);
    bootstrap.arg(format!("--tmpdir={}", server.path.display()));
    bootstrap.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let failed = |error| LabError::system("mariadbd --bootstrap", error);
    let mut running = bootstrap.spawn().map_err(failed)?;
    let sql = format!(
        "UPDATE mysql.global_priv SET Priv = json_set(Priv, '$.plugin', 'mysql_native_password', \
         '$.authentication_string', password('{password}')) WHERE User = 'root';\n\
         DELETE FROM mysql.global_priv WHERE User = '';\n"
    );
    if let Some(mut input) = running.stdin.take() {
        input.write_all(sql.as_bytes()).map_err(failed)?;
    }
    check_success(&running.wait_with_output().map_err(failed)?, "mariadbd --bootstrap")
}

/// Returns the directory with the data of a new server of a Galera cluster. A node that has lost its data starts with a
/// copy, and gets all rows from the other nodes.
pub(crate) fn new_data(first: &Server) -> PathBuf {
    first.path.join("new-data")
}

/// Returns the option file of a server: a password, which others would see on the command line, and the settings of a node of
/// Galera, which are the same at each start.
fn option_file(server: &Server) -> PathBuf {
    server.path.join("options")
}

/// Returns the command that starts a server, with further arguments.
fn server_command(programs: &Programs, server: &Server, more: &[String]) -> Command {
    let path = |name: &str| server.path.join(name).display().to_string();
    let mut start = programs.command(&programs.server);
    start.arg(format!("--defaults-file={}", option_file(server).display()));
    start.arg(datadir(server)).args(SETTINGS).args(more);
    start.args(server.settings.iter().map(|setting| format!("--{setting}")));
    start.args([
        format!("--port={}", server.port),
        format!("--socket={}", path("socket")),
        format!("--pid-file={}", path("pid")),
        format!("--log-error={}", path(LOG)),
        format!("--tmpdir={}", server.data().display()),
    ]);
    start
}

fn start_one(programs: &Programs, server: &Server, password: &str, more: &[String]) -> Result<(), LabError> {
    let mut start = server_command(programs, server, more);
    // The server outlives this process, and a Ctrl-C in the terminal must not reach it.
    start.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    // Earlier starts have written to the log, too.
    let before = fs::metadata(server.path.join(LOG)).map_or(0, |log| log.len() as usize);
    let mut child = start.spawn().map_err(|error| LabError::system("mariadbd", error))?;
    wait_until_ready(programs, server, password, &mut child, before)
}

/// Waits until a server is ready. `before` is the length of its log before this start.
fn wait_until_ready(
    programs: &Programs,
    server: &Server,
    password: &str,
    child: &mut Child,
    before: usize,
) -> Result<(), LabError> {
    // A node accepts statements only after it has copied all data.
    let (query, ready) = if programs.galera.is_some() {
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
        let ended = child.try_wait().map_err(|error| LabError::system("mariadbd", error))?.is_some();
        if !ended && programs.sql(server, password, query).is_ok_and(|state| state == ready) {
            return Ok(());
        }
        if ended || begun.elapsed() > PATIENCE {
            let log = fs::read(server.path.join(LOG)).unwrap_or_default();
            let log = String::from_utf8_lossy(log.get(before..).unwrap_or_default());
            let reason = reason_in_log(&log).unwrap_or("it wrote no reason");
            let what = if ended { "has ended again" } else { "is not ready yet" };
            // The log of a lab that can't be started first is deleted with it.
            let place = server.path.join(LOG);
            let place = if before > 0 { format!(" (its log is {})", place.display()) } else { String::new() };
            return Err(LabError::Failed(format!(
                "the server for port {} {what}: {reason}{place}",
                server.port
            )));
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// Kills a server if it runs.
pub(crate) fn stop(server: &Server) -> Outcome {
    process::kill(server, &[datadir(server)])
}

/// Ends a server if it runs, so that it starts again without a recovery.
pub(crate) fn shut_down(server: &Server) -> Outcome {
    process::end(server, &[datadir(server)], libc::SIGTERM)
}

/// Returns the argument with the directory of a server's data.
fn datadir(server: &Server) -> String {
    format!("--datadir={}", server.data().display())
}
