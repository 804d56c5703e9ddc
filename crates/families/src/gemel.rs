//! Gemel, the embedded database of this project, through its layer of byte keys.

mod family;
mod leaving;
mod lists;
mod micro;
mod micro_tables;
mod observe;
mod server;
mod target;
mod templates;

pub(crate) use family::FAMILY;
use lydite_database::{AbortReason, Committed, Description};
pub use server::GemelServer;
pub(crate) use server::SERVER_FAMILY;
pub(crate) use target::GemelTarget;

use crate::storage::{Temporary, in_memory};
use ::gemel::{
    CommitStamps, Compression, Conflict, Database, Durability, Engine, Error, FullDisk, Isolation, Keyspace,
    LogMode, Options, Ticket, Transaction,
};
use lydite_database::kv::{Access, Direction, Each, KeyRange, KvTable, Pending, Store, StoreError, StoreTx};
use lydite_database::target_url::{OptionSpec, ParsedUrl, encoded};
use lydite_tpcc::schema::Table;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Options after `?`.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "placement",
        values: "all-memory, all-disk, optimize-payment, optimize-new-order, archive-only",
        default: "all-memory",
        about: "which tables live in the memory engine; the others live on disk",
    },
    table_option("item"),
    table_option("warehouse"),
    table_option("district"),
    table_option("customer"),
    table_option("history"),
    table_option("orders"),
    table_option("new_order"),
    table_option("order_line"),
    table_option("stock"),
    OptionSpec {
        name: "durability",
        values: "full, relaxed, relaxed:MS, none",
        default: "full",
        about: "when a commit is answered: on stable storage; at once with a sync every 50 or MS milliseconds; at once",
    },
    OptionSpec {
        name: "commit",
        values: "pipelined, wait",
        default: "pipelined",
        about: "whether a session takes the next terminal's transaction while a commit becomes durable",
    },
    OptionSpec {
        name: "gather",
        values: "MS, off",
        default: "1",
        about: "longest time in ms (1 to 1000) that the log waits for more pipelined commits, to write them together; \
                it waits no longer once a session has nothing else to do; off with any other durability or commit",
    },
    OptionSpec {
        name: "isolation",
        values: "snapshot, serializable, read-committed",
        default: "snapshot",
        about: "isolation of the transactions",
    },
    OptionSpec {
        name: "cache",
        values: "a size, such as 64MB",
        default: "256MB",
        about: "the disk engine's cache of blocks",
    },
    OptionSpec {
        name: "write_buffer",
        values: "a size",
        default: "a quarter of the cache, at least 64MB",
        about: "writes that the disk engine collects in memory before it writes a file; up to three times as many if the \
                files can't keep up",
    },
    OptionSpec {
        name: "compression",
        values: "off, lz4",
        default: "off",
        about: "the form of the blocks that the disk engine writes",
    },
    OptionSpec {
        name: "memory",
        values: "a size",
        default: "8GB",
        about: "memory limit of the memory engine",
    },
    OptionSpec {
        name: "checkpoint",
        values: "a size",
        default: "1GB",
        about: "bytes of log after which a checkpoint begins",
    },
    OptionSpec {
        name: "io_limit",
        values: "a size, off",
        default: "off",
        about: "bytes per second that flushes, merges and checkpoints may write together, at least 1MB; it \
                gives way when commits would have to wait",
    },
    OptionSpec {
        name: "log",
        values: "shared, per-engine",
        default: "shared",
        about: "one log, or one for each engine as Skeena has it",
    },
    OptionSpec {
        name: "csr",
        values: "on, off",
        default: "on",
        about: "the registry of cross-engine snapshots; off only for experiments",
    },
    OptionSpec {
        name: "commit_stamps",
        values: "latched, independent",
        default: "latched",
        about: "how commits over both engines get their timestamps",
    },
    OptionSpec {
        name: "csr_capacity",
        values: "1 to 1000000",
        default: "1000",
        about: "entries in a partition of the registry",
    },
    OptionSpec {
        name: "csr_recycle",
        values: "1 to 1000000",
        default: "1000",
        about: "accesses between two looks for partitions to drop",
    },
];

/// Options about TPC-C's tables.
pub(crate) const TPCC_OPTIONS: &[&str] = &[
    "placement",
    "item",
    "warehouse",
    "district",
    "customer",
    "history",
    "orders",
    "new_order",
    "order_line",
    "stock",
];

