//! What is asked for: which database, how durable, how long.

use lydite_database::Description;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// How often a relaxed store is synced, if that is up to its user. As often as Gemel does.
pub(crate) const SYNC_EVERY: Duration = Duration::from_millis(50);

/// What an answered commit survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The end of the process; a power cut may take the newest ones.
    Relaxed,
    /// A power cut.
    Full,
}

/// A store in a temporary directory.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) path: PathBuf,
    pub(crate) durability: Durability,
    /// Maximum size of the database's cache of its files.
    pub(crate) cache_bytes: usize,
    /// Deleted with the last one that has it.
    _temporary: Arc<TempDir>,
}

impl Config {
    /// A store of which nothing is there yet.
    pub(crate) fn new(durability: Durability, cache_bytes: usize) -> std::io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("lydite-peers-").tempdir()?;
        let path = directory.path().join("db");
        Ok(Self { path, durability, cache_bytes, _temporary: Arc::new(directory) })
    }

    #[cfg(test)]
    pub(crate) fn temporary(durability: Durability) -> Self {
        Self::new(durability, 1 << 26).unwrap()
    }

    /// For results.
    pub(crate) fn describe(&self, kind: &str, isolation: &str, isolation_is_level_3: bool) -> Description {
        let durability = match self.durability {
            Durability::Relaxed => "relaxed",
            Durability::Full => "full",
        };
        let settings = [("cache_bytes", self.cache_bytes.to_string()), ("durability", durability.into())];
        Description {
            kind: kind.into(),
            version: String::new(),
            url: format!("{kind}: (temporary)"),
            settings: BTreeMap::from(settings.map(|(name, value)| (name.to_string(), value))),
            isolation: isolation.into(),
            isolation_is_level_3,
            embedded: true,
            durable: self.durability == Durability::Full,
            in_memory: None,
            unread: Vec::new(),
        }
    }
}
