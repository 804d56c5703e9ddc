//! The processes of a driver, and the connections to them. A transaction or a session takes a connection and gives it
//! back, so a process whose session has ended serves the next one.

use super::channel::{CallError, Channel};
use super::config::{Address, Config, Reach};
use super::messages::{Guarantee, Hello, HelloRequest, PROTOCOL, Refusal, RefusalKind, WasCommitted};
use super::process::Process;
use crate::net::{CONNECT_TIMEOUT, Transport, dial_tcp};
use lydite_database::{Committed, Description, TargetError};
use parking_lot::Mutex;
use socket2::{Domain, SockAddr, Socket, Type};
use std::collections::BTreeMap;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Longest wait for the end of a killed process: one that waits for a disk ends when the disk answers.
const DEATH: Duration = Duration::from_secs(10);

/// A driver that hands out connections.
pub(super) struct Driver {
    pub(super) config: Config,
    place: Arc<str>,
    hello: OnceLock<Hello>,
    pool: Mutex<Pool>,
}

#[derive(Default)]
struct Pool {
    // Closed before the wait for the processes.
    idle: Vec<Channel>,
    /// Standard streams of processes that serve several sessions. They are unused after the greeting, so the end of one
    /// session does not end the process.
    kept: Vec<Channel>,
    processes: Vec<Arc<Process>>,
}

/// Connects to a driver's socket. Waits for a driver that accepts no connections as long as for an answer.
fn dial(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let deadline = Instant::now() + timeout;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    let address = SockAddr::unix(path)?;
    socket.set_nonblocking(true)?;
    loop {
        match socket.connect(&address) {
            // The socket's queue is full.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
            Ok(()) => break,
        }
    }
    socket.set_nonblocking(false)?;
    Ok(UnixStream::from(OwnedFd::from(socket)))
}

/// A connection in use. Dropping it gives it back.
pub(super) struct Lease {
    channel: Option<Channel>,
    driver: Arc<Driver>,
    /// True if an open transaction on it will never be ended. Then no other transaction may use the connection.
    pub(super) spoiled: bool,
}

impl Driver {
    pub(super) fn new(config: Config) -> Arc<Self> {
        let place = Arc::from(config.place.as_str());
        Arc::new(Self { config, place, hello: OnceLock::new(), pool: Mutex::default() })
    }

    /// Returns the driver's description. Starts the driver if it does not run yet.
    pub(super) fn hello(self: &Arc<Self>) -> Result<&Hello, String> {
        if self.hello.get().is_none() {
            drop(self.lease()?);
        }
        self.hello.get().ok_or_else(|| format!("{}: it has not introduced itself", self.place))
    }

    /// Returns a free connection: an idle one, a new one to a process with room, or one to a new process.
    pub(super) fn lease(self: &Arc<Self>) -> Result<Lease, String> {
        let lease = |channel| Lease { channel: Some(channel), driver: Arc::clone(self), spoiled: false };
        let mut pool = self.pool.lock();
        while let Some(channel) = pool.idle.pop() {
            if !channel.has_ended() {
                return Ok(lease(channel));
            }
        }
        let program = match &self.config.reach {
            Reach::Program(program) => program,
            Reach::Server(address) => {
                drop(pool);
                return self.reach(address).map(lease);
            }
        };
        pool.kept.retain(|channel| !channel.has_ended());
        pool.processes.retain(|process| !process.has_ended());
        let each =
            self.hello.get().map_or(1, |hello| if hello.sessions == 0 { u32::MAX } else { hello.sessions });
        let most = program.processes.unwrap_or(if each > 1 { 1 } else { u32::MAX });
        let place = pool
            .processes
            .iter()
            .filter(|process| process.sessions.load(Ordering::Relaxed) < each)
            .min_by_key(|process| process.sessions.load(Ordering::Relaxed))
            .cloned();
        if (pool.processes.len() as u32) < most {
            let (process, stream) = Process::start(program, &self.place)?;
            pool.processes.push(Arc::clone(&process));
            process.sessions.store(1, Ordering::Relaxed);
            let first = Channel::new(
                Transport::Unix(stream),
                Some(Arc::clone(&process)),
                (Arc::clone(&self.place), self.config.timeout, true),
            )?;
            // After the first process others start theirs at the same time. The first one holds the lock, because it
            // finds out how many sessions a process serves.
            let unknown = self.hello.get().is_none().then_some(pool);
            let (mut first, hello) = self.greet(first)?;
            let mut pool = unknown.unwrap_or_else(|| self.pool.lock());
            if hello.sessions == 1 {
                return Ok(lease(first));
            }
            process.sessions.fetch_add(1, Ordering::Relaxed);
            first.keep();
            pool.kept.push(first);
            drop(pool);
            return self.further(process).map(lease);
        }
        let Some(process) = place else {
            return Err(format!(
                "{}: it serves {each} session(s) in each of {most} process(es), and one more is wanted: raise \
                 processes in the URL, or lower --terminals, --sessions and --jobs",
                self.place
            ));
        };
        process.sessions.fetch_add(1, Ordering::Relaxed);
        drop(pool);
        self.further(process).map(lease)
    }

