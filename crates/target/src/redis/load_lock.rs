//! One load at a time: a key that a load sets, and sets again before it expires.

use super::store::{RedisStore, failed};
use crate::kv::StoreError;
use redis::{Connection, cmd};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the key of a load that was killed stays, in milliseconds.
const EXPIRES: u64 = 15_000;
/// How often a load sets it again.
const AGAIN: Duration = Duration::from_secs(3);

/// The right to load, as long as it lives.
pub(super) struct LoadLock {
    end: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

/// Sets the key; whether that was possible.
fn set(
    connection: &mut Connection,
    key: &str,
    holder: &str,
    condition: &str,
) -> Result<bool, redis::RedisError> {
    let set: Option<String> =
        cmd("SET").arg(key).arg(holder).arg(condition).arg("PX").arg(EXPIRES).query(connection)?;
    Ok(set.is_some())
}

impl LoadLock {
    /// Takes the lock, or says who has it.
    pub(super) fn take(store: &RedisStore) -> Result<Self, StoreError> {
        let mut connection = store.connect()?;
        let key = store.lock_name();
        let host = rustix::system::uname();
        let holder = format!("process {} on {}", std::process::id(), host.nodename().to_string_lossy());
        if !set(&mut connection, &key, &holder, "NX").map_err(|error| failed(&error))? {
            let other: Option<String> =
                cmd("GET").arg(&key).query(&mut connection).map_err(|error| failed(&error))?;
            return Err(StoreError::Failed(format!(
                "another load is running on this database ({}): wait for it, or end it; of one that was killed this is true \
                 for {} s more",
                other.unwrap_or_default(),
                EXPIRES / 1000
            )));
        }
        let (end, ended) = channel();
        let keep = move || {
            while ended.recv_timeout(AGAIN) == Err(RecvTimeoutError::Timeout) {
                // A server that is away for a while has the key again when it is back.
                let _set = set(&mut connection, &key, &holder, "XX");
            }
            let _deleted = cmd("DEL").arg(&key).query::<()>(&mut connection);
        };
        let keeper = std::thread::Builder::new().name("redis-lock".into()).spawn(keep);
        let keeper =
            keeper.map_err(|error| StoreError::Failed(format!("a thread can't be started: {error}")))?;
        Ok(Self { end: Some(end), keeper: Some(keeper) })
    }
}

impl Drop for LoadLock {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(keeper) = self.keeper.take() {
            // It deletes the key, or has lost the server.
            let _ended = keeper.join();
        }
    }
}
