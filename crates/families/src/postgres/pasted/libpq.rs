//! Parameters of libpq: in keywords, in URLs and in the environment; and those that other programs add to its URLs.

use super::service;
use super::words::{
    ALIVE, ALLOW, CONTAINER, GSS, HOSTS_STAY, KERBEROS, PASSPHRASE, POOL, PRIMARY, REVOKED, SPREAD, STANDBY,
    STATEMENTS, TEXTS, UNPREPARED, VALUES, VERSIONS, ZONE, ZONES, only_postgres, several_hosts,
};
use crate::pasted::draft::Draft;
use crate::pasted::findings::Findings;
use crate::pasted::row::Meaning::{
    Address, Choice, Combined, Connecting, Database, First, Host, Option, Password, Port, Time, User,
};
use crate::pasted::row::Word::{Ignored, Rejected, Same, Sets};
use crate::pasted::row::{Decoding, Dialect, Form, Given, Group, Row, Surroundings, Unit, Word};

/// Parameters of libpq.
const ROWS: &[Row] = &[
    Row::new(&["host"], Host).read("PGHOST"),
    Row::new(&["hostaddr"], Address).judged("PGHOSTADDR"),
    Row::new(&["port"], Port).read("PGPORT"),
    Row::new(&["dbname"], Database).read("PGDATABASE"),
    Row::new(&["user"], User).read("PGUSER"),
    Row::new(&["password"], Password).read("PGPASSWORD"),
    Row::new(&["passfile"], Option("passfile")).read("PGPASSFILE"),
    Row::new(&["service"], Combined("its parameters from the service file, where the string leaves them out"))
        .read("PGSERVICE"),
    Row::new(
        &["servicefile"],
        Combined("the service file; else `~/.pg_service.conf`, then `pg_service.conf` in `PGSYSCONFDIR`"),
    )
    .read("PGSERVICEFILE"),
    Row::new(&["application_name"], Option("application_name")).read("PGAPPNAME"),
    Row::new(
        &["fallback_application_name"],
        Combined("`application_name` if that is not given"),
    ),
    Row::new(&["options"], Option("options")).read("PGOPTIONS"),
    Row::new(&["connect_timeout"], Connecting(Unit::Seconds)).read("PGCONNECT_TIMEOUT"),
    Row::new(&["channel_binding"], Option("channel_binding")).read("PGCHANNELBINDING"),
    Row::new(
        &["sslmode"],
        Choice(
            "sslmode",
            &[
                ("disable", Sets("disable")),
                ("prefer", Sets("prefer")),
                ("require", Sets("require")),
                ("verify-ca", Sets("verify-ca")),
                ("verify-full", Sets("verify-full")),
                ("allow", Rejected(ALLOW)),
                ("no-verify", Sets("require")),
            ],
            Rejected("write disable, prefer, require, verify-ca or verify-full"),
        ),
    )
    .read("PGSSLMODE"),
    Row::new(&["sslrootcert"], Option("sslrootcert")).read("PGSSLROOTCERT"),
    Row::new(&["sslcert"], Option("sslcert")).read("PGSSLCERT"),
    Row::new(&["sslkey"], Option("sslkey")).read("PGSSLKEY"),
    Row::new(
        &["requiressl"],
        Choice("sslmode", &[("1", Sets("require")), ("0", Same)], Rejected("write sslmode=require")),
    )
    .judged("PGREQUIRESSL"),
    Row::new(
        &["sslnegotiation"],
        Choice(
            "",
            &[
                ("postgres", Same),
                ("direct", Ignored("Lydite asks for TLS first, which costs a round trip more for each connection")),
            ],
            Rejected("write postgres, or leave it out"),
        ),
    )
    .judged("PGSSLNEGOTIATION"),
    Row::new(
        &["sslcertmode"],
        Choice("", &[("allow", Same)], Rejected("leave it out: a certificate is sent if sslcert names one")),
    )
    .judged("PGSSLCERTMODE"),
    Row::new(&["sslcompression"], Choice("", &[("0", Same)], Ignored("TLS is never compressed")))
        .judged("PGSSLCOMPRESSION"),
    Row::new(&["sslcrl"], Choice("", &[], Rejected(REVOKED))).judged("PGSSLCRL"),
    Row::new(&["sslcrldir"], Choice("", &[], Rejected(REVOKED))).judged("PGSSLCRLDIR"),
    Row::new(
        &["sslsni"],
        Choice("", &[("1", Same)], Rejected("Lydite names the host when TLS begins: leave it out, or write an address")),
    )
    .judged("PGSSLSNI"),
    Row::new(
        &["ssl_min_protocol_version"],
        Choice("", &[("TLSv1", Same), ("TLSv1.1", Same), ("TLSv1.2", Same)], Rejected(VERSIONS)),
    )
    .judged("PGSSLMINPROTOCOLVERSION"),
    Row::new(&["ssl_max_protocol_version"], Choice("", &[("TLSv1.3", Same)], Rejected(VERSIONS)))
        .judged("PGSSLMAXPROTOCOLVERSION"),
    Row::new(
        &["gssencmode"],
        Choice("", &[("disable", Same), ("prefer", Ignored(GSS))], Rejected("Lydite has no GSSAPI: write sslmode=require")),
    )
    .judged("PGGSSENCMODE"),
    Row::new(&["krbsrvname"], Choice("", &[], Ignored(KERBEROS))).judged("PGKRBSRVNAME"),
    Row::new(&["gsslib"], Choice("", &[], Ignored(KERBEROS))).judged("PGGSSLIB"),
    Row::new(&["gssdelegation"], Choice("", &[], Ignored(KERBEROS))).judged("PGGSSDELEGATION"),
    Row::new(
        &["requirepeer"],
        Choice("", &[], Rejected("Lydite does not ask who runs the server: leave it out")),
    )
    .judged("PGREQUIREPEER"),
    Row::new(
        &["require_auth"],
        Choice(
            "",
            &[],
            Rejected("Lydite can't restrict the login: leave it out, or write channel_binding=require for SCRAM alone"),
        ),
    )
    .judged("PGREQUIREAUTH"),
    Row::new(
        &["target_session_attrs"],
        Choice(
            "",
            &[
                ("any", Ignored(PRIMARY)),
                ("read-write", Ignored(PRIMARY)),
                ("primary", Ignored(PRIMARY)),
                ("read-only", Rejected(STANDBY)),
                ("standby", Rejected(STANDBY)),
                ("prefer-standby", Rejected(STANDBY)),
            ],
            Rejected("write primary, or leave it out"),
        ),
    )
    .judged("PGTARGETSESSIONATTRS"),
    Row::new(
        &["load_balance_hosts"],
        Choice("", &[("random", Same), ("disable", Ignored(SPREAD))], Rejected("write random, or leave it out")),
    )
    .judged("PGLOADBALANCEHOSTS"),
    Row::new(&["client_encoding"], Choice("", &[], Ignored(TEXTS))).judged("PGCLIENTENCODING"),
    Row::new(
        &["min_protocol_version"],
        Choice("", &[("3.0", Same)], Rejected("Lydite speaks version 3.0 of the protocol: leave it out")),
    )
    .judged("PGMINPROTOCOLVERSION"),
    Row::new(
        &["max_protocol_version"],
        Choice("", &[("3.0", Same)], Ignored("Lydite speaks version 3.0 of the protocol")),
    )
    .judged("PGMAXPROTOCOLVERSION"),
    Row::new(
        &["replication"],
        Choice("", &[("false", Same)], Rejected("a connection for replication takes no transactions: leave it out")),
    ),
];

