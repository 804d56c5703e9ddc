//! PostgreSQL and databases with its protocol: CockroachDB, YugabyteDB, Citus.

mod archive;
mod capabilities;
mod config;
mod connecting;
mod copy;
mod describe;
mod distribution;
mod effective;
mod errors;
mod family;
mod foreign;
mod grants;
mod inherited;
mod keys;
mod leaving;
mod libpq;
mod lists;
mod load_lock;
mod loader;
mod micro;
mod moves;
mod nodes;
mod numeric;
mod observe;
mod opening;
mod own_tables;
mod partitions;
mod pasted;
mod poolers;
mod product;
mod replication;
mod reset;
mod run_mark;
pub(crate) mod session;
mod shards;
mod snapshot;
mod statements;
mod templates;
mod unprepared;
mod values;
mod wire;

pub(crate) use config::Config;
pub use distribution::NOT_INTERLEAVED;
pub(crate) use family::{CITUS_FAMILY, COCKROACH_FAMILY, POSTGRES_FAMILY, YUGABYTE_FAMILY};
use lydite_database::{
    Capabilities, ConditionFinding, DatabaseState, Demand, Description, Endpoints, FoundRows, HalfCounts,
    LedgerCounts, Loader, Replicated, RowKeys, Session, TableChecksum, Target, TargetError, TxMode, Written,
};
pub(crate) use pasted::DIALECTS;

use crate::net::Purpose;
use crate::net::url::on_any;
use crate::sql_load::{BY_SIZE, side_by_side};
use crate::statement_limit::{self, Limit};
use crate::stoppable::Stoppable;
use crate::unread::Unread;
use config::{NOT_SERIALIZABLE, ONLY_STATEMENTS};
use connecting::{SCHEMA, TABLE_KINDS, advised, connected_for};
use loader::PgLoader;
use lydite_database::kv::meta as kv_meta;
use lydite_database::sql::counts::counts;
use lydite_database::sql::ddl;
use lydite_database::sql::dialect::Dialect;
use lydite_database::sql::isolation::Isolation;
use lydite_database::sql::meta::{self, Admin};
use lydite_database::sql::reread::{halves, reread};
use lydite_database::sql::shards::Layout;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::sql::statement::Statement;
use lydite_database::sql::written::written;
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{OrderId, TransactionKind};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use unprepared::Between;
use wire::{Backend, Wire};

/// The functions of `--tx procedures`.
pub(crate) const PROCEDURES: &str = include_str!("procedures.sql");

/// Returns the fill factor of pages at loading, in percent, for tables whose rows are updated in place for ever. With
/// room on the page a new version needs no index entries (a heap-only tuple). The rows of the two smallest tables are
/// the hottest, and get pages of their own.
fn fill_factor(table: Table) -> Option<u8> {
    match table {
        Table::Warehouse | Table::District => Some(10),
        Table::Customer => Some(85),
        Table::Stock => Some(80),
        Table::Item | Table::History | Table::Orders | Table::NewOrder | Table::OrderLine => None,
    }
}

/// A PostgreSQL server.
pub(crate) struct Postgres {
    config: Config,
    /// Servers over which loading splits the tables.
    shards: Vec<Postgres>,
    /// Servers for sessions, and the spread of sessions over them.
    nodes: Arc<[Config]>,
    endpoints: Arc<Endpoints>,
    /// Limit of the round trips of measured sessions.
    limit: Option<Arc<Limit>>,
    /// Kind of what is between. It is set once the server is found to be of the kind that the URL names.
    between: OnceLock<Between>,
    /// True if the existing tables are partitioned over shards, once this is known.
    parted: OnceLock<bool>,
    /// Set once the existing tables are found to have the partitions of the URL.
    partitions_suit: OnceLock<()>,
    /// True once this process has made or renewed the procedures.
    procedures: Mutex<bool>,
    /// Isolation level that the server gives to a transaction, once it was asked.
    effective: OnceLock<String>,
    /// Connections at work, by the server's backends.
    work: Stoppable<Backend>,
}

