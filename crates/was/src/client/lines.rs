//! The lines of all terminals of a run.

use super::line::{Line, Place, greet, unexpected};
use super::session::{GoneSession, WasSession};
use super::watcher::Watcher;
use crate::files;
use crate::message::{Answer, Hello, Request, Served, TerminalId};
use crate::server::RECONNECT_WITHIN;
use lydite_database::{Committed, Session, TargetError, TxError};
use lydite_tpcc::{DistrictId, WarehouseId};
use parking_lot::Mutex;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Lines that are connected at the same time.
const CONNECTING_MAX: usize = 16;
/// Bounds of the wait between two attempts to reconnect a line.
const RETRY_MIN: Duration = Duration::from_millis(10);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// Counts of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Terminals with a line.
    pub lines: u64,
    /// Lines that were lost.
    pub lost: u64,
    /// Terminals that came back to their context.
    pub reconnected: u64,
    /// Terminals whose context was gone when they came back.
    pub contexts_lost: u64,
}

/// The lines.
pub struct Lines {
    address: String,
    tier: Arc<[SocketAddr]>,
    /// Random number of the run.
    run: u64,
    homes: Box<[(WarehouseId, DistrictId)]>,
    lines: Box<[Mutex<Line>]>,
    watcher: Watcher,
    served: Served,
    /// True once nothing listens at the tier's address any more. Its contexts are gone then.
    gone: AtomicBool,
    /// True once the run is over: ends of lines are no losses.
    over: AtomicBool,
    lost: AtomicU64,
    reconnected: AtomicU64,
    contexts_lost: AtomicU64,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines")
            .field("address", &self.address)
            .field("lines", &self.lines.len())
            .finish_non_exhaustive()
    }
}

/// Returns the addresses of a tier.
fn addresses(address: &str) -> Result<Arc<[SocketAddr]>, TargetError> {
    let found = address
        .to_socket_addrs()
        .map_err(|error| TargetError::unreachable(format!("the WAS {address} has no address: {error}")))?;
    Ok(found.collect())
}

impl Lines {
    /// Returns the database that the tier at `address`, `HOST:PORT`, serves.
    ///
    /// # Errors
    /// The tier does not answer.
    pub fn served_at(address: &str) -> Result<Served, TargetError> {
        let connected = operator(&addresses(address)?);
        connected.map(|(_, served)| served).map_err(|error| unreachable_tier(address, &error))
    }

    /// Connects a terminal for each of these homes with the tier at `address`, `HOST:PORT`.
    ///
    /// # Errors
    /// The tier does not answer, or the system provides too few files, ports or threads.
    pub fn connect(address: &str, homes: Vec<(WarehouseId, DistrictId)>) -> Result<Arc<Self>, TargetError> {
        files::make_room(homes.len() as u64).map_err(|error| TargetError::usage(error.to_string()))?;
        let tier = addresses(address)?;
        let (_, served) = operator(&tier).map_err(|error| unreachable_tier(address, &error))?;
        let run = RandomState::new().hash_one(std::process::id());
        let watcher = Watcher::new()
            .map_err(|error| TargetError::usage(format!("the system can't watch the lines: {error}")))?;
        let lines = Arc::new(Self {
            address: address.to_owned(),
            tier,
            run,
            lines: homes.iter().map(|_| Mutex::default()).collect(),
            homes: homes.into(),
            watcher,
            served,
            gone: AtomicBool::new(false),
            over: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            reconnected: AtomicU64::new(0),
            contexts_lost: AtomicU64::new(0),
        });
        lines.connect_all()?;
        Watcher::start(&lines)
            .map_err(|error| TargetError::usage(format!("can't start a thread for the lines: {error}")))?;
        Ok(lines)
    }

