//! Parameters that consoles of clouds, programs and object mappers add to `mysql://`.

use super::words::{
    ALIVE, CONNECTING, FILES, FIRST, LEVEL, LEVELS, LOGIN, MODES, PACKED, POOL, PUBLIC_KEY, STATEMENTS,
    STORE, TEXTS, TLS, VALUES, VERSIONS, ZONE, set_mode,
};
use crate::pasted::draft::Draft;
use crate::pasted::findings::Findings;
use crate::pasted::row::Meaning::{
    Choice, Combined, Database, Host, Option, Password, Port, Socket, Time, User,
};
use crate::pasted::row::Word::Rejected;
use crate::pasted::row::{Decoding, Dialect, Form, Given, Group, Row, Unit};

const ROWS: &[Row] = &[
    Row::new(&["user", "username"], User),
    Row::new(&["password", "passwd"], Password),
    Row::new(&["host"], Host),
    Row::new(&["port"], Port),
    Row::new(&["database", "dbname"], Database),
    Row::new(&["unix_socket", "socketPath"], Socket),
    Row::new(
        &["ssl_mode", "sslMode", "tls-mode"],
        Choice("sslmode", TLS, Rejected("write DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY")),
    ),
    Row::new(
        &["sslaccept"],
        Combined("`strict`: `sslmode=verify-full`; `accept_invalid_certs`: the certificate is not checked"),
    ),
    Row::new(
        &["ssl", "tls"],
        Combined(
            "`true`, or `{\"rejectUnauthorized\":true}`: `sslmode=verify-full`; `{\"rejectUnauthorized\":false}` or `skip-verify`: \
             `sslmode=require`; `preferred`: `sslmode=prefer`; `false`: `sslmode=disable`",
        ),
    ),
    Row::new(&["ssl_disabled"], Combined("`true`: `sslmode=disable`")),
    Row::new(
        &["ssl_verify_cert", "sslverify"],
        Combined("`true`: `sslmode=verify-ca` unless a mode is given"),
    ),
    Row::new(
        &["ssl_verify_identity", "ssl_check_hostname"],
        Combined("`true`: `sslmode=verify-full` unless a mode is given"),
    ),
    Row::new(&["ssl_ca", "sslca"], Combined("`ssl-ca`, and `sslmode=verify-full` unless a mode is given")),
    Row::new(
        &["sslcert"],
        Combined(
            "with `sslkey` the client's certificate (`ssl-cert`); alone the CA (`ssl-ca`), as Prisma has it, and \
                  `sslmode=require` unless a mode is given",
        ),
    ),
    Row::new(&["ssl_cert"], Option("ssl-cert")),
    Row::new(&["ssl_key", "sslkey"], Option("ssl-key")),
    Row::new(&["transaction_isolation", "tx_isolation"], Choice("isolation", LEVELS, Rejected(LEVEL))),
    Row::new(&["socket_timeout"], Time("statement_timeout", Unit::Seconds)),
    Row::new(&["read_timeout"], Time("statement_timeout", Unit::Seconds)),
];

const GROUPS: &[Group] = &[
    Group::ignored(
        TEXTS,
        &[
            "charset",
            "encoding",
            "collation",
            "use_unicode",
            "binary_prefix",
            "character_set",
            "characterEncoding",
        ],
    ),
    Group::ignored(ZONE, &["timezone", "time_zone", "loc", "serverTimezone"]),
    Group::ignored(
        POOL,
        &[
            "connection_limit",
            "connectionLimit",
            "pool",
            "pool_timeout",
            "pool_recycle",
            "pool_size",
            "waitForConnections",
            "queueLimit",
            "maxIdle",
            "idleTimeout",
            "acquireTimeout",
            "minimumIdle",
            "checkout_timeout",
            "reaping_frequency",
            "conn_max_age",
            "conn_health_checks",
        ],
    ),
    Group::ignored(
        CONNECTING,
        &["connect_timeout", "connectTimeout", "connect-timeout", "connection_timeout"],
    ),
    Group::ignored(
        ALIVE,
        &[
            "write_timeout",
            "reconnect",
            "enableKeepAlive",
            "keepAliveInitialDelay",
            "tcp_keepalive",
            "socketTimeout",
        ],
    ),
    Group::ignored(
        STATEMENTS,
        &[
            "prepared_statements",
            "statement-cache-capacity",
            "statement_cache_size",
            "max_prepared_stmt",
            "autocommit",
        ],
    ),
    Group::ignored(
        VALUES,
        &[
            "parseTime",
            "dateStrings",
            "supportBigNumbers",
            "bigNumberStrings",
            "decimalNumbers",
            "typeCast",
            "debug",
            "trace",
            "flags",
            "namedPlaceholders",
            "rowsAsArray",
            "nestTables",
            "stringifyObjects",
            "multipleStatements",
            "multiStatements",
            "insecureAuth",
            "use_pure",
            "cursorclass",
            "raise_on_warnings",
            "buffered",
            "useAffectedRows",
            "program_name",
        ],
    ),
    Group::ignored(FILES, &["local_infile", "allow_local_infile"]),
    Group::ignored(MODES, &["sql_mode", "strict"]),
    Group::ignored(PACKED, &["compress", "compression", "compression-algorithms"]),
    Group::ignored(PUBLIC_KEY, &["get-server-public-key", "allowPublicKeyRetrieval", "server_public_key"]),
    Group::ignored(LOGIN, &["auth_plugin", "auth-method", "authPlugin", "default_auth"]),
    Group::rejected(FIRST, &["init_command", "variables"]),
    Group::rejected(STORE, &["sslidentity", "sslpassword", "ssl_capath", "sslcapath", "ssl-capath"]),
    Group::rejected(
        VERSIONS,
        &["ssl_cipher", "sslcipher", "ssl-cipher", "tls-version", "tls_version", "tls-ciphersuites"],
    ),
    Group::rejected(
        "Lydite reads no option files by name but ~/.my.cnf for the password: write its values into the URL",
        &["read_default_file", "read_default_group", "default_file"],
    ),
    Group::rejected(
        "it is of a driver for Java: write jdbc: before the URL, or sslmode=MODE",
        &["useSSL", "requireSSL", "verifyServerCertificate", "rewriteBatchedStatements"],
    ),
];