const fn table_option(name: &'static str) -> OptionSpec {
    OptionSpec {
        name,
        values: "memory, disk",
        default: "by the placement",
        about: "the home engine of this table",
    }
}

/// Table placements of Skeena's evaluation.
const PLACEMENTS: [&str; 5] =
    ["all-memory", "all-disk", "optimize-payment", "optimize-new-order", "archive-only"];

fn home_by_placement(placement: &str, table: Table) -> Engine {
    let memory = match placement {
        "all-disk" => false,
        "optimize-payment" => table == Table::Customer,
        "optimize-new-order" => matches!(table, Table::Customer | Table::Item),
        "archive-only" => table != Table::History,
        _ => true,
    };
    if memory { Engine::Memory } else { Engine::Disk }
}

/// A target `gemel:…`.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    path: PathBuf,
    placement: &'static str,
    homes: BTreeMap<&'static str, Engine>,
    isolation: Isolation,
    pipelined: bool,
    options: Options,
    /// All options with their values, for results.
    settings: BTreeMap<String, String>,
    /// Options that were given, as they stand in the URL.
    query: String,
    /// The database while it is open. A process opens it once, whatever tables it uses.
    opened: Arc<Mutex<Option<Database>>>,
    /// Temporary directory. It lives as long as any copy of the configuration and is deleted after the database is
    /// closed.
    temporary: Option<Arc<Temporary>>,
}

impl Config {
    /// Returns the database, and opens it first if necessary.
    fn database(&self) -> Result<Database, Error> {
        let mut opened = self.opened.lock();
        if let Some(database) = &*opened {
            return Ok(database.clone());
        }
        let database = Database::open(&self.path, self.options.clone())?;
        *opened = Some(database.clone());
        Ok(database)
    }
}

/// Contents of the URL, before a temporary directory is made.
#[derive(Clone, Debug)]
pub(crate) struct Parsed(Config);

fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "KB" | "K" | "KIB" => 1 << 10,
        "MB" | "M" | "MIB" => 1 << 20,
        "GB" | "G" | "GIB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// Returns a size as [`size`] reads it.
fn shown(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) { format!("{}MB", bytes >> 20) } else { bytes.to_string() }
}

fn durability(text: &str) -> Option<Durability> {
    Some(match text {
        "full" => Durability::Full,
        "none" => Durability::None,
        "relaxed" => Durability::Relaxed(Duration::from_millis(50)),
        _ => {
            let ms: u64 = text.strip_prefix("relaxed:")?.parse().ok()?;
            if !(1..=60_000).contains(&ms) {
                return None;
            }
            Durability::Relaxed(Duration::from_millis(ms))
        }
    })
}

