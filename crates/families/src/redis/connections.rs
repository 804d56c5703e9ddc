//! Connections to a server, and their errors.

use super::config::Config;
use crate::net;
use lydite_database::Committed;
use lydite_database::kv::StoreError;
use parking_lot::Mutex;
use redis::{Client, Connection, ErrorKind, RedisError, cmd};

/// Connections to one server.
pub(super) struct Connections {
    client: Client,
    /// Connections that nobody uses.
    idle: Mutex<Vec<Connection>>,
}

impl Connections {
    /// Makes the first connection.
    pub(super) fn open(config: &Config) -> Result<Self, StoreError> {
        let client = Client::open(config.server.clone()).map_err(|error| failed(&error))?;
        let connections = Self { client, idle: Mutex::default() };
        let mut first = connections.take()?;
        cmd("PING").query::<()>(&mut first).map_err(|error| refused(&error))?;
        connections.give_back(first);
        Ok(connections)
    }

    /// Returns an idle connection, else a new one.
    pub(super) fn take(&self) -> Result<Connection, StoreError> {
        if let Some(connection) = self.idle.lock().pop() {
            return Ok(connection);
        }
        let connected = net::connecting(|| self.client.get_connection_with_timeout(net::CONNECT_TIMEOUT));
        connected.map_err(|error| refused(&error))
    }

    pub(super) fn give_back(&self, connection: Connection) {
        self.idle.lock().push(connection);
    }
}

/// Most characters of an error that are reported.
const TOLD: usize = 300;

/// Returns the error in one line. For commands that were sent together, that is the first error.
fn words(error: &RedisError) -> String {
    let first = match error.clone().into_server_errors() {
        Some(errors) if errors.len() > 1 => errors.first().map(|(_, first)| {
            format!("{first} (and {} more commands that were sent with it)", errors.len() - 1)
        }),
        _ => None,
    };
    let text = first.unwrap_or_else(|| error.to_string());
    let line: Vec<&str> = text.split_whitespace().collect();
    line.join(" ").chars().take(TOLD).collect()
}

/// Converts the error of a failed connection attempt, with advice.
fn refused(error: &RedisError) -> StoreError {
    let told = words(error);
    let advice = match error.code() {
        _ if error.kind() == ErrorKind::AuthenticationFailed => {
            ": give user and password in the URL, or the password in LYDITE_PASSWORD; none if the server has none"
        }
        Some("NOAUTH" | "WRONGPASS") => {
            ": give user and password in the URL, or the password in LYDITE_PASSWORD"
        }
        // The answer to SELECT, which comes before all others.
        _ if told.contains("Authentication required") => {
            ": give user and password in the URL, or the password in LYDITE_PASSWORD"
        }
        _ if told.contains("DB index") => ": name a database that the server has, as redis://HOST/0",
        // The server's own message says what is wrong.
        Some(_) => "",
        None => ": is it a Redis server, and does it listen there?",
    };
    StoreError::Unavailable { committed: Committed::No, detail: format!("{told}{advice}") }
}

/// Converts an error that came before the commit was sent.
pub(super) fn failed(error: &RedisError) -> StoreError {
    let detail = words(error);
    let away = error.is_io_error() || error.is_connection_dropped() || error.is_timeout();
    // READONLY: the server was the primary and is a replica now.
    if away || matches!(error.code(), Some("LOADING" | "MASTERDOWN" | "CLUSTERDOWN" | "READONLY")) {
        StoreError::Unavailable { committed: Committed::No, detail }
    } else {
        StoreError::Failed(detail)
    }
}
