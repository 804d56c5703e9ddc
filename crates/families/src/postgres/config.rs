//! Settings in a URL of a server with PostgreSQL's protocol, and the sources of the password.

use crate::net::Host;
use crate::net::url::{
    CONNECTION_LIFETIME, IS_CONNECTION_STRING, NODES, ServerUrl, connection_lifetime, nodes, servers,
    variable,
};
use crate::own_schema::OwnSchema;
use crate::per_transaction::{CONNECTION, life};
use crate::postgres::archive::{self, ARCHIVE, is_zone};
use crate::postgres::libpq::{self, Connection, setting};
use crate::postgres::product::Product;
use crate::postgres::unprepared;
use crate::statement_limit::{STATEMENT_TIMEOUT, limit};
use lydite_database::patience::TIMEOUT;
use lydite_database::secret;
use lydite_database::sql::batch;
use lydite_database::sql::isolation::Isolation;
use lydite_database::sql::shards::{self, Layout};
use lydite_database::target_url::{OptionSpec, ParsedUrl};
use lydite_database::{Life, TxMode};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const FOREIGN_KEYS: OptionSpec = OptionSpec {
    name: "foreign_keys",
    values: "on, off",
    default: "on",
    about: "whether loading declares the foreign keys",
};
const HISTORY_KEY: OptionSpec = OptionSpec {
    name: "history_key",
    values: "off, on",
    default: "off",
    about: "whether loading adds a primary key to HISTORY, which has none in TPC-C; logical replication wants one",
};
const SCHEMA: OptionSpec = OptionSpec {
    name: "schema",
    values: "a name",
    default: "the server's search_path",
    about: "schema that holds the tables",
};
const HOST: OptionSpec = OptionSpec {
    name: "host",
    values: "a directory",
    default: "the URL's host",
    about: "directory of the server's Unix socket, as in libpq",
};
const PORT: OptionSpec = OptionSpec {
    name: "port",
    values: "1 to 65535",
    default: "the URL's port",
    about: "number in the name of the server's Unix socket",
};
const ISOLATION: OptionSpec = OptionSpec {
    name: "isolation",
    values: "repeatable-read, serializable, read-committed",
    default: "repeatable-read",
    about: "isolation level of every transaction; snapshots make TPC-C's five serializable",
};

/// Most partitions of a table. One transaction creates or drops all of them, and the server's default settings have
/// room for the locks of so many.
const MOST_PARTITIONS: u32 = 128;

/// The option.
pub(super) const PARTITIONS: OptionSpec = OptionSpec {
    name: "partitions",
    values: "1 to 128",
    default: "none",
    about: "partitions of each table but ITEM, by hash of the warehouse",
};

/// Makes a list of options with those that all products have.
macro_rules! options {
    ($($own:expr),+ $(,)?) => {
        &[
            $($own,)+
            NODES,
            CONNECTION_LIFETIME,
            CONNECTION,
            STATEMENT_TIMEOUT,
            libpq::SSLMODE,
            libpq::SSLROOTCERT,
            libpq::SSLCERT,
            libpq::SSLKEY,
            libpq::CHANNEL_BINDING,
            libpq::APPLICATION_NAME,
            libpq::CONNECT_TIMEOUT_S,
            libpq::SERVER_OPTIONS,
            libpq::PASSFILE,
            HOST,
            PORT,
            TIMEOUT,
        ]
    };
}

/// Options after `?` of `postgres://`.
pub(crate) const OPTIONS: &[OptionSpec] = options![
    ISOLATION,
    FOREIGN_KEYS,
    HISTORY_KEY,
    SCHEMA,
    OptionSpec {
        name: "shards",
        values: "HOST:PORT,HOST:PORT,… as the server of the URL reaches them",
        default: "none",
        about: "servers over which loading parts the warehouses, by postgres_fdw; same database, user and schema",
    },
    PARTITIONS,
    shards::ITEMS,
    shards::COLOCATED,
    batch::option("all rows of a warehouse in one"),
    unprepared::STATEMENTS,
];

