//! One load at a time: a load sets a key and extends its expiry time.

use super::connections::{Connections, failed};
use crate::keeper::{EXPIRES_S, Keeper, Renewed, held_by, holder};
use lydite_database::kv::StoreError;
use redis::{Connection, cmd};
use std::time::Instant;

/// Script that extends the key's expiry time by so many milliseconds, or deletes the key if there are none. It returns
/// 1 if the key's value is still the holder's, else 0.
const IF_MINE: &str = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end \
     return redis.call('PEXPIRE', KEYS[1], ARGV[2])";

/// State of the lock's holder.
struct Held {
    connections: Connections,
    /// `None` after an error of the connection.
    connection: Option<Connection>,
    key: String,
    holder: String,
}

impl Held {
    /// Extends the key's expiry time if it is still this holder's.
    fn last(&mut self, milliseconds: u64) -> Renewed {
        let Some(mut connection) = self.connection.take().or_else(|| self.connections.take().ok()) else {
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

/// Takes the right to load, whose holder has set this key.
///
/// # Errors
/// Another load has it; the error names that load.
pub(super) fn take(connections: Connections, key: String) -> Result<Keeper, StoreError> {
    let (taken, mut connection) = (Instant::now(), connections.take()?);
    let holder = holder();
    let mut set = cmd("SET");
    set.arg(&key).arg(&holder).arg("NX").arg("PX").arg(EXPIRES_S * 1000);
    if set.query::<Option<String>>(&mut connection).map_err(|error| failed(&error))?.is_none() {
        let other: Option<String> =
            cmd("GET").arg(&key).query(&mut connection).map_err(|error| failed(&error))?;
        return Err(held_by(&other.unwrap_or_default()));
    }
    Keeper::start(
        taken,
        Held { connections, connection: Some(connection), key, holder },
        |held| held.last(EXPIRES_S * 1000),
        |held| {
            // If the server is away, the key expires.
            let _deleted = held.last(0);
        },
    )
}