/// Reads the URL.
pub(crate) fn parse(parsed: &ParsedUrl) -> Result<Parsed, Vec<String>> {
    let mut errors = Vec::new();
    // A run on a full disk should end: nobody would make space for it.
    let mut options = Options { full_disk: FullDisk::Fail, ..Options::default() };
    let placement = parsed.choice("placement", &PLACEMENTS, &mut errors);
    let mut homes = BTreeMap::new();
    for table in Table::ALL {
        let home = match parsed.options.get(table.name()) {
            None => home_by_placement(placement, table),
            Some(_) => match parsed.choice(table.name(), &["memory", "disk"], &mut errors) {
                "disk" => Engine::Disk,
                _ => Engine::Memory,
            },
        };
        homes.insert(table.name(), home);
    }
    if let Some(text) = parsed.options.get("durability") {
        match durability(text) {
            Some(durability) => options.durability = durability,
            None => errors.push(format!(
                "target option durability={text:?} is not known: use full, relaxed, relaxed:MS (1 to 60000) or none"
            )),
        }
    }
    let pipelined = parsed.choice("commit", &["pipelined", "wait"], &mut errors) == "pipelined";
    let can_gather = pipelined && options.durability == Durability::Full;
    options.gather = match parsed.options.get("gather").map(String::as_str) {
        None => can_gather.then_some(Duration::from_millis(1)),
        Some("off") => None,
        Some(text) => {
            let ms = text.parse().ok().filter(|ms| (1..=1_000).contains(ms));
            if ms.is_none() {
                errors.push(format!("target option gather={text:?} is not known: use 1 to 1000 (ms) or off"));
            } else if !can_gather {
                errors.push(
                    "target option gather needs durability=full and commit=pipelined: leave it out".into(),
                );
            }
            ms.map(Duration::from_millis)
        }
    };
    let isolation =
        match parsed.choice("isolation", &["snapshot", "serializable", "read-committed"], &mut errors) {
            "serializable" => Isolation::Serializable,
            "read-committed" => Isolation::ReadCommitted,
            _ => Isolation::Snapshot,
        };
    let mut bytes = |name: &str, least: u64, place: &mut u64| {
        let Some(text) = parsed.options.get(name) else { return };
        match size(text) {
            Some(size) if size >= least => *place = size,
            _ => errors.push(format!(
                "target option {name}={text:?} is not a size of at least {least} bytes: write for example {name}=256MB"
            )),
        }
    };
    bytes("cache", 1 << 20, &mut options.cache_bytes);
    options.write_buffer_bytes = options.write_buffer_bytes.max(options.cache_bytes / 4);
    bytes("write_buffer", 1 << 20, &mut options.write_buffer_bytes);
    bytes("memory", 16 << 20, &mut options.memory_limit_bytes);
    bytes("checkpoint", 1 << 20, &mut options.checkpoint_log_bytes);
    if parsed.options.get("io_limit").is_some_and(|text| text != "off") {
        let mut limit = 0;
        bytes("io_limit", 1 << 20, &mut limit);
        options.background_bytes_per_second = Some(limit);
    }
    options.compression = match parsed.choice("compression", &["off", "lz4"], &mut errors) {
        "lz4" => Compression::Lz4,
        _ => Compression::None,
    };
    for (name, value) in [("csr_capacity", 0), ("csr_recycle", 1)] {
        let Some(text) = parsed.options.get(name) else { continue };
        match text.parse::<u32>() {
            Ok(number @ 1..=1_000_000) if value == 0 => options.csr_capacity = number as usize,
            Ok(number @ 1..=1_000_000) => options.csr_recycle = u64::from(number),
            _ => errors.push(format!("target option {name} must be a whole number from 1 to 1000000")),
        }
    }
    options.log = match parsed.choice("log", &["shared", "per-engine"], &mut errors) {
        "per-engine" => LogMode::PerEngine,
        _ => LogMode::Shared,
    };
    options.csr = parsed.choice("csr", &["on", "off"], &mut errors) == "on";
    options.commit_stamps = match parsed.choice("commit_stamps", &["latched", "independent"], &mut errors) {
        "independent" => CommitStamps::Independent,
        _ => CommitStamps::Latched,
    };
    let path = parsed.path(OPTIONS).unwrap_or_else(|problem| {
        errors.push(problem);
        None
    });
    let settings = OPTIONS
        .iter()
        .filter(|option| option.name == "placement" || homes_option(option.name, placement, &homes))
        .map(|option| {
            let value = match homes.get(option.name) {
                Some(engine) => engine.name().to_string(),
                None if option.name == "gather" => {
                    options.gather.map_or("off".into(), |longest| longest.as_millis().to_string())
                }
                None => match parsed.options.get(option.name) {
                    Some(text) => text.clone(),
                    None if option.name == "write_buffer" => shown(options.write_buffer_bytes),
                    None => option.default.to_string(),
                },
            };
            (option.name.to_string(), value)
        })
        .collect();
    let given: Vec<String> = parsed.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let query = if given.is_empty() { String::new() } else { format!("?{}", given.join("&")) };
    if errors.is_empty() {
        Ok(Parsed(Config {
            path: path.unwrap_or_default(),
            temporary: None,
            placement,
            homes,
            isolation,
            pipelined,
            options,
            settings,
            query,
            opened: Arc::default(),
        }))
    } else {
        Err(errors)
    }
}

/// True if results report this option. A table's engine is left out if the placement implies it.
fn homes_option(name: &str, placement: &str, homes: &BTreeMap<&'static str, Engine>) -> bool {
    match Table::from_name(name) {
        Some(table) => homes.get(name) != Some(&home_by_placement(placement, table)),
        None => true,
    }
}

impl Parsed {
    /// Returns the directory, or `None` if it is temporary.
    pub(crate) fn path(&self) -> Option<&Path> {
        Some(self.0.path.as_path()).filter(|path| !path.as_os_str().is_empty())
    }

