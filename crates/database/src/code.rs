//! The code that a database gets, as text: its tables, and its transactions. Reports disclose it.

use crate::TxMode;
use crate::kv::transactions;
use crate::sql::ddl;
use crate::sql::dialect::Dialect;
use crate::sql::statement::Statement;
use lydite_tpcc::schema::Table;

/// The code of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The form of the tables: DDL, or the layout of a key-value store.
    pub tables: Vec<Listing>,
    /// The transactions, as they are sent.
    pub transactions: Vec<Listing>,
}

/// A piece of code with its title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Title.
    pub title: String,
    /// Text.
    pub text: String,
}

impl Listing {
    /// Creates a listing.
    pub fn new(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self { title: title.into(), text: text.into() }
    }
}

impl Code {
    /// Returns the code of an SQL database in this mode. `create` returns the statement that makes a table. Stored
    /// procedures are given where the database has them; only the mode that calls them discloses them.
    #[must_use]
    pub fn sql(
        dialect: &Dialect,
        mode: TxMode,
        create: impl Fn(Table) -> String,
        text: fn(Statement, &Dialect) -> String,
        procedures: &str,
    ) -> Self {
        let tables = Table::ALL.map(|table| Listing::new(table.name(), create(table))).to_vec();
        let mut transactions: Vec<Listing> = Statement::of_mode(mode, dialect)
            .into_iter()
            .map(|statement| Listing::new(format!("{statement:?}"), text(statement, dialect)))
            .collect();
        if mode == TxMode::Procedures {
            transactions.push(Listing::new("Stored procedures", procedures));
        }
        Self { tables, transactions }
    }

    /// Returns the code that plays the transactions over a key-value store.
    #[must_use]
    pub fn key_value() -> Self {
        Self {
            tables: vec![Listing::new("Layout of keys and rows", include_str!("kv/layout.rs"))],
            transactions: vec![Listing::new("Transactions over a key-value store", transactions::SOURCE)],
        }
    }
}

/// Returns the statements that give a table its primary key and its indexes, each after `; `.
#[must_use]
pub fn keys_of(table: Table) -> String {
    let key =
        ddl::primary_key(table).map(|key| format!("ALTER TABLE {} ADD PRIMARY KEY ({key})", table.name()));
    key.into_iter().chain(ddl::create_indexes(table)).map(|statement| format!(";\n{statement}")).collect()
}
