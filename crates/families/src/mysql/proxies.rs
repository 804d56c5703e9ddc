//! Recognition of what can't be a target though it answers: proxies that change the server's session between two
//! transactions, and replicas.

use crate::mysql::Mysql;
use crate::mysql::config::Config;
use crate::mysql::connecting::{advised, connected};
use crate::mysql::wire::Wire;
use lydite_database::TargetError;
use lydite_database::sql::meta::Admin;

/// Query of the server's own number of the connection. Proxies answer a plain `connection_id()` by themselves.
const CONNECTION: &str = "SELECT connection_id() + 0";
/// Query that ProxySQL answers by itself, with its own name.
const COMMENT: &str = "SELECT @@version_comment LIMIT 1";
/// Times that a connection is asked for its number while another one is in a transaction. A proxy may hand its connections
/// out in turn.
const LOOKS: usize = 4;

/// Rejects a proxy that passes each transaction to any connection of its own, and may pass reads to a replica: ProxySQL,
/// and others that share connections. A proxy that keeps one connection for each client is fine.
///
/// A connection knows its number from the greeting. Such a proxy greets with a number of its own.
pub(super) fn reject(wire: &mut Wire, config: &Config) -> Result<(), TargetError> {
    let place = config.place();
    let failed = |error| advised(error, "ask for the connection's number", &place);
    let own = wire.column(CONNECTION).map_err(failed)?.concat();
    // The greeting has the lower half of a long number.
    if own.parse::<u64>().map_or(own.is_empty(), |own| own as u32 == wire.id) {
        return Ok(());
    }
    let name = wire.column(COMMENT).map_err(failed)?.concat();
    if name.contains("ProxySQL") {
        return Err(TargetError::usage(format!(
            "{place}: ProxySQL is between: it spreads the transactions of a session over connections and servers: connect \
             to the server itself"
        )));
    }
    // The second connection keeps the server's connection that it gets, so the first one must get another.
    let mut other = connected(config)?;
    other.execute("START TRANSACTION").map_err(failed)?;
    let held = other.column(CONNECTION).map_err(failed)?.concat();
    for _ in 0..LOOKS {
        if held == own || wire.column(CONNECTION).map_err(failed)?.concat() != own {
            return Err(TargetError::usage(format!(
                "{place}: a proxy is between that shares its connections: settings, locks and prepared statements of a \
                 session are lost there: connect to the server itself, or switch the sharing off (multiplexing)"
            )));
        }
    }
    other.execute("ROLLBACK").map_err(failed)
}

impl Mysql {
    /// Rejects a replica that takes no writes if the URL names no other server. Several servers are compared with each
    /// other.
    pub(super) fn check_primary(&self) -> Result<(), TargetError> {
        self.shards.iter().try_for_each(Self::check_primary)?;
        let mut wire = self.connect_wire()?;
        if !wire.product.follows || self.nodes.len() > 1 {
            return Ok(());
        }
        let read_only = wire
            .column("SELECT @@global.read_only")
            .map_err(self.failed("ask whether it is a replica"))?
            .concat();
        if !matches!(read_only.as_str(), "1" | "ON") {
            return Ok(());
        }
        // The columns have old and new names in all versions. Without the right to read them this tells nothing.
        let mut primary = None;
        let mut follows = false;
        for query in ["SHOW REPLICA STATUS", "SHOW SLAVE STATUS"] {
            let told = wire.query_each(query, &mut |row| {
                follows = true;
                if let [_, Some(host), _, Some(port), ..] = row {
                    primary = Some(format!(" at {host}:{port}"));
                }
            });
            if told.is_ok() {
                break;
            }
        }
        let place = self.config.place();
        Err(TargetError::usage(if follows {
            format!(
                "{place}: this server is a replica and takes no writes (read_only): connect to the primary{}, and name \
                 this one with --replicas",
                primary.unwrap_or_default()
            )
        } else {
            format!(
                "{place}: this server takes no writes (read_only): connect to the primary, or SET GLOBAL read_only = OFF \
                 if it has none"
            )
        }))
    }
}
