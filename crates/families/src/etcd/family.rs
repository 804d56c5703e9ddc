//! The entry of etcd in the table of families.

use super::config::{Config, OPTIONS, PORT, parse};
use super::store::EtcdStore;
use crate::family::{Configured, Family, Scheme};
use lydite_database::code::Code;
use lydite_database::kv::KvTarget;
use lydite_database::{Target, TargetError, TxMode};
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
    parse: |url, _| parse(url).map(|config| Arc::new(config) as _),
};

impl Configured for Config {
    fn shown_url(&self) -> Option<&str> {
        Some(&self.url)
    }

    fn plays_micro(&self) -> bool {
        false
    }

    fn loads_one_node(&self) -> bool {
        true
    }

    fn has_server(&self) -> bool {
        true
    }

    fn code(&self, _version: &str) -> Option<Code> {
        Some(Code::key_value())
    }

    fn open(&self) -> Result<Arc<dyn Target>, TargetError> {
        Ok(Arc::new(KvTarget::<EtcdStore>::new(self.clone())))
    }
}
