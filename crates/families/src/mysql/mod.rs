//! MySQL and databases with its protocol: MariaDB, TiDB, OceanBase, PolarDB.

mod auth;
mod binary;
mod capabilities;
mod config;
mod connecting;
mod copy;
mod describe;
mod effective;
mod engines;
mod errors;
mod family;
mod foreign;
mod galera;
mod grants;
mod inherited;
mod leaving;
mod lists;
mod load_lock;
mod loader;
mod micro;
mod nodes;
mod observe;
mod opening;
mod own_tables;
mod packet;
mod pasted;
pub(crate) mod product;
mod proxies;
mod replication;
mod run_mark;
mod schema;
mod session;
mod snapshot;
mod spider;
mod statements;
mod wire;

pub(crate) use config::Config;
pub(crate) use family::FAMILY;
use lydite_database::{
    Capabilities, ConditionFinding, DatabaseState, Demand, Description, Endpoints, FoundRows, HalfCounts,
    LedgerCounts, Loader, Replicated, Role, RowKeys, Session, TableChecksum, Target, TargetError, TxMode,
    Written,
};
pub(crate) use pasted::DIALECTS;

use crate::net::Purpose;
use crate::net::url::on_any;
use crate::sql_load::{BY_SIZE, side_by_side};
use crate::statement_limit::{self, Limit};
use crate::stoppable::Stoppable;
use crate::unread::Unread;
use connecting::{advised, connected, connected_for};
use copy::Way;
use galera::in_step;
use load_lock::{LoadLock, MARK};
use loader::MysqlLoader;
use lydite_database::kv::meta::notes;
use lydite_database::sql::counts::counts;
use lydite_database::sql::ddl;
use lydite_database::sql::dialect::Dialect;
use lydite_database::sql::meta::{self, Admin, is_ours};
use lydite_database::sql::reread::{halves, reread};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::sql::statement::Statement;
use lydite_database::sql::written::written;
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::{OrderId, TransactionKind};
use product::Product;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use wire::Wire;

/// The procedures of `--tx procedures`.
const PROCEDURES: &str = include_str!("procedures.sql");

/// A server with MySQL's protocol.
pub(crate) struct Mysql {
    config: Config,
    /// Servers over which loading splits the tables.
    shards: Vec<Mysql>,
    /// Servers for sessions, and the spread of sessions over them.
    nodes: Arc<[Config]>,
    endpoints: Arc<Endpoints>,
    /// Limit of the round trips of measured sessions.
    limit: Option<Arc<Limit>>,
    /// Product of the server, once the first connection has shown that it leads to one server.
    known: OnceLock<&'static Product>,
    /// Isolation level that the server gives to a transaction, once it was asked.
    effective: OnceLock<String>,
    /// True if the existing tables are Spider's; `None` until this is known.
    parted: Mutex<Option<bool>>,
    /// True once this process has made or renewed the procedures.
    procedures: Mutex<bool>,
    /// Connections at work, by the server's connection ids.
    work: Stoppable<u32>,
}

impl Mysql {
    pub(crate) fn new(config: Config) -> Self {
        let nodes: Arc<[Config]> = config.of_nodes().into();
        let probed = Arc::clone(&nodes);
        let limit = config.statement_timeout.map(Limit::new);
        let names = nodes.iter().map(Config::address).collect();
        let probe = Box::new(move |at: usize| connected(&probed[at]).is_ok());
        Self {
            shards: config.of_shards().into_iter().map(Self::new).collect(),
            endpoints: Endpoints::new(names, config.life, probe),
            nodes,
            limit,
            config,
            known: OnceLock::new(),
            effective: OnceLock::new(),
            parted: Mutex::default(),
            procedures: Mutex::new(false),
            work: Stoppable::default(),
        }
    }

    /// Opens a connection for administration. It sees every earlier commit on any server of the cluster.
    fn connect_wire(&self) -> Result<Wire, TargetError> {
        self.connect_wire_for(Purpose::Administration)
    }