/// URLs of MySQL.
pub(super) static URL: Dialect = Dialect {
    name: "URLs of MySQL",
    form: Form::Url,
    schemes: &[
        ("mysql", "mysql"),
        ("mysql2", "mysql"),
        ("mysqlgis", "mysql"),
        ("mysqli", "mysql"),
        ("trilogy", "mysql"),
        ("mariadb", "mariadb"),
        ("tidb", "tidb"),
        ("oceanbase", "oceanbase"),
        ("polardb", "polardb"),
    ],
    about: "`mysql://…?NAME=VALUE`, also `mysql2://` and `mysql+pymysql://…`: the parameters of Lydite's own URLs (`lydite \
            targets`), and what consoles of clouds, Prisma, SQLAlchemy, PyMySQL, mysqlclient, mysql2 for Node and for Ruby, \
            sqlx and Django add. TLS is `prefer` unless a parameter says otherwise.",
    rows: &[ROWS],
    groups: &[GROUPS],
    decoding: Decoding::Percent,
    has_fragments: false,
    socket: "socket",
    typical: &[],
    finish,
    surroundings: None,
};

fn finish(given: &Given, draft: &mut Draft, findings: &mut Findings) {
    match given.get("sslaccept") {
        Some("strict") => set_mode(draft, "verify-full"),
        None | Some("accept_invalid_certs") => {}
        Some(_) => findings.error("parameter sslaccept: write strict or accept_invalid_certs"),
    }
    if let Some(value) = given.get("ssl") {
        match mode_of(value) {
            Ok(mode) => set_mode(draft, mode),
            Err(problem) => findings.error(format!("parameter ssl {}", problem.0)),
        }
    }
    if given.switch("ssl_disabled") == Some(true) {
        set_mode(draft, "disable");
    }
    if let Some(ca) = given.get("ssl_ca") {
        draft.set("ssl-ca", ca);
    }
    match (given.get("sslcert"), draft.get("ssl-key").is_some()) {
        (Some(certificate), true) => draft.set("ssl-cert", certificate),
        (Some(ca), false) => {
            draft.set("ssl-ca", ca);
            set_mode(draft, "require");
        }
        (None, _) => {}
    }
    if given.switch("ssl_verify_identity") == Some(true) {
        set_mode(draft, "verify-full");
    }
    if given.switch("ssl_verify_cert") == Some(true) {
        set_mode(draft, "verify-ca");
    }
    if given.has("ssl_ca") {
        set_mode(draft, "verify-full");
    }
}

/// A value of `ssl` that says nothing.
struct Unclear(&'static str);

/// Returns the mode of TLS that the parameter `ssl` means.
fn mode_of(value: &str) -> Result<&'static str, Unclear> {
    if value.starts_with('{') {
        let parsed: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_str(value);
        let object = parsed.map_err(|_| Unclear("is no JSON: write ssl={\"rejectUnauthorized\":true}"))?;
        if object
            .keys()
            .any(|key| key != "rejectUnauthorized" && key != "minVersion" && key != "verifyIdentity")
        {
            return Err(Unclear("has certificates in it: write ssl-ca=FILE, ssl-cert=FILE and ssl-key=FILE"));
        }
        let checks = object.get("rejectUnauthorized").and_then(serde_json::Value::as_bool);
        return Ok(if checks.unwrap_or(true) { "verify-full" } else { "require" });
    }
    match value.to_ascii_lowercase().as_str() {
        "" | "true" | "1" => Ok("verify-full"),
        "false" | "0" => Ok("disable"),
        "skip-verify" => Ok("require"),
        "preferred" => Ok("prefer"),
        _ => Err(Unclear(
            "is no truth value and no JSON: write sslmode=verify-full, require, prefer or disable",
        )),
    }
}
