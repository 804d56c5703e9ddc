//! The entry of etcd in the table of families.

use super::config::{Config, PORT, parse};
use super::store::EtcdStore;
use crate::family::{Family, Scheme};
use crate::kv_server::{KvServer, OPTIONS, OfKvServer};
use lydite_database::TxMode;
use std::sync::Arc;

/// The entry in the table of families.
pub(crate) static FAMILY: Family = Family {
    schemes: &[Scheme::of_servers("etcd", PORT)],
    url: "etcd://HOST[:PORT]",
    about: "etcd 3.4 or later, as a key-value store with transactions that compare revisions",
    modes: &[TxMode::Statements],
    guarantees: "snapshot isolation; durable commits",
    placement: &[],
    tested: "a real server",
    options: OPTIONS,
    tpcc_options: &[],
    parse: |url, _| parse(url).map(|config| Arc::new(OfKvServer(config)) as _),
};

impl KvServer for Config {
    type Store = EtcdStore;

    fn url(&self) -> &str {
        &self.url
    }
}
