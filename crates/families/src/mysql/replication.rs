//! Replication in MySQL's family: a server's role, and the position of MariaDB's data as global transaction ids (GTIDs)
//! of the binary log.

use crate::mysql::Mysql;
use crate::mysql::config::Config;
use crate::mysql::wire::Wire;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{Positions, Replication, Role, TargetError, TxError};
use std::time::Duration;

/// The last commit of this connection; if it has none, the last commit in the binary log.
const POSITION: &str = "SELECT IF(@@log_bin, IF(@@last_gtid = '', @@gtid_binlog_pos, @@last_gtid), NULL)";

impl Positions for Wire {
    fn position(&mut self) -> Result<String, TxError> {
        let told = self.column(POSITION).map_err(|error| error.in_transaction(false))?;
        told.into_iter().next().ok_or_else(|| {
            TxError::Fatal(
                "the server writes no binary log, so no replica follows it: start it with --log-bin".into(),
            )
        })
    }

    fn reach(&mut self, position: &str, longest: Duration) -> Result<bool, TxError> {
        let sql = format!(
            "SELECT MASTER_GTID_WAIT('{}', {:.3})",
            position.replace('\'', "''"),
            longest.as_secs_f64()
        );
        let told = self.column(&sql).map_err(|error| error.in_transaction(false))?;
        Ok(told.first().is_some_and(|waited| waited == "0"))
    }
}

/// Checks that a server could be a replica of another one, as far as their URLs say.
pub(crate) fn can_follow(own: &Config, primary: &Config) -> Result<(), String> {
    if !own.shards.is_empty() || !primary.shards.is_empty() {
        return Err(
            "is not possible with shards=: a replica of the coordinator does not have their rows".into()
        );
    }
    if !own.nodes.is_empty() {
        return Err("names several servers by nodes=: give each a URL of its own".into());
    }
    if primary.of_nodes().iter().any(|node| node.place() == own.place()) {
        return Err("is a server of the target itself: name others".into());
    }
    Ok(())
}

impl Mysql {
    pub(super) fn read_replication(&self) -> Result<Replication, TargetError> {
        let mut wire = self.connect_wire()?;
        if !wire.product.follows {
            return Ok(Replication { role: Role::Member, database: None });
        }
        let failed = self.failed("ask whether it is a replica");
        let mut settings = Vec::new();
        wire.query_each("SELECT @@global.read_only, database()", &mut |row| {
            settings.extend(row.iter().map(|value| value.unwrap_or_default().to_string()));
        })
        .map_err(&failed)?;
        let mut cluster = Vec::new();
        wire.query_each("SHOW STATUS LIKE 'wsrep_cluster_state_uuid'", &mut |row| {
            cluster.extend(row.get(1).copied().flatten().filter(|uuid| !uuid.is_empty()).map(str::to_string));
        })
        .map_err(&failed)?;
        let [read_only, database] = &settings[..] else {
            return Err(failed(SqlError::Decode("the server reports no read_only".into())));
        };
        if let Some(cluster) = cluster.first() {
            let database = Some(format!("cluster {cluster}, database {database}"));
            return Ok(Replication { role: Role::Member, database });
        }
        let mut follows = 0;
        // Without the privilege for this statement, read_only decides.
        let _allowed = wire.query_each("SHOW REPLICA STATUS", &mut |_| follows += 1);
        let replica = follows > 0 || matches!(read_only.as_str(), "1" | "ON");
        Ok(Replication {
            role: if replica { Role::Replica } else { Role::Primary },
            database: Some(format!("database {database}")),
        })
    }
}
