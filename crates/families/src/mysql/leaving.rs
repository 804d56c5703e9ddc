//! The list of what Lydite has made in a database of MySQL's family, from the information schema, and its removal.

use crate::mysql::grants::quoted;
use crate::mysql::load_lock::LoadLock;
use crate::mysql::spider;
use crate::mysql::wire::Wire;
use crate::mysql::{Mysql, errors, lists, procedures, product};
use lydite_database::kv::meta::DROPPING;
use lydite_database::sql::leaving::{Found, Look, Mark, list, note_of_indexes};
use lydite_database::sql::meta::{Admin, OWN_TABLES, note_state};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{Inventory, Leaving, Others, TargetError, Thing, ThingKind};
use lydite_tpcc::schema::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

/// Reads the objects with names of Lydite's. The second value is true if one of them is Spider's.
fn objects(wire: &mut Wire) -> Result<(Vec<Found>, bool), SqlError> {
    // Else MySQL answers what it knew up to a day ago. Servers without the setting have no such answers.
    let _unknown = wire.execute("SET SESSION information_schema_stats_expiry = 0");
    let (mut found, mut over_shards) = (Vec::new(), false);
    wire.query_each(
        "SELECT table_name, table_type, engine, table_rows, data_length + index_length FROM information_schema.tables \
         WHERE table_schema = database() ORDER BY 1",
        &mut |row| {
            let [Some(name), kind, engine, rows, bytes] = *row else { return };
            if !Found::concerns(name) {
                return;
            }
            let foreign = engine.is_some_and(spider::is_spider);
            over_shards |= foreign;
            let no_table = match kind {
                Some("VIEW") => Some("view"),
                Some("SEQUENCE") => Some("sequence"),
                _ => None,
            };
            found.push(Found { no_table, foreign, ..Found::read(name, None, rows, bytes) });
        },
    )?;
    let mut columns: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    wire.query_each(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = database()",
        &mut |row| {
            if let [Some(name), Some(column)] = *row {
                columns.entry(name.to_owned()).or_default().insert(column.to_ascii_lowercase());
            }
        },
    )?;
    for object in &mut found {
        object.columns = columns.remove(&object.name).unwrap_or_default();
    }
    Ok((found, over_shards))
}

/// Adds the procedures of `--tx procedures`: those with a text of this version, and beside tables of Lydite's those of
/// another version, which name their arguments alike.
fn add_procedures(wire: &mut Wire, mark: Mark, into: &mut Inventory) -> Result<(), SqlError> {
    let product = wire.product;
    let texts = [Some(product.dialect), product.snapshot_dialect, Some(&product::SPIDER_DIALECT)];
    let texts: String = texts.into_iter().flatten().map(procedures).collect();
    let names: BTreeSet<&str> =
        texts.split("CREATE PROCEDURE ").skip(1).filter_map(|text| text.split('(').next()).collect();
    let names = list(names.into_iter());
    let mut first_arguments: BTreeMap<String, String> = BTreeMap::new();
    wire.query_each(
        &format!(
            "SELECT specific_name, parameter_name FROM information_schema.parameters WHERE specific_schema = database() \
             AND ordinal_position = 1 AND specific_name IN ({names})"
        ),
        &mut |row| {
            if let [Some(name), Some(argument)] = *row {
                first_arguments.insert(name.to_owned(), argument.to_owned());
            }
        },
    )?;
    wire.query_each(
        &format!(
            "SELECT routine_name, routine_type, routine_definition FROM information_schema.routines \
             WHERE routine_schema = database() AND routine_name IN ({names}) ORDER BY 1"
        ),
        &mut |row| {
            let [Some(name), Some(kind), text] = *row else { return };
            let is_this = text.is_some_and(|text| text.len() > 20 && texts.contains(text.trim()));
            let argument = first_arguments.get(name);
            let is_other = mark.is_ours() && argument.is_some_and(|argument| argument.starts_with("in_"));
            if kind == "PROCEDURE" && (is_this || is_other) {
                into.ours.push(Thing::new(ThingKind::Procedure, name));
            } else {
                let what = format!("{} {name}", kind.to_ascii_lowercase());
                into.stays.push(Others::new(what, "its text is not Lydite's, or this account can't read it"));
            }
        },
    )
}

