//! Advice about a target that is not a URL, or whose scheme no family has.

use crate::family::Scheme;
use lydite_database::secret;

/// Minimum similarity (Jaro) for a "did you mean" suggestion.
const NEAR: f64 = 0.8;
/// Other names of families that are not similar to their schemes.
const ALIASES: [(&str, &str); 6] = [
    ("crdb", "cockroach"),
    ("file", "sqlite"),
    ("pg", "postgres"),
    ("psql", "postgres"),
    ("valkey", "redis"),
    ("ysql", "yugabyte"),
];

/// Databases that Lydite does not drive: a scheme of their URLs or a part of their drivers' names, and the name.
pub(crate) const NOT_DRIVEN: [(&str, &str); 27] = [
    ("oracle", "Oracle"),
    ("sqlserver", "SQL Server"),
    ("mssql", "SQL Server"),
    ("jtds", "SQL Server"),
    ("microsoft", "SQL Server"),
    ("db2", "Db2"),
    ("h2", "H2"),
    ("hsqldb", "HSQLDB"),
    ("derby", "Derby"),
    ("firebird", "Firebird"),
    ("sap", "SAP HANA"),
    ("hana", "SAP HANA"),
    ("ignite", "Ignite"),
    ("clickhouse", "ClickHouse"),
    ("snowflake", "Snowflake"),
    ("redshift", "Redshift"),
    ("bigquery", "BigQuery"),
    ("spanner", "Spanner"),
    ("cloudspanner", "Spanner"),
    ("mongodb", "MongoDB"),
    ("mongodb+srv", "MongoDB"),
    ("cassandra", "Cassandra"),
    ("dynamodb", "DynamoDB"),
    ("duckdb", "DuckDB"),
    ("libsql", "libSQL"),
    ("rqlite", "rqlite"),
    ("foundationdb", "FoundationDB"),
];

/// Returns the error of a target of such a database.
pub(crate) fn not_driven(target: &str, database: &str) -> String {
    format!("{target}: Lydite has no {database}: write a driver, in any language: 'lydite driver new --help'")
}

/// Returns the scheme of a URL; `None` if it has none. Other text before a colon may hold a password.
pub(crate) fn of(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once(':')?;
    let in_scheme = |letter: char| letter.is_ascii_alphanumeric() || "+-._".contains(letter);
    scheme.chars().all(in_scheme).then_some(scheme)
}

/// Returns the error of a URL with a blank at its beginning or end, without the URL. A command may end with one.
pub(crate) fn blank(url: &str, is_command: bool) -> Option<String> {
    let at = if url.starts_with(char::is_whitespace) {
        "begins"
    } else if url.ends_with(char::is_whitespace) && !is_command {
        "ends"
    } else {
        return None;
    };
    Some(format!(
        "target {at} with a blank (a space, a tab or a line break): leave it out, or write %20 for a space of the name"
    ))
}

/// Returns the error of a target that is not a URL, without a password.
pub(crate) fn not_a_url(text: &str) -> String {
    if secret::is_keywords(text) {
        let part = |keyword, unknown| secret::keyword(text, keyword).unwrap_or(unknown);
        let port = secret::keyword(text, "port").map_or(String::new(), |port| format!(":{port}"));
        return format!(
            "target is a connection string of libpq, but a target is a URL: write postgres://{}@{}{port}/{}, and set \
             LYDITE_PASSWORD to the password",
            part("user", "USER"),
            part("host", "HOST"),
            part("dbname", "DATABASE")
        );
    }
    format!(
        "target {:?} is not a URL: write for example sqlite:PATH or postgres://HOST/DATABASE",
        secret::shown(text)
    )
}

/// Returns the error of a target whose scheme is not among the `known` ones. The URL may hold a password after the
/// scheme, so the error repeats nothing from there.
pub(crate) fn not_known(url: &str, scheme: &str, known: &[Scheme]) -> String {
    let rest = url.strip_prefix(scheme).unwrap_or_default();
    // `USER:PASSWORD@HOST`, or a password with a colon before the `@`.
    if !rest.starts_with("://") && rest.contains('@') {
        return not_a_url(url);
    }
    let base = scheme.split('+').next().unwrap_or(scheme);
    if let Some((_, database)) = NOT_DRIVEN.iter().find(|(other, _)| *other == scheme || *other == base) {
        return not_driven(&format!("target scheme {scheme:?} is not known"), database);
    }
    if scheme == "rediss" {
        return "target scheme \"rediss\" is not known: Lydite speaks no TLS with Redis: write redis://, or start a tunnel such as stunnel \
                and name its port"
            .into();
    }
    if scheme.contains("+sentinel") {
        return format!(
            "target scheme {scheme:?} is not known: Lydite asks no sentinel: write redis://HOST:PORT/NUMBER with the primary"
        );
    }
    match suggestion(url, scheme, known) {
        Some(hint) => format!("target scheme {scheme:?} is not known: {hint}"),
        None => format!(
            "target scheme {scheme:?} is not known: use for example postgres://HOST/DATABASE; all are listed by \
             'lydite targets'"
        ),
    }
}

fn suggestion(url: &str, scheme: &str, known: &[Scheme]) -> Option<String> {
    let is_known = |scheme: &str| known.iter().any(|known| known.name == scheme);
    let rest = url.split_once(':').map_or("", |(_, rest)| rest);
    if let Some((dialect, driver)) = scheme.split_once('+')
        && is_known(dialect)
    {
        return Some(format!("leave out +{driver}, and write {dialect}://…"));
    }
    let host_and_port: String = rest.chars().take_while(|letter| *letter != '/').collect();
    if let Ok(port) = host_and_port.parse::<u16>() {
        let usual = known.iter().find(|known| known.port == Some(port));
        let family = usual.map_or("postgres", |known| known.name);
        let port = if usual.is_some() { port.to_string() } else { "PORT".into() };
        let path = if family == "etcd" || family == "redis" { "" } else { "/DATABASE" };
        return Some(format!(
            "write the scheme before host and port, for example {family}://{scheme}:{port}{path}"
        ));
    }
    let alias = ALIASES.iter().find(|(alias, _)| *alias == scheme).map(|(_, scheme)| *scheme);
    let near = || {
        let near = known.iter().map(|known| (strsim::jaro(scheme, known.name), known.name));
        near.filter(|(near, _)| *near > NEAR).max_by(|(one, _), (other, _)| one.total_cmp(other))
    };
    let meant = alias.or_else(|| near().map(|(_, known)| known))?;
    Some(format!("did you mean {meant}? all are listed by 'lydite targets'"))
}
