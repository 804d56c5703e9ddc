//! The list of what Lydite has made in a PostgreSQL database, from the catalogs, and its removal without CASCADE.

use crate::postgres::connecting::{SCHEMA, TABLE_KINDS};
use crate::postgres::load_lock::LoadLock;
use crate::postgres::templates::quoted;
use crate::postgres::wire::Wire;
use crate::postgres::{PROCEDURES, Postgres};
use lydite_database::kv::meta::DROPPING;
use lydite_database::sql::leaving::{Found, Look, Mark, list, note_of_indexes};
use lydite_database::sql::meta::{Admin, OWN_TABLES, note_state};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{Inventory, Leaving, Others, TargetError, Thing, ThingKind, TxMode};

/// Foreign servers of loads and of isolation checks.
const SERVERS: &str = "srvname ~ '^lydite_(shard_[0-9]+|isolation_[0-9]+_shard)$'";

/// Returns a common table expression: the tables of these names with their partitions.
fn with_parts(tables: &str) -> String {
    format!(
        "WITH RECURSIVE named (part) AS (SELECT oid FROM pg_class WHERE relnamespace = {SCHEMA} \
         AND relkind IN ('r', 'p', 'f') AND relname IN ({tables}) \
         UNION SELECT inhrelid FROM named JOIN pg_inherits ON inhparent = part JOIN pg_class ON pg_class.oid = inhrelid \
         WHERE relispartition)"
    )
}

/// Returns the names of the functions of `--tx procedures`.
fn procedure_names() -> impl Iterator<Item = &'static str> {
    PROCEDURES.split("FUNCTION ").skip(1).filter_map(|text| text.split('(').next())
}

/// Reads the objects with names of Lydite's.
fn objects(wire: &mut Wire, heap: bool) -> Result<Vec<Found>, SqlError> {
    // Servers that only resemble PostgreSQL may lack the sizes.
    let sizes = if heap {
        "CASE WHEN c.relkind = 'p' THEN parts.rows WHEN c.relkind IN ('r', 'm') THEN nullif(c.reltuples, -1) END::bigint, \
         (pg_total_relation_size(c.oid) + coalesce(parts.bytes, 0))::bigint"
    } else {
        "NULL, NULL"
    };
    let parts = if heap {
        "LEFT JOIN LATERAL (WITH RECURSIVE tree (part) AS (SELECT inhrelid FROM pg_inherits WHERE inhparent = c.oid \
         UNION ALL SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.part) \
         SELECT sum(pg_total_relation_size(r.oid)) AS bytes, sum(r.reltuples) FILTER (WHERE r.reltuples >= 0) AS rows \
         FROM tree JOIN pg_class r ON r.oid = tree.part WHERE r.relkind <> 'p') AS parts ON c.relkind = 'p'"
    } else {
        ""
    };
    let mut found = Vec::new();
    wire.query_each(
        &format!(
            "SELECT c.relname, c.relkind, (SELECT string_agg(attname, ',') FROM pg_attribute WHERE attrelid = c.oid \
             AND attnum > 0 AND NOT attisdropped), {sizes} FROM pg_class AS c {parts} \
             WHERE c.relnamespace = {SCHEMA} AND c.relkind IN {TABLE_KINDS} ORDER BY 1"
        ),
        &mut |row| {
            let [Some(name), Some(kind), columns, rows, bytes] = *row else { return };
            if !Found::concerns(name) {
                return;
            }
            let no_table = match kind {
                "v" => Some("view"),
                "m" => Some("materialized view"),
                _ => None,
            };
            found.push(Found { no_table, foreign: kind == "f", ..Found::read(name, columns, rows, bytes) });
        },
    )?;
    Ok(found)
}

/// Adds the functions of `--tx procedures`: those with a text of this version, and beside tables of Lydite's those of
/// another version, which name their arguments alike.
fn add_procedures(wire: &mut Wire, mark: Mark, into: &mut Inventory) -> Result<(), SqlError> {
    let names = list(procedure_names());
    wire.query_each(
        &format!(
            "SELECT oid::regprocedure::text, prosrc, proargnames[1] FROM pg_proc WHERE pronamespace = {SCHEMA} \
             AND proname IN ({names}) ORDER BY 1"
        ),
        &mut |row| {
            let [Some(name), text, first] = *row else { return };
            let is_this = text.is_some_and(|text| text.len() > 20 && PROCEDURES.contains(text));
            let is_other = mark.is_ours() && first.is_some_and(|first| first.starts_with("in_"));
            if is_this || is_other {
                into.ours.push(Thing::new(ThingKind::Procedure, name));
            } else {
                let reason = "its text is not Lydite's";
                into.stays.push(Others::new(format!("function {name}"), reason));
            }
        },
    )
}

