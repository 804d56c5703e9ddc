//! One load at a time: a named lock that a load holds, and a mark on statements that outlive their client.
//!
//! A server finishes its current statement after the loader was killed: it builds a key to its end, though nobody waits
//! for it. The lock is released with the loader's connection. So a new load also waits until no marked statement is
//! running.

use crate::mysql::config::Config;
use crate::mysql::connecting::{advised, connected};
use crate::mysql::wire::Wire;
use lydite_database::TargetError;
use lydite_database::sql::meta::Admin;
use std::time::{Duration, Instant};

/// Mark at the beginning of a load's long statements.
pub(crate) const MARK: &str = "/* lydite load */";
/// Name of the lock, at most 64 characters.
const NAME: &str = "concat('lydite ', md5(database()))";
/// Longest wait for connections that are just ending.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two looks at these connections.
const LOOK: Duration = Duration::from_millis(100);

/// The right to load, held until this is dropped.
pub(crate) struct LoadLock {
    wire: Wire,
}

impl LoadLock {
    /// Takes the lock.
    ///
    /// # Errors
    /// Another load has it; the error names that load.
    pub(crate) fn take(config: &Config) -> Result<Self, TargetError> {
        let place = config.place();
        let failed = |error| advised(error, "begin the load", &place);
        let mut wire = connected(config)?;
        // The connection is silent until the load is done. If the server closed it, the lock would be released.
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

    /// Returns the lock's connection, for work of the load.
    pub(crate) fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }
}
