//! Names of foreign tables and columns, and the common table expressions that give them ours.

use crate::sql::foreign::{Amount, Forms};
use lydite_tpcc::schema::{Column, ColumnType, Table};
use std::collections::BTreeMap;

/// Kind of a column's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Whole numbers.
    Integer,
    /// Decimals with digits after the point.
    Decimal,
    /// Binary floats.
    Float,
    /// Anything else.
    Other,
}

impl Kind {
    /// Returns the kind of a type as the catalogs name it.
    fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let word = name.split(['(', ' ']).next().unwrap_or_default();
        let has = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
        if has(&["float", "real", "double"]) {
            Self::Float
        } else if has(&["num", "dec"]) {
            // A scale of 0 in `decimal(12,0)` leaves whole numbers.
            let scale = name.split_once('(').and_then(|(_, rest)| rest.split([',', ')']).nth(1));
            if scale.is_some_and(|scale| scale.trim() == "0") { Self::Integer } else { Self::Decimal }
        } else if has(&["int", "serial"]) && word != "interval" && word != "point" {
            Self::Integer
        } else {
            Self::Other
        }
    }
}

/// Unit of amounts in whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Units {
    /// The currency's unit.
    Whole,
    /// Hundredths of it.
    Cents,
}

/// A column of any table of the database.
#[derive(Clone, Debug)]
pub(super) struct FoundColumn {
    schema: String,
    table: String,
    column: String,
    kind: Kind,
    type_name: String,
}

impl FoundColumn {
    /// Returns the column with its kind.
    pub(super) fn new(schema: &str, table: &str, column: &str, type_name: &str) -> Self {
        Self {
            schema: schema.into(),
            table: table.into(),
            column: column.into(),
            kind: Kind::of(type_name),
            type_name: type_name.into(),
        }
    }

    /// True if the column is one of this table.
    pub(super) fn is_of(&self, table: &str) -> bool {
        self.table.eq_ignore_ascii_case(table)
    }
}

/// Names of a table in lower case, without a prefix of the kit or a number behind.
fn aliases(table: Table) -> &'static [&'static str] {
    match table {
        Table::Item => &["item", "items"],
        Table::Warehouse => &["warehouse", "warehouses"],
        Table::District => &["district", "districts"],
        Table::Customer => &["customer", "customers"],
        Table::History => &["history", "histories"],
        Table::Orders => &["orders", "order", "oorder", "oorders"],
        Table::NewOrder => &["new_order", "new_orders", "neworder", "neworders"],
        Table::OrderLine => &["order_line", "order_lines", "orderline", "orderlines"],
        Table::Stock => &["stock", "stocks"],
    }
}

/// Returns the column's name without the table's letters: `d_id` for `c_d_id`.
fn short(name: &str) -> &str {
    name.split_once('_').map_or(name, |(_, short)| short)
}

/// A foreign table.
#[derive(Clone, Debug)]
struct ForeignTable {
    table: Table,
    schema: String,
    name: String,
    /// Alias by which it was found.
    alias: &'static str,
    /// Names of all its columns, in order, in lower case.
    all: Vec<String>,
    /// Our columns, with theirs.
    columns: Vec<(&'static Column, FoundColumn)>,
}

/// A complete set of tables.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// Text before each name.
    prefix: String,
    /// Number behind each name, or nothing.
    number: String,
    tables: Vec<ForeignTable>,
}

/// Tables that make a set if they share prefix and number. The others must then be there too.
const MEANT: usize = 5;

