//! Parameters of PostgreSQL's driver for .NET (Npgsql).

use super::words::{
    ALIVE, ALLOW, ASKED, BUFFERS, GSS, KERBEROS, PASSPHRASE, POOL, PRIMARY, REVOKED, SPREAD, STANDBY,
    STATEMENTS, TEXTS, VALUES, ZONE, several_hosts,
};
use crate::pasted::draft::Draft;
use crate::pasted::findings::Findings;
use crate::pasted::row::Meaning::{
    Choice, Combined, Connecting, Database, First, Host, Option, Password, Port, Time, User,
};
use crate::pasted::row::Word::{Ignored, Rejected, Same, Sets};
use crate::pasted::row::{Decoding, Dialect, Form, Given, Group, Row, Unit};

const ROWS: &[Row] = &[
    Row::new(&["Host", "Server"], Host),
    Row::new(&["Port"], Port),
    Row::new(&["Database", "DB"], Database),
    Row::new(&["Username", "User Name", "User Id", "User", "UID"], User),
    Row::new(&["Password", "PSW", "PWD"], Password),
    Row::new(&["Passfile"], Option("passfile")),
    Row::new(
        &["SSL Mode"],
        Choice(
            "sslmode",
            &[
                ("Disable", Sets("disable")),
                ("Prefer", Sets("prefer")),
                ("Require", Sets("require")),
                ("VerifyCA", Sets("verify-ca")),
                ("VerifyFull", Sets("verify-full")),
                ("Verify-CA", Sets("verify-ca")),
                ("Verify-Full", Sets("verify-full")),
                ("Allow", Rejected(ALLOW)),
            ],
            Rejected("write Disable, Prefer, Require, VerifyCA or VerifyFull"),
        ),
    ),
    Row::new(
        &["Trust Server Certificate"],
        Combined(
            "`true`: the certificate is not checked, which `Require` does not do anyway; rejected with `VerifyCA` and \
                  `VerifyFull`",
        ),
    ),
    Row::new(&["Root Certificate"], Option("sslrootcert")),
    Row::new(&["SSL Certificate"], Option("sslcert")),
    Row::new(&["SSL Key"], Option("sslkey")),
    Row::new(&["Check Certificate Revocation"], Choice("", &[("false", Same)], Rejected(REVOKED))),
    Row::new(&["SSL Negotiation"], Choice("", &[("Postgres", Same)], Ignored(ASKED))),
    Row::new(
        &["Channel Binding"],
        Choice(
            "channel_binding",
            &[("Disable", Sets("disable")), ("Prefer", Sets("prefer")), ("Require", Sets("require"))],
            Rejected("write Disable, Prefer or Require"),
        ),
    ),
    Row::new(
        &["GSS Encryption Mode"],
        Choice("", &[("Require", Rejected("Lydite has no GSSAPI: write SSL Mode=Require"))], Ignored(GSS)),
    ),
    Row::new(
        &["Integrated Security"],
        Choice(
            "",
            &[("false", Same)],
            Rejected("Lydite has no login by Kerberos: write a user and a password"),
        ),
    ),
    Row::new(&["Timeout"], Connecting(Unit::Seconds)),
    Row::new(&["Command Timeout"], Time("statement_timeout", Unit::Seconds)),
    Row::new(&["Connection Lifetime"], Time("connection_lifetime", Unit::Seconds)),
    Row::new(&["Search Path"], First("schema")),
    Row::new(&["Application Name"], Option("application_name")),
    Row::new(&["Options"], Option("options")),
    Row::new(
        &["Target Session Attributes"],
        Choice(
            "",
            &[
                ("any", Ignored(PRIMARY)),
                ("primary", Ignored(PRIMARY)),
                ("prefer-primary", Ignored(PRIMARY)),
                ("PreferPrimary", Ignored(PRIMARY)),
                ("read-write", Ignored(PRIMARY)),
                ("ReadWrite", Ignored(PRIMARY)),
            ],
            Rejected(STANDBY),
        ),
    ),
    Row::new(&["Load Balance Hosts"], Choice("", &[("true", Same)], Ignored(SPREAD))),
];

const GROUPS: &[Group] = &[
    Group::ignored(
        POOL,
        &[
            "Pooling",
            "Minimum Pool Size",
            "Maximum Pool Size",
            "Min Pool Size",
            "Max Pool Size",
            "Connection Idle Lifetime",
            "Connection Pruning Interval",
            "No Reset On Close",
            "Enlist",
            "Multiplexing",
            "Write Coalescing Buffer Threshold Bytes",
        ],
    ),
    Group::ignored(
        ALIVE,
        &[
            "Keepalive",
            "Tcp Keepalive",
            "Tcp Keepalive Time",
            "Tcp Keepalive Interval",
            "Cancellation Timeout",
            "Internal Command Timeout",
            "Host Recheck Seconds",
        ],
    ),
    Group::ignored(STATEMENTS, &["Max Auto Prepare", "Auto Prepare Min Usages"]),
    Group::ignored(
        BUFFERS,
        &["Read Buffer Size", "Write Buffer Size", "Socket Receive Buffer Size", "Socket Send Buffer Size"],
    ),
    Group::ignored(
        VALUES,
        &[
            "Persist Security Info",
            "Include Error Detail",
            "Include Failed Batched Command",
            "Log Parameters",
            "Array Nullability Mode",
            "Load Table Composites",
            "Server Compatibility Mode",
            "Replication Mode",
            "EF Template Database",
            "EF Admin Database",
        ],
    ),
    Group::ignored(TEXTS, &["Client Encoding", "Encoding"]),
    Group::ignored(ZONE, &["Timezone"]),
    Group::ignored(KERBEROS, &["Kerberos Service Name", "Include Realm"]),
    Group::rejected(PASSPHRASE, &["SSL Password", "Client Certificate Key"]),
    Group::rejected("Lydite can't restrict the login: leave it out", &["Require Auth"]),
];

/// Connection strings of Npgsql.
pub(super) static ADO: Dialect = Dialect {
    name: "Npgsql",
    form: Form::Ado,
    schemes: &[("", "postgres")],
    about: "`Host=…;Port=5432;Database=…;Username=…;Password=…`. TLS is `prefer` without `SSL Mode`. A value with a \
            semicolon is between quotes.",
    rows: &[ROWS],
    groups: &[GROUPS],
    decoding: Decoding::None,
    has_fragments: false,
    socket: "host",
    typical: &["host", "username"],
    finish,
    surroundings: None,
};

fn finish(given: &Given, draft: &mut Draft, findings: &mut Findings) {
    if !given.has("Load Balance Hosts") {
        several_hosts(draft, findings);
    }
    if draft.database.is_none() {
        draft.database.clone_from(&draft.user);
    }
    if draft.get("sslmode").is_none() {
        draft.set("sslmode", "prefer");
    }
    let checks = draft.get("sslmode").is_some_and(|mode| mode.starts_with("verify"));
    match given.switch("Trust Server Certificate") {
        Some(true) if checks => findings.error(
            "parameter Trust Server Certificate contradicts SSL Mode, which checks it: leave one of them out",
        ),
        None if given.has("Trust Server Certificate") => {
            findings.error("parameter Trust Server Certificate is not true or false");
        }
        _ => {}
    }
}
