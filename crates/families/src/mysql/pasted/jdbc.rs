//! Parameters of MySQL's driver for Java (Connector/J), and of MariaDB's.

use super::words::{
    ALIVE, CODE, CONNECTING, DNS, FILES, FIRST, LEVEL, LEVELS, LOGIN, OWN_ADDRESS, PACKED, POOL, PUBLIC_KEY,
    SESSION, SPREAD, STATEMENTS, STORE, TEXTS, VALUES, VERSIONS, ZONE, several_hosts, without_tls,
};
use crate::pasted::draft::Draft;
use crate::pasted::findings::Findings;
use crate::pasted::row::Meaning::{Choice, Combined, Database, Host, Password, Port, Socket, Time, User};
use crate::pasted::row::Word::{Ignored, Rejected, Same};
use crate::pasted::row::{Decoding, Dialect, Form, Given, Group, Row, Unit};

const CREATE: &str = "Lydite makes no databases: create it first";
const REPLICATION: &str =
    "its first host is the primary: name that one alone, and the others with --replicas";

/// Parameters of both.
const ROWS: &[Row] = &[
    Row::new(&["user"], User),
    Row::new(&["password"], Password),
    Row::new(&["socketTimeout"], Time("statement_timeout", Unit::Milliseconds)),
    Row::new(&["sslMode"], Combined("the mode of TLS in Lydite's words")).sets("sslmode"),
    Row::new(&["createDatabaseIfNotExist"], Choice("", &[("false", Same)], Ignored(CREATE))),
    Row::new(&["useCompression"], Choice("", &[("false", Same)], Ignored(PACKED))),
    Row::new(&["transactionIsolation"], Choice("isolation", LEVELS, Rejected(LEVEL))),
];