/// Parameters of libpq with one reason for several.
const GROUPS: &[Group] = &[
    Group::ignored(
        ALIVE,
        &["keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"],
    ),
    Group::ignored("Lydite logs no keys of TLS", &["sslkeylogfile"]),
    Group::rejected(PASSPHRASE, &["sslpassword"]),
    Group::rejected("write the password", &["scram_client_key", "scram_server_key"]),
    Group::rejected(
        "Lydite has no login by OAuth: use a password or a certificate",
        &["oauth_issuer", "oauth_client_id", "oauth_client_secret", "oauth_scope"],
    ),
];

/// Variables without a parameter.
const VARIABLES: &[Row] = &[
    Row::new(&[], Choice("", &[], Ignored(ZONE))).judged("PGTZ"),
    Row::new(&[], Choice("", &[], Ignored("Lydite sets the style of dates where it matters")))
        .judged("PGDATESTYLE"),
    Row::new(&[], Choice("", &[], Ignored("it is for joins of a dozen tables, which Lydite does not have")))
        .judged("PGGEQO"),
    Row::new(&[], Combined("the directory of `pg_service.conf` for all users")).read("PGSYSCONFDIR"),
    Row::new(&[], Choice("", &[], Ignored("messages are English"))).judged("PGLOCALEDIR"),
];

