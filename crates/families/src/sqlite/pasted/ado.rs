//! Parameters of SQLite's drivers for .NET: Microsoft.Data.Sqlite and System.Data.SQLite.

use super::words::{CACHE, ENCRYPTION, FOREIGN_KEYS, JOURNAL, OWN, READ_ONLY, SYNCHRONOUS, VERSION, WRITES};
use crate::pasted::row::Meaning::{Choice, Path};
use crate::pasted::row::Word::{Rejected, Same};
use crate::pasted::row::{Decoding, Dialect, Form, Group, Row};
use crate::pasted::words::{POOL, VALUES};

const ROWS: &[Row] = &[
    Row::new(&["Data Source", "Filename"], Path),
    Row::new(&["Version"], VERSION),
    Row::new(&["Synchronous"], SYNCHRONOUS),
    Row::new(&["Foreign Keys"], FOREIGN_KEYS),
    Row::new(&["Journal Mode"], JOURNAL),
    Row::new(&["Read Only"], READ_ONLY),
    Row::new(&["Mode"], Choice("", &[("ReadWriteCreate", Same), ("ReadWrite", Same)], Rejected(WRITES))),
];

const GROUPS: &[Group] = &[
    Group::ignored(
        OWN,
        &[
            "Cache",
            "Page Size",
            "Max Page Count",
            "Default Timeout",
            "Command Timeout",
            "Busy Timeout",
            "Default Isolation Level",
            "Recursive Triggers",
            "Legacy Format",
        ],
    ),
    Group::ignored(POOL, &["Pooling", "Max Pool Size", "Enlist"]),
    Group::ignored(
        VALUES,
        &[
            "Date Time Format",
            "Date Time Kind",
            "Date Time Format String",
            "Base Schema Name",
            "Binary GUID",
            "Use UTF16 Encoding",
            "To Full Path",
            "Prepare Retries",
            "Flags",
            "Fail If Missing",
            "New",
        ],
    ),
    Group::rejected(ENCRYPTION, &["Password", "Hex Password", "Textual Password"]),
    Group::rejected(CACHE, &["Cache Size"]),
    Group::rejected("write Data Source=PATH", &["Uri", "Full Uri"]),
    Group::rejected(
        "Lydite has the usual files of SQLite alone: leave it out",
        &["Vfs", "Vfs Name", "Zip Vfs Version"],
    ),
];

/// Connection strings of Microsoft.Data.Sqlite and System.Data.SQLite.
pub(super) static ADO: Dialect = Dialect {
    name: "SQLite for .NET",
    form: Form::Ado,
    schemes: &[("", "sqlite")],
    about: "`Data Source=PATH;…`, of Microsoft.Data.Sqlite and System.Data.SQLite, where the path ends with `.db`, `.db3`, \
            `.sqlite` or `.sqlite3`, or has a slash: other names are those of servers. A database in memory is rejected.",
    rows: &[ROWS],
    groups: &[GROUPS],
    decoding: Decoding::None,
    has_fragments: false,
    socket: "",
    typical: &[],
    finish: |_, _, _| {},
    surroundings: None,
};
