//! Parameters of PostgreSQL's driver for Java (pgjdbc).

use super::libpq::KEYWORDS;
use super::service;
use super::words::{
    ALIVE, ALLOW, ASKED, BUFFERS, CODE, CONTAINER, GSS, HOSTS_STAY, KERBEROS, OWN_ADDRESS, PASSPHRASE,
    PRIMARY, SPREAD, STANDBY, STATEMENTS, UNPREPARED, VALUES, ZONES, only_postgres, several_hosts,
};
use crate::net::url::variable;
use crate::pasted::draft::Draft;
use crate::pasted::findings::Findings;
use crate::pasted::row::Meaning::{
    Choice, Combined, Connecting, Database, First, Host, Option, Password, Port, Time, User,
};
use crate::pasted::row::Word::{Ignored, Rejected, Same};
use crate::pasted::row::{Decoding, Dialect, Form, Given, Group, Row, Unit, truth};

const ROWS: &[Row] = &[
    Row::new(&["user"], User),
    Row::new(&["password"], Password),
    Row::new(&["PGHOST"], Host),
    Row::new(&["PGPORT"], Port),
    Row::new(&["PGDBNAME"], Database),
    Row::new(
        &["service"],
        Combined("its parameters from libpq's service file, where the string leaves them out"),
    ),
    Row::new(&["ApplicationName"], Option("application_name")),
    Row::new(&["currentSchema"], First("schema")),
    Row::new(&["options"], Option("options")),
    Row::new(&["connectTimeout"], Connecting(Unit::Seconds)),
    Row::new(&["loginTimeout"], Connecting(Unit::Seconds)),
    Row::new(&["socketTimeout"], Time("statement_timeout", Unit::Seconds)),
    Row::new(&["queryTimeout"], Time("statement_timeout", Unit::Seconds)),
    Row::new(
        &["ssl"],
        Combined(
            "`true` or empty: `sslmode=verify-full` unless `sslmode` is given; `false`: `sslmode=prefer`",
        ),
    )
    .sets("sslmode"),
    Row::new(&["sslmode"], Combined("the same mode; `allow` is rejected")).sets("sslmode"),
    Row::new(
        &["sslfactory"],
        Combined(
            "`…NonValidatingFactory`: the certificate is not checked; `…LibPQFactory`: the same; others are rejected",
        ),
    )
    .sets("sslmode"),
    Row::new(&["sslrootcert"], Option("sslrootcert")),
    Row::new(&["sslcert"], Option("sslcert")),
    Row::new(&["sslkey"], Combined("`sslkey` with the same file; `.pk8`, `.p12` and `.pfx` are rejected"))
        .sets("sslkey"),
    Row::new(&["channelBinding"], Option("channel_binding")),
    Row::new(&["sslNegotiation"], Choice("", &[("postgres", Same)], Ignored(ASKED))),
    Row::new(
        &["gssEncMode"],
        Choice("", &[("require", Rejected("Lydite has no GSSAPI: write sslmode=require"))], Ignored(GSS)),
    ),
    Row::new(
        &["targetServerType"],
        Choice(
            "",
            &[
                ("any", Ignored(PRIMARY)),
                ("primary", Ignored(PRIMARY)),
                ("master", Ignored(PRIMARY)),
                ("preferPrimary", Ignored(PRIMARY)),
            ],
            Rejected(STANDBY),
        ),
    ),
    Row::new(&["loadBalanceHosts"], Choice("", &[("true", Same)], Ignored(SPREAD))),
    Row::new(&["readOnly"], Choice("", &[("false", Same)], Rejected("transactions write: leave it out"))),
    Row::new(
        &["autosave"],
        Choice("", &[("never", Same)], Ignored("Lydite retries whole transactions, without savepoints")),
    ),
    Row::new(
        &["preferQueryMode"],
        Choice("statements", &[("simple", UNPREPARED), ("extendedForPrepared", Same)], Ignored(STATEMENTS)),
    ),
    Row::new(&["prepareThreshold"], Choice("statements", &[("0", UNPREPARED)], Ignored(STATEMENTS))),
    Row::new(
        &["replication"],
        Choice(
            "",
            &[("false", Same)],
            Rejected("a connection for replication takes no transactions: leave it out"),
        ),
    ),
    Row::new(
        &["protocolVersion"],
        Choice("", &[("3", Same), ("3.0", Same)], Ignored("Lydite speaks version 3.0")),
    ),
];