const GROUPS: &[Group] = &[
    Group::ignored(CONNECTING, &["connectTimeout"]),
    Group::ignored(
        STATEMENTS,
        &[
            "rewriteBatchedStatements",
            "cachePrepStmts",
            "prepStmtCacheSize",
            "prepStmtCacheSqlLimit",
            "useServerPrepStmts",
            "allowMultiQueries",
            "defaultFetchSize",
            "useLocalSessionState",
            "useLocalTransactionState",
            "elideSetAutoCommits",
            "alwaysSendSetIsolation",
            "useCursorFetch",
            "useBulkStmts",
            "useBulkStmtsForInserts",
            "disablePipeline",
            "maxAllowedPacket",
            "autocommit",
            "cacheCallableStmts",
            "callableStmtCacheSize",
            "emulateUnsupportedPstmts",
            "processEscapeCodesForPrepStmts",
            "enableEscapeProcessing",
            "continueBatchOnError",
            "dontTrackOpenResources",
            "cacheServerConfiguration",
            "cacheResultSetMetadata",
            "metadataCacheSize",
            "useConfigs",
        ],
    ),
    Group::ignored(
        TEXTS,
        &[
            "useUnicode",
            "characterEncoding",
            "characterSetResults",
            "connectionCollation",
            "passwordCharacterEncoding",
            "customCharsetMapping",
            "detectCustomCollations",
            "clobCharacterEncoding",
        ],
    ),
    Group::ignored(
        ZONE,
        &[
            "serverTimezone",
            "connectionTimeZone",
            "timezone",
            "useLegacyDatetimeCode",
            "useTimezone",
            "useJDBCCompliantTimezoneShift",
            "forceConnectionTimeZoneToSession",
            "preserveInstants",
            "cacheDefaultTimeZone",
            "cacheDefaultTimezone",
            "noDatetimeStringSync",
            "pureLocalDateTime",
        ],
    ),
    Group::ignored(
        VALUES,
        &[
            "zeroDateTimeBehavior",
            "tinyInt1isBit",
            "transformedBitIsBoolean",
            "yearIsDateType",
            "nullCatalogMeansCurrent",
            "nullDatabaseMeansCurrent",
            "databaseTerm",
            "useCatalogTerm",
            "useInformationSchema",
            "useAffectedRows",
            "useOldAliasMetadataBehavior",
            "useColumnNamesInFindColumn",
            "noAccessToProcedureBodies",
            "getProceduresReturnsFunctions",
            "generateSimpleParameterMetadata",
            "sendFractionalSeconds",
            "sendFractionalSecondsForTime",
            "treatUtilDateAsTimestamp",
            "useUnbufferedInput",
            "useReadAheadInput",
            "useSSPSCompatibleTimezoneShift",
            "blobsAreStrings",
            "functionsNeverReturnBlobs",
            "allowNanAndInf",
            "autoDeserialize",
            "emptyStringsConvertToZero",
            "jdbcCompliantTruncation",
            "padCharsWithSpace",
            "pedantic",
            "paranoid",
            "maxRows",
            "blankTableNameMeta",
            "geometryDefaultType",
            "uuidAsString",
            "useMysqlMetadata",
            "returnMultiValuesGeneratedIds",
            "permitNoResults",
            "oldModeNoPrecisionTimestamp",
            "cacheCodecs",
            "metaExportedKeys",
            "connectionAttributes",
            "dumpQueriesOnException",
            "includeInnodbStatusInDeadlockExceptions",
            "includeThreadDumpInDeadlockExceptions",
            "includeThreadNamesAsStatementComment",
            "logger",
            "profileSQL",
            "profilerEventHandler",
            "logSlowQueries",
            "autoSlowLog",
            "slowQueryThresholdMillis",
            "maxQuerySizeToLog",
            "gatherPerfMetrics",
            "maintainTimeStats",
            "useUsageAdvisor",
            "useHostsInPrivileges",
            "useOnlyServerErrorMessages",
            "trackSessionState",
            "interactiveClient",
        ],
    ),
    Group::ignored(
        ALIVE,
        &[
            "autoReconnect",
            "autoReconnectForPools",
            "maxReconnects",
            "initialTimeout",
            "failOverReadOnly",
            "retriesAllDown",
            "reconnectAtTxEnd",
            "tcpKeepAlive",
            "tcpKeepIdle",
            "tcpKeepCount",
            "tcpKeepInterval",
            "tcpNoDelay",
            "tcpRcvBuf",
            "tcpSndBuf",
            "tcpTrafficClass",
            "tcpAbortiveClose",
            "enableQueryTimeouts",
            "queryTimeoutKillsConnection",
            "netTimeoutForStreamingResults",
            "useIpForKillQuery",
            "disconnectOnExpiredPasswords",
        ],
    ),
    Group::ignored(
        POOL,
        &[
            "pool",
            "poolName",
            "maxPoolSize",
            "minPoolSize",
            "maxIdleTime",
            "poolValidMinDelay",
            "registerJmxPool",
            "useResetConnection",
            "rollbackOnPooledClose",
            "pinGlobalTxToPhysicalConnection",
        ],
    ),
    Group::ignored(PUBLIC_KEY, &["allowPublicKeyRetrieval", "serverRSAPublicKeyFile"]),
    Group::ignored(
        FILES,
        &["allowLoadLocalInfile", "allowLoadLocalInfileInPath", "allowUrlInLocalInfile", "allowLocalInfile"],
    ),
    Group::ignored(LOGIN, &["defaultAuthenticationPlugin", "authenticationPlugins"]),
    Group::ignored(
        "Lydite trusts the CAs of the system, or of ssl-ca",
        &["fallbackToSystemTrustStore", "fallbackToSystemKeyStore"],
    ),
    Group::ignored(
        SPREAD,
        &[
            "loadbalance:",
            "load-balance:",
            "sequential:",
            "failover:",
            "ha.loadBalanceStrategy",
            "loadBalanceStrategy",
            "loadBalanceAutoCommitStatementThreshold",
            "loadBalanceBlocklistTimeout",
            "loadBalancePingTimeout",
            "loadBalanceValidateConnectionOnSwapServer",
            "secondsBeforeRetrySource",
            "queriesBeforeRetrySource",
            "serverAffinityOrder",
            "readOnlyPropagatesToServer",
        ],
    ),
    Group::rejected(REPLICATION, &["replication:", "load-balance-read:", "aurora:"]),
    Group::rejected(SESSION, &["sessionVariables"]),
    Group::rejected(
        FIRST,
        &["initSql", "queryInterceptors", "connectionLifecycleInterceptors", "exceptionInterceptors"],
    ),
    Group::rejected(
        STORE,
        &[
            "trustCertificateKeyStoreUrl",
            "trustCertificateKeyStoreType",
            "trustCertificateKeyStorePassword",
            "clientCertificateKeyStoreUrl",
            "clientCertificateKeyStoreType",
            "clientCertificateKeyStorePassword",
            "keyStore",
            "keyStoreType",
            "keyStorePassword",
            "keyPassword",
            "trustStore",
            "trustStoreType",
            "trustStorePassword",
        ],
    ),
    Group::rejected(
        VERSIONS,
        &[
            "tlsVersions",
            "enabledTLSProtocols",
            "tlsCiphersuites",
            "enabledSSLCipherSuites",
            "enabledSslProtocolSuites",
        ],
    ),
    Group::rejected(
        CODE,
        &[
            "socketFactory",
            "cloudSqlInstance",
            "credentialType",
            "tlsSocketType",
            "propertiesTransform",
            "clientInfoProvider",
        ],
    ),
    Group::rejected(OWN_ADDRESS, &["localSocketAddress"]),
    Group::rejected(
        "Lydite connects without a proxy: name an address that it reaches",
        &["socksProxyHost", "socksProxyPort"],
    ),
    Group::rejected(DNS, &["dnsSrv"]),
    Group::rejected("Lydite has one password: leave it out", &["password1", "password2", "password3"]),
    Group::rejected(
        "Lydite can't restrict the login: leave it out",
        &[
            "disabledAuthenticationPlugins",
            "restrictedAuth",
            "servicePrincipalName",
            "ociConfigFile",
            "ldapServerHostname",
        ],
    ),
    Group::rejected("Lydite uses no named pipes: name a host, or a Unix socket", &["pipe", "namedPipePath"]),
];

