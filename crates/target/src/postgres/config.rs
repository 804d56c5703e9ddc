//! What a `postgres://` URL says, and where the password comes from.

use crate::registry::{OptionSpec, ParsedUrl};
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

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// A name or an address.
    Tcp(String),
    /// The directory of its socket.
    Unix(String),
}

/// Whether to talk TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SslMode {
    /// No.
    Disable,
    /// If the server offers it; its certificate is not checked.
    Prefer,
    /// Yes; the certificate is not checked.
    Require,
    /// Yes; the certificate must be good for the host.
    VerifyFull,
}

/// An isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// PostgreSQL's snapshot isolation.
    RepeatableRead,
    /// Serializable snapshot isolation.
    Serializable,
    /// A snapshot per statement.
    ReadCommitted,
}

impl Isolation {
    /// As SQL writes it.
    pub(crate) fn sql(self) -> &'static str {
        match self {
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
            Self::ReadCommitted => "READ COMMITTED",
        }
    }
}

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
    // The URL may hold a password, so nothing of one that can't be read is repeated.
    let bad = |problem: &dyn fmt::Display| {
        vec![format!(
            "target URL: {problem}: write postgres://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE, and in a password %2F for \
             a slash, %40 for @, %3A for a colon, %3F for a question mark, %23 for #"
        )]
    };
    let mut url = url::Url::parse(&parsed.whole).map_err(|error| bad(&error))?;
    if !parsed.rest.starts_with("//") {
        return Err(bad(&"two slashes are missing behind the scheme"));
    }
    // What looks like a path may be the rest of a password, cut by a character that must be written otherwise.
    if url.path().contains('@') || url.fragment().is_some() {
        return Err(bad(&"an @ or # stands where none can be"));
    }
    let decode = percent_decode;
    let sslmode =
        match parsed.choice("sslmode", &["prefer", "disable", "require", "verify-full"], &mut errors) {
            "disable" => SslMode::Disable,
            "require" => SslMode::Require,
            "verify-full" => SslMode::VerifyFull,
            _ => SslMode::Prefer,
        };
    let isolation =
        match parsed.choice("isolation", &["repeatable-read", "serializable", "read-committed"], &mut errors)
        {
            "serializable" => Isolation::Serializable,
            "read-committed" => Isolation::ReadCommitted,
            _ => Isolation::RepeatableRead,
        };
    let shards = parsed.options.get("shards").map_or_else(Vec::new, |list| shards(list, &mut errors));
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
    let host = match (parsed.options.get("host"), url.host_str()) {
        (Some(directory), None | Some("")) if directory.starts_with('/') => Host::Unix(directory.clone()),
        (Some(_), Some(name)) if !name.is_empty() => {
            errors.push("target URL names a host twice: before the path and in ?host=".into());
            Host::Tcp(name.to_string())
        }
        (Some(directory), _) => {
            errors.push(format!("target option host={directory:?} is not a directory: start it with /"));
            Host::Tcp(String::new())
        }
        (None, Some(name)) if !name.is_empty() => {
            Host::Tcp(name.trim_start_matches('[').trim_end_matches(']').to_string())
        }
        (None, _) => Host::Tcp("localhost".to_string()),
    };
    let user = if url.username().is_empty() {
        std::env::var("PGUSER").or_else(|_| std::env::var("USER")).unwrap_or_else(|_| "postgres".into())
    } else {
        decode(url.username())
    };
    let database = decode(url.path().trim_start_matches('/'));
    if database.contains('/') {
        errors.push(format!("target URL names the database {database:?}: a slash can't be part of it"));
    }
    let database = if database.is_empty() { user.clone() } else { database };
    let schema = parsed.options.get("schema").cloned();
    if schema.as_ref().is_some_and(String::is_empty) {
        errors.push("target option schema is empty: name a schema, or leave it out".into());
    }
    let url_password = url.password().map(decode);
    if url.set_password(None).is_err() && url_password.is_some() {
        errors.push("target URL has a password but no host".into());
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Config {
        host,
        port: url.port().unwrap_or(5432),
        user,
        database,
        sslmode,
        isolation,
        foreign_keys: foreign_keys && shards.is_empty(),
        schema,
        shards,
        mode,
        url: url.to_string(),
        url_password,
    })
}

/// Why tables in parts are not asked in the other ways, behind the name of such a way.
pub(crate) const ONLY_STATEMENTS: &str = "is not possible on shards: an update of rows that an array names fetches and locks \
                                          all rows of each shard; use --tx statements";

/// Reads `HOST:PORT,HOST:PORT`.
fn shards(list: &str, errors: &mut Vec<String>) -> Vec<(String, u16)> {
    let mut shards = Vec::new();
    for text in list.split(',') {
        let shard = text
            .rsplit_once(':')
            .and_then(|(host, port)| Some((host, port.parse::<u16>().ok().filter(|&port| port > 0)?)))
            .filter(|(host, _)| !host.is_empty());
        match shard {
            Some((host, port)) if shards.contains(&(host.to_string(), port)) => {
                errors.push(format!("target option shards names {host}:{port} twice"));
            }
            Some((host, port)) => shards.push((host.to_string(), port)),
            None => errors.push(format!("target option shards: {text:?} is not HOST:PORT")),
        }
    }
    shards
}

fn percent_decode(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

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
        let variable = |name: &str| std::env::var(name).ok().filter(|password| !password.is_empty());
        self.url_password
            .clone()
            .or_else(|| variable("LYDITE_PASSWORD"))
            .or_else(|| variable("PGPASSWORD"))
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
