//! A server that is down for a fault, and its new start: the same command line and environment, as the same user, in the
//! same directory, with the same priority and processors. Only a node of a cluster gets arguments of its own ([`Rejoin`]).

use crate::cluster::{Position, Rejoin};
use crate::error::FaultError;
use crate::fault::{Fault, Server, Site};
use crate::last_words;
use crate::process::{ProcessId, Processes, environment, now_ms, wait_while};
use crate::schedule::Schedule;
use crate::sockets::{accepts, wait_until_accepts};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait until a server that was started again accepts connections: it may recover first.
const PATIENCE: Duration = Duration::from_secs(120);

/// Longest wait until the parent of an ended process has noticed its end.
const UNNOTICED: Duration = Duration::from_secs(30);

/// A server that a fault takes down, with all that its new start needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Down {
    server: Server,
    /// The process that goes down.
    process: ProcessId,
    program: PathBuf,
    /// Arguments of each start, the program's name first.
    arguments: Vec<String>,
    /// Names and values of the environment.
    environment: Vec<(String, String)>,
    directory: PathBuf,
    user: u32,
    group: u32,
    /// Priority and processors. Those of Lydite are often others, so that it leaves the server's alone.
    schedule: Schedule,
    /// File that the server's output goes to.
    output: Option<PathBuf>,
    /// Time when it went down, in milliseconds since 1970; before that, the time when this was read.
    since_ms: u64,
}

impl Down {
    /// Returns the servers that a fault takes down, which still run; none if the fault has no end. `roots` are the
    /// processes of its places.
    ///
    /// # Errors
    /// All problems of servers that could not be started again.
    pub(crate) fn of(fault: &Fault, roots: &[ProcessId]) -> Result<Vec<Self>, Vec<FaultError>> {
        let (mut servers, mut problems) = (Vec::new(), Vec::new());
        if fault.spec.to.is_none() {
            return Ok(servers);
        }
        for (site, root) in fault.sites.iter().zip(roots) {
            match site {
                Site::Server(server) => match Self::read(server, *root) {
                    Ok(down) => servers.push(down),
                    Err(problem) => problems.push(FaultError::Lacks(format!(
                        "the server on port {} could not be started again: {problem}",
                        server.port
                    ))),
                },
                Site::Machine | Site::Process(_) => {}
            }
        }
        if problems.is_empty() { Ok(servers) } else { Err(problems) }
    }

