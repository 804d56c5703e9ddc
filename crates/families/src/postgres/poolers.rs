//! Recognition of what can't be a target though it answers: poolers that change the server's session between two
//! transactions, and standbys.

use crate::net::Purpose;
use crate::postgres::Postgres;
use crate::postgres::config::Config;
use crate::postgres::connecting::{advised, connected_for};
use crate::postgres::wire::Wire;
use lydite_database::TargetError;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;

/// Query of the number of the server's process that works for the connection.
const PROCESS: &str = "SELECT pg_backend_pid()";
/// Times that a connection is asked for its process while another one holds one. A pooler may hand its connections out in
/// turn.
const LOOKS: usize = 4;
/// PgBouncer's message for a transaction of several statements in statement mode begins so.
const NO_TRANSACTIONS: &str = "transaction blocks not allowed";

/// Rejects a pooler in transaction or statement mode: it passes each transaction to any connection of its own, so settings
/// and prepared statements are lost, and locks of a session stay behind. Session mode is fine.
///
/// A connection knows the number of its process from the server's first messages. A pooler makes that number up.
pub(super) fn reject(wire: &mut Wire, config: &Config) -> Result<(), TargetError> {
    if !config.product.heap {
        return Ok(());
    }
    let place = config.place();
    let failed = |error| advised(error, "ask for the server's process", &place);
    // A server may withhold it.
    let Some(process) = wire.process() else { return Ok(()) };
    let own = wire.column(PROCESS).map_err(failed)?.concat();
    if own.is_empty() || own == process.to_string() {
        return Ok(());
    }
    let refused = |mode: &str| {
        Err(TargetError::usage(format!(
            "{place}: a pooler in {mode} mode is between: settings, locks and prepared statements of a session are lost \
             there: connect to the server itself, or set pool_mode=session (PgBouncer)"
        )))
    };
    // The second connection keeps the server's connection that it gets, so the first one must get another.
    let mut other = connected_for(config, Purpose::Administration)?;
    match other.execute("BEGIN") {
        Err(SqlError::Database { message, .. }) if message.contains(NO_TRANSACTIONS) => {
            return refused("statement");
        }
        begun => begun.map_err(failed)?,
    }
    let held = match other.column(PROCESS) {
        Err(SqlError::Database { message, .. }) if message.contains(NO_TRANSACTIONS) => {
            return refused("statement");
        }
        held => held.map_err(failed)?.concat(),
    };
    for _ in 0..LOOKS {
        if held == own || wire.column(PROCESS).map_err(failed)?.concat() != own {
            return refused("transaction");
        }
    }
    other.execute("ROLLBACK").map_err(failed)
}

impl Postgres {
    /// Rejects a standby if the URL names no other server. Several servers are compared with each other.
    pub(super) fn check_primary(&self) -> Result<(), TargetError> {
        if !self.config.product.heap || self.nodes.len() > 1 {
            return Ok(());
        }
        let mut wire = self.connect_wire()?;
        let recovers =
            wire.column("SELECT pg_is_in_recovery()").map_err(self.failed("ask whether it is a replica"))?;
        if recovers.concat() != "t" {
            return self.shards.iter().try_for_each(Self::check_primary);
        }
        // Without a right to read it, and without a connection to the primary, this tells nothing.
        let primary = wire
            .column("SELECT sender_host || coalesce(':' || sender_port, '') FROM pg_stat_wal_receiver")
            .unwrap_or_default()
            .concat();
        let primary = if primary.is_empty() { primary } else { format!(" at {primary}") };
        Err(TargetError::usage(format!(
            "{}: this server is a standby and takes no writes: connect to the primary{primary}, and name this one with \
             --replicas",
            self.config.place()
        )))
    }
}