/// Parameters that pgx and GORM take in keywords and in URLs.
const PGX: &[Row] = &[
    Row::new(&["search_path"], First("schema")),
    Row::new(&["pool_max_conn_lifetime"], Time("connection_lifetime", Unit::Written)),
    Row::new(
        &["default_query_exec_mode"],
        Choice(
            "statements",
            &[
                ("cache_statement", Same),
                ("cache_describe", UNPREPARED),
                ("describe_exec", UNPREPARED),
                ("exec", UNPREPARED),
                ("simple_protocol", UNPREPARED),
            ],
            Rejected("write cache_statement, exec or simple_protocol"),
        ),
    ),
];
const PGX_GROUPS: &[Group] = &[
    Group::ignored(ZONE, &["TimeZone"]),
    Group::ignored(
        POOL,
        &["pool_max_conns", "pool_min_conns", "pool_max_conn_idle_time", "pool_health_check_period"],
    ),
    Group::ignored(STATEMENTS, &["description_cache_capacity"]),
];

/// Parameters that Prisma, SQLAlchemy, asyncpg, node-postgres, Rails and Django add.
const ADDED: &[Row] = &[
    Row::new(
        &["ssl"],
        Combined("`true` or a mode: `sslmode=require`, or that mode, unless `sslmode` is given"),
    ),
    Row::new(
        &["sslaccept"],
        Combined("`strict`: `sslmode=verify-full`; `accept_invalid_certs`: the certificate is not checked"),
    ),
    Row::new(&["currentSchema"], First("schema")),
    Row::new(&["socket_timeout"], Time("statement_timeout", Unit::Seconds)),
    Row::new(&["command_timeout"], Time("statement_timeout", Unit::Seconds)),
    Row::new(&["pgbouncer"], Choice("statements", &[("true", UNPREPARED), ("false", Same)], TRUTH)),
    Row::new(&["prepared_statements"], Choice("statements", &[("false", UNPREPARED), ("true", Same)], TRUTH)),
    Row::new(
        &["statement_cache_size", "prepared_statement_cache_size", "statement_cache_capacity"],
        Choice("statements", &[("0", UNPREPARED)], Ignored(STATEMENTS)),
    ),
];
const TRUTH: Word = Rejected("write true or false");
const ADDED_GROUPS: &[Group] = &[
    Group::ignored(
        POOL,
        &[
            "connection_limit",
            "pool",
            "pool_timeout",
            "max_connections",
            "conn_max_age",
            "conn_health_checks",
            "checkout_timeout",
            "reaping_frequency",
            "idle_timeout",
        ],
    ),
    Group::ignored(STATEMENTS, &["binary_parameters"]),
    Group::ignored(TEXTS, &["encoding", "charset"]),
    Group::ignored(VALUES, &["uselibpqcompat", "async_fallback", "sslinline"]),
    Group::rejected(CONTAINER, &["sslidentity"]),
    // YugabyteDB's drivers.
    Group::ignored(SPREAD, &["load_balance"]),
    Group::ignored(ZONES, &["topology_keys", "fallback_to_topology_keys_only"]),
    Group::ignored(
        HOSTS_STAY,
        &["yb_servers_refresh_interval", "failed_host_reconnect_delay_secs", "failed_host_ttl_seconds"],
    ),
];

