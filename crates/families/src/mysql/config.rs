//! Settings in a URL of MySQL's family, and the sources of the password.

use crate::family::Scheme;
use crate::net::tls_config::{Files, Tls};
use crate::net::url::{CONNECTION_LIFETIME, NODES, ServerUrl, connection_lifetime, nodes, servers, variable};
use crate::net::{Host, SslMode};
use crate::own_schema::OwnSchema;
use crate::per_transaction::{CONNECTION, life};
use crate::statement_limit::{STATEMENT_TIMEOUT, limit};
use lydite_database::patience::TIMEOUT;
use lydite_database::sql::batch;
use lydite_database::sql::isolation::Isolation;
use lydite_database::sql::shards::{self, Layout};
use lydite_database::target_url::{OptionSpec, ParsedUrl};
use lydite_database::{Life, TxMode};
use lydite_tpcc::schema::Table;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Most partitions of a table in MySQL and MariaDB.
const MAX_PARTITIONS: u32 = 8192;

/// Options after `?`.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "isolation",
        values: "repeatable-read, serializable, read-committed",
        default: "repeatable-read",
        about: "isolation level of every transaction; all levels lock rows before changing them",
    },
    OptionSpec {
        name: "foreign_keys",
        values: "on, off",
        default: "on; off with partitions or shards, and for engines other than InnoDB",
        about: "whether loading declares the foreign keys",
    },
    OptionSpec {
        name: "history_key",
        values: "on, off",
        default: "off; on if the server demands primary keys",
        about: "whether loading adds a primary key to HISTORY, which has none in TPC-C",
    },
    OptionSpec {
        name: "engine",
        values: "a storage engine",
        default: "the server's",
        about: "engine of the tables, such as innodb or rocksdb",
    },
    OptionSpec {
        name: "procedures",
        values: "arrays, rows",
        default: "arrays; rows on servers without JSON_TABLE and over shards",
        about: "New-Order in --tx procedures: each statement works on all lines, or line by line",
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
        name: "snapshot",
        values: "first-read, begin",
        default: "first-read",
        about: "when a read-only transaction takes its snapshot: begin takes those of all engines at once",
    },
    OptionSpec {
        name: "partitions",
        values: "1 to 8192",
        default: "none",
        about: "partitions of each table but ITEM, by hash of the warehouse",
    },
    OptionSpec {
        name: "shards",
        values: "HOST:PORT,HOST:PORT,… as the server of the URL reaches them",
        default: "none",
        about: "servers over which loading parts the warehouses, by MariaDB's engine Spider; same database and user",
    },
    shards::ITEMS,
    shards::COLOCATED,
    OptionSpec {
        name: "transactions",
        values: "pessimistic, optimistic",
        default: "the server's",
        about: "TiDB's mode of every transaction: locks from the beginning, or conflicts found at the commit",
    },
    batch::option("10000 on TiDB; else all rows of a warehouse in one"),
    NODES,
    CONNECTION_LIFETIME,
    CONNECTION,
    STATEMENT_TIMEOUT,
    OptionSpec {
        name: "sslmode",
        values: "prefer, disable, require, verify-ca, verify-full",
        default: "prefer",
        about: "TLS; only verify-ca and verify-full check the certificate",
    },
    OptionSpec {
        name: "ssl-mode",
        values: "PREFERRED, DISABLED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY",
        default: "PREFERRED",
        about: "the same, in the words of mysql's client",
    },
    OptionSpec {
        name: "ssl-ca",
        values: "a file (PEM)",
        default: "the system's CAs",
        about: "CAs that may have signed the server's certificate",
    },
    OptionSpec {
        name: "ssl-cert",
        values: "a file (PEM)",
        default: "none",
        about: "the client's certificate",
    },
    OptionSpec {
        name: "ssl-key",
        values: "a file (PEM)",
        default: "none",
        about: "key of the client's certificate, without a passphrase",
    },
    OptionSpec {
        name: "socket",
        values: "a path",
        default: "the URL's host",
        about: "the server's Unix socket",
    },
    TIMEOUT,
];

