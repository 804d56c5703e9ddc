//! Loading: the units that are loaded whole or not at all, and the progress.

use crate::error::TargetError;
use crate::load_rows::LoadRows;
use hdrhistogram::Histogram;
use lydite_tpcc::WarehouseId;
use lydite_tpcc::schema::Table;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One connection that loads rows.
pub trait Loader: Send {
    /// Loads all rows of a unit, whole or not at all.
    ///
    /// # Errors
    /// The database rejects the rows or is lost. No row of this unit is stored then.
    fn load(&mut self, unit: LoadUnit, rows: &LoadRows, progress: &LoadProgress) -> Result<(), TargetError>;
}

/// A unit that is loaded whole or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadUnit {
    /// ITEM, which belongs to no warehouse.
    Items,
    /// All rows of one warehouse.
    Warehouse(WarehouseId),
}

impl LoadUnit {
    /// Returns the tables of the unit's rows. A table comes before those that refer to it.
    #[must_use]
    pub fn tables(self) -> &'static [Table] {
        match self {
            Self::Items => &[Table::Item],
            Self::Warehouse(_) => &Table::OF_WAREHOUSE,
        }
    }

    /// Returns the warehouse, or 0 for ITEM.
    #[must_use]
    pub fn warehouse(self) -> WarehouseId {
        match self {
            Self::Items => WarehouseId(0),
            Self::Warehouse(id) => id,
        }
    }
}

impl fmt::Display for LoadUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Items => f.write_str("ITEM"),
            Self::Warehouse(id) => write!(f, "warehouse {id}"),
        }
    }
}

/// Counts of the rows that loaders have sent to the database. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct LoadProgress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    sent: Pair,
    /// In the order of [`Table::ALL`].
    tables: [Pair; Table::ALL.len()],
    batches: Mutex<Batches>,
    stop: AtomicBool,
}

#[derive(Debug, Default)]
struct Pair {
    rows: AtomicU64,
    bytes: AtomicU64,
}

impl Pair {
    fn add(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn get(&self) -> (u64, u64) {
        (self.rows.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}

/// Times of the batches of a load: what a loader sends before it waits for the database.
#[derive(Clone, Debug, PartialEq)]
pub struct Batches {
    /// Time from the first row of a batch to the database's answer, in nanoseconds.
    pub latency: Histogram<u64>,
}

impl Default for Batches {
    fn default() -> Self {
        match Histogram::new(3) {
            Ok(latency) => Self { latency },
            Err(error) => unreachable!("three digits are valid: {error}"),
        }
    }
}

impl LoadProgress {
    /// Adds rows of no table of TPC-C, and the bytes that were sent for them.
    pub fn add(&self, rows: u64, bytes: u64) {
        self.0.sent.add(rows, bytes);
    }

    /// Adds rows of a table, and the bytes that were sent for them.
    pub fn add_to(&self, table: Table, rows: u64, bytes: u64) {
        self.add(rows, bytes);
        self.0.tables[table as usize].add(rows, bytes);
    }

    /// Adds the time of a batch. Loaders call it once for hundreds of rows or more, so that it costs nothing.
    pub fn batch(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.0.batches.lock().latency.saturating_record(nanos);
    }

    /// Does `work`, the sending of a batch, and adds its time unless it fails.
    ///
    /// # Errors
    /// The error of `work`.
    pub fn timed<T, E>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let begun = Instant::now();
        let done = work()?;
        self.batch(begun.elapsed());
        Ok(done)
    }

    /// Returns the rows so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.0.sent.get().0
    }

    /// Returns the bytes sent so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.sent.get().1
    }

    /// Returns the rows and bytes of each table so far, without tables that have none.
    #[must_use]
    pub fn by_table(&self) -> Vec<(Table, u64, u64)> {
        let of = Table::ALL.into_iter().zip(&self.0.tables).map(|(table, pair)| {
            let (rows, bytes) = pair.get();
            (table, rows, bytes)
        });
        of.filter(|(_, rows, _)| *rows > 0).collect()
    }

    /// Returns the times of the batches so far.
    #[must_use]
    pub fn batches(&self) -> Batches {
        self.0.batches.lock().clone()
    }

    /// Asks the loaders to stop soon. Unfinished units are rolled back.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// True if [`LoadProgress::stop`] was called.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }
}