impl Postgres {
    pub(crate) fn new(config: Config) -> Self {
        let shards = config.of_shards().map(Self::new).collect();
        let nodes: Arc<[Config]> = config.of_nodes().into();
        let limit = config.statement_timeout.map(Limit::new);
        let endpoints = nodes::endpoints(&nodes, config.life);
        Self {
            config,
            shards,
            nodes,
            endpoints,
            limit,
            between: OnceLock::new(),
            parted: OnceLock::new(),
            partitions_suit: OnceLock::new(),
            procedures: Mutex::new(false),
            effective: OnceLock::new(),
            work: Stoppable::default(),
        }
    }

    /// Connects. The first connection checks that the server is of the kind that the URL names.
    fn connect_wire(&self) -> Result<Wire, TargetError> {
        self.connect_wire_for(Purpose::Administration)
    }

    /// Connects as [`Self::connect_wire`] does, with the settings of a connection for a purpose.
    fn connect_wire_for(&self, purpose: Purpose) -> Result<Wire, TargetError> {
        let mut wire = on_any(&self.nodes, |node| connected_for(node, purpose))?;
        if self.between.get().is_none() {
            let mut told = Vec::new();
            wire.query_each(
                "SELECT version(), count(*) FROM pg_extension WHERE extname = 'citus'",
                &mut |row| told.extend(row.iter().map(|value| value.unwrap_or_default().to_string())),
            )
            .map_err(self.failed("ask for the version"))?;
            let [version, citus] = &told[..] else {
                return Err(TargetError::database(format!(
                    "{}: the server reports no version",
                    self.config.place()
                )));
            };
            if let Err(problem) = self.config.product.suits(version, citus != "0") {
                return Err(TargetError::usage(format!("{}: {problem}", self.config.place())));
            }
            let between = poolers::between(&mut wire, &self.config)?;
            self.between.get_or_init(|| between);
        }
        Ok(wire)
    }