/// Options about TPC-C's tables.
pub(crate) const TPCC_OPTIONS: &[&str] = &[
    "foreign_keys",
    "history_key",
    "procedures",
    "partitions",
    "shards",
    "items",
    "colocated",
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

/// Returns true for an option that shapes Lydite's own tables. Each table has one for its storage engine.
pub(crate) fn shapes(option: &str) -> bool {
    const OTHERS: [&str; 7] =
        ["foreign_keys", "history_key", "engine", "partitions", "shards", "items", "colocated"];
    OTHERS.contains(&option) || Table::ALL.iter().any(|table| table.name() == option)
}

const fn table_option(name: &'static str) -> OptionSpec {
    OptionSpec {
        name,
        values: "a storage engine",
        default: "the value of engine",
        about: "the storage engine of this table",
    }
}

/// A target of MySQL's family. Its `Debug` shows no password.
#[derive(Clone)]
pub(crate) struct Config {
    /// Scheme of the URL. It names the expected server.
    pub(crate) scheme: String,
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) database: String,
    pub(crate) tls: Tls,
    pub(crate) isolation: Isolation,
    /// Configured use of foreign keys; `None` leaves it to the engine.
    pub(crate) foreign_keys: Option<bool>,
    /// Configured primary key of HISTORY; `None` leaves it to the server.
    pub(crate) history_key: Option<bool>,
    pub(crate) engine: Option<String>,
    /// Engines of single tables, by table name.
    pub(crate) engines: BTreeMap<&'static str, String>,
    /// True if a read-only transaction takes the snapshots of all engines when it begins.
    pub(crate) snapshot_at_begin: bool,
    pub(crate) partitions: Option<u32>,
    /// Servers over which the tables of the warehouses are split; none if one server has all rows.
    pub(crate) shards: Vec<(String, u16)>,
    /// Places of the tables when several nodes are loaded.
    pub(crate) layout: Layout,
    /// TiDB's transaction mode; `None` leaves it to the server.
    pub(crate) transactions: Option<&'static str>,
    /// True if New-Order's procedure works on all lines at once; `None` leaves it to the product.
    pub(crate) arrays: Option<bool>,
    /// Configured number of rows per transaction of a load; `None` leaves it to the product.
    pub(crate) batch: Option<u32>,
    /// More servers for sessions, beside the URL's.
    pub(crate) nodes: Vec<(String, u16)>,
    /// Life of the connections of measured sessions.
    pub(crate) life: Life,
    /// Longest time of a round trip of a measured session.
    pub(crate) statement_timeout: Option<Duration>,
    pub(crate) mode: TxMode,
    /// Files of the user's statements.
    pub(crate) scripts: Arc<OwnSchema>,
    /// The URL without the password.
    pub(crate) url: String,
    url_password: Option<String>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Reads the URL.
pub(crate) fn parse(parsed: &ParsedUrl, mode: TxMode) -> Result<Config, Vec<String>> {
    let mut errors = Vec::new();
    let scheme = parsed.whole.split_once(':').map_or("mysql", |(scheme, _)| scheme).to_string();
    let url = ServerUrl::parse(parsed, &scheme, "socket", &mut errors)?;
    let engine = engine(parsed, "engine", &mut errors);
    let engines = engines_of_tables(parsed, &mut errors);
    let partitions = parsed.number("partitions", 1..=MAX_PARTITIONS, &mut errors);
    let shards = servers(parsed, "shards", &mut errors);
    // OceanBase places partitions by itself, but is told which ones belong together.
    let told = scheme == "oceanbase" && partitions.is_some();
    let layout = Layout::of(parsed, !shards.is_empty() || told, &mut errors);
    let database = url.database.unwrap_or_else(|| {
        errors.push(format!("target URL names no database: write {scheme}://HOST/DATABASE"));
        String::new()
    });
    let host = host(parsed, url.host, &mut errors);
    let port = url.port.unwrap_or(default_port(&scheme));
    let config = Config {
        nodes: nodes(parsed, (&host, &url.more), (port, default_port(&scheme)), &mut errors),
        life: life(parsed, connection_lifetime(parsed, &mut errors), &mut errors),
        statement_timeout: limit(parsed, &mut errors),
        host,
        port,
        user: url.user.or_else(|| variable(&["USER"])).unwrap_or_else(|| "root".into()),
        database,
        tls: tls(parsed, &mut errors),
        isolation: if lacks_serializable(&scheme, engine.iter().chain(engines.values())) {
            Isolation::without_serializable(parsed, &mut errors)
        } else {
            Isolation::of(parsed, &mut errors)
        },
        foreign_keys: given(parsed, "foreign_keys", &["on", "off"], &mut errors).map(|given| given == "on"),
        history_key: given(parsed, "history_key", &["on", "off"], &mut errors).map(|given| given == "on"),
        engine,
        engines,
        snapshot_at_begin: parsed.choice("snapshot", &["first-read", "begin"], &mut errors) == "begin",
        partitions,
        shards,
        layout,
        transactions: given(parsed, "transactions", &["pessimistic", "optimistic"], &mut errors),
        arrays: given(parsed, "procedures", &["arrays", "rows"], &mut errors).map(|given| given == "arrays"),
        batch: batch::of(parsed, &mut errors),
        mode,
        scripts: Arc::default(),
        url: url.shown,
        url_password: url.password,
        scheme,
    };
    check_transactions(&config, &mut errors);
    check_shards(&config, parsed, &mut errors);
    if errors.is_empty() { Ok(config) } else { Err(errors) }
}

/// Reads the options about TLS.
fn tls(parsed: &ParsedUrl, errors: &mut Vec<String>) -> Tls {
    let (ours, theirs) = (parsed.options.get("sslmode"), parsed.options.get("ssl-mode"));
    if ours.is_some() && theirs.is_some() {
        errors.push("target options sslmode and ssl-mode are the same: leave one out".into());
    }
    // The client of mysql reads them in any case.
    let mut given = parsed.clone();
    given.options.entry("ssl-mode".into()).and_modify(|mode| mode.make_ascii_uppercase());
    let modes = ["prefer", "disable", "require", "verify-ca", "verify-full"];
    let client_modes = ["PREFERRED", "DISABLED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"];
    let (chosen, values) = match theirs {
        Some(_) => (given.choice("ssl-mode", &client_modes, errors), client_modes),
        None => (given.choice("sslmode", &modes, errors), modes),
    };
    let mode = match values.iter().position(|value| *value == chosen) {
        Some(1) => SslMode::Disable,
        Some(2) => SslMode::Require,
        Some(3) => SslMode::VerifyCa,
        Some(4) => SslMode::VerifyFull,
        _ => SslMode::Prefer,
    };
    let file = |option: &str| {
        let path = parsed.options.get(option)?;
        Some((format!("target option {option}"), path.clone()))
    };
    if matches!(mode, SslMode::Disable | SslMode::Prefer) && file("ssl-ca").is_some() {
        errors.push("target option ssl-ca needs ssl-mode=VERIFY_IDENTITY or VERIFY_CA: add one".into());
    }
    let files = Files { root: file("ssl-ca"), certificate: file("ssl-cert"), key: file("ssl-key") };
    Tls::read(mode, files, errors)
}

/// Returns the choice that an option makes; `None` if the URL does not have the option.
fn given(
    parsed: &ParsedUrl,
    option: &str,
    choices: &[&'static str],
    errors: &mut Vec<String>,
) -> Option<&'static str> {
    parsed.options.contains_key(option).then(|| parsed.choice(option, choices, errors))
}

/// Reads an option that names a storage engine. The name becomes part of a statement.
fn engine(parsed: &ParsedUrl, option: &str, errors: &mut Vec<String>) -> Option<String> {
    let name = parsed.options.get(option)?;
    if !is_name(name) {
        errors.push(format!(
            "target option {option}={name:?} is not the name of an engine: use for example innodb"
        ));
    }
    Some(name.clone())
}

/// Reads the options that name engines of single tables.
fn engines_of_tables(parsed: &ParsedUrl, errors: &mut Vec<String>) -> BTreeMap<&'static str, String> {
    let names = Table::ALL.into_iter().map(Table::name);
    names.filter_map(|name| Some((name, engine(parsed, name, errors)?))).collect()
}

