//! Advice about a target that is not a URL, or whose scheme no family has.

use lydite_database::secret;

/// Minimum similarity (Jaro) for a "did you mean" suggestion.
const NEAR: f64 = 0.8;
/// Other names of families that are not similar to their schemes.
const ALIASES: [(&str, &str); 7] = [
    ("crdb", "cockroach"),
    ("file", "sqlite"),
    ("pg", "postgres"),
    ("pgsql", "postgres"),
    ("psql", "postgres"),
    ("valkey", "redis"),
    ("ysql", "yugabyte"),
];
/// The scheme of Java's programs, before the scheme of a database.
const JDBC: &str = "jdbc";
/// Default ports of servers.
const PORTS: [(u16, &str); 8] = [
    (2379, "etcd"),
    (2881, "oceanbase"),
    (3306, "mysql"),
    (4000, "tidb"),
    (5432, "postgres"),
    (5433, "yugabyte"),
    (6379, "redis"),
    (26257, "cockroach"),
];

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
pub(crate) fn not_known(url: &str, scheme: &str, known: &[&str]) -> String {
    let rest = url.strip_prefix(scheme).unwrap_or_default();
    // `USER:PASSWORD@HOST`, or a password with a colon before the `@`.
    if scheme != JDBC && !rest.starts_with("://") && rest.contains('@') {
        return not_a_url(url);
    }
    match suggestion(url, scheme, known) {
        Some(hint) => format!("target scheme {scheme:?} is not known: {hint}"),
        None => format!(
            "target scheme {scheme:?} is not known: use for example postgres://HOST/DATABASE; all are listed by \
             'lydite targets'"
        ),
    }
}

fn suggestion(url: &str, scheme: &str, known: &[&str]) -> Option<String> {
    let rest = url.split_once(':').map_or("", |(_, rest)| rest);
    if scheme == JDBC {
        let inner = rest.split(':').next().filter(|inner| known.contains(inner))?;
        return Some(format!("leave out jdbc:, and write {inner}://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE"));
    }
    if let Some((dialect, driver)) = scheme.split_once('+')
        && known.contains(&dialect)
    {
        return Some(format!("leave out +{driver}, and write {dialect}://…"));
    }
    let host_and_port: String = rest.chars().take_while(|letter| *letter != '/').collect();
    if let Ok(port) = host_and_port.parse::<u16>() {
        let family = PORTS.iter().find(|(known, _)| *known == port).map_or("postgres", |(_, family)| family);
        let port =
            if PORTS.iter().any(|(known, _)| *known == port) { port.to_string() } else { "PORT".into() };
        let path = if family == "etcd" || family == "redis" { "" } else { "/DATABASE" };
        return Some(format!(
            "write the scheme before host and port, for example {family}://{scheme}:{port}{path}"
        ));
    }
    let alias = ALIASES.iter().find(|(alias, _)| *alias == scheme).map(|(_, scheme)| *scheme);
    let near = || {
        let near = known.iter().map(|known| (strsim::jaro(scheme, known), *known));
        near.filter(|(near, _)| *near > NEAR).max_by(|(one, _), (other, _)| one.total_cmp(other))
    };
    let meant = alias.or_else(|| near().map(|(_, known)| known))?;
    Some(format!("did you mean {meant}? all are listed by 'lydite targets'"))
}
