//! One load at a time: an advisory lock that every connection of a load holds.
//!
//! Server processes finish their current work after the loader was killed: they build a key to its end, though nobody
//! waits for it. So all connections of a load share the lock, and another load begins only when the last of them has
//! ended.

use crate::postgres::config::Config;
use crate::postgres::connecting::{SCHEMA, advised, connected};
use crate::postgres::product::Product;
use crate::postgres::wire::Wire;
use lydite_database::TargetError;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use std::time::{Duration, Instant};

/// First half of the lock's name, "lyd" in ASCII. The second half is the schema, since two schemas are two databases to
/// Lydite.
const NAME: i32 = 0x006c_7964;
/// Longest wait for connections that are just ending.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two looks at these connections.
const LOOK: Duration = Duration::from_millis(100);

/// The right to load, held until this is dropped.
pub(crate) struct LoadLock {
    wire: Wire,
    held: bool,
    /// Connection for work, if that of the lock has a transaction open for it.
    work: Option<Wire>,
}

/// Returns the lock's name as arguments of the server's lock functions.
fn key() -> String {
    format!("({NAME}, coalesce({SCHEMA}::int, 0))")
}

/// Makes a connection of the load hold the lock until it ends, or in each of its transactions if it is unprepared. Does
/// nothing if the product has no such locks.
pub(crate) fn share(wire: &mut Wire, product: &Product) -> Result<(), SqlError> {
    if !product.advisory_locks {
        return Ok(());
    }
    if wire.is_unprepared() {
        wire.lead(format!("SELECT pg_advisory_xact_lock_shared{}", key()));
        return Ok(());
    }
    wire.execute(&format!("SELECT pg_advisory_lock_shared{}", key()))
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
        if !config.product.advisory_locks {
            return Ok(Self { wire, held: false, work: None });
        }
        let begun = Instant::now();
        loop {
            if config.unprepared {
                // A pooler keeps the server's connection for a transaction, and closes it if that is left open.
                wire.execute("BEGIN").map_err(failed)?;
            }
            // The exclusive lock first; then the lock is shared with the other connections of this load.
            let taken =
                wire.column(&format!("SELECT pg_try_advisory_lock{}", key())).map_err(failed)?.concat()
                    == "t";
            if taken {
                let work = if config.unprepared {
                    wire.execute(&format!("SELECT pg_advisory_xact_lock_shared{}", key())).map_err(failed)?;
                    Some(connected(config)?)
                } else {
                    share(&mut wire, config.product).map_err(failed)?;
                    None
                };
                wire.execute(&format!("SELECT pg_advisory_unlock{}", key())).map_err(failed)?;
                return Ok(Self { wire, held: true, work });
            }
            if config.unprepared {
                wire.execute("ROLLBACK").map_err(failed)?;
            }
            if begun.elapsed() > PATIENCE {
                break;
            }
            std::thread::sleep(LOOK);
        }
        let holders = wire
            .column(&format!(
                "SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 \
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
                 AND classid = {NAME} AND objid = coalesce({SCHEMA}, 0::oid) ORDER BY pid"
            ))
            .map_err(failed)?;
        Err(TargetError::usage(format!(
            "{place}: another load is running on this database (backend PID {}), or the server has not ended the work of \
             one that is gone: wait for it, or end it with SELECT pg_terminate_backend(PID)",
            holders.join(", ")
        )))
    }

    /// Returns a connection for work of the load.
    pub(crate) fn wire(&mut self) -> &mut Wire {
        self.work.as_mut().unwrap_or(&mut self.wire)
    }

    /// Releases the lock before the connection ends.
    pub(crate) fn release(mut self) -> Result<(), SqlError> {
        if !self.held {
            return Ok(());
        }
        if self.work.is_some() {
            return self.wire.execute("COMMIT");
        }
        self.wire.execute(&format!("SELECT pg_advisory_unlock_shared{}", key()))
    }
}
