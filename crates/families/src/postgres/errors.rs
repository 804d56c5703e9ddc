//! PostgreSQL's error codes and their meaning for a transaction.

use lydite_database::sql::meta::is_ours;
use lydite_database::{AbortReason, RUN_CHECK};

/// Code of a statement that was cancelled.
pub(crate) const CANCELLED: &str = "57014";

/// Code of a server that has no connection left.
pub(crate) const TOO_MANY: &str = "53300";
/// PgBouncer's message for a transaction of several statements in statement mode begins so.
pub(crate) const NO_TRANSACTIONS: &str = "transaction blocks not allowed";
/// Advice about statement mode.
pub(crate) const STATEMENT_MODE: &str = "a pooler in statement mode is between, which has no transactions: connect to the server itself, or set \
     pool_mode=session (PgBouncer), or pool_mode=transaction with ?statements=unprepared";
/// Part of PgBouncer's message when it takes no more connections.
pub(crate) const NO_CLIENTS: &str = "max_client_conn";
/// PgBouncer's message when it has no connection of the server in time.
pub(crate) const WAITED: &str = "query_wait_timeout";

/// Codes after which the same transaction may be retried.
const RETRYABLE: [(&str, AbortReason); 4] = [
    ("40001", AbortReason::Serialization),
    ("40P01", AbortReason::Deadlock),
    ("55P03", AbortReason::LockTimeout),
    // The server's time for a statement is over, or somebody canceled it.
    (CANCELLED, AbortReason::Other),
];

/// Codes (or their first two characters) of a server that shuts down or takes no connections now.
/// After 25P03, 25P04 and 57P05, limits of the time of a transaction or of a session, the connection is gone.
const UNAVAILABLE: [&str; 9] = ["08", "40003", "57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "53300"];

/// Codes of errors whose detail says what the message leaves open: what depends on a table, and the digits of a column.
pub(crate) const DETAILED: [&str; 2] = ["2BP01", "22003"];
/// Most lines of a detail that are shown.
const LINES: usize = 3;

/// Returns the first lines of a detail in one line, without the last full stop.
pub(crate) fn beginning(detail: &str) -> String {
    let lines: Vec<&str> = detail.lines().map(str::trim).collect();
    let more = lines.len().saturating_sub(LINES);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    lines[..lines.len().min(LINES)].join(", ").trim_end_matches('.').to_owned() + &more
}

/// Returns the abort reason if a transaction that failed with `code` may be retried.
pub(crate) fn retryable(code: &str) -> Option<AbortReason> {
    RETRYABLE.iter().find(|(known, _)| *known == code).map(|(_, reason)| *reason)
}

/// True if `code` says that the server is shutting down or not ready.
pub(crate) fn unavailable(code: &str) -> bool {
    UNAVAILABLE.iter().any(|known| code.starts_with(known))
}

/// Returns advice about an error that any statement may get, including those of a transaction.
pub(crate) fn advice_always(code: &str, message: &str) -> Option<&'static str> {
    Some(match code {
        "53100" => "make room on the server's disk",
        // A procedure found no row, or several, where there must be one.
        "P0002" | "P0003" => RUN_CHECK,
        "25P03" => "raise idle_in_transaction_session_timeout, or set it to 0",
        "25P04" => "raise transaction_timeout, or set it to 0",
        "57P05" => "raise idle_session_timeout, or set it to 0",
        _ if message.contains(NO_CLIENTS) => "use fewer sessions, or raise the pooler's max_client_conn",
        _ if message.contains(WAITED) => {
            "the pooler had no connection of the server in time: use fewer sessions, or raise its default_pool_size"
        }
        "42P01" if names_own_table(message) => {
            "a table of a loaded database is missing: load it again with `lydite load URL --warehouses N --fresh`, or name \
             its schema with ?schema="
        }
        _ => return None,
    })
}

/// True if the server's message about a missing table, in whatever language, names one of those that a load makes.
fn names_own_table(message: &str) -> bool {
    message.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').any(is_ours)
}