/// Adds the indexes and sequences of the tables.
fn add_parts(wire: &mut Wire, tables: &str, into: &mut Inventory) -> Result<(), SqlError> {
    let mut parts = Vec::new();
    wire.query_each(
        &format!(
            "SELECT 'i', own.relname, owner.relname FROM pg_class AS owner JOIN pg_index ON indrelid = owner.oid \
             JOIN pg_class AS own ON own.oid = indexrelid WHERE owner.relnamespace = {SCHEMA} \
             AND owner.relname IN ({tables}) UNION ALL SELECT 'S', own.relname, owner.relname FROM pg_class AS own \
             JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = own.oid \
             AND refclassid = 'pg_class'::regclass AND deptype IN ('a', 'i') JOIN pg_class AS owner \
             ON owner.oid = refobjid WHERE own.relkind = 'S' AND owner.relnamespace = {SCHEMA} \
             AND owner.relname IN ({tables}) ORDER BY 1, 3, 2"
        ),
        &mut |row| {
            if let [Some(kind), Some(name), Some(of)] = *row {
                let kind = if kind == "S" { ThingKind::Sequence } else { ThingKind::Index };
                parts.push(Thing::part(kind, name, of));
            }
        },
    )?;
    let indexes: Vec<Thing> = parts.iter().filter(|part| part.kind == ThingKind::Index).cloned().collect();
    into.notes.extend(note_of_indexes(&indexes));
    into.ours.extend(parts);
    Ok(())
}

/// Adds the entries for shards, unless tables of others use them: they belong to the database, not to a schema.
fn add_servers(wire: &mut Wire, tables: &str, into: &mut Inventory) -> Result<(), SqlError> {
    let mut servers = Vec::new();
    wire.query_each(
        &format!(
            "{} SELECT srvname, (SELECT min(ftrelid::regclass::text) FROM pg_foreign_table WHERE ftserver = server.oid \
             AND ftrelid NOT IN (SELECT part FROM named)), (SELECT min(usename::text) FROM pg_user_mappings \
             WHERE srvid = server.oid AND usename <> current_user), pg_get_userbyid(srvowner) = current_user \
             FROM pg_foreign_server AS server WHERE {SERVERS} ORDER BY 1",
            with_parts(tables)
        ),
        &mut |row| {
            if let [Some(name), table, user, owned] = *row {
                let text = |value: Option<&str>| value.map(str::to_owned);
                servers.push((name.to_owned(), text(table), text(user), owned == Some("t")));
            }
        },
    )?;
    let any = !servers.is_empty();
    for (name, table, user, owned) in servers {
        let what = format!("server {name}");
        match (table, user) {
            (Some(table), _) => {
                into.stays.push(Others::new(what, format!("the foreign table {table} uses it")))
            }
            (None, Some(user)) => into
                .in_the_way
                .push(Others::new(format!("user mapping of {user}"), format!("it depends on the {what}"))),
            (None, None) if !owned => into.stays.push(Others::new(what, "another role made it")),
            (None, None) => into.ours.push(Thing::new(ThingKind::Server, name)),
        }
    }
    if any {
        into.notes.push("the extension postgres_fdw stays: others may use it".into());
    }
    Ok(())
}

