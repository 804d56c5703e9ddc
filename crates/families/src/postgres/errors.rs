//! PostgreSQL's error codes and their meaning for a transaction.

use lydite_database::{AbortReason, RUN_CHECK};

/// Codes after which the same transaction may be retried.
const RETRYABLE: [(&str, AbortReason); 3] = [
    ("40001", AbortReason::Serialization),
    ("40P01", AbortReason::Deadlock),
    ("55P03", AbortReason::LockTimeout),
];

/// Codes (or their first two characters) of a server that shuts down or takes no connections now.
const UNAVAILABLE: [&str; 7] = ["08", "40003", "57P01", "57P02", "57P03", "57P05", "53300"];

/// Returns the abort reason if a transaction that failed with `code` may be retried.
pub(crate) fn retryable(code: &str) -> Option<AbortReason> {
    RETRYABLE.iter().find(|(known, _)| *known == code).map(|(_, reason)| *reason)
}

/// True if `code` says that the server is shutting down or not ready.
pub(crate) fn unavailable(code: &str) -> bool {
    UNAVAILABLE.iter().any(|known| code.starts_with(known))
}

/// Returns advice about an error that any statement may get, including those of a transaction.
pub(crate) fn advice_always(code: &str) -> Option<&'static str> {
    match code {
        "53100" => Some("make room on the server's disk"),
        // A procedure found no row, or several, where there must be one.
        "P0002" | "P0003" => Some(RUN_CHECK),
        _ => None,
    }
}

/// Returns advice about an error at connecting or administration.
pub(crate) fn advice(code: &str, message: &str) -> Option<&'static str> {
    Some(match code {
        "28P01" => "give the password in the URL, in LYDITE_PASSWORD or in ~/.pgpass",
        "28000" => "check the user, and what pg_hba.conf allows from this host",
        "3D000" => "create it first (createdb), or name another one in the URL",
        "3F000" => "create the schema first, or name another one with ?schema=",
        "42501" => missing_privilege(message),
        "2BP01" => "drop what depends on it first, or name another schema with ?schema=",
        "53300" => "use fewer sessions, or raise max_connections",
        "57P03" => "wait until the server has started",
        "25006" => "connect to the primary: this server only reads",
        _ => return None,
    })
}

/// Returns advice about a missing privilege. Only the server's message names the object. A message in another language
/// than English gets general advice.
fn missing_privilege(message: &str) -> &'static str {
    let relations = ["for table", "for relation", "for view", "for materialized view", "for foreign table"];
    if message.contains("for schema") {
        "connect as the owner, or GRANT CREATE, USAGE on the schema"
    } else if relations.iter().any(|relation| message.contains(relation)) {
        "connect as the owner of the tables, or GRANT SELECT on them (a run needs INSERT, UPDATE and DELETE too)"
    } else if message.contains("must be owner") {
        "connect as the owner"
    } else {
        "connect as the owner of the database, or GRANT what the server names"
    }
}

#[cfg(test)]
mod tests {
    use super::advice;

    #[test]
    fn a_missing_privilege_is_advised_by_what_it_is_about() {
        for (message, words) in [
            ("permission denied for schema public", "GRANT CREATE, USAGE on the schema"),
            ("permission denied for table lydite_meta", "GRANT SELECT on them"),
            ("permission denied for materialized view stock", "GRANT SELECT on them"),
            ("must be owner of table stock", "connect as the owner"),
            ("permission denied for database tpcc", "GRANT what the server names"),
        ] {
            let advice = advice("42501", message).expect("advice");
            assert!(advice.contains(words), "{message}: {advice}");
        }
    }
}