/// Options of `cockroach://`.
pub(crate) const COCKROACH_OPTIONS: &[OptionSpec] = options![
    OptionSpec {
        name: "isolation",
        values: "serializable, read-committed",
        default: "serializable",
        about: "isolation level of every transaction",
    },
    FOREIGN_KEYS,
    SCHEMA,
    batch::option("10000"),
    OptionSpec {
        name: "split",
        values: "1 to 1000000",
        default: "the server's own splits",
        about: "warehouses in a range: loading splits the tables there before it fills them, and scatters the ranges",
    },
    OptionSpec {
        name: "zones",
        values: "ZONE,ZONE,…",
        default: "none",
        about: "loading parts the tables by warehouse into as many partitions, and keeps each in a zone of the nodes' locality",
    },
    OptionSpec {
        name: "zone_strategy",
        values: "replication, leases",
        default: "replication",
        about: "replicas that are kept in the zone: all, or the leaseholder",
    },
    ARCHIVE,
    OptionSpec {
        name: "follower_reads",
        values: "off, on",
        default: "off",
        about: "read-only transactions read the closest replica, as of some seconds ago",
    },
];

/// Options of `yugabyte://`.
pub(crate) const YUGABYTE_OPTIONS: &[OptionSpec] =
    options![ISOLATION, FOREIGN_KEYS, HISTORY_KEY, SCHEMA, batch::option("10000")];

/// Options of `citus://`.
pub(crate) const CITUS_OPTIONS: &[OptionSpec] = options![
    ISOLATION,
    HISTORY_KEY,
    SCHEMA,
    shards::ITEMS,
    shards::COLOCATED,
    batch::option("all rows of a warehouse in one"),
];

/// Returns true for an option that shapes Lydite's own tables.
pub(crate) fn shapes(option: &str) -> bool {
    [
        "foreign_keys",
        "history_key",
        "partitions",
        "shards",
        "items",
        "colocated",
        "split",
        "zones",
        "zone_strategy",
        "archive",
    ]
    .contains(&option)
}

/// Largest value of `split`.
const MOST_SPLIT: u32 = 1_000_000;

/// A target `postgres://…`. Its `Debug` shows no password.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) database: String,
    /// Settings that libpq has too.
    pub(crate) connection: Connection,
    pub(crate) isolation: Isolation,
    pub(crate) foreign_keys: bool,
    /// True if a load adds a primary key to HISTORY.
    pub(crate) history_key: bool,
    pub(crate) schema: Option<String>,
    /// Servers over which the tables of the warehouses are split; none if one server has all rows.
    pub(crate) shards: Vec<(String, u16)>,
    /// Partitions of each table by hash of the warehouse; `None` for tables without.
    pub(crate) partitions: Option<u32>,
    /// Places of the tables when several nodes are loaded.
    pub(crate) layout: Layout,
    /// Product with the protocol.
    pub(crate) product: &'static Product,
    /// Rows per COPY, each in a transaction of its own; `None` for all rows of a warehouse.
    pub(crate) batch: Option<u32>,
    /// Warehouses per range (CockroachDB).
    pub(crate) split: Option<u32>,
    /// Zones, each of which keeps a partition of the warehouses (CockroachDB).
    pub(crate) zones: Vec<String>,
    /// True if zones keep only leaseholders.
    pub(crate) zone_leases: bool,
    /// Zone that keeps old orders (CockroachDB).
    pub(crate) archive: Option<String>,
    /// True if read-only transactions read an earlier state from any replica (CockroachDB).
    pub(crate) follower_reads: bool,
    /// More servers of the same database for sessions, beside the URL's.
    pub(crate) nodes: Vec<(String, u16)>,
    /// Life of the connections of measured sessions.
    pub(crate) life: Life,
    /// True if no session of the server is relied on.
    pub(crate) unprepared: bool,
    /// Longest time of a round trip of a measured session.
    pub(crate) statement_timeout: Option<Duration>,
    pub(crate) mode: TxMode,
    /// Files of the user's statements.
    pub(crate) scripts: Arc<OwnSchema>,
    /// The URL without the password.
    pub(crate) url: String,
    url_password: Option<String>,
    /// File of passwords; `None` for that of the environment.
    passfile: Option<String>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Reads the URL.
