//! Loading of servers with SQL: the order of tables, and statements side by side.

use lydite_database::TargetError;
use lydite_tpcc::schema::Table;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tables from the largest to the smallest, so that a small job ends last.
pub(crate) const BY_SIZE: [Table; 9] = [
    Table::OrderLine,
    Table::Stock,
    Table::Customer,
    Table::Orders,
    Table::NewOrder,
    Table::History,
    Table::Item,
    Table::District,
    Table::Warehouse,
];

/// Runs independent statements on up to `jobs` threads. Each thread calls `work` once. `work` asks for statements until
/// none is left.
pub(crate) fn side_by_side(
    statements: &[String],
    jobs: usize,
    work: impl Fn(&dyn Fn() -> Option<String>) -> Result<(), TargetError> + Sync,
) -> Result<(), TargetError> {
    let next = AtomicUsize::new(0);
    let next = || statements.get(next.fetch_add(1, Ordering::Relaxed)).cloned();
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..jobs.clamp(1, statements.len().max(1))).map(|_| scope.spawn(|| work(&next))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(panicked())))
    })
}

/// Returns the error of a thread that panicked.
pub(crate) fn panicked() -> TargetError {
    TargetError::database("a thread of Lydite's own panicked: please report this")
}
