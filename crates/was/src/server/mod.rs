//! The tier as a server: one thread for all lines, and a pool of database sessions with a thread each.

mod contexts;
mod counts;
mod input;
mod lines;
mod pool;
mod queue;
mod shared;

use crate::files;
use crate::message::Served;
use contexts::Contexts;
pub use counts::{Counts, KindCounts};
use lydite_database::{DatabaseState, Target, TargetError};
use parking_lot::Mutex;
use pool::Pool;
use queue::Queue;
use shared::Shared;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
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
