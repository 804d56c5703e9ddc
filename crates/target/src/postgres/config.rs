//! What a `postgres://` URL says, and where the password comes from.

use crate::net::url::{ServerUrl, servers, sslmode, variable};
use crate::net::{Host, SslMode};
use crate::registry::{OptionSpec, ParsedUrl};
use crate::sql::isolation::Isolation;
use crate::target::TxMode;
use std::fmt;
use std::path::PathBuf;

/// Options behind `?`.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "isolation",
        values: "repeatable-read, serializable, read-committed",
        default: "repeatable-read",
        about: "isolation level of every transaction; snapshots make TPC-C's five serializable",
    },
    OptionSpec {
        name: "foreign_keys",
        values: "on, off",
        default: "on",
        about: "whether loading declares the foreign keys",
    },
    OptionSpec {
        name: "schema",
        values: "a name",
        default: "the server's search_path",
        about: "schema that holds the tables",
    },
    OptionSpec {
        name: "shards",
        values: "HOST:PORT,HOST:PORT,… as the server of the URL reaches them",
        default: "none",
        about: "servers over which loading parts the warehouses, by postgres_fdw; same database, user and schema",
    },
    OptionSpec {
        name: "sslmode",
        values: "prefer, disable, require, verify-full",
        default: "prefer",
        about: "TLS, as in libpq",
    },
    OptionSpec {
        name: "host",
        values: "a directory",
        default: "the URL's host",
        about: "directory of the server's Unix socket, as in libpq",
    },
];

/// A target `postgres://…`. Its `Debug` shows no password.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) database: String,
    pub(crate) sslmode: SslMode,
    pub(crate) isolation: Isolation,
    pub(crate) foreign_keys: bool,
    pub(crate) schema: Option<String>,
    /// Servers that have the tables of the warehouses in parts; none if the one server has all.
    pub(crate) shards: Vec<(String, u16)>,
    pub(crate) mode: TxMode,
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
    let url = ServerUrl::parse(parsed, "postgres", &mut errors)?;
    let sslmode = sslmode(parsed, &mut errors);
    let isolation = Isolation::of(parsed, &mut errors);
    let shards = servers(parsed, "shards", &mut errors);
    let foreign_keys = parsed.choice("foreign_keys", &["on", "off"], &mut errors) == "on";
    if !shards.is_empty() && mode != TxMode::Statements {
        errors.push(format!("--tx {mode} {ONLY_STATEMENTS}"));
    }
    if foreign_keys && !shards.is_empty() && parsed.options.contains_key("foreign_keys") {
        errors.push(
            "target option foreign_keys=on is not possible with shards=: rows refer to rows of other servers; leave it out"
                .into(),
        );
    }
    let host = match (parsed.options.get("host"), url.host) {
        (Some(directory), None) if directory.starts_with('/') => Host::Unix(directory.clone()),
        (Some(_), Some(name)) => {
            errors.push("target URL names a host twice: before the path and in ?host=".into());
            Host::Tcp(name)
        }
        (Some(directory), None) => {
            errors.push(format!("target option host={directory:?} is not a directory: start it with /"));
            Host::Tcp(String::new())
        }
        (None, Some(name)) => Host::Tcp(name),
        (None, None) => Host::Tcp("localhost".to_string()),
    };
    let user = url.user.or_else(|| variable(&["PGUSER", "USER"])).unwrap_or_else(|| "postgres".into());
    let database = url.database.unwrap_or_else(|| user.clone());
    let schema = parsed.options.get("schema").cloned();
    if schema.as_ref().is_some_and(String::is_empty) {
        errors.push("target option schema is empty: name a schema, or leave it out".into());
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Config {
        host,
        port: url.port.unwrap_or(5432),
        user,
        database,
        sslmode,
        isolation,
        foreign_keys: foreign_keys && shards.is_empty(),
        schema,
        shards,
        mode,
        url: url.shown,
        url_password: url.password,
    })
}

/// Why tables in parts are not asked in the other ways, behind the name of such a way.
pub(crate) const ONLY_STATEMENTS: &str = "is not possible on shards: an update of rows that an array names fetches and locks \
                                          all rows of each shard; use --tx statements";

impl Config {
    /// The same database on each of the shards.
    pub(crate) fn of_shards(&self) -> impl Iterator<Item = Self> {
        self.shards.iter().map(|(host, port)| Self {
            host: Host::Tcp(host.clone()),
            port: *port,
            shards: Vec::new(),
            url: format!("postgres://{}@{host}:{port}/{}", self.user, self.database),
            ..self.clone()
        })
    }

    /// Host, port and database, for messages.
    pub(crate) fn place(&self) -> String {
        match &self.host {
            Host::Tcp(name) => format!("postgres at {name}:{}, database {:?}", self.port, self.database),
            Host::Unix(directory) => {
                format!("postgres in {directory}, port {}, database {:?}", self.port, self.database)
            }
        }
    }

    /// The password: from the URL, LYDITE_PASSWORD, libpq's PGPASSWORD, or the password file.
    pub(crate) fn password(&self) -> Option<String> {
        self.url_password
            .clone()
            .or_else(|| variable(&["LYDITE_PASSWORD", "PGPASSWORD"]))
            .or_else(|| self.password_file())
    }

    /// The matching line of `~/.pgpass` (`host:port:database:user:password`; `*` matches all).
    fn password_file(&self) -> Option<String> {
        let path = std::env::var_os("PGPASSFILE")
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

/// Splits at colons; a backslash takes the next character as it is.
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
    use crate::registry::TargetSpec;
    use crate::target::TxMode;

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
    fn all_errors_of_a_url_are_told_at_once() {
        let errors =
            TargetSpec::parse("postgres://h/db?isolation=none&sslmode=maybe&colour=red", TxMode::Statements)
                .map(|_| ())
                .expect_err("three bad options");
        assert_eq!(errors.len(), 3, "{errors:?}");
    }

    #[test]
    fn a_line_of_the_password_file_may_hold_escaped_colons() {
        assert_eq!(super::split_escaped(r"h:1:d:u:a\:b\\c:d"), ["h", "1", "d", "u", r"a:b\c:d"]);
    }
}