pub(crate) fn parse(
    parsed: &ParsedUrl,
    mode: TxMode,
    product: &'static Product,
) -> Result<Config, Vec<String>> {
    let mut errors = Vec::new();
    let mut url = ServerUrl::parse(parsed, product.schemes[0], "host", &mut errors)?;
    from_environment(&mut url, parsed, &mut errors);
    let usual_port = usual_port(&url, variable(&["PGPORT"]), product, &mut errors);
    let shards = servers(parsed, "shards", &mut errors);
    let foreign_keys = if parsed.options.contains_key("foreign_keys") {
        parsed.choice("foreign_keys", &["on", "off"], &mut errors) == "on"
    } else {
        product.foreign_keys && shards.is_empty()
    };
    let variables: &[&str] = if product.heap { &["PGUSER", "USER"] } else { &["PGUSER"] };
    let user = url.user.or_else(|| variable(variables)).unwrap_or_else(|| product.user.into());
    let host = host(parsed, url.host, &mut errors);
    let of_socket = port(parsed, &mut errors);
    let port = of_socket.or(url.port).unwrap_or(usual_port);
    let config = Config {
        nodes: nodes(parsed, (&host, &url.more), (port, usual_port), &mut errors),
        life: life(parsed, connection_lifetime(parsed, &mut errors), &mut errors),
        statement_timeout: limit(parsed, &mut errors),
        unprepared: parsed.choice(unprepared::STATEMENTS.name, &unprepared::VALUES, &mut errors)
            == unprepared::UNPREPARED,
        host,
        port,
        database: url.database.unwrap_or_else(|| user.clone()),
        user,
        connection: Connection::read(parsed, &mut errors),
        isolation: if shards.is_empty() {
            Isolation::among(product.isolation, parsed, &mut errors)
        } else {
            Isolation::without_serializable(parsed, &mut errors)
        },
        foreign_keys,
        history_key: parsed.choice("history_key", &["off", "on"], &mut errors) == "on",
        schema: schema(parsed, &mut errors),
        layout: Layout::of(parsed, !shards.is_empty() || product.distributes, &mut errors),
        partitions: parsed.number(PARTITIONS.name, 1..=MOST_PARTITIONS, &mut errors),
        shards,
        product,
        batch: batch::of(parsed, &mut errors).or(product.batch),
        split: parsed.number("split", 1..=MOST_SPLIT, &mut errors),
        zones: zones(parsed, &mut errors),
        archive: archive::read(parsed, &mut errors),
        follower_reads: parsed.choice("follower_reads", &["off", "on"], &mut errors) == "on",
        zone_leases: parsed.choice("zone_strategy", &["replication", "leases"], &mut errors) == "leases",
        mode,
        scripts: Arc::default(),
        url: url.shown,
        url_password: url.password,
        passfile: parsed.options.get(libpq::PASSFILE.name).cloned(),
    };
    if config.zone_leases && config.zones.is_empty() {
        errors.push("target option zone_strategy needs zones: add zones=ZONE,ZONE,…".into());
    }
    check_shards(&config, &mut errors);
    errors.extend(config.connection.options.as_deref().and_then(overridden));
    if config.unprepared {
        unprepared::check(config.connection.options.is_some(), !config.shards.is_empty(), &mut errors);
    }
    if errors.is_empty() { Ok(config) } else { Err(errors) }
}

/// Returns the error of start-up options whose settings Lydite replaces on each connection, which would change the load.
fn overridden(options: &str) -> Option<String> {
    let lower = options.to_ascii_lowercase();
    let value = |name: &str| {
        let (_, rest) = lower.split_once(name)?;
        Some(rest.trim_start_matches([' ', '=', '\'', '"']))
    };
    if value("transaction_isolation").is_some() {
        return Some(
            "target option options (or PGOPTIONS) sets the isolation: write isolation=LEVEL behind the URL"
                .into(),
        );
    }
    let is_off = |value: &str| ["off", "false", "no", "0"].iter().any(|word| value.starts_with(word));
    value("transaction_read_only").filter(|value| !is_off(value)).map(|_| {
        "target option options (or PGOPTIONS) makes transactions read only, but they write: leave it out"
            .into()
    })
}

/// Completes the parts that the URL leaves out by libpq's environment variables.
fn from_environment(url: &mut ServerUrl, parsed: &ParsedUrl, errors: &mut Vec<String>) {
    if url.host.is_none()
        && let Some((_, hosts)) = setting(parsed, "host", "PGHOST").filter(|(place, _)| place == "PGHOST")
    {
        if hosts.split(',').any(str::is_empty) {
            errors.push(
                "PGHOST has an empty host beside a comma: name a host there, or leave out the comma".into(),
            );
        }
        let mut hosts = hosts.split(',').map(str::to_owned);
        url.host = hosts.next();
        url.more.extend(hosts.map(|host| (host, None)));
    }
    let of_environment = || variable(&["PGDATABASE"]);
    if url.database.is_none() && of_environment().is_some_and(|name| secret::is_connection_string(&name)) {
        errors.push(format!("PGDATABASE: {IS_CONNECTION_STRING}"));
    }
    url.database = url.database.take().or_else(of_environment);
}

