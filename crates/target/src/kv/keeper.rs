//! A thread that renews what would expire: the right to load, where a store has no other way to know that its holder lives.

use crate::kv::StoreError;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often it renews.
const AGAIN: Duration = Duration::from_secs(3);
/// What has not been renewed for so many seconds may expire.
pub(crate) const EXPIRES_S: u64 = 15;

/// Renews until it is dropped.
pub(crate) struct Keeper {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// `renew` is called every three seconds, and `end` when this is dropped.
    ///
    /// # Errors
    /// The thread can't be started.
    pub(crate) fn start<T: Send + 'static>(
        mut held: T,
        renew: fn(&mut T),
        end: fn(&mut T),
    ) -> Result<Self, StoreError> {
        let (sender, ended) = channel();
        let keep = move || {
            while ended.recv_timeout(AGAIN) == Err(RecvTimeoutError::Timeout) {
                renew(&mut held);
            }
            end(&mut held);
        };
        let thread = std::thread::Builder::new().name("load-lock".into()).spawn(keep);
        let thread =
            thread.map_err(|error| StoreError::Failed(format!("a thread can't be started: {error}")))?;
        Ok(Self { end: Some(sender), thread: Some(thread) })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It gives back what it held, or has lost the server.
            let _ended = thread.join();
        }
    }
}

/// What holds the right to load, for messages.
pub(crate) fn holder() -> String {
    let host = rustix::system::uname();
    format!("process {} on {}", std::process::id(), host.nodename().to_string_lossy())
}

/// The error of a load that finds another one.
pub(crate) fn held_by(other: &str) -> StoreError {
    StoreError::Failed(format!(
        "another load is running on this database ({other}): wait for it, or end it; of one that was killed this is true for \
         {EXPIRES_S} s more"
    ))
}
