//! Lydite's own notes in a store: the description of the database, and the progress of its load. The names are those of
//! the SQL databases.

use crate::facts::DatabaseState;
use crate::kv::any::{AnyStore, AnyTx};
use crate::kv::codec::Key;
use crate::kv::lists;
use crate::kv::store::{Access, Direction, KeyRange, KvTable, Pending, StoreTx};
use crate::kv::store_error::StoreError;
use crate::load::LoadUnit;
use lydite_tpcc::limits::MAX_WAREHOUSES;
use lydite_tpcc::meta::{DatabaseMeta, POPULATION_VERSION, Played, ScriptNote, Scripts};
use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::population::Population;
use lydite_tpcc::{Districts, Size, Timestamp, TransactionKind, WarehouseId};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

const TABLE: KvTable = KvTable::Meta;

/// Prefix of the note of a loaded unit. The big-endian number of the unit follows.
const LOADED: &[u8] = b"loaded ";

/// Note of the spread of districts over the warehouses. Without it each warehouse has ten.
const DATA_SKEW: &str = "data_skew";

/// Note of the size. Without it the size is the standard's.
const SIZE: &str = "size";

/// Note of the file of statements that made the tables. Without it Lydite's own did.
const SCHEMA: &str = "schema";
/// Note of the file of statements that follow the rows.
const AFTER_LOAD: &str = "after_load";

/// Note of the directory of another program's files. Longer paths have none.
const FILES: &str = "files";
/// Most bytes of this path.
const MAX_PATH: usize = 200;

/// State of a database whose tables are not all there yet. A load leaves it if it is stopped there.
pub const CREATING: &str = "creating";
/// State of a database that is being dropped. A drop leaves it if it is stopped.
pub const DROPPING: &str = "dropping";

/// Name of the note of the state.
pub const STATE: &[u8] = b"state";

/// True if this is a value of the state. Then Lydite has loaded the store, or began to.
#[must_use]
pub fn is_state(value: &[u8]) -> bool {
    [CREATING, DROPPING, "loading", "ready"].iter().any(|state| state.as_bytes() == value)
}

/// True if this is the name of a note that a load or a run makes.
#[must_use]
pub fn is_note(name: &[u8]) -> bool {
    const NAMES: [&str; 10] =
        ["warehouses", "seed", "c_load", "population", "lydite", DATA_SKEW, SIZE, SCHEMA, AFTER_LOAD, FILES];
    let is = |known: &str| known.as_bytes() == name;
    name == STATE
        || NAMES.into_iter().any(is)
        || Played::NOTED.iter().any(|kind| is(kind.name()))
        || name.strip_prefix(LOADED).is_some_and(|unit| unit.len() == 4)
}

/// Notes that do not describe a loaded database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotesError {
    /// The state says [`CREATING`].
    #[error("a load was stopped while it created the tables, or is at it")]
    Creating,
    /// The state says [`DROPPING`].
    #[error("a drop was stopped, or is at work")]
    Dropping,
    /// The note with this name is missing, or its value is bad.
    #[error("lydite_meta has no {0} or a bad one")]
    Bad(&'static str),
}

/// Reason why the initial rows of a database are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownPopulation {
    /// An older Lydite made other rows.
    #[error("an older Lydite loaded the database, so its initial rows are not known: load with --fresh")]
    Outdated,
    /// The rows were loaded from another program's files.
    #[error("another program made the rows, so the initial ones are not known")]
    Foreign,
}

/// Stores `meta` in the state "loading".
pub fn create(tx: &mut AnyTx<'_>, meta: &DatabaseMeta) -> Result<(), StoreError> {
    tx.put(TABLE, STATE, b"loading")?;
    notes(meta).iter().try_for_each(|(name, value)| tx.put(TABLE, name.as_bytes(), value.as_bytes()))
}

