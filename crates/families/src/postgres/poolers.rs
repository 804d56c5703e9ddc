//! Recognition of what can't be a target though it answers: poolers that change the server's session between two
//! transactions, and standbys.

use crate::net::{self, Purpose};
use crate::postgres::Postgres;
use crate::postgres::config::Config;
use crate::postgres::connecting::{advised, connected_for};
use crate::postgres::errors::{NO_CLIENTS, NO_TRANSACTIONS, STATEMENT_MODE, TOO_MANY, WAITED};
use crate::postgres::unprepared::Between;
use crate::postgres::wire::Wire;
use lydite_database::TargetError;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use std::time::Duration;

/// Query of the number of the server's process that works for the connection.
const PROCESS: &str = "SELECT pg_backend_pid()";
/// Times that a connection is asked for its process while another one holds one. A pooler may hand its connections out in
/// turn.
const LOOKS: usize = 4;
/// Longest wait for a connection of a pool that Lydite can't do without. A busy machine takes seconds to make one.
const PATIENCE: Duration = Duration::from_secs(15);
/// Longest wait for a further connection of a pool.
const SHORT_PATIENCE: Duration = Duration::from_secs(1);
/// Transactions that Lydite holds open at once, beside those of sessions: the mark of a run, and a check on one snapshot
/// over three connections.
const LEAST: usize = 4;
/// Most connections of a pool that are counted.
const MOST: usize = 100;

/// Returns what is between. Rejects a pooler in statement mode, and one in transaction mode unless sessions are unprepared:
/// it passes each transaction to any connection of its own, so settings and prepared statements are lost, and locks of a
/// session stay behind. Session mode is fine.
///
/// A connection knows the number of its process from the server's first messages. A pooler makes that number up.
pub(super) fn between(wire: &mut Wire, config: &Config) -> Result<Between, TargetError> {
    if !config.product.heap {
        return Ok(Between::Nothing);
    }
    let place = config.place();
    let failed = |error| advised(error, "ask for the server's process", &place);
    // A server may withhold it.
    let Some(process) = wire.process() else { return Ok(Between::Nothing) };
    let own = wire.column(PROCESS).map_err(failed)?.concat();
    if own.is_empty() || own == process.to_string() {
        return Ok(Between::Nothing);
    }
    wire.limit(Some(PATIENCE)).map_err(failed)?;
    let shares = shares(wire, config, &own)?;
    wire.limit(None).map_err(failed)?;
    if !shares {
        return Ok(Between::Nothing);
    }
    if !config.unprepared {
        return Err(TargetError::usage(format!(
            "{place}: a pooler in transaction mode is between: settings, locks and prepared statements of a session are \
             lost there: add ?statements=unprepared to the URL, connect to the server itself, or set pool_mode=session \
             (PgBouncer)"
        )));
    }
    let found = at_once(config, LEAST, PATIENCE)?;
    if found < LEAST { Err(too_few(config, found)) } else { Ok(Between::Pooler) }
}

/// True if a connection with this process of the server gets another one for another transaction.
fn shares(wire: &mut Wire, config: &Config, own: &str) -> Result<bool, TargetError> {
    let place = config.place();
    let failed = |error| match error {
        SqlError::Database { message, .. } if message.contains(NO_TRANSACTIONS) => {
            TargetError::usage(format!("{place}: {STATEMENT_MODE}"))
        }
        error if is_waiting(&error) => too_few(config, 1),
        error => advised(error, "ask for the server's process", &place),
    };
    // The second connection keeps the server's connection that it gets, so the first one must get another.
    let mut other = connected_for(config, Purpose::Administration)?;
    other.limit(Some(PATIENCE)).map_err(failed)?;
    other.execute("BEGIN").map_err(failed)?;
    let held = other.column(PROCESS).map_err(failed)?.concat();
    for _ in 0..LOOKS {
        if held == own || wire.column(PROCESS).map_err(failed)?.concat() != own {
            return Ok(true);
        }
    }
    other.execute("ROLLBACK").map_err(failed)?;
    Ok(false)
}

/// True if a pooler had no connection of the server in time, or the server none for the pooler.
fn is_waiting(error: &SqlError) -> bool {
    net::is_no_answer(error)
        || matches!(error, SqlError::Database { code, message, .. } if code == TOO_MANY || message.contains(WAITED))
}

fn too_few(config: &Config, found: usize) -> TargetError {
    TargetError::unreachable(format!(
        "{}: the pooler gives {found} connections of the server at once, and Lydite holds up to {LEAST} beside its sessions: \
         raise default_pool_size (PgBouncer), and the server's max_connections",
        config.place()
    ))
}

/// Returns the number of transactions that a pooler lets be open at once, up to `wanted` and [`MOST`].
fn at_once(config: &Config, wanted: usize, patience: Duration) -> Result<usize, TargetError> {
    let mut config = config.clone();
    config.connection.connect_timeout = patience;
    let mut open = Vec::new();
    while open.len() < wanted.min(MOST) {
        let mut wire = match connected_for(&config, Purpose::Administration) {
            Ok(wire) => wire,
            // It needs a connection of the server too.
            Err(error) if !open.is_empty() && !error.message.contains(NO_CLIENTS) => break,
            Err(error) => return Err(error),
        };
        let begun = wire.limit(Some(patience)).and_then(|()| wire.execute("BEGIN"));
        match begun {
            Ok(()) => open.push(wire),
            Err(error) if is_waiting(&error) => break,
            Err(error) => return Err(advised(error, "count the pooler's connections", &config.place())),
        }
    }
    Ok(open.len())
}

impl Postgres {
    /// Returns a note if the pooler has fewer connections than so many sessions use.
    pub(super) fn pool_note(&self, sessions: u32) -> Result<Option<String>, TargetError> {
        let config = &self.config;
        let wanted = usize::try_from(sessions).unwrap_or(MOST).saturating_add(1).min(MOST);
        let found = at_once(config, wanted, SHORT_PATIENCE)?;
        Ok((found < wanted).then(|| {
            format!(
                "{}: the pooler gives {found} connections of the server at once: some of the {sessions} sessions wait for one, \
                 and latencies include that wait (PgBouncer: default_pool_size)",
                config.place()
            )
        }))
    }

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
