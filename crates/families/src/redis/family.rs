//! The entry of Redis in the table of families.

use super::config::{Config, PORT, parse};
use super::store::RedisStore;
use crate::family::{Family, Scheme};
use crate::kv_server::{KvServer, OPTIONS, OfKvServer};
use lydite_database::TxMode;
use std::sync::Arc;

/// The entry in the table of families.
pub(crate) static FAMILY: Family = Family {
    schemes: &[Scheme::of_servers("redis", PORT)],
    url: "redis://[[USER]:PASSWORD@]HOST[:PORT][/NUMBER]",
    about: "Redis 6 or later, as a key-value store with optimistic transactions (WATCH, MULTI, EXEC)",
    modes: &[TxMode::Statements],
    guarantees: "optimistic: what was read is checked at the commit, ranges are not",
    placement: &[],
    tested: "a real server",
    options: OPTIONS,
    tpcc_options: &[],
    parse: |url, _| parse(url).map(|config| Arc::new(OfKvServer(config)) as _),
};

impl KvServer for Config {
    type Store = RedisStore;

    fn url(&self) -> &str {
        &self.url
    }
}
