//! One run at a time on the same warehouses: a connection whose name says which warehouses a run changes. It ends with
//! the run, however that ends.

use crate::postgres::config::Config;
use crate::postgres::{SCHEMA, advised, connected};
use lydite_database::TargetError;
use lydite_database::sql::meta::Admin;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// Longest wait for a connection that is just ending.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two looks at it.
const LOOK: Duration = Duration::from_millis(100);

/// Marks these warehouses as those of a run, until the returned connection is dropped. Does nothing if the product does
/// not list the names of connections as PostgreSQL does.
///
/// # Errors
/// Another run has some of them; the error names it.
pub(crate) fn take(config: &Config, warehouses: &RangeInclusive<u32>) -> Result<Box<dyn Send>, TargetError> {
    if !config.product.advisory_locks {
        return Ok(Box::new(()));
    }
    let place = config.place();
    let failed = |error| advised(error, "mark the warehouses of the run", &place);
    let (first, last) = (warehouses.start(), warehouses.end());
    let mut wire = connected(config)?;
    // The connection is silent during the run. Versions before 14 have no such limit.
    wire.execute(&format!(
        "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'; \
         SELECT set_config('application_name', concat('lydite run ', {SCHEMA}, ' {first} {last}'), false)"
    ))
    .map_err(failed)?;
    let begun = Instant::now();
    loop {
        // Of two that begin at once, the one that connected later gives way.
        let others = wire
            .column(&format!(
                "WITH run AS (SELECT pid, backend_start, string_to_array(application_name, ' ') AS word \
                 FROM pg_stat_activity WHERE datname = current_database() \
                 AND application_name ~ '^lydite run [0-9]+ [0-9]+ [0-9]+$') \
                 SELECT concat('backend PID ', other.pid, ', warehouses ', other.word[4], ' to ', other.word[5]) \
                 FROM run AS other JOIN run AS own ON own.pid = pg_backend_pid() AND other.word[3] = own.word[3] \
                 WHERE (other.backend_start, other.pid) < (own.backend_start, own.pid) \
                 AND other.word[4]::bigint <= {last} AND other.word[5]::bigint >= {first} ORDER BY other.pid"
            ))
            .map_err(failed)?;
        let Some(other) = others.first() else { return Ok(Box::new(wire)) };
        if begun.elapsed() > PATIENCE {
            return Err(TargetError::usage(format!(
                "{place}: another run changes these warehouses ({other}): wait for its end, or choose others with \
                 --set active_warehouses=FIRST-LAST"
            )));
        }
        std::thread::sleep(LOOK);
    }
}
