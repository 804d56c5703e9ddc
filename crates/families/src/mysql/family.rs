//! The entry of MySQL's family in the table of families.

use super::config::{Config, OPTIONS, SCHEMES, TPCC_OPTIONS, parse, shapes};
use super::grants::grants;
use super::replication::can_follow;
use super::{Mysql, procedures, product, schema};
use crate::family::{Configured, Family, OTHER_FAMILY, PlacementSource, as_config};
use crate::grants::{GrantRequest, Grants};
use crate::own_schema::{OwnSchema, ScriptForm, Syntax};
use lydite_database::code::Code;
use lydite_database::sql::statement::Statement;
use lydite_database::{Life, Target, TargetError, TxMode};
use std::sync::Arc;

/// The entry in the table of families.
pub(crate) static FAMILY: Family = Family {
    schemes: SCHEMES,
    url: "mysql://[USER[:PASSWORD]@]HOST[:PORT],…/DATABASE",
    about: "MySQL 8 or later, MariaDB 10.6 or later, TiDB (no procedures), OceanBase, PolarDB",
    modes: &TxMode::ALL,
    guarantees: "repeatable read, serializable or read committed, as far as the engine keeps them",
    placement: &[
        PlacementSource::live("over shards of Spider"),
        PlacementSource::recorded("TiDB: the leaders of regions, from 7.1"),
        PlacementSource::recorded("OceanBase: the leaders of partitions, from 4"),
    ],
    tested: "real servers: MariaDB with InnoDB, with MyRocks, as a Galera cluster, over shards by Spider; seekdb for oceanbase:; not tested: TiDB, PolarDB, MySQL itself",
    options: OPTIONS,
    tpcc_options: TPCC_OPTIONS,
    parse: |url, mode| parse(url, mode).map(|config| Arc::new(config) as _),
};

impl Configured for Config {
    fn shown_url(&self) -> Option<&str> {
        Some(&self.url)
    }

    fn loads_one_node(&self) -> bool {
        self.scheme == "mariadb" && self.shards.is_empty()
    }

    fn has_server(&self) -> bool {
        true
    }

    fn endpoints(&self) -> usize {
        1 + self.nodes.len()
    }

    fn on_port(&self, port: u16) -> Option<Arc<dyn Configured>> {
        let mut found =
            self.of_nodes().into_iter().filter(|node| node.port == port && node.shards.is_empty());
        match (found.next(), found.next()) {
            (Some(node), None) => Some(Arc::new(node.alone())),
            _ => None,
        }
    }

    fn keeps_connections(&self) -> bool {
        self.life != Life::Transaction
    }

    fn may_lead(&self) -> bool {
        true
    }

    fn can_follow(&self, primary: &dyn Configured) -> Result<(), String> {
        can_follow(self, as_config(primary).ok_or(OTHER_FAMILY)?)
    }

    fn script_form(&self) -> Option<ScriptForm<'_>> {
        Some(ScriptForm { syntax: Syntax::Mysql, schema: None, shapes })
    }

    fn with_scripts(&self, scripts: &Arc<OwnSchema>) -> Option<Arc<dyn Configured>> {
        let mut config = self.clone();
        config.scripts = Arc::clone(scripts);
        Some(Arc::new(config))
    }

    fn grants(&self, asked: &GrantRequest<'_>) -> Result<Grants, TargetError> {
        grants(self, asked)
    }

    fn code(&self, version: &str) -> Option<Code> {
        let product = product::of(version, &self.scheme);
        let dialect = if self.shards.is_empty() {
            Mysql::new(self.clone()).own_dialect(product)
        } else {
            &product::SPIDER_DIALECT
        };
        let create = |table| schema::create_table(table, self, product);
        let arrays = self.arrays.unwrap_or(product.json_table && self.shards.is_empty());
        let text = if arrays { Statement::text_for_arrays } else { Statement::text };
        Some(Code::sql(dialect, self.mode, create, text, &procedures(dialect)))
    }

    fn open(&self) -> Result<Arc<dyn Target>, TargetError> {
        Ok(Arc::new(Mysql::new(self.clone())))
    }
}
