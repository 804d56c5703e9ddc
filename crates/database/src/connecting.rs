//! Marks the time that a thread waits for a new connection. This wait has a shorter limit than others, and messages
//! name it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time limit of a connection attempt, and of each message before the connection is ready. Later messages have no
/// limit.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A flag that is true while a thread waits for a new connection, which has [`CONNECT_TIMEOUT`] as its limit. The
/// thread that waits for it reads the flag.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connecting(Arc<AtomicBool>);

thread_local! {
    /// The flag of this thread, if another thread waits for it.
    static CONNECTING: RefCell<Option<Connecting>> = const { RefCell::new(None) };
}

impl Connecting {
    /// Makes this thread set the flag.
    pub(crate) fn watch_this_thread(self) {
        CONNECTING.set(Some(self));
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Makes a connection with `connect` and marks the thread as connecting meanwhile.
pub fn connecting<T>(connect: impl FnOnce() -> T) -> T {
    let mark = |on: bool| {
        CONNECTING.with_borrow(|mark| mark.iter().for_each(|mark| mark.0.store(on, Ordering::Relaxed)))
    };
    mark(true);
    let connected = connect();
    mark(false);
    connected
}