/// Adds the objects of others that depend on the tables and functions: views, foreign keys, functions, triggers, rules,
/// publications, tables that inherit.
fn add_dependents(
    wire: &mut Wire,
    tables: &str,
    procedures: &str,
    into: &mut Inventory,
) -> Result<(), SqlError> {
    let named = with_parts(tables);
    wire.query_each(
        &format!(
            "{named}, ours AS (SELECT 'pg_class'::regclass AS class, part AS id FROM named \
             UNION ALL SELECT 'pg_type'::regclass, t.oid FROM pg_type AS t JOIN named ON typrelid = part \
             UNION ALL SELECT 'pg_type'::regclass, t.typarray FROM pg_type AS t JOIN named ON typrelid = part \
             UNION ALL SELECT 'pg_proc'::regclass, oid FROM pg_proc WHERE pronamespace = {SCHEMA} \
             AND oid::regprocedure::text IN ({procedures})), \
             own AS (SELECT class, id FROM ours \
             UNION ALL SELECT 'pg_constraint'::regclass, oid FROM pg_constraint WHERE conrelid IN (SELECT part FROM named) \
             UNION ALL SELECT 'pg_attrdef'::regclass, oid FROM pg_attrdef WHERE adrelid IN (SELECT part FROM named) \
             UNION ALL SELECT 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid IN (SELECT part FROM named) \
             UNION ALL SELECT 'pg_statistic_ext'::regclass, oid FROM pg_statistic_ext \
             WHERE stxrelid IN (SELECT part FROM named)), \
             others AS (SELECT DISTINCT classid, objid, refclassid, refobjid FROM pg_depend \
             JOIN ours ON class = refclassid AND id = refobjid WHERE deptype = 'n' \
             AND NOT EXISTS (SELECT FROM own WHERE class = classid AND id = objid) \
             AND NOT EXISTS (SELECT FROM pg_constraint WHERE classid = 'pg_constraint'::regclass AND oid = objid \
             AND conparentid <> 0)) \
             SELECT DISTINCT CASE WHEN classid = 'pg_rewrite'::regclass THEN (SELECT CASE WHEN rulename = '_RETURN' \
             THEN pg_describe_object('pg_class'::regclass, ev_class, 0) \
             ELSE pg_describe_object(classid, objid, 0) END FROM pg_rewrite WHERE oid = objid) \
             ELSE pg_describe_object(classid, objid, 0) END, pg_describe_object(refclassid, refobjid, 0) FROM others \
             UNION SELECT pg_describe_object('pg_trigger'::regclass, oid, 0), \
             pg_describe_object('pg_class'::regclass, tgrelid, 0) FROM pg_trigger \
             WHERE NOT tgisinternal AND tgrelid IN (SELECT part FROM named) \
             UNION SELECT pg_describe_object('pg_rewrite'::regclass, oid, 0), \
             pg_describe_object('pg_class'::regclass, ev_class, 0) FROM pg_rewrite \
             WHERE rulename <> '_RETURN' AND ev_class IN (SELECT part FROM named) \
             UNION SELECT 'publication ' || pubname, pg_describe_object('pg_class'::regclass, prrelid, 0) \
             FROM pg_publication_rel JOIN pg_publication ON pg_publication.oid = prpubid \
             WHERE prrelid IN (SELECT part FROM named) ORDER BY 1, 2"
        ),
        &mut |row| {
            if let [Some(what), Some(on)] = *row {
                into.in_the_way.push(Others::new(what, format!("it depends on {on}")));
            }
        },
    )
}

