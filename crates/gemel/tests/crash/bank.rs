//! The database of the crashes, and the places of its rows.

use gemel::row::{ColumnType, Schema};
use gemel::{
    CommitStamps, Compression, Database, Durability, Engine, Keyspace, LogMode, Options, Transaction,
};
use std::path::Path;

pub(crate) const WORKERS: u64 = 4;
pub(crate) const ACCOUNTS: u64 = 50;
pub(crate) const MONEY: u64 = 1000;
/// Rows of each worker that stay in the keyspace that moves.
pub(crate) const KEPT: u64 = 10;
/// Number under which links of the chain are acknowledged, behind those of the workers.
pub(crate) const CHAIN: u64 = WORKERS;
/// Number under which copies of the table are acknowledged.
pub(crate) const COPIES: u64 = CHAIN + 1;
/// Links of the chain that stay.
pub(crate) const LINKS: u64 = 64;

pub(crate) fn options(log: LogMode, commit_stamps: CommitStamps) -> Options {
    Options {
        log,
        commit_stamps,
        durability: Durability::Full,
        // Half of the combinations have compressed files, a limit of background writing, and small files of the log, which
        // are overwritten many times.
        compression: match commit_stamps {
            CommitStamps::Latched => Compression::None,
            CommitStamps::Independent => Compression::Lz4,
        },
        background_bytes_per_second: (commit_stamps == CommitStamps::Independent).then_some(4 << 20),
        log_segment_bytes: if commit_stamps == CommitStamps::Independent { 64 << 10 } else { 64 << 20 },
        // Small, so checkpoints, flushes and compactions happen within a second.
        checkpoint_log_bytes: 1 << 20,
        write_buffer_bytes: 1 << 18,
        csr_capacity: 50,
        csr_recycle: 20,
        ..Options::default()
    }
}

pub(crate) struct Bank {
    pub(crate) db: Database,
    pub(crate) hot: Keyspace,
    pub(crate) cold: Keyspace,
    /// It moves between the engines.
    pub(crate) moving: Keyspace,
}

impl Bank {
    /// Returns the keyspace of an account, or of what a promise has read: even numbers are in memory.
    pub(crate) fn home(&self, number: u64) -> &Keyspace {
        if number.is_multiple_of(2) { &self.hot } else { &self.cold }
    }
}

pub(crate) fn bank(path: &Path, options: Options) -> gemel::Result<Bank> {
    let db = Database::open(path, options)?;
    let (hot, cold) = (db.keyspace("hot", Engine::Memory)?, db.keyspace("cold", Engine::Disk)?);
    let there = db.keyspaces().into_iter().find(|(name, _)| name == "moving");
    let moving = db.keyspace("moving", there.map_or(Engine::Memory, |(_, engine)| engine))?;
    Ok(Bank { db, hot, cold, moving })
}

pub(crate) fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap())
}

/// Name of the table that is copied into another one again and again, which then has its name.
pub(crate) const COPIED: &str = "copied";

/// The schema of that table: a row has the number of the copy that came with it.
pub(crate) fn copied() -> Schema {
    Schema::new().column("id", ColumnType::I64).primary_key(["id"]).index("by_id", ["id"])
}

/// A cheap generator: the test needs variety, not quality.
pub(crate) fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Returns the keyspace and the key of a link. A link is often in another engine than the one before.
pub(crate) fn place(bank: &Bank, link: u64) -> (&Keyspace, String) {
    let slot = link % LINKS;
    let is_hot = 0x9E37_79B9_7F4A_7C15_u64 >> slot & 1 == 1;
    (if is_hot { &bank.hot } else { &bank.cold }, format!("link/{slot}"))
}

/// Returns the number of the last link.
pub(crate) fn last_link(bank: &Bank, transaction: &mut Transaction) -> gemel::Result<u64> {
    let hot = transaction.get(&bank.hot, b"head")?.map_or(0, |bytes| number(&bytes));
    let cold = transaction.get(&bank.cold, b"head")?.map_or(0, |bytes| number(&bytes));
    Ok(hot.max(cold))
}
