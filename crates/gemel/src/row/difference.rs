//! Differences between the schema of a table and the one that a program expects, in words.

use super::key_column::KeyColumn;
use super::schema::{Column, IndexDef, Schema};

impl Schema {
    /// Returns the differences of a table's schema from the `expected` one, in words. There are none if a program can't
    /// tell them apart: the order of the indexes does not matter.
    pub(crate) fn differences(&self, expected: &Self) -> Vec<String> {
        let mut found = Vec::new();
        self.compare_columns(expected, &mut found);
        if self.primary_key != expected.primary_key {
            let (is, should) = (listed(&self.primary_key), listed(&expected.primary_key));
            found.push(format!("the primary key is ({is}), not ({should})"));
        }
        self.compare_indexes(expected, &mut found);
        found
    }

    fn compare_columns(&self, expected: &Self, found: &mut Vec<String>) {
        let mut renamed = Vec::new();
        for (at, column) in expected.columns.iter().enumerate() {
            if let Some(own) = self.position(&column.name).map(|at| &self.columns[at]) {
                if own != column {
                    found.push(format!("column {} is {}, not {}", own.name, words(own), words(column)));
                }
                continue;
            }
            let same = |own: &&Column| (own.kind, own.nullable) == (column.kind, column.nullable);
            match self.columns.get(at).filter(same).filter(|own| expected.position(&own.name).is_none()) {
                Some(own) => {
                    renamed.push(own.name.as_str());
                    found.push(format!("column {} is named {}, not {}", at + 1, own.name, column.name));
                }
                None => found.push(format!("column {} ({}) is missing", column.name, words(column))),
            }
        }
        for column in &self.columns {
            if expected.position(&column.name).is_none() && !renamed.contains(&column.name.as_str()) {
                found.push(format!("there is a further column {} ({})", column.name, words(column)));
            }
        }
        let (own, others) = (self.common(expected), expected.common(self));
        if own != others {
            found.push(format!(
                "the columns have the order ({}), not ({})",
                own.join(", "),
                others.join(", ")
            ));
        }
    }

    /// Returns the names of the columns that both schemas have, in the order of this one.
    fn common(&self, other: &Self) -> Vec<&str> {
        let names = self.columns.iter().map(|column| column.name.as_str());
        names.filter(|name| other.position(name).is_some()).collect()
    }

    fn compare_indexes(&self, expected: &Self, found: &mut Vec<String>) {
        for index in &expected.indexes {
            match self.indexes.iter().find(|own| own.name == index.name) {
                Some(own) if own == index => {}
                Some(own) => {
                    found.push(format!("index {} is {}, not {}", own.name, columns(own), columns(index)));
                }
                None => found.push(format!("index {} ({}) is missing", index.name, columns(index))),
            }
        }
        for index in &self.indexes {
            if !expected.indexes.iter().any(|other| other.name == index.name) {
                found.push(format!("there is a further index {} ({})", index.name, columns(index)));
            }
        }
    }
}

/// Returns the type of a column in words.
fn words(column: &Column) -> String {
    format!("{}{}", column.kind, if column.nullable { ", nullable" } else { "" })
}

/// Returns the columns of an index in words.
fn columns(index: &IndexDef) -> String {
    let included = match index.include.is_empty() {
        true => String::new(),
        false => format!(" including {}", index.include.join(", ")),
    };
    format!("{}on {}{included}", if index.unique { "unique " } else { "" }, listed(&index.columns))
}

fn listed(columns: &[KeyColumn]) -> String {
    let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
    columns.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{ColumnType, asc, desc};

    fn schema() -> Schema {
        let schema = Schema::new().column("id", ColumnType::I64).column("name", ColumnType::Text);
        schema.nullable("town", ColumnType::Text).primary_key(["id"])
    }

    #[test]
    fn each_difference_is_named() {
        let expected = schema().index("by_name", ["name"]).index("by_town", ["town"]);
        let two = schema().index("by_town", ["town"]).index("by_name", ["name"]);
        assert!(two.differences(&expected).is_empty(), "the order of indexes does not matter");
        let table = Schema::new()
            .column("id", ColumnType::I32)
            .column("surname", ColumnType::Text)
            .nullable("age", ColumnType::I16)
            .primary_key(["surname"])
            .unique_index("by_name", ["surname"])
            .index("by_age", ["age"]);
        assert_eq!(
            table.differences(&expected),
            [
                "column id is a 32-bit integer, not a 64-bit integer",
                "column 2 is named surname, not name",
                "column town (a text, nullable) is missing",
                "there is a further column age (a 16-bit integer, nullable)",
                "the primary key is (surname), not (id)",
                "index by_name is unique on surname, not on name",
                "index by_town (on town) is missing",
                "there is a further index by_age (on age)",
            ]
        );
    }

    #[test]
    fn another_order_of_a_key_is_a_difference() {
        let expected = schema().index("by_name", [asc("name"), desc("town")]);
        let table = schema().primary_key([desc("id")]).index("by_name", ["name", "town"]);
        assert_eq!(
            table.differences(&expected),
            [
                "the primary key is (id desc), not (id)",
                "index by_name is on name, town, not on name, town desc"
            ]
        );
    }

    #[test]
    fn another_order_of_columns_is_a_difference() {
        let table = Schema::new().column("name", ColumnType::Text).column("id", ColumnType::I64);
        let found = table.primary_key(["id"]).differences(&schema());
        assert_eq!(
            found,
            [
                "column town (a text, nullable) is missing",
                "the columns have the order (name, id), not (id, name)"
            ]
        );
    }
}