/// Returns the notes of a database that is to be loaded with `meta`, without its state.
pub fn notes(meta: &DatabaseMeta) -> Vec<(&'static str, String)> {
    let mut notes = vec![
        ("warehouses", meta.warehouses.to_string()),
        ("seed", meta.seed.to_string()),
        ("c_load", meta.c_load.0.to_string()),
        ("population", meta.population.to_string()),
        ("lydite", meta.lydite.clone()),
    ];
    notes.extend(meta.districts.skew().map(|skew| (DATA_SKEW, skew.to_string())));
    notes.extend((meta.size != Size::Standard).then(|| (SIZE, meta.size.name().to_string())));
    let Scripts { schema, after_load } = &meta.scripts;
    notes.extend(schema.as_ref().map(|script| (SCHEMA, script.to_string())));
    notes.extend(after_load.as_ref().map(|script| (AFTER_LOAD, script.to_string())));
    let short = |files: &&String| files.len() <= MAX_PATH;
    notes.extend(meta.files.as_ref().filter(short).map(|files| (FILES, files.clone())));
    notes
}

/// Notes that a unit is loaded: a warehouse, or 0 for ITEM.
pub fn note_loaded(tx: &mut AnyTx<'_>, unit: LoadUnit) -> Result<(), StoreError> {
    let mut key: Key = LOADED.iter().copied().collect();
    key.extend(unit.warehouse().0.to_be_bytes());
    tx.put(TABLE, &key, &[])
}

/// Value of the note of a transaction that was played; its name is the transaction's.
pub const PLAYED: &str = "played";

/// Returns the names of the notes that a database lacks before these transactions are played on it.
pub fn unnoted<'a>(
    kinds: &'a [TransactionKind],
    meta: &'a DatabaseMeta,
) -> impl Iterator<Item = &'static str> + use<'a> {
    let noted = Played::of(|kind| kinds.contains(&kind));
    let [noted, there] = [noted, meta.played].map(|played| [played.update_item, played.update_stock]);
    let missing =
        Played::NOTED.into_iter().zip(noted).zip(there).filter(|((_, noted), there)| *noted && !there);
    missing.map(|((kind, _), _)| kind.name())
}

/// Notes that these transactions are played from now on.
pub fn note_played(
    tx: &mut AnyTx<'_>,
    kinds: &[TransactionKind],
    meta: &DatabaseMeta,
) -> Result<(), StoreError> {
    unnoted(kinds, meta).try_for_each(|name| tx.put(TABLE, name.as_bytes(), PLAYED.as_bytes()))
}

/// Notes that the load has ended.
pub fn note_ready(store: &dyn AnyStore) -> Result<(), StoreError> {
    let mut tx = store.begin_any(Access::Write)?;
    tx.put(TABLE, STATE, b"ready")?;
    tx.commit()?.wait()
}

/// Notes that the drop has begun, so the rest after a stop is known as Lydite's.
pub fn note_dropping(store: &dyn AnyStore) -> Result<(), StoreError> {
    let mut tx = store.begin_any(Access::Write)?;
    tx.put(TABLE, STATE, DROPPING.as_bytes())?;
    tx.commit()?.wait()
}

/// Reads the notes.
pub fn state(tx: &mut AnyTx<'_>) -> Result<DatabaseState, StoreError> {
    let mut notes: BTreeMap<String, String> = BTreeMap::new();
    let mut units: Vec<u32> = Vec::new();
    tx.scan(TABLE, KeyRange::ALL, Direction::Forward, &mut |key, value| {
        if lists::is_ours(key) {
            return ControlFlow::Continue(());
        }
        match key.strip_prefix(LOADED) {
            Some(unit) => units.extend(unit.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))),
            None => {
                let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                notes.insert(text(key), text(value));
            }
        }
        ControlFlow::Continue(())
    })?;
    if notes.is_empty() && units.is_empty() {
        let tables = tables_with_rows(tx)?;
        return Ok(if tables.is_empty() { DatabaseState::Empty } else { DatabaseState::Foreign { tables } });
    }
    match from_notes(&notes, &units) {
        Ok(state) => Ok(state),
        Err(error) => {
            let problem = error.to_string();
            let mut tables = tables_with_rows(tx)?;
            tables.push(TABLE.name().to_string());
            Ok(DatabaseState::Partial { tables, problem, meta: meta(&notes).ok().map(Box::new) })
        }
    }
}

