//! Lydite's own two tables, `lydite_meta` and `lydite_load`: what a database was loaded with, and how far.

use crate::kv::meta::{DATA_SKEW, districts};
use crate::micro::is_table_name;
use crate::sql::connection::SqlError;
use crate::target::{DatabaseState, LoadUnit};
use lydite_tpcc::WarehouseId;
use lydite_tpcc::limits::MAX_WAREHOUSES;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::schema::Table;
use std::collections::BTreeMap;

/// A connection for administration: plain SQL, text answers.
pub(crate) trait Admin {
    /// Runs one or more statements and hands over the rows of the answer.
    fn query_each(&mut self, sql: &str, row: &mut dyn FnMut(&[Option<&str>])) -> Result<(), SqlError>;

    /// Runs one or more statements.
    fn execute(&mut self, sql: &str) -> Result<(), SqlError> {
        self.query_each(sql, &mut |_| ())
    }

    /// The first column of the answer's rows.
    fn column(&mut self, sql: &str) -> Result<Vec<String>, SqlError> {
        let mut values = Vec::new();
        self.query_each(sql, &mut |row| {
            values.extend(row.first().copied().flatten().map(str::to_string));
        })?;
        Ok(values)
    }
}

/// Lydite's own tables.
pub(crate) const OWN_TABLES: [&str; 2] = ["lydite_meta", "lydite_load"];

/// Whether a table of this name is one that Lydite makes.
pub(crate) fn is_ours(name: &str) -> bool {
    Table::ALL.iter().any(|table| table.name() == name) || OWN_TABLES.contains(&name) || is_table_name(name)
}

/// Makes the two tables and stores `meta` in the state "loading".
pub(crate) fn create(meta: &DatabaseMeta) -> String {
    let mut notes = vec![
        ("warehouses", meta.warehouses.to_string()),
        ("seed", meta.seed.to_string()),
        ("c_load", meta.c_load.0.to_string()),
        ("population", meta.population.to_string()),
        ("lydite", meta.lydite.clone()),
    ];
    // A database without the note has ten districts for each warehouse.
    notes.extend(meta.districts.skew().map(|skew| (DATA_SKEW, skew.to_string())));
    create_notes(&notes)
}

/// Makes the two tables and stores notes, and the state "loading".
pub(crate) fn create_notes(notes: &[(&str, String)]) -> String {
    let rows: Vec<String> = std::iter::once(&("state", "loading".to_string()))
        .chain(notes)
        .map(|(key, value)| format!("('{key}', '{}')", value.replace('\'', "''")))
        .collect();
    format!(
        "CREATE TABLE lydite_meta (name varchar(32) PRIMARY KEY, value varchar(200) NOT NULL); \
         CREATE TABLE lydite_load (unit int PRIMARY KEY); \
         INSERT INTO lydite_meta VALUES {}",
        rows.join(", ")
    )
}

/// Notes that a unit is loaded: a warehouse, or 0 for ITEM. Goes into the transaction that loads it.
pub(crate) fn loaded(unit: LoadUnit) -> String {
    format!("INSERT INTO lydite_load VALUES ({})", unit.warehouse())
}

/// Notes that the load has ended.
pub(crate) const READY: &str = "UPDATE lydite_meta SET value = 'ready' WHERE name = 'state'";

/// Whether a table of this name is one of the nine.
fn is_tpcc(name: &str) -> bool {
    Table::ALL.iter().any(|table| table.name() == name)
}

/// Reads the state, given the names of all tables in the schema.
pub(crate) fn state(admin: &mut impl Admin, tables: &[String]) -> Result<DatabaseState, SqlError> {
    let has = |name: &str| tables.iter().any(|table| table == name);
    if !has("lydite_meta") {
        let foreign: Vec<String> =
            tables.iter().filter(|name| is_table_name(name) || is_tpcc(name)).cloned().collect();
        return Ok(if foreign.is_empty() {
            DatabaseState::Empty
        } else {
            DatabaseState::Foreign { tables: foreign }
        });
    }
    let mut values = BTreeMap::new();
    admin.query_each("SELECT name, value FROM lydite_meta", &mut |row| {
        if let [Some(name), Some(value)] = row {
            values.insert(name.to_string(), value.to_string());
        }
    })?;
    if values.get("workload").is_some_and(|workload| workload == "micro") {
        let note = |name: &str| values.get(name).map(String::as_str);
        let ready = note("state") == Some("ready");
        return match lydite_micro::Meta::from_notes(note) {
            Ok(meta) => Ok(DatabaseState::Micro { meta, ready }),
            Err(name) => {
                Err(SqlError::Decode(format!("lydite_meta has no {name} or a bad one: load with --fresh")))
            }
        };
    }
    let value = |name: &str| {
        values
            .get(name)
            .ok_or_else(|| SqlError::Decode(format!("lydite_meta has no {name}: load with --fresh")))
    };
    let number = |name: &str| {
        value(name)?
            .parse::<u64>()
            .map_err(|_| SqlError::Decode(format!("lydite_meta has a bad {name}: load with --fresh")))
    };
    let bad = |name: &str| SqlError::Decode(format!("lydite_meta has a bad {name}: load with --fresh"));
    let warehouses =
        u32::try_from(number("warehouses")?).ok().filter(|count| (1..=MAX_WAREHOUSES).contains(count));
    let warehouses = warehouses.ok_or_else(|| bad("warehouses"))?;
    let skew = values.get(DATA_SKEW).map(String::as_str);
    let meta = DatabaseMeta {
        warehouses,
        districts: districts(skew, warehouses).ok_or_else(|| bad(DATA_SKEW))?,
        seed: number("seed")?,
        c_load: CLoad(u8::try_from(number("c_load")?).map_err(|_| bad("c_load"))?),
        population: u32::try_from(number("population")?).map_err(|_| bad("population"))?,
        lydite: value("lydite")?.clone(),
    };
    if value("state")? == "ready" {
        return Ok(DatabaseState::Ready { meta });
    }
    let units = admin.column("SELECT unit FROM lydite_load ORDER BY unit")?;
    let units: Vec<u32> = units.iter().filter_map(|unit| unit.parse().ok()).collect();
    Ok(DatabaseState::Loading {
        meta,
        items: units.contains(&0),
        warehouses: units.into_iter().filter(|&unit| unit > 0).map(WarehouseId).collect(),
    })
}
