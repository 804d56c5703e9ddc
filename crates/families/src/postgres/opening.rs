//! Sessions for transactions: how their connections are opened, and what watches over them.

use crate::net::Purpose;
use crate::per_transaction::Preparing;
use crate::postgres::Postgres;
use crate::postgres::config::Config;
use crate::postgres::connecting::refused;
use crate::postgres::inherited;
use crate::postgres::session::{PgConnection, Texts};
use crate::postgres::wire::{self, Wire};
use crate::statement_limit::{GRACE, Limit, Watched};
use lydite_database::sql::meta::Admin;
use lydite_database::sql::prepared::Prepared;
use lydite_database::{Endpoints, Seat, TargetError};
use std::sync::Arc;
use std::time::Duration;

/// Parts of a target with which a session opens its connections.
#[derive(Clone)]
pub(super) struct Opening {
    nodes: Arc<[Config]>,
    endpoints: Arc<Endpoints>,
    /// First SQL on each connection.
    settings: String,
    /// Longest wait for a lock; `None` for that of the server.
    longest_wait: Option<Duration>,
    texts: Arc<Texts>,
    preparing: Preparing,
    /// Limit of the round trips of measured sessions.
    limit: Option<Arc<Limit>>,
}

impl Postgres {
    /// Returns the opening of sessions that begin with `settings` and prepare `statements`.
    pub(super) fn opening<S: Prepared>(&self, settings: &str, statements: &[(S, String)]) -> Opening {
        Opening {
            nodes: Arc::clone(&self.nodes),
            endpoints: Arc::clone(&self.endpoints),
            settings: settings.to_owned(),
            longest_wait: None,
            texts: Arc::new(Texts::of(statements)),
            preparing: Preparing::AtOnce,
            limit: None,
        }
    }

    /// Returns the same opening for measured sessions, to which the options of the URL about them apply.
    pub(super) fn measured(&self, opening: Opening) -> Opening {
        Opening { limit: self.limit.clone(), preparing: self.config.life.into(), ..opening }
    }
}

impl Opening {
    /// Returns the opening of sessions that wait so long for a lock.
    pub(super) fn waiting(self, longest_wait: Duration) -> Self {
        Self { longest_wait: Some(longest_wait), ..self }
    }

    /// Opens a connection to the endpoint that has the fewest sessions.
    pub(super) fn open(&self) -> Result<(PgConnection, Seat), TargetError> {
        self.endpoints.connect(|at| self.open_on(&self.nodes[at]))
    }

    fn open_on(&self, config: &Config) -> Result<PgConnection, TargetError> {
        let refused = |error| refused(error, config);
        let mut wire = Wire::connect(config, Purpose::Transactions).map_err(refused)?;
        if !self.settings.is_empty() {
            wire.execute(&self.settings).map_err(refused)?;
        }
        if let Some(longest) = self.longest_wait {
            wire.keep(&[("lock_timeout", longest.as_millis().to_string())]).map_err(refused)?;
        }
        let watched = self.limit.as_ref().map(|limit| watch(limit, config, &wire)).transpose()?;
        let mut connection =
            PgConnection::new(wire, &self.texts, self.preparing, watched).map_err(refused)?;
        connection.set(&inherited::begin_limits(config)).map_err(refused)?;
        Ok(connection)
    }
}

/// Puts a new connection under the limit of its target.
fn watch(limit: &Arc<Limit>, config: &Config, wire: &Wire) -> Result<Arc<Watched>, TargetError> {
    let line = wire.line().map_err(|error| refused(error, config))?;
    let mut config = config.clone();
    config.connection.connect_timeout = GRACE;
    let backend = wire.backend();
    limit.watch(
        line,
        Box::new(move || {
            // A proxy may withhold the key: then nothing is sent.
            backend.is_none_or(|backend| wire::cancel(&config, backend).is_ok())
        }),
    )
}
