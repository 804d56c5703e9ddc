//! Parameters of MySQL's and MariaDB's drivers for ODBC.

use super::words::{
    ALIVE, CONNECTING, DNS, FILES, FIRST, LOGIN, PACKED, PUBLIC_KEY, STATEMENTS, STORE, TEXTS, TLS, VALUES,
    VERSIONS, set_mode, several_hosts,
};
use crate::pasted::draft::Draft;
use crate::pasted::findings::Findings;
use crate::pasted::row::Meaning::{
    Choice, Combined, Database, Host, Option, Password, Port, Socket, Time, User,
};
use crate::pasted::row::Word::{Rejected, Same};
use crate::pasted::row::{Decoding, Dialect, Form, Given, Group, Row, Unit};
use crate::pasted::words::{DRIVER, NAMED};

const ROWS: &[Row] = &[
    Row::new(&["Driver"], Combined(DRIVER)),
    Row::new(&["Server", "Servername"], Host),
    Row::new(&["Port"], Port),
    Row::new(&["Database", "DB"], Database),
    Row::new(&["User", "UID"], User),
    Row::new(&["Password", "PWD"], Password),
    Row::new(&["Socket"], Socket),
    Row::new(
        &["SSLMODE"],
        Choice("sslmode", TLS, Rejected("write DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY")),
    ),
    Row::new(&["ForceTLS"], Combined("`1`: `sslmode=require` unless a mode is given")).sets("sslmode"),
    Row::new(&["SSLVerify"], Combined("`1`: `sslmode=verify-full` unless a mode is given")).sets("sslmode"),
    Row::new(&["SSLCA", "SSL-CA"], Option("ssl-ca")),
    Row::new(&["SSLCERT", "SSL-CERT"], Option("ssl-cert")),
    Row::new(&["SSLKEY", "SSL-KEY"], Option("ssl-key")),
    Row::new(&["ReadTimeout", "Read_Timeout"], Time("statement_timeout", Unit::Seconds)),
    Row::new(&["NamedPipe", "NAMED_PIPE"], Choice("", &[("0", Same)], Rejected("write Server=HOST"))),
];

const GROUPS: &[Group] = &[
    Group::ignored(CONNECTING, &["Conn_Timeout", "ConnTimeout"]),
    Group::ignored(
        ALIVE,
        &[
            "WriteTimeout",
            "Write_Timeout",
            "AUTO_RECONNECT",
            "Reconnect",
            "Interactive",
            "NO_PROMPT",
            "TCPIP",
        ],
    ),
    Group::ignored(TEXTS, &["CharSet", "Character Set"]),
    Group::ignored(
        VALUES,
        &[
            "Option",
            "Options",
            "Description",
            "FOUND_ROWS",
            "BIG_PACKETS",
            "DYNAMIC_CURSOR",
            "NO_SCHEMA",
            "NO_CATALOG",
            "NO_BIGINT",
            "PAD_SPACE",
            "FULL_COLUMN_NAMES",
            "AUTO_IS_NULL",
            "ZERO_DATE_TO_MIN",
            "MIN_DATE_TO_ZERO",
            "COLUMN_SIZE_S32",
            "NO_BINARY_RESULT",
            "DFLT_BIGINT_BIND_STR",
            "LOG_QUERY",
            "SAFE",
            "NO_I_S",
            "NO_LOCALE",
            "IGNORE_SPACE",
            "CAN_HANDLE_EXP_PWD",
            "USE_MYCNF",
        ],
    ),
    Group::ignored(
        STATEMENTS,
        &[
            "NO_SSPS",
            "PREFETCH",
            "NO_CACHE",
            "FORWARD_CURSOR",
            "MULTI_STATEMENTS",
            "NO_TRANSACTIONS",
            "PrepOnClient",
        ],
    ),
    Group::ignored(FILES, &["ENABLE_LOCAL_INFILE", "LOAD_DATA_LOCAL_DIR"]),
    Group::ignored(PACKED, &["COMPRESSED_PROTO", "UseCompression"]),
    Group::ignored(PUBLIC_KEY, &["RSAKEY", "GET_SERVER_PUBLIC_KEY"]),
    Group::ignored(LOGIN, &["DEFAULT_AUTH", "PLUGIN_DIR", "ENABLE_CLEARTEXT_PLUGIN"]),
    Group::ignored("sessions are spread over all hosts", &["MULTI_HOST"]),
    Group::rejected(DNS, &["ENABLE_DNS_SRV"]),
    Group::rejected(FIRST, &["InitStmt", "Stmt"]),
    Group::rejected(
        STORE,
        &["SSLCAPATH", "SSL-CAPATH", "SSLCRL", "SSL-CRL", "SSLCRLPATH", "SSL-CRLPATH", "TLSPEERFP"],
    ),
    Group::rejected(
        VERSIONS,
        &[
            "SSLCIPHER",
            "SSL-CIPHER",
            "TLS-VERSIONS",
            "TLSVERSION",
            "NO_TLS_1_0",
            "NO_TLS_1_1",
            "NO_TLS_1_2",
            "NO_TLS_1_3",
        ],
    ),
    Group::rejected(NAMED, &["DSN", "FileDSN"]),
];

/// Connection strings of Connector/ODBC of MySQL and of MariaDB.
pub(super) static ODBC: Dialect = Dialect {
    name: "Connector/ODBC",
    form: Form::Odbc,
    schemes: &[("maria", "mariadb"), ("mysql", "mysql"), ("myodbc", "mysql")],
    about: "`Driver={MySQL ODBC 8.0 Unicode Driver};Server=…;Database=…;User=…;Password=…`, also of MariaDB's driver. TLS is \
            `prefer` unless a parameter says otherwise. A value with a semicolon is between braces.",
    rows: &[ROWS],
    groups: &[GROUPS],
    decoding: Decoding::None,
    has_fragments: false,
    socket: "socket",
    typical: &[],
    finish,
    surroundings: None,
};

fn finish(given: &Given, draft: &mut Draft, findings: &mut Findings) {
    several_hosts(draft, findings);
    if given.switch("SSLVerify") == Some(true) {
        set_mode(draft, "verify-full");
    }
    if given.switch("ForceTLS") == Some(true) {
        set_mode(draft, "require");
    }
}
