//! Connection strings of SQLite's driver for Java.

use crate::pasted::row::Meaning::Choice;
use crate::pasted::row::Word::{Ignored, Rejected, Same, Sets};
use crate::pasted::row::{Decoding, Dialect, Form, Group, Row};
use crate::pasted::words::VALUES;

/// The dialects of the family.
pub(crate) static DIALECTS: &[&Dialect] = &[&JDBC];

const ROWS: &[Row] = &[
    Row::new(
        &["synchronous"],
        Choice(
            "synchronous",
            &[
                ("FULL", Sets("full")),
                ("NORMAL", Sets("normal")),
                ("OFF", Sets("off")),
                ("2", Sets("full")),
                ("1", Sets("normal")),
                ("0", Sets("off")),
            ],
            Rejected("write FULL, NORMAL or OFF"),
        ),
    ),
    Row::new(
        &["foreign_keys"],
        Choice(
            "foreign_keys",
            &[("true", Sets("on")), ("false", Sets("off")), ("1", Sets("on")), ("0", Sets("off"))],
            Rejected("write on or off"),
        ),
    ),
    Row::new(
        &["journal_mode"],
        Choice("", &[("WAL", Same)], Rejected("Lydite keeps the write-ahead log: leave it out")),
    ),
    Row::new(
        &["transaction_mode"],
        Choice("", &[("IMMEDIATE", Same)], Ignored("Lydite begins transactions that write with IMMEDIATE")),
    ),
];

const GROUPS: &[Group] = &[
    Group::rejected("write cache_mb=MEGABYTES behind sqlite:PATH?", &["cache_size"]),
    Group::rejected("Lydite writes: leave it out", &["open_mode", "mode", "immutable"]),
    Group::rejected("Lydite has no encryption of files", &["password", "key", "hexkey", "cipher"]),
    Group::ignored(
        "Lydite sets it for its sessions",
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
static JDBC: Dialect = Dialect {
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