    /// Returns the first settings of a session on the existing tables.
    fn session_settings(&self) -> Result<&'static str, TargetError> {
        if let Some(parted) = self.parted.get() {
            return Ok(if *parted { shards::SESSION } else { "" });
        }
        let parted =
            partitions::over_shards(&mut self.connect_wire()?).map_err(self.failed("look for tables"))?;
        if parted && self.config.unprepared {
            let place = self.config.place();
            return Err(TargetError::usage(format!(
                "{place}: statements=unprepared {}",
                unprepared::NO_SHARDS
            )));
        }
        Ok(if *self.parted.get_or_init(|| parted) { shards::SESSION } else { "" })
    }

    /// Returns the settings of a session for transactions. Rejects modes and levels that the existing tables do not
    /// support.
    fn checked_settings(&self) -> Result<&'static str, TargetError> {
        let settings = self.session_settings()?;
        self.check_partitions()?;
        if !settings.is_empty() && self.config.layout != Layout::default() {
            let found = self.found_layout(&mut self.connect_wire()?)?;
            self.config.layout.check(found, &self.config.place())?;
        }
        if !settings.is_empty() && self.config.mode != TxMode::Statements {
            let (place, mode) = (self.config.place(), self.config.mode);
            return Err(TargetError::usage(format!("{place}: --tx {mode} {ONLY_STATEMENTS}")));
        }
        if !settings.is_empty() && self.config.isolation == Isolation::Serializable {
            let place = self.config.place();
            return Err(TargetError::usage(format!("{place}: isolation=serializable {NOT_SERIALIZABLE}")));
        }
        Ok(settings)
    }

    fn failed(&self, doing: &str) -> impl Fn(SqlError) -> TargetError {
        let place = self.config.place();
        move |error| advised(error, doing, &place)
    }

    /// Returns the names of the tables in the schema of new tables.
    fn tables(&self, wire: &mut Wire) -> Result<Vec<String>, TargetError> {
        wire.column(&format!(
            "SELECT relname FROM pg_class WHERE relnamespace = {SCHEMA} AND relkind IN {TABLE_KINDS}"
        ))
        .map_err(self.failed("look for tables"))
    }

    /// Rejects a schema where a table that [`Target::reset`] leaves has indexes with names of Lydite's: a load could not
    /// make its own ones after the drop.
    fn check_foreign_indexes(&self) -> Result<(), TargetError> {
        if !self.config.product.heap {
            return Ok(());
        }
        let (indexes, tables) = (ddl::index_names(&Table::ALL), ddl::table_names());
        let taken = self
            .connect_wire()?
            .column(&format!(
                "SELECT own.relname FROM pg_class AS own JOIN pg_index ON indexrelid = own.oid \
                 JOIN pg_class AS owner ON owner.oid = indrelid WHERE own.relnamespace = {SCHEMA} \
                 AND own.relname IN ({indexes}) AND owner.relname NOT IN ({tables}) ORDER BY 1"
            ))
            .map_err(self.failed("look for indexes"))?;
        if taken.is_empty() { Ok(()) } else { Err(ddl::names_taken(&taken)) }
    }

    /// Rejects a schema where indexes of other tables have the names of those that a load would make, or where anything
    /// has the name of a table. Sequences and types share these names, and [`Target::state`] does not see them.
    fn check_names(&self, wire: &mut Wire, tables: &[Table]) -> Result<(), TargetError> {
        let names = ddl::index_names(tables);
        let taken = wire
            .column(&format!(
                "SELECT relname FROM pg_class WHERE relnamespace = {SCHEMA} AND relname IN ({names}) ORDER BY 1"
            ))
            .map_err(self.failed("look for indexes"))?;
        if !taken.is_empty() {
            return Err(ddl::names_taken(&taken));
        }
        let names = ddl::table_names() + &partitions::names(&self.config);
        let taken = wire
            .column(&format!(
                "SELECT relname FROM pg_class WHERE relnamespace = {SCHEMA} AND relname IN ({names}) \
                 UNION SELECT typname FROM pg_type WHERE typnamespace = {SCHEMA} AND typname IN ({names}) ORDER BY 1"
            ))
            .map_err(self.failed("look for names of tables"))?;
        if taken.is_empty() { Ok(()) } else { Err(ddl::tables_taken(&taken)) }
    }

    /// Makes or renews the procedures, once per process, because an older version may have loaded the database.
    fn ensure_procedures(&self) -> Result<(), TargetError> {
        let mut done = self.procedures.lock().unwrap_or_else(PoisonError::into_inner);
        if !*done {
            let mut wire = self.connect_wire()?;
            make_procedures(&mut wire).map_err(self.failed("make the procedures"))?;
            *done = true;
        }
        Ok(())
    }

    /// Runs independent statements on up to `jobs` connections.
    fn run_all(&self, statements: &[String], jobs: usize) -> Result<(), TargetError> {
        side_by_side(statements, jobs, |next| {
            let mut wire = self.connect_wire()?;
            load_lock::share(&mut wire, self.config.product).map_err(self.failed("join the load"))?;
            if self.config.product.heap {
                // Sorting for an index in memory is worth more than the default of 64 MB. The memory is freed at once.
                wire.keep(&[("maintenance_work_mem", "'256MB'".into())])
                    .map_err(self.failed("set maintenance_work_mem"))?;
            }
            let _at_work = wire.backend().map(|backend| self.work.enter(backend));
            while let Some(statement) = next() {
                self.work.unless_stopped(self.config.place())?;
                wire.execute(&statement).map_err(self.failed(&statement))?;
            }
            Ok(())
        })
    }
}

/// Returns the SQL that makes a table, ending in `;`. The table has keys and indexes only if building them later would
/// copy it.
fn create_table(config: &Config, table: Table) -> String {
    let dialect = session::dialect(config.isolation);
    let history_key = if table == Table::History && config.history_key {
        // A table that is distributed or partitioned must have its column of that in each key.
        let parted = config.product.distributes || config.partitions.is_some();
        let distributed = if parted { ", h_w_id" } else { "" };
        format!(
            ", {} bigint GENERATED BY DEFAULT AS IDENTITY, CONSTRAINT history_pkey PRIMARY KEY ({0}{distributed})",
            ddl::HISTORY_KEY
        )
    } else {
        String::new()
    };
    if let Some((column, count)) = partitions::column(config, table).zip(config.partitions) {
        return partitions::create(&ddl::create_table(dialect, table, &history_key), (table, column, count));
    }
    if config.product.heap {
        let storage =
            fill_factor(table).map_or_else(String::new, |percent| format!(" WITH (fillfactor = {percent})"));
        return format!("{}{storage}; ", ddl::create_table(dialect, table, &history_key));
    }
    let key = ddl::primary_key(table)
        .map_or(history_key, |key| format!(", CONSTRAINT {}_pkey PRIMARY KEY ({key})", table.name()));
    let indexes: String = ddl::create_indexes(table).map(|index| index + "; ").collect();
    format!("{}; {indexes}", ddl::create_table(dialect, table, &key))
}

