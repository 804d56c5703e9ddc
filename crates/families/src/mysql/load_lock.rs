//! One load at a time: a lock by name that a load holds, and a mark on the statements that outlive their client.
//!
//! When a loader is killed the server goes on with the statement at hand: a key is built to its end, though nobody waits
//! for it. The lock is gone with the loader's connection, so a new load also waits until no marked statement is left.

use crate::mysql::config::Config;
use crate::mysql::wire::Wire;
use crate::mysql::{advised, connected};
use lydite_database::TargetError;
use lydite_database::sql::meta::Admin;
use std::time::{Duration, Instant};

/// What the long statements of a load begin with.
pub(crate) const MARK: &str = "/* lydite load */";
/// The lock's name, which may have 64 characters.
const NAME: &str = "concat('lydite ', md5(database()))";
/// How long connections that are just ending are waited for.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often they are looked for.
const LOOK: Duration = Duration::from_millis(100);

/// The right to load, as long as it lives.
pub(crate) struct LoadLock {
    wire: Wire,
}

impl LoadLock {
    /// Takes the lock, or says who has it.
    pub(crate) fn take(config: &Config) -> Result<Self, TargetError> {
        let place = config.place();
        let failed = |error| advised(error, "begin the load", &place);
        let mut wire = connected(config)?;
        // It says nothing until the load is done, and the lock would go with the connection.
        wire.execute("SET SESSION wait_timeout = 2147483").map_err(failed)?;
        let begun = Instant::now();
        loop {
            let locked = !wire.product.named_locks
                || wire.column(&format!("SELECT get_lock({NAME}, 0)")).map_err(failed)?.concat() == "1";
            let holders = if locked {
                wire.column(&format!(
                    "SELECT id FROM information_schema.processlist WHERE db = database() AND info LIKE '{MARK}%' \
                     ORDER BY id"
                ))
                .map_err(failed)?
            } else {
                wire.column(&format!("SELECT is_used_lock({NAME})")).map_err(failed)?
            };
            if locked && holders.is_empty() {
                return Ok(Self { wire });
            }
            if begun.elapsed() > PATIENCE {
                return Err(TargetError::usage(format!(
                    "{place}: another load is running on this database (connection {}), or the server has not ended the \
                     work of one that is gone: wait for it, or end it with KILL and that number",
                    holders.join(", ")
                )));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Its connection, for work of the load.
    pub(crate) fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }
}
