//! SQLite, an embedded database: a target without a server.

pub(crate) mod config;
mod connection;
mod family;
mod foreign;
mod leaving;
mod lists;
mod load_lock;
mod loader;
mod micro;
mod observe;
mod own_tables;
mod pasted;
mod statistics;
mod templates;

pub(crate) use family::FAMILY;
use lydite_database::{
    BalanceTarget, Balances, Capabilities, ConditionFinding, DatabaseState, Demand, Description, FoundRows,
    HalfCounts, Held, HeldTarget, LedgerCounts, Loader, RowKeys, Session, StoppableWork, TableChecksum,
    TableEngines, Target, TargetError, TxMode, Written,
};
pub(crate) use pasted::DIALECTS;

use crate::stoppable::Stoppable;
use crate::storage::{Temporary, in_memory};
use config::{Config, DIALECT};
use connection::{Shared, SqliteConnection};
use load_lock::LoadLock;
use loader::SqliteLoader;
use lydite_database::micro::is_table_name;
use lydite_database::sql::balances::{BalanceSession, BalanceStatement};
use lydite_database::sql::checksum::{CanonicalText, checksums};
use lydite_database::sql::conditions;
use lydite_database::sql::counts::counts;
use lydite_database::sql::ddl;
use lydite_database::sql::held::HeldSession;
use lydite_database::sql::meta::{self, Admin, OWN_TABLES};
use lydite_database::sql::reread::{halves, reread};
use lydite_database::sql::session::SqlSession;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::sql::written::written;
use lydite_database::target_url::encoded;
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{OrderId, TransactionKind};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Tables with small rows that are always found by their key. They are stored in the key's own tree.
const CLUSTERED: [Table; 4] = [Table::District, Table::Orders, Table::NewOrder, Table::OrderLine];

/// A database file.
pub(crate) struct Sqlite {
    config: Config,
    path: PathBuf,
    /// Temporary directory, kept while the target lives.
    temporary: Option<Temporary>,
    shared: Arc<Shared>,
    /// Connections that build indexes.
    work: Stoppable<rusqlite::InterruptHandle>,
}

impl Sqlite {
    pub(crate) fn new(config: Config) -> Result<Self, TargetError> {
        let (path, temporary) = match &config.path {
            Some(path) => (path.clone(), None),
            None => {
                let directory = Temporary::new().map_err(|error| {
                    TargetError::usage(format!("a temporary directory can't be made: {error}: set TMPDIR"))
                })?;
                (directory.path().join("tpcc.sqlite"), Some(directory))
            }
        };
        Ok(Self { config, path, temporary, shared: Arc::default(), work: Stoppable::default() })
    }

    /// Runs a statement that can be stopped.
    fn index(&self, connection: &mut SqliteConnection, sql: &str) -> Result<(), TargetError> {
        let _at_work = self.work.enter(connection.interrupt_handle());
        self.work.unless_stopped(self.place())?;
        connection.execute(sql).map_err(self.failed(sql))
    }

    fn place(&self) -> String {
        format!("sqlite {}", self.path.display())
    }

    fn open(&self) -> Result<SqliteConnection, TargetError> {
        SqliteConnection::open(&self.path, &self.config, Arc::clone(&self.shared)).map_err(self.unopened())
    }

    /// Returns the error of a file that can't be opened.
    fn unopened(&self) -> impl Fn(SqlError) -> TargetError {
        let place = self.place();
        move |error| {
            TargetError::unreachable(format!(
                "{place}: open: {}: check the path and its permissions",
                error.line()
            ))
        }
    }

    fn failed(&self, doing: &str) -> impl Fn(SqlError) -> TargetError {
        let (doing, place) = (doing.to_string(), self.place());
        move |error| error.on_target(&doing, &place)
    }
}

/// Returns the SQL that makes a table, ending in `; `. SQLite can't add keys to an existing table.
fn create_table(table: Table) -> String {
    let mut suffix = ddl::primary_key(table).map_or(String::new(), |key| format!(", PRIMARY KEY ({key})"));
    for key in table.schema().foreign_keys {
        suffix += ", ";
        suffix += &ddl::foreign_key(key);
    }
    let end = if CLUSTERED.contains(&table) { " WITHOUT ROWID; " } else { "; " };
    ddl::create_table(&DIALECT, table, &suffix) + end
}

impl Target for Sqlite {
    fn describe(&self) -> Result<Description, TargetError> {
        let journal = if self.path.exists() {
            self.open()?.column("PRAGMA journal_mode").map_err(self.failed("ask for the journal mode"))?
        } else {
            vec!["wal".to_string()]
        };
        let on_off = |on: bool| if on { "on" } else { "off" }.to_string();
        let settings = BTreeMap::from([
            ("journal_mode".to_string(), journal.concat()),
            ("synchronous".to_string(), self.config.synchronous.to_string()),
            ("foreign_keys".to_string(), on_off(self.config.foreign_keys)),
            ("cache_mb".to_string(), self.config.cache_mb.to_string()),
            ("writers".to_string(), "one at a time, queued in turn".to_string()),
        ]);
        Ok(Description {
            kind: "sqlite".into(),
            version: format!("SQLite {}", rusqlite::version()),
            url: match &self.temporary {
                Some(_) => "sqlite: (temporary)".into(),
                None => format!("sqlite:{}", encoded(&self.path)),
            },
            settings,
            isolation: "serializable".into(),
            embedded: true,
            isolation_is_level_3: true,
            durable: self.config.synchronous == "full",
            in_memory: in_memory(&self.path),
            unread: Vec::new(),
        })
    }

