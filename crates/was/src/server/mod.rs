//! The tier as a server: one thread for all lines, and a pool of database sessions with a thread each.

mod contexts;
mod input;
mod lines;
mod pool;
mod queue;

use crate::files;
use crate::message::Served;
use contexts::Contexts;
use lydite_database::{DatabaseState, Target, TargetError};
use lydite_tpcc::TransactionKind;
use parking_lot::Mutex;
use pool::Pool;
use queue::Queue;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time within which a lost terminal must reconnect to find its context (clause 6.6.2).
pub const RECONNECT_WITHIN: Duration = Duration::from_secs(90);
/// Default of [`Settings::queue`].
const QUEUE: usize = 65_536;

/// Settings of the tier.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Sessions of the pool, at least 1.
    pub sessions: u32,
    /// Time for which the context of a lost terminal is kept.
    pub keep: Duration,
    /// Most requests that wait for a session. While so many wait, no line is read.
    pub queue: usize,
}

impl Settings {
    /// Returns the standard's settings with this number of sessions.
    #[must_use]
    pub fn new(sessions: u32) -> Self {
        Self { sessions, keep: RECONNECT_WITHIN, queue: QUEUE }
    }
}

/// Counts of the tier, from its start to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Terminals that got a context.
    pub terminals: u64,
    /// Most contexts at the same time.
    pub terminals_most: u64,
    /// Terminals that said goodbye.
    pub ended: u64,
    /// Lines that were lost: they ended, and their terminals had not said goodbye.
    pub lines_lost: u64,
    /// Terminals that came back to their context.
    pub reconnected: u64,
    /// Contexts that were dropped because their terminals did not come back in time.
    pub contexts_dropped: u64,
    /// Lines that were closed because they broke the protocol.
    pub lines_rejected: u64,
    /// Choices from the menu.
    pub menus: u64,
    /// Transactions by type.
    pub transactions: BTreeMap<&'static str, KindCounts>,
    /// Results of Deliveries whose operators were gone.
    pub results_dropped: u64,
    /// Most requests that waited for a session at the same time.
    pub queue_most: u64,
}

/// Counts of one transaction type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KindCounts {
    /// Executions that committed.
    pub committed: u64,
    /// Executions that rolled back because of an unused item.
    pub rolled_back: u64,
    /// Executions that the database aborted or rejected.
    pub failed: u64,
    /// Executions of which it is unknown if they committed.
    pub unknown: u64,
}

impl Counts {
    fn new() -> Self {
        let kinds = TransactionKind::STANDARD.map(|kind| (kind.name(), KindCounts::default()));
        Self { transactions: kinds.into(), ..Self::default() }
    }

    pub(crate) fn of(&mut self, kind: TransactionKind) -> &mut KindCounts {
        self.transactions.entry(kind.name()).or_default()
    }
}

/// State that all threads share.
struct Shared {
    contexts: Mutex<Contexts>,
    queue: Queue,
    served: Served,
    stopping: AtomicBool,
}

impl Shared {
    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.queue.wake_all();
    }
}

/// The tier, ready to serve.
#[derive(Debug)]
pub struct Was {
    listener: TcpListener,
    pool: Pool,
    served: Served,
    settings: Settings,
}

impl Was {
    /// Connects all sessions of the pool and listens at `address`.
    ///
    /// # Errors
    /// The database is not loaded or not reachable, or the address can't be used.
    pub fn new(
        target: &Arc<dyn Target>,
        address: SocketAddr,
        settings: Settings,
    ) -> Result<Self, TargetError> {
        // The lines that come are not known yet. The system refuses those that are too many.
        let _ = files::make_room(0);
        let served = served(&**target)?;
        let listener = TcpListener::bind(address).map_err(|error| {
            TargetError::usage(format!("can't listen at {address}: {error}: choose another --listen"))
        })?;
        listener.set_nonblocking(true).map_err(|error| {
            TargetError::usage(format!("can't listen at {address} without waiting: {error}"))
        })?;
        let pool = Pool::connect(target, settings.sessions)?;
        Ok(Self { listener, pool, served, settings })
    }

    /// Returns the address at which it listens.
    ///
    /// # Errors
    /// The system can't tell it.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves terminals until `enough` returns true, which is asked several times a second. Requests in execution are
    /// answered first.
    ///
    /// # Errors
    /// The system provides no threads, or can't wait for lines.
    pub fn serve(self, enough: &dyn Fn() -> bool) -> Result<Counts, TargetError> {
        let shared = Arc::new(Shared {
            contexts: Mutex::new(Contexts::new(self.settings.keep)),
            queue: Queue::new(self.settings.queue),
            served: self.served,
            stopping: AtomicBool::new(false),
        });
        let threads = self.pool.start(&shared)?;
        let ended = lines::serve(self.listener, &shared, enough);
        shared.stop();
        for thread in threads {
            if thread.join().is_err() {
                return Err(TargetError::database("a session's thread panicked; this is an error in Lydite"));
            }
        }
        ended.map_err(|error| TargetError::database(format!("the system can't wait for lines: {error}")))?;
        let mut counts = std::mem::take(&mut shared.contexts.lock().counts);
        counts.queue_most = shared.queue.most();
        Ok(counts)
    }
}

/// Returns the loaded database.
fn served(target: &dyn Target) -> Result<Served, TargetError> {
    let url = target.describe()?.url;
    match target.state()? {
        DatabaseState::Ready { meta } if meta.districts.skew().is_some() => Err(TargetError::usage(format!(
            "{url}: its districts are skewed, and terminals need ten for each warehouse: load it without --data-skew"
        ))),
        DatabaseState::Ready { meta } => Ok(Served { url, warehouses: meta.warehouses, seed: meta.seed }),
        DatabaseState::AnyScale => Ok(Served { url, warehouses: 0, seed: 0 }),
        _ => Err(TargetError::usage(format!(
            "{url}: holds no loaded TPC-C database: load it with 'lydite load {url}'"
        ))),
    }
}
