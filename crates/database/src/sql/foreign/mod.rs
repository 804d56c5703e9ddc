//! TPC-C databases that another program loaded: finds its tables and columns by name, and reads them as ours.
//!
//! The queries of [`crate::sql::conditions`] stay as they are. `Renamed` puts common table expressions with our names
//! before each of them.

mod forms;
mod kits;
mod names;
pub(in crate::sql) mod population;

use crate::error::TargetError;
use crate::facts::ConditionFinding;
use crate::sql::conditions;
use crate::sql::dialect::Dialect;
use crate::sql::meta::{Admin, OWN_TABLES};
use crate::sql::sql_error::SqlError;
pub use forms::{Amount, Forms};
pub use kits::Kit;
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::scale::Size;
use names::{FoundColumn, Names, Units};

/// A database whose tables another program may have made.
pub trait Foreign: Send + Sync {
    /// Opens a session that reads one snapshot, and in which the database rejects every change.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    fn read_only(&self) -> Result<ReadOnly<'_>, TargetError>;
}

/// A session that reads one snapshot and can change nothing.
#[allow(missing_debug_implementations, reason = "a connection has nothing to show")]
pub struct ReadOnly<'a> {
    /// The connection.
    pub admin: Box<dyn Admin + 'a>,
    /// SQL dialect of the conditions.
    pub dialect: &'static Dialect,
    /// SQL dialect of foreign tables.
    pub forms: &'static Forms,
    /// Place of the database, for errors.
    pub place: String,
}

/// Settings of a check of foreign tables.
#[derive(Clone, Copy, Debug)]
pub struct ForeignCheck<'a> {
    /// Conditions to evaluate.
    pub conditions: &'a [Condition],
    /// Warehouses that were loaded; `None` to take those that are there.
    pub warehouses: Option<u32>,
    /// True to check the rules of the initial population too (clause 4.3.3.1).
    pub population: bool,
}

/// A complete set of the nine tables, and the findings about it.
#[derive(Clone, Debug)]
pub struct ForeignFindings {
    /// Program that makes tables of these names and columns; `None` if no known one does.
    pub kit: Option<&'static Kit>,
    /// Names of the tables, in the order of [`lydite_tpcc::schema::Table::ALL`].
    pub tables: Vec<String>,
    /// Warehouses in WAREHOUSE.
    pub warehouses: u32,
    /// Rows of ITEM and of each district.
    pub size: Size,
    /// Deviations from clause 1.3 that the check works around, such as money in binary floats.
    pub notes: Vec<String>,
    /// Findings, by number.
    pub findings: Vec<ConditionFinding>,
}

/// An [`Admin`] whose queries find the foreign tables under our names.
struct Renamed<'a> {
    admin: &'a mut dyn Admin,
    expressions: String,
}

impl Admin for Renamed<'_> {
    fn query_each(&mut self, sql: &str, row: &mut dyn FnMut(&[Option<&str>])) -> Result<(), SqlError> {
        self.admin.query_each(&format!("{}{sql}", self.expressions), row)
    }
}

