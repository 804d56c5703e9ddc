//! Tables that the user's own file makes.

use crate::mysql::Mysql;
use crate::mysql::load_lock::MARK;
use crate::mysql::wire::Wire;
use crate::own_schema::{Making, Script, Shape, text_width};
use lydite_database::TargetError;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::ColumnType;

/// The catalog. Foreign keys are no problem: loaders switch their checks off.
static SHAPE: Shape = Shape {
    columns: "SELECT table_name, column_name, column_type, is_nullable = 'NO', column_default IS NOT NULL \
              OR lower(extra) LIKE '%auto_increment%' OR lower(extra) LIKE '%generated%' \
              FROM information_schema.columns WHERE table_schema = database() AND table_name IN (#) \
              ORDER BY table_name, ordinal_position",
    fits,
    wanted,
    no_transactions: NO_TRANSACTIONS,
    foreign_keys: "",
    quote: '`',
};

/// Tables whose engine has no transactions.
const NO_TRANSACTIONS: &str = "SELECT concat(t.table_name, ' is in the engine ', t.engine, \
    ', which has no transactions: write another one, as ENGINE = InnoDB') \
    FROM information_schema.tables AS t JOIN information_schema.engines AS e ON e.engine = t.engine \
    WHERE t.table_schema = database() AND t.table_name IN (#) AND e.transactions = 'NO' ORDER BY t.table_name";

/// Types of whole numbers, with the number of bits beside the sign.
const INTEGERS: [(&str, u32); 5] =
    [("tinyint", 7), ("smallint", 15), ("mediumint", 23), ("int", 31), ("bigint", 63)];

/// Returns true if a type of the catalog takes the values that loads and transactions send for a column.
fn fits(column: ColumnType, kind: &str) -> bool {
    let word = kind.split(['(', ' ']).next().unwrap_or_default();
    let decimals = |least: u64| {
        let scale =
            kind.split_once(',').and_then(|(_, rest)| rest.split(')').next()?.trim().parse::<u64>().ok());
        word == "decimal" && scale.is_some_and(|scale| scale >= least)
    };
    match column {
        ColumnType::Integer { below } => {
            // Databases of older versions have four bytes for what only grows.
            let wanted = below.min(1 << 31);
            INTEGERS.iter().any(|(name, bits)| *name == word && wanted <= 1 << bits)
        }
        ColumnType::Money { .. } => decimals(2),
        ColumnType::Rate => decimals(4),
        ColumnType::VarText(width) | ColumnType::FixedText(width) => {
            word.ends_with("text") && word != "tinytext"
                || matches!(word, "varchar" | "char")
                    && text_width(kind).is_some_and(|has| has >= width.into())
        }
        ColumnType::Time => matches!(word, "datetime" | "timestamp"),
    }
}

fn wanted(column: ColumnType) -> String {
    match column {
        ColumnType::Integer { below } => {
            let wanted = below.min(1 << 31);
            let least =
                INTEGERS.iter().find(|(_, bits)| wanted <= 1 << bits).map_or("bigint", |(name, _)| name);
            format!("{least} or longer")
        }
        ColumnType::Money { digits } => format!("decimal with two decimals, as decimal({digits}, 2)"),
        ColumnType::Rate => "decimal with four decimals, as decimal(4, 4)".into(),
        ColumnType::VarText(width) | ColumnType::FixedText(width) => {
            format!("varchar({width}) or longer, or text")
        }
        ColumnType::Time => "datetime or timestamp".into(),
    }
}

impl Mysql {
    /// Makes the tables by the statements of the user's file.
    pub(super) fn create_own(
        &self,
        wire: &mut Wire,
        script: &Script,
        meta: &DatabaseMeta,
    ) -> Result<(), TargetError> {
        let failed = |error: SqlError, doing: &str| self.failed(doing)(error);
        // A note of rows belongs into the transaction of the rows.
        let default = self.default_without_transactions(wire)?;
        let notes_options = if default.is_some() { " ENGINE = InnoDB" } else { "" };
        let making = Making { script, meta, shape: &SHAPE, notes_options, failed: &failed };
        // The tables may refer to each other in any order, also when they are dropped after an error.
        wire.execute("SET SESSION foreign_key_checks = 0").map_err(self.failed("set foreign_key_checks"))?;
        making.one_by_one(wire, &|wire| self.tables(wire))
    }

    /// Rejects the end of a load that can't be finished with these files.
    pub(super) fn check_resume(&self) -> Result<(), TargetError> {
        let failed = |error: SqlError, doing: &str| self.failed(doing)(error);
        self.config.scripts.check_resume(&mut self.connect_wire()?, &SHAPE, &failed)
    }

    /// Executes the statements that follow the rows.
    pub(super) fn run_after_load(&self, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> {
        let failed = |error: SqlError, doing: &str| self.failed(doing)(error);
        let mut wire = self.connect_wire()?;
        wire.execute("SET SESSION foreign_key_checks = 0").map_err(self.failed("set foreign_key_checks"))?;
        let _at_work = self.work.enter(wire.id);
        let before = || self.work.unless_stopped(self.config.place());
        self.config.scripts.run_after_load(&mut Marked(&mut wire), &SHAPE, stage, before, &failed)
    }
}

/// A connection whose statements have the mark of loads, by which the next load finds those of a killed one.
struct Marked<'a>(&'a mut Wire);

impl Admin for Marked<'_> {
    fn query_each(&mut self, sql: &str, row: &mut dyn FnMut(&[Option<&str>])) -> Result<(), SqlError> {
        self.0.query_each(&format!("{MARK} {sql}"), row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::product;
    use lydite_tpcc::schema::Table;

    #[test]
    fn lydites_own_types_fit_and_narrower_ones_do_not() {
        let product = product::of("11.4.2-MariaDB", "");
        for column in Table::ALL.into_iter().flat_map(|table| table.schema().columns) {
            let kind = (product.dialect.column_type)(column.kind).to_lowercase().replace("integer", "int");
            assert!(fits(column.kind, &kind), "{} {kind}", column.name);
        }
        for (column, kind) in [
            (ColumnType::Integer { below: 100_000 }, "smallint(6)"),
            (ColumnType::Integer { below: 10 }, "decimal(10,0)"),
            (ColumnType::Money { digits: 12 }, "double"),
            (ColumnType::Money { digits: 12 }, "decimal(12,0)"),
            (ColumnType::VarText(16), "varchar(10)"),
            (ColumnType::VarText(500), "tinytext"),
            (ColumnType::Time, "date"),
        ] {
            assert!(!fits(column, kind), "{column:?} {kind}");
        }
        assert!(fits(ColumnType::Integer { below: 100_000 }, "int(10) unsigned"));
    }
}
