//! Description of a server: its version, and the settings that affect the numbers.

use crate::net::Purpose;
use crate::per_transaction;
use crate::postgres::config::PARTITIONS;
use crate::postgres::connecting::SCHEMA;
use crate::postgres::unprepared::{Between, STATEMENTS, UNPREPARED};
use crate::postgres::{Postgres, inherited, partitions};
use crate::statement_limit;
use crate::unread::Unread;
use lydite_database::sql::ddl;
use lydite_database::sql::isolation::Isolation;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::shards::Layout;
use lydite_database::{Description, Target, TargetError};
use std::collections::BTreeMap;

/// Server settings that affect the numbers.
const SETTINGS: [&str; 18] = [
    "shared_buffers",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_level",
    "wal_sync_method",
    "max_wal_size",
    "checkpoint_timeout",
    "effective_cache_size",
    "work_mem",
    "max_connections",
    "autovacuum",
    "jit",
    "huge_pages",
    "data_checksums",
    "lock_timeout",
    "statement_timeout",
    "transaction_timeout",
];

impl Postgres {
    /// Connects and describes the database; see [`Target::describe`].
    pub(super) fn read_description(&self) -> Result<Description, TargetError> {
        // The settings that a session for transactions has.
        let mut wire = self.connect_wire_for(Purpose::Description)?;
        let version = wire
            .column("SELECT version()")
            .map_err(self.failed("ask for the version"))?
            .into_iter()
            .next()
            .unwrap_or_default();
        let mut settings = BTreeMap::new();
        let names: Vec<String> = SETTINGS.iter().map(|name| format!("'{name}'")).collect();
        let sql = format!(
            "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({})",
            names.join(", ")
        );
        let asked = wire.query_each(&sql, &mut |row| {
            if let [Some(name), Some(value)] = row {
                settings.insert((*name).to_string(), (*value).to_string());
            }
        });
        let limits =
            inherited::asked_values(&mut wire, &self.config).map_err(self.failed("ask for settings"))?;
        settings.extend(limits.into_iter().map(|(name, value)| (name.to_owned(), value)));
        // Without its settings the server counts as not durable.
        let mut unread = Unread::default();
        unread.or_empty("its settings", asked).map_err(self.failed("ask for settings"))?;
        // A key of a partitioned table has another one for each pair of partitions.
        let own = if self.config.product.heap { " AND conparentid = 0" } else { "" };
        let foreign_keys = wire.column(&format!(
            "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND connamespace = {SCHEMA}{own}"
        ));
        let foreign_keys = unread.or_empty("its foreign keys", foreign_keys);
        let foreign_keys = foreign_keys.map_err(self.failed("look for foreign keys"))?;
        settings.extend(foreign_keys.into_iter().next().map(|count| ("foreign keys".to_owned(), count)));
        if !self.shards.is_empty() {
            settings.insert("shards".into(), self.shards.len().to_string());
        }
        let keyed = wire
            .column(&format!(
                "SELECT count(*) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid \
                 WHERE relnamespace = {SCHEMA} AND relname = 'history' AND attname = '{}'",
                ddl::HISTORY_KEY
            ))
            .map_err(self.failed("look for a key of HISTORY"))?;
        // Over shards, the tables of the shards have the key.
        if keyed.concat() != "0" || self.config.history_key && !self.shards.is_empty() {
            settings.insert("history_key".into(), "on".into());
        }
        let partitions = partitions::by_hash(&mut wire).map_err(self.failed("look for partitions"))?;
        settings.extend(partitions.map(|count| (PARTITIONS.name.to_owned(), count.to_string())));
        settings.insert("isolation".into(), self.config.isolation.sql().to_lowercase());
        if let Some(level) = self.effective.get() {
            settings.insert("isolation_effective".into(), level.clone());
        }
        settings.insert("tx".into(), self.config.mode.name().into());
        settings.extend(statement_limit::setting(self.config.statement_timeout));
        settings.extend(per_transaction::setting(self.config.life));
        if self.config.unprepared {
            settings.insert(STATEMENTS.name.into(), UNPREPARED.into());
        }
        if self.between.get() == Some(&Between::Pooler) {
            settings.insert("pooler".into(), "transaction mode".into());
        }
        if self.config.follower_reads {
            settings.insert("follower reads".into(), "on".into());
        }
        let on = |name: &str| settings.get(name).is_some_and(|value| value != "off");
        let durable = self.config.product.always_durable
            || on("fsync") && on("synchronous_commit") && on("full_page_writes");
        let shards: Result<Vec<_>, _> = self.shards.iter().map(Self::describe).collect();
        let parted = !self.session_settings()?.is_empty();
        if parted {
            let found = self.found_layout(&mut wire)?;
            settings.extend(found.settings().map(|(name, value)| (name.to_string(), value.to_string())));
        } else if self.config.layout != Layout::default() {
            let asked = self.config.layout.settings();
            settings.extend(asked.map(|(name, value)| (format!("{name}, as asked"), value.to_string())));
        }
        if parted && self.shards.is_empty() {
            settings.insert("durability of shards".into(), "not asked: name them with ?shards=".into());
        }
        let shards = shards?;
        let durable =
            durable && (!parted || !self.shards.is_empty()) && shards.iter().all(|shard| shard.durable);
        let mut unread = unread.into_warnings();
        unread.extend(shards.into_iter().flat_map(|shard| shard.unread));
        Ok(Description {
            kind: self.config.product.schemes[0].into(),
            // "PostgreSQL 15.18 (Debian …) on x86_64…": results describe the host elsewhere.
            version: version.split(" on ").next().unwrap_or_default().to_string(),
            url: self.config.url.clone(),
            settings,
            isolation: self.config.isolation.sql().to_lowercase(),
            embedded: false,
            // Several servers have no common snapshot, whatever the isolation level of each.
            isolation_is_level_3: self.config.isolation != Isolation::ReadCommitted
                && self.config.product.global_transactions
                && !parted,
            durable,
            in_memory: None,
            unread,
        })
    }
}
