//! Loading: what is loaded whole or not at all, and how far it is.

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
    /// The database refuses or is lost; nothing of this unit is stored then.
    fn load(
        &mut self,
        unit: LoadUnit,
        population: &Population,
        progress: &LoadProgress,
    ) -> Result<(), TargetError>;
}

/// What is loaded whole or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadUnit {
    /// ITEM, which belongs to no warehouse.
    Items,
    /// All rows of one warehouse.
    Warehouse(WarehouseId),
}

impl LoadUnit {
    /// The tables whose rows it holds, referred ones before those that refer to them.
    #[must_use]
    pub fn tables(self) -> &'static [Table] {
        match self {
            Self::Items => &[Table::Item],
            Self::Warehouse(_) => &Table::OF_WAREHOUSE,
        }
    }

    /// The warehouse; 0, which is none, for ITEM.
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

/// Counts what loaders have handed to the database. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct LoadProgress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    rows: AtomicU64,
    bytes: AtomicU64,
    stop: AtomicBool,
}

impl LoadProgress {
    /// Adds rows and the bytes in which they were sent.
    pub fn add(&self, rows: u64, bytes: u64) {
        self.0.rows.fetch_add(rows, Ordering::Relaxed);
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Rows so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.0.rows.load(Ordering::Relaxed)
    }

    /// Bytes so far, in the form in which they were sent.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Asks the loaders to give up soon; what they have not finished is rolled back.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// Whether [`LoadProgress::stop`] was called.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }
}