/// Returns the port of the hosts that have none in the URL: that of `PGPORT`, else the product's.
fn usual_port(url: &ServerUrl, pgport: Option<String>, product: &Product, errors: &mut Vec<String>) -> u16 {
    let all_have_one = url.port.is_some() && url.more.iter().all(|(_, port)| port.is_some());
    let Some(text) = pgport.filter(|_| !all_have_one) else { return product.port };
    text.parse().ok().filter(|&port| port > 0).unwrap_or_else(|| {
        errors.push(format!("PGPORT={text:?} is not a port: set it to a number from 1 to 65535"));
        product.port
    })
}

/// Returns the host of the URL, or the directory of the socket that the option names.
fn host(parsed: &ParsedUrl, host: Option<String>, errors: &mut Vec<String>) -> Host {
    match (parsed.options.get("host"), host) {
        (Some(directory), None) if directory.starts_with('/') => Host::Unix(directory.clone()),
        (Some(_), Some(name)) => {
            errors.push("target URL names a host twice: before the path and in ?host=".into());
            Host::Tcp(name)
        }
        (Some(directory), None) => {
            errors.push(format!("target option host={directory:?} is not a directory: start it with /"));
            Host::Tcp(String::new())
        }
        // Only PGHOST can name a directory here.
        (None, Some(name)) if name.starts_with('/') => Host::Unix(name),
        (None, Some(name)) => Host::Tcp(name),
        (None, None) => Host::Tcp("localhost".to_string()),
    }
}

/// Reads the option `port`.
fn port(parsed: &ParsedUrl, errors: &mut Vec<String>) -> Option<u16> {
    let port = parsed.number(PORT.name, 1..=u32::from(u16::MAX), errors)?;
    u16::try_from(port).ok()
}

/// Reads the option `schema`.
fn schema(parsed: &ParsedUrl, errors: &mut Vec<String>) -> Option<String> {
    let schema = parsed.options.get("schema").cloned();
    if schema.as_ref().is_some_and(String::is_empty) {
        errors.push("target option schema is empty: name a schema, or leave it out".into());
    }
    schema
}

/// Checks that the other options are possible with shards.
fn check_shards(config: &Config, errors: &mut Vec<String>) {
    if !config.layout.colocated() && config.shards.len() == 1 {
        errors.push(
            "target option colocated=off needs two shards at least: name another one, or leave it out".into(),
        );
    }
    if config.shards.is_empty() {
        return;
    }
    if !config.nodes.is_empty() {
        errors.push(
            "target option nodes is not possible with shards: one server asks the shards; leave the others out"
                .into(),
        );
    }
    if config.partitions.is_some() {
        errors.push(
            "target option partitions is not possible with shards: the tables are partitioned by shard; leave it out".into(),
        );
    }
    if config.mode != TxMode::Statements {
        errors.push(format!("--tx {} {ONLY_STATEMENTS}", config.mode));
    }
    if config.isolation == Isolation::Serializable {
        errors.push(format!("target option isolation=serializable {NOT_SERIALIZABLE}"));
    }
    if config.foreign_keys {
        errors.push(
            "target option foreign_keys=on is not possible with shards=: rows refer to rows of other servers; leave it out"
                .into(),
        );
    }
}

/// Checks that a server could be a replica of another one, as far as their URLs say.
pub(crate) fn can_follow(own: &Config, primary: &Config) -> Result<(), String> {
    if own.product.name != primary.product.name {
        return Err(format!(
            "is {}, and the target is {}: write their URLs with the same scheme",
            own.product.name, primary.product.name
        ));
    }
    if !own.shards.is_empty() || !primary.shards.is_empty() {
        return Err(
            "is not possible with shards=: a replica of the coordinator does not have their rows".into()
        );
    }
    if own.product.heap && own.product.placement.is_some() {
        return Err("is not possible with Citus: the replica of a coordinator asks the same workers".into());
    }
    if own.product.heap && own.isolation == Isolation::Serializable {
        return Err("sets isolation=serializable, which replicas do not support: leave it out".into());
    }
    if !own.nodes.is_empty() {
        return Err("names several servers: give each replica a URL of its own".into());
    }
    if primary.of_nodes().iter().any(|node| node.place() == own.place()) && own.schema == primary.schema {
        return Err("is the target itself: name its replicas".into());
    }
    Ok(())
}