/// Returns the host of the URL, or the socket that the option names.
fn host(parsed: &ParsedUrl, host: Option<String>, errors: &mut Vec<String>) -> Host {
    match (parsed.options.get("socket"), host) {
        (Some(_), Some(name)) if name != "localhost" => {
            errors.push("target URL names a server twice: its host and ?socket=".into());
            Host::Tcp(name)
        }
        (Some(path), _) if path.starts_with('/') => Host::Unix(path.clone()),
        (Some(path), _) => {
            errors.push(format!("target option socket={path:?} is not a path: start it with /"));
            Host::Tcp(String::new())
        }
        (None, name) => Host::Tcp(name.unwrap_or_else(|| "localhost".into())),
    }
}

/// The schemes of URLs, each with the port of servers if the URL has none.
pub(super) const SCHEMES: &[Scheme] = &[
    Scheme::of_servers("mysql", PORT),
    Scheme::of_servers("mariadb", PORT),
    Scheme::of_servers("tidb", 4000),
    Scheme::of_servers("oceanbase", 2881),
    Scheme::of_servers("polardb", PORT),
];

/// Port of MySQL's servers.
const PORT: u16 = 3306;

/// Returns the port of servers if the URL has none.
fn default_port(scheme: &str) -> u16 {
    SCHEMES.iter().find(|known| known.name == scheme).and_then(|known| known.port).unwrap_or(PORT)
}

