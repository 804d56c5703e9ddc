//! The objects of an SQL database that Lydite has made, by its notes in `lydite_meta` and by the columns of the tables.
//!
//! [`is_ours`] knows the names alone: `--fresh` drops whatever has one. A name alone proves nothing, so a removal asks for
//! more.

use crate::leaving::{Inventory, Others, Thing, ThingKind};
use crate::lists;
use crate::micro::is_table_name as is_micro;
use crate::sql::ddl::HISTORY_KEY;
use crate::sql::meta::{Admin, OWN_TABLES, is_ours, values};
use crate::sql::sql_error::SqlError;
use lydite_tpcc::schema::Table;
use std::collections::{BTreeMap, BTreeSet};

/// An object that shares the names of tables, as a catalog describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Name.
    pub name: String,
    /// Kind in the words of the database, as `view`, if it is no table.
    pub no_table: Option<&'static str>,
    /// True if its rows are on another server.
    pub foreign: bool,
    /// Names of the columns.
    pub columns: BTreeSet<String>,
    /// Rows, as far as the catalog knows them.
    pub rows: Option<u64>,
    /// Bytes with indexes, as far as the catalog knows them.
    pub bytes: Option<u64>,
}

impl Found {
    /// Returns the object of a row of a catalog: the columns as a text with commas between them, then rows and bytes.
    #[must_use]
    pub fn read(name: &str, columns: Option<&str>, rows: Option<&str>, bytes: Option<&str>) -> Self {
        let columns = columns.unwrap_or_default().split(',').map(str::to_ascii_lowercase).collect();
        let number = |text: Option<&str>| text.and_then(|text| text.parse().ok());
        Self { name: name.into(), columns, rows: number(rows), bytes: number(bytes), ..Self::default() }
    }

    /// True if a removal looks at an object of this name.
    #[must_use]
    pub fn concerns(name: &str) -> bool {
        is_ours(name) || lists::is_table_name(name)
    }

    fn has_exactly(&self, columns: &[&str]) -> bool {
        self.no_table.is_none()
            && self.columns.len() == columns.len()
            && columns.iter().all(|&column| self.columns.contains(column))
    }

    fn thing(&self) -> Thing {
        let kind = if self.foreign { ThingKind::ForeignTable } else { ThingKind::Table };
        Thing { rows: self.rows, bytes: self.bytes, ..Thing::new(kind, self.name.as_str()) }
    }

    fn what(&self) -> String {
        format!("{} {}", self.no_table.unwrap_or("table"), self.name)
    }
}

/// The notes that say whose the tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// There are none.
    None,
    /// Lydite has made TPC-C's tables. `own` is true if the statements of the user's file made them.
    Tpcc {
        /// True if the statements of the user's file made the tables, or followed the rows.
        own: bool,
    },
    /// Lydite has made the microbenchmark's tables.
    Micro,
    /// Only the progress of a load is noted, as on one of several shards.
    Shard,
    /// The table of notes is Lydite's by its columns, and empty: a load was stopped while it began.
    Begun,
    /// A table of the name of the notes is somebody else's.
    Strange,
}

impl Mark {
    /// Reads the notes. `found` has all objects with names of Lydite's.
    fn read(admin: &mut dyn Admin, found: &[Found]) -> Result<Self, SqlError> {
        let of = |name: &str| found.iter().find(|object| object.name == name);
        let Some(notes) = of(OWN_TABLES[0]) else {
            let is_shard = of(OWN_TABLES[1]).is_some_and(|load| load.has_exactly(&["unit"]));
            return Ok(if is_shard { Self::Shard } else { Self::None });
        };
        if !notes.has_exactly(&["name", "value"]) {
            return Ok(Self::Strange);
        }
        Ok(Self::of(&values(admin)?))
    }

    fn of(values: &BTreeMap<String, String>) -> Self {
        let has = |name: &str| values.contains_key(name);
        if values.is_empty() {
            Self::Begun
        } else if !has("state") || !has("lydite") {
            Self::Strange
        } else if values.get("workload").is_some_and(|workload| workload == "micro") {
            Self::Micro
        } else {
            Self::Tpcc { own: has("schema") || has("after_load") }
        }
    }

    /// Returns the note about files of the user's own statements; `None` without any.
    fn note(self) -> Option<String> {
        (self == Self::Tpcc { own: true }).then(|| {
            "files of your own statements (--schema, --after-load) may have made more than the tables: that is not known, \
             and stays"
                .to_owned()
        })
    }

    /// Returns the note about a database that has the progress of a load alone; `None` about any other.
    #[must_use]
    pub fn note_of_shard(self) -> Option<String> {
        (self == Self::Shard).then(|| {
            "this is one of several shards, or what a stopped load or drop left: the URL of the coordinator with its \
             shards= drops all of it"
                .to_owned()
        })
    }