/// Adds the indexes of the tables.
fn add_indexes(wire: &mut Wire, tables: &str, into: &mut Inventory) -> Result<(), SqlError> {
    let mut indexes = Vec::new();
    wire.query_each(
        &format!(
            "SELECT DISTINCT table_name, index_name FROM information_schema.statistics \
             WHERE table_schema = database() AND table_name IN ({tables}) ORDER BY 1, 2"
        ),
        &mut |row| {
            if let [Some(of), Some(name)] = *row {
                indexes.push(Thing::part(ThingKind::Index, name, of));
            }
        },
    )?;
    into.notes.extend(note_of_indexes(&indexes));
    into.ours.extend(indexes);
    Ok(())
}

/// Adds the objects of others that depend on the tables. The server would drop a table below a view without a word.
fn add_dependents(wire: &mut Wire, ours: &[String], into: &mut Inventory) -> Result<(), SqlError> {
    let tables = list(ours.iter().map(String::as_str));
    let in_the_way = &mut into.in_the_way;
    wire.query_each(
        &format!(
            "SELECT DISTINCT constraint_name, table_schema, table_name, referenced_table_name \
             FROM information_schema.key_column_usage WHERE referenced_table_schema = database() \
             AND referenced_table_name IN ({tables}) AND NOT (table_schema = database() AND table_name IN ({tables})) \
             ORDER BY 1, 2, 3"
        ),
        &mut |row| {
            if let [Some(name), Some(schema), Some(table), Some(on)] = *row {
                let what = format!("foreign key {name} of {schema}.{table}");
                in_the_way.push(Others::new(what, format!("it refers to table {on}")));
            }
        },
    )?;
    wire.query_each(
        &format!(
            "SELECT trigger_name, event_object_table FROM information_schema.triggers \
             WHERE event_object_schema = database() AND event_object_table IN ({tables}) ORDER BY 1"
        ),
        &mut |row| {
            if let [Some(name), Some(on)] = *row {
                in_the_way.push(Others::new(format!("trigger {name}"), format!("it depends on table {on}")));
            }
        },
    )?;
    let mut hidden = Vec::new();
    wire.query_each(
        "SELECT table_schema, table_name, view_definition, database() FROM information_schema.views \
         WHERE table_schema NOT IN ('sys', 'mysql', 'information_schema', 'performance_schema') ORDER BY 1, 2",
        &mut |row| {
            let [Some(schema), Some(name), text, Some(database)] = *row else { return };
            let Some(text) = text.filter(|text| !text.is_empty()) else {
                hidden.push(format!("{schema}.{name}"));
                return;
            };
            if let Some(on) = ours.iter().find(|table| shows(text, schema, database, table)) {
                let what = format!("view {schema}.{name}");
                in_the_way.push(Others::new(what, format!("it shows table {on}")));
            }
        },
    )?;
    if !hidden.is_empty() {
        into.notes.push(format!(
            "views whose text this account can't read (SHOW VIEW) may show these tables: {}",
            hidden.join(", ")
        ));
    }
    Ok(())
}

/// Adds a note if the account can't see triggers of others. Servers without this catalog get none.
fn add_note_of_triggers(wire: &mut Wire, into: &mut Inventory) {
    let rights = wire.column(
        "SELECT count(*) FROM (SELECT grantee, privilege_type FROM information_schema.user_privileges \
         UNION ALL SELECT grantee, privilege_type FROM information_schema.schema_privileges \
         WHERE database() LIKE table_schema) AS rights WHERE privilege_type = 'TRIGGER' \
         AND grantee = concat('''', left(current_user(), length(current_user()) - 1 \
         - length(substring_index(current_user(), '@', -1))), '''@''', substring_index(current_user(), '@', -1), '''')",
    );
    if rights.is_ok_and(|rights| rights == ["0"]) {
        into.notes.push(
            "this account lacks the right TRIGGER and may not see triggers: one of others on these tables would go with them"
                .into(),
        );
    }
}

/// True if a view with this text, of a schema, shows a table of the database.
fn shows(text: &str, schema: &str, database: &str, table: &str) -> bool {
    let full = format!("{}.`{table}`", quoted(database));
    let begins = ["from `", "join `", "(`", ",`"].map(|before| format!("{before}{table}`"));
    text.contains(&full) || schema == database && begins.iter().any(|begin| text.contains(begin.as_str()))
}

