//! Marks that keep other runs away from a database.

use lydite_console::exit::Failure;
use lydite_database::{DatabaseState, MICRO_RECORDS, Target};
use lydite_tpcc::meta::DatabaseMeta;

/// Keeps other runs on a loaded database away, of TPC-C or of the microbenchmark: they would lose their tables, or write
/// rows among those that a test compares. Returns `None` if nothing is loaded.
///
/// # Errors
/// Another run is at work; see also [`Target::describe`].
pub fn begin_alone(target: &dyn Target) -> Result<Option<Box<dyn Send>>, Failure> {
    match target.state()? {
        DatabaseState::Ready { meta } => Ok(Some(target.begin_run(&(1..=meta.warehouses))?)),
        DatabaseState::Micro { .. } => Ok(Some(target.begin_run(&MICRO_RECORDS)?)),
        _ => Ok(None),
    }
}

/// Keeps runs away from all warehouses of a database that a test has found loaded with `meta`.
///
/// # Errors
/// A run or a test works on it, or it was dropped or loaded anew before they could be kept away.
pub fn begin_test(target: &dyn Target, meta: &DatabaseMeta) -> Result<Box<dyn Send>, Failure> {
    let mark = target.begin_run(&(1..=meta.warehouses))?;
    match target.state()? {
        DatabaseState::Ready { meta: now }
            if (now.warehouses, now.seed, now.size) == (meta.warehouses, meta.seed, meta.size) =>
        {
            Ok(mark)
        }
        _ => Err(Failure::usage(
            "the database was loaded anew or dropped meanwhile: begin again when that is done",
        )),
    }
}
