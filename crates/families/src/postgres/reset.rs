//! Dropping the tables of Lydite, whoever made them.

use crate::postgres::load_lock::LoadLock;
use crate::postgres::{Postgres, SCHEMA, TABLE_KINDS};
use lydite_database::TargetError;
use lydite_database::micro::is_table_name;
use lydite_database::sql::meta::{Admin, OWN_TABLES};
use lydite_tpcc::schema::Table;

impl Postgres {
    /// Drops the tables on all servers; see [`lydite_database::Target::reset`].
    pub(super) fn drop_tables(&self) -> Result<(), TargetError> {
        // An unreachable shard is reported before anything is dropped on another one.
        self.shards.iter().try_for_each(|shard| shard.connect_wire().map(drop))?;
        let mut lock = LoadLock::take(&self.config)?;
        let wire = lock.wire();
        // Only in the schema that `state` looks at, and not objects that merely depend on the tables.
        let schema = wire.column("SELECT current_schema()").map_err(self.failed("look for the schema"))?;
        if schema.is_empty() {
            return Err(TargetError::usage(format!(
                "{}: no schema of the search_path exists: name one with ?schema=",
                self.config.place()
            )));
        }
        let there = self.tables(wire)?;
        let names: Vec<String> = Table::ALL
            .map(Table::name)
            .into_iter()
            .chain(OWN_TABLES)
            .chain(there.iter().map(String::as_str).filter(|name| is_table_name(name)))
            .map(|name| format!("'{name}'"))
            .collect();
        if !self.config.product.exports_snapshots {
            // Other products implement PostgreSQL's catalogs only in part, so they are not asked which view shows which
            // table.
            let drops: Vec<String> = there
                .iter()
                .filter(|name| names.contains(&format!("'{name}'")))
                .map(|name| format!("\"{name}\""))
                .collect();
            if !drops.is_empty() {
                wire.execute(&format!("DROP TABLE {}", drops.join(", ")))
                    .map_err(self.failed("drop the tables"))?;
            }
            return lock.release().map_err(self.failed("end the load"));
        }
        // Objects that others made under these names may not be tables. Views go first, each before those that it
        // shows. Then all tables of a kind go at once, since they refer to each other. (Views that show each other in a
        // ring can be made, though not read; hence the bound.)
        let drops = wire
            .column(&format!(
                "WITH RECURSIVE named AS (SELECT oid, relkind, format('%I.%I', current_schema(), relname) AS name \
                 FROM pg_class WHERE relnamespace = {SCHEMA} AND relkind IN {TABLE_KINDS} AND relname IN ({})), \
                 shows AS (SELECT rule.ev_class AS view, depend.refobjid AS shown FROM pg_rewrite AS rule \
                 JOIN pg_depend AS depend ON depend.classid = 'pg_rewrite'::regclass AND depend.objid = rule.oid \
                 AND depend.refclassid = 'pg_class'::regclass AND depend.refobjid <> rule.ev_class \
                 WHERE rule.rulename = '_RETURN'), \
                 levels AS (SELECT oid, 0 AS level FROM named UNION SELECT view, level + 1 FROM levels \
                 JOIN shows ON shown = oid WHERE level < 100) \
                 SELECT 'DROP ' || kind || ' ' || string_agg(name, ', ') FROM (SELECT name, level, CASE relkind \
                 WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' \
                 END AS kind FROM named JOIN (SELECT oid, max(level) AS level FROM levels GROUP BY oid) AS highest \
                 USING (oid)) AS found GROUP BY kind, CASE WHEN kind LIKE '%VIEW' THEN level END \
                 ORDER BY kind LIKE '%VIEW' DESC, max(level) DESC, kind",
                names.join(", ")
            ))
            .map_err(self.failed("look for tables"))?;
        wire.execute(&drops.join("; ")).map_err(self.failed("drop the tables"))?;
        if !self.shards.is_empty() {
            self.reset_shards(wire)?;
        }
        lock.release().map_err(self.failed("end the load"))
    }
}