/// Checks that the options about transactions go together, and that the server that the scheme names has them.
fn check_transactions(config: &Config, errors: &mut Vec<String>) {
    let Config { scheme, engine, engines, isolation, .. } = config;
    if config.transactions.is_some() && !matches!(scheme.as_str(), "mysql" | "tidb") {
        errors.push(format!("target option transactions: {scheme}: only TiDB has these modes: leave it out"));
    }
    if config.snapshot_at_begin && *isolation != Isolation::RepeatableRead {
        errors.push(
            "target option snapshot=begin needs isolation=repeatable-read: leave one of the two out".into(),
        );
    }
    if *isolation == Isolation::Serializable
        && lacks_serializable(scheme, engine.iter().chain(engines.values()))
    {
        let problem = if scheme == "tidb" { TIDB_NO_SERIALIZABLE } else { NO_SERIALIZABLE };
        errors.push(problem.into());
    }
    if config.mode == TxMode::Procedures && scheme == "tidb" {
        errors.push("--tx procedures: TiDB has no stored procedures: use --tx statements or batched".into());
    }
}

/// True if no transaction can be serializable: in TiDB, and with a table in MyRocks.
fn lacks_serializable<'a>(scheme: &str, mut engines: impl Iterator<Item = &'a String>) -> bool {
    scheme == "tidb" || engines.any(|name| is_rocksdb(name))
}

/// Checks that the other options are possible with shards.
fn check_shards(config: &Config, parsed: &ParsedUrl, errors: &mut Vec<String>) {
    if !config.layout.colocated() && config.shards.len() == 1 {
        errors.push(
            "target option colocated=off needs two shards at least: name another one, or leave it out".into(),
        );
    }
    if config.shards.is_empty() {
        return;
    }
    let mut impossible = |option: &str, why: &str| {
        errors.push(format!("target option {option} is not possible with shards: {why}"));
    };
    for (option, why) in [
        ("partitions", "the tables are partitioned by shard; leave it out"),
        ("socket", "shards are reached by host and port only; leave it out"),
    ] {
        if parsed.options.contains_key(option) {
            impossible(option, why);
        }
    }
    if !config.nodes.is_empty() {
        impossible("nodes", "one server asks the shards; leave the others out");
    }
    if let Some((table, _)) = config.engines.first_key_value() {
        impossible(table, "all tables are in one engine there; use engine");
    }
    if config.snapshot_at_begin {
        impossible("snapshot=begin", "they take their snapshots one by one; leave it out");
    }
    if config.foreign_keys == Some(true) {
        impossible("foreign_keys=on", "rows refer to rows of other servers; leave it out");
    }
    if matches!(config.scheme.as_str(), "tidb" | "oceanbase" | "polardb") {
        errors.push(format!(
            "target option shards: {}: has no engine Spider, which is MariaDB's",
            config.scheme
        ));
    }
}

