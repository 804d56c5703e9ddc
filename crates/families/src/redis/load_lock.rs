//! One load at a time: a key that a load sets, and makes last longer before it expires.

use super::store::{RedisStore, failed};
use crate::keeper::{EXPIRES_S, Keeper, Renewed, held_by, holder};
use lydite_database::kv::StoreError;
use redis::{Connection, cmd};
use std::time::Instant;

/// Lets the key last so many milliseconds more, or deletes it for none, if its value is still the holder's: 1 if so.
const IF_MINE: &str = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end \
     return redis.call('PEXPIRE', KEYS[1], ARGV[2])";

/// What the holder of the lock has.
struct Held {
    store: RedisStore,
    /// None after an error of it.
    connection: Option<Connection>,
    key: String,
    holder: String,
}

impl Held {
    /// Lets the key last so much longer, if it is still this holder's.
    fn last(&mut self, milliseconds: u64) -> Renewed {
        let Some(mut connection) = self.connection.take().or_else(|| self.store.connect().ok()) else {
            return Renewed::Away;
        };
        let mut command = cmd("EVAL");
        command.arg(IF_MINE).arg(1).arg(&self.key).arg(&self.holder).arg(milliseconds);
        match command.query::<u8>(&mut connection) {
            Ok(mine) => {
                self.connection = Some(connection);
                if mine == 1 { Renewed::Held } else { Renewed::Lost }
            }
            Err(_) => Renewed::Away,
        }
    }
}

/// Takes the right to load, or says who has it.
pub(super) fn take(store: RedisStore) -> Result<Keeper, StoreError> {
    let (taken, mut connection) = (Instant::now(), store.connect()?);
    let (key, holder) = (store.lock_name(), holder());
    let mut set = cmd("SET");
    set.arg(&key).arg(&holder).arg("NX").arg("PX").arg(EXPIRES_S * 1000);
    if set.query::<Option<String>>(&mut connection).map_err(|error| failed(&error))?.is_none() {
        let other: Option<String> =
            cmd("GET").arg(&key).query(&mut connection).map_err(|error| failed(&error))?;
        return Err(held_by(&other.unwrap_or_default()));
    }
    Keeper::start(
        taken,
        Held { store, connection: Some(connection), key, holder },
        |held| held.last(EXPIRES_S * 1000),
        |held| {
            // If the server is away, the key expires.
            let _deleted = held.last(0);
        },
    )
}
