//! The isolation level that a transaction really has. A proxy may change the text that begins it, and a server may give
//! another level than it is asked for.

use crate::net::Purpose;
use crate::per_transaction::Preparing;
use crate::postgres::connecting::{connected, refused};
use crate::postgres::session::{PgConnection, Texts, measured_dialect};
use crate::postgres::wire::Wire;
use crate::postgres::{Postgres, poolers};
use lydite_database::TargetError;
use lydite_database::sql::connection::Connection;
use lydite_database::sql::prepared::{Prepared, StatementRole};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::sql::value::Rows;
use std::sync::Arc;

/// Statements of a transaction that asks for its level, prepared as those of the measured sessions.
#[derive(Clone, Copy, Debug)]
enum Ask {
    BeginWrite,
    BeginRead,
    Level,
    Commit,
}

impl Prepared for Ask {
    fn index(self) -> usize {
        self as usize
    }

    fn role(self) -> StatementRole {
        match self {
            Self::BeginWrite => StatementRole::BeginWrite,
            Self::BeginRead => StatementRole::BeginRead,
            Self::Level => StatementRole::Other,
            Self::Commit => StatementRole::Commit,
        }
    }
}

impl Postgres {
    /// Rejects servers that give transactions a weaker level than the URL asks for. Reads it back on every endpoint.
    pub(super) fn check_isolation(&self) -> Result<(), TargetError> {
        let dialect = measured_dialect(&self.config);
        let texts = [
            (Ask::BeginWrite, dialect.begin_write.to_string()),
            (Ask::BeginRead, dialect.begin_read.to_string()),
            (Ask::Level, self.config.product.effective_isolation.to_string()),
            (Ask::Commit, "COMMIT".to_string()),
        ];
        for node in self.nodes.iter() {
            poolers::between(&mut connected(node)?, node)?;
            let ask = || -> Result<[String; 2], SqlError> {
                let wire = Wire::connect(node, Purpose::Transactions)?;
                let texts = Arc::new(Texts::of(&texts));
                let mut connection = PgConnection::new(wire, &texts, Preparing::AtOnce, None)?;
                Ok([level(&mut connection, Ask::BeginWrite)?, level(&mut connection, Ask::BeginRead)?])
            };
            let levels = ask().map_err(|error| refused(error, node))?;
            for found in &levels {
                let offered = self.config.product.isolation;
                self.config.isolation.check_effective(found, offered, &node.place())?;
            }
            let [level, _] = levels;
            self.effective.get_or_init(|| level);
        }
        Ok(())
    }
}

/// Returns the level of a transaction that begins in this way.
fn level(connection: &mut PgConnection, begin: Ask) -> Result<String, SqlError> {
    let mut rows = Rows::default();
    connection.run(begin, &[], &mut rows)?;
    connection.run(Ask::Level, &[], &mut rows)?;
    let level = rows.text(0, 0)?.to_string();
    connection.run(Ask::Commit, &[], &mut rows)?;
    Ok(level)
}