/// Error of a level that TiDB rejects.
const TIDB_NO_SERIALIZABLE: &str = "target option isolation=serializable: TiDB has no level serializable: use repeatable-read or read-committed";

/// Reason why MyRocks does not support the highest isolation level.
pub(crate) const NO_SERIALIZABLE: &str = "target option isolation=serializable: MyRocks has no level serializable: use repeatable-read or read-committed";

/// True if the engine is MyRocks.
pub(crate) fn is_rocksdb(engine: &str) -> bool {
    engine.eq_ignore_ascii_case("rocksdb")
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl Config {
    /// Returns the configuration of the same database on another server.
    fn on(&self, (host, port): &(String, u16)) -> Self {
        let server = Host::Tcp(host.clone());
        Self {
            url: format!("{}://{}@{}/{}", self.scheme, self.user, server.with_port(*port), self.database),
            host: server,
            port: *port,
            shards: Vec::new(),
            layout: Layout::default(),
            nodes: Vec::new(),
            ..self.clone()
        }
    }

    /// Returns the engine of a table if the URL names one.
    pub(crate) fn engine_of(&self, table: Table) -> Option<&str> {
        self.engines.get(table.name()).or(self.engine.as_ref()).map(String::as_str)
    }

    /// Returns the configuration of the same database on each shard.
    pub(crate) fn of_shards(&self) -> Vec<Self> {
        self.shards.iter().map(|shard| self.on(shard)).collect()
    }

    /// Returns the configuration of the URL's first server alone.
    pub(crate) fn alone(&self) -> Self {
        Self { nodes: Vec::new(), ..self.clone() }
    }

    /// Returns the configuration of the same database on each server that sessions connect to, the URL's first.
    pub(crate) fn of_nodes(&self) -> Vec<Self> {
        std::iter::once(self.clone()).chain(self.nodes.iter().map(|node| self.on(node))).collect()
    }

    /// Returns host and port, or the path of the socket.
    pub(crate) fn address(&self) -> String {
        self.host.with_port(self.port)
    }

    /// Returns host, port and database, for messages.
    pub(crate) fn place(&self) -> String {
        let Self { scheme, database, .. } = self;
        match &self.host {
            Host::Tcp(_) => format!("{scheme} at {}, database {database:?}", self.address()),
            Host::Unix(path) => format!("{scheme} in {path}, database {database:?}"),
        }
    }

    /// Returns the password from the URL, `LYDITE_PASSWORD`, `MYSQL_PWD` or the option file; `None` if none of them has
    /// one.
    pub(crate) fn password(&self) -> Option<String> {
        self.url_password.clone().or_else(|| variable(&["LYDITE_PASSWORD", "MYSQL_PWD"])).or_else(|| {
            let path = PathBuf::from(std::env::var_os("HOME")?).join(".my.cnf");
            password_of_client(&std::fs::read_to_string(path).ok()?, &self.user)
        })
    }
}

/// Returns the password of this user in the group `[client]` of an option file.
fn password_of_client(text: &str, user: &str) -> Option<String> {
    let mut in_client = false;
    let (mut file_user, mut password) = (None, None);
    for line in text.lines().map(str::trim) {
        if let Some(group) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            in_client = group == "client";
        } else if in_client
            && !line.starts_with(['#', ';'])
            && let Some((name, value)) = line.split_once('=')
        {
            let value = value.trim();
            let quoted =
                ['"', '\''].into_iter().find_map(|mark| value.strip_prefix(mark)?.strip_suffix(mark));
            let value = quoted.unwrap_or(value).to_string();
            match name.trim() {
                "user" => file_user = Some(value),
                "password" => password = Some(value),
                _ => {}
            }
        }
    }
    password.filter(|_| file_user.is_none_or(|name| name == user))
}