    fn state(&self) -> Result<DatabaseState, TargetError> {
        if !Path::new(&self.path).exists() {
            return Ok(DatabaseState::Empty);
        }
        let mut connection = self.open()?;
        let tables = connection
            .column("SELECT lower(name) FROM sqlite_master WHERE type IN ('table', 'view')")
            .map_err(self.failed("look for tables"))?;
        meta::state(&mut connection, &tables).map_err(self.failed("read lydite_meta"))
    }

    fn admit(&self, demand: &Demand) -> Result<Vec<String>, TargetError> {
        if *demand == Demand::Contention {
            return Err(TargetError::usage(
                "--ci: SQLite lets one transaction write at a time: the others wait for the whole database, and none \
                 competes for a row: use a database that locks rows",
            ));
        }
        if *demand == Demand::Resume {
            self.check_resume()?;
        }
        if *demand == Demand::Load && Path::new(&self.path).exists() {
            // A table that a drop leaves may have indexes whose names the load needs.
            let (indexes, tables) = (ddl::index_names(&Table::ALL), ddl::table_names());
            let taken = self
                .open()?
                .column(&format!(
                    "SELECT name FROM sqlite_master WHERE type = 'index' AND lower(name) IN ({indexes}) \
                     AND lower(tbl_name) NOT IN ({tables}) ORDER BY 1"
                ))
                .map_err(self.failed("look for indexes"))?;
            if !taken.is_empty() {
                return Err(ddl::names_taken(&taken));
            }
        }
        Ok(Vec::new())
    }

    fn begin_load(&self) -> Result<Box<dyn Send>, TargetError> {
        Ok(Box::new(LoadLock::take(&self.path)?))
    }

    fn create_schema(&self, meta: &DatabaseMeta) -> Result<(), TargetError> {
        let mut connection = self.open()?;
        let names = ddl::index_names(&Table::ALL);
        let taken = connection
            .column(&format!("SELECT name FROM sqlite_master WHERE lower(name) IN ({names}) ORDER BY 1"))
            .map_err(self.failed("look for indexes"))?;
        if !taken.is_empty() {
            return Err(ddl::names_taken(&taken));
        }
        let names = ddl::table_names();
        let taken = connection
            .column(&format!("SELECT name FROM sqlite_master WHERE lower(name) IN ({names}) ORDER BY 1"))
            .map_err(self.failed("look for names of tables"))?;
        if !taken.is_empty() {
            return Err(ddl::tables_taken(&taken));
        }
        let meta = &self.config.scripts.describe(meta);
        if let Some(script) = &self.config.scripts.schema {
            let there = connection
                .column("SELECT lower(name) FROM sqlite_master WHERE type IN ('table', 'view')")
                .map_err(self.failed("look for tables"))?;
            return self.create_own(&mut connection, script, meta, &there);
        }
        // The mode is stored in the file. It is set only here, because a mere look at somebody's file must not change
        // it.
        let mut sql = String::from("PRAGMA journal_mode = wal; BEGIN IMMEDIATE; ");
        for table in Table::ALL {
            sql += &create_table(table);
        }
        sql += &meta::create(meta);
        sql += "; COMMIT";
        connection.execute(&sql).map_err(self.failed("create the tables"))
    }

    fn loader(&self) -> Result<Box<dyn Loader>, TargetError> {
        let mut connection = self.open()?;
        // While a warehouse is loaded, parents may come after children. The rows are correct by construction, and the
        // conditions are checked afterwards.
        connection.execute("PRAGMA foreign_keys = off").map_err(self.failed("prepare loading"))?;
        Ok(Box::new(SqliteLoader::new(connection, self.place())))
    }

    fn finish_load(&self, _jobs: usize, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> {
        let mut connection = self.open()?;
        // The user's own tables have the indexes that his files make.
        if self.config.scripts.schema.is_none() {
            stage("building indexes");
            for index in Table::ALL.into_iter().flat_map(ddl::create_indexes) {
                self.index(&mut connection, &index)?;
            }
        }
        self.run_after_load(&mut connection, stage)?;
        stage("gathering statistics");
        self.index(&mut connection, "ANALYZE")?;
        connection.execute(meta::READY).map_err(self.failed("note the end of the load"))?;
        stage("writing a checkpoint");
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").map_err(self.failed("checkpoint"))
    }

    fn note_played(&self, kinds: &[TransactionKind]) -> Result<(), TargetError> {
        meta::note_played(&mut self.open()?, kinds).map_err(self.failed("note the transactions to play"))
    }

    fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        let connection = self.open()?;
        // One transaction writes at a time.
        Ok(Box::new(SqlSession::new(connection, TxMode::Statements, &DIALECT).judging_keys(true)))
    }

