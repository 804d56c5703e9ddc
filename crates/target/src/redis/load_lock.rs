//! One load at a time: a key that a load sets, and sets again before it expires.

use super::store::{RedisStore, failed};
use crate::kv::StoreError;
use crate::kv::keeper::{EXPIRES_S, Keeper, held_by, holder};
use redis::{Connection, RedisError, cmd};

/// What the holder of the lock has.
struct Held {
    connection: Connection,
    key: String,
    holder: String,
}

impl Held {
    /// Sets the key; whether that was possible. `condition`: NX, XX.
    fn set(&mut self, condition: &str) -> Result<bool, RedisError> {
        let mut set = cmd("SET");
        set.arg(&self.key).arg(&self.holder).arg(condition).arg("PX").arg(EXPIRES_S * 1000);
        Ok(set.query::<Option<String>>(&mut self.connection)?.is_some())
    }
}

/// Takes the right to load, or says who has it.
pub(super) fn take(store: &RedisStore) -> Result<Keeper, StoreError> {
    let mut held = Held { connection: store.connect()?, key: store.lock_name(), holder: holder() };
    if !held.set("NX").map_err(|error| failed(&error))? {
        let other: Option<String> =
            cmd("GET").arg(&held.key).query(&mut held.connection).map_err(|error| failed(&error))?;
        return Err(held_by(&other.unwrap_or_default()));
    }
    Keeper::start(
        held,
        |held| {
            // A server that is away for a while has the key again when it is back.
            let _set = held.set("XX");
        },
        |held| {
            let _deleted = cmd("DEL").arg(&held.key).query::<()>(&mut held.connection);
        },
    )
}