/// Returns the statements that gather statistics. They include VACUUM. Otherwise the first readers of each page would
/// set its hint bits, and the first run would write the whole database once more.
fn vacuums(config: &Config, tables: &[Table]) -> Vec<String> {
    let gather = if config.product.heap { "VACUUM (ANALYZE)" } else { "ANALYZE" };
    tables.iter().map(|table| format!("{gather} {}", config.in_schema(table.name()))).collect()
}

/// Replaces functions of an older version, whose results may have other columns.
fn make_procedures(wire: &mut Wire) -> Result<(), SqlError> {
    let of_types = TransactionKind::ALL.map(|kind| format!("'lydite_{}'", kind.name()));
    let old = wire.column(&format!(
        "SELECT 'DROP FUNCTION ' || oid::regprocedure FROM pg_proc WHERE pronamespace = {SCHEMA} \
         AND proname IN ('lydite_customer', {})",
        of_types.join(", ")
    ))?;
    wire.execute(&format!("BEGIN; {}; {PROCEDURES}; COMMIT", old.join("; ")))
}

impl Target for Postgres {
    fn describe(&self) -> Result<Description, TargetError> {
        self.read_description()
    }

    fn state(&self) -> Result<DatabaseState, TargetError> {
        let mut wire = self.connect_wire()?;
        let tables = self.tables(&mut wire)?;
        meta::state(&mut wire, &tables).map_err(self.failed("read lydite_meta"))
    }

    fn admit(&self, demand: &Demand) -> Result<Vec<String>, TargetError> {
        match *demand {
            Demand::Sessions(sessions) => {
                let of_pool = self.check_sessions(sessions)?;
                return Ok(of_pool.into_iter().chain(self.statement_note()?).collect());
            }
            Demand::Load => {
                self.check_primary()?;
                self.check_foreign_indexes()?;
            }
            Demand::Writes => {
                self.check_primary()?;
                self.check_isolation()?;
            }
            Demand::Resume => self.check_resume()?,
            Demand::Districts(_) | Demand::FarStockLevels | Demand::Transactions(_) | Demand::Contention => {}
        }
        Ok(Vec::new())
    }

    fn create_schema(&self, meta: &DatabaseMeta) -> Result<(), TargetError> {
        archive::check(self.config.archive.as_deref(), meta)?;
        let mut wire = self.connect_wire()?;
        self.check_shards(&mut wire, meta)?;
        self.check_names(&mut wire, &Table::ALL)?;
        let meta = &self.config.scripts.describe(meta);
        if let Some(script) = &self.config.scripts.schema {
            return self.create_own(&mut wire, script, meta);
        }
        let created = self.create_tables(&mut wire, meta);
        if created.is_err() && (!self.shards.is_empty() || self.config.product.distributes) {
            // Not all of it is one transaction. Nothing of these names was there before, and the load has the right to
            // it; the first error is the one that matters.
            let _dropped = self.connect_wire().and_then(|mut wire| self.drop_all(&mut wire));
        }
        created
    }

    fn begin_load(&self) -> Result<Box<dyn Send>, TargetError> {
        Ok(Box::new(shards::lock(self)?))
    }

    fn begin_run(&self, warehouses: &RangeInclusive<u32>) -> Result<Box<dyn Send>, TargetError> {
        on_any(&self.nodes, |node| run_mark::take(node, warehouses))
    }

    fn loader(&self) -> Result<Box<dyn Loader>, TargetError> {
        // An interrupted load may have begun with other partitions.
        self.check_partitions()?;
        if self.shards.is_empty() {
            Ok(Box::new(PgLoader::open(&self.config)?))
        } else {
            Ok(Box::new(shards::loader(self)?))
        }
    }