    /// True if the notes have a state. A drop changes it.
    #[must_use]
    pub fn has_state(self) -> bool {
        matches!(self, Self::Tpcc { .. } | Self::Micro)
    }

    /// True if Lydite has loaded tables here.
    #[must_use]
    pub fn is_ours(self) -> bool {
        self.has_state() || self == Self::Shard
    }
}

/// The notes of a database and the tables of its catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Notes that say whose the tables are.
    pub mark: Mark,
    /// Tables of Lydite's and objects of others with such names.
    pub inventory: Inventory,
}

impl Look {
    /// Reads the notes and judges the objects by them. `found` has all objects with names of Lydite's.
    ///
    /// # Errors
    /// The database fails.
    pub fn at(admin: &mut dyn Admin, found: &[Found]) -> Result<Self, SqlError> {
        let mark = Mark::read(admin, found)?;
        let (ours, stays) = judge(found, mark);
        let notes = mark.note().into_iter().collect();
        Ok(Self { mark, inventory: Inventory { ours, stays, notes, ..Inventory::default() } })
    }
}

/// Returns names as a list of SQL strings that is never empty.
#[must_use]
pub fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("'{}'", name.replace('\'', "''"))).collect();
    if names.is_empty() { "''".to_owned() } else { names.join(", ") }
}

/// Returns the things of Lydite's among the objects, the notes last, and those of others.
fn judge(found: &[Found], mark: Mark) -> (Vec<Thing>, Vec<Others>) {
    let (mut ours, mut stays) = (Vec::new(), Vec::new());
    for object in found.iter().filter(|object| Found::concerns(&object.name)) {
        match problem(object, mark) {
            None => ours.push(object.thing()),
            Some(reason) => stays.push(Others::new(object.what(), reason)),
        }
    }
    ours.sort_by_key(|thing: &Thing| order(&thing.name));
    (ours, stays)
}

/// Returns the place of a table in the list: the nine, those of the microbenchmark and of isolation checks, the notes.
fn order(name: &str) -> (usize, String) {
    let place = Table::ALL.iter().position(|table| table.name() == name);
    let own = OWN_TABLES.iter().rposition(|own| *own == name).map(|own| usize::MAX - own);
    (place.or(own).unwrap_or(Table::COUNT), name.to_owned())
}

/// Returns the reason why an object is not Lydite's; `None` if it is.
fn problem(object: &Found, mark: Mark) -> Option<String> {
    let name = object.name.as_str();
    if let Some(kind) = object.no_table {
        return Some(format!("Lydite makes a table of this name, and this is a {kind}"));
    }
    let shaped = |columns: &[&str]| {
        (!object.has_exactly(columns)).then(|| "it has other columns than Lydite's".to_owned())
    };
    if name == OWN_TABLES[0] {
        let strange = (mark == Mark::Strange).then(|| "it has no notes of Lydite's".to_owned());
        return shaped(&["name", "value"]).or(strange);
    }
    if name == OWN_TABLES[1] {
        return shaped(&["unit"]);
    }
    if lists::is_table_name(name) {
        return shaped(&["id", "elements", "latest"]);
    }
    if is_micro(name) {
        let other = (mark != Mark::Micro).then(|| no_note("the microbenchmark's tables"));
        return other.or_else(|| shaped(&["id", "counter", "payload"]));
    }
    let own = match mark {
        Mark::Tpcc { own } => own,
        Mark::Shard => false,
        Mark::None | Mark::Micro | Mark::Begun | Mark::Strange => return Some(no_note("this table")),
    };
    let table = Table::from_name(name)?;
    of_table(object, table, own)
}

fn no_note(what: &str) -> String {
    format!("no note in {} says that Lydite made {what}", OWN_TABLES[0])
}

/// Returns the columns that differ from those of one of the nine tables; `None` if none does.
fn of_table(object: &Found, table: Table, own: bool) -> Option<String> {
    let wanted: BTreeSet<&str> = table.schema().columns.iter().map(|column| column.name).collect();
    let missing: Vec<&str> =
        wanted.iter().copied().filter(|column| !object.columns.contains(*column)).collect();
    if !missing.is_empty() {
        return Some(format!("it lacks columns of Lydite's: {}", missing.join(", ")));
    }
    let is_key = |column: &str| table == Table::History && column == HISTORY_KEY;
    let more: Vec<&str> = object
        .columns
        .iter()
        .map(String::as_str)
        .filter(|&column| !wanted.contains(column) && !is_key(column))
        .collect();
    // The user's own statements may make more columns.
    (!more.is_empty() && !own)
        .then(|| format!("it has columns that Lydite did not make: {}", more.join(", ")))
}