/// Reason why partitioned tables support only statements. It follows the name of the mode.
pub(crate) const ONLY_STATEMENTS: &str = "is not possible on shards: an update of rows that an array names fetches and locks \
                                          all rows of each shard; use --tx statements";

/// Reason why partitioned tables do not support this isolation level.
pub(crate) const NOT_SERIALIZABLE: &str =
    "is not possible on shards: one may reject the commit after another has made it; use repeatable-read";

/// Reads the option `zones`, `ZONE,ZONE`.
fn zones(parsed: &ParsedUrl, errors: &mut Vec<String>) -> Vec<String> {
    let mut zones: Vec<String> = Vec::new();
    for zone in parsed.options.get("zones").iter().flat_map(|list| list.split(',')) {
        if !is_zone(zone) {
            errors
                .push(format!("target option zones: {zone:?} is not a zone: use letters, digits, - _ and ."));
        } else if zones.iter().any(|known| known == zone) {
            errors.push(format!("target option zones names {zone} twice"));
        } else {
            zones.push(zone.to_string());
        }
    }
    zones
}

impl Config {
    /// Returns the configuration of the same database on each shard.
    pub(crate) fn of_shards(&self) -> impl Iterator<Item = Self> {
        self.shards.iter().map(|shard| self.on(shard))
    }

    /// Returns the name of a table with the URL's schema, for statements that no setting precedes.
    pub(super) fn in_schema(&self, table: &str) -> String {
        match &self.schema {
            Some(schema) => format!("\"{}\".{table}", schema.replace('"', "\"\"")),
            None => table.to_owned(),
        }
    }

    /// Returns the configuration of the URL's first server alone.
    pub(crate) fn alone(&self) -> Self {
        Self { nodes: Vec::new(), ..self.clone() }
    }

    /// Returns the configuration of the same database on each server that sessions connect to, the URL's first.
    pub(crate) fn of_nodes(&self) -> Vec<Self> {
        std::iter::once(self.clone()).chain(self.nodes.iter().map(|node| self.on(node))).collect()
    }

    /// Returns the configuration of the same database on another server.
    fn on(&self, (host, port): &(String, u16)) -> Self {
        let scheme = self.product.schemes[0];
        let server = Host::Tcp(host.clone());
        Self {
            url: format!("{scheme}://{}@{}/{}", self.user, server.with_port(*port), self.database),
            host: server,
            port: *port,
            shards: Vec::new(),
            layout: Layout::default(),
            nodes: Vec::new(),
            ..self.clone()
        }
    }

    /// Returns host and port, or the directory of the socket.
    pub(crate) fn address(&self) -> String {
        self.host.with_port(self.port)
    }

    /// Returns host, port and database, for messages.
    pub(crate) fn place(&self) -> String {
        let Self { port, database, product, .. } = self;
        let scheme = product.schemes[0];
        match &self.host {
            Host::Tcp(_) => format!("{scheme} at {}, database {database:?}", self.address()),
            Host::Unix(directory) => format!("{scheme} in {directory}, port {port}, database {database:?}"),
        }
    }

    /// Returns the password from the URL, `LYDITE_PASSWORD`, libpq's `PGPASSWORD` or the password file.
    pub(crate) fn password(&self) -> Option<String> {
        self.url_password
            .clone()
            .or_else(|| variable(&["LYDITE_PASSWORD", "PGPASSWORD"]))
            .or_else(|| self.password_file())
    }

    /// Returns the password in the matching line of `~/.pgpass` (`host:port:database:user:password`; `*` matches all).
    fn password_file(&self) -> Option<String> {
        let named = self.passfile.as_ref().map(OsString::from).or_else(|| std::env::var_os("PGPASSFILE"));
        let path = named
            .map(PathBuf::from)
            .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pgpass")))?;
        let text = std::fs::read_to_string(path).ok()?;
        let host = match &self.host {
            Host::Tcp(name) => name.as_str(),
            Host::Unix(_) => "localhost",
        };
        let port = self.port.to_string();
        let wanted = [host, &port, &self.database, &self.user];
        text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let fields = split_escaped(line);
            let matches = fields.len() == 5
                && fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
            matches.then(|| fields[4].clone())
        })
    }
}

