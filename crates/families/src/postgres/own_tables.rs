//! Tables that the user's own file makes.

use crate::own_schema::{Making, Script, Shape, text_width};
use crate::postgres::wire::Wire;
use crate::postgres::{Postgres, load_lock};
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{TargetError, TargetErrorKind};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::ColumnType;

/// The catalog.
static SHAPE: Shape = Shape {
    columns: "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, \
              a.atthasdef OR a.attidentity <> '' FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid \
              WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) \
              AND c.relkind IN ('r', 'p', 'f') AND a.attnum > 0 AND NOT a.attisdropped AND c.relname IN (#) \
              ORDER BY c.relname, a.attnum",
    fits,
    wanted,
    no_transactions: "",
    foreign_keys: "SELECT conname || ' of ' || relname FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid \
                   WHERE contype = 'f' AND relnamespace = (SELECT oid FROM pg_namespace \
                   WHERE nspname = current_schema()) AND relname IN (#) ORDER BY relname, conname",
    quote: '"',
};

/// Returns true if a type of the catalog takes the values that loads and transactions send for a column.
fn fits(column: ColumnType, kind: &str) -> bool {
    let word = kind.split('(').next().unwrap_or_default().trim();
    let decimals = |least: u64| {
        // Without a scale it keeps all decimals.
        let scale = kind
            .split_once(',')
            .and_then(|(_, scale)| scale.trim_end_matches(')').trim().parse::<u64>().ok());
        word == "numeric" && (!kind.contains('(') || scale.is_some_and(|scale| scale >= least))
    };
    let text = |least: u16| {
        word == "text"
            || word == "character varying" && text_width(kind).is_none_or(|width| width >= least.into())
    };
    match column {
        ColumnType::Integer { below } => {
            matches!(word, "integer" | "bigint") || word == "smallint" && below <= 1 << 15
        }
        ColumnType::Money { .. } => decimals(2),
        ColumnType::Rate => decimals(4),
        ColumnType::VarText(width) => text(width),
        // Blanks would fill a longer one.
        ColumnType::FixedText(width) => {
            text(width) || word == "character" && text_width(kind).unwrap_or(1) == u64::from(width)
        }
        ColumnType::Time => word.starts_with("timestamp"),
    }
}

fn wanted(column: ColumnType) -> String {
    match column {
        ColumnType::Integer { below } if below <= 1 << 15 => "smallint, integer or bigint".into(),
        ColumnType::Integer { .. } => "integer or bigint".into(),
        ColumnType::Money { digits } => format!("numeric with two decimals, as numeric({digits}, 2)"),
        ColumnType::Rate => "numeric with four decimals, as numeric(4, 4)".into(),
        ColumnType::VarText(width) => format!("varchar({width}) or longer, or text"),
        ColumnType::FixedText(width) => format!("char({width}), varchar or text"),
        ColumnType::Time => "timestamptz or timestamp".into(),
    }
}

impl Postgres {
    /// Makes the tables by the statements of the user's file.
    pub(super) fn create_own(
        &self,
        wire: &mut Wire,
        script: &Script,
        meta: &DatabaseMeta,
    ) -> Result<(), TargetError> {
        let failed = |error: SqlError, doing: &str| self.failed(doing)(error);
        let making = Making { script, meta, shape: &SHAPE, notes_options: "", failed: &failed };
        if self.config.product.heap {
            making.check_names(&self.tables(wire)?)?;
            making.in_one_transaction(wire, "BEGIN")
        } else {
            making.one_by_one(wire, &|wire| self.tables(wire))
        }
    }

    /// Rejects a file that can't make the tables in place of those that are there. Nothing is changed. What keeps the trial
    /// from its end, as the locks of others, is no reason.
    pub(super) fn rehearse_own(&self, wire: &mut Wire) -> Result<(), TargetError> {
        let Some(script) = self.config.scripts.schema.as_deref().filter(|_| self.config.product.heap) else {
            return Ok(());
        };
        let failed = |error: SqlError, doing: &str| self.failed(doing)(error);
        // A trial makes no notes.
        let meta = DatabaseMeta::uniform(1, 0, "");
        let making = Making { script, meta: &meta, shape: &SHAPE, notes_options: "", failed: &failed };
        wire.execute("BEGIN").map_err(self.failed("begin"))?;
        let tried = self
            .drop_all(wire)
            .and_then(|()| self.tables(wire))
            .and_then(|there| making.rehearse(wire, &there));
        wire.execute("ROLLBACK").map_err(self.failed("roll back"))?;
        tried.or_else(|error| if error.kind == TargetErrorKind::Usage { Err(error) } else { Ok(()) })
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
        load_lock::share(&mut wire, self.config.product).map_err(self.failed("join the load"))?;
        let _at_work = wire.backend().map(|backend| self.work.enter(backend));
        let before = || self.work.unless_stopped(self.config.place());
        self.config.scripts.run_after_load(&mut wire, &SHAPE, stage, before, &failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::session::column_type;
    use lydite_tpcc::schema::Table;

    #[test]
    fn lydites_own_types_fit_and_narrower_ones_do_not() {
        for column in Table::ALL.into_iter().flat_map(|table| table.schema().columns) {
            // The names of the catalog.
            let kind = column_type(column.kind)
                .replace("varchar", "character varying")
                .replace("char(", "character(")
                .replace("int4", "integer")
                .replace("int8", "bigint")
                .replace("timestamptz", "timestamp with time zone");
            assert!(fits(column.kind, &kind), "{} {kind}", column.name);
        }
        for (column, kind) in [
            (ColumnType::Integer { below: 100_000 }, "smallint"),
            (ColumnType::Integer { below: 10 }, "numeric"),
            (ColumnType::Money { digits: 12 }, "double precision"),
            (ColumnType::Money { digits: 12 }, "numeric(12,0)"),
            (ColumnType::Rate, "numeric(4,2)"),
            (ColumnType::VarText(16), "character varying(10)"),
            (ColumnType::VarText(16), "character(16)"),
            (ColumnType::FixedText(2), "character(3)"),
            (ColumnType::Time, "date"),
        ] {
            assert!(!fits(column, kind), "{column:?} {kind}");
        }
        assert!(fits(ColumnType::VarText(16), "text") && fits(ColumnType::Money { digits: 12 }, "numeric"));
    }
}