    fn finish_load(&self, jobs: usize, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> {
        let here = match (self.shards.is_empty(), self.config.layout.items_single()) {
            (true, _) => &BY_SIZE[..],
            (false, false) => &[Table::Item],
            (false, true) => &[],
        };
        // The user's own tables have the keys that his files make.
        if self.config.scripts.schema.is_none() {
            stage("building keys and indexes");
            self.run_all(&self.keys_and_indexes(here)?, jobs)?;
            self.finish_shards(jobs)?;
            if self.config.foreign_keys {
                stage("adding foreign keys");
                self.add_foreign_keys(jobs)?;
            }
        }
        self.run_after_load(stage)?;
        stage("gathering statistics");
        self.run_all(&vacuums(&self.config, here), jobs)?;
        if self.config.product.modes.contains(&TxMode::Procedures) {
            stage("making procedures");
            self.ensure_procedures()?;
        }
        let mut wire = self.connect_wire()?;
        wire.execute(meta::READY).map_err(self.failed("note the end of the load"))?;
        if self.config.product.heap {
            stage("writing a checkpoint");
            // Only a superuser may run it. Without it the first run pays for the load's dirty pages.
            let _only_superusers_may = wire.execute("CHECKPOINT");
        }
        Ok(())
    }

    fn note_played(&self, kinds: &[TransactionKind]) -> Result<(), TargetError> {
        let mut wire = self.connect_wire()?;
        meta::note_played(&mut wire, kinds).map_err(self.failed("note the transactions to play"))
    }

    fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        if self.config.mode == TxMode::Procedures {
            self.checked_settings()?;
            self.ensure_procedures()?;
        }
        self.connect_to_read()
    }

    fn reset(&self) -> Result<(), TargetError> {
        self.drop_tables()
    }

    fn check(
        &self,
        conditions: &[Condition],
        done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError> {
        self.check_conditions(conditions, done)
    }

    fn checksums(&self) -> Result<Vec<TableChecksum>, TargetError> {
        self.read_checksums()
    }

    fn counts(&self, warehouses: &RangeInclusive<u32>) -> Result<LedgerCounts, TargetError> {
        self.on_snapshot("count orders and payments", |wire| counts(wire, warehouses))
    }

    fn written(
        &self,
        warehouses: &RangeInclusive<u32>,
        orders_from: Option<OrderId>,
    ) -> Result<Written, TargetError> {
        let dialect = session::dialect(self.config.isolation);
        self.on_snapshot("read orders and payments", |wire| written(wire, dialect, warehouses, orders_from))
    }

    fn reread(&self, keys: &RowKeys) -> Result<FoundRows, TargetError> {
        let dialect = session::dialect(self.config.isolation);
        self.on_snapshot("read rows again", |wire| reread(wire, dialect, keys))
    }

    fn halves(
        &self,
        warehouses: &RangeInclusive<u32>,
        loaded_orders: OrderId,
    ) -> Result<HalfCounts, TargetError> {
        let dialect = session::dialect(self.config.isolation);
        self.on_snapshot("count both sides", |wire| halves(wire, dialect, warehouses, loaded_orders))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            nodes: Some(self),
            endpoints: Some(&self.endpoints),
            replication: Some(self),
            balances: Some(self),
            held: Some(self),
            micro: self.config.product.heap.then_some(self as _),
            // Citus would keep the table on one node, which proves nothing about the others.
            lists: (!self.config.product.distributes).then_some(self as _),
            work: Some(self),
            server: Some(self),
            observe: Some(self),
            foreign: Some(self),
            shapes: self.config.product.shapes.is_some().then_some(self as _),
            leaving: Some(self),
            ..Capabilities::default()
        }
    }
}

impl Postgres {
    /// Creates the tables and the notes; see [`Target::create_schema`].
    fn create_tables(&self, wire: &mut Wire, meta: &DatabaseMeta) -> Result<(), TargetError> {
        let mut sql = String::from("BEGIN; ");
        if self.shards.is_empty() {
            Table::ALL.iter().for_each(|&table| sql += &create_table(&self.config, table));
        } else {
            if !self.config.layout.items_single() {
                sql += &create_table(&self.config, Table::Item);
            }
            sql += &self.create_shards(meta)?;
        }
        // Some of these statements can't run in a transaction. WAREHOUSE comes first because the rows of the other
        // tables are placed with its rows.
        let spread: Vec<String> = Table::ALL
            .iter()
            .flat_map(|&table| distribution::statements(&self.config, table, meta))
            .collect();
        if self.shards.is_empty() && spread.is_empty() {
            let notes = meta::create(meta);
            return wire.execute(&format!("{sql}{notes}; COMMIT")).map_err(self.failed("create the tables"));
        }
        // A load of tables that are not fully distributed must never look resumable.
        let notes = meta::begin_creating(&kv_meta::notes(meta)).join("; ");
        wire.execute(&format!("{sql}{notes}; COMMIT")).map_err(self.failed("create the tables"))?;
        self.map_users(wire)?;
        for statement in spread {
            let doing = format!("spread the tables: {}", distribution::shown(&statement));
            wire.execute(&statement).map_err(self.failed(&doing))?;
        }
        wire.execute(meta::LOADING).map_err(self.failed("note what is loaded"))
    }