    /// Connects one more session to a process that serves several and has counted this one.
    fn further(&self, process: Arc<Process>) -> Result<Channel, String> {
        let stream = match dial(&process.socket(), self.config.timeout) {
            Ok(stream) => stream,
            Err(error) => {
                process.sessions.fetch_sub(1, Ordering::Relaxed);
                return Err(format!(
                    "{}: it takes several sessions in a process but does not listen at LYDITE_SOCKET: {error}{}",
                    self.place,
                    process.epitaph(false)
                ));
            }
        };
        let place = Arc::clone(&self.place);
        let channel =
            Channel::new(Transport::Unix(stream), Some(process), (place, self.config.timeout, false))?;
        self.greet(channel).map(|(channel, _)| channel)
    }

    /// Connects one more session to a server.
    fn reach(&self, address: &Address) -> Result<Channel, String> {
        let stream = dial_tcp(&address.host, address.port, CONNECT_TIMEOUT)
            .map_err(|error| format!("{}: {}", self.place, error.line()))?;
        // The kernel of a frozen server accepts connections, but the server does not greet.
        let channel =
            Channel::new(Transport::Tcp(stream), None, (Arc::clone(&self.place), CONNECT_TIMEOUT, false))?;
        let (mut channel, _) = self.greet(channel)?;
        channel.wait_at_most(self.config.timeout)?;
        Ok(channel)
    }