/// True if Lydite's load makes an index of this name.
fn is_our_index(name: &str, of: &str) -> bool {
    let own = format!("{of}_pkey");
    let of_key = name.strip_prefix(of).and_then(|rest| rest.strip_prefix("_fkey_"));
    name == own
        || name == "PRIMARY"
        || of_key.is_some_and(|number| number.parse::<u8>().is_ok())
        || Table::from_name(of)
            .is_some_and(|table| table.schema().indexes.iter().any(|index| index.name == name))
}

/// Returns the note about indexes of the user's own, which go with their tables; `None` without any.
#[must_use]
pub fn note_of_indexes(indexes: &[Thing]) -> Option<String> {
    let other: Vec<String> = indexes
        .iter()
        .filter_map(|index| {
            let of = index.of.as_deref()?;
            (!is_our_index(&index.name, of)).then(|| format!("{} of {of}", index.name))
        })
        .collect();
    (!other.is_empty()).then(|| {
        format!(
            "indexes with names that no load of Lydite's makes go with their tables: {}",
            other.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, columns: &str) -> Found {
        Found::read(name, Some(columns), None, None)
    }

    fn of_tpcc(table: Table) -> Found {
        let columns: Vec<&str> = table.schema().columns.iter().map(|column| column.name).collect();
        Found::read(table.name(), Some(&columns.join(",")), Some("7"), None)
    }

    fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_table_is_lydites_only_with_a_note_and_with_lydites_columns() {
        let mark = Mark::Tpcc { own: false };
        let mut found: Vec<Found> = Table::ALL.into_iter().map(of_tpcc).collect();
        found.push(table("lydite_load", "unit"));
        found.push(table("lydite_meta", "name,value"));
        found.push(table("diary", "mine"));
        let (ours, stays) = judge(&found, mark);
        assert_eq!((ours.len(), &stays[..]), (11, &[][..]));
        assert_eq!(ours[0].rows, Some(7));
        assert_eq!(ours[10].name, "lydite_meta", "the notes go last");
        assert_eq!(judge(&found[..9], Mark::None).0, []);
        let other = [table("customer", "id,name"), of_tpcc(Table::Item)];
        let (ours, stays) = judge(&other, mark);
        assert_eq!(ours.iter().map(|thing| thing.name.as_str()).collect::<Vec<_>>(), ["item"]);
        assert_eq!(stays[0].what, "table customer");
        let mut more = of_tpcc(Table::Stock);
        more.columns.insert("mine".into());
        assert!(judge(&[more.clone()], mark).1[0].reason.contains("did not make: mine"));
        assert_eq!(judge(&[more], Mark::Tpcc { own: true }).0.len(), 1);
        let mut history = of_tpcc(Table::History);
        history.columns.insert(HISTORY_KEY.into());
        assert_eq!(judge(&[history], mark).0.len(), 1);
    }

    #[test]
    fn views_and_tables_of_other_workloads_stay() {
        let view = Found { no_table: Some("view"), ..of_tpcc(Table::Item) };
        assert_eq!(judge(&[view], Mark::Tpcc { own: false }).0, []);
        assert_eq!(judge(&[of_tpcc(Table::Item)], Mark::Micro).0, []);
        let list = table("lydite_isolation_1", "id,elements,latest");
        assert_eq!(judge(&[list], Mark::None).0.len(), 1);
        assert_eq!(judge(&[table("lydite_isolation_1", "id")], Mark::None).1.len(), 1);
    }

    #[test]
    fn the_mark_is_read_from_the_notes() {
        let tpcc = [("state", "ready"), ("lydite", "0.1.0")];
        assert_eq!(Mark::of(&values(&tpcc)), Mark::Tpcc { own: false });
        assert_eq!(Mark::of(&values(&[&tpcc[..], &[("schema", "x")]].concat())), Mark::Tpcc { own: true });
        assert_eq!(Mark::of(&values(&[&tpcc[..], &[("workload", "micro")]].concat())), Mark::Micro);
        assert_eq!(Mark::of(&values(&[("mine", "x")])), Mark::Strange);
        assert_eq!(Mark::of(&values(&[])), Mark::Begun);
    }

    #[test]
    fn indexes_of_others_are_named() {
        assert!(is_our_index("stock_pkey", "stock") && is_our_index("PRIMARY", "stock"));
        assert!(
            is_our_index("customer_by_name", "customer") && is_our_index("order_line_fkey_2", "order_line")
        );
        assert!(!is_our_index("customer_by_name", "stock") && !is_our_index("mine", "stock"));
        let note = note_of_indexes(&[Thing::part(ThingKind::Index, "mine", "stock")]);
        assert!(note.is_some_and(|note| note.ends_with("mine of stock")));
    }
}
