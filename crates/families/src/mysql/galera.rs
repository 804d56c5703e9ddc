//! Nodes of Galera: each has all rows, or still copies what it lacks from the others.

use crate::mysql::config::Config;
use crate::mysql::errors::{NOT_IN_ITS_CLUSTER, UNKNOWN_VARIABLE, error, has_code};
use crate::mysql::wire::Wire;
use crate::net::{self, Purpose};
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;

/// The state of a node; no row for a server that is in no cluster.
const STATE: &str = "SELECT variable_value FROM information_schema.global_status \
                     WHERE variable_name = 'wsrep_local_state_comment' \
                     AND (SELECT variable_value FROM information_schema.global_variables \
                          WHERE variable_name = 'wsrep_on') = 'ON'";

/// Returns true if a server is a node that still copies rows, or commits since the copy.
fn copies(wire: &mut Wire) -> Result<bool, SqlError> {
    // Joining and Joined, with more words at times.
    let is_copying = |state: &String| state.starts_with("Join") || state == "Initialized";
    Ok(wire.column(STATE)?.iter().any(is_copying))
}

/// Waits until a server has every earlier commit of the others in its cluster.
///
/// # Errors
/// The server does not get there, or is a node that still copies what it lacks: there the wait ends too early.
pub(super) fn in_step(wire: &mut Wire) -> Result<(), SqlError> {
    match wire.product.in_step {
        "" => return Ok(()),
        wait => match wire.execute(wait) {
            // The server was built without clusters, so there is nothing to wait for.
            Err(problem) if has_code(&problem, UNKNOWN_VARIABLE) => return Ok(()),
            waited => waited?,
        },
    }
    if copies(wire)? {
        let message = "the node still copies commits from the others";
        return Err(error(Some(wire.product), NOT_IN_ITS_CLUSTER, "08S01", message));
    }
    Ok(())
}

/// Returns why a node may lack a database that its cluster has; `None` for a node that has all rows, and for other servers.
pub(super) fn without_rows(config: &Config) -> Option<&'static str> {
    let mut config = config.clone();
    config.database = "information_schema".into();
    match net::connecting(|| copies(&mut Wire::connect(&config, Purpose::Administration)?)) {
        Ok(true) => {
            Some("this node of a cluster still copies its rows from the others: wait until it has them")
        }
        Err(problem) if has_code(&problem, NOT_IN_ITS_CLUSTER) => Some(
            "this node is not in its cluster, or not yet: wait until it has all rows, or see why it finds no others in its log",
        ),
        _ => None,
    }
}
