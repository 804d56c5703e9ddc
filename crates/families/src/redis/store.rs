//! The store, and the reads and writes of a transaction.

use super::config::Config;
use super::connections::{Connections, failed};
use super::load_lock;
use crate::net;
use lydite_database::kv::buffer::{Bounds, Buffered, Entry, Remote, Writes};
use lydite_database::kv::{Access, Direction, KvTable, LoadLock, Store, StoreError};
use lydite_database::{AbortReason, Committed, Description};
use redis::{Client, Connection, ErrorKind, Pipeline, RedisError, cmd, pipe};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Most keys that a transaction watches. Transactions of TPC-C read a few hundred keys. A transaction that reads more
/// is a check, which nobody waits for.
const WATCHED_MOST: usize = 10_000;

/// A Redis server as a store. See the module.
pub(crate) struct RedisStore {
    config: Arc<Config>,
    pub(super) connections: Connections,
}

impl RedisStore {
    /// Returns the server's value of a setting.
    fn setting(connection: &mut Connection, name: &str) -> Option<String> {
        let answer: Vec<String> = cmd("CONFIG").arg("GET").arg(name).query(connection).ok()?;
        answer.into_iter().nth(1)
    }
}

impl Store for RedisStore {
    type Config = Config;
    type Tx<'a> = Buffered<RedisTx<'a>>;
    type Pending = ();

    // A key that is not there yet can't be found by a scan, so it is not watched.
    const ISOLATES_RANGES: bool = false;

    fn place(config: &Config) -> String {
        config.place.clone()
    }

    fn answers(config: &Config) -> bool {
        let tried = Client::open(config.server.clone())
            .and_then(|client| client.get_connection_with_timeout(net::CONNECT_TIMEOUT));
        // An error that the server sent is an answer.
        !matches!(tried, Err(error) if error.is_io_error() || error.is_timeout() || error.is_connection_dropped())
    }

    fn describe(config: &Config) -> Result<Description, StoreError> {
        let store = Self::open(config)?;
        let mut connection = store.connections.take()?;
        let info: String =
            cmd("INFO").arg("server").query(&mut connection).map_err(|error| failed(&error))?;
        let version = info.lines().find_map(|line| line.strip_prefix("redis_version:")).unwrap_or("unknown");
        let mut settings: BTreeMap<String, String> = BTreeMap::new();
        for name in ["appendonly", "appendfsync", "save", "maxmemory", "maxmemory-policy", "io-threads"] {
            if let Some(value) = Self::setting(&mut connection, name) {
                settings.insert(name.into(), value);
            }
        }
        let is = |name: &str, value: &str| settings.get(name).is_some_and(|found| found == value);
        let durable = is("appendonly", "yes") && is("appendfsync", "always");
        settings.insert("prefix".into(), config.prefix.clone());
        store.connections.give_back(connection);
        Ok(Description {
            kind: "redis".into(),
            version: format!("Redis {version}"),
            url: config.url.clone(),
            settings,
            isolation: "optimistic: what was read is watched until EXEC, ranges are not".into(),
            embedded: false,
            // The five transactions read and watch what they scanned, so they behave as with serializable.
            isolation_is_level_3: true,
            durable,
            in_memory: None,
            unread: Vec::new(),
        })
    }

    fn is_there(_config: &Config) -> bool {
        // Opening creates nothing.
        true
    }

    fn open(config: &Config) -> Result<Self, StoreError> {
        Ok(Self { config: Arc::new(config.clone()), connections: Connections::open(config)? })
    }

    fn lock(config: &Config) -> Result<Box<dyn LoadLock>, StoreError> {
        let store = Self::open(config)?;
        let key = store.lock_name();
        Ok(Box::new(load_lock::take(store.connections, key)?))
    }

    fn begin(&self, access: Access) -> Result<Buffered<RedisTx<'_>>, StoreError> {
        let connection = self.connections.take()?;
        Ok(Buffered::new(RedisTx { store: self, connection: Some(connection), access, watched: 0 }))
    }
}

impl RedisStore {
    /// Returns the name of an entry.
    pub(super) fn name(&self, table: KvTable, key: &[u8]) -> Vec<u8> {
        [self.config.prefix.as_bytes(), b":", table.name().as_bytes(), b":", key].concat()
    }

    /// Returns the name of the key that a load sets.
    pub(super) fn lock_name(&self) -> String {
        format!("{}#load", self.config.prefix)
    }

    /// Returns the name of the sorted set of a table's keys.
    fn keys(&self, table: KvTable) -> String {
        format!("{}:{}#", self.config.prefix, table.name())
    }
}

/// A transaction. See the module.
pub(crate) struct RedisTx<'a> {
    store: &'a RedisStore,
    /// `None` after an error of the connection.
    connection: Option<Connection>,
    access: Access,
    /// Number of watched keys.
    watched: usize,
}

