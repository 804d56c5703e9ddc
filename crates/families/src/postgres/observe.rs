//! Statistics of a server with PostgreSQL's protocol, from its cumulative statistics and the states of its sessions. The
//! catalog says which of them the server has, since each version has others.

use crate::net::CONNECT_TIMEOUT;
use crate::postgres::Postgres;
use crate::postgres::connecting::connected;
use crate::postgres::statements::Statements;
use crate::postgres::wire::Wire;
use lydite_database::sql::meta::Admin;
use lydite_database::{Configuration, Observe, Observer, Sample, SampleKind, StatementUse, TargetError};
use std::collections::BTreeSet;

/// A view of statistics with one row, or with rows that are added up.
struct View {
    name: &'static str,
    /// SQL around a column; `#` stands for the column.
    value: &'static str,
    /// Rest of the query, behind the name.
    rest: &'static str,
    /// Counters with the unit of their growth.
    columns: &'static [(&'static str, &'static str)],
}

/// Views of statistics, with the columns of all versions.
const VIEWS: [View; 5] = [
    View {
        name: "pg_stat_database",
        value: "#",
        rest: " WHERE datname = current_database()",
        columns: &[
            ("xact_commit", "/s"),
            ("xact_rollback", "/s"),
            ("blks_read", "/s"),
            ("blks_hit", "/s"),
            ("tup_returned", "/s"),
            ("tup_fetched", "/s"),
            ("tup_inserted", "/s"),
            ("tup_updated", "/s"),
            ("tup_deleted", "/s"),
            ("temp_files", "/s"),
            ("temp_bytes", "bytes/s"),
            ("deadlocks", "/s"),
        ],
    },
    // From version 17 on checkpoints have a view of their own.
    View {
        name: "pg_stat_bgwriter",
        value: "#",
        rest: "",
        columns: &[
            ("checkpoints_timed", "/s"),
            ("checkpoints_req", "/s"),
            ("checkpoint_write_time", "ms/s"),
            ("checkpoint_sync_time", "ms/s"),
            ("buffers_checkpoint", "/s"),
            ("buffers_clean", "/s"),
            ("buffers_backend", "/s"),
            ("buffers_alloc", "/s"),
        ],
    },
    View {
        name: "pg_stat_checkpointer",
        value: "#",
        rest: "",
        columns: &[
            ("num_timed", "/s"),
            ("num_requested", "/s"),
            ("write_time", "ms/s"),
            ("sync_time", "ms/s"),
            ("buffers_written", "/s"),
        ],
    },
    View {
        name: "pg_stat_wal",
        value: "#",
        rest: "",
        columns: &[
            ("wal_records", "/s"),
            ("wal_fpi", "/s"),
            ("wal_bytes", "bytes/s"),
            ("wal_buffers_full", "/s"),
            ("wal_write", "/s"),
            ("wal_sync", "/s"),
        ],
    },
    View {
        name: "pg_stat_io",
        value: "sum(#)",
        rest: "",
        columns: &[
            ("reads", "/s"),
            ("read_bytes", "bytes/s"),
            ("writes", "/s"),
            ("write_bytes", "bytes/s"),
            ("extends", "/s"),
            ("fsyncs", "/s"),
            ("hits", "/s"),
            ("evictions", "/s"),
        ],
    },
];

/// The view of sessions.
const ACTIVITY: &str = "pg_stat_activity";
/// Numbers of sessions: the last part of the name, and the condition.
const SESSIONS: [(&str, &str); 10] = [
    ("active", "state = 'active'"),
    ("idle_in_transaction", "state LIKE 'idle in transaction%'"),
    ("not_waiting", "state = 'active' AND wait_event_type IS NULL"),
    ("wait.Lock", "state = 'active' AND wait_event_type = 'Lock'"),
    ("wait.LWLock", "state = 'active' AND wait_event_type = 'LWLock'"),
    ("wait.IO", "state = 'active' AND wait_event_type = 'IO'"),
    ("wait.IPC", "state = 'active' AND wait_event_type = 'IPC'"),
    ("wait.BufferPin", "state = 'active' AND wait_event_type = 'BufferPin'"),
    ("wait.Client", "state = 'active' AND wait_event_type = 'Client'"),
    ("wait.Timeout", "state = 'active' AND wait_event_type = 'Timeout'"),
];
/// Columns that these conditions need.
const SESSION_COLUMNS: [&str; 4] = ["state", "wait_event_type", "datname", "pid"];