const SURROUNDINGS: Surroundings = Surroundings { are_set: service::is_set, fill };

/// Keywords with values.
pub(super) static KEYWORDS: Dialect = Dialect {
    name: "libpq",
    form: Form::Keywords,
    schemes: &[("", "postgres")],
    about: "`host=… dbname=… user=… password='…'`, as psql takes it, its environment variables, and what pgx and GORM add. TLS is `prefer` \
            without `sslmode`. The variables hold for `postgres://` too; an own value of the string comes first, then \
            the service file, then the variables.",
    rows: &[ROWS, PGX, VARIABLES],
    groups: &[PGX_GROUPS, GROUPS],
    decoding: Decoding::None,
    has_fragments: false,
    socket: "host",
    typical: &[],
    finish: keywords,
    surroundings: Some(SURROUNDINGS),
};

/// URLs.
pub(super) static URL: Dialect = Dialect {
    name: "URLs of PostgreSQL",
    form: Form::Url,
    schemes: &[
        ("postgres", "postgres"),
        ("postgresql", "postgresql"),
        ("cockroach", "cockroach"),
        ("yugabyte", "yugabyte"),
        ("citus", "citus"),
        ("pgsql", "postgres"),
        ("pgx", "postgres"),
        ("pgx5", "postgres"),
        ("postgis", "postgres"),
        ("timescale", "postgres"),
        ("timescaledb", "postgres"),
        ("cockroachdb", "cockroach"),
        ("yugabytedb", "yugabyte"),
    ],
    about: "`postgres://…?NAME=VALUE`, also `postgresql+psycopg2://…`: the parameters of libpq, those of Lydite's own \
            URLs (`lydite targets`), and what Prisma, SQLAlchemy, asyncpg, pgx, node-postgres, Rails, Django and YugabyteDB's \
            drivers add. TLS is `prefer` without `sslmode`.",
    rows: &[ADDED, PGX, ROWS, VARIABLES],
    groups: &[ADDED_GROUPS, PGX_GROUPS, GROUPS],
    decoding: Decoding::Percent,
    has_fragments: false,
    socket: "host",
    typical: &[],
    finish: url,
    surroundings: Some(SURROUNDINGS),
};

fn keywords(given: &Given, draft: &mut Draft, findings: &mut Findings) {
    if !given.has("load_balance_hosts") {
        several_hosts(draft, findings);
    }
    fallback(given, draft);
}

/// Sets the name of the sessions that a program has for those without one.
fn fallback(given: &Given, draft: &mut Draft) {
    if let (Some(name), None) = (given.get("fallback_application_name"), draft.get("application_name")) {
        draft.set("application_name", name);
    }
}

fn url(given: &Given, draft: &mut Draft, findings: &mut Findings) {
    fallback(given, draft);
    only_postgres(draft, findings);
    match given.get("ssl").map(str::to_ascii_lowercase).as_deref() {
        None | Some("false" | "0" | "") => {}
        Some("true" | "1") if draft.get("sslmode").is_none() => draft.set("sslmode", "require"),
        Some("true" | "1") => {}
        Some(mode @ ("disable" | "prefer" | "require" | "verify-ca" | "verify-full")) => {
            draft.set("sslmode", mode)
        }
        Some("no-verify") => draft.set("sslmode", "require"),
        Some(_) => findings.error("parameter ssl is no truth value and no mode: write sslmode=…"),
    }
    match given.get("sslaccept") {
        Some("strict") if draft.get("sslmode") != Some("disable") => draft.set("sslmode", "verify-full"),
        None | Some("strict" | "accept_invalid_certs") => {}
        Some(_) => findings.error("parameter sslaccept: write strict or accept_invalid_certs"),
    }
}

fn fill(given: &Given, draft: &mut Draft, findings: &mut Findings) {
    service::fill(&KEYWORDS, given, draft, findings);
}
