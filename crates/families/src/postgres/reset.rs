//! Dropping the tables of Lydite, whoever made them.

use crate::postgres::Postgres;
use crate::postgres::connecting::{SCHEMA, TABLE_KINDS};
use crate::postgres::load_lock::LoadLock;
use crate::postgres::wire::Wire;
use lydite_database::TargetError;
use lydite_database::kv::meta::DROPPING;
use lydite_database::micro::is_table_name;
use lydite_database::sql::meta::{Admin, OWN_TABLES, note_state};
use lydite_database::sql::sql_error::SqlError;
use lydite_tpcc::schema::Table;

/// Code of a lock that the server did not get in time.
const LOCK_NOT_AVAILABLE: &str = "55P03";
/// Table of the notes.
const NOTES: &str = OWN_TABLES[0];

impl Postgres {
    /// Drops the tables on all servers; see [`lydite_database::Target::reset`].
    pub(super) fn drop_tables(&self) -> Result<(), TargetError> {
        // An unreachable shard is reported before anything is dropped on another one.
        self.shards.iter().try_for_each(|shard| shard.connect_wire().map(drop))?;
        let mut lock = LoadLock::take(&self.config)?;
        let on_shards =
            self.shards.iter().map(|shard| LoadLock::take(&shard.config)).collect::<Result<Vec<_>, _>>()?;
        self.rehearse_own(lock.wire())?;
        self.drop_all(lock.wire())?;
        for lock in on_shards.into_iter().chain([lock]) {
            lock.release().map_err(self.failed("end the load"))?;
        }
        Ok(())
    }

    /// Drops the tables on all servers. The caller has the right to load.
    pub(super) fn drop_all(&self, wire: &mut Wire) -> Result<(), TargetError> {
        // Only in the schema that `state` looks at, and not objects that merely depend on the tables.
        let schema = wire.column("SELECT current_schema()").map_err(self.failed("look for the schema"))?;
        if schema.is_empty() {
            return Err(TargetError::usage(format!(
                "{}: no schema of the search_path exists: name one with ?schema=",
                self.config.place()
            )));
        }
        let there = self.tables(wire)?;
        if self.shards.is_empty() {
            return self.drop_tables_but(wire, "");
        }
        // Several servers do not drop in one transaction. So the notes go last, and say from the beginning that the
        // database is being dropped: whatever is left after a stop is known as Lydite's.
        if there.iter().any(|name| name == NOTES) {
            // Somebody else's table of this name may have no such columns, and then has nothing to say.
            let _noted = wire.execute(&note_state(DROPPING));
        }
        self.shards.iter().try_for_each(|shard| shard.drop_all(&mut shard.connect_wire()?))?;
        self.drop_tables_but(wire, NOTES)?;
        self.drop_servers(wire)?;
        self.drop_tables_but(wire, "")
    }

    /// Drops the tables on this server, but for one.
    fn drop_tables_but(&self, wire: &mut Wire, kept: &str) -> Result<(), TargetError> {
        let there = self.tables(wire)?;
        let names: Vec<String> = Table::ALL
            .map(Table::name)
            .into_iter()
            .chain(OWN_TABLES)
            .filter(|name| *name != kept)
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
            return Ok(());
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
        if drops.is_empty() {
            return Ok(());
        }
        self.insist(wire, &drops.join("; "))
    }

    /// Runs statements that drop tables, all in one transaction.
    pub(super) fn insist(&self, wire: &mut Wire, drops: &str) -> Result<(), TargetError> {
        // A server goes on to wait for locks after its client is gone, so it waits for a moment only.
        let set = if self.config.unprepared { "SET LOCAL" } else { "SET" };
        let drop = format!("{set} lock_timeout = '1s'; {drops}; {set} lock_timeout = 0");
        loop {
            self.work.unless_stopped(self.config.place())?;
            match wire.execute(&drop) {
                Err(SqlError::Database { code, .. }) if code == LOCK_NOT_AVAILABLE => {}
                dropped => return dropped.map_err(self.failed("drop the tables")),
            }
        }
    }
}
