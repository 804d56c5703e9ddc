//! Lydite's own two tables: `lydite_meta` describes the database, `lydite_load` has the progress of its load.

use crate::facts::DatabaseState;
use crate::kv::meta as kv;
use crate::load::LoadUnit;
use crate::micro::is_table_name;
use crate::sql::sql_error::SqlError;
use lydite_tpcc::TransactionKind;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;
use std::collections::BTreeMap;

/// A connection for administration: plain SQL, text answers.
pub trait Admin {
    /// Runs one or more statements and passes the rows of the answer to `row`, as texts.
    fn query_each(&mut self, sql: &str, row: &mut dyn FnMut(&[Option<&str>])) -> Result<(), SqlError>;

    /// Runs one or more statements.
    fn execute(&mut self, sql: &str) -> Result<(), SqlError> {
        self.query_each(sql, &mut |_| ())
    }

    /// Returns the first column of the answer's rows, without nulls.
    fn column(&mut self, sql: &str) -> Result<Vec<String>, SqlError> {
        let mut values = Vec::new();
        self.query_each(sql, &mut |row| {
            values.extend(row.first().copied().flatten().map(str::to_string));
        })?;
        Ok(values)
    }
}

/// Returns the row of an answer in words, for messages.
pub fn in_words(row: &[Option<&str>]) -> String {
    row.iter().map(|value| value.unwrap_or("NULL")).collect::<Vec<_>>().join(", ")
}

/// Lydite's own tables.
pub const OWN_TABLES: [&str; 2] = ["lydite_meta", "lydite_load"];

/// True if Lydite makes a table of this name.
pub fn is_ours(name: &str) -> bool {
    is_tpcc(name) || OWN_TABLES.contains(&name) || is_table_name(name)
}

/// Statement that creates the table of the load's progress.
pub const CREATE_PROGRESS: &str = "CREATE TABLE lydite_load (unit int PRIMARY KEY)";

/// Returns the statements that create the two tables and store `meta` in the state `loading`.
pub fn create(meta: &DatabaseMeta) -> String {
    create_notes(&kv::notes(meta))
}

/// Returns the statements that create the two tables and store notes and the state `loading`.
pub fn create_notes(notes: &[(&str, String)]) -> String {
    create_in_state("loading", notes).join("; ")
}

/// Returns the statements, one by one, that create the two tables and store notes and the state `creating`. They come
/// before those of the other tables, and [`LOADING`] after them, where a server can't create all tables in one
/// transaction. So whatever is left of a stopped load is known as Lydite's.
pub fn begin_creating(notes: &[(&str, String)]) -> [String; 3] {
    create_in_state(kv::CREATING, notes)
}

fn create_in_state(state: &str, notes: &[(&str, String)]) -> [String; 3] {
    let rows: Vec<String> = std::iter::once(&("state", state.to_string()))
        .chain(notes)
        .map(|(key, value)| format!("('{key}', '{}')", value.replace('\'', "''")))
        .collect();
    [
        "CREATE TABLE lydite_meta (name varchar(32) PRIMARY KEY, value varchar(200) NOT NULL)".to_string(),
        format!("INSERT INTO lydite_meta VALUES {}", rows.join(", ")),
        CREATE_PROGRESS.to_string(),
    ]
}

/// Statement that notes that all tables are there.
pub const LOADING: &str = "UPDATE lydite_meta SET value = 'loading' WHERE name = 'state'";

/// Returns the statement that notes another state.
pub fn note_state(state: &str) -> String {
    format!("UPDATE lydite_meta SET value = '{}' WHERE name = 'state'", state.replace('\'', "''"))
}

/// Returns the statement that notes a unit as loaded: a warehouse, or 0 for ITEM. It belongs into the transaction that
/// loads the unit.
pub fn loaded(unit: LoadUnit) -> String {
    format!("INSERT INTO lydite_load VALUES ({})", unit.warehouse())
}

/// Statement that notes the end of the load.
pub const READY: &str = "UPDATE lydite_meta SET value = 'ready' WHERE name = 'state'";

/// Notes that these transactions are played from now on. Another client may do the same at the same time.
pub fn note_played(admin: &mut impl Admin, kinds: &[TransactionKind]) -> Result<(), SqlError> {
    let meta = read(admin)?;
    for name in kv::unnoted(kinds, &meta) {
        let note = format!("INSERT INTO lydite_meta VALUES ('{name}', '{}')", kv::PLAYED);
        if let Err(error) = admin.execute(&note)
            && !values(admin)?.contains_key(name)
        {
            return Err(error);
        }
    }
    Ok(())
}

