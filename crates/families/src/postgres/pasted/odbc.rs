//! Parameters of PostgreSQL's driver for ODBC (psqlODBC).

use super::words::{ALIVE, ALLOW, KERBEROS, STATEMENTS, UNPREPARED, VALUES, several_hosts};
use crate::pasted::draft::Draft;
use crate::pasted::findings::Findings;
use crate::pasted::row::Meaning::{Choice, Combined, Database, Host, Password, Port, User};
use crate::pasted::row::Word::{Ignored, Rejected, Same, Sets};
use crate::pasted::row::{Decoding, Dialect, Form, Given, Group, Row};
use crate::pasted::words::{DRIVER, NAMED};

const ROWS: &[Row] = &[
    Row::new(&["Driver"], Combined(DRIVER)),
    Row::new(&["Servername", "Server"], Host),
    Row::new(&["Port"], Port),
    Row::new(&["Database"], Database),
    Row::new(&["Username", "UID"], User),
    Row::new(&["Password", "PWD"], Password),
    Row::new(
        &["SSLmode", "CA"],
        Choice(
            "sslmode",
            &[
                ("disable", Sets("disable")),
                ("prefer", Sets("prefer")),
                ("require", Sets("require")),
                ("verify-ca", Sets("verify-ca")),
                ("verify-full", Sets("verify-full")),
                ("d", Sets("disable")),
                ("p", Sets("prefer")),
                ("r", Sets("require")),
                ("vc", Sets("verify-ca")),
                ("vf", Sets("verify-full")),
                ("allow", Rejected(ALLOW)),
                ("a", Rejected(ALLOW)),
            ],
            Rejected("write disable, prefer, require, verify-ca or verify-full"),
        ),
    ),
    Row::new(
        &["ReadOnly", "A0"],
        Choice("", &[("0", Same)], Rejected("transactions write: write ReadOnly=0")),
    ),
    Row::new(
        &["UseServerSidePrepare", "C8"],
        Choice("statements", &[("0", UNPREPARED), ("1", Same)], Ignored(STATEMENTS)),
    ),
];

const GROUPS: &[Group] = &[
    Group::ignored(ALIVE, &["KeepaliveTime", "D4", "KeepaliveInterval", "D5"]),
    Group::ignored(
        STATEMENTS,
        &["Protocol", "A1", "Fetch", "A7", "UseDeclareFetch", "B6", "Parse", "C0", "BatchSize", "D7"],
    ),
    Group::ignored(
        VALUES,
        &[
            "Description",
            "FakeOidIndex",
            "A2",
            "ShowOidColumn",
            "A3",
            "RowVersioning",
            "A4",
            "ShowSystemTables",
            "A5",
            "Socket",
            "A8",
            "UnknownSizes",
            "A9",
            "MaxVarcharSize",
            "B0",
            "MaxLongVarcharSize",
            "B1",
            "Debug",
            "B2",
            "CommLog",
            "B3",
            "Optimizer",
            "B4",
            "Ksqo",
            "B5",
            "TextAsLongVarchar",
            "B7",
            "UnknownsAsLongVarchar",
            "B8",
            "BoolsAsChar",
            "B9",
            "CancelAsFreeStmt",
            "C1",
            "ExtraSysTablePrefixes",
            "C2",
            "LFConversion",
            "C3",
            "UpdatableCursors",
            "C4",
            "DisallowPremature",
            "C5",
            "TrueIsMinus1",
            "C6",
            "BI",
            "C7",
            "ByteaAsLongVarBinary",
            "C9",
            "LowerCaseIdentifier",
            "D0",
            "XaOpt",
            "FetchRefcursors",
            "IgnoreTimeout",
            "D9",
        ],
    ),
    Group::ignored(KERBEROS, &["GssAuthUseGSS", "D1"]),
    Group::rejected(
        "Lydite runs no statement of yours on each connection: set it on the server, or leave it out",
        &["ConnSettings", "A6"],
    ),
    Group::rejected("write its parameters as libpq has them: 'host=… dbname=… user=…'", &["pqopt", "D6"]),
    Group::rejected(NAMED, &["DSN", "FileDSN"]),
];

/// Connection strings of psqlODBC.
pub(super) static ODBC: Dialect = Dialect {
    name: "psqlODBC",
    form: Form::Odbc,
    schemes: &[("postgres", "postgres"), ("psqlodbc", "postgres")],
    about: "`Driver={PostgreSQL Unicode};Server=…;Port=5432;Database=…;UID=…;PWD=…`, also with the short names such as `A0`. \
            TLS is `disable` without `SSLmode`. A value with a semicolon is between braces.",
    rows: &[ROWS],
    groups: &[GROUPS],
    decoding: Decoding::None,
    has_fragments: false,
    socket: "host",
    typical: &[],
    finish,
    surroundings: None,
};

fn finish(_given: &Given, draft: &mut Draft, findings: &mut Findings) {
    several_hosts(draft, findings);
    if draft.get("sslmode").is_none() {
        draft.set("sslmode", "disable");
        findings.note("sslmode=disable: the driver uses no TLS without SSLmode");
    }
}
