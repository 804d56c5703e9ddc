//! The endpoints of a database with several servers: sessions on them, and checks that they hold one database.

use crate::nodes::{Node, check_one_database};
use crate::postgres::Postgres;
use crate::postgres::config::Config;
use crate::postgres::connecting::connected;
use lydite_database::sql::meta::Admin;
use lydite_database::{Endpoints, Life, TargetError};
use std::sync::Arc;

/// Makes the endpoints of these servers.
pub(super) fn endpoints(nodes: &[Config], life: Life) -> Arc<Endpoints> {
    let probed = nodes.to_vec();
    let names = nodes.iter().map(Config::address).collect();
    Endpoints::new(names, life, Box::new(move |at| connected(&probed[at]).is_ok()))
}

impl Postgres {
    /// Rejects servers that do not hold the database of the first one.
    pub(super) fn check_nodes(&self) -> Result<(), TargetError> {
        let nodes: Vec<Self> = self.nodes.iter().map(|node| Self::new(node.alone())).collect();
        check_one_database(&nodes)
    }

    /// Returns the names of the endpoints as nodes of the placement; empty if they are not known.
    pub(super) fn read_own_nodes(&self) -> Result<Vec<String>, TargetError> {
        let Some(query) = self.config.product.own_node.filter(|_| self.nodes.len() > 1) else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for node in self.nodes.iter() {
            let name = connected(node)?.column(query).map_err(self.failed("ask for the node's name"))?;
            names.extend(name.into_iter().next());
        }
        Ok(if names.len() == self.nodes.len() { names } else { Vec::new() })
    }
}

impl Node for Postgres {
    fn place(&self) -> String {
        self.config.place()
    }

    fn cluster(&self) -> Result<Vec<String>, TargetError> {
        let mut wire = self.connect_wire()?;
        wire.column(self.config.product.cluster)
            .map_err(self.failed("ask for its cluster, to see that all endpoints are of one"))
    }
}