/// True if this is the name of one of the nine tables.
fn is_tpcc(name: &str) -> bool {
    Table::from_name(name).is_some()
}

/// Reads the notes of `lydite_meta`, by name.
pub(super) fn values(admin: &mut (impl Admin + ?Sized)) -> Result<BTreeMap<String, String>, SqlError> {
    let mut values = BTreeMap::new();
    admin.query_each("SELECT name, value FROM lydite_meta", &mut |row| {
        if let [Some(name), Some(value)] = row {
            values.insert(name.to_string(), value.to_string());
        }
    })?;
    Ok(values)
}

/// Reads the description of a loaded database.
pub fn read(admin: &mut impl Admin) -> Result<DatabaseMeta, SqlError> {
    kv::meta(&values(admin)?).map_err(|problem| SqlError::Decode(format!("{problem}: load with --fresh")))
}

/// Reads the state of the database. `tables` has the names of all tables in the schema.
pub fn state(admin: &mut impl Admin, tables: &[String]) -> Result<DatabaseState, SqlError> {
    let has = |name: &str| tables.iter().any(|table| table == name);
    let partial = |problem: String, notes: &BTreeMap<String, String>| {
        let mut tables: Vec<String> = tables.iter().filter(|name| is_ours(name)).cloned().collect();
        tables.sort_unstable();
        DatabaseState::Partial { tables, problem, meta: kv::meta(notes).ok().map(Box::new) }
    };
    if !has("lydite_meta") && has("lydite_load") {
        // A load makes lydite_load last, and only shards have it alone.
        return Ok(partial(
            "lydite_meta is missing, so this is one of several shards, or a load or drop was stopped".into(),
            &BTreeMap::new(),
        ));
    }
    if !has("lydite_meta") {
        let foreign: Vec<String> =
            tables.iter().filter(|name| is_table_name(name) || is_tpcc(name)).cloned().collect();
        return Ok(if foreign.is_empty() {
            DatabaseState::Empty
        } else {
            DatabaseState::Foreign { tables: foreign }
        });
    }
    let values = match values(admin) {
        Ok(values) => values,
        Err(error) if has_other_columns(&error) => {
            let problem = "lydite_meta has other columns than Lydite's".into();
            return Ok(partial(problem, &BTreeMap::new()));
        }
        Err(error) => return Err(error),
    };
    if values.get("workload").is_some_and(|workload| workload == "micro") {
        let note = |name: &str| values.get(name).map(String::as_str);
        let ready = note("state") == Some("ready");
        return Ok(match lydite_micro::Meta::from_notes(note) {
            Ok(meta) => match missing(micro_tables(&meta), has) {
                Some(problem) => partial(problem, &values),
                None => DatabaseState::Micro { meta, ready },
            },
            Err(name) => partial(format!("lydite_meta has no {name} or a bad one"), &values),
        });
    }
    // Only an unfinished load needs its progress.
    let ready = values.get("state").is_some_and(|state| state == "ready");
    if let Err(error) = kv::from_notes(&values, &[]) {
        return Ok(partial(error.to_string(), &values));
    }
    let own = (!ready).then(|| "lydite_load".to_string());
    if let Some(problem) =
        missing(Table::ALL.map(|table| table.name().to_string()).into_iter().chain(own), has)
    {
        return Ok(partial(problem, &values));
    }
    let units =
        if ready { Vec::new() } else { admin.column("SELECT unit FROM lydite_load ORDER BY unit")? };
    let units: Vec<u32> = units.iter().filter_map(|unit| unit.parse().ok()).collect();
    kv::from_notes(&values, &units).map_err(|error| SqlError::Decode(error.to_string()))
}

/// Returns the names of the microbenchmark's tables.
fn micro_tables(meta: &lydite_micro::Meta) -> impl Iterator<Item = String> {
    super::micro::tables(meta).map(super::micro::name)
}

/// Returns what is wrong if the notes are there but some tables are not.
fn missing(wanted: impl Iterator<Item = String>, has: impl Fn(&str) -> bool) -> Option<String> {
    let gone: Vec<String> = wanted.filter(|name| !has(name)).collect();
    let verb = if gone.len() == 1 { "is" } else { "are" };
    (!gone.is_empty()).then(|| format!("{} {verb} missing", gone.join(", ")))
}

/// True if a query of `lydite_meta` failed because it lacks the columns: somebody else's table.
fn has_other_columns(error: &SqlError) -> bool {
    let SqlError::Database { code, message, .. } = error else { return false };
    // PostgreSQL and MySQL have codes of their own for it.
    code == "42703" || code == "1054" || message.contains("no such column")
}