#[cfg(test)]
mod tests {
    use super::password_of_client;
    use crate::registry::TargetSpec;
    use lydite_database::TxMode;

    fn errors(url: &str, mode: TxMode) -> Vec<String> {
        TargetSpec::parse(url, mode).map(|_| ()).expect_err("a bad URL")
    }

    #[test]
    fn the_password_is_never_shown() {
        let Ok(spec) = TargetSpec::parse("mysql://me:s3cret@db.example:3307/tpcc", TxMode::Statements) else {
            panic!("a good URL was refused");
        };
        let shown = format!("{spec:?}");
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(shown.contains("mysql://me@db.example:3307/tpcc"), "{shown}");
    }

    #[test]
    fn all_errors_of_a_url_are_told_at_once() {
        let url = "mysql://h?isolation=none&partitions=0&engine=a-b&socket=x&colour=red";
        let errors = errors(url, TxMode::Statements);
        assert_eq!(errors.len(), 6, "{errors:?}");
    }

    #[test]
    fn what_shards_and_myrocks_do_not_have_is_refused() {
        let url = "mariadb://h/tpcc?shards=a:1,b,a:1&partitions=2&foreign_keys=on&nodes=c:2";
        let errors_of_shards = errors(url, TxMode::Statements);
        assert_eq!(errors_of_shards.len(), 5, "{errors_of_shards:?}");
        let tidb = errors("tidb://h/tpcc?isolation=serializable", TxMode::Statements);
        assert!(tidb[0].contains("TiDB has no level serializable"), "{tidb:?}");
        for url in ["tidb://h/tpcc?isolation=none", "mysql://h/tpcc?engine=RocksDB&isolation=none"] {
            let unknown = errors(url, TxMode::Statements);
            assert!(unknown[0].ends_with("use repeatable-read, read-committed"), "{unknown:?}");
        }
        let serializable = errors("mysql://h/tpcc?engine=RocksDB&isolation=serializable", TxMode::Statements);
        assert!(serializable[0].contains("MyRocks has no level serializable"), "{serializable:?}");
        let of_tidb = errors("tidb://h/tpcc?shards=a:1", TxMode::Statements);
        assert!(of_tidb[0].contains("has no engine Spider"), "{of_tidb:?}");
    }

    #[test]
    fn tidb_has_no_procedures() {
        let errors = errors("tidb://h/tpcc", TxMode::Procedures);
        assert!(errors[0].contains("TiDB has no stored procedures"), "{errors:?}");
    }

    #[test]
    fn transactions_have_two_modes_on_tidb_and_batches_have_bounds_everywhere() {
        for url in ["mariadb://h/tpcc", "oceanbase://h/tpcc", "polardb://h/tpcc"] {
            let errors = errors(&format!("{url}?transactions=optimistic"), TxMode::Statements);
            assert!(errors[0].contains("only TiDB has these modes"), "{errors:?}");
        }
        let url = "tidb://h/tpcc?transactions=hopeful&batch=99";
        let wrong = errors(url, TxMode::Statements);
        assert!(wrong.iter().any(|error| error.contains("use pessimistic, optimistic")), "{wrong:?}");
        assert!(wrong.iter().any(|error| error.contains("from 100 to 1000000")), "{wrong:?}");
        for url in
            ["tidb://h/tpcc?transactions=optimistic&batch=100", "mysql://h/tpcc?transactions=pessimistic"]
        {
            assert!(TargetSpec::parse(url, TxMode::Statements).is_ok(), "{url}");
        }
    }

    #[test]
    fn the_file_of_options_gives_a_password_to_its_user_only() {
        let file = "[mysqld]\npassword=no\n[client]\n# password=old\nuser = me\npassword = \"a=b c\"\n";
        assert_eq!(password_of_client(file, "me").as_deref(), Some("a=b c"));
        assert_eq!(password_of_client(file, "other"), None);
        assert_eq!(password_of_client("[client]\npassword='x'", "any").as_deref(), Some("x"));
    }
}