    /// Returns the configuration, with a new temporary directory if no path was given.
    pub(crate) fn config(&self) -> std::io::Result<Config> {
        // A new cell for the database: nobody has opened this one yet.
        let mut config = Config { opened: Arc::default(), ..self.0.clone() };
        if config.path.as_os_str().is_empty() {
            let directory = Temporary::new()?;
            config.path = directory.path().join("gemel");
            config.temporary = Some(Arc::new(directory));
        }
        Ok(config)
    }
}

/// An open database with a handle of each keyspace.
pub(crate) struct GemelStore {
    db: Database,
    keyspaces: Vec<Keyspace>,
    isolation: Isolation,
    pipelined: bool,
    /// Deleted after the database is closed.
    _temporary: Option<Arc<Temporary>>,
}

/// True if a keyspace belongs to TPC-C. Lydite's notes about TPC-C count.
fn is_tpcc(name: &str) -> bool {
    KvTable::ALL.into_iter().any(|table| table.name() == name)
}

fn home_of(config: &Config, table: KvTable) -> Engine {
    let of = |table: Table| config.homes.get(table.name()).copied().unwrap_or(Engine::Memory);
    match table {
        KvTable::CustomerByName => of(Table::Customer),
        KvTable::OrderByCustomer => of(Table::Orders),
        // Lydite's own notes are small. They go where most of the other rows are.
        KvTable::Meta => of(Table::Warehouse),
        _ => table.table().map_or(Engine::Memory, of),
    }
}

fn store_error(error: Error) -> StoreError {
    // The user of a URL knows the option by another name.
    let detail = error.to_string().replace("memory_limit_bytes", "the option memory=");
    match error {
        Error::Conflict { kind, .. } => StoreError::Retry {
            reason: match kind {
                Conflict::Write | Conflict::Locked | Conflict::Read => AbortReason::Serialization,
            },
            detail,
        },
        Error::Csr(_) => StoreError::Retry { reason: AbortReason::Csr, detail },
        Error::TooOld(_) | Error::Moved(_) => StoreError::Retry { reason: AbortReason::Other, detail },
        Error::Poisoned(_) => StoreError::Broken(detail),
        Error::Unknown(_) => StoreError::Unavailable { committed: Committed::Unknown, detail },
        _ => StoreError::Failed(detail),
    }
}

impl Store for GemelStore {
    type Config = Config;
    type Tx<'a> = GemelTx<'a>;
    type Pending = GemelCommit;

    fn place(config: &Config) -> String {
        format!("gemel {}", config.path.display())
    }

    fn describe(config: &Config) -> Result<Description, StoreError> {
        Ok(Description {
            kind: "gemel".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            url: match &config.temporary {
                Some(_) => format!("gemel:{} (temporary)", config.query),
                None => format!("gemel:{}{}", encoded(&config.path), config.query),
            },
            settings: config.settings.clone(),
            isolation: match config.isolation {
                Isolation::ReadCommitted => "read committed",
                Isolation::Snapshot => "snapshot",
                Isolation::Serializable => "serializable",
            }
            .into(),
            // With snapshots and first-committer-wins, the five transactions behave as in serial execution.
            isolation_is_level_3: config.isolation != Isolation::ReadCommitted && config.options.csr,
            embedded: true,
            durable: config.options.durability == Durability::Full,
            in_memory: in_memory(&config.path),
            unread: Vec::new(),
        })
    }

    fn is_there(config: &Config) -> bool {
        // Opening makes a database where there is none, and reports every other error.
        Database::is_in(&config.path).unwrap_or(true)
    }

    fn open(config: &Config) -> Result<Self, StoreError> {
        let db = config.database().map_err(store_error)?;
        let keyspaces = KvTable::ALL
            .into_iter()
            .map(|table| db.keyspace(table.name(), home_of(config, table)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| match error {
                Error::Usage(text) => StoreError::Failed(format!(
                    "{text}: the database was loaded with another placement than {} plus the URL's options of single \
                     tables, or a table was moved since: name that placement, and the engine of a table that was moved \
                     (such as history=disk), or load into another path",
                    config.placement
                )),
                other => store_error(other),
            })?;
        Ok(Self {
            db,
            keyspaces,
            isolation: config.isolation,
            pipelined: config.pipelined,
            _temporary: config.temporary.clone(),
        })
    }

    fn begin(&self, access: Access) -> Result<GemelTx<'_>, StoreError> {
        // A read-only transaction gets the same from a snapshot as from serializable, for less. A check needs a
        // snapshot at any isolation level of the workload.
        let isolation = if access == Access::Write { self.isolation } else { Isolation::Snapshot };
        let transaction = self.db.begin(isolation).map_err(store_error)?;
        Ok(GemelTx { store: self, transaction })
    }