    /// Opens a connection as [`Self::connect_wire`] does, with the settings of a connection for a purpose.
    fn connect_wire_for(&self, purpose: Purpose) -> Result<Wire, TargetError> {
        let mut wire = on_any(&self.nodes, |node| connected_for(node, purpose))?;
        if self.known.get().is_none() {
            proxies::reject(&mut wire, &self.config)?;
            self.known.get_or_init(|| wire.product);
        }
        in_step(&mut wire).map_err(self.failed("wait for the other servers"))?;
        Ok(wire)
    }

    fn failed(&self, doing: &str) -> impl Fn(SqlError) -> TargetError {
        let (doing, place) = (doing.to_string(), self.config.place());
        move |error| advised(error, &doing, &place)
    }

    /// Makes or renews the procedures, once per process, because an older version may have loaded the database.
    fn ensure_procedures(&self) -> Result<(), TargetError> {
        let mut done = self.procedures.lock().unwrap_or_else(PoisonError::into_inner);
        if !*done {
            let mut wire = self.connect_wire()?;
            let dialect = self.dialect(wire.product)?;
            let arrays = self.procedures_have_arrays(wire.product)?;
            make_procedures(&mut wire, dialect, arrays).map_err(self.failed("make the procedures"))?;
            *done = true;
        }
        Ok(())
    }

    /// Runs independent statements on up to `jobs` connections.
    fn run_all(&self, statements: &[String], jobs: usize) -> Result<(), TargetError> {
        side_by_side(statements, jobs, |next| {
            let mut wire = self.connect_wire()?;
            // The rows are correct by construction, and the conditions are checked afterwards. With these checks the
            // server would copy a table row by row to add a foreign key.
            wire.execute("SET SESSION foreign_key_checks = 0")
                .map_err(self.failed("set foreign_key_checks"))?;
            let _at_work = self.work.enter(wire.id);
            while let Some(statement) = next() {
                self.work.unless_stopped(self.config.place())?;
                wire.execute(&format!("{MARK} {statement}")).map_err(self.failed(&statement))?;
            }
            Ok(())
        })
    }

    /// Reads a column of a table of the information schema for this database's tables; of keys and indexes, for those of
    /// Lydite's tables alone, since other tables may have indexes of the same names.
    fn catalogue(&self, wire: &mut Wire, column: &str, table: &str) -> Result<Vec<String>, TargetError> {
        let schema = if table == "table_constraints" { "constraint_schema" } else { "table_schema" };
        let of = if table == "tables" {
            String::new()
        } else {
            format!(" AND table_name IN ({})", ddl::table_names())
        };
        wire.column(&format!(
            "SELECT DISTINCT {column} FROM information_schema.{table} WHERE {schema} = database(){of} ORDER BY 1"
        ))
        .map_err(self.failed("look for tables, keys and indexes"))
    }

    /// Returns the names of the tables and views of the database.
    fn tables(&self, wire: &mut Wire) -> Result<Vec<String>, TargetError> {
        self.catalogue(wire, "table_name", "tables")
    }

    /// Returns true if New-Order's procedure works on all lines at once.
    fn procedures_have_arrays(&self, product: &Product) -> Result<bool, TargetError> {
        // Over shards each row of a join is a statement of its own.
        let can = product.json_table && !self.is_parted()?;
        if self.config.arrays == Some(true) && !can {
            return Err(TargetError::usage(format!(
                "{}: procedures=arrays needs JSON_TABLE and tables on one server, and {} has not both: leave it out",
                self.config.place(),
                product.name
            )));
        }
        Ok(self.config.arrays.unwrap_or(can))
    }

    /// Returns the statements that a mode prepares, with their texts.
    fn statements(mode: TxMode, dialect: &Dialect, arrays: bool) -> Vec<(Statement, String)> {
        let text = if arrays { Statement::text_for_arrays } else { Statement::text };
        Statement::of_mode(mode, dialect)
            .into_iter()
            .map(|statement| (statement, text(statement, dialect)))
            .collect()
    }

