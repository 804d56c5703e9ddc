//! One run at a time on the same warehouses: a named lock for each warehouse that a run changes. The locks end with the
//! connection, so with the run, however that ends.

use crate::mysql::config::Config;
use crate::mysql::connecting::{advised, connected};
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{TargetError, run_at_work};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// Most locks of one statement.
const LOCKS: usize = 200;
/// Longest wait for a connection that is just ending.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two looks at it.
const LOOK: Duration = Duration::from_millis(100);

/// Locks these warehouses for a run, until the returned connection is dropped. Does nothing if the server has no named
/// locks, or does not allow them (a Galera cluster).
///
/// # Errors
/// Another run has some of them; the error names it.
pub(crate) fn take(config: &Config, warehouses: &RangeInclusive<u32>) -> Result<Box<dyn Send>, TargetError> {
    let place = config.place();
    let failed = |error| advised(error, "lock the warehouses of the run", &place);
    let mut wire = connected(config)?;
    if !wire.product.named_locks {
        return Ok(Box::new(()));
    }
    // The connection is silent during the run.
    wire.execute("SET SESSION wait_timeout = 2147483").map_err(failed)?;
    let name = |w_id: &u32| format!("concat('lydite run ', md5(database()), ' {w_id}')");
    let all: Vec<u32> = warehouses.clone().collect();
    let begun = Instant::now();
    for part in all.chunks(LOCKS) {
        let taken: Vec<String> = part.iter().map(|w_id| format!("get_lock({}, 0)", name(w_id))).collect();
        let users: Vec<String> = part.iter().map(|w_id| format!("is_used_lock({})", name(w_id))).collect();
        let take = format!("SELECT concat_ws(' ', {})", taken.join(", "));
        let used = format!(
            "SELECT min(id) FROM (SELECT {} AS id) AS used WHERE id <> connection_id()",
            users.join(" AS id UNION ALL SELECT ")
        );
        loop {
            // A server may know named locks and still reject them.
            let answers = match wire.column(&take) {
                Err(SqlError::Database { unavailable: false, .. }) => return Ok(Box::new(())),
                answers => answers.map_err(failed)?,
            };
            if answers.concat().split(' ').all(|answer| answer == "1") {
                break;
            }
            if begun.elapsed() > PATIENCE {
                let other = wire.column(&used).map_err(failed)?.concat();
                return Err(run_at_work(&place, warehouses, &format!("connection {other}")));
            }
            std::thread::sleep(LOOK);
        }
    }
    Ok(Box::new(wire))
}
