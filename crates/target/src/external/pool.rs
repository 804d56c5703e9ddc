//! The processes of a driver, and the connections to them. A connection is taken for a transaction or a session and
//! given back, so a process whose session has ended serves the next one.

use super::channel::{CallError, Channel};
use super::config::Config;
use super::messages::{Guarantee, Hello, HelloRequest, PROTOCOL, Refusal, RefusalKind, WasCommitted};
use super::process::Process;
use crate::error::{Committed, TargetError};
use crate::target::Description;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

/// A driver that can be asked for connections.
pub(super) struct Driver {
    pub(super) config: Config,
    place: Arc<str>,
    hello: OnceLock<Hello>,
    pool: Mutex<Pool>,
}

#[derive(Default)]
struct Pool {
    // Closed before the processes are waited for.
    idle: Vec<Channel>,
    processes: Vec<Arc<Process>>,
}

/// A connection. Dropping it gives it back.
pub(super) struct Lease {
    channel: Option<Channel>,
    driver: Arc<Driver>,
    /// Whether a transaction is open on it that nobody will end: then nobody else may have it.
    pub(super) spoiled: bool,
}

impl Driver {
    pub(super) fn new(config: Config) -> Arc<Self> {
        let place = Arc::from(config.place.as_str());
        Arc::new(Self { config, place, hello: OnceLock::new(), pool: Mutex::default() })
    }

    /// What the driver says of itself; starts it if nobody has.
    pub(super) fn hello(self: &Arc<Self>) -> Result<&Hello, String> {
        if self.hello.get().is_none() {
            drop(self.lease()?);
        }
        self.hello.get().ok_or_else(|| format!("{}: it has not introduced itself", self.place))
    }

    /// A connection that nobody uses: an idle one, a new one to a process that takes more, or one to a new process.
    pub(super) fn lease(self: &Arc<Self>) -> Result<Lease, String> {
        let lease = |channel| Lease { channel: Some(channel), driver: Arc::clone(self), spoiled: false };
        let mut pool = self.pool.lock();
        while let Some(channel) = pool.idle.pop() {
            if !channel.process().has_ended() {
                return Ok(lease(channel));
            }
        }
        pool.processes.retain(|process| !process.has_ended());
        let each =
            self.hello.get().map_or(1, |hello| if hello.sessions == 0 { u32::MAX } else { hello.sessions });
        let most = self.config.processes.unwrap_or(if each > 1 { 1 } else { u32::MAX });
        let place = pool
            .processes
            .iter()
            .filter(|process| process.sessions.load(Ordering::Relaxed) < each)
            .min_by_key(|process| process.sessions.load(Ordering::Relaxed))
            .cloned();
        if (pool.processes.len() as u32) < most {
            let begun = Process::start(&self.config)?;
            pool.processes.push(Arc::clone(&begun.0));
            // Others may start theirs meanwhile; the first one learns how many sessions a process takes.
            let channel = if self.hello.get().is_some() {
                let channel =
                    Channel::new(begun.1, begun.0, (Arc::clone(&self.place), self.config.timeout, true))?;
                drop(pool);
                channel
            } else {
                Channel::new(begun.1, begun.0, (Arc::clone(&self.place), self.config.timeout, true))?
            };
            return self.greet(channel).map(lease);
        }
        let Some(process) = place else {
            return Err(format!(
                "{}: it serves {each} session(s) in each of {most} process(es), and one more is wanted: raise \
                 processes in the URL, or lower --terminals, --sessions and --jobs",
                self.place
            ));
        };
        let path = process.socket();
        let stream = UnixStream::connect(&path).map_err(|error| {
            format!(
                "{}: it takes several sessions in a process but does not listen at LYDITE_SOCKET: {error}{}",
                self.place,
                process.epitaph(false)
            )
        })?;
        let channel = Channel::new(stream, process, (Arc::clone(&self.place), self.config.timeout, false))?;
        drop(pool);
        self.greet(channel).map(lease)
    }

    /// The first request of a connection.
    fn greet(&self, mut channel: Channel) -> Result<Channel, String> {
        let request = HelloRequest { protocol: PROTOCOL, lydite: env!("CARGO_PKG_VERSION") };
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
        Ok(channel)
    }

    /// Refuses more sessions than there may be.
    pub(super) fn check_sessions(self: &Arc<Self>, sessions: u32) -> Result<(), TargetError> {
        let hello = self.hello().map_err(TargetError::unreachable)?;
        let each = hello.sessions;
        let most = self.config.processes.unwrap_or(if each == 1 { u32::MAX } else { 1 });
        let all = if each == 0 { u32::MAX } else { each.saturating_mul(most) };
        if sessions > all {
            return Err(TargetError::usage(format!(
                "{}: {sessions} sessions are asked for, and it serves {each} in each of {most} process(es): raise \
                 processes in the URL, or lower --terminals and --sessions",
                self.place
            )));
        }
        Ok(())
    }

    pub(super) fn describe(&self, hello: &Hello) -> Description {
        let mut settings: BTreeMap<String, String> = hello.settings.clone();
        settings.insert("driver".into(), hello.name.clone());
        settings.insert("guarantee".into(), hello.guarantee.name().into());
        if let Some(processes) = self.config.processes {
            settings.insert("processes".into(), processes.to_string());
        }
        let isolation = hello.isolation.clone();
        Description {
            kind: "driver".into(),
            version: format!("{} {}", hello.name, hello.version),
            url: self.config.url.clone(),
            settings,
            isolation: isolation.unwrap_or_else(|| hello.guarantee.name().to_string()),
            isolation_is_level_3: matches!(hello.guarantee, Guarantee::Optimistic | Guarantee::Serializable),
            embedded: false,
            durable: hello.durable,
            in_memory: None,
        }
    }

    /// An error in one line.
    pub(super) fn words(&self, error: &CallError) -> String {
        match error {
            CallError::Lost(message) | CallError::Malformed(message) => message.clone(),
            CallError::Refused(refusal) => format!("{}: {}", self.place, refusal.words()),
        }
    }

    /// The error of an operation on the whole target.
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
    /// What it says, on one line.
    pub(super) fn words(&self) -> String {
        let detail = self.detail.split_whitespace().collect::<Vec<_>>().join(" ");
        match (self.kind, detail.as_str()) {
            (RefusalKind::Unsupported, "") => "the driver does not offer it".into(),
            (_, "") => format!("the driver refused without a word ({:?})", self.kind),
            _ => detail,
        }
    }

    /// Of `unavailable`: whether the transaction may have been committed. What is not said is not known.
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

// The channel is there until the lease is dropped.
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
        // The process may end with its channel, which can take a while: not under the lock.
        let mut pool = self.driver.pool.lock();
        let dead = pool.processes.extract_if(.., |process| process.has_ended()).collect::<Vec<_>>();
        drop(pool);
        drop((channel, dead));
    }
}