    /// Returns the SQL dialect of the existing tables.
    fn dialect(&self, product: &Product) -> Result<&'static Dialect, TargetError> {
        Ok(if self.is_parted()? { &product::SPIDER_DIALECT } else { self.own_dialect(product) })
    }

    /// Returns the SQL dialect of tables on this server.
    fn own_dialect(&self, product: &Product) -> &'static Dialect {
        product.snapshot_dialect.filter(|_| self.config.snapshot_at_begin).unwrap_or(product.dialect)
    }

    /// Returns the setting of a session that ends a statement when it waits longer for a lock.
    fn limit_of_waits(product: &Product, longest_wait: Duration) -> String {
        let seconds = longest_wait.as_secs().max(1);
        product.longest_wait.replace('#', &seconds.to_string())
    }

    /// Drops the objects with names of Lydite's tables, on this server alone. The caller has the right to load. The notes
    /// go last, after `rest`: so whatever is left after a stop is known as Lydite's. Until the first statement has all
    /// its locks, the database stays as it was.
    fn drop_tables(
        &self,
        wire: &mut Wire,
        rest: impl FnOnce(&mut Wire) -> Result<(), TargetError>,
    ) -> Result<(), TargetError> {
        let mut there = BTreeMap::new();
        wire.query_each(
            "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = database()",
            &mut |row| {
                if let [Some(name), Some(kind)] = row {
                    there.insert((*name).to_string(), (*kind).to_string());
                }
            },
        )
        .map_err(self.failed("look for tables"))?;
        let failed = self.failed("drop the tables");
        // The tables refer to each other.
        wire.execute("SET SESSION foreign_key_checks = 0").map_err(&failed)?;
        let (notes, others): (Vec<_>, Vec<_>) =
            there.iter().filter(|(name, _)| is_ours(name)).partition(|(name, _)| *name == "lydite_meta");
        self.drop_objects(wire, &others)?;
        rest(wire)?;
        self.drop_objects(wire, &notes)
    }

    /// Drops tables, views and sequences, whoever made them.
    fn drop_objects(&self, wire: &mut Wire, objects: &[(&String, &String)]) -> Result<(), TargetError> {
        let failed = self.failed("drop the tables");
        let _at_work = self.work.enter(wire.id);
        for kind in ["TABLE", "VIEW", "SEQUENCE"] {
            let of_kind = |of: &str| match of {
                "VIEW" | "SEQUENCE" => of == kind,
                _ => kind == "TABLE",
            };
            let names = objects.iter().filter(|(_, of)| of_kind(of)).map(|(name, _)| format!("`{name}`"));
            let names: Vec<String> = names.collect();
            if names.is_empty() {
                continue;
            }
            // One statement takes the locks of all its tables before it drops the first. A server goes on to wait for
            // them after its client is gone, so each statement waits for a moment only.
            let drop = format!("DROP {kind} IF EXISTS {}", names.join(", "));
            match wire.execute(&format!("SET SESSION lock_wait_timeout = {LOCK_WAIT_S}")) {
                Err(error) if errors::has_code(&error, errors::UNKNOWN_VARIABLE) => {}
                set => set.map_err(&failed)?,
            }
            loop {
                self.work.unless_stopped(self.config.place())?;
                match wire.execute(&drop) {
                    Err(error) if errors::has_code(&error, errors::LOCK_WAIT) => {}
                    dropped => break dropped.map_err(&failed)?,
                }
            }
        }
        Ok(())
    }

    /// Marks the load as complete.
    fn note_ready(&self) -> Result<(), TargetError> {
        let mut wire = self.connect_wire()?;
        wire.execute(meta::READY).map_err(self.failed("note the end of the load"))
    }
}

/// Longest wait of one `DROP` for its locks, in seconds.
const LOCK_WAIT_S: u32 = 1;

/// Returns the procedures in a dialect.
pub(crate) fn procedures(dialect: &Dialect) -> String {
    dialect.fill(PROCEDURES)
}

/// Replaces the procedures of an older version.
fn make_procedures(wire: &mut Wire, dialect: &Dialect, arrays: bool) -> Result<(), SqlError> {
    for text in procedures(dialect).split("--/\n").skip(1) {
        let name = text.split(['(', ' ']).find(|word| word.starts_with("lydite_")).unwrap_or_default();
        if name.ends_with("_arrays") && !arrays {
            continue;
        }
        wire.execute(&format!("DROP PROCEDURE IF EXISTS {name}"))?;
        wire.execute(text)?;
    }
    Ok(())
}

impl Target for Mysql {
    fn describe(&self) -> Result<Description, TargetError> {
        self.read_description()
    }

