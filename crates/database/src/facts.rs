//! Facts that a target reports: its description, the contents of its database, findings, counts and checksums.

use lydite_tpcc::WarehouseId;
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;
use std::collections::BTreeMap;

/// Contents of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseState {
    /// None of the tables.
    Empty,
    /// Some of the tables, but not made by Lydite.
    Foreign {
        /// Names of these tables.
        tables: Vec<String>,
    },
    /// Tables with names of Lydite's own that make up no database: what a stopped load or drop left, or what somebody
    /// has changed since. A reset removes them.
    Partial {
        /// Names of these tables, and of those with data.
        tables: Vec<String>,
        /// Reason why they are no database, for the user.
        problem: String,
        /// Description of the database that they were, if the notes still have it.
        meta: Option<Box<DatabaseMeta>>,
    },
    /// An unfinished load.
    Loading {
        /// Description of the database that it was to become.
        meta: DatabaseMeta,
        /// True if ITEM is complete.
        items: bool,
        /// Complete warehouses.
        warehouses: Vec<WarehouseId>,
    },
    /// A loaded database.
    Ready {
        /// Description of the database.
        meta: DatabaseMeta,
    },
    /// The records of the microbenchmark.
    Micro {
        /// Description of the records that are loaded, or were to be.
        meta: lydite_micro::Meta,
        /// True if all records are loaded; false after an unfinished load.
        ready: bool,
    },
    /// No contents, but any scale is accepted (`null:`).
    AnyScale,
}

/// Description of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Name of the family, as in the URL.
    pub kind: String,
    /// Version of the server.
    pub version: String,
    /// URL without the password.
    pub url: String,
    /// Settings that affect the numbers, Lydite's and the server's.
    pub settings: BTreeMap<String, String>,
    /// Isolation level of the transactions, in the database's words.
    pub isolation: String,
    /// True if that level protects the five transactions as level 3 of clause 3.4.1 requires.
    pub isolation_is_level_3: bool,
    /// True if the database works inside this process, so that its cost is part of the client's.
    pub embedded: bool,
    /// True if a commit survives the loss of power (clause 3.5), by the server's settings.
    pub durable: bool,
    /// Kind of the file system in memory (`tmpfs`, `ramfs`) that holds an embedded database's files. Then nothing
    /// survives the loss of power, whatever the settings say.
    pub in_memory: Option<&'static str>,
    /// Warnings about settings that the server did not report, one line each.
    pub unread: Vec<String>,
}

impl Description {
    /// Returns the guarantee that a driver declares for its transactions. Lydite itself knows what other targets
    /// guarantee.
    #[must_use]
    pub fn declared_guarantee(&self) -> Option<&str> {
        self.settings.get("guarantee").filter(|_| self.kind == "driver").map(String::as_str)
    }
}

/// Result of one consistency condition.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionFinding {
    /// The condition.
    pub condition: Condition,
    /// Number of keys that break it.
    pub offenders: u64,
    /// First keys that break it, as `w_id=3 d_id=4: …`.
    pub examples: Vec<String>,
    /// Time of the evaluation, in seconds.
    pub seconds: f64,
    /// Part of the condition that is not compared on this database, and the reason.
    pub not_compared: Option<&'static str>,
}

impl ConditionFinding {
    /// True if the condition holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.offenders == 0
    }
}

/// Counts whose growth in a run is compared with the acknowledged transactions. See [`Target::counts`](crate::Target::counts).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerCounts {
    /// Sum of D_NEXT_O_ID; each New-Order adds one.
    pub next_order_ids: u64,
    /// Rows of HISTORY by H_W_ID; each Payment adds one.
    pub payments: u64,
    /// Rows of NEW-ORDER; each New-Order adds one, and a Delivery removes one for each order that it delivers.
    pub new_orders: u64,
}

/// Checksum of a table. See [`Target::checksums`](crate::Target::checksums).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableChecksum {
    /// The table.
    pub table: Table,
    /// Number of rows.
    pub rows: u64,
    /// Sum of the rows' hashes, modulo 2^64.
    pub sum: u64,
}

impl TableChecksum {
    /// Returns the checksum of a table without rows.
    pub(crate) fn empty(table: Table) -> Self {
        Self { table, rows: 0, sum: 0 }
    }

    /// Adds a row by its canonical text.
    pub(crate) fn add(&mut self, row: &str) {
        self.rows += 1;
        self.sum = self.sum.wrapping_add(hash(row));
    }
}

/// Returns the 64-bit FNV-1a hash of a text, with a final mix so that sums of many hashes do not cancel out.
fn hash(text: &str) -> u64 {
    let mut hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}
