//! The entries of PostgreSQL and the databases with its protocol in the table of families.

use super::config::{
    CITUS_OPTIONS, COCKROACH_OPTIONS, Config, OPTIONS, YUGABYTE_OPTIONS, can_follow, parse, shapes,
};
use super::grants::grants;
use super::product::{CITUS, COCKROACH, POSTGRES, Product, YUGABYTE};
use super::templates::PgTemplates;
use super::{PROCEDURES, Postgres, create_table, session};
use crate::family::{Configured, Family, OTHER_FAMILY, PlacementSource, Scheme, as_config};
use crate::grants::{GrantRequest, Grants};
use crate::own_schema::{OwnSchema, ScriptForm, Syntax};
use crate::templates::Templates;
use lydite_database::code::{Code, keys_of};
use lydite_database::patience::Patience;
use lydite_database::sql::statement::Statement;
use lydite_database::target_url::ParsedUrl;
use lydite_database::{Life, Target, TargetError, TxMode};
use std::sync::Arc;

/// The entry of PostgreSQL in the table of families.
pub(crate) static POSTGRES_FAMILY: Family = Family {
    schemes: &[
        Scheme::of_servers("postgres", POSTGRES.port),
        Scheme::of_servers("postgresql", POSTGRES.port),
    ],
    url: "postgres://[USER[:PASSWORD]@]HOST[:PORT],…/DATABASE",
    about: "PostgreSQL 12 or later",
    modes: &TxMode::ALL,
    guarantees: "repeatable read (snapshots), serializable or read committed; over shards no common snapshot and no atomic commit",
    placement: &[PlacementSource::live("over shards")],
    tested: "real servers: PostgreSQL, and PostgreSQL over three shards",
    options: OPTIONS,
    tpcc_options: &["foreign_keys", "partitions", "shards", "items", "colocated", "batch"],
    parse: |url, mode| read(url, mode, &POSTGRES),
};

/// The entry of CockroachDB in the table of families.
pub(crate) static COCKROACH_FAMILY: Family = Family {
    schemes: &[Scheme::of_servers(COCKROACH.schemes[0], COCKROACH.port)],
    url: "cockroach://[USER[:PASSWORD]@]HOST[:PORT],…/DATABASE",
    about: "CockroachDB 23 or later",
    modes: COCKROACH.modes,
    guarantees: "serializable or read committed",
    placement: &[PlacementSource::recorded("the leaseholders, from 23.2")],
    tested: "only PostgreSQL in its place: test a real one with lydite driver test URL",
    options: COCKROACH_OPTIONS,
    tpcc_options: &["foreign_keys", "split", "zones", "zone_strategy", "batch"],
    parse: |url, mode| read(url, mode, &COCKROACH),
};

/// The entry of YugabyteDB in the table of families.
pub(crate) static YUGABYTE_FAMILY: Family = Family {
    schemes: &[Scheme::of_servers(YUGABYTE.schemes[0], YUGABYTE.port)],
    url: "yugabyte://[USER[:PASSWORD]@]HOST[:PORT],…/DATABASE",
    about: "YugabyteDB 2.20 or later, its SQL",
    modes: YUGABYTE.modes,
    guarantees: "repeatable read (snapshots), serializable or read committed",
    placement: &[PlacementSource::recorded("the leaders of tablets, from 2025.1")],
    tested: "only PostgreSQL in its place: test a real one with lydite driver test URL",
    options: YUGABYTE_OPTIONS,
    tpcc_options: &["foreign_keys", "batch"],
    parse: |url, mode| read(url, mode, &YUGABYTE),
};

/// The entry of Citus in the table of families.
pub(crate) static CITUS_FAMILY: Family = Family {
    schemes: &[Scheme::of_servers(CITUS.schemes[0], CITUS.port)],
    url: "citus://[USER[:PASSWORD]@]HOST[:PORT],…/DATABASE, coordinators",
    about: "PostgreSQL with Citus: tables over workers by warehouse, ITEM on each",
    modes: CITUS.modes,
    guarantees: "as PostgreSQL on one worker; over several no common snapshot",
    placement: &[PlacementSource::recorded("the workers")],
    tested: "nothing: test a real one with lydite driver test URL",
    options: CITUS_OPTIONS,
    tpcc_options: &["items", "colocated", "batch"],
    parse: |url, mode| read(url, mode, &CITUS),
};

fn read(
    url: &ParsedUrl,
    mode: TxMode,
    product: &'static Product,
) -> Result<Arc<dyn Configured>, Vec<String>> {
    Ok(Arc::new(parse(url, mode, product)?))
}

impl Configured for Config {
    fn shown_url(&self) -> Option<&str> {
        Some(&self.url)
    }

    fn plays_micro(&self) -> bool {
        self.product.heap
    }

    fn loads_one_node(&self) -> bool {
        self.product.placement.is_none() && self.shards.is_empty()
    }

    fn has_server(&self) -> bool {
        true
    }

    fn endpoints(&self) -> usize {
        1 + self.nodes.len()
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

    fn templates(&self, patience: &dyn Fn(Arc<dyn Target>) -> Option<Patience>) -> Option<Templates> {
        if !self.keeps_templates() {
            return None;
        }
        let tried = Arc::new(Postgres::new(self.clone()));
        Some(Templates::of(PgTemplates { config: Box::new(self.clone()), patience: patience(tried) }))
    }

    fn script_form(&self) -> Option<ScriptForm<'_>> {
        Some(ScriptForm { syntax: Syntax::Postgres, schema: self.schema.as_deref(), shapes })
    }

    fn with_scripts(&self, scripts: &Arc<OwnSchema>) -> Option<Arc<dyn Configured>> {
        let mut config = self.clone();
        config.scripts = Arc::clone(scripts);
        Some(Arc::new(config))
    }

    fn grants(&self, asked: &GrantRequest<'_>) -> Result<Grants, TargetError> {
        grants(self, asked)
    }

    fn code(&self, _version: &str) -> Option<Code> {
        let create = |table| {
            let made = create_table(self, table);
            let keys = if self.product.heap { keys_of(table) } else { String::new() };
            made.trim_end_matches("; ").to_owned() + &keys
        };
        let text = if self.shards.is_empty() { Statement::text } else { Statement::text_over_shards };
        Some(Code::sql(session::dialect(self.isolation), self.mode, create, text, PROCEDURES))
    }

    fn open(&self) -> Result<Arc<dyn Target>, TargetError> {
        Ok(Arc::new(Postgres::new(self.clone())))
    }
}
