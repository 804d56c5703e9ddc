//! Handles of keyspaces.

use crate::engine::KeyspaceId;
use std::sync::Arc;

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
}

impl Keyspace {
    /// Returns the keyspace's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn engine_index(&self) -> usize {
        usize::from(self.engine)
    }
}