const MYSQL_ROWS: &[Row] = &[
    Row::new(&["host"], Host),
    Row::new(&["port"], Port),
    Row::new(&["dbname"], Database),
    Row::new(
        &["useSSL"],
        Combined("without `sslMode`: `false`: `sslmode=disable`; `true`: `prefer`, or what the next two say"),
    )
    .sets("sslmode"),
    Row::new(
        &["requireSSL"],
        Combined("`true` without `sslMode`, and `useSSL` not `false`: `sslmode=require`"),
    )
    .sets("sslmode"),
    Row::new(
        &["verifyServerCertificate"],
        Combined("`true` without `sslMode`, and `useSSL` not `false`: `sslmode=verify-ca`"),
    )
    .sets("sslmode"),
];
const MYSQL_GROUPS: &[Group] = &[Group::rejected(
    "it is for MariaDB's driver: write jdbc:mariadb: at the beginning",
    &["permitMysqlScheme"],
)];

const MARIADB_ROWS: &[Row] = &[
    Row::new(&["database"], Database),
    Row::new(&["localSocket"], Socket),
    Row::new(&["useSsl", "useSSL"], Combined("`true`: `sslmode=verify-full`, or what the next two say"))
        .sets("sslmode"),
    Row::new(&["trustServerCertificate"], Combined("`true` with `useSsl`: `sslmode=require`"))
        .sets("sslmode"),
    Row::new(&["disableSslHostnameVerification"], Combined("`true` with `useSsl`: `sslmode=verify-ca`"))
        .sets("sslmode"),
    Row::new(
        &["serverSslCert"],
        Combined("`ssl-ca` with the same file; a certificate itself, or `classpath:`, is rejected"),
    )
    .sets("ssl-ca"),
];
const MARIADB_GROUPS: &[Group] = &[Group::ignored(
    VALUES,
    &["galeraAllowedState", "transactionReplay", "transactionReplaySize", "permitRedirect"],
)];