    /// Reads how a running server was started.
    fn read(server: &Server, process: ProcessId) -> Result<Self, FaultError> {
        let proc = PathBuf::from(format!("/proc/{}", process.pid));
        let link = |name: &str| {
            fs::read_link(proc.join(name)).map_err(|error| FaultError::system(format!("its {name}"), error))
        };
        let program = link("exe")?;
        if !program.exists() {
            let gone = format!("its program {} is not there any more", program.display());
            return Err(FaultError::Lacks(gone));
        }
        let line =
            fs::read(proc.join("cmdline")).map_err(|error| FaultError::system("its command line", error))?;
        let arguments = line
            .strip_suffix(&[0])
            .unwrap_or(&line)
            .split(|byte| *byte == 0)
            .map(|argument| String::from_utf8(argument.to_vec()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| FaultError::Lacks("its command line is not in UTF-8".into()))?
            .into_iter()
            .filter(|argument| is_of_each_start(server, argument))
            .collect();
        let owner = fs::metadata(&proc).map_err(|error| FaultError::system("its user", error))?;
        let output = link("fd/2").ok().filter(|path| path.is_file());
        let (user, group) = (owner.uid(), owner.gid());
        let schedule = Schedule::of(process).map_err(|error| FaultError::system("its priority", error))?;
        schedule.during(|| ()).map_err(|error| {
            FaultError::Lacks(format!(
                "its priority and its processors, which lydite has not ({error}): run lydite as root, or without nice, chrt \
                 and taskset"
            ))
        })?;
        Ok(Self {
            server: server.clone(),
            process,
            program,
            arguments,
            environment: environment(process)?,
            directory: link("cwd")?,
            user,
            group,
            schedule,
            output,
            since_ms: now_ms(),
        })
    }

    /// Returns the server.
    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the process that goes down.
    pub(crate) fn process(&self) -> ProcessId {
        self.process
    }

    /// Returns true if there is nothing to start again: somebody has ended the server's lab, and its disk or the directory
    /// above its data is gone.
    pub(crate) fn is_given_up(&self) -> bool {
        match &self.server.disk {
            Some(disk) => !disk.volume.image.exists(),
            None => self.server.data.parent().is_some_and(|above| !above.exists()),
        }
    }

    /// Notes that the servers go down now.
    pub(crate) fn begins(servers: &mut [Self]) {
        let now = now_ms();
        servers.iter_mut().for_each(|server| server.since_ms = now);
    }

    /// Starts the servers that are down, and waits until all accept connections. Returns the length of each outage.
    ///
    /// # Errors
    /// The first server that could not be started, or did not come back.
    pub(crate) fn start_all(servers: &[Self]) -> Result<String, FaultError> {
        // Until its parent has noticed the end of a process, a new server takes the old one to be running. One that
        // still runs did not go down: it holds the port, or its new start says why it can't.
        let gone: Vec<ProcessId> =
            servers.iter().map(|server| server.process).filter(|old| !old.lives()).collect();
        let _unnoticed = wait_while(&gone, UNNOTICED, ProcessId::is_listed);
        let positions = Self::positions(servers)?;
        let leader = Self::leader(servers, &positions)?;
        let mut started = vec![None; servers.len()];
        let said_before: Vec<u64> = servers.iter().map(Self::said).collect();
        for number in leader.into_iter().chain((0..servers.len()).filter(|number| Some(*number) != leader)) {
            let position = positions[number].as_ref();
            started[number] = servers[number].start(position, Some(number) == leader)?;
            // Without a cluster to join the others would wait for its old nodes.
            if Some(number) == leader {
                let since = said_before[number];
                servers[number].wait_until_accepts(started[number], Instant::now() + PATIENCE, since)?;
            }
        }
        let (mut told, until) = (Vec::new(), Instant::now() + PATIENCE);
        for ((server, child), said) in servers.iter().zip(started).zip(said_before) {
            let port = server.server.port;
            server.wait_until_accepts(child, until, said)?;
            let since = now_ms().saturating_sub(server.since_ms);
            told.push(format!("port {port} refused connections for {:.1} s", since as f64 / 1e3));
        }
        Ok(told.join(", "))
    }

    /// Waits until the server, which is this process, accepts connections. `said` is the length of its output before its
    /// start, in bytes.
    fn wait_until_accepts(
        &self,
        child: Option<ProcessId>,
        until: Instant,
        said: u64,
    ) -> Result<(), FaultError> {
        let lives = || child.is_none_or(ProcessId::lives);
        let port = self.server.port;
        if wait_until_accepts(port, until.saturating_duration_since(Instant::now()), lives) {
            return Ok(());
        }
        let words = format!("the server on port {port} did not come back: {}", self.last_words(said));
        Err(FaultError::Down(words))
    }

    /// Returns true if somebody listens on the server's port, or the server was started and may still recover.
    fn runs(&self) -> bool {
        accepts(self.server.port) || self.started().is_some()
    }

    /// Returns the process that was started in place of the one that went down.
    fn started(&self) -> Option<ProcessId> {
        Processes::now().all().find(|process| self.is(*process))
    }

    /// Returns how the server starts again in its cluster; `None` without one.
    fn rejoin(&self) -> Option<&Rejoin> {
        self.server.cluster.as_ref().map(|cluster| &cluster.rejoin)
    }

    /// Returns the positions of the nodes of clusters that are down.
    ///
    /// # Errors
    /// All nodes that do not report theirs.
    fn positions(servers: &[Self]) -> Result<Vec<Option<Position>>, FaultError> {
        // At the same time: each recovers its data.
        let all: Vec<Result<_, FaultError>> = thread::scope(|scope| {
            let asked: Vec<_> = servers.iter().map(|server| scope.spawn(|| server.position())).collect();
            let panicked = "a thread of Lydite's own panicked: please report this";
            let panicked = |_| Err(FaultError::Failed(panicked.into()));
            asked.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
        });
        let (mut found, mut problems) = (Vec::new(), Vec::new());
        for position in all {
            match position {
                Ok(position) => found.push(position),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() { Ok(found) } else { Err(FaultError::joined(&problems)) }
    }

    /// Returns the position of a node of a cluster that is down; `None` for other servers.
    fn position(&self) -> Result<Option<Position>, FaultError> {
        let Some(rejoin) = self.rejoin().filter(|_| !self.runs()) else { return Ok(None) };
        let log = self.output.as_ref().ok_or_else(|| self.not_started("its messages go to no file"))?;
        let position = self.schedule.during(|| rejoin.position_of(self.command(), log));
        let position = position.unwrap_or_else(|error| Err(FaultError::Failed(error.to_string())));
        position.map(Some).map_err(|problem| self.not_started(problem))
    }

    /// Lets a node begin its cluster anew, and returns its number; `None` if a node runs, or there is no cluster.
    fn leader(servers: &[Self], positions: &[Option<Position>]) -> Result<Option<usize>, FaultError> {
        let runs = |server: &Self| {
            let nodes = server.server.cluster.iter().flat_map(|cluster| &cluster.ports);
            server.runs() || nodes.copied().any(accepts)
        };
        // Whoever has no position is no node, or runs.
        let nodes: Option<Vec<_>> = servers.iter().zip(positions).map(node_of).collect();
        match (nodes, servers.iter().find_map(Self::rejoin)) {
            (Some(nodes), Some(rejoin)) if !servers.iter().any(runs) => rejoin
                .begin_anew(&nodes)
                .map_err(|error| FaultError::system("the cluster can't begin anew", error)),
            _ => Ok(None),
        }
    }

    fn not_started(&self, problem: impl Display) -> FaultError {
        FaultError::Failed(format!("the server on port {} can't be started: {problem}", self.server.port))
    }

    /// Starts the server unless it runs. Returns the new process.
    fn start(&self, position: Option<&Position>, is_leader: bool) -> Result<Option<ProcessId>, FaultError> {
        if accepts(self.server.port) {
            return Ok(None);
        }
        if let Some(started) = self.started() {
            return Ok(Some(started));
        }
        let mut command = self.command();
        if let Some(rejoin) = self.rejoin() {
            command.args(position.map(|position| rejoin.argument(position)));
            command.args(is_leader.then_some(&rejoin.new_cluster));
        }
        let outputs = match &self.output {
            Some(path) => {
                [append(path), append(path)].map(|file| file.map_or_else(|_| Stdio::null(), Stdio::from))
            }
            None => [Stdio::null(), Stdio::null()],
        };
        let [stdout, stderr] = outputs;
        command.stdout(stdout).stderr(stderr);
        let child = self.schedule.during(|| command.spawn()).flatten();
        let child = child.map_err(|error| self.not_started(error))?;
        Ok(ProcessId::of(child.id()))
    }

    /// Returns the command of each start, whose output nobody has yet.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some((name, arguments)) = self.arguments.split_first() {
            command.arg0(name).args(arguments);
        }
        // The guard's own would lack variables of the server, such as LD_PRELOAD.
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(&self.directory).stdin(Stdio::null()).process_group(0);
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } == 0 {
            command.uid(self.user).gid(self.group);
        }
        command
    }

