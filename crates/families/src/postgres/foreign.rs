//! PostgreSQL databases that another program filled, read in a read-only session.

use crate::postgres::{Postgres, session};
use crate::stoppable::StoppableAdmin;
use lydite_database::TargetError;
use lydite_database::sql::foreign::{Amount, Foreign, Forms, ReadOnly};
use lydite_database::sql::meta::Admin;

/// Statements that begin the session's one transaction.
const READ_ONLY: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0";

static FORMS: Forms = Forms {
    columns: "SELECT current_schema(), c.relname, a.attname, format_type(a.atttypid, a.atttypmod) \
              FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid \
              WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) \
              AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped \
              ORDER BY c.relname, a.attnum",
    quote: '"',
    as_words: " AS ",
    amount: |column, amount| match amount {
        Amount::Decimal => column.to_string(),
        Amount::Float | Amount::Whole => format!("round(CAST({column} AS numeric), 2)"),
        Amount::Cents => format!("round({column} / 100.0, 2)"),
    },
    cents: |cents| lydite_tpcc::money::Cents(cents).to_string(),
    ten_thousandths: |rate| lydite_tpcc::money::Rate(rate as i32).to_string(),
    rate: |number| format!("round(CAST({number} AS numeric), 4)"),
};

/// Forms of servers that would store each expression that a query uses twice.
static INLINED: Forms = Forms { as_words: " AS NOT MATERIALIZED ", ..FORMS };

impl Foreign for Postgres {
    fn read_only(&self) -> Result<ReadOnly<'_>, TargetError> {
        let mut wire = self.connect_wire()?;
        wire.keep(&[("default_transaction_read_only", "on".into())])
            .and_then(|()| wire.execute(READ_ONLY))
            .map_err(self.failed("begin to read"))?;
        let heap = self.config.product.heap;
        if heap {
            wire.execute("SET LOCAL work_mem = '256MB'; SET LOCAL jit = off")
                .map_err(self.failed("begin to read"))?;
        }
        let at_work = wire.backend().map(|backend| self.work.enter(backend));
        self.work.unless_stopped(self.config.place())?;
        Ok(ReadOnly {
            admin: Box::new(StoppableAdmin::new(wire, at_work)),
            dialect: session::dialect(self.config.isolation),
            forms: if heap { &INLINED } else { &FORMS },
            place: self.config.place(),
        })
    }
}
