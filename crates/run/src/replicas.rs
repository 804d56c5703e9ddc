//! Replicas of a database before a run.

use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::complain;
use lydite_database::{CATCH_UP, CATCH_UP_WITH_LOAD, Replicas};
use lydite_tpcc::meta::DatabaseMeta;

/// Waits until all replicas have the rows of the primary. `loaded` is true if this command has loaded them.
pub fn catch_up(replicas: &Replicas, meta: &DatabaseMeta, loaded: bool, interrupt: &Interrupt) -> Outcome {
    let limit = if loaded { CATCH_UP_WITH_LOAD } else { CATCH_UP };
    if replicas.catch_up(meta, limit, &complain, &|| interrupt.asked())? {
        Ok(())
    } else {
        Err(Failure::Interrupted("interrupted while waiting for the replicas: nothing was measured".into()))
    }
}