const GROUPS: &[Group] = &[
    Group::ignored(
        "loads use COPY; `--tx batched` inserts the lines of an order together",
        &["reWriteBatchedInserts", "reWriteBatchedInsertsSize"],
    ),
    Group::ignored(
        STATEMENTS,
        &[
            "preparedStatementCacheQueries",
            "preparedStatementCacheSizeMiB",
            "defaultRowFetchSize",
            "adaptiveFetch",
            "adaptiveFetchMaximum",
            "adaptiveFetchMinimum",
            "binaryTransfer",
            "binaryTransferEnable",
            "binaryTransferDisable",
            "cleanupSavepoints",
            "flushCacheOnDdl",
            "groupStartupParameters",
            "assumeMinServerVersion",
            "readOnlyMode",
            "escapeSyntaxCallMode",
        ],
    ),
    Group::ignored(
        VALUES,
        &[
            "allowEncodingChanges",
            "convertBooleanToNumeric",
            "databaseMetadataCacheFields",
            "databaseMetadataCacheFieldsMiB",
            "disableColumnSanitiser",
            "hideUnprivilegedObjects",
            "logServerErrorDetail",
            "logUnclosedConnections",
            "loggerLevel",
            "loggerFile",
            "quoteReturningIdentifiers",
            "stringtype",
            "unknownLength",
            "xmlFactoryFactory",
            "classLoaderStrategy",
            "connectExecutor",
            "connectExecutorArg",
            "scramMaxIterations",
        ],
    ),
    Group::ignored(
        ALIVE,
        &[
            "tcpKeepAlive",
            "tcpNoDelay",
            "cancelSignalTimeout",
            "sslResponseTimeout",
            "gssResponseTimeout",
            "hostRecheckSeconds",
        ],
    ),
    Group::ignored(BUFFERS, &["receiveBufferSize", "sendBufferSize", "maxResultBuffer", "maxSendBufferSize"]),
    Group::ignored(
        KERBEROS,
        &[
            "gsslib",
            "gssUseDefaultCreds",
            "jaasApplicationName",
            "jaasLogin",
            "kerberosServerName",
            "sspiServiceClass",
            "useSpnego",
            "pemKeyAlgorithm",
        ],
    ),
    Group::rejected(PASSPHRASE, &["sslpassword", "sslpasswordcallback"]),
    Group::rejected(
        CODE,
        &[
            "socketFactory",
            "socketFactoryArg",
            "sslfactoryarg",
            "sslhostnameverifier",
            "authenticationPluginClassName",
        ],
    ),
    Group::rejected(OWN_ADDRESS, &["localSocketAddress"]),
    Group::rejected(
        "Lydite can't restrict the login: leave it out, or write channelBinding=require for SCRAM alone",
        &["requireAuth"],
    ),
];

/// What YugabyteDB's driver adds.
const YUGABYTE_GROUPS: &[Group] = &[
    Group::ignored(SPREAD, &["load-balance"]),
    Group::ignored(ZONES, &["topology-keys", "fallback-to-topology-keys-only"]),
    Group::ignored(
        HOSTS_STAY,
        &["yb-servers-refresh-interval", "failed-host-reconnect-delay-secs", "failed-host-ttl-seconds"],
    ),
];

