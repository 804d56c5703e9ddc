//! The list of what Lydite has made in an SQLite file, and its removal. A file that then holds nothing is deleted.

use crate::file_templates::{note_of_link, real, remove, with_suffix};
use crate::sqlite::Sqlite;
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::load_lock::LoadLock;
use lydite_database::sql::leaving::{Found, Look, note_of_indexes};
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{Inventory, Leaving, Others, TargetError, Thing, ThingKind};

/// An object of the schema.
struct Object {
    kind: String,
    name: String,
    /// Table that an index or a trigger is on; else the name.
    on: String,
    sql: String,
}

/// Reads the schema, without SQLite's own objects.
fn schema(connection: &mut SqliteConnection) -> Result<Vec<Object>, SqlError> {
    let mut objects = Vec::new();
    connection.query_each(
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type <> 'index' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
         OR type = 'index' ORDER BY rowid",
        &mut |row| {
            if let [Some(kind), Some(name), Some(on), sql] = *row {
                objects.push(Object {
                    kind: kind.to_owned(),
                    name: name.to_owned(),
                    on: on.to_owned(),
                    sql: sql.unwrap_or_default().to_owned(),
                });
            }
        },
    )?;
    Ok(objects)
}

/// Returns the objects with names of Lydite's, with their columns and rows.
fn found(connection: &mut SqliteConnection, objects: &[Object]) -> Result<Vec<Found>, SqlError> {
    let mut found = Vec::new();
    let named = |object: &&Object| {
        matches!(object.kind.as_str(), "table" | "view") && Found::concerns(&object.name.to_ascii_lowercase())
    };
    for object in objects.iter().filter(named) {
        let quoted = object.name.replace('\'', "''");
        // A view may show what is no longer there.
        let columns = connection.column(&format!("SELECT name FROM pragma_table_xinfo('{quoted}')"));
        let columns = columns.unwrap_or_default().join(",");
        let is_view = object.kind == "view";
        let rows = if is_view {
            None
        } else {
            let count = connection
                .column(&format!("SELECT count(*) FROM \"{}\"", object.name.replace('"', "\"\"")))?;
            count.into_iter().next()
        };
        found.push(Found {
            no_table: is_view.then_some("view"),
            ..Found::read(&object.name.to_ascii_lowercase(), Some(&columns), rows.as_deref(), None)
        });
    }
    Ok(found)
}

/// Returns the first of the tables that a statement names, in whatever place.
fn names(sql: &str, tables: &[String]) -> Option<String> {
    let words = sql.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_' || letter == '$'));
    words.map(str::to_ascii_lowercase).find(|word| tables.contains(word))
}

/// Returns the objects of others that depend on the tables. SQLite itself would drop a table below a view without a word.
fn dependents(
    connection: &mut SqliteConnection,
    objects: &[Object],
    tables: &[String],
) -> Result<Vec<Others>, SqlError> {
    let mut dependents = Vec::new();
    let is_ours = |name: &str| tables.contains(&name.to_ascii_lowercase());
    for object in objects {
        let what = format!("{} {}", object.kind, object.name);
        match object.kind.as_str() {
            "trigger" if is_ours(&object.on) => {
                dependents.push(Others::new(what, format!("it depends on table {}", object.on)));
            }
            "trigger" | "view" if !is_ours(&object.name) => {
                let on = names(&object.sql, tables);
                dependents.extend(on.map(|on| Others::new(what, format!("it names table {on}"))));
            }
            "table" if !is_ours(&object.name) => {
                let quoted = object.name.replace('\'', "''");
                let keys = connection
                    .column(&format!("SELECT DISTINCT \"table\" FROM pragma_foreign_key_list('{quoted}')"))?;
                let to = keys.into_iter().find(|to| is_ours(to));
                dependents.extend(to.map(|to| {
                    Others::new(
                        format!("foreign key of table {}", object.name),
                        format!("it refers to table {to}"),
                    )
                }));
            }
            _ => {}
        }
    }
    Ok(dependents)
}

