//! Handles of keyspaces.

use crate::engine::KeyspaceId;
use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// The engine of a table or keyspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Memory engine: all rows are in RAM.
    Memory,
    /// Disk engine: rows are on disk, with a block cache.
    Disk,
}

impl Engine {
    /// Returns the engine's name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Disk => "disk",
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// An ordered map from byte keys to byte values, in one engine. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Keyspace {
    pub(crate) database: u64,
    pub(crate) id: KeyspaceId,
    pub(crate) engine: u8,
    pub(crate) name: Arc<str>,
    pub(crate) gate: Arc<Gate>,
}

/// The accesses that a keyspace's handles allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Standing {
    /// All.
    Open,
    /// Reads, for now: an index is being added to the table.
    Indexing,
    /// Reads: the table has an index now that the handle does not know.
    Outdated,
    /// None: the rows are gone.
    Dropped,
    /// None: the table has other keyspaces now.
    Truncated,
}

/// The [`Standing`] of a keyspace. All handles that were given out between two changes of the table share one.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    standing: AtomicU8,
    /// Number of the catalog change that made these handles. A transaction that began before it can't use them: its
    /// snapshot may lack entries that the change wrote, or should have rows that the change deleted.
    pub(crate) born: u64,
}

impl Gate {
    pub(crate) fn born_at(born: u64) -> Self {
        Self { born, ..Self::default() }
    }

    pub(crate) fn set(&self, standing: Standing) {
        self.standing.store(standing as u8, Ordering::SeqCst);
    }

    pub(crate) fn standing(&self) -> Standing {
        match self.standing.load(Ordering::Acquire) {
            0 => Standing::Open,
            1 => Standing::Indexing,
            2 => Standing::Outdated,
            3 => Standing::Dropped,
            _ => Standing::Truncated,
        }
    }
}

impl Keyspace {
    /// Returns the keyspace's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns an error if the handle can't be read through any more.
    #[inline]
    pub(crate) fn check_read(&self) -> Result<()> {
        match self.gate.standing() {
            Standing::Open | Standing::Indexing | Standing::Outdated => Ok(()),
            Standing::Dropped | Standing::Truncated => Err(self.refused()),
        }
    }

    /// Returns an error if the handle can't be written through any more.
    #[inline]
    pub(crate) fn check_write(&self) -> Result<()> {
        if self.gate.standing() == Standing::Open { Ok(()) } else { Err(self.refused()) }
    }

    #[cold]
    fn refused(&self) -> Error {
        let name = self.name();
        Error::Usage(match self.gate.standing() {
            Standing::Open | Standing::Indexing => format!(
                "an index is being added to the table of {name:?}: \
                 write to it when that is done, in a new transaction, through a new handle of the table"
            ),
            Standing::Outdated => format!(
                "the table of {name:?} has a new index that this handle does not know: get the table again"
            ),
            Standing::Dropped => format!("{name:?} was dropped: use another one, or make it again"),
            Standing::Truncated => format!("{name:?} was truncated: get the table again"),
        })
    }

    pub(crate) fn engine_index(&self) -> usize {
        usize::from(self.engine)
    }
}
