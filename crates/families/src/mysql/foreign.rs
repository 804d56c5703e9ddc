//! Databases with MySQL's protocol that another program filled, read in a read-only session.

use crate::mysql::Mysql;
use crate::stoppable::StoppableAdmin;
use lydite_database::TargetError;
use lydite_database::sql::foreign::{Amount, Foreign, Forms, ReadOnly};
use lydite_database::sql::meta::Admin;

static FORMS: Forms = Forms {
    columns: "SELECT table_schema, table_name, column_name, column_type FROM information_schema.columns \
              WHERE table_schema = database() ORDER BY table_name, ordinal_position",
    quote: '`',
    as_words: " AS ",
    amount: |column, amount| match amount {
        Amount::Decimal => column.to_string(),
        Amount::Float | Amount::Whole => format!("CAST({column} AS decimal(20, 2))"),
        Amount::Cents => format!("CAST({column} / 100 AS decimal(20, 2))"),
    },
    cents: |cents| lydite_tpcc::money::Cents(cents).to_string(),
    ten_thousandths: |rate| lydite_tpcc::money::Rate(rate as i32).to_string(),
    rate: |number| format!("CAST({number} AS decimal(10, 4))"),
};

impl Foreign for Mysql {
    fn read_only(&self) -> Result<ReadOnly<'_>, TargetError> {
        let mut wire = self.connect_wire()?;
        let (prepare, read_only) = (wire.product.check, wire.product.read_only);
        prepare
            .iter()
            .try_for_each(|statement| wire.execute(statement))
            .and_then(|()| wire.execute(read_only))
            .map_err(self.failed("begin to read"))?;
        let at_work = self.work.enter(wire.id);
        self.work.unless_stopped(self.config.place())?;
        let dialect = wire.product.dialect;
        let admin = Box::new(StoppableAdmin::new(wire, Some(at_work)));
        Ok(ReadOnly { admin, dialect, forms: &FORMS, place: self.config.place() })
    }
}
