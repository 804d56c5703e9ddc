//! Parameters of Go's driver (go-sql-driver/mysql).

use super::words::{
    FILES, LEVEL, LEVELS, LOGIN, MODES, PACKED, POOL, SESSION, STATEMENTS, TEXTS, VALUES, ZONE, without_tls,
};
use crate::net::CONNECT_TIMEOUT;
use crate::pasted::draft::Draft;
use crate::pasted::findings::Findings;
use crate::pasted::row::Meaning::{Choice, Combined, Time};
use crate::pasted::row::Word::{Ignored, Rejected, Same};
use crate::pasted::row::{Decoding, Dialect, Form, Given, Group, Row, Unit};

const ROWS: &[Row] = &[
    Row::new(
        &["tls"],
        Combined(
            "`true`: `sslmode=verify-full`; `skip-verify`: `require`; `preferred`: `prefer`; `false`: `disable`; the name \
                  of a configuration is rejected",
        ),
    ),
    Row::new(&["allowFallbackToPlaintext"], Combined("`true` with `tls`: `sslmode=prefer`")),
    Row::new(&["readTimeout"], Time("statement_timeout", Unit::Written)),
    Row::new(&["timeout"], Combined("left out: Lydite waits 10 s at most for each step of a connection")),
    Row::new(&["transaction_isolation", "tx_isolation"], Choice("isolation", LEVELS, Rejected(LEVEL))),
    Row::new(&["compress"], Choice("", &[("false", Same)], Ignored(PACKED))),
    Row::new(
        &["allowCleartextPasswords"],
        Choice(
            "",
            &[],
            Ignored(
                "Lydite sends a password in clear text with sslmode=verify-full or over a Unix socket only",
            ),
        ),
    ),
];

const GROUPS: &[Group] = &[
    Group::ignored(TEXTS, &["charset", "collation"]),
    Group::ignored(ZONE, &["loc", "time_zone"]),
    Group::ignored(
        VALUES,
        &[
            "parseTime",
            "timeTruncate",
            "clientFoundRows",
            "columnsWithAlias",
            "connectionAttributes",
            "rejectReadOnly",
        ],
    ),
    Group::ignored(STATEMENTS, &["interpolateParams", "multiStatements", "autocommit", "maxAllowedPacket"]),
    Group::ignored(POOL, &["checkConnLiveness"]),
    Group::ignored("statements have their limit by readTimeout", &["writeTimeout"]),
    Group::ignored(FILES, &["allowAllFiles"]),
    Group::ignored(MODES, &["sql_mode"]),
    Group::ignored(LOGIN, &["allowNativePasswords", "allowOldPasswords"]),
    Group::rejected("it names a key that a program registers: leave it out", &["serverPubKey"]),
    Group::rejected(
        SESSION,
        &[
            "wait_timeout",
            "interactive_timeout",
            "innodb_lock_wait_timeout",
            "max_execution_time",
            "max_statement_time",
        ],
    ),
];

/// Connection strings of Go.
pub(super) static GO: Dialect = Dialect {
    name: "Go's driver for MySQL",
    form: Form::Go,
    schemes: &[("", "mysql")],
    about: "`USER:PASSWORD@tcp(HOST:PORT)/DATABASE?NAME=VALUE`, `…@unix(/PATH)/DATABASE`; the password stands as it is. The \
            driver uses no TLS without `tls`. It takes all other parameters as variables of the session, which Lydite \
            rejects.",
    rows: &[ROWS],
    groups: &[GROUPS],
    decoding: Decoding::Form,
    has_fragments: false,
    socket: "socket",
    typical: &[],
    finish,
    surroundings: None,
};

fn finish(given: &Given, draft: &mut Draft, findings: &mut Findings) {
    if given.has("timeout") {
        let most = CONNECT_TIMEOUT.as_secs();
        findings.ignored("timeout", &format!("Lydite waits {most} s at most for each step of a connection"));
    }
    let falls_back = given.switch("allowFallbackToPlaintext") == Some(true);
    match given.get("tls").map(str::to_ascii_lowercase).as_deref() {
        None | Some("false" | "0") if draft.socket.is_some() => {}
        None => without_tls(draft, "tls=", findings),
        Some("false" | "0") => draft.set("sslmode", "disable"),
        Some("preferred") => draft.set("sslmode", "prefer"),
        Some("true" | "1" | "skip-verify") if falls_back => draft.set("sslmode", "prefer"),
        Some("true" | "1") => draft.set("sslmode", "verify-full"),
        Some("skip-verify") => draft.set("sslmode", "require"),
        Some(_) => findings.error(
            "parameter tls names a configuration of a program: write tls=true, skip-verify or preferred, or a URL with ssl-ca=FILE",
        ),
    }
}
