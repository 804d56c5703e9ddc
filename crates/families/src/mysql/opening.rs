//! Sessions for transactions: how their connections are opened, and what watches over them.

use crate::mysql::config::Config;
use crate::mysql::connecting::{connected_for, refused};
use crate::mysql::galera::in_step;
use crate::mysql::product::Product;
use crate::mysql::session::{MysqlConnection, Texts};
use crate::mysql::wire::Wire;
use crate::mysql::{Mysql, spider};
use crate::net::Purpose;
use crate::per_transaction::Preparing;
use crate::statement_limit::{GRACE, Limit, Watched};
use lydite_database::sql::dialect::Dialect;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::prepared::Prepared;
use lydite_database::sql::shards::Layout;
use lydite_database::{Endpoints, Seat, TargetError, TxMode};
use std::sync::Arc;

/// Parts of a target with which a session opens its connections.
#[derive(Clone)]
pub(super) struct Opening {
    nodes: Arc<[Config]>,
    endpoints: Arc<Endpoints>,
    /// First statements on each connection.
    settings: Vec<String>,
    texts: Arc<Texts>,
    preparing: Preparing,
    /// Limit of the round trips of measured sessions.
    limit: Option<Arc<Limit>>,
}

impl Mysql {
    /// Returns the server's product.
    pub(super) fn product(&self) -> Result<&'static Product, TargetError> {
        if let Some(product) = self.known.get() {
            return Ok(product);
        }
        self.connect_wire().map(|wire| wire.product)
    }

    /// Returns the opening of sessions that begin with `settings` and prepare `statements`. `calls` is true if they are
    /// procedures.
    pub(super) fn opening<S: Prepared>(
        &self,
        settings: Vec<String>,
        statements: &[(S, String)],
        calls: bool,
    ) -> Opening {
        Opening {
            nodes: Arc::clone(&self.nodes),
            endpoints: Arc::clone(&self.endpoints),
            settings,
            texts: Arc::new(Texts::of(statements, calls)),
            preparing: Preparing::AtOnce,
            limit: None,
        }
    }

    /// Returns the SQL dialect of the existing tables, and the settings of sessions on them. Rejects tables that are
    /// not laid out over the shards as the URL says.
    pub(super) fn checked_settings(
        &self,
        product: &'static Product,
    ) -> Result<(&'static Dialect, Vec<String>), TargetError> {
        let dialect = self.dialect(product)?;
        if !self.is_parted()? {
            return Ok((dialect, Vec::new()));
        }
        if self.config.layout != Layout::default() {
            let found = self.found_layout(&mut self.connect_wire()?)?;
            self.config.layout.check(found, &self.config.place())?;
        }
        Ok((dialect, vec![spider::SESSION.to_owned()]))
    }

    /// Returns the opening of sessions that prepare TPC-C's statements in a mode, with the SQL dialect of the existing
    /// tables.
    pub(super) fn tpcc_opening(&self, mode: TxMode) -> Result<(Opening, &'static Dialect), TargetError> {
        let product = self.product()?;
        let calls = mode == TxMode::Procedures;
        let arrays = calls && self.procedures_have_arrays(product)?;
        let (dialect, settings) = self.checked_settings(product)?;
        Ok((self.opening(settings, &Self::statements(mode, dialect, arrays), calls), dialect))
    }

    /// Returns the same opening for measured sessions, to which the options of the URL about them apply.
    pub(super) fn measured(&self, opening: Opening) -> Opening {
        Opening { limit: self.limit.clone(), preparing: self.config.life.into(), ..opening }
    }
}

impl Opening {
    /// Opens a connection to the endpoint that has the fewest sessions.
    pub(super) fn open(&self) -> Result<(MysqlConnection, Seat), TargetError> {
        self.endpoints.connect(|at| self.open_on(&self.nodes[at]))
    }

    fn open_on(&self, config: &Config) -> Result<MysqlConnection, TargetError> {
        let refused = |error| refused(error, config);
        let mut wire = connected_for(config, Purpose::Transactions)?;
        if self.nodes.len() > 1 {
            in_step(&mut wire).map_err(refused)?;
        }
        self.settings.iter().try_for_each(|setting| wire.execute(setting)).map_err(refused)?;
        let watched = self.limit.as_ref().map(|limit| watch(limit, config, &wire)).transpose()?;
        MysqlConnection::new(wire, &self.texts, self.preparing, watched).map_err(refused)
    }
}

/// Puts a new connection under the limit of its target.
fn watch(limit: &Arc<Limit>, config: &Config, wire: &Wire) -> Result<Arc<Watched>, TargetError> {
    let line = wire.line().map_err(|error| refused(error, config))?;
    let (config, connection) = (config.clone(), wire.id);
    limit.watch(line, Box::new(move || Wire::kill_query(&config, connection, GRACE).is_ok()))
}
