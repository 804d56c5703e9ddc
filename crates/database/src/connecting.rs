//! The time that a thread waits for a new connection. Its limit is shorter than that of other waits, and messages say so.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long to wait for a server that does not answer a connection attempt, or a message before the connection is
/// ready. What comes after may take as long as it takes.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// True while a thread waits for a new connection, which has [`CONNECT_TIMEOUT`] as its limit. Whoever waits for that
/// thread looks at it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connecting(Arc<AtomicBool>);

thread_local! {
    /// The mark of this thread, if somebody waits for it.
    static CONNECTING: RefCell<Option<Connecting>> = const { RefCell::new(None) };
}

impl Connecting {
    /// Has this thread set it.
    pub(crate) fn watch_this_thread(self) {
        CONNECTING.set(Some(self));
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Makes a connection with `connect`, while the thread is marked as connecting.
pub fn connecting<T>(connect: impl FnOnce() -> T) -> T {
    let mark = |on: bool| {
        CONNECTING.with_borrow(|mark| mark.iter().for_each(|mark| mark.0.store(on, Ordering::Relaxed)))
    };
    mark(true);
    let connected = connect();
    mark(false);
    connected
}
