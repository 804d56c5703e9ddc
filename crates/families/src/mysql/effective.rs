//! The isolation level that a transaction really has. A proxy may change the statement that sets it, and a server may give
//! another level than it is asked for.

use crate::mysql::connecting::{connected_for, refused};
use crate::mysql::wire::Wire;
use crate::mysql::{Mysql, proxies};
use crate::net::Purpose;
use lydite_database::TargetError;
use lydite_database::sql::isolation::Isolation;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;

/// Query of the session's level, whatever the version calls it.
const OF_SESSION: &str =
    "SHOW SESSION VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation')";
/// Query of the current transaction's level as InnoDB has it. It needs the privilege PROCESS.
const OF_INNODB: &str = "SELECT trx_isolation_level FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = connection_id()";

impl Mysql {
    /// Rejects servers that give transactions a weaker level than the URL asks for. Reads it back on every endpoint.
    pub(super) fn check_isolation(&self) -> Result<(), TargetError> {
        for node in self.nodes.iter() {
            let mut wire = connected_for(node, Purpose::Transactions)?;
            proxies::reject(&mut wire, node)?;
            let level = level(&mut wire).map_err(|error| refused(error, node))?;
            self.config.isolation.check_effective(&level, &Isolation::ALL, &node.place())?;
            self.effective.get_or_init(|| level.to_lowercase().replace('-', " "));
        }
        Ok(())
    }
}

/// Returns the level of a transaction on this connection.
fn level(wire: &mut Wire) -> Result<String, SqlError> {
    wire.execute("START TRANSACTION")?;
    let mut level = String::new();
    wire.query_each(OF_SESSION, &mut |row| {
        if let [_, Some(value)] = row {
            level = (*value).to_string();
        }
    })?;
    // InnoDB knows the transaction once it has read a table. Before a load there is none, and an account may lack the
    // privilege: the session's level stands then.
    if wire.execute("SELECT value FROM lydite_meta LIMIT 1").is_ok()
        && let Ok(found) = wire.column(OF_INNODB)
        && let Some(found) = found.into_iter().next()
    {
        level = found;
    }
    wire.execute("ROLLBACK")?;
    Ok(level)
}