impl RedisTx<'_> {
    /// Sends commands and waits for their answers.
    fn ask<T: redis::FromRedisValue>(&mut self, commands: &Pipeline) -> Result<T, RedisError> {
        let Some(connection) = &mut self.connection else {
            return Err((ErrorKind::Io, "the connection was lost").into());
        };
        let answer = commands.query(connection);
        if answer.as_ref().is_err_and(|error: &RedisError| error.is_unrecoverable_error()) {
            self.connection = None;
        }
        answer
    }

    /// Begins commands that read the entries of these names. The entries are watched from then on.
    fn watching(&mut self, names: &[Vec<u8>]) -> Pipeline {
        let mut commands = pipe();
        if self.access != Access::Load && self.watched + names.len() <= WATCHED_MOST {
            self.watched += names.len();
            commands.cmd("WATCH").arg(names).ignore();
        }
        commands
    }

    /// Appends commands for the writes.
    fn to_write(&self, writes: &Writes, mut commands: Pipeline) -> Pipeline {
        for ((table, key), value) in writes {
            let (name, index) = (self.store.name(*table, key), self.store.keys(*table));
            match value {
                Some(value) => {
                    commands.cmd("SET").arg(name).arg(value).ignore();
                    commands.cmd("ZADD").arg(index).arg(0).arg(key).ignore();
                }
                None => {
                    commands.cmd("DEL").arg(name).ignore();
                    commands.cmd("ZREM").arg(index).arg(key).ignore();
                }
            }
        }
        commands
    }

    /// Ends the watching, so that another transaction can use the connection.
    fn release(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        if self.watched == 0 || cmd("UNWATCH").query::<()>(&mut connection).is_ok() {
            self.store.connections.give_back(connection);
        }
    }
}

/// Returns the end of a range in the form of ZRANGEBYLEX.
fn lex(bound: &Bound<Vec<u8>>, unbounded: &[u8]) -> Vec<u8> {
    match bound {
        Bound::Included(key) => [b"[", key.as_slice()].concat(),
        Bound::Excluded(key) => [b"(", key.as_slice()].concat(),
        Bound::Unbounded => unbounded.to_vec(),
    }
}

impl Remote for RedisTx<'_> {
    fn value(&mut self, table: KvTable, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let names = [self.store.name(table, key)];
        let mut commands = self.watching(&names);
        commands.cmd("GET").arg(&names[0]);
        let (value,) = self.ask::<(Option<Vec<u8>>,)>(&commands).map_err(|error| failed(&error))?;
        Ok(value)
    }

    fn entries(
        &mut self,
        table: KvTable,
        range: &Bounds,
        direction: Direction,
        count: usize,
    ) -> Result<(Vec<Entry>, Option<Vec<u8>>), StoreError> {
        let (name, least, most) = match direction {
            Direction::Forward => ("ZRANGEBYLEX", lex(&range.0, b"-"), lex(&range.1, b"+")),
            Direction::Backward => ("ZREVRANGEBYLEX", lex(&range.1, b"+"), lex(&range.0, b"-")),
        };
        let mut commands = pipe();
        let index = self.store.keys(table);
        commands.cmd(name).arg(index).arg(least).arg(most).arg("LIMIT").arg(0).arg(count);
        let (keys,) = self.ask::<(Vec<Vec<u8>>,)>(&commands).map_err(|error| failed(&error))?;
        if keys.is_empty() {
            return Ok((Vec::new(), None));
        }
        let names: Vec<Vec<u8>> = keys.iter().map(|key| self.store.name(table, key)).collect();
        let mut commands = self.watching(&names);
        commands.cmd("MGET").arg(&names);
        let (values,) = self.ask::<(Vec<Option<Vec<u8>>>,)>(&commands).map_err(|error| failed(&error))?;
        let last = keys.last().filter(|_| keys.len() == count).cloned();
        // A key that was deleted between the two requests is watched without a value. For this transaction it does not
        // exist.
        let there = keys.into_iter().zip(values).filter_map(|(key, value)| Some((key, value?)));
        Ok((there.collect(), last))
    }

    fn commit(mut self, writes: &Writes) -> Result<(), StoreError> {
        if writes.is_empty() && self.watched == 0 {
            return Ok(());
        }
        let mut commands = self.to_write(writes, pipe());
        if self.access != Access::Load {
            // EXEC is sent even without writes: its success proves that all reads are from one moment.
            commands.atomic();
            if writes.is_empty() {
                commands.cmd("PING").ignore();
            }
        }
        let answer = self.ask::<Option<()>>(&commands);
        // EXEC ends the watching in any case.
        self.watched = 0;
        match answer {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(StoreError::Retry {
                reason: AbortReason::Serialization,
                detail: "EXEC: a key that the transaction read was changed meanwhile".into(),
            }),
            Err(error) => Err(match failed(&error) {
                StoreError::Unavailable { detail, .. } if !writes.is_empty() => {
                    StoreError::Unavailable { committed: Committed::Unknown, detail }
                }
                other => other,
            }),
        }
    }
}

impl Drop for RedisTx<'_> {
    fn drop(&mut self) {
        self.release();
    }
}