/// Tables of one prefix and number: those that may be ours, by alias.
type Group = BTreeMap<Table, Vec<(String, &'static str)>>;

/// Returns the complete sets of the nine tables.
///
/// # Errors
/// A set lacks tables or columns. The text names everything that is missing.
pub(super) fn sets(columns: &[FoundColumn]) -> Result<Vec<Names>, String> {
    let mut tables: BTreeMap<&str, Vec<&FoundColumn>> = BTreeMap::new();
    for column in columns {
        tables.entry(&column.table).or_default().push(column);
    }
    let mut groups: BTreeMap<(String, String), Group> = BTreeMap::new();
    for name in tables.keys() {
        let lower = name.to_lowercase();
        let bare = lower.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let number = &lower[bare.len()..];
        for table in Table::ALL {
            for alias in aliases(table) {
                if let Some(prefix) = bare.strip_suffix(alias) {
                    let group = groups.entry((prefix.into(), number.into())).or_default();
                    group.entry(table).or_default().push(((*name).into(), alias));
                }
            }
        }
    }
    let most = groups.values().map(BTreeMap::len).max().unwrap_or(0);
    if most == 0 {
        return Err(
            "no table is named like one of TPC-C's: name the database, or its schema with ?schema=".into()
        );
    }
    let (mut sets, mut problems) = (Vec::new(), Vec::new());
    // Few tables may have such names by chance: `order` alone is the end of many names.
    let least = most.min(MEANT);
    for ((prefix, number), group) in groups.into_iter().filter(|(_, group)| group.len() >= least) {
        let mut found = Vec::new();
        for table in Table::ALL {
            match group.get(&table).map(Vec::as_slice) {
                None => problems.push(format!("table {prefix}{}{number}", aliases(table)[0])),
                Some([(name, alias)]) => {
                    found.push(of_table(table, alias, name, &tables[name.as_str()], &mut problems));
                }
                Some(several) => {
                    let names: Vec<&str> = several.iter().map(|(name, _)| name.as_str()).collect();
                    problems.push(format!(
                        "one table for {}, which may be {}",
                        table.name(),
                        names.join(" or ")
                    ));
                }
            }
        }
        sets.push(Names { prefix, number, tables: found });
    }
    if problems.is_empty() { Ok(sets) } else { Err(format!("lacks {}", problems.join(", "))) }
}

/// Finds our columns in a table.
fn of_table(
    table: Table,
    alias: &'static str,
    name: &str,
    there: &[&FoundColumn],
    problems: &mut Vec<String>,
) -> ForeignTable {
    let mut columns = Vec::new();
    for column in table.schema().columns {
        let named = |wanted: &str| there.iter().find(|found| found.column.eq_ignore_ascii_case(wanted));
        match named(column.name).or_else(|| named(short(column.name))) {
            None => problems.push(format!("column {name}.{}", column.name)),
            Some(found) => {
                let money = matches!(column.kind, ColumnType::Money { .. } | ColumnType::Rate);
                if money && found.kind == Kind::Other {
                    problems.push(format!("a number in {name}.{}, a {}", found.column, found.type_name));
                }
                columns.push((column, (*found).clone()));
            }
        }
    }
    ForeignTable {
        table,
        schema: there.first().map(|column| column.schema.clone()).unwrap_or_default(),
        name: name.into(),
        alias,
        all: there.iter().map(|column| column.column.to_lowercase()).collect(),
        columns,
    }
}

impl Names {
    /// Text before each name.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// True if a number stands behind each name.
    pub(super) fn is_numbered(&self) -> bool {
        !self.number.is_empty()
    }

    /// Returns the name of a table without prefix and number, in lower case.
    pub(super) fn alias(&self, table: Table) -> &'static str {
        self.of(table).map_or("", |found| found.alias)
    }

    /// Returns the names of all columns of a table in lower case, in order.
    pub(super) fn columns(&self, table: Table) -> &[String] {
        self.of(table).map_or(&[], |found| &found.all)
    }

    /// True if a column of money is a binary float.
    pub(super) fn has_float_money(&self) -> bool {
        self.money().any(|(_, found)| found.kind == Kind::Float)
    }

    /// Returns the names of the tables.
    pub(super) fn tables(&self) -> Vec<String> {
        self.tables.iter().map(|table| table.name.clone()).collect()
    }

    /// Returns the name of the table with the warehouses.
    pub(super) fn warehouse_table(&self) -> &str {
        self.of(Table::Warehouse).map_or("", |table| &table.name)
    }

    fn of(&self, table: Table) -> Option<&ForeignTable> {
        self.tables.iter().find(|found| found.table == table)
    }

    fn money(&self) -> impl Iterator<Item = &(&'static Column, FoundColumn)> {
        let columns = self.tables.iter().flat_map(|table| &table.columns);
        columns.filter(|(column, _)| matches!(column.kind, ColumnType::Money { .. }))
    }

    /// Returns the query for the greatest price, if prices are whole numbers.
    pub(super) fn greatest_price(&self, forms: &Forms) -> Option<String> {
        let item = self.of(Table::Item)?;
        let (_, price) = item.columns.iter().find(|(column, _)| column.name == "i_price")?;
        let column = quoted(forms, &price.column);
        (price.kind == Kind::Integer).then(|| format!("SELECT max({column}) FROM {}", item.place(forms)))
    }

    /// Returns the deviations from clause 1.3 that the expressions work around.
    pub(super) fn notes(&self, units: Units) -> Vec<String> {
        let of = |kind: Kind| -> Vec<&str> {
            self.money()
                .filter(|(_, found)| found.kind == kind)
                .map(|(_, found)| found.column.as_str())
                .collect()
        };
        let mut notes = Vec::new();
        let floats = of(Kind::Float);
        if !floats.is_empty() {
            notes.push(format!(
                "binary floats hold money in {}, which clause 1.3.1 forbids: compared by whole cents",
                floats.join(", ")
            ));
        }
        if units == Units::Cents {
            notes.push("whole numbers hold money in cents".into());
        }
        notes
    }

    /// Returns `WITH` and the expressions that give the tables and columns our names. `warehouses` is the number that
    /// was loaded.
    pub(super) fn expressions(&self, forms: &Forms, units: Units, warehouses: u32) -> String {
        let with = forms.as_words;
        // Lydite notes the number of warehouses in a table of its own, which a foreign database lacks.
        let mut text =
            format!("WITH lydite_meta{with}(SELECT 'warehouses' AS name, '{warehouses}' AS value)");
        for table in &self.tables {
            let columns: Vec<String> = table
                .columns
                .iter()
                .map(|(column, found)| {
                    format!("{} AS {}", expression(forms, units, column, found), column.name)
                })
                .collect();
            text += &format!(
                ", {}{with}(SELECT {} FROM {})",
                table.table.name(),
                columns.join(", "),
                table.place(forms)
            );
        }
        text + " "
    }
}