    /// Kills all processes at once and waits for their end. Later leases start new ones. Returns their number.
    pub(super) fn kill(&self) -> Result<usize, String> {
        let Pool { idle, kept, processes } = std::mem::take(&mut *self.pool.lock());
        processes.iter().for_each(|process| process.kill());
        let deadline = Instant::now() + DEATH;
        while !processes.iter().all(|process| process.has_ended()) {
            if Instant::now() >= deadline {
                let seconds = DEATH.as_secs();
                return Err(format!("{}: a process has not ended {seconds} s after SIGKILL", self.place));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let count = processes.len();
        drop((idle, kept, processes));
        Ok(count)
    }

    /// True if a server answers a new connection.
    pub(super) fn answers(&self) -> bool {
        match &self.config.reach {
            Reach::Program(_) => true,
            Reach::Server(address) => self.reach(address).is_ok(),
        }
    }

    /// Sends the first request of a connection.
    fn greet(&self, mut channel: Channel) -> Result<(Channel, Hello), String> {
        let password = match &self.config.reach {
            Reach::Program(_) => None,
            Reach::Server(address) => address.password.as_deref(),
        };
        let request = HelloRequest { protocol: PROTOCOL, lydite: env!("CARGO_PKG_VERSION"), password };
        let hello: Hello = channel.call("hello", &request).map_err(|error| self.words(&error))?;
        if hello.protocol != PROTOCOL {
            return Err(format!(
                "{}: it speaks version {} of the protocol, and this Lydite version {PROTOCOL}: use an SDK of the same \
                 version",
                self.place, hello.protocol
            ));
        }
        let first = self.hello.get_or_init(|| hello.clone());
        if first.way != hello.way {
            return Err(format!("{}: one process of it is a key-value store and another is not", self.place));
        }
        Ok((channel, hello))
    }

    /// Rejects more sessions than the driver can serve.
    pub(super) fn check_sessions(self: &Arc<Self>, sessions: u32) -> Result<(), TargetError> {
        let hello = self.hello().map_err(TargetError::unreachable)?;
        let Reach::Program(program) = &self.config.reach else { return Ok(()) };
        let each = hello.sessions;
        let most = program.processes.unwrap_or(if each == 1 { u32::MAX } else { 1 });
        let all = if each == 0 { u32::MAX } else { each.saturating_mul(most) };
        if sessions > all {
            return Err(TargetError::usage(format!(
                "{}: {sessions} sessions are needed, and it serves {each} in each of {most} process(es): raise \
                 processes in the URL, or lower --terminals and --sessions",
                self.place
            )));
        }
        Ok(())
    }

    pub(super) fn describe(&self, hello: &Hello) -> Description {
        let mut settings: BTreeMap<String, String> = hello.settings.clone();
        let (kind, version) = match &self.config.reach {
            Reach::Program(program) => {
                settings.insert("driver".into(), hello.name.clone());
                settings.insert("guarantee".into(), hello.guarantee.name().into());
                if let Some(processes) = program.processes {
                    settings.insert("processes".into(), processes.to_string());
                }
                ("driver".into(), format!("{} {}", hello.name, hello.version))
            }
            Reach::Server(_) => (hello.name.clone(), hello.version.clone()),
        };
        let isolation = hello.isolation.clone().filter(|words| !words.trim().is_empty());
        Description {
            kind,
            version,
            url: self.config.url.clone(),
            settings,
            isolation: isolation.unwrap_or_else(|| hello.guarantee.name().to_string()),
            isolation_is_level_3: matches!(hello.guarantee, Guarantee::Optimistic | Guarantee::Serializable),
            embedded: false,
            durable: hello.durable,
            in_memory: None,
            unread: Vec::new(),
        }
    }

    /// Returns an error in one line.
    pub(super) fn words(&self, error: &CallError) -> String {
        match error {
            CallError::Lost(message) | CallError::Malformed(message) => message.clone(),
            CallError::Refused(refusal) => format!("{}: {}", self.place, refusal.words()),
        }
    }

    /// Returns the error of an operation on the whole target.
    pub(super) fn on_target(&self, doing: &str, error: &CallError) -> TargetError {
        let message = match error {
            CallError::Refused(refusal) => format!("{}: {doing}: {}", self.place, refusal.words()),
            _ => self.words(error),
        };
        match error {
            CallError::Lost(_) => TargetError::unreachable(message),
            CallError::Refused(refusal) if refusal.kind == RefusalKind::Unavailable => {
                TargetError::unreachable(message)
            }
            CallError::Refused(refusal) if refusal.kind == RefusalKind::Unsupported => {
                TargetError::usage(message)
            }
            _ => TargetError::database(message),
        }
    }
}

impl Refusal {
    /// Returns the driver's error in one line.
    pub(super) fn words(&self) -> String {
        let detail = self.detail.split_whitespace().collect::<Vec<_>>().join(" ");
        match (self.kind, detail.as_str()) {
            (RefusalKind::Unsupported, "") => "the driver does not offer it".into(),
            (_, "") => format!("the driver gave no reason (error {})", self.kind.name()),
            _ => detail,
        }
    }

    /// Returns the state of the commit, with `unavailable`. If the driver does not state it, it is unknown.
    pub(super) fn committed(&self) -> Committed {
        match self.committed {
            Some(WasCommitted::No) => Committed::No,
            Some(WasCommitted::Unknown) | None => Committed::Unknown,
        }
    }
}

impl Lease {
    pub(super) fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }
}

// The lease has its channel until it is dropped.
impl Deref for Lease {
    type Target = Channel;
    #[expect(clippy::expect_used, reason = "taken by Drop only")]
    fn deref(&self) -> &Channel {
        self.channel.as_ref().expect("a lease holds its channel")
    }
}

impl DerefMut for Lease {
    #[expect(clippy::expect_used, reason = "taken by Drop only")]
    fn deref_mut(&mut self) -> &mut Channel {
        self.channel.as_mut().expect("a lease holds its channel")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(channel) = self.channel.take() else { return };
        if !channel.is_broken() && !self.spoiled {
            self.driver.pool.lock().idle.push(channel);
            return;
        }
        // A process ends with its channel, which can take a while. So it leaves the pool here and ends after the lock
        // is released.
        let mut pool = self.driver.pool.lock();
        let goes = |process: &mut Arc<Process>| {
            let of_it = channel.process().is_some_and(|of_channel| Arc::ptr_eq(process, of_channel));
            process.has_ended() || (channel.is_first() && of_it)
        };
        let dead = pool.processes.extract_if(.., goes).collect::<Vec<_>>();
        // A server that ended took its other connections along.
        let lost = channel.process().is_none().then(|| std::mem::take(&mut pool.idle));
        drop(pool);
        drop((channel, dead, lost));
    }
}