    fn state(&self) -> Result<DatabaseState, TargetError> {
        let mut wire = self.connect_wire()?;
        let tables = self.tables(&mut wire)?;
        meta::state(&mut wire, &tables).map_err(self.failed("read lydite_meta"))
    }

    fn admit(&self, demand: &Demand) -> Result<Vec<String>, TargetError> {
        match demand {
            Demand::Load => self.load_notes(),
            Demand::Sessions(sessions) => {
                self.check_sessions(*sessions)?;
                self.statement_note()
            }
            Demand::Writes => {
                self.check_primary()?;
                self.check_isolation().map(|()| Vec::new())
            }
            Demand::Resume => self.check_resume().map(|()| Vec::new()),
            Demand::Districts(_) | Demand::FarStockLevels | Demand::Transactions(_) | Demand::Contention => {
                Ok(Vec::new())
            }
        }
    }

    fn create_schema(&self, meta: &DatabaseMeta) -> Result<(), TargetError> {
        let meta = &self.config.scripts.describe(meta);
        if !self.shards.is_empty() {
            return self.create_over_shards(meta);
        }
        let mut wire = self.connect_wire()?;
        if let Some(script) = &self.config.scripts.schema {
            return self.create_own(&mut wire, script, meta);
        }
        schema::create(&mut wire, &self.config, &notes(meta)).map_err(self.failed("create the tables"))
    }

    fn begin_load(&self) -> Result<Box<dyn Send>, TargetError> {
        Ok(Box::new(spider::lock(self)?))
    }

    fn begin_run(&self, warehouses: &RangeInclusive<u32>) -> Result<Box<dyn Send>, TargetError> {
        on_any(&self.nodes, |node| run_mark::take(node, warehouses))
    }

    fn loader(&self) -> Result<Box<dyn Loader>, TargetError> {
        if self.shards.is_empty() {
            Ok(Box::new(MysqlLoader::open(&self.config)?))
        } else {
            Ok(Box::new(spider::loader(self)?))
        }
    }

    fn finish_load(&self, jobs: usize, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> {
        let mut wire = self.connect_wire()?;
        let product = wire.product;
        let indexes = self.catalogue(&mut wire, "index_name", "statistics")?;
        let constraints = self.catalogue(&mut wire, "constraint_name", "table_constraints")?;
        drop(wire);
        let without = schema::without_foreign_keys(&self.config, product);
        let keys = self.config.foreign_keys.unwrap_or(without.is_none());
        // The user's own tables have the keys that his files make.
        let own = self.config.scripts.schema.is_some();
        if !own {
            stage("building indexes");
            self.finish_shards(jobs)?;
            self.run_all(&schema::add_indexes(&indexes, keys), jobs)?;
        }
        if keys && !own {
            stage("adding foreign keys");
            // One at a time: each statement also locks the table that the key refers to.
            self.run_all(&schema::add_foreign_keys(&constraints), 1)?;
        }
        self.run_after_load(stage)?;
        stage(&match without.filter(|_| !own) {
            Some(tables) => format!("gathering statistics (no foreign keys: {tables} can't have them)"),
            None => "gathering statistics".to_string(),
        });
        let analyze: Vec<String> =
            BY_SIZE.iter().map(|table| format!("ANALYZE TABLE {}", table.name())).collect();
        self.run_all(&analyze, jobs)?;
        if product.procedures {
            stage("making procedures");
            self.ensure_procedures()?;
        }
        self.note_ready()
    }

    fn note_played(&self, kinds: &[TransactionKind]) -> Result<(), TargetError> {
        let mut wire = self.connect_wire()?;
        meta::note_played(&mut wire, kinds).map_err(self.failed("note the transactions to play"))
    }

    fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        if self.config.mode == TxMode::Procedures {
            self.ensure_procedures()?;
        }
        self.connect_to_read()
    }

    fn reset(&self) -> Result<(), TargetError> {
        // The next tables may be of another kind.
        *self.parted.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut lock = LoadLock::take(&self.config)?;
        // An unreachable shard is reported before anything is dropped on another server.
        self.shards.iter().try_for_each(|shard| shard.connect_wire().map(drop))?;
        self.drop_tables(lock.wire(), |wire| self.reset_shards(wire))
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
        self.on_snapshot("read orders and payments", |wire| {
            let dialect = wire.product.dialect;
            written(wire, dialect, warehouses, orders_from)
        })
    }

