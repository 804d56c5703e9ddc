//! URLs of SQLite of object mappers.

use super::words::OWN;
use crate::pasted::row::{Decoding, Dialect, Form, Group};
use crate::pasted::words::{POOL, VALUES};

const GROUPS: &[Group] = &[
    Group::ignored(OWN, &["timeout", "isolation_level", "cache", "cached_statements", "autocommit"]),
    Group::ignored(POOL, &["check_same_thread", "pool_size", "connection_limit"]),
    Group::ignored(VALUES, &["detect_types", "uri", "native_datetime"]),
];

/// URLs of SQLAlchemy.
pub(super) static URL: Dialect = Dialect {
    name: "URLs of SQLite",
    form: Form::Url,
    schemes: &[("sqlite", "sqlite"), ("sqlite3", "sqlite")],
    about: "`sqlite+pysqlite:///PATH`, as SQLAlchemy has it with the name of a driver: after three slashes the path is one in \
            this directory, after four it is absolute. Without a driver `sqlite:///PATH` is absolute, and a note says so: \
            write `sqlite:PATH`. `sqlite3://` is the same as `sqlite://`. A database in memory is rejected.",
    rows: &[],
    groups: &[GROUPS],
    decoding: Decoding::Percent,
    has_fragments: false,
    socket: "",
    typical: &[],
    finish: |_, _, _| {},
    surroundings: None,
};
