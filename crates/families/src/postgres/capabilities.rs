//! Features beside those of every target: placement, replication, transactions that stop, function tests, cancellation.

use crate::catalogs;
use crate::net::Purpose;
use crate::per_transaction;
use crate::postgres::wire::{self, Wire};
use crate::postgres::{Postgres, session};
use lydite_database::sql::balances::{BalanceSession, BalanceStatement};
use lydite_database::sql::held::HeldSession;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::session::SqlSession;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{
    BalanceTarget, Balances, Held, HeldTarget, Moved, NodeSize, Nodes, Positions, Replicated, Replication,
    Server, Session, StoppableWork, TableEngines, TableShape, TableShapes, TargetError, TxMode,
    engines_of_all, over_shards, seated,
};
use lydite_tpcc::{Placement, WarehouseId};
use std::time::Duration;

/// Access method of each table, or the server of a foreign one; of a partitioned table, those of its partitions.
const ENGINES: &str = "SELECT c.relname, coalesce('server ' || s.srvname, a.amname, \
     (SELECT string_agg(DISTINCT coalesce('server ' || ps.srvname, pa.amname), ' and ') \
      FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhrelid LEFT JOIN pg_am pa ON pa.oid = p.relam \
      LEFT JOIN pg_foreign_table pf ON pf.ftrelid = p.oid LEFT JOIN pg_foreign_server ps ON ps.oid = pf.ftserver \
      WHERE i.inhparent = c.oid)) \
     FROM pg_class c LEFT JOIN pg_am a ON a.oid = c.relam LEFT JOIN pg_foreign_table f ON f.ftrelid = c.oid \
     LEFT JOIN pg_foreign_server s ON s.oid = f.ftserver \
     WHERE c.relkind IN ('r', 'p', 'f') AND pg_table_is_visible(c.oid)";

impl Nodes for Postgres {
    fn placement(&self, warehouses: u32) -> Result<Option<Placement>, TargetError> {
        let Some(catalog) = self.config.product.placement else { return self.read_placement(warehouses) };
        let errors = (&*self.config.place(), self.failed("look for the nodes of the warehouses"));
        catalog.placement(&mut self.connect_wire()?, warehouses, errors).map(Some)
    }

    fn sizes(&self) -> Result<Option<Vec<NodeSize>>, TargetError> {
        self.read_sizes()
    }

    fn of_endpoints(&self) -> Result<Vec<String>, TargetError> {
        self.read_own_nodes()
    }

    fn move_warehouses(&self, warehouses: &[WarehouseId], shard: usize) -> Result<Moved, TargetError> {
        self.move_to_shard(warehouses, shard)
    }
}

impl TableShapes for Postgres {
    fn shapes(&self) -> Result<Vec<TableShape>, TargetError> {
        let Some(query) = self.config.product.shapes else { return Ok(Vec::new()) };
        let errors = (&*self.config.place(), self.failed("ask for the sizes of the tables"));
        let own = catalogs::shapes(&mut self.connect_wire()?, query, errors)?;
        let shards = self.shards.iter().map(Self::shapes).collect::<Result<Vec<_>, _>>()?;
        Ok(over_shards(own, &shards))
    }
}

impl Replicated for Postgres {
    fn replication(&self) -> Result<Replication, TargetError> {
        self.read_replication()
    }

    fn positions(&self) -> Result<Option<Box<dyn Positions>>, TargetError> {
        if !self.config.product.heap {
            return Ok(None);
        }
        Ok(Some(Box::new(self.connect_wire()?)))
    }

    fn connect_to_read(&self) -> Result<Box<dyn Session>, TargetError> {
        let dialect = session::measured_dialect(&self.config);
        let opening = self.measured(self.tpcc_opening(self.config.mode, dialect)?);
        let (judges, mode) = (self.config.product.keys_prove, self.config.mode);
        per_transaction::session(self.config.life, move || {
            let (connection, seat) = opening.open()?;
            Ok(seated(Box::new(SqlSession::new(connection, mode, dialect).judging_keys(judges)), seat))
        })
    }
}

impl HeldTarget for Postgres {
    fn connect_held(&self) -> Result<Box<dyn Session<Held>>, TargetError> {
        let dialect = session::dialect(self.config.isolation);
        let (connection, seat) = self.tpcc_opening(TxMode::Statements, dialect)?.open()?;
        Ok(seated(Box::new(HeldSession::new(connection, dialect)), seat))
    }

    /// Rows are locked where they are, so over shards the shards are asked as well.
    fn lock_waits(&self) -> Result<Option<u64>, TargetError> {
        if !self.config.product.heap {
            return Ok(None);
        }
        let waiting = self
            .connect_wire()?
            .column(
                "SELECT count(*) FROM pg_stat_activity \
                 WHERE datname = current_database() AND wait_event_type = 'Lock'",
            )
            .map_err(self.failed("look for sessions that wait"))?;
        let mut all = waiting.first().and_then(|count| count.parse::<u64>().ok()).unwrap_or_default();
        for shard in &self.shards {
            all += shard.lock_waits()?.unwrap_or_default();
        }
        Ok(Some(all))
    }
}

impl BalanceTarget for Postgres {
    fn connect_balances(&self, longest_wait: Duration) -> Result<Box<dyn Session<Balances>>, TargetError> {
        let settings = self.checked_settings()?;
        let statements = BalanceStatement::all(session::dialect(self.config.isolation));
        let (connection, seat) = self.opening(settings, &statements).waiting(longest_wait).open()?;
        Ok(seated(Box::new(BalanceSession::new(connection)), seat))
    }

    fn table_engines(&self) -> Result<Option<TableEngines>, TargetError> {
        let mut engines = Vec::new();
        let asked = self.connect_wire()?.query_each(ENGINES, &mut |row| {
            if let [Some(name), Some(engine)] = row {
                engines.push(((*name).to_string(), (*engine).to_string()));
            }
        });
        match asked {
            Ok(()) => Ok(engines_of_all(engines)),
            // Not all that speaks the protocol has these catalogs. Then the engines are not known, and the audit says so.
            Err(SqlError::Database { unavailable: false, .. }) => Ok(None),
            Err(error) => Err(self.failed("look for the engines of the tables")(error)),
        }
    }

    fn deadlock_timeout(&self) -> Result<Option<Duration>, TargetError> {
        let told = self
            .connect_wire()?
            .column("SELECT setting FROM pg_settings WHERE name = 'deadlock_timeout' AND unit = 'ms'")
            .map_err(self.failed("ask for deadlock_timeout"))?;
        Ok(told.first().and_then(|time| time.parse().ok()).map(Duration::from_millis))
    }
}

impl StoppableWork for Postgres {
    fn stop_work(&self) {
        let backends = self.work.stop();
        self.shards.iter().for_each(Self::stop_work);
        for backend in backends {
            // An unreachable server has nothing to cancel.
            let _heard = wire::cancel(&self.config, backend);
        }
    }
}

impl Server for Postgres {
    fn answers(&self) -> bool {
        // A lost endpoint must not end requests to the others.
        let answered =
            |config| !matches!(Wire::connect(config, Purpose::Administration), Err(SqlError::Lost(_)));
        self.nodes.iter().any(answered) && self.shards.iter().all(Self::answers)
    }
}