/// Checks each complete set of TPC-C's tables that the session sees, and reports each finding to `done` as it comes.
///
/// # Errors
/// Tables or columns are missing, which are all named; or the database fails.
pub fn check(
    session: &mut ReadOnly<'_>,
    plan: &ForeignCheck<'_>,
    done: &mut dyn FnMut(&ConditionFinding),
) -> Result<Vec<ForeignFindings>, TargetError> {
    let ReadOnly { admin, dialect, forms, place } = session;
    let admin: &mut dyn Admin = &mut **admin;
    let failed = |doing: &'static str| {
        let place = place.clone();
        move |error: SqlError| error.on_target(doing, &place)
    };
    let columns = columns(admin, forms).map_err(failed("look for tables"))?;
    let rejected = |problem: String| TargetError::usage(format!("{place}: {problem}"));
    if columns.iter().any(|column| column.is_of(OWN_TABLES[0])) {
        return Err(rejected("Lydite loaded this database: leave out --foreign".into()));
    }
    let sets = names::sets(&columns).map_err(rejected)?;
    let mut checked = Vec::with_capacity(sets.len());
    for names in sets {
        let units = units(admin, forms, &names).map_err(failed("read ITEM"))?;
        let scale = scale(admin, forms, &names, units).map_err(failed("count warehouses and items"))?;
        let (found, items) = scale;
        if found == 0 {
            let table = names.warehouse_table();
            return Err(rejected(format!(
                "table {table} has no rows: load the database first with the program that made it"
            )));
        }
        let size = Size::ALL.into_iter().find(|size| size.items() == items).unwrap_or_default();
        let meta = DatabaseMeta { size, ..DatabaseMeta::uniform(plan.warehouses.unwrap_or(found), 0, "") };
        let mut renamed =
            Renamed { admin: &mut *admin, expressions: names.expressions(forms, units, meta.warehouses) };
        let mut findings = Vec::with_capacity(plan.conditions.len());
        for group in conditions::groups(plan.conditions) {
            let found = conditions::evaluate(&mut renamed, dialect, &meta, &group)
                .map_err(failed("check a condition"))?;
            found.iter().for_each(&mut *done);
            findings.extend(found);
        }
        findings.sort_by_key(|finding| finding.condition.number);
        if plan.population {
            let words = population::Words::new(dialect, forms, &meta, true);
            findings.extend(
                population::rules(&mut renamed, &words, done).map_err(failed("check the population"))?,
            );
        }
        checked.push(ForeignFindings {
            kit: kits::of(&names),
            tables: names.tables(),
            warehouses: found,
            size,
            notes: names.notes(units),
            findings,
        });
    }
    Ok(checked)
}

/// Reads the columns of all tables.
fn columns(admin: &mut dyn Admin, forms: &Forms) -> Result<Vec<FoundColumn>, SqlError> {
    let mut columns = Vec::new();
    admin.query_each(forms.columns, &mut |row| {
        if let [Some(schema), Some(table), Some(column), kind] = row {
            columns.push(FoundColumn::new(schema, table, column, kind.unwrap_or_default()));
        }
    })?;
    Ok(columns)
}

/// Greatest price in the currency's unit. The standard's is 100.00, but some programs miss it by a little.
const GREATEST_PRICE: f64 = 1_000.0;

/// Returns the unit of amounts in whole numbers. I_PRICE never changes, so a price that is far too great counts cents.
fn units(admin: &mut dyn Admin, forms: &Forms, names: &Names) -> Result<Units, SqlError> {
    let Some(sql) = names.greatest_price(forms) else { return Ok(Units::Whole) };
    let greatest = first_number(admin, &sql)?;
    Ok(if greatest > GREATEST_PRICE { Units::Cents } else { Units::Whole })
}

/// Returns the numbers of warehouses and of items.
fn scale(admin: &mut dyn Admin, forms: &Forms, names: &Names, units: Units) -> Result<(u32, u32), SqlError> {
    let mut renamed = Renamed { admin, expressions: names.expressions(forms, units, 0) };
    let warehouses = first_number(&mut renamed, "SELECT count(*) FROM warehouse")?;
    let items = first_number(&mut renamed, "SELECT count(*) FROM item")?;
    Ok((warehouses as u32, items as u32))
}

/// Returns the number in the first column of the only row; 0 for null.
fn first_number(admin: &mut dyn Admin, sql: &str) -> Result<f64, SqlError> {
    let mut text = None;
    admin.query_each(sql, &mut |row| text = row.first().copied().flatten().map(str::to_string))?;
    let text = text.unwrap_or_else(|| "0".into());
    text.parse().map_err(|_| SqlError::Decode(format!("{sql}: the answer {text:?} is no number")))
}
