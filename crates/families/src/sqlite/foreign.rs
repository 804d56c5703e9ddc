//! SQLite files that another program filled, opened read-only.

use crate::sqlite::Sqlite;
use crate::sqlite::config::DIALECT;
use crate::sqlite::connection::SqliteConnection;
use crate::stoppable::StoppableAdmin;
use lydite_database::TargetError;
use lydite_database::sql::foreign::{Amount, Foreign, Forms, ReadOnly};
use lydite_database::sql::meta::Admin;

/// Other programs store amounts and rates as decimals, which SQLite keeps as binary floats; our dialect counts cents and
/// ten-thousandths.
static FORMS: Forms = Forms {
    columns: "SELECT 'main', m.name, p.name, p.type FROM sqlite_master AS m, pragma_table_info(m.name) AS p \
              WHERE m.type IN ('table', 'view') ORDER BY m.name, p.cid",
    quote: '"',
    as_words: " AS ",
    amount: |column, amount| match amount {
        Amount::Decimal | Amount::Float => format!("CAST(round({column} * 100) AS INTEGER)"),
        Amount::Whole => format!("{column} * 100"),
        Amount::Cents => column.to_string(),
    },
    cents: |cents| cents.to_string(),
    ten_thousandths: |rate| rate.to_string(),
    rate: |number| format!("CAST(round({number} * 10000) AS INTEGER)"),
};

impl Foreign for Sqlite {
    fn read_only(&self) -> Result<ReadOnly<'_>, TargetError> {
        let mut connection = SqliteConnection::open_to_read(&self.path).map_err(self.unopened())?;
        connection.execute("BEGIN").map_err(self.failed("begin to read"))?;
        let at_work = self.work.enter(connection.interrupt_handle());
        self.work.unless_stopped(self.place())?;
        let admin = Box::new(StoppableAdmin::new(connection, Some(at_work)));
        Ok(ReadOnly { admin, dialect: &DIALECT, forms: &FORMS, place: self.place() })
    }
}