    /// Returns the opening of sessions that prepare TPC-C's statements in a mode.
    fn tpcc_opening(&self, mode: TxMode, dialect: &Dialect) -> Result<opening::Opening, TargetError> {
        let settings = self.checked_settings()?;
        let text = if self.config.shards.is_empty() { Statement::text } else { Statement::text_over_shards };
        let statements: Vec<(Statement, String)> = Statement::of_mode(mode, dialect)
            .into_iter()
            .map(|statement| (statement, text(statement, dialect)))
            .collect();
        Ok(self.opening(settings, &statements))
    }

    /// Returns a note if the limit of statements is below the round trip.
    fn statement_note(&self) -> Result<Option<String>, TargetError> {
        let Some(longest) = self.config.statement_timeout else { return Ok(None) };
        let note = statement_limit::note(&mut self.connect_wire()?, longest, &self.config.place());
        note.map_err(self.failed("measure the round trip"))
    }

    /// Rejects more sessions than the server has connections for. Behind a pooler they share its connections, and there is
    /// a note if these are fewer.
    fn check_sessions(&self, sessions: u32) -> Result<Option<String>, TargetError> {
        self.check_nodes()?;
        // Without nodes of its own, a product's endpoints are addresses of one server.
        let servers = if self.config.product.own_node.is_some() { self.nodes.len() as u32 } else { 1 };
        let sessions = sessions.div_ceil(servers);
        let marks = self.config.product.advisory_locks;
        let connections = i64::from(sessions) + i64::from(marks);
        let mark = if marks { " and a connection that keeps other runs away" } else { "" };
        let mut wire = self.connect_wire()?;
        if self.between.get() == Some(&Between::Pooler) {
            return self.pool_note(sessions);
        }
        // Only a superuser may use the reserved connections. A setting that a version lacks gives no row. A superuser
        // is not held to the limits of roles and databases, where -1 means no limit.
        let limits = [
            (
                "the server",
                "max_connections less those it reserves",
                "raise max_connections",
                "SELECT sum(CASE WHEN name = 'max_connections' THEN setting::int ELSE -setting::int END) \
                 FROM pg_settings WHERE name = 'max_connections' OR current_setting('is_superuser') = 'off' \
                 AND name IN ('superuser_reserved_connections', 'reserved_connections')",
            ),
            (
                "the role",
                "its CONNECTION LIMIT",
                "ALTER ROLE … CONNECTION LIMIT -1",
                "SELECT rolconnlimit FROM pg_roles WHERE rolname = session_user AND NOT rolsuper AND rolconnlimit >= 0",
            ),
            (
                "the database",
                "its CONNECTION LIMIT",
                "ALTER DATABASE … CONNECTION LIMIT -1",
                "SELECT datconnlimit FROM pg_database WHERE datname = current_database() AND datconnlimit >= 0 \
                 AND current_setting('is_superuser') = 'off'",
            ),
        ];
        // The other products have the first limit alone.
        let known = if self.config.product.heap { limits.len() } else { 1 };
        for (whose, which, way_out, query) in &limits[..known] {
            // A server that does not report a limit rejects the connections that are too many. The description warns.
            let places = Unread::default().or_empty("its limits of connections", wire.column(query));
            let places = places.map_err(self.failed("ask for the limits of connections"))?;
            let places = places.first().and_then(|places| places.parse::<i64>().ok());
            if let Some(places) = places.filter(|places| connections > *places) {
                return Err(TargetError::unreachable(format!(
                    "{}: {whose} takes {places} connections at most ({which}), but the plan has {sessions} \
                     sessions{mark}: use fewer sessions, or {way_out}",
                    self.config.place()
                )));
            }
        }
        Ok(None)
    }
}