/// Connection strings of Connector/J.
pub(super) static MYSQL: Dialect = Dialect {
    name: "Connector/J",
    form: Form::Jdbc,
    schemes: &[("mysql", "mysql"), ("oceanbase", "oceanbase")],
    about: "`jdbc:mysql://HOST:PORT/DATABASE?user=…&password=…`. TLS is `prefer` without `sslMode` and `useSSL`. A `+` in a \
            parameter is a space, and a `#` ends the string.",
    rows: &[MYSQL_ROWS, ROWS],
    groups: &[MYSQL_GROUPS, GROUPS],
    decoding: Decoding::Form,
    has_fragments: true,
    socket: "socket",
    typical: &[],
    finish: of_mysql,
    surroundings: None,
};

/// Connection strings of MariaDB Connector/J.
pub(super) static MARIADB: Dialect = Dialect {
    name: "MariaDB Connector/J",
    form: Form::Jdbc,
    schemes: &[("mariadb", "mariadb")],
    about: "`jdbc:mariadb://HOST:PORT/DATABASE?user=…&password=…`. The driver uses no TLS without `sslMode`, and takes \
            parameters as they stand: `%40` is no `@`.",
    rows: &[MARIADB_ROWS, ROWS],
    groups: &[MARIADB_GROUPS, GROUPS],
    decoding: Decoding::None,
    has_fragments: false,
    socket: "socket",
    typical: &[],
    finish: of_mariadb,
    surroundings: None,
};

fn of_mysql(given: &Given, draft: &mut Draft, findings: &mut Findings) {
    several_hosts(draft, findings);
    let mode = match given.get("sslMode").map(str::to_ascii_uppercase).as_deref() {
        Some("DISABLED") => "disable",
        Some("PREFERRED") => "prefer",
        Some("REQUIRED") => "require",
        Some("VERIFY_CA") => "verify-ca",
        Some("VERIFY_IDENTITY") => "verify-full",
        Some(_) => {
            return findings.unread(
                "sslMode",
                "sslMode: ",
                "write DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY",
            );
        }
        None if given.switch("useSSL") == Some(false) => "disable",
        None if given.switch("verifyServerCertificate") == Some(true) => "verify-ca",
        None if given.switch("requireSSL") == Some(true) => "require",
        None => "prefer",
    };
    draft.set("sslmode", mode);
}

fn of_mariadb(given: &Given, draft: &mut Draft, findings: &mut Findings) {
    several_hosts(draft, findings);
    match given.get("serverSslCert") {
        Some(certificate) if certificate.starts_with("classpath:") || certificate.contains("-----BEGIN") => {
            findings.rejected("serverSslCert", "serverSslCert: ", "write the path of a file (PEM)");
        }
        Some(path) => draft.set("ssl-ca", path),
        None => {}
    }
    let legacy = given.switch("useSsl").unwrap_or(false);
    let mode = match given.get("sslMode").map(|mode| mode.to_ascii_lowercase().replace('_', "-")).as_deref() {
        Some("disable" | "disabled" | "false" | "0") => "disable",
        Some("trust" | "required") => "require",
        Some("verify-ca") => "verify-ca",
        Some("verify-full" | "verify-identity" | "true" | "1") => "verify-full",
        Some(_) => {
            let why = "write disable, trust, verify-ca or verify-full";
            return findings.unread("sslMode", "sslMode: ", why);
        }
        None if legacy && given.switch("trustServerCertificate") == Some(true) => "require",
        None if legacy && given.switch("disableSslHostnameVerification") == Some(true) => "verify-ca",
        None if legacy => "verify-full",
        None => return without_tls(draft, "sslMode", findings),
    };
    draft.set("sslmode", mode);
}