impl Mysql {
    /// Looks at this server alone.
    fn look(&self, wire: &mut Wire) -> Result<Look, SqlError> {
        let (found, has_spider) = objects(wire)?;
        let Look { mark, mut inventory } = Look::at(wire, &found)?;
        let names: Vec<String> = inventory.ours.iter().map(|thing| thing.name.clone()).collect();
        if wire.product.procedures {
            add_procedures(wire, mark, &mut inventory)?;
        }
        add_dependents(wire, &names, &mut inventory)?;
        if !names.is_empty() {
            add_note_of_triggers(wire, &mut inventory);
        }
        add_indexes(wire, &list(names.iter().map(String::as_str)), &mut inventory)?;
        // The names of these entries contain the database's.
        if has_spider || !self.shards.is_empty() {
            for server in spider::server_names(wire)?.into_iter().chain(lists::server_names(wire)?) {
                inventory.ours.push(Thing::new(ThingKind::Server, server));
            }
        }
        if !wire.product.before_together.is_empty() && self.config.partitions.is_some() {
            inventory.notes.push(
                "the tablegroup lydite stays, since other databases of the tenant may use it: DROP TABLEGROUP lydite".into(),
            );
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

    /// Drops things of this server, the table of notes last.
    fn drop_things(&self, wire: &mut Wire, things: &[&Thing]) -> Result<(), TargetError> {
        let failed = self.failed("drop what Lydite has made");
        let kind = "BASE TABLE".to_owned();
        let (notes, mut tables): (Vec<(&String, &String)>, Vec<_>) = things
            .iter()
            .filter(|thing| matches!(thing.kind, ThingKind::Table | ThingKind::ForeignTable))
            .map(|thing| (&thing.name, &kind))
            .partition(|(name, _)| *name == OWN_TABLES[0]);
        tables.sort_by_key(|(name, _)| {
            let of = |name: &str| CHILDREN_FIRST.iter().position(|table| table.name() == name);
            of(name).unwrap_or(CHILDREN_FIRST.len())
        });
        for procedure in things.iter().filter(|thing| thing.kind == ThingKind::Procedure) {
            let sql = format!("DROP PROCEDURE IF EXISTS {}", quoted(&procedure.name));
            wire.execute(&sql).map_err(&failed)?;
        }
        // The server itself keeps a table that one of others refers to, which this account may not see.
        self.drop_objects(wire, &tables)?;
        for server in things.iter().filter(|thing| thing.kind == ThingKind::Server) {
            match wire.execute(&format!("DROP SERVER {}", server.name)) {
                Err(error) if errors::has_code(&error, NO_SERVER) => {}
                dropped => dropped.map_err(&failed)?,
            }
        }
        self.drop_objects(wire, &notes)
    }
}

/// The nine tables, each before those that it refers to. The notes of a load's progress follow.
const CHILDREN_FIRST: [Table; 9] = [
    Table::OrderLine,
    Table::NewOrder,
    Table::History,
    Table::Orders,
    Table::Customer,
    Table::Stock,
    Table::District,
    Table::Warehouse,
    Table::Item,
];

/// Code of a server entry that is not there.
const NO_SERVER: u16 = 1477;

impl Leaving for Mysql {
    fn inventory(&self) -> Result<Inventory, TargetError> {
        Ok(self.look_at_all(&mut self.connect_wire()?)?.inventory)
    }

    fn remove(&self, seen: &Inventory) -> Result<(), TargetError> {
        // The next tables may be of another kind.
        *self.parted.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut lock = LoadLock::take(&self.config)?;
        let mut on_shards =
            self.shards.iter().map(|shard| LoadLock::take(&shard.config)).collect::<Result<Vec<_>, _>>()?;
        let Look { mark, inventory } = self.look_at_all(lock.wire())?;
        inventory.check_removal(seen, &self.config.place())?;
        if mark.has_state() {
            // DDL has no transactions. Whatever is left after a stop can't be run, and is known as Lydite's.
            lock.wire().execute(&note_state(DROPPING)).map_err(self.failed("note the drop"))?;
        }
        for (shard, right) in self.shards.iter().zip(&mut on_shards) {
            shard.drop_things(right.wire(), &inventory.ours_on(Some(&shard.config.place())))?;
        }
        self.drop_things(lock.wire(), &inventory.ours_on(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_shows_a_table_only_if_its_text_names_that_table() {
        let text = "select `tpcc`.`stock`.`s_quantity` AS `history` from `tpcc`.`stock`";
        assert!(shows(text, "other", "tpcc", "stock"));
        assert!(!shows(text, "tpcc", "tpcc", "history") && !shows(text, "other", "tp", "stock"));
        assert!(shows("select 1 from (`item` join `stock`)", "tpcc", "tpcc", "stock"));
        assert!(!shows("select 1 from (`item` join `stock`)", "other", "tpcc", "stock"));
    }
}
