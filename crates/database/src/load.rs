//! Loading: the units that are loaded whole or not at all, and the progress.

use crate::error::TargetError;
use lydite_tpcc::WarehouseId;
use lydite_tpcc::population::Population;
use lydite_tpcc::schema::Table;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// One connection that loads rows.
pub trait Loader: Send {
    /// Loads all rows of a unit, whole or not at all.
    ///
    /// # Errors
    /// The database rejects the rows or is lost. No row of this unit is stored then.
    fn load(
        &mut self,
        unit: LoadUnit,
        population: &Population,
        progress: &LoadProgress,
    ) -> Result<(), TargetError>;
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
    rows: AtomicU64,
    bytes: AtomicU64,
    stop: AtomicBool,
}

impl LoadProgress {
    /// Adds rows and the bytes that were sent for them.
    pub fn add(&self, rows: u64, bytes: u64) {
        self.0.rows.fetch_add(rows, Ordering::Relaxed);
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the rows so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.0.rows.load(Ordering::Relaxed)
    }

    /// Returns the bytes sent so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
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
