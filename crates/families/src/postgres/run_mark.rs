//! One run at a time on the same warehouses: a connection that holds advisory locks for the warehouses that a run
//! changes. The locks end with the connection, so with the run, however that ends. An unprepared connection holds them in
//! a transaction, which has no snapshot and holds up no vacuum.

use crate::postgres::config::Config;
use crate::postgres::connecting::{SCHEMA, advised, connected};
use lydite_database::sql::meta::Admin;
use lydite_database::{MICRO_RECORDS, TargetError, run_at_work};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// First half of a lock's name, "lyd" in ASCII before a zero byte. It is combined with the schema, since two schemas
/// are two databases to Lydite.
const NAME: i32 = 0x6c79_6400;
/// Warehouses of a block. A run that changes a whole block needs one lock for it: a server has room for some thousands
/// of locks, for all its connections.
const BLOCK: u32 = 256;
/// Longest wait for a connection that is just ending.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two attempts to take the locks.
const LOOK: Duration = Duration::from_millis(100);

/// A lock that a run takes.
struct Lock {
    /// Second half of its name: the number of a warehouse, or a negative number for a block.
    id: i64,
    /// True if several runs may hold it.
    shared: bool,
}

/// Returns the locks of a run. Each run takes them in the same order, so one of several that begin at once gets all of
/// its own.
///
/// A block that the run changes as a whole needs one lock. In any other block each warehouse needs one, and the block's
/// own lock is shared: it keeps away runs that change the whole block.
fn locks_of(warehouses: &RangeInclusive<u32>) -> Vec<Lock> {
    let (first, last) = (*warehouses.start(), *warehouses.end());
    let mut locks = Vec::new();
    for block in first / BLOCK..=last / BLOCK {
        let (from, to) = (first.max(block * BLOCK), last.min(block * BLOCK + (BLOCK - 1)));
        let whole = to - from == BLOCK - 1;
        locks.push(Lock { id: -1 - i64::from(block), shared: !whole });
        if !whole {
            locks.extend((from..=to).map(|w_id| Lock { id: w_id.into(), shared: false }));
        }
    }
    locks
}

/// Locks these warehouses for a run, until the returned connection is dropped. Does nothing if the product has no
/// advisory locks.
///
/// # Errors
/// Another run has some of them; the error names it.
pub(crate) fn take(config: &Config, warehouses: &RangeInclusive<u32>) -> Result<Box<dyn Send>, TargetError> {
    if !config.product.advisory_locks {
        return Ok(Box::new(()));
    }
    let place = config.place();
    let failed = |error| advised(error, "lock the warehouses of the run", &place);
    let mut wire = connected(config)?;
    let changed = if *warehouses == MICRO_RECORDS {
        "microbenchmark".to_owned()
    } else {
        format!("warehouses {} to {}", warehouses.start(), warehouses.end())
    };
    // The name tells a rejected run what this one changes.
    wire.keep(&[("application_name", format!("'lydite run, {changed}'"))]).map_err(failed)?;
    let (of, undo) =
        if config.unprepared { ("_xact", "ROLLBACK") } else { ("", "SELECT pg_advisory_unlock_all()") };
    let class = format!("({NAME} # coalesce({SCHEMA}::int, 0))");
    let locks = locks_of(warehouses);
    let ids: Vec<String> = locks.iter().map(|lock| lock.id.to_string()).collect();
    let shared: Vec<String> = locks.iter().map(|lock| lock.shared.to_string()).collect();
    // The limit ends the query at the first lock that another run holds.
    let take = format!(
        "SELECT id FROM unnest('{{{}}}'::int[], '{{{}}}'::bool[]) AS wanted (id, shared) \
         WHERE NOT CASE WHEN shared THEN pg_try_advisory{of}_lock_shared({class}, id) \
         ELSE pg_try_advisory{of}_lock({class}, id) END LIMIT 1",
        ids.join(","),
        shared.join(",")
    );
    let begun = Instant::now();
    loop {
        if config.unprepared {
            wire.execute("BEGIN").map_err(failed)?;
        }
        let missed = wire.column(&take).map_err(failed)?;
        let Some(missed) = missed.first() else { return Ok(Box::new(wire)) };
        wire.execute(undo).map_err(failed)?;
        if begun.elapsed() > PATIENCE {
            let others = wire
                .column(&format!(
                    "SELECT concat_ws(', ', 'backend PID ' || pid, \
                     substring(application_name FROM '^lydite run, (warehouses [0-9]+ to [0-9]+|microbenchmark)$')) \
                     FROM pg_locks LEFT JOIN pg_stat_activity USING (pid) \
                     WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND pid <> pg_backend_pid() \
                     AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
                     AND classid = {class}::oid AND objid = ({missed})::oid ORDER BY pid"
                ))
                .map_err(failed)?;
            let other = others.first().map_or("its connection is ending", String::as_str);
            return Err(run_at_work(&place, warehouses, other));
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn two_runs_exclude_each_other_if_and_only_if_they_have_a_warehouse_in_common() {
        let bounds = [1, 2, 255, 256, 257, 511, 512, 767, 768, 1_000];
        let mut runs = Vec::new();
        for (number, &first) in bounds.iter().enumerate() {
            for &last in &bounds[number..] {
                let locks: BTreeMap<i64, bool> =
                    locks_of(&(first..=last)).into_iter().map(|lock| (lock.id, lock.shared)).collect();
                runs.push((first, last, locks));
            }
        }
        for (first, last, locks) in &runs {
            for (other_first, other_last, others) in &runs {
                let excluded =
                    locks.iter().any(|(id, shared)| others.get(id).is_some_and(|other| !(*shared && *other)));
                let common = first <= other_last && other_first <= last;
                assert_eq!(excluded, common, "{first} to {last}, {other_first} to {other_last}");
            }
        }
    }

    #[test]
    fn a_run_on_many_warehouses_needs_few_locks() {
        assert_eq!(locks_of(&(1..=1)).len(), 2);
        assert!(locks_of(&(1..=1_000_000)).len() < 5_000);
    }
}