impl Sqlite {
    /// Looks at the file.
    fn look(&self, connection: &mut SqliteConnection) -> Result<Inventory, SqlError> {
        let objects = schema(connection)?;
        let found = found(connection, &objects)?;
        let Look { mut inventory, .. } = Look::at(connection, &found)?;
        let tables: Vec<String> = inventory.ours.iter().map(|thing| thing.name.clone()).collect();
        inventory.in_the_way = dependents(connection, &objects, &tables)?;
        let is_ours = |name: &str| tables.contains(&name.to_ascii_lowercase());
        // The index of a key has no statement, and a name of SQLite's.
        let indexes = objects.iter().filter(|object| object.kind == "index" && is_ours(&object.on));
        let indexes: Vec<Thing> = indexes
            .filter(|object| !object.sql.is_empty())
            .map(|object| Thing::part(ThingKind::Index, object.name.as_str(), object.on.as_str()))
            .collect();
        inventory.notes.extend(note_of_indexes(&indexes));
        inventory.ours.extend(indexes);
        if inventory.ours.is_empty() {
            if objects.is_empty() {
                let path = self.path.display();
                inventory.notes.push(format!("the file {path} holds nothing: delete it if nobody needs it"));
            }
            return Ok(inventory);
        }
        let others = objects.iter().any(|object| object.kind != "index" && !is_ours(&object.name));
        let marks = connection
            .column("SELECT 1 FROM pragma_user_version, pragma_application_id WHERE user_version <> 0 OR application_id <> 0")?;
        if others || !marks.is_empty() {
            inventory.notes.push(format!(
                "the file {} stays, since others have something in it; its journal mode stays as it is",
                self.path.display()
            ));
        } else {
            let bytes = std::fs::metadata(&self.path).ok().map(|data| data.len());
            let file = Thing::new(ThingKind::File, self.path.display().to_string());
            inventory.ours.push(Thing { bytes, ..file });
            inventory.notes.extend(note_of_link(&self.path));
        }
        Ok(inventory)
    }

    /// Opens the file so that nobody else reads or writes it until the connection is closed.
    ///
    /// # Errors
    /// Another program has the file open with a journal of mode `wal`, as a run does, or is in a transaction. Between
    /// its transactions, a connection with a journal of another mode can't be noticed. Such a connection waits, and then
    /// works on a file that has no name any more.
    fn open_alone(&self) -> Result<SqliteConnection, TargetError> {
        let mut connection = SqliteConnection::open_existing(&self.path).map_err(self.unopened())?;
        // SQLite keeps the lock of the transaction when it has ended, because of the mode.
        match connection.execute("PRAGMA locking_mode = exclusive; BEGIN EXCLUSIVE; COMMIT") {
            Ok(()) => Ok(connection),
            Err(SqlError::Database { retry: Some(_), .. }) => Err(TargetError::usage(format!(
                "{}: a run is at work, or another program has the file open: nothing was dropped; end that first",
                self.place()
            ))),
            Err(error) => Err(self.failed("lock the file")(error)),
        }
    }

    /// Deletes the file with its journals. The connection keeps it locked meanwhile, so nobody's rows are lost.
    fn delete_file(&self, mut alone: SqliteConnection) -> Result<(), TargetError> {
        // With this mode SQLite deletes nothing when the connection is closed: the name may be another file's by then.
        let mode = alone.column("PRAGMA journal_mode = delete").map_err(self.failed("close the journal"))?;
        if mode.concat() != "delete" {
            return Err(TargetError::database(format!(
                "{}: the journal can't be closed: nothing was dropped; run the command again",
                self.place()
            )));
        }
        let path = real(&self.path);
        for suffix in ["-wal", "-shm", "-journal", ""] {
            remove(&with_suffix(&path, suffix)).map_err(|error| {
                TargetError::database(format!("{}: delete the file: {error}", self.place()))
            })?;
        }
        Ok(())
    }
}

impl Leaving for Sqlite {
    fn inventory(&self) -> Result<Inventory, TargetError> {
        if !self.path.exists() {
            return Ok(Inventory::default());
        }
        let mut connection = SqliteConnection::open_to_read(&self.path).map_err(self.unopened())?;
        self.look(&mut connection).map_err(self.failed("look for what Lydite has made"))
    }

    fn remove(&self, seen: &Inventory) -> Result<(), TargetError> {
        if !self.path.exists() {
            return Ok(());
        }
        let _loads = LoadLock::take(&self.path)?;
        let mut connection = self.open_alone()?;
        let failed = self.failed("drop what Lydite has made");
        let now = self.look(&mut connection).map_err(&failed)?;
        now.check_removal(seen, &self.place())?;
        if now.ours.is_empty() {
            return Ok(());
        }
        if now.ours.iter().any(|thing| thing.kind == ThingKind::File) {
            return self.delete_file(connection);
        }
        // Dropping a table deletes its rows, which would check the foreign keys.
        connection.execute("PRAGMA foreign_keys = off").map_err(&failed)?;
        let tables = now.ours.iter().filter(|thing| thing.kind == ThingKind::Table);
        let drops: String = tables.map(|thing| format!("DROP TABLE {}; ", thing.name)).collect();
        connection.execute(&format!("BEGIN IMMEDIATE; {drops}COMMIT")).map_err(&failed)?;
        connection.execute("VACUUM").map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_names_a_table_as_a_word_in_any_quotes_and_case() {
        let tables = ["order_line".to_owned()];
        assert_eq!(names("CREATE VIEW v AS SELECT 1 FROM \"ORDER_LINE\"", &tables), Some(tables[0].clone()));
        assert_eq!(names("CREATE VIEW v AS SELECT 1 FROM my_order_line", &tables), None);
    }
}