    /// Returns true if a process was started with the command line of the server.
    fn is(&self, process: ProcessId) -> bool {
        let line = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        let text = String::from_utf8_lossy(&line);
        let its = text.split_terminator('\0').filter(|argument| is_of_each_start(&self.server, argument));
        process != self.process && its.eq(self.arguments.iter()) && process.lives()
    }

    /// Returns the length of the server's output so far, in bytes; 0 without a file.
    fn said(&self) -> u64 {
        self.output.as_ref().and_then(|path| fs::metadata(path).ok()).map_or(0, |file| file.len())
    }

    /// Returns the reason in what the server has written since its output had this length.
    fn last_words(&self, said: u64) -> String {
        let text = self.output.as_ref().map(|path| fs::read(path).unwrap_or_default()).unwrap_or_default();
        let text = String::from_utf8_lossy(text.get(said as usize..).unwrap_or_default());
        last_words::reason(&text).unwrap_or("it wrote no reason").to_owned()
    }
}

/// Returns the data and the position of a node of a cluster that is down.
fn node_of<'a>((server, position): (&'a Down, &'a Option<Position>)) -> Option<(&'a Path, &'a Position)> {
    Some((&server.server.data, position.as_ref()?))
}

/// Returns true for an argument that the server's next start has, too.
fn is_of_each_start(server: &Server, argument: &str) -> bool {
    server.cluster.as_ref().is_none_or(|cluster| !cluster.rejoin.is_of_one_start(argument))
}

/// Opens a file to append to it.
fn append(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).open(path)
}