    fn connect_all(&self) -> Result<(), TargetError> {
        let (next, failure) = (AtomicUsize::new(0), Mutex::new(None));
        let work = || {
            loop {
                let terminal = next.fetch_add(1, Ordering::Relaxed);
                if terminal >= self.lines.len() || failure.lock().is_some() {
                    return;
                }
                if let Err(error) = self.open(terminal as u32, &mut self.lines[terminal].lock(), 0) {
                    failure.lock().get_or_insert((terminal, error));
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.lines.len().min(CONNECTING_MAX) {
                // If the system provides no thread, the others do its work.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        match failure.into_inner() {
            None => Ok(()),
            Some((connected, error)) if error.kind() == io::ErrorKind::AddrNotAvailable => {
                Err(TargetError::usage(format!(
                    "after {connected} of {} terminals this machine has no free port left for lines to {}: widen \
                     net.ipv4.ip_local_port_range, or use fewer terminals",
                    self.lines.len(),
                    self.address
                )))
            }
            Some((_, error)) => Err(unreachable_tier(&self.address, &error)),
        }
    }

    /// Returns the tier's address, as the plan has it.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the database that the tier serves.
    #[must_use]
    pub fn served(&self) -> &Served {
        &self.served
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn counts(&self) -> LineCounts {
        LineCounts {
            lines: self.lines.len() as u64,
            lost: self.lost.load(Ordering::Relaxed),
            reconnected: self.reconnected.load(Ordering::Relaxed),
            contexts_lost: self.contexts_lost.load(Ordering::Relaxed),
        }
    }

    /// Ends the lines: each terminal that waits for no answer says goodbye.
    pub fn close(&self) {
        self.over.store(true, Ordering::Relaxed);
        for line in &self.lines {
            if let Some(mut line) = line.try_lock() {
                // The tier may be gone.
                let _ = line.send(&Request::Bye);
                line.stream = None;
            }
        }
    }

    /// Opens a session. Any number of them may use the lines, each for one terminal at a time. Once the tier is gone, a
    /// session answers each transaction with that.
    ///
    /// # Errors
    /// The tier does not answer, or it serves another database than before.
    pub fn session(self: &Arc<Self>) -> Result<Box<dyn Session>, TargetError> {
        if self.gone.load(Ordering::Relaxed) {
            return Ok(Box::new(GoneSession(Arc::clone(self))));
        }
        Ok(Box::new(WasSession::new(Arc::clone(self), self.operator()?)))
    }

    /// Connects an operator. Returns its line and number.
    fn operator(&self) -> Result<(TcpStream, u32), TargetError> {
        let connected = operator(&self.tier).map_err(|error| unreachable_tier(&self.address, &error))?;
        let ((stream, number), served) = connected;
        if served != self.served {
            return Err(TargetError::usage(format!("the WAS {} serves another database now", self.address)));
        }
        Ok((stream, number))
    }

    fn open(&self, terminal: u32, line: &mut Line, pending: u32) -> io::Result<super::line::Greeting> {
        let (w_id, d_id) = self.homes[terminal as usize];
        let place = Place { w_id, d_id, tier: Arc::clone(&self.tier) };
        let greeting = line.connect(&place, TerminalId { run: self.run, terminal }, pending)?;
        if let Some(stream) = &line.stream {
            self.watcher.watch(stream, terminal)?;
        }
        Ok(greeting)
    }

    /// Sends the request that `request` makes of its number over the line of a terminal, and returns the answer. A lost
    /// line is connected again: the tier still has the answer, or never got the request.
    pub(super) fn ask(&self, terminal: u32, request: impl Fn(u32) -> Request) -> Result<Answer, TxError> {
        let mut line = self.lines[terminal as usize].lock();
        if line.stream.is_none() {
            self.reconnect(terminal, &mut line, 0)?;
        }
        line.number = line.number.wrapping_add(1);
        let number = line.number;
        let mut asked = line.send(&request(number));
        let mut sent = false;
        loop {
            sent |= asked.is_ok();
            let answer = match asked {
                Ok(()) => line.receive(),
                Err(error) => Err(error),
            };
            match answer {
                Ok(answer) => return Ok(answer),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    line.stream = None;
                    return Err(TxError::Broken(format!("the WAS {}: {error}", self.address)));
                }
                Err(_) => self.lose(&mut line),
            }
            let known = match self.reconnect(terminal, &mut line, number) {
                // The tier may have executed the request before its end.
                Err(TxError::Broken(detail)) if sent => {
                    return Err(TxError::Unavailable { committed: Committed::Unknown, detail });
                }
                known => known?,
            };
            asked = match known {
                // The answer follows the greeting, or comes when the transaction ends.
                Some(last) if last == number => Ok(()),
                Some(last) if last == number - 1 => line.send(&request(number)),
                _ => {
                    let detail = format!("terminal {terminal} lost its line to the WAS, and its context");
                    return Err(TxError::Unavailable { committed: Committed::Unknown, detail });
                }
            };
        }
    }

    fn lose(&self, line: &mut Line) {
        line.stream = None;
        if !self.over.load(Ordering::Relaxed) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Connects a lost line again within the time for which its context is kept. Returns the number of the terminal's
    /// last request in its context; `None` if it has a new one.
    fn reconnect(&self, terminal: u32, line: &mut Line, pending: u32) -> Result<Option<u32>, TxError> {
        let since = Instant::now();
        let mut wait = RETRY_MIN;
        loop {
            if self.gone.load(Ordering::Relaxed) {
                return Err(self.is_gone());
            }
            match self.open(terminal, line, pending) {
                Ok(greeting) if greeting.known => {
                    self.reconnected.fetch_add(1, Ordering::Relaxed);
                    return Ok(Some(greeting.number));
                }
                Ok(_) => {
                    line.number = 0;
                    self.contexts_lost.fetch_add(1, Ordering::Relaxed);
                    return Ok(None);
                }
                Err(error) => {
                    line.stream = None;
                    // Contexts are in the memory of the process that listened.
                    if error.kind() == io::ErrorKind::ConnectionRefused || since.elapsed() >= RECONNECT_WITHIN
                    {
                        self.gone.store(true, Ordering::Relaxed);
                    } else {
                        std::thread::sleep(wait);
                        wait = (wait * 2).min(RETRY_MAX);
                    }
                }
            }
        }
    }

    pub(super) fn is_gone(&self) -> TxError {
        TxError::Broken(format!(
            "the WAS {} is gone, and with it the contexts of its terminals: start it again with 'lydite was', and repeat \
             the run",
            self.address
        ))
    }

    /// Connects a terminal again whose line ended while it waited for nothing.
    pub(super) fn mend(&self, terminal: u32) {
        // A locked line has a request, whose sender sees the end by itself.
        let Some(mut line) = self.lines[terminal as usize].try_lock() else { return };
        if !self.is_over() && line.stream.is_some() && line.is_dead() {
            self.lose(&mut line);
            // If that fails, the terminal's next request reports it.
            let _ = self.reconnect(terminal, &mut line, 0);
        }
    }

    pub(super) fn watcher(&self) -> &Watcher {
        &self.watcher
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// Connects an operator. Returns its line and number, and the database.
fn operator(tier: &[SocketAddr]) -> io::Result<((TcpStream, u32), Served)> {
    match greet(tier, Hello::Operator)? {
        (stream, Answer::Operator { number, served }) => Ok(((stream, number), served)),
        (_, answer) => Err(unexpected(&answer)),
    }
}

fn unreachable_tier(address: &str, error: &io::Error) -> TargetError {
    TargetError::unreachable(format!(
        "the WAS {address} does not take lines: {error}: start it with 'lydite was URL --listen {address}'"
    ))
}