/// Connection strings of YugabyteDB's driver, which is made of pgjdbc.
pub(super) static YUGABYTE: Dialect = Dialect {
    name: "YugabyteDB's driver for Java",
    schemes: &[("yugabytedb", "yugabyte")],
    about: "`jdbc:yugabytedb://HOST:PORT,…/DATABASE?load-balance=true`: the parameters of pgjdbc, and its own about clusters.",
    groups: &[YUGABYTE_GROUPS, GROUPS],
    ..PGJDBC
};

/// Connection strings of pgjdbc.
pub(super) static JDBC: Dialect = PGJDBC;

const PGJDBC: Dialect = Dialect {
    name: "pgjdbc",
    form: Form::Jdbc,
    schemes: &[("postgresql", "postgres"), ("cockroachdb", "cockroach")],
    about: "`jdbc:postgresql://HOST:PORT,…/DATABASE?user=…&password=…`. TLS is `prefer` without `ssl` and `sslmode`, and \
            `verify-full` with `ssl=true`. A `+` in a parameter is a space. The driver reads none of libpq's variables but \
            those of Lydite's own URLs.",
    rows: &[ROWS],
    groups: &[GROUPS],
    decoding: Decoding::Form,
    has_fragments: false,
    socket: "host",
    typical: &[],
    finish,
    surroundings: None,
};

fn finish(given: &Given, draft: &mut Draft, findings: &mut Findings) {
    only_postgres(draft, findings);
    if let Some(name) = given.get("service") {
        service::add(&KEYWORDS, (name, None), draft, findings);
    } else if variable(&["PGSERVICE"]).is_some() {
        findings.ignored("PGSERVICE", "the driver reads it only as a parameter: write service=NAME");
    }
    if !given.has("loadBalanceHosts") {
        several_hosts(draft, findings);
    }
    if draft.database.is_none() {
        draft.database.clone_from(&draft.user);
    }
    match given.get("sslkey") {
        Some(key) if [".pk8", ".der"].iter().any(|end| key.ends_with(end)) => findings.rejected(
            "sslkey",
            "sslkey: ",
            "Lydite reads keys as PEM: write a copy with 'openssl pkcs8 -inform DER -nocrypt -in KEY -out FILE'",
        ),
        Some(key) if [".p12", ".pfx"].iter().any(|end| key.ends_with(end)) => {
            findings.rejected("sslkey", "sslkey: ", CONTAINER);
        }
        Some(key) => draft.set("sslkey", key),
        None => {}
    }
    tls(given, draft, findings);
}

/// Sets the mode of TLS as the driver does.
fn tls(given: &Given, draft: &mut Draft, findings: &mut Findings) {
    let mode =
        match (given.get("sslmode").map(str::to_ascii_lowercase).as_deref(), given.get("ssl").map(truth)) {
            (Some("disable"), _) => "disable",
            (Some("prefer"), _) | (None, None | Some(Some(false) | None)) => "prefer",
            (Some("require"), _) => "require",
            (Some("verify-ca"), _) => "verify-ca",
            (Some("verify-full"), _) | (None, Some(Some(true))) => "verify-full",
            (Some("allow"), _) => return findings.rejected("sslmode", "sslmode=allow: ", ALLOW),
            (Some(_), _) => {
                let why = "write disable, prefer, require, verify-ca or verify-full";
                return findings.unread("sslmode", "sslmode: ", why);
            }
        };
    let factory = given.get("sslfactory").and_then(|name| name.rsplit('.').next());
    let mode = match factory {
        Some("NonValidatingFactory") if mode.starts_with("verify") => "require",
        None | Some("NonValidatingFactory" | "LibPQFactory" | "DefaultJavaSSLFactory" | "") => mode,
        Some(_) => {
            let why = "names code in Java, which Lydite can't run: leave it out";
            findings.rejected("sslfactory", "sslfactory ", why);
            mode
        }
    };
    draft.set("sslmode", mode);
    if !mode.starts_with("verify") && draft.get("sslrootcert").is_some() {
        draft.unset("sslrootcert");
        findings.ignored("sslrootcert", "the driver reads it for verify-ca and verify-full only");
    }
}
