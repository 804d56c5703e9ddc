//! Parameters of SQLite's driver for ODBC.

use super::words::{FOREIGN_KEYS, JOURNAL, OWN, SYNCHRONOUS};
use crate::pasted::row::Meaning::{Combined, Path};
use crate::pasted::row::{Decoding, Dialect, Form, Group, Row};
use crate::pasted::words::{DRIVER, NAMED, VALUES};

const ROWS: &[Row] = &[
    Row::new(&["Driver"], Combined(DRIVER)),
    Row::new(&["Database"], Path),
    Row::new(&["SyncPragma"], SYNCHRONOUS),
    Row::new(&["FKSupport"], FOREIGN_KEYS),
    Row::new(&["JournalMode"], JOURNAL),
];

const GROUPS: &[Group] = &[
    Group::ignored(OWN, &["Timeout", "NoTXN", "NoWCHAR", "JDConv"]),
    Group::ignored(
        VALUES,
        &["StepAPI", "ShortNames", "LongNames", "NoCreat", "OEMCP", "BigInt", "TraceFile"],
    ),
    Group::rejected("Lydite loads no extensions: leave it out", &["LoadExt"]),
    Group::rejected(NAMED, &["DSN", "FileDSN"]),
];

/// Connection strings of the SQLite ODBC Driver.
pub(super) static ODBC: Dialect = Dialect {
    name: "SQLite ODBC Driver",
    form: Form::Odbc,
    schemes: &[("sqlite", "sqlite")],
    about: "`Driver=SQLite3;Database=PATH;…`. A database in memory is rejected.",
    rows: &[ROWS],
    groups: &[GROUPS],
    decoding: Decoding::None,
    has_fragments: false,
    socket: "",
    typical: &[],
    finish: |_, _, _| {},
    surroundings: None,
};
