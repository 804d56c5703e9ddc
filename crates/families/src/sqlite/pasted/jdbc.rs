//! Parameters of SQLite's driver for Java (sqlite-jdbc).

use super::words::{CACHE, ENCRYPTION, FOREIGN_KEYS, JOURNAL, OWN, SYNCHRONOUS, WRITES};
use crate::pasted::row::Meaning::Choice;
use crate::pasted::row::Word::{Ignored, Same};
use crate::pasted::row::{Decoding, Dialect, Form, Group, Row};
use crate::pasted::words::VALUES;

const ROWS: &[Row] = &[
    Row::new(&["synchronous"], SYNCHRONOUS),
    Row::new(&["foreign_keys"], FOREIGN_KEYS),
    Row::new(&["journal_mode"], JOURNAL),
    Row::new(
        &["transaction_mode"],
        Choice("", &[("IMMEDIATE", Same)], Ignored("Lydite begins transactions that write with IMMEDIATE")),
    ),
];

const GROUPS: &[Group] = &[
    Group::rejected(CACHE, &["cache_size"]),
    Group::rejected(WRITES, &["open_mode", "mode", "immutable"]),
    Group::rejected(ENCRYPTION, &["password", "key", "hexkey", "cipher"]),
    Group::ignored(
        OWN,
        &["busy_timeout", "cache", "shared_cache", "locking_mode", "temp_store", "mmap_size", "page_size"],
    ),
    Group::ignored(
        VALUES,
        &[
            "date_class",
            "date_precision",
            "date_string_format",
            "encoding",
            "enable_load_extension",
            "read_uncommitted",
        ],
    ),
];

/// Connection strings of sqlite-jdbc.
pub(super) static JDBC: Dialect = Dialect {
    name: "sqlite-jdbc",
    form: Form::Jdbc,
    schemes: &[("sqlite", "sqlite")],
    about: "`jdbc:sqlite:PATH?NAME=VALUE`; without a path it is a temporary file. A database in memory is rejected.",
    rows: &[ROWS],
    groups: &[GROUPS],
    decoding: Decoding::Percent,
    has_fragments: false,
    socket: "",
    typical: &[],
    finish: |_, _, _| {},
    surroundings: None,
};