/// Reads the state from notes. `units` are the loaded units; 0 is ITEM.
///
/// # Errors
/// A note is missing or bad. The error names it.
pub fn from_notes(notes: &BTreeMap<String, String>, units: &[u32]) -> Result<DatabaseState, NotesError> {
    match notes.get("state").map(String::as_str) {
        Some(CREATING) => return Err(NotesError::Creating),
        Some(DROPPING) => return Err(NotesError::Dropping),
        _ => {}
    }
    let meta = meta(notes)?;
    match notes.get("state").map(String::as_str) {
        Some("ready") => Ok(DatabaseState::Ready { meta }),
        Some("loading") => Ok(DatabaseState::Loading {
            meta,
            items: units.contains(&0),
            warehouses: units.iter().filter(|&&unit| unit > 0).map(|&unit| WarehouseId(unit)).collect(),
        }),
        _ => Err(NotesError::Bad("state")),
    }
}

/// Reads the description of a database from its notes.
///
/// # Errors
/// A note is missing or bad. The error names it.
pub fn meta(notes: &BTreeMap<String, String>) -> Result<DatabaseMeta, NotesError> {
    let warehouses = note(notes, "warehouses", |count: &u32| (1..=MAX_WAREHOUSES).contains(count))?;
    let districts = match notes.get(DATA_SKEW) {
        None => Some(Districts::uniform()),
        Some(skew) => skew.parse().ok().and_then(|skew| Districts::spread(skew, warehouses).ok()),
    };
    let size = match notes.get(SIZE) {
        None => Some(Size::Standard),
        Some(name) => Size::from_name(name),
    };
    let script = |name: &'static str| {
        notes.get(name).map(|text| ScriptNote::parse(text).ok_or(NotesError::Bad(name))).transpose()
    };
    Ok(DatabaseMeta {
        warehouses,
        districts: districts.ok_or(NotesError::Bad(DATA_SKEW))?,
        size: size.ok_or(NotesError::Bad(SIZE))?,
        seed: note(notes, "seed", |_| true)?,
        c_load: CLoad(note(notes, "c_load", |_| true)?),
        population: note(notes, "population", |_| true)?,
        lydite: note(notes, "lydite", |_| true)?,
        played: Played::of(|kind| notes.contains_key(kind.name())),
        files: notes.get(FILES).cloned(),
        scripts: Scripts { schema: script(SCHEMA)?, after_load: script(AFTER_LOAD)? },
    })
}

/// Returns the initial rows of a database.
///
/// # Errors
/// The rows are not known.
pub fn initial_rows(meta: &DatabaseMeta) -> Result<Population, UnknownPopulation> {
    if meta.is_foreign() {
        return Err(UnknownPopulation::Foreign);
    }
    if meta.population != POPULATION_VERSION {
        return Err(UnknownPopulation::Outdated);
    }
    Ok(Population::from_meta(meta, Timestamp(0)))
}

/// Reads the note `name`.
fn note<T: std::str::FromStr>(
    notes: &BTreeMap<String, String>,
    name: &'static str,
    good: impl Fn(&T) -> bool,
) -> Result<T, NotesError> {
    notes.get(name).and_then(|text| text.parse().ok()).filter(good).ok_or(NotesError::Bad(name))
}

/// Returns the tables with rows, and the indexes with entries. Rows without notes were not loaded by Lydite, or their reset was interrupted.
fn tables_with_rows(tx: &mut AnyTx<'_>) -> Result<Vec<String>, StoreError> {
    let mut tables = Vec::new();
    for table in KvTable::ALL.into_iter().filter(|&table| table != TABLE) {
        let mut found = false;
        tx.scan(table, KeyRange::ALL, Direction::Forward, &mut |_, _| {
            found = true;
            ControlFlow::Break(())
        })?;
        if found {
            tables.push(table.name().to_string());
        }
    }
    Ok(tables)
}
