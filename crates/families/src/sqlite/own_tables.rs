//! Tables that the user's own file makes.

use crate::own_schema::{Making, Script, Shape};
use crate::sqlite::Sqlite;
use crate::sqlite::connection::SqliteConnection;
use lydite_database::TargetError;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::ColumnType;

/// The catalog. Foreign keys are no problem: loaders switch them off.
static SHAPE: Shape = Shape {
    columns: "SELECT m.name, p.name, p.type, p.\"notnull\", p.dflt_value IS NOT NULL OR p.hidden > 0 \
              OR (p.pk > 0 AND upper(p.type) = 'INTEGER') \
              FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS p \
              WHERE m.type = 'table' AND lower(m.name) IN (#) ORDER BY m.name, p.cid",
    fits,
    wanted,
    no_transactions: "",
    foreign_keys: "",
    quote: '"',
};

/// Kind of values that SQLite makes of those that are stored in a column ("affinity").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Affinity {
    Integer,
    Text,
    Blob,
    Real,
    Numeric,
}

/// Returns the affinity of a declared type, by the rules of SQLite's documentation.
fn affinity(kind: &str) -> Affinity {
    let has = |parts: &[&str]| parts.iter().any(|part| kind.contains(part));
    if has(&["int"]) {
        Affinity::Integer
    } else if has(&["char", "clob", "text"]) {
        Affinity::Text
    } else if kind.is_empty() || has(&["blob"]) {
        Affinity::Blob
    } else if has(&["real", "floa", "doub"]) {
        Affinity::Real
    } else {
        Affinity::Numeric
    }
}

/// Returns true if a column of a declared type keeps the values: whole numbers, also of amounts in cents, and texts.
fn fits(column: ColumnType, kind: &str) -> bool {
    let affinity = affinity(kind);
    match column {
        ColumnType::Integer { .. } | ColumnType::Money { .. } | ColumnType::Rate => {
            !matches!(affinity, Affinity::Real | Affinity::Text)
        }
        // A number would lose the zeros before it.
        ColumnType::VarText(_) | ColumnType::FixedText(_) => {
            matches!(affinity, Affinity::Text | Affinity::Blob)
        }
        ColumnType::Time => matches!(affinity, Affinity::Text | Affinity::Blob | Affinity::Numeric),
    }
}

fn wanted(column: ColumnType) -> String {
    match column {
        ColumnType::Integer { .. } => "INTEGER".into(),
        ColumnType::Money { .. } => "INTEGER (whole cents)".into(),
        ColumnType::Rate => "INTEGER (ten-thousandths)".into(),
        ColumnType::VarText(_) | ColumnType::FixedText(_) | ColumnType::Time => "TEXT".into(),
    }
}

impl Sqlite {
    /// Makes the tables by the statements of the user's file.
    pub(super) fn create_own(
        &self,
        connection: &mut SqliteConnection,
        script: &Script,
        meta: &DatabaseMeta,
        there: &[String],
    ) -> Result<(), TargetError> {
        let failed = |error: SqlError, doing: &str| self.failed(doing)(error);
        let making = Making { script, meta, shape: &SHAPE, notes_options: "", failed: &failed };
        making.check_names(there)?;
        making.in_one_transaction(connection, "PRAGMA journal_mode = wal; BEGIN IMMEDIATE")
    }

    /// Rejects a file that can't make the tables in place of those that `drops` drops. Nothing is changed.
    pub(super) fn rehearse_own(
        &self,
        connection: &mut SqliteConnection,
        drops: &str,
    ) -> Result<(), TargetError> {
        let Some(script) = &self.config.scripts.schema else { return Ok(()) };
        let failed = |error: SqlError, doing: &str| self.failed(doing)(error);
        // A trial makes no notes.
        let meta = DatabaseMeta::uniform(1, 0, "");
        let making = Making { script, meta: &meta, shape: &SHAPE, notes_options: "", failed: &failed };
        connection.execute(&format!("BEGIN IMMEDIATE; {drops}")).map_err(self.failed("drop the tables"))?;
        let there = connection.column("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')");
        let there = there.map_err(self.failed("look for tables"));
        let tried = there.and_then(|there| making.rehearse(connection, &there));
        // An error of a statement may have ended the transaction.
        let _undone = connection.execute("ROLLBACK");
        tried
    }

    /// Rejects the end of a load that can't be finished with these files.
    pub(super) fn check_resume(&self) -> Result<(), TargetError> {
        let failed = |error: SqlError, doing: &str| self.failed(doing)(error);
        self.config.scripts.check_resume(&mut self.open()?, &SHAPE, &failed)
    }

    /// Executes the statements that follow the rows.
    pub(super) fn run_after_load(
        &self,
        connection: &mut SqliteConnection,
        stage: &(dyn Fn(&str) + Sync),
    ) -> Result<(), TargetError> {
        let failed = |error: SqlError, doing: &str| self.failed(doing)(error);
        let _at_work = self.work.enter(connection.interrupt_handle());
        let before = || self.work.unless_stopped(self.place());
        self.config.scripts.run_after_load(connection, &SHAPE, stage, before, &failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_would_change_the_values_do_not_fit() {
        let money = ColumnType::Money { digits: 12 };
        for (column, kind, fit) in [
            (money, "integer", true),
            (money, "decimal(12, 2)", true),
            (money, "double precision", false),
            (money, "real", false),
            (money, "varchar(12)", false),
            (ColumnType::VarText(9), "varchar(4)", true),
            (ColumnType::VarText(9), "decimal", false),
            (ColumnType::VarText(9), "", true),
            (ColumnType::Time, "datetime", true),
            (ColumnType::Time, "real", false),
        ] {
            assert_eq!(fits(column, kind), fit, "{column:?} {kind}");
        }
    }
}
