//! The keyspaces of the microbenchmark in Gemel, and Lydite's notes about them.

use ::gemel::{Database, Direction, Engine, Isolation, Keyspace, Result as GemelResult};
use lydite_database::DatabaseState;
use lydite_database::micro::{is_table_name, table_name};
use lydite_micro::{Engines, Home, Meta, TableId};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

/// Keyspace of Lydite's notes about the tables.
const NOTES: &str = "lydite_micro";
/// Engine of the notes, which are small and read at every start.
const NOTES_HOME: Engine = Engine::Memory;
/// Records dropped per transaction.
const DROPPED_AT_ONCE: usize = 4_096;
fn engine(home: Home) -> Engine {
    match home {
        Home::Memory => Engine::Memory,
        Home::Disk => Engine::Disk,
    }
}

/// Returns the keyspace of a table.
pub(super) fn keyspace(database: &Database, table: TableId) -> GemelResult<Keyspace> {
    database.keyspace(&table_name(Engines::Two, table), engine(table.home))
}

/// Passes all entries of a keyspace to `each`, in the order of their keys.
pub(super) fn all_entries(
    database: &Database,
    keyspace: &Keyspace,
    each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> GemelResult<()> {
    let mut transaction = database.begin(Isolation::Snapshot)?;
    transaction.scan(keyspace, Bound::Unbounded, Bound::Unbounded, Direction::Forward, each)
}

/// Returns the state of the database: from the notes, or partly dropped if there are records without notes. `None` if
/// there are neither.
pub(super) fn state(database: &Database) -> GemelResult<Option<DatabaseState>> {
    let keyspaces = database.keyspaces();
    let mut notes = BTreeMap::new();
    if keyspaces.iter().any(|(name, _)| name == NOTES) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        all_entries(database, &database.keyspace(NOTES, NOTES_HOME)?, |name, value| {
            notes.insert(text(name), text(value));
            ControlFlow::Continue(())
        })?;
    }
    if !notes.is_empty() {
        let note = |name: &str| notes.get(name).map(String::as_str);
        return Ok(Some(match Meta::from_notes(note) {
            Ok(meta) => DatabaseState::Micro { meta, ready: note("state") == Some("ready") },
            Err(name) => DatabaseState::Partial {
                tables: vec![NOTES.to_string()],
                problem: format!("{NOTES} has no {name} or a bad one"),
                meta: None,
            },
        }));
    }
    // Records without notes: a drop was interrupted.
    let mut tables = Vec::new();
    for (name, engine) in keyspaces.into_iter().filter(|(name, _)| is_table_name(name)) {
        let mut found = false;
        all_entries(database, &database.keyspace(&name, engine)?, |_, _| {
            found = true;
            ControlFlow::Break(())
        })?;
        if found {
            tables.push(name);
        }
    }
    Ok((!tables.is_empty()).then_some(DatabaseState::Foreign { tables }))
}

/// True if the keyspace holds the notes.
pub(super) fn is_notes(name: &str) -> bool {
    name == NOTES
}

/// True if there are notes.
pub(super) fn has_notes(database: &Database) -> GemelResult<bool> {
    let Some((name, engine)) = database.keyspaces().into_iter().find(|(name, _)| is_notes(name)) else {
        return Ok(false);
    };
    let keyspace = database.keyspace(&name, engine)?;
    let mut transaction = database.begin(Isolation::Snapshot)?;
    Ok(transaction.read(&keyspace, b"state", |_| ())?.is_some())
}

/// Drops the notes.
pub(super) fn forget(database: &Database) -> GemelResult<()> {
    match database.keyspaces().iter().any(|(name, _)| name == NOTES) {
        true => clear(database, NOTES, NOTES_HOME),
        false => Ok(()),
    }
}

/// Deletes all entries of a keyspace.
pub(super) fn clear(database: &Database, name: &str, engine: Engine) -> GemelResult<()> {
    clear_of(database, name, engine, |_, _| true)
}

/// Deletes the entries of a keyspace that `goes` is true for.
pub(super) fn clear_of(
    database: &Database,
    name: &str,
    engine: Engine,
    goes: impl Fn(&[u8], &[u8]) -> bool,
) -> GemelResult<()> {
    let keyspace = database.keyspace(name, engine)?;
    loop {
        let mut keys: Vec<Vec<u8>> = Vec::with_capacity(DROPPED_AT_ONCE);
        all_entries(database, &keyspace, |key, value| {
            if goes(key, value) {
                keys.push(key.to_vec());
            }
            if keys.len() < DROPPED_AT_ONCE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let mut transaction = database.begin(Isolation::Snapshot)?;
        keys.iter().try_for_each(|key| transaction.delete(&keyspace, key))?;
        transaction.commit()?.wait()?;
        if keys.len() < DROPPED_AT_ONCE {
            return Ok(());
        }
    }
}

/// Stores notes.
pub(super) fn note(database: &Database, notes: &[(&str, String)]) -> GemelResult<()> {
    let keyspace = database.keyspace(NOTES, NOTES_HOME)?;
    let mut transaction = database.begin(Isolation::Snapshot)?;
    for (name, value) in notes {
        transaction.put(&keyspace, name.as_bytes(), value.as_bytes())?;
    }
    transaction.commit()?.wait()
}