/// Splits a line at colons. A backslash escapes the next character.
fn split_escaped(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => {
                if let (Some(field), Some(next)) = (fields.last_mut(), letters.next()) {
                    field.push(next);
                }
            }
            other => {
                if let Some(field) = fields.last_mut() {
                    field.push(other);
                }
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::{Connection, ParsedUrl, ServerUrl, usual_port};
    use crate::net::SslMode;
    use crate::postgres::product::POSTGRES;
    use crate::registry::TargetSpec;
    use lydite_database::TxMode;

    #[test]
    fn the_password_is_never_shown() {
        let Ok(spec) = TargetSpec::parse("postgres://me:s3cret@db.example:5433/tpcc", TxMode::Statements)
        else {
            panic!("a good URL was refused");
        };
        let shown = format!("{spec:?}");
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(shown.contains("postgres://me@db.example:5433/tpcc"), "{shown}");
    }

    #[test]
    fn a_user_may_stand_before_a_unix_socket() {
        let shown = |url| format!("{:?}", TargetSpec::parse(url, TxMode::Statements));
        let socket = shown("postgres://me:s3cret@/tpcc?host=/run/postgresql");
        assert!(socket.contains("postgres://me@/tpcc?host=/run/postgresql"), "{socket}");
        assert!(shown("postgres://me@h/tpcc?host=/run").contains("names a host twice"));
    }

    #[test]
    fn all_errors_of_a_url_are_told_at_once() {
        let errors =
            TargetSpec::parse("postgres://h/db?isolation=none&sslmode=maybe&colour=red", TxMode::Statements)
                .map(|_| ())
                .expect_err("three bad options");
        assert_eq!(errors.len(), 3, "{errors:?}");
    }

    #[test]
    fn pgport_is_the_port_of_every_host_without_one() {
        let port = |url: &str, pgport: &str| {
            let mut errors = Vec::new();
            let parsed = ParsedUrl::new(url, &mut errors);
            let url = ServerUrl::parse(&parsed, "postgres", "host", &mut errors).unwrap_or_else(|errors| {
                panic!("a good URL was refused: {errors:?}");
            });
            let port = usual_port(&url, Some(pgport.into()), &POSTGRES, &mut errors);
            if errors.is_empty() { Ok(port) } else { Err(errors.join("; ")) }
        };
        assert_eq!(port("postgres://h1,h2/db", "5433"), Ok(5433));
        assert_eq!(port("postgres://h1:5434,h2/db", "5433"), Ok(5433));
        let wrong = port("postgres://h1:5434,h2/db", "none").expect_err("no number");
        assert!(wrong.contains("PGPORT=\"none\" is not a port"), "{wrong}");
        assert_eq!(port("postgres://h1:5434,h2:5435/db", "none"), Ok(5432));
    }

    #[test]
    fn the_systems_cas_need_a_check_of_the_host() {
        let errors = |options: &str| {
            let url = format!("postgres://h/db?sslrootcert=system{options}");
            TargetSpec::parse(&url, TxMode::Statements).map(|_| ()).err().unwrap_or_default()
        };
        for mode in ["require", "verify-ca"] {
            let errors = errors(&format!("&sslmode={mode}"));
            assert!(errors[0].contains("sslrootcert=system needs sslmode=verify-full"), "{errors:?}");
        }
        assert!(errors("&sslmode=prefer")[0].contains("sslrootcert needs sslmode="));
        assert!(errors("&sslmode=verify-full").is_empty());
        // Without a mode it is verify-full, as in libpq.
        let mut parsing = Vec::new();
        let parsed = ParsedUrl::new("postgres://h/db?sslrootcert=system", &mut parsing);
        let connection = Connection::read(&parsed, &mut parsing);
        assert_eq!((connection.tls.mode, parsing.len()), (SslMode::VerifyFull, 0));
    }

    #[test]
    fn a_line_of_the_password_file_may_hold_escaped_colons() {
        assert_eq!(super::split_escaped(r"h:1:d:u:a\:b\\c:d"), ["h", "1", "d", "u", r"a:b\c:d"]);
    }
}