impl ForeignTable {
    /// Returns the table's name with its schema. Without the schema the expression would mean itself.
    fn place(&self, forms: &Forms) -> String {
        format!("{}.{}", quoted(forms, &self.schema), quoted(forms, &self.name))
    }
}

/// Returns the value of our column as an expression over theirs.
fn expression(forms: &Forms, units: Units, column: &Column, found: &FoundColumn) -> String {
    let name = quoted(forms, &found.column);
    match column.kind {
        ColumnType::Money { .. } => {
            let amount = match (found.kind, units) {
                (Kind::Float, _) => Amount::Float,
                (Kind::Integer, Units::Cents) => Amount::Cents,
                (Kind::Integer, Units::Whole) => Amount::Whole,
                (Kind::Decimal | Kind::Other, _) => Amount::Decimal,
            };
            (forms.amount)(&name, amount)
        }
        ColumnType::Rate if found.kind == Kind::Integer => (forms.rate)(&format!("{name} / 10000.0")),
        ColumnType::Rate => (forms.rate)(&name),
        // "Null" may be any constant outside of the carriers 1 to 10 (clause 1.3), and some programs store a zero.
        _ if column.name == "o_carrier_id" => format!("nullif({name}, 0)"),
        _ => name,
    }
}

/// Returns a name in quotes.
fn quoted(forms: &Forms, name: &str) -> String {
    let quote = forms.quote;
    format!("{quote}{}{quote}", name.replace(quote, &format!("{quote}{quote}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::foreign::kits;

    /// Returns columns of tables named by `name`, with `column` giving each column its name and type.
    fn found(
        name: impl Fn(Table) -> String,
        column: impl Fn(&Column) -> Option<(String, &'static str)>,
    ) -> Vec<FoundColumn> {
        let mut all = Vec::new();
        for table in Table::ALL {
            for of in table.schema().columns {
                if let Some((column, kind)) = column(of) {
                    all.push(FoundColumn::new("public", &name(table), &column, kind));
                }
            }
        }
        all
    }

    fn type_of(column: &Column) -> &'static str {
        match column.kind {
            ColumnType::Integer { .. } => "int",
            ColumnType::Money { .. } | ColumnType::Rate => "decimal(12,2)",
            ColumnType::Time => "timestamp",
            ColumnType::VarText(_) | ColumnType::FixedText(_) => "varchar(500)",
        }
    }

    fn as_ours(column: &Column) -> Option<(String, &'static str)> {
        Some((column.name.into(), type_of(column)))
    }

    #[test]
    fn tables_are_found_in_any_case_with_prefixes_numbers_and_short_columns() {
        let upper = found(
            |table| table.name().to_uppercase(),
            |column| Some((short(column.name).to_uppercase(), type_of(column))),
        );
        assert_eq!(sets(&upper).unwrap().len(), 1);
        let prefixed = found(|table| format!("bmsql_{}", table.name().replace("orders", "oorder")), as_ours);
        let names = sets(&prefixed).unwrap();
        assert_eq!((names.len(), names[0].prefix()), (1, "bmsql_"));
        let named = |table: Table| table.name().replace("new_order", "new_orders");
        let mut numbered = found(|table| named(table) + "1", as_ours);
        numbered.extend(found(|table| named(table) + "2", as_ours));
        let names = sets(&numbered).unwrap();
        assert_eq!(names.len(), 2, "each number is a database of its own");
        assert_eq!(kits::of(&names[0]).map(|kit| kit.name), Some("sysbench-tpcc"));
    }

    #[test]
    fn kits_that_share_their_tables_differ_in_the_order_of_columns_and_in_floats() {
        let kit_of = |change: &dyn Fn(&mut Vec<FoundColumn>)| {
            let mut all = found(|table| table.name().into(), as_ours);
            change(&mut all);
            sets(&all).unwrap().first().and_then(kits::of).map(|kit| kit.name)
        };
        let place = |all: &[FoundColumn], name: &str| all.iter().position(|of| of.column == name).unwrap();
        assert_eq!(kit_of(&|_| {}), Some("go-tpc"));
        let date_first = |all: &mut Vec<FoundColumn>| {
            let (first, date) = (place(all, "h_c_id"), place(all, "h_date"));
            all.swap(first, date);
        };
        assert_eq!(kit_of(&date_first), Some("HammerDB"));
        let floats = |all: &mut Vec<FoundColumn>| {
            let balance = place(all, "c_balance");
            all[balance].kind = Kind::Float;
        };
        assert_eq!(kit_of(&floats), Some("py-tpcc"));
        assert_eq!(kit_of(&|all| (date_first(all), floats(all)).1), None);
    }

    #[test]
    fn all_missing_tables_and_columns_are_named_at_once() {
        let mut some = found(
            |table| table.name().into(),
            |column| (column.name != "c_balance" && column.name != "ol_amount").then(|| as_ours(column))?,
        );
        some.retain(|column| column.table != "history" && column.table != "item");
        let problem = sets(&some).unwrap_err();
        assert_eq!(
            problem,
            "lacks table item, column customer.c_balance, table history, column order_line.ol_amount"
        );
        assert!(sets(&[]).unwrap_err().starts_with("no table is named like"));
        let mut two = found(|table| format!("{}1", table.name()), as_ours);
        two.extend(found(|table| format!("{}2", table.name()), as_ours));
        two.retain(|column| column.table != "history2");
        assert_eq!(sets(&two).unwrap_err(), "lacks table history2", "a second set is no chance");
        two.retain(|column| column.table.ends_with('1') || column.table == "customer2");
        assert_eq!(sets(&two).map(|sets| sets.len()), Ok(1));
    }

    #[test]
    fn two_tables_for_one_name_and_texts_for_amounts_are_rejected() {
        let mut all = found(
            |table| table.name().into(),
            |column| {
                let kind = if column.name == "w_ytd" { "text" } else { type_of(column) };
                Some((column.name.into(), kind))
            },
        );
        all.push(FoundColumn::new("public", "oorder", "o_id", "int"));
        let problem = sets(&all).unwrap_err();
        assert!(problem.contains("one table for orders, which may be oorder or orders"), "{problem}");
        assert!(problem.contains("a number in warehouse.w_ytd, a text"), "{problem}");
    }

    #[test]
    fn types_have_the_kind_that_catalogs_name() {
        for (name, kind) in [
            ("numeric(12,2)", Kind::Decimal),
            ("DECIMAL(12, 0)", Kind::Integer),
            ("bigint(20)", Kind::Integer),
            ("double precision", Kind::Float),
            ("float", Kind::Float),
            ("timestamp without time zone", Kind::Other),
            ("interval", Kind::Other),
        ] {
            assert_eq!(Kind::of(name), kind, "{name}");
        }
    }
}