/// True if a load makes a partition of this name.
fn is_part(name: &str, of: &str) -> bool {
    let rest = name.strip_prefix(of).and_then(|rest| rest.strip_prefix('_'));
    let number = rest.map(|rest| rest.strip_prefix('p').unwrap_or(rest));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Adds partitions that somebody has added to the tables: they would go with these.
fn add_partitions(wire: &mut Wire, tables: &str, into: &mut Inventory) -> Result<(), SqlError> {
    wire.query_each(
        &format!(
            "{} SELECT child.oid::regclass::text, child.relname, parent.relname, child.relnamespace = {SCHEMA} FROM named \
             JOIN pg_inherits ON inhparent = part JOIN pg_class AS child ON child.oid = inhrelid \
             JOIN pg_class AS parent ON parent.oid = inhparent WHERE child.relispartition ORDER BY 1",
            with_parts(tables)
        ),
        &mut |row| {
            if let [Some(name), Some(part), Some(of), here] = *row
                && !(here == Some("t") && is_part(part, of))
            {
                let reason = format!("it is a partition of {of} that Lydite did not make");
                into.in_the_way.push(Others::new(format!("table {name}"), reason));
            }
        },
    )
}

impl Postgres {
    /// Looks at this server alone.
    fn look(&self, wire: &mut Wire) -> Result<Look, SqlError> {
        let heap = self.config.product.heap;
        let found = objects(wire, heap)?;
        let Look { mark, mut inventory } = Look::at(wire, &found)?;
        let tables = list(inventory.ours.iter().map(|thing| thing.name.as_str()));
        if self.config.product.modes.contains(&TxMode::Procedures) {
            add_procedures(wire, mark, &mut inventory)?;
        }
        // The other products implement these catalogs only in part. They reject a drop that others depend on.
        if heap {
            let procedures = inventory.ours.iter().filter(|thing| thing.kind == ThingKind::Procedure);
            let procedures = list(procedures.map(|thing| thing.name.as_str()));
            add_dependents(wire, &tables, &procedures, &mut inventory)?;
            if mark != (Mark::Tpcc { own: true }) {
                add_partitions(wire, &tables, &mut inventory)?;
            }
            add_parts(wire, &tables, &mut inventory)?;
            add_servers(wire, &tables, &mut inventory)?;
        }
        if self.config.shards.is_empty() {
            inventory.notes.extend(mark.note_of_shard());
        }
        Ok(Look { mark, inventory })
    }

    /// Looks at all servers.
    fn look_at_all(&self, wire: &mut Wire) -> Result<Look, TargetError> {
        let mut look = self.look(wire).map_err(self.failed("look for what Lydite has made"))?;
        for shard in &self.shards {
            let there = shard.look_at_all(&mut shard.connect_wire()?)?.inventory;
            look.inventory.add_server(&shard.config.place(), there);
        }
        Ok(look)
    }

    /// Returns the statements that drop the things of one server, without the notes if these come later.
    fn drops(things: &[&Thing], schema: &str) -> Vec<String> {
        let of = |kind: ThingKind| {
            let names = things.iter().filter(|thing| thing.kind == kind);
            names.map(|thing| format!("{}.{}", quoted(schema), quoted(&thing.name))).collect::<Vec<_>>()
        };
        let mut drops = Vec::new();
        // The catalog writes names of functions as statements need them.
        let functions = things.iter().filter(|thing| thing.kind == ThingKind::Procedure);
        drops.extend(functions.map(|function| format!("DROP FUNCTION {}", function.name)));
        for (kind, words) in [(ThingKind::ForeignTable, "FOREIGN TABLE"), (ThingKind::Table, "TABLE")] {
            let names = of(kind);
            if !names.is_empty() {
                drops.push(format!("DROP {words} {}", names.join(", ")));
            }
        }
        let servers = things.iter().filter(|thing| thing.kind == ThingKind::Server);
        drops.extend(servers.map(|server| {
            let name = &server.name;
            format!("DROP USER MAPPING IF EXISTS FOR CURRENT_USER SERVER {name}; DROP SERVER {name}")
        }));
        drops
    }

    /// Drops things of this server, all or none.
    fn drop_things(&self, wire: &mut Wire, things: &[&Thing]) -> Result<(), TargetError> {
        let schema = wire.column("SELECT current_schema()").map_err(self.failed("look for the schema"))?;
        let drops = Self::drops(things, &schema.concat());
        if drops.is_empty() { Ok(()) } else { self.insist(wire, &drops.join("; ")) }
    }
}

impl Leaving for Postgres {
    fn inventory(&self) -> Result<Inventory, TargetError> {
        Ok(self.look_at_all(&mut self.connect_wire()?)?.inventory)
    }

    fn remove(&self, seen: &Inventory) -> Result<(), TargetError> {
        let mut lock = LoadLock::take(&self.config)?;
        let mut on_shards =
            self.shards.iter().map(|shard| LoadLock::take(&shard.config)).collect::<Result<Vec<_>, _>>()?;
        let Look { mark, inventory } = self.look_at_all(lock.wire())?;
        inventory.check_removal(seen, &self.config.place())?;
        let here = inventory.ours_on(None);
        if here.len() == inventory.ours.len() {
            self.drop_things(lock.wire(), &here)?;
        } else {
            // Several servers do not drop in one transaction. So the notes go last, and say from the beginning that the
            // database is being dropped.
            if mark.has_state() {
                lock.wire().execute(&note_state(DROPPING)).map_err(self.failed("note the drop"))?;
            }
            let (notes, rest): (Vec<&Thing>, Vec<&Thing>) =
                here.into_iter().partition(|thing| thing.name == OWN_TABLES[0]);
            for (shard, right) in self.shards.iter().zip(&mut on_shards) {
                shard.drop_things(right.wire(), &inventory.ours_on(Some(&shard.config.place())))?;
            }
            self.drop_things(lock.wire(), &rest)?;
            self.drop_things(lock.wire(), &notes)?;
        }
        for right in on_shards.into_iter().chain([lock]) {
            right.release().map_err(self.failed("end the drop"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_functions_are_known_by_name() {
        let names: Vec<&str> = procedure_names().collect();
        assert_eq!(names.len(), PROCEDURES.matches("CREATE OR REPLACE FUNCTION").count());
        assert!(names.iter().all(|name| name.starts_with("lydite_")), "{names:?}");
    }

    #[test]
    fn partitions_of_a_load_are_known_by_name() {
        assert!(is_part("stock_p12", "stock") && is_part("order_line_3", "order_line"));
        assert!(!is_part("stock_px", "stock") && !is_part("stocks", "stock") && !is_part("stock_p", "stock"));
    }

    #[test]
    fn names_are_quoted_and_nothing_is_dropped_by_cascade() {
        let things = [
            Thing::new(ThingKind::Table, "stock"),
            Thing::new(ThingKind::Table, "item"),
            Thing::part(ThingKind::Index, "stock_pkey", "stock"),
            Thing::new(ThingKind::Procedure, "lydite_stock_level(integer,integer,integer)"),
        ];
        let drops = Postgres::drops(&things.iter().collect::<Vec<_>>(), "a\"b");
        assert_eq!(
            drops,
            [
                "DROP FUNCTION lydite_stock_level(integer,integer,integer)",
                "DROP TABLE \"a\"\"b\".\"stock\", \"a\"\"b\".\"item\""
            ]
        );
    }
}
