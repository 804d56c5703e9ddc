//! Statistics of a server with MySQL's protocol: its global status. Each product and version has others of them, so
//! unknown ones are left out.

use crate::mysql::Mysql;
use crate::mysql::config::Config;
use crate::mysql::connecting::{connected, refused};
use crate::mysql::statements::Statements;
use crate::mysql::wire::Wire;
use crate::net::CONNECT_TIMEOUT;
use lydite_database::sql::meta::Admin;
use lydite_database::{Configuration, Observe, Observer, Sample, SampleKind, StatementUse, TargetError};
use std::collections::BTreeMap;

/// Counters with the unit of their growth.
const COUNTERS: [(&str, &str); 32] = [
    ("Questions", "/s"),
    ("Com_commit", "/s"),
    ("Com_rollback", "/s"),
    ("Innodb_row_lock_waits", "/s"),
    ("Innodb_row_lock_time", "ms/s"),
    ("Innodb_deadlocks", "/s"),
    ("Innodb_buffer_pool_read_requests", "/s"),
    ("Innodb_buffer_pool_reads", "/s"),
    ("Innodb_buffer_pool_wait_free", "/s"),
    ("Innodb_data_read", "bytes/s"),
    ("Innodb_data_written", "bytes/s"),
    ("Innodb_data_reads", "/s"),
    ("Innodb_data_writes", "/s"),
    ("Innodb_data_fsyncs", "/s"),
    ("Innodb_log_waits", "/s"),
    ("Innodb_os_log_written", "bytes/s"),
    ("Innodb_os_log_fsyncs", "/s"),
    ("Innodb_rows_inserted", "/s"),
    ("Innodb_rows_read", "/s"),
    ("Innodb_rows_updated", "/s"),
    ("Innodb_rows_deleted", "/s"),
    ("Binlog_commits", "/s"),
    ("Binlog_group_commits", "/s"),
    ("Binlog_bytes_written", "bytes/s"),
    ("Created_tmp_disk_tables", "/s"),
    ("Rocksdb_bytes_written", "bytes/s"),
    ("Rocksdb_wal_synced", "/s"),
    ("wsrep_flow_control_paused_ns", "ns/s"),
    ("wsrep_local_cert_failures", "/s"),
    ("wsrep_local_bf_aborts", "/s"),
    ("wsrep_received_bytes", "bytes/s"),
    ("wsrep_replicated_bytes", "bytes/s"),
];

/// Gauges with their units.
const GAUGES: [(&str, &str); 9] = [
    ("Threads_connected", ""),
    ("Threads_running", ""),
    ("Innodb_row_lock_current_waits", ""),
    ("Innodb_buffer_pool_pages_dirty", ""),
    ("Innodb_checkpoint_age", "bytes"),
    ("Innodb_history_list_length", ""),
    ("wsrep_local_recv_queue", ""),
    ("wsrep_local_send_queue", ""),
    ("wsrep_cluster_size", ""),
];

/// A connection that reads the global status.
struct MysqlObserver {
    wire: Wire,
    place: String,
    sql: String,
    /// Units and kinds by name.
    known: BTreeMap<&'static str, (&'static str, SampleKind)>,
    statements: Statements,
}

impl Observer for MysqlObserver {
    fn sample(&mut self) -> Result<Vec<Sample>, TargetError> {
        let mut samples = Vec::with_capacity(self.known.len());
        let known = &self.known;
        let asked = self.wire.query_each(&self.sql, &mut |row| {
            if let [Some(name), Some(text)] = row
                && let Some(&(unit, kind)) = known.get(*name)
                && let Ok(value) = text.parse()
            {
                samples.push(Sample { name: (*name).to_owned(), unit, kind, value });
            }
        });
        asked.map_err(|error| error.on_target("read the global status", &self.place))?;
        Ok(samples)
    }

    fn statements(&mut self) -> Result<Vec<StatementUse>, TargetError> {
        let read = self.statements.read(&mut self.wire);
        read.map_err(|error| error.on_target("read the counts of statements", &self.place))
    }
}

impl Mysql {
    /// Returns the servers that the URL names: the main one, other nodes for sessions, and shards.
    fn observed(&self) -> impl Iterator<Item = &Config> {
        self.nodes.iter().chain(self.shards.iter().map(|shard| &shard.config))
    }
}

impl Observe for Mysql {
    fn servers(&self) -> Vec<String> {
        self.observed().map(Config::address).collect()
    }

    fn observer(&self, server: usize) -> Result<Option<Box<dyn Observer>>, TargetError> {
        let Some(config) = self.observed().nth(server) else { return Ok(None) };
        let wire = connected(config)?;
        wire.limit(Some(CONNECT_TIMEOUT)).map_err(|error| refused(error, config))?;
        let of = |list: &'static [(&'static str, &'static str)], kind: SampleKind| {
            list.iter().map(move |(name, unit)| (*name, (*unit, kind)))
        };
        let known: BTreeMap<_, _> =
            of(&COUNTERS, SampleKind::Counter).chain(of(&GAUGES, SampleKind::Gauge)).collect();
        let names: Vec<String> = known.keys().map(|name| format!("'{name}'")).collect();
        let sql = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", names.join(", "));
        let mut observer =
            MysqlObserver { wire, place: config.place(), sql, known, statements: Statements::default() };
        let has_any = !observer.sample()?.is_empty();
        Ok(has_any.then(|| Box::new(observer) as Box<dyn Observer>))
    }

    fn configuration(&self) -> Result<Configuration, TargetError> {
        let mut wire = self.connect_wire()?;
        let mut found = Configuration { encrypted: Some(wire.is_encrypted()), ..Configuration::default() };
        let query = wire.product.changed_settings;
        if query.is_empty() {
            return Ok(found);
        }
        let asked = wire.query_each(query, &mut |row| {
            if let [Some(name), Some(value)] = row {
                found.add(name, value);
            }
        });
        // An older version may lack the table, and an account the right to read it.
        found.problem = asked.err().map(|error| self.failed("ask for changed settings")(error).message);
        Ok(found)
    }
}