/// Returns advice about an error at connecting or administration.
pub(crate) fn advice(code: &str, message: &str) -> Option<&'static str> {
    Some(match code {
        "28P01" => "give the password in the URL, in LYDITE_PASSWORD or in ~/.pgpass",
        "28000" => not_allowed(message),
        "3D000" => "create it first (createdb), or name another one in the URL",
        "3F000" => "create the schema first, or name another one with ?schema=",
        "42501" => missing_privilege(message),
        "2BP01" => {
            "drop what depends on it first (DROP VIEW, ALTER TABLE … DROP CONSTRAINT), or name another schema with ?schema="
        }
        "53200" if message.contains("shared memory") => {
            "raise max_locks_per_transaction, or use fewer ?partitions="
        }
        "53300" => too_many(message),
        "08P01" if message.contains(NO_TRANSACTIONS) => STATEMENT_MODE,
        "08P01" if message.contains("startup parameter") => {
            "a pooler is between, which takes no such parameter: leave it out of the URL (?options=), or connect to the \
             server itself"
        }
        "57P03" => "wait until the server has started",
        "25006" => "connect to the primary: this server only reads",
        _ => return None,
    })
}

/// Returns advice about a rule of `pg_hba.conf`.
fn not_allowed(message: &str) -> &'static str {
    if message.contains("client certificate") {
        "the user must show a certificate: add ?sslcert=FILE&sslkey=FILE"
    } else if message.contains("no encryption") || message.contains("SSL off") {
        "check what pg_hba.conf allows from this host; a user that must use TLS (hostssl) needs ?sslmode=require"
    } else {
        "check the user, and what pg_hba.conf allows from this host"
    }
}

/// Returns advice about too many connections. Only the server's message tells whose limit it is.
fn too_many(message: &str) -> &'static str {
    if message.contains("for role") {
        "use fewer sessions, or raise the limit of the role (ALTER ROLE … CONNECTION LIMIT -1)"
    } else if message.contains("for database") {
        "use fewer sessions, or raise the limit of the database (ALTER DATABASE … CONNECTION LIMIT -1)"
    } else {
        "use fewer sessions, or raise max_connections"
    }
}

/// Returns advice about a missing privilege. Only the server's message names the object. A message in another language
/// than English gets general advice.
fn missing_privilege(message: &str) -> &'static str {
    let relations = ["for table", "for relation", "for view", "for materialized view", "for foreign table"];
    if message.contains("for schema") {
        "connect as the owner, or GRANT CREATE, USAGE on the schema"
    } else if relations.iter().any(|relation| message.contains(relation)) {
        "connect as the owner of the tables, or GRANT SELECT on them (a run needs INSERT, UPDATE and DELETE too)"
    } else if message.contains("set parameter") {
        "let an administrator reset it for this user (ALTER ROLE … RESET, ALTER DATABASE … RESET)"
    } else if message.contains("must be owner") {
        "connect as the owner"
    } else {
        "connect as the owner of the database, or GRANT what the server names"
    }
}

#[cfg(test)]
mod tests {
    use super::{advice, advice_always, beginning};

    #[test]
    fn a_long_detail_is_cut_to_its_first_lines() {
        assert_eq!(beginning("view v depends on table customer."), "view v depends on table customer");
        assert_eq!(beginning("a\nb\nc\nd\ne"), "a, b, c, and 2 more");
        assert_eq!(beginning(""), "");
    }

    #[test]
    fn limits_and_missing_tables_come_with_a_way_out() {
        for (code, message, words) in [
            ("53300", "too many connections for role \"bench\"", "ALTER ROLE"),
            ("53300", "too many connections for database \"tpcc\"", "ALTER DATABASE"),
            ("53300", "sorry, too many clients already", "max_connections"),
            (
                "28000",
                "no pg_hba.conf entry for host \"::1\", user \"me\", database \"d\", no encryption",
                "sslmode=require",
            ),
            ("28000", "connection requires a valid client certificate", "sslcert=FILE"),
            ("08P01", "unsupported startup parameter: options", "?options="),
        ] {
            let advice = advice(code, message).expect("advice");
            assert!(advice.contains(words), "{message}: {advice}");
        }
        let always = |code, message| advice_always(code, message).unwrap_or_default();
        assert!(always("08P01", "no more connections allowed (max_client_conn)").contains("fewer sessions"));
        assert!(always("08P01", "query_wait_timeout").contains("default_pool_size"));
        assert!(always("42P01", "relation \"lydite_meta\" does not exist").contains("--fresh"));
        assert!(always("42P01", "relation «stock» n'existe pas").contains("--fresh"));
        assert_eq!(always("42P01", "relation \"pg_dist_node\" does not exist"), "");
        assert!(
            always("25P04", "terminating connection due to transaction timeout")
                .contains("transaction_timeout")
        );
    }

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