    fn reset(&self) -> Result<(), TargetError> {
        if !self.path.exists() {
            return Ok(());
        }
        let _alone = LoadLock::take(&self.path)?;
        let mut connection = self.open()?;
        let views = connection
            .column("SELECT lower(name) FROM sqlite_master WHERE type = 'view'")
            .map_err(self.failed("look for views"))?;
        // Dropping a table deletes its rows, which would check the foreign keys.
        connection.execute("PRAGMA foreign_keys = off").map_err(self.failed("switch foreign keys off"))?;
        let mut drops = String::new();
        let there = connection
            .column("SELECT lower(name) FROM sqlite_master WHERE type IN ('table', 'view')")
            .map_err(self.failed("look for tables"))?;
        let micro = there.iter().map(String::as_str).filter(|name| is_table_name(name));
        for name in Table::ALL.map(Table::name).into_iter().chain(OWN_TABLES).chain(micro) {
            // An object that others made under this name may not be a table.
            let kind = if views.iter().any(|view| view == name) { "VIEW" } else { "TABLE" };
            drops += &format!("DROP {kind} IF EXISTS {name}; ");
        }
        self.rehearse_own(&mut connection, &drops)?;
        let sql = format!("BEGIN IMMEDIATE; {drops}COMMIT; VACUUM");
        connection.execute(&sql).map_err(self.failed("drop the tables"))
    }

    fn check(
        &self,
        conditions: &[Condition],
        done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError> {
        let mut connection = self.open()?;
        connection.execute("BEGIN").map_err(self.failed("check"))?;
        let meta = meta::read(&mut connection).map_err(self.failed("check"))?;
        let mut findings = Vec::new();
        for group in conditions::groups(conditions) {
            let found = conditions::evaluate(&mut connection, &DIALECT, &meta, &group)
                .map_err(self.failed(&conditions::doing(&group)))?;
            found.iter().for_each(done);
            findings.extend(found);
        }
        findings.sort_by_key(|finding| finding.condition.number);
        Ok(findings)
    }

    fn passes(&self, conditions: &[Condition]) -> Vec<Vec<Condition>> {
        conditions::groups(conditions)
    }

    fn checksums(&self) -> Result<Vec<TableChecksum>, TargetError> {
        let canonical =
            CanonicalText { money: str::to_string, rate: str::to_string, as_text: DIALECT.as_text };
        let mut connection = self.open()?;
        checksums(&mut connection, &canonical).map_err(self.failed("read the tables"))
    }

    fn counts(&self, warehouses: &RangeInclusive<u32>) -> Result<LedgerCounts, TargetError> {
        counts(&mut self.open()?, warehouses).map_err(self.failed("count orders and payments"))
    }

    fn written(
        &self,
        warehouses: &RangeInclusive<u32>,
        orders_from: Option<OrderId>,
    ) -> Result<Written, TargetError> {
        let failed = self.failed("read orders and payments");
        let mut connection = self.open()?;
        connection.execute("BEGIN").map_err(&failed)?;
        written(&mut connection, &DIALECT, warehouses, orders_from).map_err(failed)
    }

    fn reread(&self, keys: &RowKeys) -> Result<FoundRows, TargetError> {
        let failed = self.failed("read rows again");
        let mut connection = self.open()?;
        connection.execute("BEGIN").map_err(&failed)?;
        reread(&mut connection, &DIALECT, keys).map_err(failed)
    }

    fn halves(
        &self,
        warehouses: &RangeInclusive<u32>,
        loaded_orders: OrderId,
    ) -> Result<HalfCounts, TargetError> {
        let failed = self.failed("count both sides");
        let mut connection = self.open()?;
        connection.execute("BEGIN").map_err(&failed)?;
        halves(&mut connection, &DIALECT, warehouses, loaded_orders).map_err(failed)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            balances: Some(self),
            held: Some(self),
            micro: Some(self),
            lists: Some(self),
            work: Some(self),
            observe: Some(self),
            foreign: Some(self),
            leaving: Some(self),
            ..Capabilities::default()
        }
    }
}

impl StoppableWork for Sqlite {
    fn stop_work(&self) {
        self.work.stop().iter().for_each(rusqlite::InterruptHandle::interrupt);
    }
}

impl BalanceTarget for Sqlite {
    fn connect_balances(&self, _longest_wait: Duration) -> Result<Box<dyn Session<Balances>>, TargetError> {
        let statements = BalanceStatement::all(&DIALECT);
        let connection =
            SqliteConnection::open_with(&self.path, &self.config, Arc::clone(&self.shared), &statements)
                .map_err(self.unopened())?;
        Ok(Box::new(BalanceSession::new(connection)))
    }

    fn table_engines(&self) -> Result<Option<TableEngines>, TargetError> {
        Ok(Some(Table::ALL.into_iter().map(|table| (table, "sqlite".to_string())).collect()))
    }
}

impl HeldTarget for Sqlite {
    fn connect_held(&self) -> Result<Box<dyn Session<Held>>, TargetError> {
        Ok(Box::new(HeldSession::new(self.open()?, &DIALECT)))
    }
}
