//! Features beside those of every target: placement, replication, transactions that stop, function tests, cancellation.

use crate::catalogs;
use crate::mysql::Mysql;
use crate::mysql::wire::Wire;
use crate::net::Purpose;
use crate::per_transaction;
use lydite_database::sql::balances::{BalanceSession, BalanceStatement};
use lydite_database::sql::held::HeldSession;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::session::SqlSession;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{
    BalanceTarget, Balances, Held, HeldTarget, NodeSize, Nodes, Positions, Replicated, Replication, Server,
    Session, StoppableWork, TableEngines, TableShape, TableShapes, TargetError, TxMode, engines_of_all,
    over_shards, seated,
};
use lydite_tpcc::Placement;
use std::time::Duration;

impl Nodes for Mysql {
    fn placement(&self, warehouses: u32) -> Result<Option<Placement>, TargetError> {
        let mut wire = self.connect_wire()?;
        let Some(catalog) = wire.product.placement else { return self.read_placement(wire, warehouses) };
        let errors = (&*self.config.place(), self.failed("look for the nodes of the warehouses"));
        catalog.placement(&mut wire, warehouses, errors).map(Some)
    }

    fn sizes(&self) -> Result<Option<Vec<NodeSize>>, TargetError> {
        if !self.shards.is_empty() {
            return self.read_sizes();
        }
        let mut wire = self.connect_wire()?;
        let Some(catalog) = wire.product.placement else { return Ok(None) };
        let errors = (&*self.config.place(), self.failed("ask the nodes for their sizes"));
        catalog.sizes(&mut wire, errors)
    }
}

impl TableShapes for Mysql {
    fn shapes(&self) -> Result<Vec<TableShape>, TargetError> {
        let mut wire = self.connect_wire()?;
        // Else MySQL answers what it knew up to a day ago. Servers without the setting have no such answers.
        let _unknown = wire.execute("SET SESSION information_schema_stats_expiry = 0");
        let errors = (&*self.config.place(), self.failed("ask for the sizes of the tables"));
        let own = catalogs::shapes(&mut wire, catalogs::SHAPES_OF_MYSQL, errors)?;
        let shards = self.shards.iter().map(Self::shapes).collect::<Result<Vec<_>, _>>()?;
        Ok(over_shards(own, &shards))
    }
}

impl Replicated for Mysql {
    fn replication(&self) -> Result<Replication, TargetError> {
        self.read_replication()
    }

    fn positions(&self) -> Result<Option<Box<dyn Positions>>, TargetError> {
        let wire = self.connect_wire()?;
        if !wire.product.gtids {
            return Ok(None);
        }
        Ok(Some(Box::new(wire)))
    }

    fn connect_to_read(&self) -> Result<Box<dyn Session>, TargetError> {
        let (opening, dialect) = self.tpcc_opening(self.config.mode)?;
        let (opening, mode) = (self.measured(opening), self.config.mode);
        per_transaction::session(self.config.life, move || {
            let (connection, seat) = opening.open()?;
            let judges = connection.product().keys_prove;
            Ok(seated(Box::new(SqlSession::new(connection, mode, dialect).judging_keys(judges)), seat))
        })
    }
}

impl HeldTarget for Mysql {
    fn connect_held(&self) -> Result<Box<dyn Session<Held>>, TargetError> {
        let (opening, dialect) = self.tpcc_opening(TxMode::Statements)?;
        let (connection, seat) = opening.open()?;
        Ok(seated(Box::new(HeldSession::new(connection, dialect)), seat))
    }
}

impl BalanceTarget for Mysql {
    fn connect_balances(&self, longest_wait: Duration) -> Result<Box<dyn Session<Balances>>, TargetError> {
        let product = self.product()?;
        let (dialect, mut settings) = self.checked_settings(product)?;
        settings.push(Self::limit_of_waits(product, longest_wait));
        let (connection, seat) = self.opening(settings, &BalanceStatement::all(dialect), false).open()?;
        Ok(seated(Box::new(BalanceSession::new(connection)), seat))
    }

    fn table_engines(&self) -> Result<Option<TableEngines>, TargetError> {
        let mut engines = Vec::new();
        let mut wire = self.connect_wire()?;
        wire.query_each(
            "SELECT table_name, engine FROM information_schema.tables WHERE table_schema = database()",
            &mut |row| {
                if let [Some(name), Some(engine)] = row {
                    engines.push(((*name).to_string(), (*engine).to_string()));
                }
            },
        )
        .map_err(self.failed("look for the engines of the tables"))?;
        Ok(engines_of_all(engines))
    }
}

impl StoppableWork for Mysql {
    fn stop_work(&self) {
        let connections = self.work.stop();
        self.shards.iter().for_each(Self::stop_work);
        for connection in connections {
            // An unreachable server has nothing to cancel.
            if let Ok(mut wire) = self.connect_wire() {
                let _heard = wire.execute(&format!("KILL QUERY {connection}"));
            }
        }
    }
}

impl Server for Mysql {
    fn answers(&self) -> bool {
        // A lost endpoint must not end requests to the others.
        let answered =
            |config| !matches!(Wire::connect(config, Purpose::Administration), Err(SqlError::Lost(_)));
        self.nodes.iter().any(answered) && self.shards.iter().all(Self::answers)
    }
}
