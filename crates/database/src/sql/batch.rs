//! Loading in batches that commit by themselves, for databases that are not made for large transactions.

use crate::error::TargetError;
use crate::load::LoadUnit;
use crate::sql::meta::{self, Admin};
use crate::sql::sql_error::SqlError;
use crate::target_url::{OptionSpec, ParsedUrl};
use lydite_tpcc::schema::Table;
use std::ops::Range;
use std::time::Duration;

/// Smallest batch in rows, as an option and after the server rejected larger batches.
const LEAST: u32 = 100;
/// Largest batch in rows.
const MOST: u32 = 1_000_000;
/// Most attempts at a batch that the server aborts because of concurrent work.
const ATTEMPTS: u32 = 10;
/// Pause before the second attempt. It grows by this much from attempt to attempt.
const PAUSE: Duration = Duration::from_millis(100);

/// Returns the option `batch` with its default.
pub const fn option(default: &'static str) -> OptionSpec {
    OptionSpec {
        name: "batch",
        values: "100 to 1000000",
        default,
        about: "rows that loading sends in a transaction of their own; halved when the server calls it too large",
    }
}

/// Reads the option `batch`, in rows.
pub fn of(parsed: &ParsedUrl, errors: &mut Vec<String>) -> Option<u32> {
    parsed.number("batch", LEAST..=MOST, errors)
}

/// Sends `rows` rows in batches of at most `size` rows. A batch that is too large for the server halves `size` for
/// itself and all later batches.
pub fn send(
    rows: usize,
    size: &mut u32,
    is_too_large: impl Fn(&SqlError) -> bool,
    mut transaction: impl FnMut(Range<usize>) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let (mut sent, mut attempt) = (0, 1);
    while sent < rows {
        let until = rows.min(sent + *size as usize);
        match transaction(sent..until) {
            Ok(()) => (sent, attempt) = (until, 1),
            Err(error) if is_too_large(&error) && *size > LEAST => {
                *size = LEAST.max((until - sent) as u32 / 2);
            }
            Err(SqlError::Database { retry: Some(_), .. }) if attempt < ATTEMPTS => {
                std::thread::sleep(PAUSE * attempt);
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Loads those tables of a unit that this server has. Notes the unit as begun before its first batch, so that a resumed
/// load finds an unfinished unit and repeats it. `failed` makes the error of a step; `load` loads a table.
pub fn load_unit<A: Admin>(
    admin: &mut A,
    (unit, tables): (LoadUnit, &[Table]),
    failed: impl Fn(SqlError, &str) -> TargetError,
    mut load: impl FnMut(&mut A, Table) -> Result<(), SqlError>,
) -> Result<(), TargetError> {
    // Notes of loaded units are from 0 on, which is ITEM.
    let begun = -1 - i64::from(unit.warehouse().0);
    let left = admin
        .column(&format!("SELECT unit FROM lydite_load WHERE unit = {begun}"))
        .map_err(|error| failed(error, "look for what is loaded"))?;
    if left.is_empty() {
        admin
            .execute(&format!("INSERT INTO lydite_load VALUES ({begun})"))
            .map_err(|error| failed(error, &format!("note {unit} as begun")))?;
    } else {
        for table in tables {
            let name = table.name();
            let of = table
                .warehouse_column()
                .map_or_else(String::new, |column| format!(" WHERE {column} = {}", unit.warehouse()));
            admin.execute(&format!("DELETE FROM {name}{of}")).map_err(|error| {
                failed(error, &format!("delete what an earlier load left of {unit}: {name}"))
            })?;
        }
    }
    for &table in tables {
        load(admin, table).map_err(|error| failed(error, &format!("load {unit}: {}", table.name())))?;
    }
    admin
        .execute(&format!(
            "BEGIN; {}; DELETE FROM lydite_load WHERE unit = {begun}; COMMIT",
            meta::loaded(unit)
        ))
        .map_err(|error| failed(error, &format!("note {unit} as loaded")))
}