    fn hurry(&self) {
        self.db.hurry();
    }

    fn settle(&self, stage: &(dyn Fn(&str) + Sync)) -> Result<(), StoreError> {
        stage("writing a checkpoint");
        self.db.checkpoint().map_err(store_error)
    }
}

/// See [`StoreTx`].
pub(crate) struct GemelTx<'a> {
    store: &'a GemelStore,
    transaction: Transaction,
}

impl StoreTx for GemelTx<'_> {
    type Pending = GemelCommit;

    fn read<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        let keyspace = &self.store.keyspaces[table.index()];
        self.transaction.read(keyspace, key, found).map_err(store_error)
    }

    fn read_each<K: AsRef<[u8]>>(
        &mut self,
        table: KvTable,
        keys: impl IntoIterator<Item = K>,
        found: impl FnMut(usize, &[u8]),
    ) -> Result<(), StoreError> {
        let keyspace = &self.store.keyspaces[table.index()];
        self.transaction.read_each(keyspace, keys, found).map_err(store_error)
    }

    fn modify<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        change: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> Result<Option<R>, StoreError> {
        let keyspace = &self.store.keyspaces[table.index()];
        let mut result = None;
        self.transaction.update(keyspace, key, |value| result = Some(change(value))).map_err(store_error)?;
        Ok(result)
    }

    fn modify_in_place<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        change: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        let keyspace = &self.store.keyspaces[table.index()];
        let mut result = None;
        let change = |value: &mut [u8]| result = Some(change(value));
        self.transaction.update_in_place(keyspace, key, change).map_err(store_error)?;
        Ok(result)
    }

    fn modify_each<K: AsRef<[u8]>>(
        &mut self,
        table: KvTable,
        keys: impl IntoIterator<Item = K>,
        change: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), StoreError> {
        let keyspace = &self.store.keyspaces[table.index()];
        self.transaction.update_each(keyspace, keys, change).map_err(store_error)
    }

    fn put(&mut self, table: KvTable, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let keyspace = &self.store.keyspaces[table.index()];
        self.transaction.put(keyspace, key, value).map_err(store_error)
    }

    fn delete(&mut self, table: KvTable, key: &[u8]) -> Result<(), StoreError> {
        let keyspace = &self.store.keyspaces[table.index()];
        self.transaction.delete(keyspace, key).map_err(store_error)
    }

    fn scan(
        &mut self,
        table: KvTable,
        range: KeyRange<'_>,
        direction: Direction,
        each: &mut Each<'_>,
    ) -> Result<(), StoreError> {
        let keyspace = &self.store.keyspaces[table.index()];
        let lower = if range.from.is_empty() { Bound::Unbounded } else { Bound::Included(range.from) };
        let upper = range.below.map_or(Bound::Unbounded, Bound::Excluded);
        let direction = match direction {
            Direction::Forward => ::gemel::Direction::Forward,
            Direction::Backward => ::gemel::Direction::Backward,
        };
        self.transaction.scan(keyspace, lower, upper, direction, each).map_err(store_error)
    }

    fn commit(self) -> Result<GemelCommit, StoreError> {
        let ticket = self.transaction.commit().map_err(store_error)?;
        Ok(GemelCommit { ticket, pipelined: self.store.pipelined })
    }
}

/// See [`Pending`].
pub(crate) struct GemelCommit {
    ticket: Ticket,
    pipelined: bool,
}

impl Pending for GemelCommit {
    fn is_pipelined(&self) -> bool {
        self.pipelined && !self.ticket.is_done()
    }

    fn wait(self) -> Result<(), StoreError> {
        self.ticket.wait().map_err(store_error)
    }

    fn on_done(self, done: impl FnOnce(Result<(), StoreError>) + Send + 'static) {
        self.ticket.on_done(|outcome| done(outcome.map_err(store_error)));
    }
}

#[cfg(test)]
mod tests;
