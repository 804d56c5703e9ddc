//! The check that the servers of a URL hold one database.

use lydite_database::{Role, Target, TargetError};

/// A server that a URL names beside others.
pub(crate) trait Node: Target {
    /// Returns host, port and database, for messages.
    fn place(&self) -> String;

    /// Returns the text that servers of one cluster have in common, as far as they report one.
    ///
    /// # Errors
    /// The server fails.
    fn cluster(&self) -> Result<Vec<String>, TargetError>;
}

/// Rejects replicas, and servers that do not hold the database of the first one. A single server is not asked.
///
/// # Errors
/// The first server that does not belong to the others, or fails.
pub(crate) fn check_one_database<N: Node>(nodes: &[N]) -> Result<(), TargetError> {
    let [first, others @ ..] = nodes else { return Ok(()) };
    if others.is_empty() {
        return Ok(());
    }
    for node in nodes {
        if node.capabilities().replication()?.replication()?.role == Role::Replica {
            return Err(TargetError::usage(format!(
                "{}: this server is a replica and takes no writes: name it with --replicas",
                node.place()
            )));
        }
    }
    let own = (first.cluster()?, first.state()?);
    for node in others {
        if (node.cluster()?, node.state()?) != own {
            return Err(TargetError::usage(format!(
                "{}: this server does not hold the database of {}: name servers of one database",
                node.place(),
                first.place()
            )));
        }
    }
    Ok(())
}