    fn reread(&self, keys: &RowKeys) -> Result<FoundRows, TargetError> {
        self.on_snapshot("read rows again", |wire| {
            let dialect = wire.product.dialect;
            reread(wire, dialect, keys)
        })
    }

    fn halves(
        &self,
        warehouses: &RangeInclusive<u32>,
        loaded_orders: OrderId,
    ) -> Result<HalfCounts, TargetError> {
        self.on_snapshot("count both sides", |wire| {
            let dialect = wire.product.dialect;
            halves(wire, dialect, warehouses, loaded_orders)
        })
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            nodes: Some(self),
            endpoints: Some(&self.endpoints),
            replication: Some(self),
            balances: Some(self),
            held: Some(self),
            micro: Some(self),
            lists: Some(self),
            work: Some(self),
            server: Some(self),
            observe: Some(self),
            foreign: Some(self),
            shapes: Some(self),
            leaving: Some(self),
            ..Capabilities::default()
        }
    }
}

impl Mysql {
    fn load_notes(&self) -> Result<Vec<String>, TargetError> {
        self.check_primary()?;
        // The user's own statements may name an engine for each table, and are judged after they were executed.
        if self.config.scripts.schema.is_none() {
            self.check_engines()?;
        }
        let mut wire = self.connect_wire()?;
        let way = copy::way(&mut wire).map_err(self.failed("ask for local_infile"))?;
        Ok(match way {
            Way::Insert if wire.product.file_in_transaction => vec![
                "the server forbids LOAD DATA LOCAL INFILE (local_infile is off): rows go by INSERT, which is slower"
                    .to_string(),
            ],
            Way::File | Way::Insert => Vec::new(),
        })
    }

    /// Returns a note if the limit of statements is below the round trip.
    fn statement_note(&self) -> Result<Vec<String>, TargetError> {
        let Some(longest) = self.config.statement_timeout else { return Ok(Vec::new()) };
        let note = statement_limit::note(&mut self.connect_wire()?, longest, &self.config.place());
        note.map(|note| note.into_iter().collect()).map_err(self.failed("measure the round trip"))
    }

    /// Rejects more sessions than the server allows connections or prepared statements for.
    fn check_sessions(&self, sessions: u32) -> Result<(), TargetError> {
        self.check_nodes()?;
        let mut wire = self.connect_wire()?;
        let product = wire.product;
        let mut limits = BTreeMap::new();
        let asked = wire.query_each(
            // The session's max_user_connections is the account's limit, if it has one of its own.
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('max_connections', 'max_prepared_stmt_count'); \
             SHOW SESSION VARIABLES WHERE Variable_name = 'max_user_connections'",
            &mut |row| {
                if let [Some(name), Some(value)] = row
                    && let Ok(value) = value.parse::<i64>()
                {
                    limits.insert((*name).to_string(), value);
                }
            },
        );
        // A server that does not report its limits rejects what is too much.
        let asked = Unread::default().or_empty("max_connections", asked);
        asked.map_err(self.failed("ask for max_connections"))?;
        // Outside of a cluster, endpoints are addresses of one server.
        let cluster = self.nodes.len() > 1 && self.read_replication()?.role == Role::Member;
        let servers = if cluster { self.nodes.len() as u64 } else { 1 };
        let sessions = u64::from(sessions).div_ceil(servers);
        let statements = sessions * Self::statements(self.config.mode, product.dialect, false).len() as u64;
        let connections = sessions + u64::from(product.named_locks);
        let mark = if product.named_locks { " and a connection that keeps other runs away" } else { "" };
        let asked = [
            ("max_connections", connections, mark),
            ("max_user_connections", connections, mark),
            ("max_prepared_stmt_count", statements, ""),
        ];
        for (name, wanted, mark) in asked {
            // In some of the products zero or less means no limit.
            if let Some(&limit) = limits.get(name)
                && limit > 0
                && wanted > limit as u64
            {
                return Err(TargetError::unreachable(format!(
                    "{}: {name} of the server is {limit}, but {sessions} sessions{mark} need {wanted}: use fewer \
                     sessions, or raise {name}",
                    self.config.place()
                )));
            }
        }
        Ok(())
    }
}