/// Query of the setting for consistent values of one sample, on servers that have a choice (15 and later).
const CONSISTENCY: &str = "SELECT name FROM pg_settings WHERE name = 'stats_fetch_consistency'";

/// Settings that differ from the defaults, without those of this session.
const CHANGED: &str = "SELECT name, current_setting(name) FROM pg_settings \
                       WHERE source NOT IN ('default', 'override', 'client', 'session') \
                       AND setting IS DISTINCT FROM boot_val";

/// A value of a sample.
struct Value {
    name: String,
    unit: &'static str,
    kind: SampleKind,
}

/// A connection that reads statistics.
struct PgObserver {
    wire: Wire,
    place: String,
    /// Query of all values, in one row.
    sql: String,
    values: Vec<Value>,
    /// Counts of statements; `None` if the server does not keep them.
    statements: Option<Statements>,
}

/// Returns the query of all values that the server has, and the values; `None` if it has none. `there` are its columns,
/// as `view.column`.
fn query(there: &BTreeSet<String>) -> Option<(String, Vec<Value>)> {
    let has = |view: &str, column: &str| there.contains(&format!("{view}.{column}"));
    let (mut values, mut selected, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    let mut add = |view: &str, rest: &str, columns: Vec<(String, Value)>| {
        if columns.is_empty() {
            return;
        }
        let number = parts.len();
        let mut all = Vec::new();
        for (sql, value) in columns {
            selected.push(format!("v{number}.c{}", all.len()));
            all.push(format!("{sql} AS c{}", all.len()));
            values.push(value);
        }
        parts.push(format!("LEFT JOIN (SELECT {} FROM {view}{rest}) AS v{number} ON true", all.join(", ")));
    };
    for View { name, value, rest, columns } in &VIEWS {
        let known = columns.iter().filter(|(column, _)| has(name, column));
        let known = known.map(|&(column, unit)| {
            let counter = Value { name: format!("{name}.{column}"), unit, kind: SampleKind::Counter };
            (value.replace('#', column), counter)
        });
        add(name, rest, known.collect());
    }
    if SESSION_COLUMNS.iter().all(|column| has(ACTIVITY, column)) {
        let sessions = SESSIONS.iter().map(|(name, condition)| {
            let gauge = Value { name: format!("{ACTIVITY}.{name}"), unit: "", kind: SampleKind::Gauge };
            (format!("count(*) FILTER (WHERE {condition})"), gauge)
        });
        let own = " WHERE datname = current_database() AND pid <> pg_backend_pid()";
        add(ACTIVITY, own, sessions.collect());
    }
    let sql = format!("SELECT {} FROM (SELECT 1) AS one {}", selected.join(", "), parts.join(" "));
    (!values.is_empty()).then_some((sql, values))
}

impl Observer for PgObserver {
    fn sample(&mut self) -> Result<Vec<Sample>, TargetError> {
        let mut samples = Vec::with_capacity(self.values.len());
        let values = &self.values;
        let asked = self.wire.query_each(&self.sql, &mut |row| {
            for (text, Value { name, unit, kind }) in row.iter().zip(values) {
                // A view without a row, or a sum over none, is null.
                if let Some(value) = text.and_then(|text| text.parse().ok()) {
                    samples.push(Sample { name: name.clone(), unit, kind: *kind, value });
                }
            }
        });
        asked.map_err(|error| error.on_target("read the statistics", &self.place))?;
        Ok(samples)
    }

    fn statements(&mut self) -> Result<Vec<StatementUse>, TargetError> {
        let Some(statements) = &mut self.statements else { return Ok(Vec::new()) };
        let read = statements.read(&mut self.wire);
        read.map_err(|error| error.on_target("read the counts of statements", &self.place))
    }
}

impl Postgres {
    /// Opens an observer of this server.
    fn observe(&self) -> Result<Option<Box<dyn Observer>>, TargetError> {
        let mut wire = connected(&self.config)?;
        let failed = self.failed("look for statistics");
        wire.limit(Some(CONNECT_TIMEOUT)).map_err(&failed)?;
        let names: Vec<String> =
            VIEWS.iter().map(|view| view.name).chain([ACTIVITY]).map(|name| format!("'{name}'")).collect();
        let columns = format!(
            "SELECT c.relname || '.' || a.attname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid \
             JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = 'pg_catalog' \
             AND c.relname IN ({}) AND a.attnum > 0 AND NOT a.attisdropped",
            names.join(", ")
        );
        let there = wire.column(&columns).map_err(&failed)?.into_iter().collect();
        let Some((sql, values)) = query(&there) else { return Ok(None) };
        // The name tells an observer from sessions.
        let mut settings = vec![("application_name", "'lydite observer'".to_owned())];
        if !wire.column(CONSISTENCY).map_err(&failed)?.is_empty() {
            settings.push(("stats_fetch_consistency", "'cache'".into()));
        }
        wire.keep(&settings).map_err(&failed)?;
        let statements = Statements::find(&mut wire).map_err(&failed)?;
        let mut observer = PgObserver { wire, place: self.config.place(), sql, values, statements };
        // Servers that resemble PostgreSQL may have the views without any row. Numbers of sessions say nothing then.
        let counts = observer.sample()?.iter().any(|sample| sample.kind == SampleKind::Counter);
        Ok(counts.then(|| Box::new(observer) as Box<dyn Observer>))
    }
}

impl Observe for Postgres {
    fn servers(&self) -> Vec<String> {
        std::iter::once(self).chain(&self.shards).map(|server| server.config.address()).collect()
    }

    fn observer(&self, server: usize) -> Result<Option<Box<dyn Observer>>, TargetError> {
        match server.checked_sub(1) {
            None => self.observe(),
            Some(shard) => self.shards.get(shard).map_or(Ok(None), Self::observe),
        }
    }

    fn configuration(&self) -> Result<Configuration, TargetError> {
        let mut wire = self.connect_wire()?;
        let mut found = Configuration { encrypted: Some(wire.is_encrypted()), ..Configuration::default() };
        let asked = wire.query_each(CHANGED, &mut |row| {
            if let [Some(name), Some(value)] = row {
                found.add(name, value);
            }
        });
        // A server that resembles PostgreSQL may lack a column of the view, and an account the right to read it.
        found.problem = asked.err().map(|error| self.failed("ask for changed settings")(error).message);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns of some views.
    fn columns(of: &[(&str, &[&str])]) -> BTreeSet<String> {
        let all = of
            .iter()
            .flat_map(|(view, columns)| columns.iter().map(move |column| format!("{view}.{column}")));
        all.collect()
    }

    #[test]
    fn only_the_views_and_columns_of_the_server_are_read() {
        assert!(query(&BTreeSet::new()).is_none());
        let there = columns(&[
            ("pg_stat_database", &["datname", "xact_commit", "deadlocks"]),
            ("pg_stat_io", &["writes"]),
            // Too old to report waits.
            (ACTIVITY, &["state", "datname", "pid"]),
        ]);
        let (sql, values) = query(&there).expect("some values");
        let names: Vec<&str> = values.iter().map(|value| value.name.as_str()).collect();
        assert_eq!(
            names,
            ["pg_stat_database.xact_commit", "pg_stat_database.deadlocks", "pg_stat_io.writes"]
        );
        assert_eq!(
            sql,
            "SELECT v0.c0, v0.c1, v1.c0 FROM (SELECT 1) AS one \
             LEFT JOIN (SELECT xact_commit AS c0, deadlocks AS c1 FROM pg_stat_database \
             WHERE datname = current_database()) AS v0 ON true \
             LEFT JOIN (SELECT sum(writes) AS c0 FROM pg_stat_io) AS v1 ON true"
        );
    }
}
